"""Flows that run at a record which several contacts share: one after the other, in the commit of who asks, on any shard."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.events import Event, SharedRunRequested
from bot.core.session import Session
from bot.core.turn import Turn
from bot.engine.advance import advance
from bot.store.database import PostgresAddress, shard_number
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.runtime.test_forwarding import SHARDS, contact_in, running, store  # noqa: F401
from tests.talk import BOT, library_of

FLOWS = """
flow: main
start: {words: [queue]}
vars: {place: integer}
steps:
  enter: {run: /enter, of: north, with: {who: "{{ contact.id }}"}, save: {place: place}, errors: {else: sorry}}
  told: {ask: "You are number {{ place }}.", save: place}
  sorry: {ask: Sorry., save: place}
---
flow: often
start: {words: [often]}
vars: {place: {type: integer, value: 0}}
steps:
  more: {branch: [{if: place < 20, then: run}, {else: told}]}
  run: {run: /enter, of: north, with: {who: somebody}, save: {place: place}, then: more, visits: {max: 100, else: end}, errors: {else: end}}
  told: {ask: "{{ place }} in all.", save: place}
---
flow: enter
shared: shop
vars: {line: {type: list, value: [], keep: true}, who: text, place: integer}
steps:
  append: {set: {line: "{{ line + [who] }}"}}
  place: {set: {place: "{{ line | length }}"}, then: end}
"""
LIBRARY = library_of(FLOWS, BOT)
RECORD = "@shop:north"
ANN, BOB = "6281234567801", "6281234567802"


def world_of(path: Path, turn: "partial[Turn]") -> World:
    clock = MovableClock(START)
    migrate(path)
    engine_store, inbox = EngineStore(path), InboxWriter(path, clock, patience=PATIENCE)
    alarms = Alarms(clock)
    turns = loop_on(engine_store, clock, turn, alarms)
    world = World(path, clock, inbox, Hands(), Hands(), turns, engine_store, StoreReader(path), alarms)
    turns.start(world.delivery, world.performers)
    return world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    opened = world_of(tmp_path / "bot.db", partial(advance, LIBRARY))
    yield opened
    opened.close()


def test_contacts_read_and_change_one_record_one_after_the_other(world: World) -> None:
    for contact in (ANN, BOB, "6281234567803"):
        world.say(contact, "queue")
    assert world.texts() == [f"You are number {number}." for number in (1, 2, 3)]
    record = world.reader.sessions.get(RECORD)
    assert record is not None and record.kept_variables["line"] == [ANN, BOB, "6281234567803"]
    assert record.frames == ()


def test_runs_follow_each_other_in_one_turn_without_an_end_of_their_own(world: World) -> None:
    world.say(ANN, "often")
    assert world.texts() == ["20 in all."] and world.reader.dead_letters.newest() == []


def test_a_run_that_has_no_turn_is_a_failure_of_the_step_that_waits(tmp_path: Path) -> None:
    def breaks(session: Session, event: Event) -> Turn:
        if isinstance(event, SharedRunRequested):
            raise ZeroDivisionError
        return advance(LIBRARY, session, event)

    world = world_of(tmp_path / "bot.db", partial(breaks))
    world.say(ANN, "queue")
    assert world.texts() == ["Sorry."]
    (letter,) = world.reader.dead_letters.newest()
    assert letter.contact == RECORD
    world.close()


def test_values_that_do_not_fit_are_a_failure_and_nothing_is_changed(world: World) -> None:
    session = world.reader.sessions.get(RECORD) or Session(RECORD)
    turn = advance(LIBRARY, session, SharedRunRequested("r#0", RECORD, START, "enter", {"place": "many"}, ANN, "r#0"))
    assert turn.failure is not None and turn.session.kept_variables == {}
    (effect,) = turn.effects
    assert effect.event.contact == ANN and effect.event.outcome == "failed"  # type: ignore[union-attr]


def test_a_record_of_another_shard_answers_too(store: PostgresAddress) -> None:  # noqa: F811
    home = shard_number(RECORD, SHARDS)
    near, far = contact_in(home), contact_in(1 - home)
    with running(store, partial(advance, LIBRARY)) as machine:
        for contact in (near, far, near):
            machine.say(contact, "queue")
        for contact in (near, far):
            session = machine.reader.sessions.get(contact)
            assert session is not None and session.frame is not None and session.frame.step == "told"
        record = machine.reader.sessions.get(RECORD)
        assert record is not None and record.kept_variables["line"] == [near, far]
