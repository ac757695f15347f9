"""Counterexamples: the conversation really happens, and its test fails for this reason alone."""

from datetime import UTC, timedelta
from pathlib import Path

import pytest

from bot.checker.counterexamples.counterexample import BEGINS, Counterexample, CounterexampleFinder
from bot.checker.exploring.conversation_yaml import CONTACT
from bot.checker.exploring.explorer import Explorer
from bot.checker.exploring.moves import WaitMove, WriteMove
from bot.checker.exploring.proposals import Proposals
from bot.checker.graph import Graph
from bot.language.source.writing import flow_style
from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import FailedTest, run
from tests.checker.proved import BOT, library, only

SILENT = "the 24-hour window is closed, and no window_closed template is declared"


def counterexample(code: str, *flows: str, bot: str = BOT) -> Counterexample:
    """The counterexample for the first finding of a code."""
    finding = only(code).findings(*flows, bot=bot)[0]
    example = CounterexampleFinder(library(*flows, bot=bot)).search(finding)[0]
    assert example is not None, finding
    return example


def failure(folder: Path, example: Counterexample, *flows: str, bot: str = BOT) -> FailedTest:
    """The failure that `bot test` reports for the test."""
    (folder / "bot.yml").write_text(bot)
    for number, flow in enumerate(flows, 1):
        (folder / f"flow{number}.yml").write_text(flow)
    (folder / "found.yml").write_text(example.test)
    bot_folder = read_folder(folder)
    loaded = load_with_tests(bot_folder)
    assert loaded.program is not None and not loaded.problems, [str(problem) for problem in loaded.problems]
    failed = run(loaded.transcripts[0], loaded.program, bot_folder)
    assert failed is not None, f"it passes:\n{example.test}"
    return failed


BOOKING = """
flow: booking
start: {words: [book]}
vars: {day: {type: choice, of: [Mon, Tue]}}
steps:
  day:
    ask: Which day suits you?
    buttons: [Mon, Tue]
    save: day
    remind: {after: 26h}
    timeout: {after: 30h, then: end}"""


def test_a_message_that_comes_too_late_is_told_and_its_test_shows_it(tmp_path: Path) -> None:
    example = counterexample("W501", BOOKING)
    assert example.sentences == (
        'you write "book"',
        'the bot asks "Which day suits you?" [Mon] [Tue]',
        "you wait 26 hours",
        'the bot may not write "Which day suits you?" any more: the last message from you is 26 hours old',
    )
    failed = failure(tmp_path, example, BOOKING)
    assert failed.what == "the bot says nothing here"
    assert [says.parts["says"] for says in failed.expected] == ["Which day suits you?"]
    assert failed.complaints[0] == SILENT


def test_the_test_names_the_finding_and_says_when_and_what() -> None:
    lines = counterexample("W501", BOOKING).test.splitlines()
    assert lines[0].startswith("# flow1.yml:10:13: W501 ")
    assert lines[1].startswith('test: "W501: ')
    assert lines[2:] == [
        "now: 2030-05-06T10:00:00",
        "talk:",
        "  - user: book",
        "  - bot: {says: Which day suits you?, buttons: [Mon, Tue]}",
        "  - wait: 1d 2h",
        "  - bot: {says: Which day suits you?, buttons: [Mon, Tue]}",
    ]


def test_a_message_at_the_end_of_a_draft_is_shown() -> None:
    flow = """
flow: claim
start: {words: [claim]}
defaults: {timeout: {after: 20h, then: later}}
steps:
  item: {ask: What is broken?}
  later: {draft: "", keep: 14d, then: gone}
  gone: {say: Your draft is gone., then: end}"""
    assert counterexample("W501", flow).sentences[2:] == (
        "you wait 20 hours",
        "you wait 14 days",
        'the bot may not write "Your draft is gone." any more: the last message from you is 14 days and 20 hours old',
    )


def test_a_finding_below_a_start_by_a_subject_is_shown() -> None:
    flow = BOOKING.replace("{words: [book]}", "{words: [book], about: a visit}")
    assert counterexample("W501", flow).sentences[0] == 'you write "book"'


