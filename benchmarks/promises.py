"""The cost of each promise: ``python -m benchmarks.promises``. Each row has one of them switched off, in this program
only.

Two parts are measured: the inbox (signature, envelope, append, commit) and the engine (`benchmarks.cycle`). All rows of
a part take a commit in turn, in one process, so that a busy machine slows all of them alike.
"""

import argparse
import hashlib
import hmac
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import perf_counter, thread_time_ns
from types import SimpleNamespace
from typing import Any, NamedTuple, Protocol

from benchmarks.cycle import CONTACTS, Engine, append_bodies, written
from benchmarks.scale import talk
from bot.core.session import Session
from bot.runtime import batch
from bot.runtime.engine_input import EngineInput
from bot.services.gateway import webhook_events
from bot.services.gateway.webhook_events import Verdict
from bot.store import commit
from bot.store.commit import Commit
from bot.store.files import inbox_path
from bot.store.inbox import InboxWriter, append_statement
from bot.store.message_rows import MessageChanges
from bot.store.session_rows import UPDATE_SESSION, WRITE_SESSION
from bot.store.sqlite_database import SqliteDatabase
from bot.store.sqlite_schema import migrate
from bot.store.trace_rows import ADD_TURN

SECRET = "secret-of-the-benchmark-0123456789"
TOLERANCE = timedelta(minutes=5)
WARM = 4  # commits that are not counted

Change = tuple[object, str, object]


class Side(Protocol):
    """The part that takes events, and whose commits are measured."""

    def append(self, bodies: Sequence[bytes]) -> None:
        """Bring events; this is not measured."""

    def take(self) -> object:
        """Take and commit them."""


class Row(NamedTuple):
    """A row of the table: what is switched off, how such a side is made, what is replaced while it works."""

    name: str
    make: Callable[[Path], Side]
    changes: Sequence[Change] = ()
    alone: bool = False  # each event has a commit of its own


# -- the inbox


