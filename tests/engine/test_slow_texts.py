"""Texts that are slow to read: what one message may cost, and a contact who rests. The pure engine."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bot.core.events import TimeReached
from bot.engine import slots
from bot.language.source.word_matching import LONGEST
from tests.talk import CONTACT, Talk

CODES = r"""
flow: codes
start: {words: [code]}
vars: {code: {type: text, pattern: '([a-z]+\.?)+[0-9]'}}
steps:
  code: {ask: Which code?, save: code, retry: {say: No such code.}, timeout: {after: 1h, then: late}}
  done: {say: "{{ code }}", then: end}
  late: {say: Too late., then: end}
"""
SLOW = "a" * 4096

DAYS = """
flow: days
start: {words: [days]}
slots: [from, to, by]
vars: {from: date, to: date, by: date}
steps:
  from: {ask: From?, save: from, retry: {say: Which day?}}
  to: {ask: To?, save: to}
  by: {ask: By?, save: by}
  done: {say: Thanks., then: end}
"""


def test_an_answer_that_is_slow_for_a_pattern_is_asked_again_and_the_trace_says_why() -> None:
    talk = Talk(CODES)
    talk.checks = False  # the same turn twice may be stopped at two places
    talk.user("code")
    assert talk.user(SLOW) == ["No such code."]
    assert talk.turn is not None
    assert talk.turn.trace.problems == [
        "the patterns took too long for this text: it matches none of those that were left"
    ]
    assert talk.user("ab7") == ["ab7"]


def test_words_that_are_longer_than_any_answer_are_not_read_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    reader = slots._Question.read

    def noted(question: slots._Question, piece: str) -> Any:
        read.append(piece)
        return reader(question, piece)

    monkeypatch.setattr(slots._Question, "read", noted)
    talk = Talk(DAYS)
    talk.checks = False
    talk.user("days")
    assert talk.user(" ".join(["Friday", "x" * 200, "y" * 200, "Friday"])) == ["By?"]
    assert max(map(len, read)) <= LONGEST


def test_a_message_that_takes_too_many_readings_answers_no_slot_and_the_trace_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(slots, "MOST_READINGS", 20)
    talk = Talk(DAYS)
    talk.user("days")
    assert talk.user("the sooner the better and Friday suits everybody here") == ["Which day?"]
    assert talk.turn is not None
    assert "the message is too long to look for answers to 3 questions" in talk.turn.trace.notes
    assert talk.user("so Friday") == ["To?"]


def resting(talk: Talk, seconds: int) -> None:
    """Have the contact rest, as the engine's loop does for one whose messages take long."""
    assert talk.turn is not None
    until = talk.now + timedelta(seconds=seconds)
    talk.session, talk.turn = replace(talk.session, rests_until=until), replace(talk.turn, wake_at=until)


def wake(talk: Talk) -> None:
    talk.take(TimeReached(talk.next_id(), CONTACT, talk.now))


def test_a_rest_ends_with_its_time() -> None:
    talk = Talk(CODES)
    talk.user("code")
    resting(talk, 30)
    wake(talk)
    assert talk.session.rests_until is not None
    talk.wait("30s")
    assert talk.session.rests_until is None
    assert talk.turn is not None and talk.turn.trace.rule == "the contact's messages are taken again"


def test_what_is_due_in_a_rest_comes_after_it_since_an_answer_may_wait() -> None:
    talk = Talk(CODES)
    talk.user("code")
    talk.wait("59m 50s")
    resting(talk, 30)
    assert talk.wait("29s") == []
    assert talk.wait("1s") == ["Too late."]


def test_a_clock_that_was_set_back_makes_no_rest_longer() -> None:
    talk = Talk(CODES)
    talk.user("code")
    resting(talk, 24 * 3600)
    wake(talk)
    assert talk.session.rests_until == talk.now + timedelta(minutes=1)
