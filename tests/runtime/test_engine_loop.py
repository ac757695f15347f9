"""The turns: what is taken when, what becomes of it, and that one contact's trouble is nobody else's."""

import json
import logging
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import Call, Send
from bot.core.engine_answers import ConversationChanged, DeadLettersEnded, Status
from bot.core.engine_requests import AnyRequest, AskStatus, ResetContact, RetryDeadLetters, SendMessage
from bot.core.events import Event, MessageReceived, Tapped
from bot.core.messages import TextMessage
from bot.core.session import Session
from bot.core.turn import Turn
from bot.core.values import Usage
from bot.engine.replies import is_kept
from bot.runtime.batch import RequestRefused, effect_key
from bot.runtime.engine_cycle import AT_ONCE
from bot.runtime.engine_loop import CUT_OFF, GATHERING, EngineStopped
from bot.services.http_client import wait_for
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.files import StoreUnavailable
from bot.store.inbox import InboxReader, LogRow
from bot.store.integrity import StoresDiffer
from bot.store.rows import ParkedRow
from bot.store.sqlite_database import transaction
from tests.patience import PATIENCE
from tests.postgres import Postgres, new_database
from tests.runtime.engine_kit import START, Hands, World, advance, begin, called, loop_on, open_world, sent
from tests.store.store_kit import sqlite

WINDOW = timedelta(hours=23, minutes=55)
ANN = "491701"
BOB = "491702"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = open_world(tmp_path / "bot.db")
    yield world
    world.close()


def again(world: World, **options: object) -> World:
    """The same store after a stop and a new start."""
    world.stop()
    return begin(world.path, world.clock, world.inbox, **options)  # type: ignore[arg-type]


def test_a_message_is_taken_and_its_effects_are_handed_on_in_order(world: World) -> None:
    event = world.say(ANN, "hi")
    first, second = world.delivery.rows
    assert [row.effect.message.body for row in (first, second)] == ["1: hi", "2: hi"]
    assert (first.ref, second.ref) == (f"{event}#0", f"{event}#1")
    assert first.id < second.id
    assert (first.contact, first.attempts, first.due_at, first.window_until) == (ANN, 0, START, START + WINDOW)


def test_the_key_of_a_send_comes_from_the_store_and_the_event_and_from_no_row_number(world: World) -> None:
    event = world.say(ANN, "hi")
    assert world.delivery.rows[1].key == effect_key(world.store.store_id, f"{event}#1")
    assert effect_key("another store", f"{event}#1") != world.delivery.rows[1].key


def test_the_trace_tells_the_event_the_rule_the_effects_and_the_time_it_took(world: World) -> None:
    event = world.say(ANN, "hi")
    (turn,) = world.trace(ANN)
    assert (turn.event_id, turn.rule, turn.at) == (event, "MessageReceived", START)
    assert [effect.message.body for effect in turn.effects] == ["1: hi", "2: hi"]  # type: ignore[union-attr]
    assert turn.micros >= 0


def test_a_result_that_nobody_waits_for_wakes_nobody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say(ANN, "hi")
    first, second = world.delivery.rows
    world.say(BOB, "report")
    asked = world.delivery.rows[2]
    world.turns.begin_claim(second, lambda error: None)  # it goes without a key
    world.settle()
    woken: list[int] = []
    monkeypatch.setattr(world.turns, "_take_now", lambda: woken.append(len(woken)))
    world.turns.sent(sent(first))
    assert not woken
    world.settle()
    assert [row.id for row in world.store.messages.pending(0, 9)] == [asked.id], (
        "it is committed a moment later all the same"
    )
    for result in (sent(second), sent(asked), sent(first, "failed"), sent(first, alias=BOB)):
        before = len(woken)
        world.turns.sent(result)
        assert len(woken) == before + 1, result


def test_more_events_than_one_commit_takes_are_taken_in_order(world: World) -> None:
    events = [world.say(ANN, "hi", f"evt_{number}", settle=False) for number in range(2 * AT_ONCE + 10)]
    world.settle()
    assert world.taken(ANN) == events