class Appends:
    """The web process's work for a delivery, without its HTTP."""

    def __init__(self, folder: Path, schema: Callable[[str], str] = str, pragma: str = "") -> None:
        migrate(folder / "bot.db")
        path = inbox_path(folder / "bot.db")
        if schema is not str:
            with sqlite3.connect(path) as connection:
                (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'log'").fetchone()
                connection.execute("DROP TABLE log")
                connection.execute(schema(sql))
        self._database = SqliteDatabase.writer(path)
        self._database.connection.execute(pragma)
        self._deliveries: list[tuple[str, str, bytes]] = []

    def append(self, bodies: Sequence[bytes]) -> None:
        """Bring events, signed as the gateway signs them."""
        now = str(int(datetime.now(UTC).timestamp()))
        for body in bodies:
            signature = hmac.new(SECRET.encode(), f"{now}.".encode() + body, hashlib.sha256).hexdigest()
            self._deliveries.append((now, f"sha256={signature}", body))

    def take(self) -> None:
        """Append them in one commit."""
        now = datetime.now(UTC)
        writes = []
        for timestamp, signature, body in self._deliveries:
            assert webhook_events.verify((SECRET,), timestamp, signature, body, now, TOLERANCE) is Verdict.GENUINE
            event = webhook_events.envelope(body)
            row = (f"d-{event.id}", event.id, event.event, event.contact, now, body, event.readable)
            writes.append(InboxWriter.event(NOWHERE, *row))
        self._database.write_each(writes)
        assert all(write.rows_changed for write in writes)
        self._deliveries.clear()


NOWHERE: Any = SimpleNamespace(shard_of=lambda contact: 0, _logs=[SimpleNamespace(append=append_statement(Path()))])
"""All that `InboxWriter.event` needs of an inbox to make a statement."""


# -- the engine


class Turns(Engine):
    """The engine, with a setting of its connection."""

    def __init__(self, folder: Path, pragma: str = "") -> None:
        super().__init__(folder)
        assert isinstance(self.store.database, SqliteDatabase)
        self.store.database.connection.execute(pragma)

    def append(self, bodies: Sequence[bytes]) -> None:
        """Bring events."""
        append_bodies(self.log, bodies)


class Claiming(Turns):
    """The engine for a gateway that takes no idempotency key: each message is noted durably before it is sent."""

    def take(self, request: object = None) -> None:
        """A cycle, and another one that notes its messages."""
        super().take()
        self.cycle.run(EngineInput(requests=[*self.delivery.rows]))


def _without(*left_out: str) -> Change:
    """Leave statements out of each commit."""
    statements = Commit.statements

    def left(self: Commit, recent: Mapping[str, Session], turns: Iterator[int]) -> dict[str, list[tuple[Any, ...]]]:
        return {sql: rows for sql, rows in statements(self, recent, turns).items() if sql not in left_out}

    return Commit, "statements", left


def _forget(self: MessageChanges, row: Any, *_: object, **__: object) -> None:
    self.remove(row.id)


NORMAL, LEFT_BEHIND = "PRAGMA synchronous = NORMAL", "PRAGMA secure_delete = OFF"
NO_SESSION_JSON: Change = (commit, "session_row", lambda session, wake_at: (session.contact, *[None] * 7, "{}"))
PARTS = {
    "the inbox": (
        Row("all promises kept", Appends),
        Row("no signature is checked", Appends, [(webhook_events, "_is_signed", lambda *_: True)]),
        Row("duplicates are not recognised", partial(Appends, schema=lambda sql: sql.replace(" UNIQUE", ""))),
        Row("a power cut may lose events", partial(Appends, pragma=NORMAL)),
        Row("a commit for each event", Appends, alone=True),
    ),
    "the engine": (
        Row("all promises kept", Turns),
        Row("a power cut may lose turns", partial(Turns, pragma=NORMAL)),
        Row("a commit for each event", Turns, alone=True),
        Row("sessions in memory only", Turns, [NO_SESSION_JSON, _without(WRITE_SESSION, UPDATE_SESSION)]),
        Row("no trace", Turns, [(commit, "turn_row", lambda *_: ()), _without(ADD_TURN)]),
        Row("sent messages are not kept", Turns, [(MessageChanges, "end", _forget)]),
        Row("messages have no keys", Turns, [(batch, "effect_key", lambda *_: "key")]),
        Row("erased data stays in free pages", partial(Turns, pragma=LEFT_BEHIND)),
        Row("the gateway takes no key", Claiming),
    ),
}


@contextmanager
def changed(changes: Sequence[Change]) -> Iterator[None]:
    """Have other functions within this block."""
    before = [getattr(owner, name) for owner, name, _ in changes]
    for owner, name, value in changes:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for (owner, name, _), value in zip(changes, before, strict=True):
            setattr(owner, name, value)


def measured(rows: Sequence[Row], events: int, at_once: int, folder: Path) -> list[tuple[float, float, float]]:
    """For each row: the CPU of an event in microseconds, the KB written, the milliseconds of a commit."""
    places = [folder / str(number) for number in range(len(rows))]
    for place in places:
        place.mkdir()
    sides = [row.make(place) for row, place in zip(rows, places, strict=True)]
    talks = [[talk(contact) for contact in range(CONTACTS)] for _ in rows]
    found: list[list[tuple[float, float, float]]] = [[] for _ in rows]
    for first in range(0, events + WARM * at_once, at_once):
        for row, side, mine, results in zip(rows, sides, talks, found, strict=True):
            bodies = [next(mine[number % CONTACTS]) for number in range(first, first + at_once)]
            cpu = size = wall = 0.0
            for some in [[body] for body in bodies] if row.alone else [bodies]:
                side.append(some)
                with changed(row.changes):
                    before, begun, spent = written(), perf_counter(), thread_time_ns()
                    side.take()
                    cpu += thread_time_ns() - spent
                    wall = perf_counter() - begun
                    size += written() - before
            results.append((cpu / at_once / 1000, size / at_once / 1024, wall * 1000))
    return [
        (median(r[0] for r in each[WARM:]), mean(r[1] for r in each[WARM:]), median(r[2] for r in each[WARM:]))
        for each in found
    ]


def main() -> None:
    """Print a table for each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=3200, help="of each row")
    parser.add_argument("--at-once", type=int, default=32, help="events of one commit")
    given = parser.parse_args()
    for part, rows in PARTS.items():
        print(f"\n{part:34} CPU us an event    change   KB an event   ms a commit")
        with tempfile.TemporaryDirectory() as folder:
            found = measured(rows, given.events, given.at_once, Path(folder))
        kept = found[0][0]
        for row, (cpu, size, wall) in zip(rows, found, strict=True):
            print(f"{row.name:34} {cpu:15.1f} {cpu / kept - 1:9.0%} {size:13.2f} {wall:13.2f}")


if __name__ == "__main__":
    main()
