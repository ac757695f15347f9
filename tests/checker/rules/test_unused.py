"""W307: values that go into a flow which never reads them. W309: definitions that nothing uses."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.misfits import find_unused, find_unused_definitions
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.decorators import on
from bot.language.python.gathered import Extensions
from tests.checker.proved import BOT, library
from tests.talk import library_of

CHILD = "flow: c\nvars: {x: text, y: text}\nsteps:\n  "


def reported(step: str, child: str, *flows: str) -> list[str]:
    """The findings about the inputs of a flow in a bot with this step."""
    parent = f"flow: a\nstart: {{words: [a]}}\nvars: {{mine: text}}\nsteps: {{r: {step}}}"
    return [finding.what for finding in find_unused(Graph(library(parent, CHILD + child, *flows)))]


def test_what_no_text_reads_is_found() -> None:
    unread = ['step "r": flow c never reads "x"']
    assert reported("{run: /c, with: {x: X}}", 's: {say: "{{ y }}"}') == unread
    assert reported("{say: R, schedule: {flow: c, after: 1h, with: {x: X}}}", "s: {say: S}") == unread


@pytest.mark.parametrize(
    "step",
    ['s: {say: "{{ x }}"}', "s: {branch: [{if: x, then: end}]}", "s: {ask: S, words: {w: {if: x, say: W}}}",
     "s: {set: {y: '{{ x }}'}}", "s: {ai: Talk., fill: {x: what it is}, exits: {a: end}}",
     "s: {ai: Talk., exits: {a: {needs: [x], then: end}}}", "s: {say: S, then: /d}"],
)  # fmt: skip
def test_what_is_read_somewhere_is_not(step: str) -> None:
    over = 'flow: d\nvars: {x: text}\nsteps: {t: {say: "{{ x }}"}}'
    assert reported("{run: /c, with: {x: X}}", step, over) == []


def test_what_is_given_back_is_read() -> None:
    assert reported("{run: /c, with: {x: X}, save: {mine: x}}", "s: {say: S}") == []


def test_a_bot_with_hooks_is_not_asked() -> None:
    @on("end")
    def ended(vars: dict[str, object]) -> None:
        """Hears of all variables."""

    flows = f"flow: a\nstart: {{words: [a]}}\nsteps: {{r: {{run: /c, with: {{x: X}}}}}}\n---\n{CHILD}s: {{say: S}}"
    assert list(find_unused(Graph(library_of(flows, BOT, {"ended": ended})))) == []
    assert list(find_unused(Graph(library_of(flows, BOT))))


def unused(bot: str, flow: str) -> list[str]:
    """The definitions that are found, of this bot with this flow."""
    found = find_unused_definitions(Graph(library(f"flow: a\nstart: {{words: [a]}}\n{flow}", bot=f"{BOT}\n{bot}")))
    return [finding.what.split('"')[1] for finding in found]


def test_a_definition_is_used_by_a_text_itself_or_through_another() -> None:
    assert unused("", "define: {one: 1, two: one + 1, three: two}\nsteps: {s: {say: '{{ two }}'}}") == ["three"]
    assert unused("", "define: {one: 1, two: one + 1}\nsteps: {s: {say: S}}") == ["one", "two"]
    assert unused("define: {one: 1, two: 2, three: 3}", "define: {four: one}\nsteps: {s: {say: '{{ four }}'}}") == [
        "two",
        "three",
    ]
    assert unused("define: {one: 1}\nwords: {w: {if: one, say: W}}", "steps: {s: {say: S}}") == []


@pytest.mark.parametrize(
    "used",
    ["vars: {x: {type: text, check: it != one}}\nsteps: {s: {ask: S, save: x}}",
     "defaults: {remind: {after: 1h, say: '{{ one }}'}}\nsteps: {s: {ask: S}}",
     "steps: {s: {ask: S, buttons: {A: {if: one, then: end}, B: end}}}",
     "steps: {s: {http: 'GET https://x.example/{{ one }}', errors: {else: end}}}",
     "steps: {s: {say: {any: [A, 'B {{ one }}']}}}",
     "steps: {s: {wait: '{{ hours(1) if one else hours(2) }}'}}"],
)  # fmt: skip
def test_a_definition_is_used_wherever_a_text_or_an_expression_stands(used: str) -> None:
    assert unused("define: {one: 1}", used) == []


def test_a_definition_that_only_a_translation_uses_is_used() -> None:
    flow = b"flow: a\nstart: {words: [a]}\ndefine: {one: 1}\nsteps: {s: {say: S}}"
    locale = b"a: {s: {say: 'S {{ one }}'}}"
    bot = f"{BOT}\nlanguages: [en, de]\n".encode()
    loaded = load([Source("bot.yml", bot), Source("flows/a.yml", flow), Source("locales/de.yml", locale)], Extensions())
    assert loaded.library is not None, loaded.problems
    assert list(find_unused_definitions(Graph(loaded.library))) == []
