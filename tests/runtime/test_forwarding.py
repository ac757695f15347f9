"""What concerns a contact of another shard is forwarded to it: two engines work on two shards of a store in PostgreSQL."""

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import EmitEvent
from bot.core.engine_requests import AskStatus, StartFlow
from bot.core.events import Event, Forwarded, StartRequested
from bot.core.session import Session
from bot.core.turn import Trace, Turn
from bot.core.values import json_text, loads
from bot.engine.advance import advance
from bot.runtime import batch
from bot.runtime.batch import Batch, effect_key
from bot.services.gateway import webhook_events
from bot.store.crash_quarantine import ORDINARY
from bot.store.database import PostgresAddress, shard_number, shards_of
from bot.store.engine_store import EngineStore, StoreShards
from bot.store.inbox import InboxWriter
from bot.store.opening import serves_others
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE, wait_for
from tests.postgres import Postgres, divided_database
from tests.runtime import engine_kit
from tests.runtime.engine_kit import START, World, begin
from tests.runtime.test_other_contacts import FLOWS
from tests.talk import BOT, library_of

SHARDS = 2
_NUMBERS = count(1)
LIBRARY = library_of(FLOWS, BOT + "signals: {taken: {by: phone}}\n")


def contact_in(shard: int, number: int = 0) -> str:
    """One of the contacts of a shard."""
    return [each for each in (f"62812345678{n:02}" for n in range(90)) if shard_number(each, SHARDS) == shard][number]


ANN, BOB = contact_in(0), contact_in(1)
ANNS_OTHER = contact_in(1, 1)
"""A number of Ann's that the gateway may use, too: the other shard has it."""


class Machine:
    """The engines of both shards, and the log that the web process writes."""

    def __init__(self, store: PostgresAddress, advance: batch.Advance = engine_kit.advance) -> None:
        self.store = store
        self.clock = MovableClock(START)
        self.inbox = InboxWriter(store, self.clock)
        self.reader = StoreReader(store)
        self.worlds: list[World] = []
        self.advance = advance
        self.begin()

    def begin(self) -> None:
        """Begin a run of each engine."""
        self.worlds = [begin(shard, self.clock, self.inbox, advance=self.advance) for shard in shards_of(self.store)]

    def stop(self) -> None:
        for world in self.worlds:
            world.stop()

    def settle(self) -> None:
        """Wait until neither has anything to take."""
        while not all(world.turns.settled() for world in self.worlds):
            for world in self.worlds:
                world.turns.wake()
                world.settle()

    def second_passes(self, seconds: int = 1) -> None:
        """Let time pass, and each engine make its pass."""
        self.clock.move(timedelta(seconds=seconds))
        for world in self.worlds:
            world.turns.operate(AskStatus())
        self.settle()

    def say(self, contact: str, text: str, settle: bool = True) -> str:
        id = f"evt_{next(_NUMBERS)}"
        body = json.dumps({"id": id, "contact": contact, "text": text}).encode()
        self.inbox.append(self.inbox.event(None, id, "message.inbound", contact, self.clock.now(), body, True))
        if settle:
            self.settle()
        return id

    def tell(self, event: str, contact: str | None = None, settle: bool = True, **data: Any) -> str:
        """The gateway tells of something: what it names decides on the shard whose log has it."""
        id = f"evt_{next(_NUMBERS)}"
        body = json.dumps({"id": id, "event": event, "timestamp": int(START.timestamp()), "data": data}).encode()
        self.inbox.append(self.inbox.event(None, id, event, contact, self.clock.now(), body, True))
        if settle:
            self.settle()
        return id

    def taken(self, contact: str) -> list[str]:
        session = self.reader.sessions.get(contact)
        return session.frame.vars["taken"] if session and session.frame else []

    def turns(self, contact: str) -> list[Any]:
        return [turn.event for turn in self.reader.trace.turns(contact)]

    def letters(self) -> list[tuple[str | None, str]]:
        return [(letter.contact, letter.reason) for letter in self.reader.dead_letters.newest()]

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return list(self.reader.database.all(sql))


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        yield divided


@contextmanager
def running(store: PostgresAddress, advance: batch.Advance = engine_kit.advance) -> Iterator[Machine]:
    made = Machine(store, advance)
    with closing(made.inbox), closing(made.reader):
        try:
            yield made
        finally:
            made.stop()


@pytest.fixture
def machine(store: PostgresAddress) -> Iterator[Machine]:
    with running(store) as made:
        yield made


