"""The CPU of one event in the engine, by part: ``python -m benchmarks.cycle``. Its ratio to a floor of the same run.

One thread without network: events are read from the inbox, taken, committed and offered to a delivery that takes every
message; its result comes with the next cycle. Contacts go through ``benchmarks/order``: a question with three buttons,
a number, a question with two buttons. The floor does the durable minimum by hand: read the inbox, look the sessions up,
write each session and each message, forget the messages that were sent, one commit.
"""

import argparse
import cProfile
import json
import pstats
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import UTC, datetime
from functools import wraps
from itertools import count
from pathlib import Path
from random import getrandbits
from statistics import fmean
from time import thread_time_ns
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import Clock, SystemClock
from bot.core.engine_requests import AnyRequest
from bot.core.values import time_text
from bot.engine.advance import advance
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.runtime import batch, engine_cycle
from bot.runtime.batch import Batch, BatchSessions, RequestRefused
from bot.runtime.engine_cycle import EngineCycle
from bot.runtime.engine_input import EngineInput
from bot.runtime.metrics import EngineMetrics
from bot.runtime.sending import SendResult
from bot.server.process.child import collect_seldom
from bot.services.gateway import webhook_events
from bot.store.commit import Commit
from bot.store.database import StoreAddress
from bot.store.engine_store import EngineStore
from bot.store.files import inbox_path
from bot.store.inbox import InboxReader
from bot.store.message_rows import MessageChanges
from bot.store.rows import CallRow, OutboxRow
from bot.store.sqlite_database import open_reader, open_writer, transaction
from bot.store.sqlite_schema import migrate

HERE = Path(__file__).parent
CONTACTS = 1000
COLOURS = ("Red", "Blue", "Green")
_APPEND = (
    "INSERT INTO log (delivery, event_id, name, contact, received_at, body, readable) VALUES (?, ?, ?, ?, ?, ?, 1)"
)
_INBOX = "SELECT seq, body FROM log WHERE seq > ? ORDER BY seq LIMIT ?"
_SESSIONS = "SELECT contact, state FROM sessions WHERE contact IN (SELECT value FROM json_each(?))"
_WRITE = "INSERT INTO sessions VALUES (?, ?) ON CONFLICT (contact) DO UPDATE SET state = excluded.state"


def conversation(contact: int) -> Iterator[bytes]:
    """The bodies of a contact's events, for ever; every fifth contact gives a wrong answer first."""
    for round_ in count():
        colour, number = COLOURS[(contact + round_) % 3], (contact * 7 + round_) % 99 + 1
        yield _text(contact, f"{round_}-hi", "hi")
        yield _tap(contact, f"{round_}-colour", colour)
        if contact % 5 == 0:
            yield _text(contact, f"{round_}-wrong", "abc")
        yield _text(contact, f"{round_}-count", str(number))
        yield _tap(contact, f"{round_}-yes", "Yes")


def _text(contact: int, name: str, text: str) -> bytes:
    data = {"to": "19990001111", "type": "text", "body": text, "media_url": None, "conversation_id": f"conv_{contact}"}
    return _body("message.inbound", contact, name, data)


def _tap(contact: int, name: str, title: str) -> bytes:
    button = {"id": title.lower(), "title": title}
    return _body("message.interactive_reply", contact, name, {"interactive": {"type": "button", "button": button}})


def _body(event: str, contact: int, name: str, data: dict[str, Any]) -> bytes:
    now, number = int(datetime.now(UTC).timestamp()), f"{contact}-{name}"
    about = {"message_id": f"wamid.{number}", "from": str(15550000000 + contact), "timestamp": now}
    return json.dumps({"id": f"evt_{number}", "event": event, "timestamp": now, "data": {**about, **data}}).encode()


