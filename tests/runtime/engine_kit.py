"""What the tests of the turns share: a small pure stub of the engine, and hands that do nothing by themselves."""

import json
import threading
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import Call, Effect, Publish, Send
from bot.core.events import CallEnded, Event, MessageReceived, ResetRequested, StatusReported, TimeReached
from bot.core.messages import TextMessage
from bot.core.session import Frame, Session, effect_ref
from bot.core.turn import Trace, Turn
from bot.core.waits import ForContact, ForEffect
from bot.runtime.batch import Advance, EngineShare
from bot.runtime.engine_cycle import EngineCycle
from bot.runtime.engine_loop import EngineLoop
from bot.runtime.metrics import EngineMetrics
from bot.runtime.performers import CallResult
from bot.runtime.sending import SendResult
from bot.services.gateway import webhook_events
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.rows import CallRow, OutboxRow
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import TurnTraced
from tests.patience import PATIENCE

START = datetime(2030, 5, 6, 9, 0, tzinfo=UTC)
_NUMBERS = count(1)


def read(body: bytes, received_at: datetime) -> Event | None:
    """The bodies of these tests: the gateway's, or ``{"id", "contact", "text"}``; no text is no event for a session."""
    said = json.loads(body)
    if "event" in said:
        return webhook_events.read(body, received_at)
    if "text" not in said:
        return None
    return MessageReceived(said["id"], said["contact"], received_at, received_at, "text", said["text"])


def advance(session: Session, event: Event) -> Turn:
    """Do what the text says, and remember every event in the order it was taken."""
    frame = session.frame or Frame("echo", "start", session.visit + 1, event.at, event.at, vars={"taken": []})
    frame = replace(frame, vars={"taken": [*frame.vars["taken"], event.id]})
    wake_at: datetime | None = None
    effects: tuple[Effect, ...] = ()
    failure = None
    match event:
        case MessageReceived(text="boom") | CallEnded(outcome="boom"):
            raise ValueError("49170123 said boom")
        case MessageReceived(text="call"):
            frame.waits = ForEffect((effect_ref(event.id, 0),))
            effects = (Call("look_up", {"number": 4711}),)
        case MessageReceived(text="wait" | "wait, then boom"):
            wake_at = event.at + timedelta(hours=1)
        case MessageReceived(text="broken flow"):
            failure = "the flow is broken"
        case MessageReceived(text="report"):
            effects = (Send(TextMessage("report"), report=True),)
        case MessageReceived(text="publish"):
            effects = (Publish("tags", event.at, {}), Publish("end", event.at, {}))
        case MessageReceived(text=text):
            effects = (Send(TextMessage(f"1: {text}")), Send(TextMessage(f"2: {text}")))
        case CallEnded(outcome=outcome):
            frame.waits = ForContact()
            effects = (Send(TextMessage(f"called: {outcome}")),)
        case TimeReached() if frame.step_state["text"] == "wait, then boom":
            raise ValueError("time")
        case TimeReached():
            effects = (Send(TextMessage("time")),)
        case StatusReported(status="sent" | "delivered"):
            return Turn(session, (), None, Trace("status"))
        case ResetRequested():
            return Turn(replace(session, frames=()), (), None, Trace("reset"))
    if isinstance(event, MessageReceived):
        conversation = event.conversation or session.conversation
        session = replace(session, last_inbound=event.sent_at, conversation=conversation)
        frame.step_state = {"text": event.text}
    session = replace(session, visit=frame.visit, frames=(frame,))
    return Turn(session, effects, wake_at, Trace(type(event).__name__), failure)


