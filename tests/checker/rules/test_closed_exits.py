"""W306: exits that need what no model can note."""

from bot.checker.graph import Graph
from bot.checker.rules.uninitialised import find_closed_exits
from tests.checker.proved import library

BOT = "name: Test\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
AI = "  t: {ai: Talk., exits: {a: {needs: [%s], then: end}, b: end}}"


def reported(*steps: str, vars: str = "photo: media, name: text, items: list") -> list[str]:
    """The findings about the exits in a flow with these steps."""
    flow = f"flow: a\nstart: {{words: [a]}}\nvars: {{{vars}}}\nsteps:\n" + "\n".join(steps)
    return [finding.what for finding in find_closed_exits(Graph(library(flow, bot=BOT)))]


def test_what_may_be_null_and_no_model_can_note_shuts_an_exit() -> None:
    (what,) = reported("  q: {ask: Q, save: photo, skip: [no]}", AI % "photo")
    assert what == (
        'step "t": exit "a" needs "photo", which may be null, and no model can note a value of type media: '
        'step "q" may leave it so, by `skip`'
    )


def test_what_is_there_on_every_way_does_not() -> None:
    assert reported("  q: {ask: Q, save: photo}", AI % "photo") == []
    assert reported("  q: {set: {items: [1]}}", AI % "items") == []


def test_a_model_notes_texts_itself() -> None:
    assert reported("  q: {ask: Q, save: name, skip: [no]}", AI % "name") == []
