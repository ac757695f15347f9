"""How tests are read, and what is said about those that cannot be."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot import handler
from bot.checker.exploring.moves import ModelResult
from bot.language.python.gathered import extensions_in
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, read
from bot.testing.conversations.pass_rates import Tries
from bot.testing.conversations.transcript import (
    AgainLine,
    BotLine,
    EventLine,
    ExpectLine,
    FaultLine,
    HandlerStub,
    HttpLine,
    HttpStub,
    KnownNames,
    ModelLine,
    PersonaLine,
    PickLine,
    RestartLine,
    SendLine,
    SilenceLine,
    StartLine,
    StubAnswers,
    TapLine,
    Transcript,
    TranscriptLine,
    UserLine,
    WaitLine,
)
from bot.testing.conversations.transcript_reader import NOW, TranscriptReader
from tests.talk import library_of

FLOWS = library_of("""
flow: order
vars: {cups: {type: integer}, name: {type: text, keep: true}}
steps:
  cups: {ask: How many?, save: cups}
  bye: {say: Bye}
""").flows


class SoldOut(Exception):
    pass


@handler("shop.find", errors=[SoldOut])
def find(number: str) -> dict[str, Any]:
    return {}


KNOWN = KnownNames(FLOWS, extensions_in([{"find": find}]).calls, ("en", "id"), ("paid",), Path(__file__).parent)


def transcript_of(text: str, known: KnownNames = KNOWN) -> tuple[Transcript, list[str]]:
    problems = Problems()
    (node,) = read("tests/t.yml", text, problems)
    assert isinstance(node, Map)
    return TranscriptReader(known).read(node, problems), [str(problem) for problem in problems.sorted()]


def problems_of(line: str) -> list[str]:
    return [problem.removeprefix("tests/t.yml:") for problem in transcript_of(f"test: t\ntalk:\n  - {line}\n")[1]]


def line_of(text: str) -> TranscriptLine:
    transcript, problems = transcript_of(f"test: t\ntalk:\n  - {text}\n")
    assert problems == []
    (line,) = transcript.conversation
    return line


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
  - silence
  - restart
  - again
""")
    assert problems == []
    assert transcript.name == "all of it"
    assert transcript.now == datetime(2030, 1, 2, 3, 4)
    user, tap, pick, wait, plain, rich, expect, *words = transcript.conversation
    assert isinstance(user, UserLine) and user.text == "12"
    assert isinstance(tap, TapLine) and tap.title == "Yes, please"
    assert isinstance(pick, PickLine) and pick.title == "Tea"
    assert isinstance(wait, WaitLine) and wait.duration == timedelta(days=5, hours=2)
    assert isinstance(plain, BotLine) and plain.alone and plain.parts == {"says": "How many?"}
    assert isinstance(rich, BotLine) and not rich.alone
    assert rich.parts == {"says": "Hi", "contains": ("H", "i"), "buttons": ("A", "B"), "link": "https://a.example"}
    assert isinstance(expect, ExpectLine) and list(expect.wanted) == ["flow"]
    assert [type(word) for word in words] == [SilenceLine, RestartLine, AgainLine]


def test_what_the_contact_does_may_be_late() -> None:
    line = line_of("{user: hello, late: 2m}")
    assert isinstance(line, UserLine) and line.late == timedelta(minutes=2)
    line = line_of("{tap: Yes, late: 5m}")
    assert isinstance(line, TapLine) and line.late == timedelta(minutes=5)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("sticker", ("sticker", None, None, None)),
        ("reaction", ("reaction", None, None, None)),
        ("image", ("image", None, None, None)),
        ("{image: , caption: Look}", ("image", "Look", None, None)),
        (f"{{document: {Path(__file__).name}}}", ("document", None, Path(__file__).read_bytes(), None)),
        (
            "{location: {latitude: 1.5, longitude: 2, name: Home}}",
            ("location", None, None, {"latitude": 1.5, "longitude": 2, "name": "Home", "address": None}),
        ),
    ],
)
def test_a_contact_can_send_files_places_and_stickers(text: str, parts: tuple[Any, ...]) -> None:
    line = line_of(f"send: {text}")
    assert isinstance(line, SendLine)
    assert (line.kind, line.caption, line.content, line.location) == parts


