"""What the gateway says of messages after it took them: kept, only forward, told once, whatever comes first."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_requests import RetryDeadLetters
from bot.core.events import ConversationAssigned, HandoffClosed, SendEnded, StatusReported, Tapped
from bot.core.values import time_text
from bot.services.gateway.webhook_events import envelope
from bot.store.engine_store import EngineStore
from bot.store.rows import CAMPAIGN, OutboxRow
from bot.store.sqlite_schema import migrate
from tests.runtime.broadcasting import ask
from tests.runtime.engine_kit import START, World, begin, open_world
from tests.runtime.engine_kit import sent as result_of
from tests.store.store_kit import sqlite

ANN, BOB = "4915", "4916"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = open_world(tmp_path / "bot.db")
    yield made
    made.close()


def reply(world: World, contact: str = ANN, text: str = "hello") -> OutboxRow:
    """A contact writes; the first message of the bot's answer, which nobody has sent yet."""
    before = len(world.delivery.rows)
    world.say(contact, text)
    row: OutboxRow = world.delivery.rows[before]
    return row


def rows(world: World, sql: str) -> list[tuple[Any, ...]]:
    return list(world.reader.database.all(sql))


def statuses(world: World) -> dict[str, str]:
    return dict(rows(world, "SELECT message_id, status FROM statuses"))


def dead(world: World) -> list[tuple[str, str | None, str]]:
    return [(letter.what, letter.contact, letter.reason) for letter in world.reader.dead_letters.newest()]


def told(world: World, kind: type = StatusReported, contact: str = ANN) -> list[Any]:
    return [turn.event for turn in world.trace(contact) if isinstance(turn.event, kind)]


# -- of an unknown form


