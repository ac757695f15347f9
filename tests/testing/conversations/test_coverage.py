"""What tests take of a bot: what counts, what counts once, and what is named as never taken."""

from pathlib import Path

from bot.loading.folder import read_folder
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from tests.cli.terminal import make_bot

BOT = """name: Test Bot
words: {menu: /main, stop: end}
defaults:
  retry: {max: 1, else: end}
  timeout: {after: 20h, then: end}
  errors: {else: end}
"""
FLOWS = """flow: main
start: {otherwise: true}
vars: {cups: {type: integer}}
words: {help: {say: Write what you like., then: again}}
steps:
  drink:
    ask: Which?
    buttons:
      Tea: cups
      Coffee: {value: coffee}
    words: {why: {say: We are thirsty., then: again}}
    then: cups
  cups: {ask: How many?, save: cups, timeout: {after: 1h}}
  which: {branch: [{if: cups > 2, then: many}, {else: few}]}
  many: {say: Many!, then: end}
  few: {say: Few.}
"""


def coverage_of(folder: Path, *talks: str, bot: str = BOT) -> Coverage:
    tests = "---\n".join(f"test: {number}\ntalk: [{talk}]\n" for number, talk in enumerate(talks))
    files = read_folder(make_bot(folder, FLOWS, tests=tests, bot=bot))
    loaded = load_with_tests(files)
    assert loaded.program is not None, loaded.problems
    coverage = Coverage(loaded.program.library)
    assert [run(transcript, loaded.program, files, coverage) for transcript in loaded.transcripts] == [None] * len(
        talks
    )
    return coverage


def missed(coverage: Coverage) -> list[str]:
    return [f"{each.mark.path}:{each.mark.line} {each.what}" for each in coverage.missed()]


ASK = "user: hi, bot: {contains: Which}"


def test_without_a_test_all_that_is_written_is_missed_and_a_step_hides_its_outcomes(tmp_path: Path) -> None:
    coverage = coverage_of(tmp_path)
    assert missed(coverage) == [
        'bot.yml:2 bot: word "menu"',
        'bot.yml:2 bot: word "stop"',
        "bot.yml:4 defaults: retry",
        "bot.yml:4 defaults: retry.else",
        "bot.yml:5 defaults: timeout",
        'flows/main.yml:4 main: word "help"',
        "flows/main.yml:6 main/drink",
        "flows/main.yml:13 main/cups",
        "flows/main.yml:14 main/which",
        "flows/main.yml:15 main/many",
        "flows/main.yml:16 main/few",
    ]
    assert (coverage.taken, coverage.percent) == (0, 0)


def test_every_outcome_that_is_written_counts_at_its_line(tmp_path: Path) -> None:
    coverage = coverage_of(tmp_path, f"{ASK}, tap: Tea, bot: How many?, user: '3', bot: Many!")
    assert missed(coverage)[5:] == [
        'flows/main.yml:4 main: word "help"',
        "flows/main.yml:10 main/drink: [Coffee]",
        'flows/main.yml:11 main/drink: word "why"',
        "flows/main.yml:12 main/drink: then",
        "flows/main.yml:14 main/which: else",
        "flows/main.yml:16 main/few",
    ]


def test_a_step_that_cannot_fail_takes_no_errors_that_it_inherits(tmp_path: Path) -> None:
    assert not [line for line in missed(coverage_of(tmp_path)) if "errors" in line]
    flows = FLOWS.replace("few: {say: Few.}", "few: {http: 'GET https://a.example', then: end}")
    bot = read_folder(make_bot(tmp_path, flows, bot=BOT))
    program = load_with_tests(bot).program
    assert program is not None
    assert "bot.yml:6 defaults: errors.else" in missed(Coverage(program.library))


def test_what_is_inherited_counts_once_wherever_it_is_taken(tmp_path: Path) -> None:
    late = f"{ASK}, tap: Tea, bot: How many?, wait: 1h"
    wrong = f"{ASK}, user: milk, bot: {{contains: Which}}, user: milk, expect: {{flow: null}}"
    left = missed(coverage_of(tmp_path, late, wrong))
    assert not [line for line in left if "defaults" in line]


def test_each_event_that_the_bot_delivers_counts_when_it_is_delivered(tmp_path: Path) -> None:
    bot = f"{BOT}secrets: [CRM]\nevents_to: {{url: 'https://crm.example', secret: CRM, on: [end, tags]}}\n"
    coverage = coverage_of(tmp_path, ASK, bot=bot)
    assert [each for each in missed(coverage) if "events_to" in each] == [
        "bot.yml:8 events_to: end",
        "bot.yml:8 events_to: tags",
    ]
    coverage = coverage_of(tmp_path, f"{ASK}, tap: Tea, bot: How many?, user: '1', bot: Few.", bot=bot)
    assert [each for each in missed(coverage) if "events_to" in each] == ["bot.yml:8 events_to: tags"]


def test_words_count_where_they_are_heard(tmp_path: Path) -> None:
    menu = "user: menu, bot: {contains: Which}"
    why = "user: why, bot: We are thirsty., bot: {contains: Which}"
    helped = "user: help, bot: Write what you like., bot: {contains: Which}, user: stop"
    left = missed(coverage_of(tmp_path, f"{menu}, {why}, {helped}"))
    assert not [line for line in left if "word" in line]


def test_a_word_that_hands_its_message_on_counts_within_a_flow_and_outside(tmp_path: Path) -> None:
    bot = "name: T\nwords: {lost: route, home: route}\ndefaults: {timeout: {after: 1h, then: end}, errors: {else: end}}"
    talk = f"user: lost, {ASK.removeprefix('user: hi, ')}, user: home, {ASK.removeprefix('user: hi, ')}"
    left = missed(coverage_of(tmp_path, talk, bot=bot))
    assert not [line for line in left if line.startswith("bot.yml") and "word" in line]


def test_all_of_it_is_a_hundred_per_cent_and_less_never_is(tmp_path: Path) -> None:
    talks = [
        "user: menu, bot: {contains: Which}, user: why, bot: {contains: thirsty}, bot: {contains: Which}, "
        "user: help, bot: {contains: like}, bot: {contains: Which}, user: stop",
        f"{ASK}, tap: Tea, bot: How many?, user: '3', bot: Many!",
        f"{ASK}, tap: Coffee, bot: How many?, user: x, bot: {{contains: How many?}}, user: x",
        f"{ASK}, tap: Tea, bot: How many?, user: '1', bot: Few.",
    ]
    almost = coverage_of(tmp_path, *talks)
    assert missed(almost) == ["bot.yml:5 defaults: timeout"]
    assert almost.percent == 100 * (almost.total - 1) // almost.total < 100
    whole = coverage_of(tmp_path, *talks, f"{ASK}, wait: 20h")
    assert (missed(whole), whole.percent, whole.taken) == ([], 100, whole.total)