def learn(machine: Machine) -> None:
    """A message to Ann is sent, and the gateway calls her by her other number."""
    machine.say(ANN, "hello")
    row = machine.worlds[0].delivery.pop()
    machine.worlds[0].report(row, message_ids=(f"m{row.id}",), alias=ANNS_OTHER)
    machine.settle()


# -- another number of a contact


def test_an_event_of_an_alias_reaches_its_contact_s_shard(machine: Machine) -> None:
    learn(machine)
    before = machine.taken(ANN)
    written = machine.say(ANNS_OTHER, "here I am")
    assert machine.taken(ANN) == [*before, written]
    assert machine.reader.sessions.get(ANNS_OTHER) is None
    assert machine.rows("SELECT alias, contact FROM engine_1.aliases") == [(ANNS_OTHER, ANN)]


def test_the_messages_of_an_answer_have_the_keys_that_they_would_have_in_one_shard(machine: Machine) -> None:
    learn(machine)
    written = machine.say(ANNS_OTHER, "here I am")
    store_id = machine.rows("SELECT store_id FROM engine_0.meta")[0][0]
    keys = {row.key for row in machine.worlds[0].delivery.rows}
    assert {effect_key(store_id, f"{written}#{number}") for number in (0, 1)} <= keys


def test_an_alias_is_told_once(machine: Machine) -> None:
    learn(machine)
    learn(machine)
    assert machine.rows("SELECT count(*) FROM inbox_1.log") == [(1,)]


def test_a_number_that_has_written_is_nobody_s_alias(machine: Machine) -> None:
    written = machine.say(ANNS_OTHER, "I am somebody")
    learn(machine)
    assert machine.rows("SELECT count(*) FROM engine.aliases") == [(0,)]
    assert machine.taken(ANNS_OTHER) == [written]
    assert machine.rows("SELECT count(*) FROM inbox_1.log") == [(1,)], "and its shard is not even asked"


def test_an_alias_of_a_contact_that_is_being_erased_is_not_kept(machine: Machine) -> None:
    machine.worlds[1].stop()
    machine.say(ANN, "hello", settle=False)
    machine.worlds[0].turns.wake()
    machine.worlds[0].settle()
    machine.worlds[0].report(machine.worlds[0].delivery.pop(), alias=ANNS_OTHER)
    shard = shards_of(machine.store)[1]
    with closing(EngineStore(shard)) as engine:
        engine.erase(ANN, 0, START)
    machine.worlds[1] = begin(shard, machine.clock, machine.inbox)
    machine.settle()
    assert machine.rows("SELECT count(*) FROM engine.aliases") == [(0,)]


def test_events_that_come_by_the_same_way_stay_in_order(machine: Machine) -> None:
    learn(machine)
    before = machine.taken(ANN)
    written = [machine.say(ANNS_OTHER, f"line {number}", settle=False) for number in range(20)]
    machine.settle()
    assert machine.taken(ANN) == before + written


# -- what names a conversation or a message


IN_CONVERSATION: dict[str, Any] = {
    "from": BOB,
    "type": "text",
    "body": "hello",
    "timestamp": int(START.timestamp()),
    "conversation_id": "c1",
}


def test_an_event_that_names_only_a_conversation_reaches_the_shard_that_has_it(machine: Machine) -> None:
    machine.tell("message.inbound", BOB, **IN_CONVERSATION)
    resolved = machine.tell("conversation.resolved", conversation_id="c1")
    assert machine.turns(BOB)[-1].id == resolved
    assert machine.reader.sessions.get(BOB) is not None and machine.letters() == []


def test_it_comes_behind_what_that_shard_was_told_before(machine: Machine) -> None:
    """Shard 1 has not read yet which conversation it is."""
    machine.worlds[1].stop()
    machine.tell("message.inbound", BOB, settle=False, **IN_CONVERSATION)
    resolved = machine.tell("conversation.resolved", settle=False, conversation_id="c1")
    machine.worlds[0].turns.wake()
    machine.worlds[0].settle()
    machine.worlds[1] = begin(shards_of(machine.store)[1], machine.clock, machine.inbox)
    machine.settle()
    assert machine.turns(BOB)[-1].id == resolved


def test_an_event_of_a_conversation_that_nobody_has_is_dropped(machine: Machine) -> None:
    machine.tell("conversation.resolved", conversation_id="unknown")
    assert machine.rows("SELECT count(*) FROM engine.turns") == machine.rows("SELECT 0")
    assert machine.rows("SELECT count(*) FROM inbox.log") == [(2,)], "it goes round in no circle"


