"""Texts as phones show them."""

from datetime import UTC, datetime

import pytest

from bot.pages.console.masking import masked_session
from bot.pages.shared.contact_view import ShownTurn, formatted, session_view
from tests.talk import Talk


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("plain", "plain"),
        ("*bold* and _slanted_, ~gone~", "<strong>bold</strong> and <em>slanted</em>, <s>gone</s>"),
        ("```fixed *not bold```", "<code>fixed *not bold</code>"),
        ("2*3*4 and a_b_c", "2*3*4 and a_b_c"),
        ("* no *", "* no *"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_marks_are_the_platforms_and_all_else_is_text(text: str, html: str) -> None:
    assert formatted(text) == html


@pytest.mark.parametrize(
    ("text", "address", "after"),
    [
        ("See https://a.example/x.", "https://a.example/x", "."),
        ("(https://a.example)", "https://a.example", ")"),
        ("https://a.example/x_y_z?a=1&b=2.", "https://a.example/x_y_z?a=1&amp;b=2", "."),
        ("*https://a.example*", "https://a.example", "*"),
    ],
)
def test_an_address_is_a_link_without_the_end_of_its_sentence(text: str, address: str, after: str) -> None:
    html = str(formatted(text))
    assert f'<a href="{address}" target="_blank" rel="noopener noreferrer nofollow">{address}</a>{after}' in html


def test_no_address_is_a_script() -> None:
    assert "<a" not in formatted("javascript:alert(1) data:text/html,x")


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ("answer", "it answers the question"),
        ('answer: answers cups "two", size "big"', 'it answers the question, and also cups "two", size "big"'),
        ("corrects cups", "it corrects cups"),
        ('opt-out "stop"', 'with "stop" the contact opts out'),
        ("retry 2", "it is no answer: the question is asked again (2)"),
        ("start of main: otherwise", "no other flow starts by it, and main takes all else"),
        ('start of desk: topic complaint, "cold"', 'it starts desk: topic complaint, "cold"'),
        ("interrupted by prices", "it starts prices, which interrupts the flow before"),
        ("old tap: explain", ""),
    ],
)
def test_the_frequent_rules_are_sentences(rule: str, why: str) -> None:
    assert ShownTurn("t", datetime(2030, 5, 6, tzinfo=UTC), "", rule, 0, (), (), (), ()).why == why


def test_a_draft_is_shown_with_its_end_and_viewers_do_not_see_its_title() -> None:
    talk = Talk("""
flow: claim
start: {words: [claim]}
vars: {item: text}
steps:
  item: {ask: What is broken?, save: item}
  later: {draft: "{{ item }}", keep: 14d, then: end}
""")
    talk.user("claim")
    talk.user("my window")
    view = session_view(talk.session, talk.now)
    assert [what for what, _ in view.plans] == ["draft at claim/item (my window) ends"]
    assert [what for what, _ in masked_session(view).plans] == ["draft at claim/item"]