@pytest.mark.parametrize(
    ("text", "event", "data"),
    [
        ("conversation.resolved", "conversation.resolved", {}),
        ("{conversation.assigned: {agent: Ann}}", "conversation.assigned", {"agent": "Ann"}),
        ("{contact.updated: {name: Ann, tags: [vip]}}", "contact.updated", {"name": "Ann", "tags": ("vip",)}),
    ],
)
def test_an_event_has_what_it_is_told_of(text: str, event: str, data: Mapping[str, Any]) -> None:
    line = line_of(f"event: {text}")
    assert isinstance(line, EventLine) and (line.event, line.data) == (event, data)


def test_a_program_starts_a_flow_with_values_and_says_what_a_busy_contact_means() -> None:
    line = line_of("start: order")
    assert isinstance(line, StartLine) and (line.flow, line.data, line.busy) == ("order", {}, None)
    line = line_of("start: order/bye")
    assert isinstance(line, StartLine) and line.flow == "order/bye"
    line = line_of("start: {flow: order, data: {cups: 2}, busy: skip}")
    assert isinstance(line, StartLine) and (line.flow, line.data, line.busy) == ("order", {"cups": 2}, "skip")


def test_a_fault_happens_once_or_so_many_times() -> None:
    line = line_of("fault: send_failed")
    assert isinstance(line, FaultLine) and (line.kind, line.times) == ("send_failed", 1)
    line = line_of("fault: {rate_limited: 3}")
    assert isinstance(line, FaultLine) and (line.kind, line.times) == ("rate_limited", 3)


def test_a_line_answers_for_a_model_or_a_service() -> None:
    line = line_of("model: {says: One moment., calls: [{shop.find: {number: 1}}, {leave: done}]}")
    assert isinstance(line, ModelLine)
    assert line.answer == ModelResult("One moment.", (("shop.find", {"number": 1}), ("leave_done", {})))
    line = line_of('http: {"GET https://a.example/*": {json: [1], headers: {ETag: x}}}')
    assert isinstance(line, HttpLine) and line.request == "GET https://a.example/*"
    assert line.answer == HttpStub(200, b"[1]", "application/json", {"etag": "x"})
    line = line_of('http: {"GET crm:/orders": 404}')
    assert isinstance(line, HttpLine) and line.answer == HttpStub(404)
    line = line_of('http: {"GET crm:/orders": {fails: timeout}}')
    assert isinstance(line, HttpLine) and line.answer.fails == "timeout"


def test_above_the_talk_stands_what_answers_in_all_of_it() -> None:
    transcript, problems = transcript_of("""
test: stand-ins
handlers:
  shop.find: [{returns: {state: new}}, {fails: SoldOut}, {fails: timeout}, ...]
http: {"GET crm:/a": {text: hello}}
models: {opening: We open at nine.}
random: [0, 0.5]
talk: [user: hi]
""")
    assert problems == []
    stage = transcript.stub_definitions
    turns = StubAnswers((HandlerStub({"state": "new"}), HandlerStub(fails="SoldOut")), HandlerStub(fails="timeout"))
    assert stage.handlers == {"shop.find": turns}
    assert stage.http == {"GET crm:/a": StubAnswers(then=HttpStub(200, b"hello"))}
    assert stage.models == {"opening": StubAnswers(then=ModelResult("We open at nine."))}
    assert stage.random == StubAnswers((0.0, 0.5))