def test_values_are_found_that_a_branch_asks_for() -> None:
    flow = """
flow: cups
start: {words: [cups]}
vars: {cups: {type: integer, min: 1}}
steps:
  cups: {ask: How many?, save: cups}
  many: {branch: [{if: cups > 17, then: person}, {else: end}]}
  person: {handoff: {team: x, say: One moment.}, closed: back_}
  back_: {say: Here I am.}"""
    assert counterexample("W501", flow).sentences == (
        'you write "cups"',
        'the bot asks "How many?"',
        'you write "18"',
        'the bot says "One moment."',
        "you wait 25 hours",
        "a person gives the conversation back to the bot",
        'the bot may not write "Here I am." any more: the last message from you is 25 hours old',
    )


def test_what_happens_again_and_again_is_told_once() -> None:
    example = counterexample("W501", "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B}\n  w: {wait: 1h, then: b}")
    assert example.sentences == (
        'you write "a"',
        'the bot says "B"',
        "you wait 1 hour",
        'the bot says "B"',
        "and so on, 22 times more",
        "you wait 1 hour",
        'the bot may not write "B" any more: the last message from you is 24 hours old',
    )


def test_who_has_never_written_is_told_so(tmp_path: Path) -> None:
    flow = "flow: news\nsteps:\n  b: {say: News!}"
    example = counterexample("W501", flow)
    assert example.sentences == (
        "a program starts the flow news",
        'the bot may not write "News!" any more: you have never written to it',
    )
    assert failure(tmp_path, example, flow).complaints[0] == SILENT


HOLE = """
flow: order
start: {words: [order]}
vars: {name: {type: text}}
steps:
  name: {ask: Your name?, save: name, skip: ["no"]}
  thanks: {say: "Thank you, {{ name }}.", then: end}"""


def test_a_hole_in_a_text_is_shown_in_the_message_that_has_it(tmp_path: Path) -> None:
    example = counterexample("W301", HOLE)
    assert example.sentences[-2:] == ('the bot says "Thank you, ."', 'nothing stands there for "name"')
    failed = failure(tmp_path, example, HOLE)
    assert failed.what == "the bot says something else"
    assert (failed.expected[0].parts["says"], failed.found[0].text) == ("Thank you, ….", "Thank you, .")


FAILS = """
flow: order
start: {words: [order]}
vars: {day: {type: date}}
steps:
  day: {ask: Which day?, save: day, skip: ["no"]}
  thanks: {say: "On {{ day | date }}.", then: end}"""


def test_a_text_that_cannot_be_worked_out_is_told_and_its_test_misses_the_value(tmp_path: Path) -> None:
    example = counterexample("W301", FAILS)
    assert example.sentences[-1] == "`On {{ day | date }}.` cannot be evaluated: null is no date"
    failed = failure(tmp_path, example, FAILS)
    assert [(each.what, each.expected, each.found) for each in failed.differences] == [("day", "something", "null")]
    assert any("null is no date" in complaint for complaint in failed.complaints)


def test_a_conversation_that_never_ends_is_gone_round_once(tmp_path: Path) -> None:
    flow = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B}\n  w: {wait: 1h, then: b}"
    example = counterexample("W102", flow)
    assert example.sentences[-1] == "the conversation is at a/w again, and nothing ends it"
    assert [(each.what, each.found) for each in failure(tmp_path, example, flow).differences] == [("flow", "a")]


def test_too_many_messages_at_once_are_counted(tmp_path: Path) -> None:
    flows = (
        """
flow: all
start: {words: [all]}
vars: {shelf: {type: list}}
steps:
  get: {http: "GET https://api.example/shelf", save: shelf}
  each: {run: /one, each: shelf, with: {name: "{{ it.name }}"}}""",
        "flow: one\nvars: {name: {type: text}}\nsteps:\n  said: {say: \"{{ name | default('?') }}\"}",
    )
    example = counterexample("W601", *flows)
    assert example.sentences[-2:] == (
        "the bot sends 94 more messages",
        "these are 100 messages at once, and the gateway takes 60 a minute",
    )
    assert [each.expected for each in failure(tmp_path, example, *flows).differences] == ["60"]


CUT = """
flow: order
start: {words: [order]}
vars: {city: {type: text, max: 40}}
steps:
  city: {ask: Where are you?, save: city}
  where: {ask: Where to?, buttons: {"To {{ city }}": {say: On our way., then: end}, Elsewhere: city}}"""