UNDELIVERABLE: dict[str, Any] = {"error": {"code": "131026", "message": "undeliverable"}}


def send(machine: Machine, contact: str, message_id: str) -> None:
    """A message to a contact has been sent."""
    world = machine.worlds[shard_number(contact, SHARDS)]
    machine.say(contact, "report")
    world.report(world.delivery.pop(), message_ids=(message_id,))


def test_a_status_that_names_only_its_message_is_kept_beside_it(machine: Machine) -> None:
    send(machine, BOB, "m1")
    machine.tell("message.failed", message_id="m1", **UNDELIVERABLE)
    assert machine.rows("SELECT message_id, status FROM engine_1.statuses") == [("m1", "failed")]
    assert machine.rows("SELECT count(*) FROM engine_0.statuses") == [(0,)]
    assert [contact for contact, _ in machine.letters()] == [BOB]


@pytest.mark.parametrize("begins_anew", [False, True])
@pytest.mark.parametrize("named", [None, ANN])
def test_a_status_that_comes_before_the_answer_to_the_send_is_not_lost(
    machine: Machine, named: str | None, begins_anew: bool
) -> None:
    """It failed, and names nobody, or a contact of another shard: nothing shows yet whose message it is."""
    machine.say(BOB, "report")
    row = machine.worlds[1].delivery.pop()
    to: dict[str, Any] = {} if named is None else {"to": named}
    machine.tell("message.failed", named, message_id="m1", **UNDELIVERABLE, **to)
    if begins_anew:
        machine.worlds[0].stop()
        machine.worlds[0] = begin(shards_of(machine.store)[0], machine.clock, machine.inbox)
    machine.worlds[1].report(row, message_ids=("m1",))
    machine.second_passes(2)
    assert machine.rows("SELECT message_id, status FROM engine.statuses") == [("m1", "failed")]
    assert machine.rows("SELECT count(*) FROM engine_1.statuses") == [(1,)]
    assert [contact for contact, _ in machine.letters()] == [BOB]


def test_a_status_that_names_an_alias_goes_to_its_contact_s_shard(machine: Machine) -> None:
    """Before the answer to the send, too."""
    learn(machine)
    machine.say(ANN, "report")
    row = machine.worlds[0].delivery.rows.pop()
    machine.tell("message.failed", ANNS_OTHER, message_id="m1", to=ANNS_OTHER, **UNDELIVERABLE)
    assert machine.rows("SELECT contact, status FROM engine_0.statuses WHERE message_id = 'm1'") == [(ANN, "failed")]
    machine.worlds[0].report(row, message_ids=("m1",))
    assert [contact for contact, _ in machine.letters()] == [ANN]


def test_a_status_that_names_a_number_which_was_somebody_else_s_is_not_lost(machine: Machine) -> None:
    """The gateway calls Bob now as it called Ann before, and no shard has learnt that yet."""
    learn(machine)
    machine.say(BOB, "report")
    row = machine.worlds[1].delivery.pop()
    machine.tell("message.failed", ANNS_OTHER, message_id="of Bob", to=ANNS_OTHER, **UNDELIVERABLE)
    machine.worlds[1].report(row, message_ids=("of Bob",), alias=ANNS_OTHER)
    machine.second_passes(2)
    assert [contact for contact, _ in machine.letters()] == [BOB]
    assert machine.rows("SELECT count(*) FROM engine_0.statuses WHERE message_id = 'of Bob'") == [(0,)]


def test_it_is_looked_for_less_and_less_often(machine: Machine) -> None:
    machine.tell("message.delivered", message_id="of another program")
    with patch.object(StoreShards, "of_messages", autospec=True, side_effect=StoreShards.of_messages) as asked:
        for _ in range(150):
            machine.second_passes()
    assert 5 < asked.call_count < 12


# -- what one contact causes at another


@pytest.fixture
def bot(store: PostgresAddress) -> Iterator[Machine]:
    with running(store, partial(advance, LIBRARY)) as made:
        yield made


DRIVERS = ["6281234567891", "6281234567892"]
RIDER = ANN