def test_a_test_without_a_time_has_a_fixed_one() -> None:
    assert transcript_of("test: t\ntalk: [user: hi]")[0].now == NOW


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("hello", '3:5: E601 talk: "hello" is not a line (write who does what, like user: hello)'),
        ("silense", '3:5: E601 talk: "silense" is not a line (did you mean "silence"?)'),
        ("[a]", "3:5: E601 talk: a list is not a line (write who does what, like user: hello)"),
        ("uzer: hi", '3:5: E601 talk: a line cannot begin with "uzer" (did you mean "user"?)'),
        ("restart: yes", '3:5: E601 talk: a line cannot begin with "restart" (write restart alone, without a colon)'),
        ("{}", '3:5: E601 talk: a line cannot begin with "" (begin it with one of user, tap, '),
        ("{user: hi, tap: Yes}", '3:16: E601 "user" and "tap" in one line (make two lines)'),
        ("{user: hi, nonsense: 1}", '3:16: E104 talk: unknown key "nonsense"'),
        (
            "{user: hi, late: 1h}",
            "3:22: E106 talk: late: a message cannot be more than 5 minutes late (write 5m at most",
        ),
        ("{bot: Sorry, no luck.}", '3:18: E104 talk: "no luck." is a key without a value'),
        ("user:", "3:10: E105 user: a text is missing"),
        ("wait: soon", '3:11: E106 wait: "soon" is not a duration'),
        ("send: imago", '3:11: E109 send: "imago" is not known (did you mean "image"?)'),
        ("send: {caption: Look}", "3:11: E601 send: exactly one thing to send is needed (write one of image, "),
        ("send: {document: /etc/hosts}", '3:22: E113 no file "/etc/hosts" (write its path in the bot\'s folder)'),
        ("send: {image: none.png}", '3:19: E113 no file "none.png" (write its path in the bot\'s folder)'),
        ("send: {location: {latitude: 99, longitude: 1}}", '3:33: E106 send: location: latitude: "99" is not a number'),
        (
            "event: message.inbound",
            "3:12: E109 event: message.inbound is not an event of the gateway (that is what the contact",
        ),
        (
            "event: conversation.resolve",
            "3:12: E109 event: conversation.resolve is not an event of the gateway (did you",
        ),
        ("event: {conversation.resolved: {agent: A}}", '3:37: E104 conversation.resolved: unknown key "agent"'),
        ("start: ordr", '3:12: E103 no flow "ordr" (did you mean "order"?)'),
        ("start: order/by", '3:12: E102 no step "by" in flow order (did you mean "bye"?)'),
        ("start: {data: {cups: 1}}", '3:12: E105 start: "flow" is missing'),
        ("start: {flow: order, busy: now}", '3:32: E109 start: busy: "now" is not known'),
        ("fault: send_faild", '3:12: E109 fault: "send_faild" is not known (did you mean "send_failed"?)'),
        ("fault: {}", "3:12: E601 fault: exactly one fault is needed (write one like {rate_limited: 2})"),
        ("model: {fails: sleepy}", '3:20: E109 model: fails: "sleepy" is not known'),
        ("model: {calls: [[a]]}", "3:21: E601 this is not a call (write the tool's name and its arguments"),
        (
            "http: nothing",
            "3:11: E601 this is not a request with its answer (write {GET https://api.example: {json: ...",
        ),
        ("http: {orders: 200}", '3:12: E601 "orders" is not a request (write its method and address, like GET https'),
        ("http: {GET crm:/a: {status: 99}}", '3:33: E106 http: status: "99" is not a whole number from 100 to 599'),
        ("http: {GET crm:/a: {text: a, json: 1}}", "3:31: E601 http: both `json` and `text` (keep one)"),
        ("model: {says: a, json: {a: 1}}", "3:19: E601 model: both `json` and `says` (keep one)"),
        ("bot: {}", "3:10: E601 nothing is said about this message (write says: or contains:)"),
        ("bot: {buton: x}", '3:11: E104 bot: unknown key "buton" (did you mean "buttons"?)'),
        ("expect: {flow: ordr}", '3:20: E103 no flow "ordr" (did you mean "order"?)'),
        ("expect: {step: cup}", '3:20: E102 no step "cup" (did you mean "cups"?)'),
        ("expect: {flow: order, vars: {cup: 1}}", '3:34: E301 no variable "cup" in flow order (did you mean "cups"?)'),
        ("expect: {kept: {cups: 1}}", '3:21: E301 no variable "cups" that is kept (there are name)'),
        ("expect: {language: de}", '3:24: E109 expect: language: "de" is not known (write one of en, id)'),
        ("expect: {}", "3:13: E601 nothing is expected here (write flow:, step:, vars: or another of the keys)"),
        ("expect: {vars: 3}", "3:20: E106 expect: vars: a map of keys is expected"),
        ("expect: {calls: shop.find}", '3:21: E106 expect: calls: "shop.find" is not a list'),
        ("expect: {reached: paid}", '3:23: E102 no step has "report: paid" (write report: paid on a step)'),
        ("expect: {exit: person}", '3:20: E109 no exit "person" (no step has exits)'),
        ("expect: {filled: {cups: 1}}", '3:23: E301 no variable "cups" that a model may note (there are none)'),
        ("expect: {not_called: [shop.fnd]}", '3:27: E501 no handler "shop.fnd" (did you mean "shop.find"?)'),
        ("expect: {called: [GET crm:/orders, shop.fin]}", '3:40: E501 no handler "shop.fin" (did you mean'),
        ("expect: {says: {}}", "3:20: E601 nothing is expected of what is said (write contains, any, without"),
        ("expect: {says: {contain: a}}", '3:21: E104 expect: says: unknown key "contain" (did you mean "contains"?)'),
        ("expect: {says: {judge: Is it?}}", "3:28: E601 a judging question needs a model, and a test has no model"),
        ("expect: {flow: [a]}", "3:20: E106 expect: flow: a text is expected, YAML reads a list here"),
    ],
)
def test_each_mistake_in_a_line_is_named_at_its_place(line: str, problem: str) -> None:
    found = problems_of(line)
    assert len(found) == 1 and found[0].startswith(problem), found


