"""W701 and W702: choices that look alike, and words that take answers."""

import pytest

from tests.checker.proved import only

BOT = "name: T\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
BEGIN = "flow: a\nstart: {words: [a]}\nvars: {x: {type: TYPE}}\nsteps:\n"


def found(step: str, type: str = "text", words: str = "") -> list[str]:
    bot = f"{BOT}\nwords: {{{words}}}" if words else BOT
    return [
        f"{each.code} {each.what}"
        for each in only("W701", "W702").findings(f"{BEGIN}  {step}\n".replace("TYPE", type), bot=bot)
    ]


@pytest.mark.parametrize(
    ("first", "second"), [("Login", "Log in"), ("Room 10", "Room 1O"), ("Cafe", "Сafe"), ("Size S", "Sizes")]
)
def test_titles_look_alike(first: str, second: str) -> None:
    step = f"b: {{ask: Which?, options: [{first}, {second}, Neither], save: x}}"
    assert found(step) == [f'W701 step "b": "{second}" looks like "{first}"']


def test_titles_that_differ_in_a_letter_are_none() -> None:
    assert found("b: {ask: Which?, options: [Room 12, Room 13, Rooms 14, Tea], save: x}") == []


@pytest.mark.parametrize(
    ("type", "word"),
    [("boolean", "no"), ("date", "today"), ("integer", '"0"'), ("choice, of: [none, some]", "none"), ("time", "noon")],
)
def test_a_word_takes_an_answer(type: str, word: str) -> None:
    words = f"{word}: {{say: Bye, then: end}}, menu: /a"
    said = word.strip('"')
    assert found("b: {ask: Well?, save: x}", type, words) == [
        f'W702 word "{said}" is an answer of step "b" as well, and is understood first'
    ]


RUN = """
flow: a
start: {words: [a]}
vars: {x: {type: TYPE}}
steps: {inner: {run: /middle, save: {x: x}, words: {WORD}, expired: end}}
---
flow: middle
vars: {x: {type: TYPE}}
steps: {on: {run: /b, save: {x: x}, expired: end}}
---
flow: b
vars: {x: {type: TYPE}}
steps: {b: {ask: Well?, QUESTION, save: x}}
"""


@pytest.mark.parametrize(
    ("type", "question", "word", "is_found"),
    [
        ("boolean", "remind: {after: 5m}", "no: end", True),
        ("text", "options: [Leave, Stay]", "leave: end", True),
        ("text", "options: {Off: {words: [leave], value: off}}", "leave: end", True),
        ("text", "options: [Leave, Stay]", "out: {pattern: 'L.*', then: end}", True),
        ("text", "options: [Leave, Stay]", "leave: {if: x, then: end}", False),
        ("text", "options: [Leave, Stay]", "cancel: end", False),
        ("text", "retry: {say: Please!}", "leave: end", False),
    ],
)
def test_a_word_of_a_step_takes_an_answer_in_the_flows_that_it_runs(
    type: str, question: str, word: str, is_found: bool
) -> None:
    flows = RUN.replace("TYPE", type).replace("WORD", word).replace("QUESTION", question)
    what = f'word "{word.partition(":")[0]}" is an answer of step "b" as well, and is understood first'
    assert [each.what for each in only("W702").findings(flows, bot=BOT)] == [what] * is_found


def test_what_leaves_a_question_without_an_answer_takes_one() -> None:
    assert found("b: {ask: Well?, save: x, skip: [none]}", "choice, of: [none, some]") == [
        'W702 "none" of skip is an answer of step "b" as well, and is understood first'
    ]


@pytest.mark.parametrize(
    ("step", "type", "word"),
    [
        ("b: {ask: Well?, save: x}", "text", "no"),
        ("b: {ask: Well?, save: x}", "boolean", "menu"),
        ("b: {ask: Well?}", "boolean", "no"),
        ("b: {ask: Well?, save: x, words: {no: {if: x, say: Bye}}}", "boolean", "menu"),
    ],
)
def test_a_word_that_is_no_answer_is_none(step: str, type: str, word: str) -> None:
    assert found(step, type, f"{word}: {{say: Bye, then: end}}") == []


def misnumbered(options: str, show: str = "numbers") -> list[str]:
    shown = f", show: {show}" if show else ""
    step = f"b: {{ask: Which?, options: [{options}]{shown}, save: x}}"
    flow = f"{BEGIN}  {step}\n".replace("TYPE", "text")
    return [each.what for each in only("W703").findings(flow, bot=BOT)]


def test_a_title_has_the_number_of_another_place() -> None:
    assert misnumbered("2 nights, 3 nights, 7 nights") == [
        'step "b": "2 nights" has the number 2, and is shown as 1: "2" chooses nothing',
        'step "b": "3 nights" has the number 3, and is shown as 2: "3" chooses nothing',
    ]


@pytest.mark.parametrize(
    ("options", "show"),
    [("1 night, 2 nights, 3 nights", "numbers"), ("Tea, Milk", "numbers"), ("2 nights, 3 nights", "")],
)
def test_its_own_number_or_none_shown_is_fine(options: str, show: str) -> None:
    assert misnumbered(options, show) == []
