"""Who opts out gets no broadcast that waits, no start by a program and no message of an operator's, on a store."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import Send
from bot.core.engine_answers import DeadLettersEnded, FlowStarted, RecipientsAdded
from bot.core.engine_requests import AddRecipients, RetryDeadLetters, SendMessage, StartFlow
from bot.core.messages import TextMessage
from bot.engine.advance import advance
from bot.runtime.batch import RequestRefused
from bot.runtime.broadcasting import AHEAD
from bot.store.broadcast_rows import FINISHED
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.rows import CAMPAIGN
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.broadcasting import SALE, ask, begun, letters, resume, stop
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.talk import BOT, library_of

FLOWS = """
flow: main
start: {otherwise: true}
steps: {say: {say: Hello., then: end}}
---
flow: news
steps: {say: {say: News!, then: end}}
"""
LIBRARY = library_of(FLOWS, BOT + "opt_out: {words: [stop], say: Bye., back: [start]}\n")
CONTACTS = [str(6280000000000 + n) for n in range(AHEAD + 2)]
ANN, LAST = CONTACTS[0], CONTACTS[-1]


def begin(path: Path, clock: MovableClock, inbox: InboxWriter) -> World:
    store, engine, alarms = EngineStore(path), partial(advance, LIBRARY), Alarms(clock)
    begun(store, "spring")
    turns = loop_on(store, clock, engine, alarms)
    world = World(path, clock, inbox, Hands(), Hands(), turns, store, StoreReader(path), alarms)
    turns.start(world.delivery, world.performers)
    return world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path, clock = tmp_path / "bot.db", MovableClock(START)
    migrate(path)
    world = begin(path, clock, InboxWriter(path, clock, patience=PATIENCE))
    yield world
    world.close()


def campaigns(world: World) -> list[str]:
    return [row.contact for row in world.delivery.rows if row.priority == CAMPAIGN]


@pytest.mark.parametrize("contact", [ANN, LAST])
@pytest.mark.parametrize("words", [["stop"], ["stop", "start"]])
def test_a_broadcast_that_waits_for_it_is_cancelled(world: World, contact: str, words: list[str]) -> None:
    ask(world, *CONTACTS)
    assert (ANN in campaigns(world), LAST in campaigns(world)) == (True, False)
    for word in words:
        world.say(contact, word)
    assert contact not in campaigns(world)
    assert world.reader.broadcasts.outcomes("spring") == {"opted_out": 1, "waiting": AHEAD + 1}
    assert ask(world, contact) == RecipientsAdded(0, 1, 0, 0)


def test_who_opts_out_before_its_time_has_come_gets_nothing(world: World) -> None:
    recipients = [{"contact": contact, "at": (START + timedelta(hours=1)).isoformat()} for contact in CONTACTS[:2]]
    request = AddRecipients("autumn", recipients, SALE, at="10:00")
    world.turns.operate(request)
    world.say(ANN, "stop")
    world.say(CONTACTS[1], "stop")
    assert world.reader.broadcasts.outcomes("autumn") == {"opted_out": 2}
    found = world.reader.broadcasts.get("autumn")
    assert found is not None and (found.state, found.ended_at) == (FINISHED, START)


def test_who_opts_out_just_before_the_outbox_is_filled_gets_no_broadcast(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, words = world.store.write, ["stop"]

    def written_and_then_stopped(commit: Commit) -> bool:
        something = write(commit)
        if commit.broadcasts.recipients and words:
            world.say(ANN, words.pop(), settle=False)
        return something

    monkeypatch.setattr(world.store, "write", written_and_then_stopped)
    ask(world, ANN, LAST)
    assert campaigns(world) == [LAST]
    assert world.reader.broadcasts.outcomes("spring") == {"opted_out": 1, "waiting": 1}


def test_what_may_have_been_sent_ends_as_it_ends(world: World) -> None:
    ask(world, ANN)
    (row,) = world.delivery.rows
    world.delivery.in_flight.add(row.id)
    world.say(ANN, "stop")
    world.report(row)
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1}


def test_no_broadcast_is_begun_with_it(world: World) -> None:
    world.say(ANN, "stop")
    assert ask(world, ANN, LAST) == RecipientsAdded(1, 0, 0, 1)


def test_a_stopped_broadcast_that_goes_on_leaves_it_out(world: World) -> None:
    ask(world, ANN, LAST)
    stop(world)
    world.say(ANN, "stop")
    resume(world)
    assert campaigns(world) == [LAST]
    assert world.reader.broadcasts.outcomes("spring") == {"opted_out": 1, "waiting": 1}


def test_the_first_message_goes_to_another_where_the_first_contact_has_opted_out(world: World) -> None:
    ask(world, ANN, LAST, name="new")
    assert campaigns(world) == [ANN]
    world.say(ANN, "stop")
    assert campaigns(world) == [LAST]
    assert world.reader.broadcasts.outcomes("new")["opted_out"] == 1


def test_a_program_hears_that_nothing_was_started(world: World) -> None:
    world.say(ANN, "stop")
    answer = world.turns.operate(StartFlow(ANN, "news", by="bot start"))
    assert answer == FlowStarted(ANN, "news", detail="", outcome="opted_out")
    assert world.rules(ANN)[-1] == "no start of news by bot start: the contact has opted out"
    (row,) = (row for row in world.delivery.rows if isinstance(row.effect, Send))
    assert row.effect.message == TextMessage("Bye.")
    world.say(ANN, "start")
    assert world.turns.operate(StartFlow(ANN, "news")).outcome == "started"


def test_an_operator_sends_it_nothing(world: World) -> None:
    world.say(ANN, "stop")
    with pytest.raises(RequestRefused, match="has opted out"):
        world.turns.operate(SendMessage(ANN, "Hello again"))


@pytest.mark.parametrize("others", [[], [LAST]])
def test_what_was_given_up_stays_given_up(world: World, others: list[str]) -> None:
    for contact in (ANN, *others):
        world.say(contact, "hello")
        world.report(world.delivery.pop(), "failed", "131026: no", message_ids=())
    world.say(ANN, "stop")
    world.delivery.rows.clear()
    ann, *rest = letters(world)
    answer = world.turns.operate(RetryDeadLetters([ann, *rest]))
    assert answer == DeadLettersEnded(rest, [], [ann], [], [], held=[])
    world.settle()
    assert [row.contact for row in world.delivery.rows] == others
    assert letters(world) == [ann]


def test_it_is_seen_where_the_contacts_are_listed(world: World) -> None:
    world.say(ANN, "stop")
    world.say(LAST, "hello")
    assert {each.contact: each.opted_out for each in world.reader.sessions.summaries()} == {ANN: True, LAST: False}
    assert (
        world.reader.sessions.opted_out(ANN),
        world.reader.sessions.opted_out(LAST),
        world.reader.sessions.opted_out("1"),
    ) == (
        True,
        False,
        False,
    )


def test_it_holds_also_where_the_session_cannot_be_read(world: World) -> None:
    world.say(ANN, "stop")
    world.stop()
    with closing(sqlite3.connect(world.path)) as file, file:
        file.execute("UPDATE sessions SET state = '{\"$Session\": 1}'")
    again = begin(world.path, world.clock, world.inbox)
    assert again.turns.operate(StartFlow(ANN, "news")).outcome == "opted_out"
    again.say(ANN, "hello")
    assert again.reader.sessions.opted_out(ANN)
    again.stop()
