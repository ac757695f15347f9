"""W705: the second message of a text answers the next question."""

import pytest

from tests.checker.proved import only

FLOW = """
flow: complaint
start: {words: [complaint]}
vars: {what: text, wish: text, day: date, name: name, photo: media}
steps:
  what: {ask: What went wrong?, save: what}
  wish: {ask: What can we do?, save: wish, gather: never}
  thanks: {say: Thanks., then: end}
"""


def found(flow: str) -> list[str]:
    return [each.what for each in only("W705").findings(flow)]


FINDING = 'step "what": whoever writes the answer in two messages answers step "wish" with the second'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", ""),
        ("  wish:", "  noted: {say: Noted.}\n  wish:"),
        ("  wish:", "  noted: {set: {name: Ann}}\n  wish:"),
    ],
)
def test_a_question_for_any_text_follows_another(before: str, after: str) -> None:
    assert found(FLOW.replace(before, after, 1) if before else FLOW) == [FINDING]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("save: what}", "save: what, gather: 3s}"),
        ("save: what}", "save: what, gather: never}"),
        ("what: text,", "what: {type: text, max: 40},"),
        ("what: text,", "what: {type: text, pattern: '[0-9]+'},"),
        ("save: what}", "save: what, then: thanks}"),
        ("save: wish, gather: never", "save: wish, options: [A refund, A new one]"),
        ("  wish:", "  day: {ask: When?, save: day}\n  wish:"),
        ("save: what}", "save: name}"),
        ("save: wish, gather: never", "save: photo"),
        ("  wish:", "  which: {branch: [{if: day, then: thanks}, {else: wish}]}\n  wish:"),
    ],
)
def test_a_gathered_or_short_text_or_another_question_is_fine(before: str, after: str) -> None:
    assert found(FLOW.replace(before, after, 1)) == []