def test_a_text_that_is_cut_is_expected_whole(tmp_path: Path) -> None:
    example = counterexample("W401", CUT)
    whole = "To many words many words many words many wx"
    assert example.sentences[-1] == f'"{whole}" has 43 characters, and is cut'
    (difference,) = failure(tmp_path, example, CUT).differences
    assert difference.found == "To many words many… | Elsewhere"
    assert difference.expected == f"{whole} | Elsewhere"


def test_a_message_without_a_text_is_not_sent(tmp_path: Path) -> None:
    flow = "flow: a\nstart: {words: [a]}\nvars: {vip: {type: boolean, value: false}}\nsteps:\n"
    flow += '  q: {ask: "{% if vip %}The usual?{% endif %}"}'
    example = counterexample("W404", flow)
    assert example.sentences == ('you write "a"', "the text is empty, and the gateway would refuse the message")
    assert [each.found for each in failure(tmp_path, example, flow).differences] == ["null", "null"]


def test_two_choices_that_read_the_same_are_told_apart_by_a_number(tmp_path: Path) -> None:
    flow = """
flow: a
start: {words: [a]}
vars: {one: {type: choice, of: [S, L]}, two: {type: choice, of: [L, XL]}}
steps:
  one: {ask: One?, save: one}
  two: {ask: Two?, save: two}
  which: {ask: Which?, buttons: {"{{ one }}": end, "{{ two }}": end}}"""
    example = counterexample("W403", flow)
    (difference,) = failure(tmp_path, example, flow).differences
    assert (difference.expected, difference.found) == ("L | L", "L | L (2)")


def test_more_answers_are_asked_for_than_there_are(tmp_path: Path) -> None:
    flow = """
flow: order
start: {words: [order]}
vars: {vip: {type: boolean, value: false}, toppings: {type: list}}
steps:
  pick: {ask: Which two?, options: {Ham: {value: h}, Truffle: {value: t, if: vip}}, many: {min: 2}, save: toppings}"""
    example = counterexample("W402", flow)
    assert example.sentences[-1] == "2 answers are asked for, and there are 1 to choose from"
    (difference,) = failure(tmp_path, example, flow).differences
    assert (difference.expected, difference.found) == ("Ham | …", "Ham")


HANDED = """
flow: a
start: {words: [a]}
steps:
  b: {handoff: {team: x, say: B}, closed: c, timeout: {after: AFTER, then: end}}
  c: {say: C, then: b}"""


def test_a_person_is_late_who_has_the_conversation_or_is_just_in_time_again_and_again() -> None:
    kept = counterexample("W501", HANDED.replace("AFTER", "2h").replace("then: b}", "then: end}"))
    assert kept.sentences[2:-1] == (
        "a person takes the conversation over",
        "you wait 25 hours",
        "a person gives the conversation back to the bot",
    )
    again = Proposals(Graph(library(HANDED.replace("AFTER", "2h"))))
    walk = Explorer(library(HANDED.replace("AFTER", "2h")))
    state = walk.take(walk.begin(CONTACT, BEGINS.replace(tzinfo=UTC)), WriteMove("a"))
    assert WaitMove(timedelta(hours=1, minutes=59)) in again.moves(state)


BRANCH = """
flow: order
start: {words: [order]}
vars: {size: {type: choice, of: [S, L]}}
steps:
  size: {ask: Which size?, options: {S: {value: S}, L: {value: L}}, save: size}
  dear: {branch: [{if: CONDITION, then: cheap}, {else: costly}]}
  cheap: {say: Two euros., then: end}
  costly: {say: Four euros., then: end}"""


@pytest.mark.parametrize(
    ("code", "condition", "sentence", "expected", "found"),
    [
        ("W302", "size != 'M'", "`size != 'M'` is always true", "Four euros.", "Two euros."),
        ("W303", "size == 'M'", "`size == 'M'` is never true", "Two euros.", "Four euros."),
    ],
)
def test_a_way_that_nobody_takes_is_expected_and_the_other_one_taken(
    code: str, condition: str, sentence: str, expected: str, found: str, tmp_path: Path
) -> None:
    flow = BRANCH.replace("CONDITION", condition)
    example = counterexample(code, flow)
    assert example.sentences[-1] == sentence
    failed = failure(tmp_path, example, flow)
    assert (failed.expected[0].parts["says"], failed.found[0].text) == (expected, found)


