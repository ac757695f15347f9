"""How tests are read, and what is said about those that cannot be."""

from datetime import datetime, timedelta

import pytest

from bot.lang.nodes import Map
from bot.lang.problems import Problems
from bot.lang.source import read
from bot.testing.reading import NOW, read_transcript
from bot.testing.transcript import Expect, Pick, Says, Tap, Transcript, User, Wait
from tests.talk import library_of

FLOWS = library_of("""
flow: order
vars: {cups: {type: integer}}
steps:
  cups: {ask: How many?, save: cups}
  bye: {say: Bye}
""").flows


def transcript_of(text: str) -> tuple[Transcript, list[str]]:
    problems = Problems()
    (node,) = read("tests/t.yml", text, problems)
    assert isinstance(node, Map)
    return read_transcript(node, FLOWS, problems), [str(problem) for problem in problems.sorted()]


def problems_of(line: str) -> list[str]:
    return [problem.removeprefix("tests/t.yml:") for problem in transcript_of(f"test: t\ntalk:\n  - {line}\n")[1]]


def test_every_kind_of_line_is_read() -> None:
    transcript, problems = transcript_of("""
test: all of it
now: 2030-01-02T03:04
talk:
  - user: 12
  - tap: Yes, please
  - pick: Tea
  - wait: 5d 2h
  - bot: How many?
  - bot: {says: Hi, contains: [H, i], buttons: [A, B], link: "https://a.example"}
  - expect: {flow: null}
""")
    assert problems == []
    assert transcript.name == "all of it"
    assert transcript.now == datetime(2030, 1, 2, 3, 4)
    user, tap, pick, wait, plain, rich, expect = transcript.talk
    assert isinstance(user, User) and user.text == "12"
    assert isinstance(tap, Tap) and tap.title == "Yes, please"
    assert isinstance(pick, Pick) and pick.title == "Tea"
    assert isinstance(wait, Wait) and wait.duration == timedelta(days=5, hours=2)
    assert isinstance(plain, Says) and plain.alone and plain.parts == {"says": "How many?"}
    assert isinstance(rich, Says) and not rich.alone
    assert rich.parts == {"says": "Hi", "contains": ("H", "i"), "buttons": ("A", "B"), "link": "https://a.example"}
    assert isinstance(expect, Expect) and list(expect.wanted) == ["flow"]


def test_a_test_without_a_time_has_a_fixed_one() -> None:
    assert transcript_of("test: t\ntalk: [user: hi]")[0].now == NOW


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hello", '3:5: E601 "hello" is no line of a talk (write who does what, like user: hello)'),
        ("uzer: hi", '3:5: E601 a line of a talk cannot begin with "uzer" (did you mean "user"?)'),
        ("{}", '3:5: E601 a line of a talk cannot begin with "" (begin it with one of user, tap, '),
        ("{user: hi, tap: Yes}", '3:16: E601 "user" and "tap" in one line (make two lines)'),
        ("{user: hi, nonsense: 1}", '3:16: E104 talk: unknown key "nonsense"'),
        ("{bot: Sorry, no luck.}", '3:18: E104 talk: "no luck." is a key without a value'),
        ("send: {image: x.png}", '3:5: E199 talk: "send" is not available yet (for media and places'),
        ("user:", "3:10: E105 talk: user: a text is missing"),
        ("wait: soon", '3:11: E106 talk: wait: "soon" is not a duration'),
        ("bot: {}", "3:10: E601 nothing is said about this message (write says: or contains:)"),
        ("bot: {buton: x}", '3:11: E104 bot: unknown key "buton" (did you mean "buttons"?)'),
        ("expect: {calls: []}", '3:14: E199 expect: "calls" is not available yet (for expectations on calls)'),
        ("expect: {flow: ordr}", '3:20: E103 no flow "ordr" (did you mean "order"?)'),
        ("expect: {step: cup}", '3:20: E102 no step "cup" (did you mean "cups"?)'),
        ("expect: {flow: order, vars: {cup: 1}}", '3:34: E301 no variable "cup" in flow order (did you mean "cups"?)'),
        ("expect: {}", "3:13: E601 nothing is expected here (write flow:, step:, vars: or tags:)"),
        ("expect: {vars: 3}", "3:20: E106 expect: vars: a map of keys is expected"),
        ("expect: {flow: [a]}", "3:20: E106 expect: flow: a text is expected, YAML reads a list here"),
    ],
)
def test_each_mistake_in_a_line_is_named_at_its_place(line: str, problem: str) -> None:
    (found,) = problems_of(line)
    assert found.startswith(problem)


@pytest.mark.parametrize("now", ["tomorrow", "2030-05-06T10:00+07:00"])
def test_a_time_that_is_none_on_the_bots_clock_is_a_problem(now: str) -> None:
    _, problems = transcript_of(f"test: t\nnow: {now}\ntalk: [user: hi]")
    assert problems == [
        f'tests/t.yml:2:6: E602 test "t": "{now}" is no time on the bot\'s clock (write one like 2030-05-06T10:00)'
    ]


def test_a_test_without_a_line_or_a_name_proves_nothing() -> None:
    _, problems = transcript_of("test:\ntalk: []")
    assert [problem.split(" ", 1)[1] for problem in problems] == [
        "E105 this document: test: a text is missing (write one; if a text has a comma in it, put it in quotes)",
        "E601 nothing is said in this talk (begin it with - user: hello)",
    ]


def test_a_test_needs_a_talk_and_takes_no_other_keys() -> None:
    _, problems = transcript_of("test: t\ntalks: []\nmodels: []")
    assert [problem.split(" ")[1] for problem in problems] == ["E105", "E104", "E199"]