@pytest.mark.parametrize(("events", "waits"), [(3, 0), (20, 1), (AT_ONCE, 0)])
def test_the_next_commit_waits_for_more_events_only_under_load_and_not_if_they_have_piled_up(
    events: int, waits: int, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("bot.runtime.engine_loop.sleep", waited.append)
    world.stop()
    for number in range(events):
        world.say(ANN, "hi", f"evt_{number}", settle=False)

    begun = threading.Event()

    def advance_and_wake(session: Session, event: Event) -> Turn:
        assert begun.wait(PATIENCE)
        world.turns.wake()  # another event comes meanwhile
        return advance(session, event)

    again = begin(world.path, world.clock, world.inbox, advance=advance_and_wake)
    world.turns, world.store = again.turns, again.store
    begun.set()
    world.settle()
    assert len(world.taken(ANN)) == events
    assert waited == [GATHERING] * waits


def test_an_event_that_concerns_no_conversation_only_moves_the_cursor(world: World) -> None:
    world.inbox.append(world.inbox.event(None, "evt_1", "contact.created", ANN, START, b'{"id": "evt_1"}', True))
    world.settle()
    assert world.store.cursor == 1
    assert world.trace(ANN) == []


@pytest.mark.parametrize("body, readable", [(b"\xff{", False), (b"\xff{", True), (b"{}x", True), (b"7", True)])
def test_what_cannot_be_read_is_a_dead_letter_and_the_next_is_taken(world: World, body: bytes, readable: bool) -> None:
    world.inbox.append(world.inbox.event(None, "evt_bad", "message.inbound", ANN, START, body, readable))
    event = world.say(ANN, "hi")
    (letter,) = world.reader.dead_letters.newest()
    assert (letter.what, letter.contact, letter.body) == ("event", ANN, body.decode(errors="backslashreplace"))
    assert world.taken(ANN) == [event]


def test_a_turn_that_raises_is_a_dead_letter_and_costs_no_other_event(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    before = world.say(ANN, "hi")
    boom = world.say(ANN, "boom", settle=False)
    other = world.say(BOB, "hi", settle=False)
    after = world.say(ANN, "bye")
    assert world.taken(ANN) == [before, after]
    assert world.taken(BOB) == [other]
    (letter,) = world.reader.dead_letters.newest()
    assert (letter.what, letter.contact, letter.reason) == ("turn", ANN, "ValueError: 49170123 said boom")
    assert world.rules(ANN) == ["MessageReceived", "failed", "MessageReceived"]
    assert boom in str(letter.body)
    assert "ValueError at" in caplog.text
    assert "4917" not in caplog.text and "said boom" not in caplog.text


def test_a_failure_of_the_flow_is_a_dead_letter_although_the_session_has_moved_on(world: World) -> None:
    event = world.say(ANN, "broken flow")
    assert world.taken(ANN) == [event]
    assert [letter.reason for letter in world.reader.dead_letters.newest()] == ["the flow is broken"]


@pytest.mark.parametrize("text", ["half a pair: \ud83d", "nul: \x00", "{{ 7 * 7 }}", "$dict", "'; DROP TABLE log"])
def test_whatever_a_contact_writes_goes_through_as_it_came(world: World, text: str) -> None:
    world.say(ANN, text)
    assert world.texts() == [f"1: {text}", f"2: {text}"]
    world = again(world)
    world.delivery.wait_for(2)
    assert world.texts() == [f"1: {text}", f"2: {text}"]
    assert world.trace(ANN)[0].event.text == text  # type: ignore[union-attr]
    world.stop()
    world.inbox.close()


# What is parked


def test_messages_of_a_contact_inside_a_call_wait_for_its_end_and_are_taken_in_order(world: World) -> None:
    call = world.say(ANN, "call")
    parked = [world.say(ANN, f"m{number}") for number in range(3)]
    other = world.say(BOB, "hi")
    assert world.taken(ANN) == [call]
    assert world.taken(BOB) == [other]
    assert world.reader.counts()["parked"] == 3
    (row,) = world.performers.rows
    assert row.effect == Call("look_up", {"number": 4711}, tries=1)
    world.turns.called(called(row))
    newer = world.say(ANN, "newer")
    assert world.taken(ANN) == [call, f"call:{call}#0", *parked, newer]
    assert world.reader.counts()["parked"] == 0 == world.reader.counts()["calls"]


def test_a_reaction_is_not_parked(world: World) -> None:
    call = world.say(ANN, "call")
    reaction = world.tell("message.inbound", True, **{"from": f"+{ANN}", "type": "reaction", "body": "!"})
    assert world.taken(ANN) == [call, reaction]
    assert world.reader.counts()["parked"] == 0


def test_a_parked_message_that_calls_parks_the_rest_again(world: World) -> None:
    first = world.say(ANN, "call")
    second = world.say(ANN, "call", "evt_second")
    third = world.say(ANN, "hi")
    world.call_ends(world.performers.pop())
    assert world.taken(ANN) == [first, f"call:{first}#0", second]
    world.call_ends(world.performers.pop())
    assert world.taken(ANN) == [first, f"call:{first}#0", second, f"call:{second}#0", third]


def test_messages_parked_and_freed_in_one_commit_keep_their_order(tmp_path: Path) -> None:
    world = open_world(tmp_path / "bot.db")
    world.stop()
    names = [world.say(ANN, text, f"evt_{text}_{number}", settle=False) for number, text in enumerate(["call", "hi"])]
    world = begin(world.path, world.clock, world.inbox)
    call = world.performers.wait_for(1)[0]
    world.turns.called(called(call))
    names.append(world.say(ANN, "bye"))
    assert world.taken(ANN) == [names[0], f"call:{names[0]}#0", names[1], names[2]]
    world.close()


def test_what_is_parked_and_called_survives_a_restart(world: World) -> None:
    call = world.say(ANN, "call")
    parked = world.say(ANN, "hi")
    restarted = again(world)
    row = restarted.performers.wait_for(1)[0]
    assert row == world.performers.rows[0]
    restarted.call_ends(row)
    assert restarted.taken(ANN) == [call, f"call:{call}#0", parked]
    restarted.stop()


def test_a_conversation_whose_call_result_fails_ends_so_that_it_is_not_stuck(world: World) -> None:
    world.say(ANN, "call")
    parked = world.say(ANN, "hi")
    world.call_ends(world.performers.rows[0], "boom")
    assert [letter.what for letter in world.reader.dead_letters.newest()] == ["turn"]
    assert world.taken(ANN) == [parked]  # a new conversation


def test_a_second_result_of_the_same_thing_is_dropped_with_a_note(world: World) -> None:
    world.say(ANN, "call")
    row = world.performers.rows[0]
    world.turns.called(called(row))
    world.turns.called(called(row))
    world.settle()
    world.call_ends(row)
    assert world.rules(ANN) == ["MessageReceived", "CallEnded", "late", "late"]


def test_what_a_model_used_up_for_a_result_that_came_too_late_is_counted(world: World) -> None:
    world.say(ANN, "call")
    row = world.performers.rows[0]
    world.call_ends(row, "timeout")
    late = replace(called(row), outcome="late", usage=(Usage("acme/one", 300, 20, estimated=True),))
    world.turns.called(late)
    world.settle()
    assert (world.reader.usage.tokens(ANN, START), world.rules(ANN)[-1]) == (320, "late")


def test_a_request_takes_so_many_tokens_from_a_budget_at_least(world: World) -> None:
    world.say(ANN, "call")
    row = world.performers.rows[0]
    world.turns.called(replace(called(row), usage=(Usage("acme/one", 3, 1), Usage("acme/two", 0, 1))))
    world.settle()
    assert world.reader.usage.tokens(ANN, START) == world.reader.usage.tokens(None, START) == 400
    assert sum(each.prompt_tokens + each.completion_tokens for each in world.reader.usage.sums(START, "model")) == 5


def test_a_call_that_is_retried_stays_and_keeps_its_count(world: World) -> None:
    world.say(ANN, "call")
    row = world.performers.rows[0]
    later = START + timedelta(seconds=9)
    world.call_ends(row, "retry", attempts=1, due_at=later)
    restarted = again(world)
    (row,) = restarted.performers.wait_for(1)
    assert (row.attempts, row.due_at) == (1, later)
    restarted.stop()


# Timers


def test_a_session_is_woken_at_its_time_and_not_before(world: World) -> None:
    event = world.say(ANN, "wait")
    world.clock.move(timedelta(minutes=59))
    world.settle()
    assert world.taken(ANN) == [event]
    world.clock.move(timedelta(minutes=1))
    world.settle()
    milliseconds = round((START + timedelta(hours=1)).timestamp() * 1000)
    assert world.taken(ANN) == [event, f"time:{ANN}:0:{milliseconds}"]
    assert world.texts() == ["time"]


def test_a_message_that_came_before_the_time_wins_over_it(world: World) -> None:
    wait = world.say(ANN, "wait")
    world.stop()
    message = world.say(ANN, "hi", settle=False)
    world.clock.move(timedelta(hours=2))
    restarted = begin(world.path, world.clock, world.inbox)
    restarted.settle()
    assert restarted.taken(ANN) == [wait, message]
    restarted.stop()


def test_a_timer_that_fails_ends_the_conversation_and_does_not_fire_again(world: World) -> None:
    world.say(ANN, "wait, then boom")
    world.clock.move(timedelta(hours=1))
    world.settle()
    assert world.rules(ANN) == ["MessageReceived", "failed"]
    assert world.reader.sessions.get(ANN).frames == ()  # type: ignore[union-attr]
    assert not world.store.sessions.next_wake()


def test_a_timer_that_asks_for_the_same_time_again_cannot_spin(world: World) -> None:
    def stubborn(session: Session, event: Event) -> Turn:
        return replace(advance(session, event), wake_at=START)

    world.turns.use(stubborn)
    world.say(ANN, "hi")
    assert world.rules(ANN) == ["MessageReceived", "failed"]
    assert "once more" in world.reader.dead_letters.newest()[0].reason


def test_of_what_a_flood_has_parked_only_what_is_taken_is_read(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.say(ANN, "call")
    for _ in range(300):
        world.say(ANN, "call", settle=False)
    world.settle()
    real, read_rows = world.store.parked.event, count()

    def counted(row: ParkedRow) -> MessageReceived | Tapped:
        next(read_rows)
        return real(row)

    monkeypatch.setattr(world.store.parked, "event", counted)
    world.call_ends(world.performers.pop())
    assert next(read_rows) == 1
    assert world.reader.counts()["parked"] == 299


def test_a_parked_event_is_known_to_be_kept_by_how_it_is_written(world: World) -> None:
    world.stop()
    commit, store = Commit(0, START), EngineStore(world.path)
    events = [MessageReceived(id, ANN, START, START, "text", '"id":"kept:') for id in ("kept:1", "2")]
    for event in events:
        commit.parked.add(event)
    store.write(commit)
    parked = store.parked.rows(ANN)
    assert [store.parked.event(row) for row in parked] == events
    assert [row.kept for row in parked] == [is_kept(event) for event in events] == [True, False]
    store.close()


# What comes of messages


def test_a_sent_message_leaves_the_outbox_and_nobody_hears_of_it(world: World) -> None:
    event = world.say(ANN, "hi")
    world.report(world.delivery.rows[0])
    assert world.taken(ANN) == [event]
    assert world.reader.counts()["outbox"] == 1
    restarted = again(world)
    assert [row.effect.message.body for row in restarted.delivery.wait_for(1)] == ["2: hi"]
    restarted.stop()


def test_the_session_hears_of_a_message_that_asked_for_it_or_did_not_go_as_planned(world: World) -> None:
    report = world.say(ANN, "report")
    hi = world.say(ANN, "hi")
    reported, first, second = world.delivery.rows
    world.report(reported)
    world.report(first, "replaced", "the window was closed")
    world.report(second, "failed", "WHATSAPP_SEND_FAILED: no such number")
    assert world.taken(ANN) == [report, hi, f"sent:{report}#0", f"sent:{hi}#0", f"sent:{hi}#1"]
    (letter,) = world.reader.dead_letters.newest()
    assert (letter.what, letter.reason) == ("send", "WHATSAPP_SEND_FAILED: no such number")
    assert world.reader.messages.last_replaced(ANN) == START
    assert world.reader.counts()["outbox"] == 0


def test_a_message_that_is_retried_stays_in_the_outbox_with_its_count(world: World) -> None:
    world.say(ANN, "report")
    later = START + timedelta(seconds=2)
    world.report(world.delivery.rows[0], "retry", "503", due_at=later, unclear=True)
    (pending,) = world.reader.messages.pending()
    assert (pending.attempts, pending.due_at, pending.detail) == (1, later, "503")
    restarted = again(world)
    (row,) = restarted.delivery.wait_for(1)
    assert (row.attempts, row.due_at, row.effect.report, row.unclear) == (1, later, True, True)
    restarted.stop()


def test_delivery_learns_what_became_of_a_message_that_was_not_sent_once_it_is_stored(world: World) -> None:
    world.say(ANN, "hi")
    first, second = world.delivery.rows
    world.report(first)
    world.report(second, "failed")
    assert world.delivery.stored == {second.id}, "who is sent what waits for nobody"


def test_a_message_that_was_being_sent_without_a_key_when_the_engine_died_is_unknown_and_not_sent_again(
    world: World,
) -> None:
    event = world.say(ANN, "hi")
    assert wait_for(partial(world.turns.begin_claim, world.delivery.rows[0])) is None
    restarted = again(world)
    restarted.settle()
    assert restarted.texts() == ["2: hi"]
    assert [letter.reason for letter in restarted.reader.dead_letters.newest()] == [CUT_OFF]
    assert restarted.taken(ANN) == [event, f"sent:{event}#0"]
    restarted.stop()


def test_a_hundred_thousand_pending_messages_are_never_held_in_memory_all_at_once(tmp_path: Path) -> None:
    def fill(store: EngineStore) -> None:
        row = ("ref", "key", ANN, '{"$Send":{"message":{"$Text":{"body":"x"}}}}', "2030-05-06T09:00:00+00:00", 0)
        with transaction(sqlite(store)):
            sqlite(store).executemany(
                "INSERT INTO messages (ref, key, contact, effect, created_at, attempts, due_at, expires_at)"
                " VALUES (?, ?, ?, ?, ?, ?, '2030-05-06T09:00:00+00:00', '2030-05-06T09:15:00+00:00')",
                (row for _ in range(100_000)),
            )
        store.ids.last["messages"] = 100_000

    world = open_world(tmp_path / "bot.db", room=500, prepare=fill)
    assert len(world.delivery.wait_for(500)) == 500
    world.say(BOB, "hi", settle=False)  # behind all of them
    done = [world.delivery.pop() for _ in range(200)]
    for row in done:
        world.turns.sent(sent(row))
    rows = world.delivery.wait_for(500)
    assert [row.id for row in done + rows] == list(range(1, 701))
    assert world.delivery.most == 500
    world.close()


def test_new_messages_wait_in_the_store_while_there_is_no_room_and_follow_in_order(tmp_path: Path) -> None:
    world = open_world(tmp_path / "bot.db", room=3)
    for number in range(4):
        world.say(ANN, f"m{number}", settle=False)
    sent_texts = []
    for _ in range(8):
        row = world.delivery.pop()
        sent_texts.append(row.effect.message.body)
        world.turns.sent(sent(row))
    assert sent_texts == [f"{part}: m{number}" for number in range(4) for part in (1, 2)]
    world.settle()
    assert world.delivery.most <= 3
    world.close()


# The operator


def test_a_reset_ends_what_a_contact_is_in_and_frees_what_was_parked(world: World) -> None:
    world.say(ANN, "call")
    parked = world.say(ANN, "hi")
    assert world.turns.operate(ResetContact(ANN)) == ConversationChanged(ANN)
    assert world.taken(ANN) == [parked]
    assert world.rules(ANN) == ["MessageReceived", "reset", "MessageReceived"]


def ended(**more: list[int]) -> DeadLettersEnded:
    return DeadLettersEnded(
        **{"done": [], "missing": [], "opted_out": [], "same_key": [], "may_double": [], **more}, held=[]
    )


def test_a_failed_message_is_sent_after_all_behind_the_others_and_under_a_new_key(world: World) -> None:
    world.say(ANN, "hi")
    failed, waiting = world.delivery.rows
    world.report(failed, "failed", "no")
    (letter,) = world.reader.dead_letters.newest()
    assert world.turns.operate(RetryDeadLetters([letter.id])) == ended(done=[letter.id])
    row = world.delivery.rows[-1]
    assert (row.effect, row.contact) == (failed.effect, ANN)
    assert row.id > waiting.id
    assert row.key != failed.key  # under the old one the gateway may only repeat its refusal
    assert world.reader.dead_letters.newest() == []
    assert world.turns.operate(RetryDeadLetters([letter.id])) == ended(missing=[letter.id])


@pytest.mark.parametrize("key_helps", [True, False])
def test_a_message_that_may_have_been_sent_is_retried_by_a_person_who_is_sure_under_its_old_key_where_that_helps(
    world: World, key_helps: bool
) -> None:
    world.say(ANN, "report")
    first = world.delivery.rows[0]
    world.report(first, "unknown", "timed out", key_helps=key_helps)
    (letter,) = world.reader.dead_letters.newest()
    retry = RetryDeadLetters([letter.id])
    stays = {"same_key" if key_helps else "may_double": [letter.id]}
    assert world.turns.operate(retry) == ended(**stays)
    assert world.reader.dead_letters.newest() == [letter]
    assert world.turns.operate(replace(retry, sure=True)) == ended(done=[letter.id])
    again = world.delivery.rows[-1]
    assert (again.key == first.key, again.repeated) == (key_helps, key_helps)
    assert again.ref != first.ref


def began(store: EngineStore) -> None:
    """A run that never ended."""
    store.runs.begin()


def test_what_waits_when_the_engine_crashes_may_be_repeated(world: World) -> None:
    world.say(ANN, "hi")
    assert not any(row.repeated for row in world.delivery.rows)
    restarted = again(world)
    rows = restarted.delivery.wait_for(1)
    assert not any(row.repeated for row in rows)
    restarted.stop()
    crashed = begin(world.path, world.clock, world.inbox, prepare=began)
    assert all(row.repeated for row in crashed.delivery.wait_for(len(rows)))
    crashed.stop()


def test_the_status_says_how_far_the_log_was_taken(world: World) -> None:
    world.say(ANN, "hi")
    assert world.turns.operate(AskStatus()) == Status(1)


LINK_THAT_IS_NONE = {"type": "image", "image": {"link": 5}}


@pytest.mark.parametrize(
    "request_",
    [
        RetryDeadLetters([1] * 501),
        ResetContact(BOB),
        SendMessage(ANN, template={"name": "t", "language": "en", "header": LINK_THAT_IS_NONE}),
    ],
)
def test_a_request_that_cannot_be_done_is_refused_in_words_and_the_engine_goes_on(
    world: World, request_: AnyRequest
) -> None:
    with pytest.raises(RequestRefused):
        world.turns.operate(request_)
    world.say(ANN, "hi")
    assert len(world.texts()) == 2


def test_a_request_to_an_engine_that_has_stopped_is_refused(world: World) -> None:
    assert world.turns.stop(PATIENCE)
    with pytest.raises(EngineStopped):
        world.turns.operate(AskStatus())


# The engine itself


def test_of_the_events_that_come_after_a_reload_none_is_taken_by_the_engine_before(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = InboxReader.after

    def after(inbox: InboxReader, seq: int, limit: int) -> list[LogRow]:
        world.turns.use(lambda session, event: replace(advance(session, event), effects=(Send(TextMessage("new")),)))
        return real(inbox, seq, limit)

    monkeypatch.setattr(InboxReader, "after", after)  # the cycle has begun by then, and has not read the log
    world.say(ANN, "hi")
    assert world.texts() == ["new"]


def test_a_reload_takes_effect_with_the_next_event(world: World) -> None:
    world.say(ANN, "hi")
    world.turns.use(lambda session, event: replace(advance(session, event), effects=(Send(TextMessage("new")),)))
    world.say(ANN, "hi")
    assert world.texts() == ["1: hi", "2: hi", "new"]


def test_it_is_settled_only_when_what_was_appended_is_taken(world: World) -> None:
    world.settle()
    assert world.turns.settled()
    taking, go_on = threading.Event(), threading.Event()

    def slow(session: Session, event: Event) -> Turn:
        taking.set()
        go_on.wait(PATIENCE)
        return advance(session, event)

    world.turns.use(slow)
    world.say(ANN, "hi", settle=False)
    assert not world.turns.settled()
    taking.wait(PATIENCE)
    assert not world.turns.settled()
    assert not world.turns.wait_settled(0.01)
    go_on.set()
    assert world.turns.wait_settled(PATIENCE)


def test_a_duplicate_does_not_keep_it_from_being_settled(world: World) -> None:
    event = world.say(ANN, "hi", "evt_twice")
    world.say(ANN, "hi", "evt_twice")
    assert world.taken(ANN) == [event]


def test_a_missed_wake_up_is_caught(world: World) -> None:
    world.settle()
    body = json.dumps({"id": "evt_1", "contact": ANN, "text": "hi"}).encode()
    world.inbox.append(world.inbox.event(None, "evt_1", "message.inbound", ANN, START, body, True))
    world.delivery.wait_for(2)


def test_a_full_disk_loses_nothing_and_hands_nothing_on_that_is_not_committed(world: World) -> None:
    world.say(ANN, "report")
    connection = sqlite(world.store)
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    big = "x" * 100_000
    refused = threading.Event()

    def noted(session: Session, event: Event) -> Turn:
        refused.set()
        return advance(session, event)

    world.turns.use(noted)
    world.say(BOB, big, settle=False)
    assert refused.wait(PATIENCE)
    world.turns.sent(sent(world.delivery.rows[0], "failed"))
    assert not world.turns.wait_settled(0.05)
    assert world.delivery.stored == set()
    assert world.reader.counts() == {
        "sessions": 1,
        "parked": 0,
        "outbox": 1,
        "calls": 0,
        "events_out": 0,
        "dead_letters": 0,
    }
    assert len(world.delivery.rows) == 1
    assert world.turns.operate(AskStatus()) == Status(1), "who asks how it is gets an answer"
    (alarm,) = world.alarms.current()
    assert (alarm.name, alarm.advice) == ("store-unavailable", "make room on its disk")
    connection.execute("PRAGMA max_page_count = 1000000")
    world.settle()
    assert world.alarms.current() == []
    assert world.texts() == ["report", f"1: {big}", f"2: {big}"]
    assert world.delivery.stored == {world.delivery.rows[0].id}
    assert [turn.rule for turn in world.trace(ANN)] == ["MessageReceived", "SendEnded"]


def test_a_disk_too_full_to_delete_what_is_old_is_one_alarm_until_there_is_room(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, tries = world.store.prune, count(1)

    def full_at_first(now: datetime) -> bool:
        if next(tries) <= 2:
            raise StoreUnavailable("the disk is full", "make room")
        return real(now)

    monkeypatch.setattr(world.store, "prune", full_at_first)
    world.clock.move(timedelta(minutes=2))
    world.say(ANN, "hi")
    assert [record.levelname for record in caplog.records] == ["ERROR", "WARNING"]
    assert world.alarms.current() == []


def test_a_session_that_cannot_be_read_starts_anew_and_is_kept_as_a_dead_letter(world: World) -> None:
    world.say(ANN, "hi")
    world.stop()
    store = EngineStore(world.path)
    with sqlite(store) as connection:
        connection.execute("""UPDATE sessions SET state = '{"$Session":{"colour":"red"}}'""")
    store.close()
    restarted = begin(world.path, world.clock, world.inbox)
    event = restarted.say(ANN, "again")
    assert restarted.taken(ANN) == [event]
    assert "colour" in str(restarted.reader.dead_letters.newest()[0].body)
    restarted.stop()


def test_a_cursor_beyond_the_logs_end_refuses_to_start_in_words(tmp_path: Path, world: World) -> None:
    world.say(ANN, "hi")
    world.stop()
    store = EngineStore(world.path)
    with sqlite(store) as connection:
        connection.execute("UPDATE meta SET cursor = 2")
    turns = loop_on(store, world.clock, advance)
    with pytest.raises(StoresDiffer, match=r"up to number 2, and in .* the log ends at 1.*one backup"):
        turns.start(world.delivery, world.performers)
    store.close()


def test_what_is_over_is_pruned_after_its_time_and_dead_letters_are_kept_longer(world: World) -> None:
    world.say(ANN, "boom")
    world.say(ANN, "hi")
    for row in list(world.delivery.rows):
        world.report(row)
    world.clock.move(timedelta(days=8))
    world.say(BOB, "hi")  # what is settled has been pruned
    assert world.trace(ANN) == []
    assert len(world.reader.dead_letters.newest()) == 1
    world.clock.move(timedelta(days=90))
    world.say(BOB, "hi")
    assert world.reader.dead_letters.newest() == []
    assert world.reader.sessions.get(ANN) is not None


# -- a clock that is set


def test_what_came_before_the_clock_was_set_back_has_happened_by_now(world: World) -> None:
    world.stop()
    world.say(ANN, "wait", settle=False)
    world.clock.step(-timedelta(days=1))
    again = begin(world.path, world.clock, world.inbox)
    again.settle()
    assert again.turns.next_wake() == world.clock.now() + timedelta(hours=1)
    again.stop()


def test_a_clock_that_is_set_back_while_the_disk_is_full_is_made_up_for_once_there_is_room(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    real, tried = world.store.clock_set_back, threading.Event()

    def full_at_first(*arguments: Any) -> None:
        if not tried.is_set():
            tried.set()
            raise StoreUnavailable("the disk is full", "make room")
        real(*arguments)

    monkeypatch.setattr(world.store, "clock_set_back", full_at_first)
    world.say(ANN, "wait")
    world.clock.step(-timedelta(days=1))
    assert tried.wait(PATIENCE)
    world.settle()
    world.clock.move(timedelta(hours=2))
    world.settle()
    assert world.texts() == ["time"]
    assert caplog.text.count("the machine's clock was set back") == 1


@pytest.mark.parametrize("seconds", [-4, 4, -6, 6])
def test_a_clock_that_is_set_by_little_is_not_worth_a_word(
    world: World, caplog: pytest.LogCaptureFixture, seconds: float
) -> None:
    world.say(ANN, "hi")
    world.clock.step(timedelta(seconds=seconds))
    world.settle()
    assert ("the machine's clock was set" in caplog.text) == (abs(seconds) > 5)


def test_what_is_over_is_kept_for_a_day_after_the_clock_was_set_forward(world: World) -> None:
    world.say(ANN, "boom")
    world.clock.step(timedelta(days=365))
    world.say(ANN, "hi")
    world.clock.move(timedelta(minutes=2))
    world.say(ANN, "hi")
    assert world.reader.counts()["dead_letters"] == 1
    world.clock.move(timedelta(days=1))
    world.say(ANN, "hi")
    assert world.reader.counts()["dead_letters"] == 0


def test_where_machines_share_a_store_the_clock_of_another_may_be_ahead(
    postgres: Postgres, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with new_database(postgres, tmp_path) as address, closing(EngineStore(address)) as store:
        store.clock_set_back(START + timedelta(hours=1), timedelta())  # the last commit
        clock = MovableClock(START)
        loop = loop_on(store, clock, advance)
        loop.start(Hands(), Hands())
        assert loop.stop(PATIENCE)
    assert (
        "was set back while the bot was down (or the clock of another machine is ahead), at least 1:00:00"
        in caplog.text
    )