@pytest.mark.parametrize(
    ("stage", "problem"),
    [
        ("handlers: {shop.fnd: {returns: 1}}", '2:12: E501 no handler "shop.fnd" (did you mean "shop.find"?)'),
        ("handlers: {shop.find: {fails: Gone}}", '2:31: E109 handler "shop.find": fails: "Gone" is not known (write'),
        (
            "handlers: {shop.find: {}}",
            '2:23: E601 handler "shop.find": exactly one of returns and fails is needed (write either returns: or',
        ),
        (
            "handlers: {shop.find: 5}",
            '2:23: E106 handler "shop.find": a map of keys is expected (write {returns: ...})',
        ),
        ("random: much", "2:9: E106 random: a number from 0 up to 1 is expected (write one like 0.25)"),
        ("random: [...]", '2:10: E601 test "t": random: ... stands behind the last answer (write it there)'),
        ("handlers: {shop.find: [..., {fails: timeout}]}", '2:24: E601 test "t": handlers: ... stands behind'),
        ("random: [1]", "2:10: E106 random: a number from 0 up to 1 is expected (write one like 0.25)"),
    ],
)
def test_each_mistake_in_a_stand_in_is_named_at_its_place(stage: str, problem: str) -> None:
    _, problems = transcript_of(f"test: t\n{stage}\ntalk: [user: hi]\n")
    assert len(problems) == 1 and problems[0].removeprefix("tests/t.yml:").startswith(problem), problems


def test_no_name_is_called_wrong_while_the_bot_cannot_be_loaded() -> None:
    text = "test: t\nhandlers: {a: {returns: 1}}\ntalk: [start: b, expect: {flow: c, vars: {d: 1}}]\n"
    assert transcript_of(text, KnownNames(complete=False))[1] == []


def test_a_language_of_a_bot_that_names_none_is_a_problem_with_a_cure() -> None:
    (problem,) = transcript_of("test: t\ntalk: [expect: {language: de}]", KnownNames())[1]
    assert problem.endswith("E109 expect: language: the bot names no languages (write languages: [de] in bot.yml)")


def test_a_contact_who_is_played_by_a_model_is_for_evaluations() -> None:
    line = "talk: [user: {goal: a table, knows: {name: Ann, people: 2}}]"
    (played,) = evaluation_of(line)[0].conversation
    assert isinstance(played, PersonaLine)
    assert (played.goal, played.persona, played.knows, played.turns) == (
        "a table",
        "",
        {"name": "Ann", "people": "2"},
        12,
    )
    assert evaluation_of("talk: [user: {persona: shy}]")[1][0].startswith('2:14: E105 user: "goal" is missing')
    assert transcript_of(f"test: t\n{line}")[1] == [
        'tests/t.yml:2:15: E104 user: unknown key "goal" (begin the document with evaluate: a model plays such a contact)',
        'tests/t.yml:2:30: E104 user: unknown key "knows" (begin the document with evaluate: a model plays such a contact)',
    ]


