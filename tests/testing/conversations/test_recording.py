"""A chat that is written down says the same again when it is run as a test."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.services.http_client import Response
from bot.services.request_errors import RequestTimedOut
from bot.testing.conversations.recorded_chat import RecordedSimulation
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from bot.testing.emulator.completion import ErrorAnswer, ModelAnswer, failure
from bot.testing.simulation.phone import NotOnScreen
from tests.cli.terminal import BOT, make_bot

START = datetime(2030, 5, 6, 10, 0, 30, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}, parcel: {type: object}}
steps:
  name: {ask: Your name?, save: name, remind: {after: 2h, say: Still there?}, timeout: {after: 30h, then: end}}
  luck: {branch: [{if: random() < 0.5, then: good}, {else: bad}]}
  good: {say: "Good, {{ name }}", then: tea}
  bad: {say: "Bad, {{ name }}", then: tea}
  tea: {ask: "Tea, or \\"no\\"?", buttons: {"Yes": find, "No": end}}
  find: {http: "GET crm:/parcels/1", save: parcel, errors: {timeout: {say: Too late., then: end}, else: end}}
  there: {say: "{{ parcel.city }}", then: end}
---
flow: talk
start: {words: [talk]}
steps: {talk: {ai: Talk about tea., exits: {done: {when: All is said., then: end}}, errors: {else: end}}}
---
flow: look
start: {words: [look]}
steps:
  talk:
    ai: Look for parcels.
    tools: [{http: "GET crm:/parcels", name: look, about: Look., takes: {}, confirm: {by: desk}}]
    exits: {done: {when: All is said., then: end}}
    errors: {else: end}
---
flow: pay
start: {words: [pay]}
interrupted: resume
steps: {pay: {ask: Please pay., signals: {paid: {say: "Thank you for {{ event.amount }}.", then: end}}}}
---
flow: news
vars: {what: {type: text}}
steps: {news: {say: "{{ what }}!", then: end}}
---
flow: why
start: {words: [why]}
vars: {said: {type: text}}
steps:
  why:
    write: Say why.
    save: said
    errors: {unsafe: {say: It is unsafe., then: end}, quota: {say: It is quota., then: end}, empty: {say: It is empty., then: end}, else: {say: It is down., then: end}}
  said: {say: "{{ said }}", then: end}
"""
CRM = BOT + "signals: {paid: {amount: number}}\n" + "http: {crm: {base: 'https://crm.example'}}\n"


def recorded(folder: Path, *answers: Response) -> RecordedSimulation:
    left = list(answers)

    def answer(request: object, key: str) -> Response:
        if not left:
            raise RequestTimedOut("too late")
        return left.pop(0)

    program = load_program(read_folder(make_bot(folder, FLOWS, bot=CRM)))
    return RecordedSimulation(program, MovableClock(START), requester=answer)


def passes(folder: Path, tests: str) -> bool:
    """Whether tests pass in a world where chance and services are others."""
    bot = read_folder(make_bot(folder, FLOWS, bot=CRM, tests=tests))
    loaded = load_with_tests(bot)
    assert loaded.program is not None and not loaded.problems, (loaded.problems, tests)
    return [run(transcript, loaded.program, bot) for transcript in loaded.transcripts] == [None] * len(
        loaded.transcripts
    )


def test_what_was_said_and_answered_is_said_and_answered_again(tmp_path: Path) -> None:
    city = Response(200, {"content-type": "application/json"}, b'{"city": "Rome"}')
    with recorded(tmp_path, city) as chat:
        chat.user("hi")
        chat.wait(timedelta(hours=2, seconds=5))
        chat.user("Ann: 1")
        chat.tap("Yes")
        tests = chat.written()
    assert "now: 2030-05-06T10:00:30\n" in tests
    assert "  - wait: 2h 5s\n  - bot: Still there?\n" in tests
    assert '  - http: {"GET crm:/parcels/1": {status: 200, json: {city: Rome}}}\n' in tests
    assert tests.endswith("  - bot: Rome\n  - expect: {flow: null}\n")
    assert passes(tmp_path, tests), tests


