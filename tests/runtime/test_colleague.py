"""Persons decide on the calls that the bot asks about, by requests of an operator, on a store."""

from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import Call
from bot.core.engine_answers import Done
from bot.core.engine_requests import AgreeToCall, RefuseCall
from bot.core.events import ColleagueDecided
from bot.engine.advance import advance
from bot.language.python.decorators import handler
from bot.runtime.batch import RequestRefused
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, World, begin
from tests.talk import BOT, library_of

ANN = "6281234567890"


@handler("orders.cancel")
def cancel(number: str) -> None:
    """Cancel an order."""


FLOW = """
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help.
    tools: [{call: orders.cancel, confirm: {by: support, within: 2h}}]
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
"""
ADVANCE = partial(advance, library_of(FLOW, BOT, {"cancel": cancel}))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path, clock = tmp_path / "bot.db", MovableClock(START)
    migrate(path)
    world = begin(path, clock, InboxWriter(path, clock, patience=PATIENCE), advance=ADVANCE)
    answers(world, "cancel A1", {"id": "c1", "name": "orders_cancel", "arguments": '{"number": "A1"}'})
    yield world
    world.close()


def answers(world: World, text: str, *calls: dict[str, str]) -> None:
    """The contact writes, and the model answers."""
    world.say(ANN, text)
    value = {"text": "", "calls": list(calls), "finish": "stop", "said": 0, "model": "m", "tokens": 9}
    world.call_ends(world.performers.rows[-1], value=value)


def asked(world: World) -> str:
    session = world.reader.sessions.get(ANN)
    assert session is not None and session.team_question is not None
    return session.team_question.id


def decide(world: World, kind: type[AgreeToCall | RefuseCall], question: str, by: str = "anna", note: str = "") -> Any:
    answer = world.turns.operate(kind(ANN, question, note, by=by))
    world.settle()
    return answer


def refusal(world: World, question: str, **more: str) -> str:
    with pytest.raises(RequestRefused) as refused:
        decide(world, AgreeToCall, question, **more)
    return str(refused.value)


def called(world: World) -> list[Any]:
    return [row.effect.arguments for row in world.performers.rows if isinstance(row.effect, Call)]


def test_a_question_waits_among_the_conversations_for_persons(world: World) -> None:
    (each,) = world.reader.sessions.handed_over()
    assert (each.asks, each.agent, each.team, each.note) == (True, None, "support", 'Cancel an order.\nnumber: "A1"')
    assert each.since == START
    assert world.reader.sessions.count_waiting() == 1


def test_of_two_persons_the_first_decides(world: World) -> None:
    question = asked(world)
    assert decide(world, AgreeToCall, question) == Done()
    assert refusal(world, question, by="ben") == (
        f"nothing is asked of {ANN} any more: it was decided or withdrawn, or its time is over"
    )
    assert called(world) == [{"number": "A1"}]
    assert world.reader.sessions.handed_over() == []


def test_a_decision_that_waits_for_the_model_is_not_taken_twice(world: World) -> None:
    question = asked(world)
    world.say(ANN, "hello?")
    decide(world, AgreeToCall, question)
    assert called(world) == []
    assert refusal(world, question, by="ben") == "anna has decided this already"


def test_the_trace_names_who_decided_and_with_which_note(world: World) -> None:
    decide(world, RefuseCall, asked(world), note=" It has left. ")
    event = world.trace(ANN)[-1].event
    assert isinstance(event, ColleagueDecided)
    assert (event.agreed, event.by, event.note) == (False, "anna", "It has left.")
    assert called(world) == []


def test_the_question_and_the_decision_outlive_a_restart(world: World) -> None:
    question = asked(world)
    world.stop()
    again = begin(world.path, world.clock, world.inbox, advance=ADVANCE)
    decide(again, AgreeToCall, question)
    again.stop()
    once_more = begin(world.path, world.clock, world.inbox, advance=ADVANCE)
    once_more.settle()
    assert called(once_more) == [{"number": "A1"}], "the call that nobody has made is offered again"
    once_more.stop()


def test_after_its_time_nobody_can_agree(world: World) -> None:
    question = asked(world)
    world.clock.move(timedelta(hours=2))
    world.turns.wake()
    world.settle()
    assert refusal(world, question).startswith("nothing is asked")


def test_a_long_note_is_refused(world: World) -> None:
    why = refusal(world, asked(world), note="x" * 301)
    assert why == "a note for the bot has 300 characters at most"