@pytest.mark.parametrize("now", ["tomorrow", "2030-05-06T25:00+07:00"])
def test_a_time_that_is_none_on_the_bots_clock_is_a_problem(now: str) -> None:
    _, problems = transcript_of(f"test: t\nnow: {now}\ntalk: [user: hi]")
    assert problems == [
        f'tests/t.yml:2:6: E602 test "t": now: "{now}" is not a day with a time '
        "(write one like 2030-05-06T10:00, or with an offset: 2030-05-06T10:00+02:00)"
    ]


def test_a_contact_has_the_number_that_the_test_says() -> None:
    assert transcript_of("test: t\ncontact: +62 812-3456-7890\ntalk: [user: hi]")[0].contact == "6281234567890"
    assert transcript_of("test: t\ncontact: 6281234567890\ntalk: [user: hi]")[0].contact == "6281234567890"
    assert transcript_of("test: t\ncontact: Ann\ntalk: [user: hi]")[1] == [
        'tests/t.yml:2:10: E106 test "t": contact: "Ann" is not a phone number '
        "(write one with its country code: 6281234567890)"
    ]


def test_a_test_without_a_line_or_a_name_proves_nothing() -> None:
    _, problems = transcript_of("test:\ntalk: []")
    assert [problem.split(" ", 1)[1] for problem in problems] == [
        "E105 this document: test: a text is missing (write one; if a text has a comma in it, put it in quotes)",
        "E601 talk: there are no lines (begin it with - user: hello)",
    ]


def test_a_test_needs_a_talk_and_takes_no_other_keys() -> None:
    _, problems = transcript_of("test: t\ntalks: [user: hi]")
    assert [problem.split(" ")[1] for problem in problems] == ["E104"]
    _, problems = transcript_of("test: t")
    assert [problem.split(" ")[1] for problem in problems] == ["E105"]


def evaluation_of(text: str) -> tuple[Transcript, list[str]]:
    transcript, problems = transcript_of(f"evaluate: e\n{text}")
    return transcript, [problem.removeprefix("tests/t.yml:") for problem in problems]


def test_an_evaluation_says_how_often_it_is_tried_and_how_many_tries_must_pass() -> None:
    assert evaluation_of("times: 30\npass: 80 %\ntalk: [user: hi]")[0].tries == Tries(30, 80)
    assert evaluation_of("pass: 80 %\ntalk: [user: hi]")[0].tries == Tries(72, 80)
    assert evaluation_of("talk: [user: hi]")[0].tries == Tries(3)
    assert transcript_of("test: t\ntalk: [user: hi]")[0].tries is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "pass: 80\ntalk: [user: hi]",
            '2:7: E106 evaluate "e": pass: "80" is not a percentage from 1% to 99% (write a share like 80%',
        ),
        ("pass: 0%\ntalk: [user: hi]", '2:7: E106 evaluate "e": pass: "0%" is not a percentage'),
        ("pass: 100%\ntalk: [user: hi]", '2:7: E106 evaluate "e": pass: "100%" is not a percentage'),
        (
            "times: 17\npass: 80%\ntalk: [user: hi]",
            "2:8: E601 times: 17 tries cannot show that more than 80 % pass (write 18 or more; without it at most 72",
        ),
        ("times: 2001\ntalk: [user: hi]", '2:8: E106 evaluate "e": times: "2001" is not a whole number from 1 to 2000'),
        ("models: {hi: Hello}\ntalk: [user: hi]", '2:1: E104 evaluate "e": unknown key "models"'),
        (
            "talk: [user: hi, model: Hello]",
            "2:25: E601 an evaluation cannot say what the model answers (leave",
        ),
    ],
)
def test_each_mistake_in_an_evaluation_is_named_at_its_place(text: str, problem: str) -> None:
    found = evaluation_of(text)[1]
    assert len(found) == 1 and found[0].startswith(problem), found


def test_a_judging_question_is_for_evaluations() -> None:
    assert evaluation_of("talk: [user: hi, expect: {says: {judge: [Is it?, Was it?]}}]")[1] == []