def test_a_service_that_failed_fails_again(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        chat.user("Ann")
        chat.tap("Yes")
        tests = chat.written()
    assert '{"GET crm:/parcels/1": {fails: timeout}}' in tests
    assert passes(tmp_path, tests), tests


def test_models_say_what_they_said(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.service.say("Green tea.\n\nOr black?")
        chat.user("talk")
        tests = chat.written()
    assert "  - model: {says: " in tests
    assert passes(tmp_path, tests), tests


def test_each_contact_has_a_test_and_one_that_said_nothing_has_none(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        chat.become_new_contact()
        chat.become_new_contact()
        chat.user("hello")
        tests = chat.written()
    assert [line for line in tests.splitlines() if line.startswith("  - user")] == [
        "  - user: hi",
        "  - user: hello",
    ]
    assert tests.count("test: ") == 2
    assert tests.count('\ncontact: "15555550102"\n') == 1
    assert passes(tmp_path, tests), tests


def test_what_came_by_itself_while_the_clock_ran_has_its_wait(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        chat.clock.move(timedelta(hours=2, minutes=1))
        chat.settle()
        chat.user("Ann")
        tests = chat.written()
    assert "  - wait: 2h 1m 1s\n  - bot: Still there?\n  - user: Ann\n" in tests
    assert passes(tmp_path, tests), tests


def test_the_seconds_that_a_person_needs_to_write_are_part_of_a_wait(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        for text in ("hi", "Ann", "hi"):
            chat.user(text)
            chat.clock.move(timedelta(seconds=20))
        chat.wait(timedelta(hours=2) - timedelta(seconds=20))
        chat.user("Ann")
        chat.clock.move(timedelta(seconds=20))
        chat.user("no")
        tests = chat.written()
    acts = [line[4:] for line in tests.splitlines() if "wait" in line or "user" in line]
    assert acts[:5] == ["user: hi", "wait: 20s", "user: Ann", "wait: 20s", "user: hi"]
    assert acts[5:] == ["wait: 2h", "user: Ann", "user: no"]
    assert passes(tmp_path, tests), tests


def test_what_came_by_itself_at_the_end_has_its_wait_too(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        chat.clock.move(timedelta(hours=2))
        chat.settle()
        tests = chat.written()
    assert "  - wait: 2h 1s\n  - bot: Still there?\n  - expect: " in tests
    assert passes(tmp_path, tests), tests


def test_a_tap_on_what_was_never_shown_did_not_happen(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        with pytest.raises(NotOnScreen):
            chat.tap("Milk")
        tests = chat.written()
    assert "tap" not in tests
    assert passes(tmp_path, tests), tests


def test_voice_notes_are_said_again_and_their_service_answers_again(tmp_path: Path) -> None:
    bot = CRM + "transcribe: {http: 'POST crm:/words', form: {file: '{{ voice }}'}, text: answer.said}\n"
    said = Response(200, {"content-type": "application/json"}, b'{"said": "Hi"}')
    program = load_program(read_folder(make_bot(tmp_path, FLOWS, bot=bot)))
    with RecordedSimulation(program, MovableClock(START), requester=lambda request, key: said) as chat:
        chat.speak("hi")
        chat.send("audio")
        tests = chat.written()
    assert "  - user: {voice: hi}\n" in tests
    assert '  - send: audio\n  - http: {"POST crm:/words": {status: 200, json: {said: Hi}}}\n' in tests
    loaded = load_with_tests(read_folder(make_bot(tmp_path, FLOWS, bot=bot, tests=tests)))
    assert loaded.program is not None and not loaded.problems
    assert [run(each, loaded.program, read_folder(tmp_path)) for each in loaded.transcripts] == [None], tests


def test_signals_and_starts_that_cut_in_come_again(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("pay")
        assert chat.operator.start("news", {"what": "Cake"}, "interrupt") == ""
        chat.operator.start("news", {"what": "Pie"}, "after")
        assert chat.operator.signal("paid", {"amount": 12}) == ""
        tests = chat.written()
    assert "  - start: {flow: news, data: {what: Cake}, busy: interrupt}\n" in tests
    assert "  - signal: {name: paid, data: {amount: 12}}\n" in tests
    assert [line for line in tests.splitlines() if line.startswith("  - bot")] == [
        "  - bot: Please pay.",
        "  - bot: Cake!",
        "  - bot: Please pay.",
        "  - bot: Thank you for 12.",
        "  - bot: Pie!",
    ]
    assert passes(tmp_path, tests), tests


def test_a_colleague_decides_again(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        answers = [ModelAnswer(calls=[("look", {})]), ModelAnswer("Not today."), ModelAnswer("Tea?")]
        chat.service.answer_with(lambda request: answers.pop(0))
        chat.user("look")
        assert chat.operator.decide(False, "No time.") == ""
        assert chat.operator.decide(True)
        tests = chat.written()
    assert "  - colleague: {refuses: No time.}\n" in tests
    assert "  - colleague: agrees\n  - expect: refused\n" in tests
    assert passes(tmp_path, tests), tests


def test_a_signal_that_the_bot_refuses_is_refused_again(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("pay")
        assert chat.operator.signal("paid", {"amount": "much"})
        assert chat.operator.signal("nobody", {})
        tests = chat.written()
    assert tests.count("signal") == 1
    assert "  - signal: {name: paid, data: {amount: much}}\n  - expect: refused\n" in tests
    assert passes(tmp_path, tests), tests


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        (failure("content_filter", 400), "unsafe"),
        (failure("quota_exceeded", 429), "quota"),
        (failure("server_error", 500), "down"),
        (ModelAnswer(), "empty"),
    ],
)
def test_a_model_fails_as_it_did(tmp_path: Path, answer: ModelAnswer | ErrorAnswer, written: str) -> None:
    with recorded(tmp_path) as chat:
        chat.service.answer_with(lambda request: answer)
        chat.user("why")
        tests = chat.written()
    assert f"  - bot: It is {written}.\n" in tests
    assert passes(tmp_path, tests), tests


def test_a_model_that_broke_off_breaks_off_again(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.service.answer_with(lambda request: ModelAnswer("Green tea.\n\nOr bl", cut_after=2))
        chat.user("talk")
        tests = chat.written()
    assert passes(tmp_path, tests), tests


@pytest.mark.parametrize("last", [[ModelAnswer("Tea.")], [failure("provider_error", 502)] * 2])
def test_a_model_that_is_asked_again_is_asked_again_in_the_test(
    tmp_path: Path, last: list[ModelAnswer | ErrorAnswer]
) -> None:
    answers = [failure("provider_error", 502), *last]
    with recorded(tmp_path) as chat:
        chat.service.answer_with(lambda request: answers.pop(0))
        chat.user("talk")
        chat.wait(timedelta(minutes=1))
        tests = chat.written()
    assert answers == []
    assert "  - user: talk\n  - model: {fails: provider_error}\n  - wait: 1m\n" in tests
    assert passes(tmp_path, tests), tests


def test_which_of_several_buttons_was_tapped_is_written(tmp_path: Path) -> None:
    with recorded(tmp_path) as chat:
        chat.user("hi")
        chat.user("Ann")
        chat.tap("Yes", of='Tea, or "no"?')
        tests = chat.written()
    assert "tap: {title: " in tests and "of: " in tests
    assert passes(tmp_path, tests), tests
