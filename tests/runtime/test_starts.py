"""Flows that programs and operators start, and those that are scheduled, on a store with the real engine."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.engine_answers import FlowStarted
from bot.core.engine_requests import RequestMalformed, StartFlow, read_request
from bot.core.events import Event, StartRequested, TimeReached
from bot.core.session import Session
from bot.core.turn import Turn
from bot.core.values import json_text
from bot.engine.advance import advance
from bot.runtime.batch import RequestRefused
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.talk import CONTACT, library_of

OTHER = "6281234567891"
FLOWS = """
flow: main
start: {otherwise: true}
steps: {q: {ask: Well?, schedule: [{flow: later, after: 2h}, {flow: later, after: 3h, name: again}], then: end}}
---
flow: later
vars: {n: {type: integer}}
steps: {s: {say: "Later {{ n }}", then: end}}
"""


def defect(session: Session, event: Event, contact: str) -> Turn:
    """The engine, with a defect that shows when a contact's time has come."""
    if isinstance(event, TimeReached) and event.contact == contact:
        raise ValueError("a defect")
    return advance(library_of(FLOWS), session, event)


@pytest.fixture
def open_with(tmp_path: Path) -> Iterator[Callable[..., World]]:
    opened: list[World] = []

    def begin(take: Callable[[Session, Event], Turn] | None = None) -> World:
        path, clock = tmp_path / "bot.db", MovableClock(START)
        migrate(path)
        store, inbox = EngineStore(path), InboxWriter(path, clock, patience=PATIENCE)
        alarms, turn = Alarms(clock), take or partial(advance, library_of(FLOWS))
        turns = loop_on(store, clock, turn, alarms)
        world = World(path, clock, inbox, Hands(), Hands(), turns, store, StoreReader(path), alarms)
        turns.start(world.delivery, world.performers)
        opened.append(world)
        return world

    yield begin
    for world in opened:
        world.close()


def ask(world: World, flow: str = "later", **more: Any) -> FlowStarted:
    return world.turns.operate(StartFlow(CONTACT, flow, **more))


def plans(world: World, contact: str = CONTACT) -> list[str]:
    session = world.reader.sessions.get(contact)
    return [] if session is None else [plan.name for plan in session.plans]


def test_a_start_that_the_web_process_has_kept_is_taken(open_with: Callable[..., World]) -> None:
    world = open_with()
    start = StartRequested("start:17", CONTACT, START, "later", {"n": 3}, "after", "api")
    world.inbox.append(world.inbox.event(None, start.id, "start", CONTACT, START, json_text(start).encode(), True))
    world.turns.wake()
    world.settle()
    assert world.texts() == ["Later 3"]
    assert world.rules(CONTACT) == ["start of later: by api"]


def test_an_operator_is_told_what_became_of_a_start(open_with: Callable[..., World]) -> None:
    world = open_with()
    assert ask(world, data={"n": 3}).outcome == "started"
    world.say(CONTACT, "hi")
    assert ask(world, busy="skip").outcome == "skipped"
    assert ask(world).outcome == "waits"
    failed = ask(world, data={"n": "x"})
    assert failed.outcome == "failed" and "later was not started: n:" in failed.detail
    assert ask(world, "latr").detail == 'there is no flow "latr" to start: did you mean "later"?'
    assert world.reader.counts()["dead_letters"] == 2
    world.say(CONTACT, "fine")
    assert world.texts()[-1] == "Later "


def test_a_request_of_another_form_is_refused(open_with: Callable[..., World]) -> None:
    world = open_with()
    forms: list[dict[str, Any]] = [{"data": []}, {"busy": "wait"}, {"contact": "Ann Lee"}]
    for wrong in forms:
        with pytest.raises((RequestRefused, RequestMalformed)):
            world.turns.operate(read_request({"do": "start", "contact": CONTACT, "flow": "later", **wrong}))
    assert world.reader.sessions.get(CONTACT) is None


def test_a_scheduled_flow_starts_when_its_time_has_come_and_what_waited_comes_right_after(
    open_with: Callable[..., World],
) -> None:
    world = open_with()
    world.say(CONTACT, "hi")
    world.say(CONTACT, "fine")
    world.say(CONTACT, "hi")  # busy again: a time-out in 20 h
    world.clock.move(timedelta(hours=4))
    world.settle()
    assert world.texts() == ["Well?", "Well?"]
    world.clock.move(timedelta(hours=16))
    world.settle()
    assert world.texts() == ["Well?", "Well?", "Later ", "Later "]
    assert plans(world) == []
    assert world.reader.counts()["dead_letters"] == 0


def test_a_defect_when_time_has_come_ends_the_conversation_and_then_costs_one_start_after_another(
    open_with: Callable[..., World],
) -> None:
    world = open_with(partial(defect, contact=CONTACT))
    for contact in (CONTACT, OTHER):
        for text in ("hi", "fine", "hi"):
            world.say(contact, text)
    world.clock.move(timedelta(hours=20))
    world.settle()
    assert plans(world) == []
    letters = [letter for letter in world.reader.dead_letters.newest() if letter.contact == CONTACT]
    assert len(letters) == 3  # the time-out, and the two that were scheduled
    assert world.texts().count("Later ") == 2  # the other contact's
    session = world.reader.sessions.get(CONTACT)
    assert session is not None and session.frame is None