class Delivery:
    """Takes every row at once; `results` are those of what it has taken since."""

    def __init__(self) -> None:
        self.rows: list[OutboxRow] = []

    def offer(self, rows: Sequence[OutboxRow], /) -> None:
        self.rows += rows

    def room(self) -> int:
        return 1000

    def accepts(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        return list(rows)

    def accepts_again(self) -> bool:
        return False

    def take_back(self, ids: Set[int]) -> Set[int]:
        return set()

    def ends_stored(self, ids: Set[int]) -> None:
        pass

    def withdraw(self, contact: str, /) -> None:
        pass

    def idle(self) -> bool:
        return True

    def results(self) -> list[SendResult]:
        taken, self.rows = self.rows, []
        now = datetime.now(UTC)
        return [SendResult(row, "sent", 1, None, self._names(), "", now) for row in taken]

    def _names(self) -> tuple[str, str]:
        number = f"{getrandbits(64):016x}"
        return f"wamid.{number}", f"m{number}"


class Performers:
    """Makes no calls: the flow has none."""

    def offer(self, rows: Sequence[CallRow], /) -> None:
        assert not rows

    def withdraw(self, contact: str, /) -> None:
        pass

    def idle(self) -> bool:
        return True


class EngineOn:
    """The engine's cycle on a store that has its tables."""

    def __init__(self, store: StoreAddress, bot: Path = HERE / "order", clock: Clock | None = None) -> None:
        clock = clock or SystemClock()
        library = load_program(read_folder(bot)).library
        library.prepare()
        self.store, self.inbox, self.delivery = EngineStore(store), InboxReader(store), Delivery()
        self.cycle = EngineCycle(
            self.store,
            self.inbox,
            clock,
            lambda session, event: advance(library, session, event),
            lambda body, at: webhook_events.read(body, at),
            EngineMetrics(),
            Alarms(clock),
        )
        self.cycle.begin(self.delivery, Performers())

    def take(self, request: AnyRequest | None = None) -> None:
        """One cycle: the results of the messages of the last, a request, and all that is new in the inbox."""
        worked, answers = self.cycle.run(
            EngineInput(sent=self.delivery.results(), requests=[] if request is None else [request])
        )
        assert worked and not any(isinstance(answer, RequestRefused) for answer in answers)


class Engine(EngineOn):
    """The engine's cycle on files of its own."""

    def __init__(self, folder: Path, bot: Path = HERE / "order", clock: Clock | None = None) -> None:
        store = folder / "bot.db"
        migrate(store)
        self.log = log_of(store)
        super().__init__(store, bot, clock)


class Floor:
    """The durable minimum, by hand."""

    def __init__(self, folder: Path) -> None:
        migrate(folder / "floor.db")
        self.log = log_of(folder / "floor.db")
        self._log = open_reader(inbox_path(folder / "floor.db"))
        self._own = sqlite3.connect(folder / "own.db", isolation_level=None)
        self._own.execute("PRAGMA journal_mode = WAL")
        self._own.execute("PRAGMA synchronous = FULL")
        self._own.execute("CREATE TABLE sessions (contact TEXT PRIMARY KEY, state TEXT)")
        self._own.execute("CREATE TABLE outbox (id INTEGER PRIMARY KEY, contact TEXT, body TEXT)")
        self._own.execute("CREATE TABLE meta (cursor INTEGER)")
        self._own.execute("INSERT INTO meta VALUES (0)")
        self._cursor, self._sent, self._ids = 0, list[tuple[int]](), count(1)

    def take(self) -> None:
        """The same as the engine does, without a flow."""
        rows = self._log.execute(_INBOX, (self._cursor, 256)).fetchall()
        events = [json.loads(body) for _, body in rows]
        contacts = [event["data"]["from"] for event in events]
        states = {name: json.loads(state) for name, state in self._own.execute(_SESSIONS, (json.dumps(contacts),))}
        sessions, sends = [], []
        for contact, event in zip(contacts, events, strict=True):
            state = states.get(contact) or {"step": 0, "vars": {}}
            state["step"] += 1
            state["vars"] = {"colour": "Blue", "count": 7, "conversation": event["data"].get("conversation_id")}
            states[contact] = state
            sessions.append((contact, json.dumps(state)))
            sends.append((next(self._ids), contact, json.dumps({"to": contact, "text": f"Confirm-{state['step']}"})))
        self._own.execute("BEGIN IMMEDIATE")
        self._own.executemany(_WRITE, sessions)
        self._own.executemany("INSERT INTO outbox VALUES (?, ?, ?)", sends)
        self._own.executemany("DELETE FROM outbox WHERE id = ?", self._sent)
        self._own.execute("UPDATE meta SET cursor = ?", (rows[-1][0],))
        self._own.execute("COMMIT")
        self._cursor, self._sent = rows[-1][0], [(id,) for id, _, _ in sends]


class Parts:
    """The CPU of each part, without that of the parts within it."""

    def __init__(self) -> None:
        self.nanoseconds: dict[str, int] = {}
        self._inner = [0]

    def watch(self, owner: Any, method: str, part: str) -> None:
        """Count what a function takes as a part's from now on."""
        watched: Callable[..., Any] = getattr(owner, method)

        @wraps(watched)
        def measured(*args: Any, **kwargs: Any) -> Any:
            self._inner.append(0)
            begun = thread_time_ns()
            try:
                return watched(*args, **kwargs)
            finally:
                took = thread_time_ns() - begun
                self.nanoseconds[part] = self.nanoseconds.get(part, 0) + took - self._inner.pop()
                self._inner[-1] += took

        setattr(owner, method, measured)


def watched() -> Parts:
    """The parts of a cycle."""
    parts = Parts()
    parts.watch(EngineCycle, "run", "the rest of the cycle")
    parts.watch(InboxReader, "after", "reading the inbox")
    parts.watch(webhook_events, "read", "reading the bodies")
    parts.watch(BatchSessions, "prefetch", "looking up")
    parts.watch(batch, "read_session", "reading the sessions")
    parts.watch(sys.modules[__name__], "advance", "turns: advance")
    parts.watch(Batch, "_made", "turns: keys and rows")
    parts.watch(Commit, "add_turn", "writing turns as JSON")
    parts.watch(MessageChanges, "end", "results of messages")
    parts.watch(engine_cycle, "handle_send_result", "results of messages")
    parts.watch(Commit, "statements", "statements")
    parts.watch(EngineStore, "write", "the commit")
    parts.watch(EngineMetrics, "committed", "metrics")
    parts.watch(EngineInput, "count", "metrics")
    return parts


def log_of(store: Path) -> sqlite3.Connection:
    """The writer of the log, all events of a commit at once; the disk may take its time."""
    log = open_writer(inbox_path(store))
    log.execute("PRAGMA synchronous = OFF")
    return log


def append(log: sqlite3.Connection, talks: list[Iterator[bytes]], first: int, many: int) -> None:
    """Append the next events of so many contacts."""
    append_bodies(log, [next(talks[number % CONTACTS]) for number in range(first, first + many)])


def append_bodies(log: sqlite3.Connection, bodies: Sequence[bytes]) -> None:
    """Append events."""
    found, now = map(webhook_events.envelope, bodies), time_text(datetime.now(UTC))
    rows = [(each.id, each.id, each.event, each.contact, now, body) for each, body in zip(found, bodies, strict=True)]
    with transaction(log):
        log.executemany(_APPEND, rows)


def written() -> int:
    """The bytes that this process has written so far; where the system counts none, 0."""
    try:
        lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next(int(line.split()[1]) for line in lines if line.startswith("wchar"))


def measured(side: Engine | Floor, talks: list[Iterator[bytes]], number: int, at_once: int) -> tuple[int, int]:
    """The CPU in nanoseconds and the bytes written of one cycle with so many events."""
    append(side.log, talks, number, at_once)
    bytes_before, begun = written(), thread_time_ns()
    side.take()
    return thread_time_ns() - begun, written() - bytes_before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=4000)
    parser.add_argument("--at-once", type=int, default=32, help="events of one cycle")
    parser.add_argument("--parts", action="store_true", help="what each part takes; the sum is a little higher then")
    parser.add_argument("--profile", type=int, default=0, metavar="LINES", help="print so many lines of a profile")
    given = parser.parse_args()
    parts = watched() if given.parts else Parts()
    profile = cProfile.Profile() if given.profile else None
    with tempfile.TemporaryDirectory() as folder:
        engine, floor = Engine(Path(folder)), Floor(Path(folder))
        collect_seldom()
        talks = [conversation(contact) for contact in range(CONTACTS)], [conversation(c) for c in range(CONTACTS)]
        found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        for number in range(0, CONTACTS + given.events, given.at_once):
            if number < CONTACTS:  # each contact begins, which is not counted
                measured(engine, talks[0], number, given.at_once)
                measured(floor, talks[1], number, given.at_once)
                parts.nanoseconds.clear()
                continue
            if profile is not None:
                append(engine.log, talks[0], number, given.at_once)
                profile.runcall(engine.take)
                continue
            found[0].append(measured(engine, talks[0], number, given.at_once))
            found[1].append(measured(floor, talks[1], number, given.at_once))
    if profile is not None:
        pstats.Stats(profile).sort_stats("tottime").print_stats(given.profile)
        return
    cpu = [fmean(took for took, _ in side) / given.at_once / 1000 for side in found]
    size = [fmean(size for _, size in side) / given.at_once for side in found]
    taken = len(found[0]) * given.at_once
    print(f"{'':30} CPU us an event   in floors")
    for part, spent in sorted(parts.nanoseconds.items(), key=lambda each: -each[1]):
        print(f"{part:30} {spent / taken / 1000:15.1f} {spent / taken / 1000 / cpu[1]:11.2f}")
    print(f"{'all of it':30} {cpu[0]:15.1f} {cpu[0] / cpu[1]:11.2f}")
    print(f"{'floor':30} {cpu[1]:15.1f} {1:11.2f}")
    print(f"bytes written an event: {size[0]:.0f}, the floor {size[1]:.0f}; {given.at_once} events a commit")


if __name__ == "__main__":
    main()