@pytest.mark.parametrize(
    ("event", "data"),
    [
        ("message.delivered", {"state": "ok"}),
        ("message.status", {"message_id": "m1", "status": "accepted"}),
        ("message.status", {"message_id": "m1"}),
        ("conversation.resolved", {"ticket": 5}),
    ],
)
def test_events_of_an_unknown_form_are_one_alarm_with_their_number(
    world: World, event: str, data: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        last = world.tell(event, **data)
    (alarm,) = world.alarms.current()
    assert (alarm.name, alarm.about) == ("events-unreadable", event)
    assert alarm.what.startswith(f"3 x {event} could not be read: `data")
    assert last in alarm.advice
    assert dead(world) == []
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1
    world.clock.move(timedelta(days=1))
    world.say(ANN, "a pass")
    assert world.alarms.current() == []


def test_bodies_that_are_no_events_are_one_alarm_with_their_number(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(3):
        filed = envelope(b"from=4915&text=%d" % number)
        world.inbox.append(world.inbox.event(None, filed.id, filed.event, filed.contact, START, b"", filed.readable))
    world.settle()
    (alarm,) = world.alarms.current()
    assert alarm.name == "events-unreadable"
    assert (
        alarm.what == "3 x an event without a name could not be read: the body is no JSON object that names its event"
    )
    assert filed.id in alarm.advice
    assert len(dead(world)) == 3
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 1


# -- forward


def test_a_status_is_kept_by_the_messages_id_and_told_to_its_contact(world: World) -> None:
    row = reply(world)
    world.report(row, message_ids=("m1", "c1"))
    id = world.tell("message.read", message_id="c1")
    assert statuses(world) == {"c1": "read"}
    (event,) = told(world)
    assert (event.id, event.contact, event.status) == (id, ANN, "read")


@pytest.mark.parametrize("order", list(permutations(("sent", "delivered", "read"))))
def test_statuses_only_move_a_message_forward_in_whatever_order_they_come(world: World, order: tuple[str, ...]) -> None:
    world.report(reply(world), message_ids=("m1", "c1"))
    for name, id in zip(order, ("m1", "c1", "m1"), strict=True):
        world.tell(f"message.{name}", message_id=id)
    assert max(statuses(world).values(), key=("sent", "delivered", "read").index) == "read"
    assert [event.status for event in told(world)] == ["read"]
    assert dead(world) == []


def test_the_same_status_again_is_no_news(world: World) -> None:
    world.report(reply(world), message_ids=("m1", "c1"))
    for id in ("m1", "c1", "m1"):
        world.tell("message.read", message_id=id)
    assert len(told(world)) == 1


def test_statuses_of_one_commit_are_in_order_too(world: World) -> None:
    row = reply(world)
    with world.turns._changed:  # nothing is taken until all of them are there
        for name in ("read", "sent", "delivered", "read"):
            world.tell(f"message.{name}", settle=False, message_id="m1", to=ANN)
        world.turns._incoming.sent.append(result_of(row, message_ids=("m1",)))
    world.settle()
    assert statuses(world) == {"m1": "read"}
    assert len(told(world)) == 1


def test_a_status_that_changes_nothing_leaves_no_trace(world: World) -> None:
    world.report(reply(world), message_ids=("m1",))
    before = world.trace(ANN)
    world.tell("message.delivered", message_id="m1")
    assert [turn.event_id for turn in world.trace(ANN)] == [turn.event_id for turn in before]
    assert statuses(world) == {"m1": "delivered"}


def test_a_status_is_not_parked_behind_a_call(world: World) -> None:
    world.report(reply(world), message_ids=("m1",))
    world.say(ANN, "call")
    world.tell("message.read", message_id="m1")
    assert len(told(world)) == 1


# -- the trace


def test_the_trace_shows_how_far_each_message_has_got(world: World) -> None:
    row = reply(world)
    world.report(row, message_ids=("m1", "c1"))
    world.tell("message.delivered", message_id="m1")
    world.tell("message.read", message_id="c1")
    (turn,) = [turn for turn in world.trace(ANN) if turn.effects]
    assert [None if status is None else status.name for status in turn.statuses] == ["read", None]


# -- before the answer


def test_a_status_may_come_before_the_answer_to_the_send(world: World) -> None:
    row = reply(world)
    world.tell("message.delivered", message_id="m1")
    world.tell("message.read", message_id="c1", to=ANN)
    assert [event.status for event in told(world)] == ["read"]
    world.report(row, message_ids=("m1", "c1"))
    world.tell("message.sent", message_id="m1")
    assert statuses(world) == {"m1": "delivered", "c1": "read"}
    assert len(told(world)) == 1


@pytest.mark.parametrize("text", ["hello", "report"])
def test_a_failure_before_the_answer_counts_when_that_comes(world: World, text: str) -> None:
    row = reply(world, text=text)
    world.tell("message.failed", message_id="c1", error={"code": "WHATSAPP_SEND_FAILED", "message": "no"})
    assert (dead(world), told(world, SendEnded)) == ([], [])
    world.report(row, message_ids=("m1", "c1"))
    (letter,) = dead(world)
    assert letter[:2] == ("send", ANN)
    assert letter[2].startswith("WHATSAPP_SEND_FAILED: no (")
    outcomes = [event.outcome for event in told(world, SendEnded)]
    assert outcomes == (["sent", "refused"] if text == "report" else ["refused"])


# -- failures


def test_a_message_that_failed_after_all_is_a_dead_letter_once_and_its_session_hears_of_it(world: World) -> None:
    row = reply(world)
    world.report(row, message_ids=("m1", "c1"))
    for id in ("m1", "c1", "m1"):
        world.tell("message.failed", message_id=id, reason="blocked")
    assert dead(world) == [("send", ANN, "blocked")]
    (ended,) = told(world, SendEnded)
    assert (ended.effect, ended.outcome, ended.detail) == (row.ref, "refused", "blocked")
    assert [event.status for event in told(world)] == ["failed"]


def test_the_events_of_one_message_have_ids_of_their_own(world: World) -> None:
    row = reply(world, text="report")
    world.report(row, message_ids=("m1",))
    world.tell("message.failed", message_id="m1")
    ids = [event.id for event in told(world, SendEnded)]
    assert len(ids) == len(set(ids)) == 2


def test_a_message_that_failed_can_be_sent_again_under_a_new_key(world: World) -> None:
    row = reply(world)
    world.report(row, message_ids=("m1",))
    world.tell("message.failed", message_id="m1")
    (letter,) = world.reader.dead_letters.newest()
    requests = world.reader.messages.requests(START)
    world.turns.operate(RetryDeadLetters([letter.id]))
    assert world.reader.messages.requests(START) == requests, "what was sent counts against the limits once"
    again = world.delivery.rows[-1]
    assert (again.contact, again.effect) == (row.contact, row.effect)
    assert again.key != row.key
    assert dead(world) == []
    world.tell("message.failed", message_id="m1")
    assert dead(world) == []


def test_what_was_delivered_has_not_failed(world: World) -> None:
    world.report(reply(world), message_ids=("m1",))
    world.tell("message.delivered", message_id="m1")
    world.tell("message.failed", message_id="m1")
    assert (statuses(world), dead(world)) == ({"m1": "delivered"}, [])


def test_a_broadcasts_failure_is_a_dead_letter_that_no_session_hears_of(world: World) -> None:
    ask(world, ANN)
    row = world.delivery.pop()
    assert row.priority == CAMPAIGN
    world.report(row, message_ids=("m1",))
    world.tell("message.failed", message_id="m1", reason="blocked")
    assert dead(world) == [("send", ANN, "blocked")]
    assert told(world, SendEnded) == []


def test_a_status_of_a_message_that_is_not_ours_is_kept_and_its_contact_hears_of_it(world: World) -> None:
    world.tell("message.failed", message_id="m9", to=ANN)
    world.tell("message.read", message_id="m10")
    assert statuses(world) == {"m9": "failed", "m10": "read"}
    assert dead(world) == []
    assert [event.status for event in told(world)] == ["failed"]


def test_a_status_that_names_its_contact_only_is_told_to_it(world: World) -> None:
    world.tell("message.failed", to=ANN)
    assert [event.messages for event in told(world)] == [()]
    assert statuses(world) == {}


def test_the_message_and_not_the_event_says_whose_it_is(world: World) -> None:
    world.report(reply(world), message_ids=("m1",))
    world.tell("message.read", message_id="m1", to=BOB)
    assert len(told(world)) == 1
    assert told(world, contact=BOB) == []


# -- crashes and time


def test_after_a_restart_statuses_go_on_where_they_were(tmp_path: Path) -> None:
    world = open_world(tmp_path / "bot.db")
    row = reply(world)
    world.tell("message.failed", message_id="c1", reason="blocked")
    world.stop()
    world = begin(tmp_path / "bot.db", world.clock, world.inbox)
    world.report(world.delivery.wait_for(1)[0], message_ids=("m1", "c1"))
    assert dead(world) == [("send", ANN, "blocked")]
    world.stop()
    world = begin(tmp_path / "bot.db", world.clock, world.inbox)
    world.tell("message.failed", message_id="m1", reason="blocked")
    assert len(dead(world)) == 1
    assert [event.effect for event in told(world, SendEnded)] == [row.ref]
    world.close()


def test_what_was_heard_of_a_message_is_forgotten_with_it(world: World) -> None:
    world.report(reply(world), message_ids=("m1", "c1"))
    world.tell("message.read", message_id="c1")
    world.tell("message.read", message_id="m9")
    world.clock.move(timedelta(days=7, minutes=5))
    world.say(BOB, "hello")
    assert rows(world, "SELECT * FROM message_ids") == []
    assert statuses(world) == {}


def test_a_million_statuses_of_strangers_are_pruned_in_pieces(tmp_path: Path) -> None:
    migrate(tmp_path / "bot.db")
    store = EngineStore(tmp_path / "bot.db")
    old = time_text(START - timedelta(days=8))
    many = [(f"m{n}", "read", old, "") for n in range(1200)]
    insert = "INSERT INTO statuses (message_id, status, at, detail) VALUES (?, ?, ?, ?)"
    sqlite(store).executemany(insert, many)
    assert [store.prune(START) for _ in range(3)] == [True, True, False]
    assert store.messages.status("m1") is None
    store.close()


# -- whom an event is about


def test_events_of_a_conversation_find_their_contact(world: World) -> None:
    body: dict[str, Any] = {
        "message_id": "i1",
        "from": ANN,
        "to": "49",
        "type": "text",
        "body": "hi",
        "conversation_id": "c7",
    }
    world.tell("message.inbound", **body)
    world.tell("conversation.assigned", conversation_id="c7", agent={"name": "Bea"})
    world.tell("conversation.resolved", conversation_id="c7")
    world.tell("conversation.resolved", conversation_id="c8")
    assert [event.agent for event in told(world, ConversationAssigned)] == ["Bea"]
    assert len(told(world, HandoffClosed)) == 1
    assert dead(world) == []


def test_a_contact_that_the_gateway_calls_by_another_number_is_the_same(world: World) -> None:
    world.report(reply(world), message_ids=("m1",), alias=BOB)
    button = {"type": "button", "button": {"id": "r", "title": "Yes"}}
    tapped: dict[str, Any] = {"from": f"+{BOB}", "interactive": button}
    world.tell("message.interactive_reply", **tapped)
    assert [event.contact for event in told(world, Tapped)] == [ANN]
    assert world.reader.sessions.get(BOB) is None


def test_a_number_that_somebody_has_written_from_is_nobodys_alias(world: World) -> None:
    world.say(BOB, "hello")
    world.report(reply(world, ANN), message_ids=("m1",), alias=BOB)
    world.tell("message.read", message_id="m9", to=BOB)
    assert len(told(world, contact=BOB)) == 1