def test_flows_start_for_contacts_of_other_shards_and_signals_come_back(bot: Machine) -> None:
    assert {shard_number(each, SHARDS) for each in DRIVERS} == {1} and shard_number(RIDER, SHARDS) == 0
    bot.say(RIDER, "taxi")
    offered = [(row.contact, row.effect.message.body) for world in bot.worlds for row in world.delivery.rows]
    assert sorted(offered) == [(each, "Free?") for each in DRIVERS]
    for driver in DRIVERS:
        bot.say(driver, "yes")
    texts = [row.effect.message.body for world in bot.worlds for row in world.delivery.rows if row.contact == RIDER]
    assert texts == [f"{DRIVERS[0]} takes it."]
    for number, shard in enumerate(shards_of(bot.store)):
        with closing(StoreReader(shard)) as reader:
            named = reader.database.all("SELECT contact FROM turns UNION SELECT contact FROM sessions")
        assert {shard_number(contact, SHARDS) for (contact,) in named} <= {number}


def starts(contact: str, flow: str = "round_and_round", **data: Any) -> StartFlow:
    return StartFlow(contact, flow, data)


ROUND = "more than 10 starts and signals led here"


def test_what_would_go_round_for_ever_ends_with_a_dead_letter(bot: Machine) -> None:
    bot.worlds[0].turns.operate(starts(ANN, here=ANN, there=BOB))
    bot.settle()
    ((contact, reason),) = bot.letters()
    assert reason.startswith(ROUND) and contact == BOB
    assert (
        len(bot.turns(ANN)) + len(bot.turns(BOB)) == batch.MOST_HOPS + 2
    )  # with the first, and the line about the last


def test_what_may_follow_one_event_is_divided_among_the_shards(store: PostgresAddress) -> None:
    """No more than a thousand in all, whatever the other shards do with it."""

    def causes(many: int, others: int) -> batch.Advance:
        def turn(session: Session, event: Event) -> Turn:
            started = [contact_in(1)] * many + [contact_in(0, 1)] * others
            effects = [
                EmitEvent(StartRequested(f"{event.id}#{n}", contact, START, "f", {}))
                for n, contact in enumerate(started)
            ]
            return Turn(session, tuple(effects) if event.id == "first" else (), None, Trace("test"))

        return turn

    with closing(EngineStore(shards_of(store)[0])) as engine:
        for many, others, allowed in ((1, 0, 999), (3, 0, 332), (99, 1, 9), (1000, 0, 0)):
            made = Batch(engine, causes(many, others), ORDINARY, START)
            made.take(StartRequested("first", ANN, START, "f", {}))
            ((_, rows),) = made.commit.forwarded.items()
            forwarded = [loads(row[5]) for row in rows]
            assert {(each.hops, batch.MOST_CAUSED - each.caused) for each in forwarded} == {(1, allowed)}
            assert many + others + many * allowed <= batch.MOST_CAUSED
            engine.write(made.commit)
        made = Batch(engine, causes(1001, 0), ORDINARY, START)
        made.take(StartRequested("first", ANN, START, "f", {}))
        ((_, rows),) = made.commit.forwarded.items()
        assert [loads(row[5]).caused for row in rows[-2:]] == [batch.MOST_CAUSED, batch.MOST_CAUSED + 1]


def test_what_is_too_much_becomes_a_dead_letter_where_its_contact_is(machine: Machine) -> None:
    body = json_text(Forwarded(StartRequested("evt#0", BOB, START, "f", {}), 1, batch.MOST_CAUSED + 1)).encode()
    machine.inbox.append(machine.inbox.event(None, "moved:1", "moved", BOB, START, body, True))
    machine.settle()
    assert [(contact, reason.split(",")[0]) for contact, reason in machine.letters()] == [(BOB, ROUND)]


def test_the_other_engine_is_woken(machine: Machine) -> None:
    """Else it would look for itself only after half a second."""
    learn(machine)
    other, loop, long = machine.worlds[0], "bot.runtime.engine_loop", 10 * PATIENCE
    woken: list[None] = []

    def wake() -> None:
        woken.append(None)
        other.turns.wake()

    with (
        serves_others(other.path, wake, lambda request: None),
        patch(f"{loop}._POLL", long),
        patch(f"{loop}._POLL_IDLE", long),
    ):
        wait_for(lambda: bool(woken))  # it listens, and has looked whether it missed anything
        other.turns.operate(AskStatus())
        written = machine.say(ANNS_OTHER, "hello", settle=False)
        machine.worlds[1].turns.wake()
        wait_for(lambda: machine.taken(ANN)[-1:] == [written])


def test_a_gateway_cannot_use_the_ids_of_what_is_forwarded() -> None:
    assert not webhook_events.envelope(b'{"id": "moved:1", "event": "message.inbound"}').id.startswith("moved:")