class Hands:
    """Stands where delivery or the performers are: takes rows, and does them when the test says so."""

    def __init__(self, room: int = 10_000) -> None:
        self.size = room
        self.rows: list[Any] = []
        self.in_flight: set[int] = set()
        self.stored: set[int] = set()
        self.most = 0
        self._changed = threading.Condition()

    def offer(self, rows: Sequence[Any]) -> None:
        with self._changed:
            self.rows.extend(rows)
            self.most = max(self.most, len(self.rows))
            self._changed.notify_all()

    def room(self) -> int:
        return self.size - len(self.rows)

    def accepts(self, rows: Sequence[Any]) -> list[Any]:
        return list(rows)

    def accepts_again(self) -> bool:
        return False

    def withdraw(self, contact: str) -> None:
        with self._changed:
            self.rows = [row for row in self.rows if row.contact != contact]

    def take_back(self, ids: Set[int]) -> set[int]:
        with self._changed:
            back = {row.id for row in self.rows if row.id in ids and row.id not in self.in_flight}
            self.rows = [row for row in self.rows if row.id not in back]
            self._changed.notify_all()
            return back

    def ends_stored(self, ids: Set[int]) -> None:
        self.stored |= ids

    def wait_until_empty(self) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: not self.rows, PATIENCE)

    def idle(self) -> bool:
        return True

    def wait_for(self, count: int) -> list[Any]:
        """The rows, once there are so many of them."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.rows) >= count, PATIENCE), (
                f"{len(self.rows)} of {count} came"
            )
            return list(self.rows)

    def pop(self) -> Any:
        self.wait_for(1)
        return self.rows.pop(0)


def sent(row: OutboxRow, state: str = "sent", detail: str = "", **changes: Any) -> SendResult:
    result = SendResult(row, state, row.attempts + 1, row.due_at, (f"m{row.id}",), detail, START)
    return replace(result, **changes)


def called(row: CallRow, outcome: str = "done", value: Any = None, **changes: Any) -> CallResult:
    return replace(CallResult(row, outcome, value, "", row.attempts + 1, row.due_at), **changes)


@dataclass
class World:
    """A store with its writer, and turns that can be ended and begun anew."""

    path: Path
    clock: MovableClock
    inbox: InboxWriter
    delivery: Hands
    performers: Hands
    turns: EngineLoop
    store: EngineStore
    reader: StoreReader
    alarms: Alarms

    def say(self, contact: str, text: str, id: str | None = None, settle: bool = True) -> str:
        """A contact writes, and the engine takes it."""
        id = id or f"evt_{next(_NUMBERS)}"
        body = json.dumps({"id": id, "contact": contact, "text": text}).encode()
        self.inbox.append(self.inbox.event(None, id, "message.inbound", contact, self.clock.now(), body, True))
        self.turns.wake()
        if settle:
            self.settle()
        return id

    def tell(self, event: str, settle: bool = True, **data: Any) -> str:
        """The gateway tells of something."""
        id = f"evt_gateway_{next(_NUMBERS)}"
        body = json.dumps({"id": id, "event": event, "timestamp": int(START.timestamp()), "data": data}).encode()
        self.inbox.append(self.inbox.event(None, id, event, None, self.clock.now(), body, True))
        self.turns.wake()
        if settle:
            self.settle()
        return id

    def settle(self) -> None:
        assert self.turns.wait_settled(PATIENCE), self.turns.failure

    def report(self, row: OutboxRow, state: str = "sent", detail: str = "", **changes: Any) -> None:
        self.turns.sent(sent(row, state, detail, **changes))
        self.settle()

    def call_ends(self, row: CallRow, outcome: str = "done", value: Any = None, **changes: Any) -> None:
        self.turns.called(called(row, outcome, value, **changes))
        self.settle()

    def taken(self, contact: str) -> list[str]:
        session = self.reader.sessions.get(contact)
        return session.frame.vars["taken"] if session and session.frame else []

    def texts(self) -> list[str]:
        return [row.effect.message.body for row in self.delivery.rows]

    def rules(self, contact: str) -> list[str]:
        return [turn.rule for turn in self.trace(contact)]

    def trace(self, contact: str) -> list[TurnTraced]:
        return self.reader.trace.turns(contact)

    def stop(self) -> None:
        assert self.turns.stop(PATIENCE)
        self.store.close()

    def close(self) -> None:
        self.stop()
        self.inbox.close()


def loop_on(store: EngineStore, clock: MovableClock, advance: Advance, alarms: Alarms | None = None) -> EngineLoop:
    """The loop on an open store, and on its log."""
    inbox, alarms = InboxReader(store.address), alarms or Alarms(clock)
    cycle = EngineCycle(store, inbox, clock, advance, read, EngineMetrics(), alarms, share=EngineShare(clock))
    return EngineLoop(cycle, clock, alarms)


def open_world(path: Path, *, room: int = 10_000, prepare: Callable[[EngineStore], None] = lambda store: None) -> World:
    """Open a store, and take what is in it."""
    migrate(path)
    clock = MovableClock(START)
    return begin(path, clock, InboxWriter(path, clock, patience=PATIENCE), room=room, prepare=prepare)


def begin(
    path: Any,  # or the address of a shard
    clock: MovableClock,
    inbox: InboxWriter,
    *,
    room: int = 10_000,
    prepare: Callable[[EngineStore], None] = lambda store: None,
    advance: Advance = advance,
) -> World:
    """Begin the turns of a store, or of a shard, whose inbox is open."""
    store = EngineStore(path)
    prepare(store)
    alarms = Alarms(clock)
    turns = loop_on(store, clock, advance, alarms)
    world = World(path, clock, inbox, Hands(room), Hands(), turns, store, StoreReader(path), alarms)
    turns.start(world.delivery, world.performers)
    return world