def test_a_way_that_would_end_the_conversation_is_expected_to(tmp_path: Path) -> None:
    flow = BRANCH.replace("CONDITION, then: cheap", "size == 'M', then: end").replace(
        "say: Four euros., then: end", "ask: Four?"
    )
    assert [each.expected for each in failure(tmp_path, counterexample("W303", flow), flow).differences] == ["null"]


@pytest.mark.parametrize("value", ["{{ size }} cups", "{{ size - 1 }}"])
def test_a_value_that_never_fits_fails_whoever_comes_there(value: str, tmp_path: Path) -> None:
    flow = f"""
flow: order
start: {{words: [order]}}
vars: {{size: {{type: choice, of: [S, L]}}, cups: {{type: integer}}}}
steps:
  size: {{ask: Which size?, options: {{S: {{value: S}}, L: {{value: L}}}}, save: size}}
  cups: {{set: {{cups: "{value}"}}}}
  done: {{say: Done.}}"""
    example = counterexample("W305", flow)
    assert example.sentences[-1].startswith(f"`{value}` never fits: ")
    assert failure(tmp_path, example, flow).what == "the bot says nothing here"


def test_null_that_nobody_reads_is_told_of_when_it_is_there_or_just_before(tmp_path: Path) -> None:
    head = "flow: a\nstart: {words: [a]}\nvars: {name: text}\nsteps:\n  b: {ask: Q}\n"
    get = '  c: {http: "GET https://api.example/{{ name }}", then: END}\n  d: {ask: R}'
    for then in ("d", "end"):
        flow = head + get.replace("END", then)
        example = counterexample("W301", flow)
        assert example.sentences[-1] == '"name" is null in `{{ name }}`'
        assert [each.what for each in failure(tmp_path, example, flow).differences] == ["name"]


def test_an_answer_of_the_same_turn_is_no_null_value() -> None:
    flow = 'flow: a\nstart: {words: [a]}\nvars: {name: text}\nsteps:\n  b: {ask: Q, save: name}\n  c: {say: "{{ name }}!", then: end}'
    (finding,) = only("W301").findings(flow.replace("save: ", "tag:  "))
    assert CounterexampleFinder(library(flow)).search(finding)[0] is None


def test_a_hole_in_a_tag_is_shown_there(tmp_path: Path) -> None:
    head = "flow: a\nstart: {words: [a]}\nvars: {name: text}\nsteps:\n"
    for tag, expected in (("is {{ name }}", "is …"), ("{{ name }}", "…")):
        flow = f'{head}  b: {{say: B, tag: "{tag}", then: end}}'
        (difference,) = failure(tmp_path, counterexample("W301", flow), flow).differences
        assert (difference.what, expected in difference.expected) == ("tags", True)


def test_a_finding_that_cannot_happen_and_a_code_without_a_talk_are_left_untold() -> None:
    never = "flow: a\nstart: {words: [a]}\nvars: {n: {type: integer, value: 1}}\nsteps:\n"
    never += "  b: {branch: [{if: n > 1, then: w}, {else: end}]}\n  w: {wait: 25h}\n  s: {say: S}"
    (late,) = only("W501").findings(never)
    assert CounterexampleFinder(library(never)).search(late)[0] is None
    lost = "flow: a\nstart: {words: [a]}\nsteps:\n  b: {say: B, then: end}\n  c: {say: C}"
    (unreached,) = only("W101").findings(lost)
    assert (unreached.code, CounterexampleFinder(library(lost)).search(unreached)) == ("W101", (None, 0))


@pytest.mark.parametrize("name", ["no", "Ann: Lee # 5", "two\nlines", "- [x]"])
def test_what_is_written_is_yaml_whatever_is_said(name: str, tmp_path: Path) -> None:
    flow = f"flow: a\nstart: {{words: [a]}}\nsteps:\n  q: {{ {flow_style({'ask': name})}, remind: {{after: 26h}} }}"
    bot = "name: Test\ndefaults: {timeout: {after: 30h, then: end}}"
    assert failure(tmp_path, counterexample("W501", flow, bot=bot), flow, bot=bot).what == "the bot says nothing here"
