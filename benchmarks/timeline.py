"""The waits of a reply at 50 events a second: ``python -m benchmarks.conversation --timeline``, of both stores with
``--postgres``.

It runs ``python -m benchmarks.timeline serve FOLDER``, which is ``bot serve`` that writes to a file when a message
passes each station. A mark costs 2 to 4 us.
"""

import asyncio
import json
import os
import sqlite3
import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, perf_counter_ns
from types import SimpleNamespace
from typing import Any

from benchmarks.conversation import Extra, GatewayConnection, Town, postgres_store, server

STATIONS = (
    "web reads the request",
    "web hands the event over",
    "the inbox's thread begins",
    "the log's commit begins",
    "the log's commit ends",
    "the engine's cycle begins",
    "the log is read",
    "the turn begins",
    "the turn ends",
    "the engine writes",
    "the engine's commit begins",
    "the engine's commit ends",
    "delivery has the message",
    "the request is made",
    "the HTTP thread has it",
)
"""A message passes these on its way, in this order."""

_FILE = "TIMELINE"
_files: dict[int, int] = {}


def mark(station: str) -> None:
    """Note that a message passes a station. Processes append to one file."""
    pid = os.getpid()
    if pid not in _files:  # a child has none of its parent's descriptors
        _files[pid] = os.open(os.environ[_FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(_files[pid], b"%d %d\n" % (STATIONS.index(station), perf_counter_ns()))


class Connection(sqlite3.Connection):
    """A connection that marks its commits."""

    whose = "engine"

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql != "COMMIT":
            return super().execute(sql, *parameters)
        mark(f"the {self.whose}'s commit begins")
        cursor = super().execute(sql)
        mark(f"the {self.whose}'s commit ends")
        return cursor


def serve() -> None:
    """Run `bot` with marks."""
    from bot.cli import main
    from bot.runtime.batch import Batch
    from bot.runtime.delivery import Delivery
    from bot.runtime.engine_cycle import EngineCycle
    from bot.server.web.web_server import _Connection
    from bot.services.http_client import HttpClient, _Loop
    from bot.store import postgres_statements, sqlite_database
    from bot.store.engine_store import EngineStore
    from bot.store.inbox import InboxReader, InboxWriter
    from bot.store.postgres_database import PostgresDatabase

    def marked(owner: Any, name: str, before: str | None, after: str | None = None) -> None:
        call: Callable[..., Any] = getattr(owner, name)

        @wraps(call)
        def calls(*given: Any, **named: Any) -> Any:
            if before is not None:
                mark(before)
            result = call(*given, **named)
            if after is not None:
                mark(after)
            return result

        setattr(owner, name, calls)

    def opened(path: Path, mode: str) -> Any:
        connection = opens(path, mode)
        if ".inbox." in path.name:
            connection.whose = "log"
        return connection

    def exchanged(self: Any, statements: Iterable[tuple[str, Any]]) -> Any:
        statements = [*statements]
        first = statements[0][0].split(maxsplit=2)[:2]
        whose = {"SELECT pg_advisory_xact_lock(7031,": "log", "UPDATE meta": "engine"}.get(" ".join(first))
        if whose is None:
            return exchanges(self, statements)
        mark(f"the {whose}'s commit begins")
        results = exchanges(self, statements)
        mark(f"the {whose}'s commit ends")
        return results

    postgres: Any = postgres_statements.PreparedStatements
    exchanges, postgres.execute = postgres.execute, exchanged
    store: Any = sqlite_database
    opens, store._open = store._open, opened
    patched = {**vars(sqlite3), "connect": partial(sqlite3.connect, factory=Connection)}
    store.sqlite3 = SimpleNamespace(**patched)
    marked(_Connection, "buffer_updated", "web reads the request")
    marked(InboxWriter, "hand_over", "web hands the event over")
    for database in (store.SqliteDatabase, PostgresDatabase):
        marked(database, "write_each", "the inbox's thread begins")
    marked(EngineCycle, "run", "the engine's cycle begins")
    marked(InboxReader, "after", None, "the log is read")
    marked(Batch, "_turn", "the turn begins", "the turn ends")
    marked(EngineStore, "write", "the engine writes")
    marked(Delivery, "offer", "delivery has the message")
    marked(HttpClient, "begin", "the request is made")
    marked(_Loop, "begin", "the HTTP thread has it")
    main()


class WatchedTown(Town):
    """A town that keeps when each event was sent and when its reply came, in nanoseconds."""

    def __init__(self, contacts: int) -> None:
        super().__init__(contacts)
        self.messages: list[tuple[int, int]] = []

    def reply(self, body: bytes) -> None:
        sent_at = self._by_phone[json.loads(body)["to"]].sent_at
        self.messages.append((int(sent_at * 1e9), perf_counter_ns()))
        super().reply(body)


async def watched(
    name: str, seconds: float, settings: Mapping[str, str]
) -> tuple[list[tuple[int, int]], list[list[int]]]:
    """The messages of a server at 50 events a second; and the times of each station's marks."""
    town = WatchedTown(1000)
    loop = asyncio.get_running_loop()
    gateway = await loop.create_server(lambda: GatewayConnection(town), "127.0.0.1", 0, backlog=1024)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "timeline")
        extra = Extra(settings={_FILE: str(file), **settings}, module=__spec__.name)
        with server(name, gateway.sockets[0].getsockname()[1], folder, extra) as (_, port):
            await town.begin(port, perf_counter())
            await town.talk(1.0)
            town.messages.clear()
            await town.talk(seconds, 50)
        gateway.close()
        marks: list[list[int]] = [[] for _ in STATIONS]
        for line in file.read_text("ascii").splitlines() if file.exists() else ():
            station, at = line.split()
            marks[int(station)].append(int(at))
    return town.messages, marks


def gaps(messages: Sequence[tuple[int, int]], marks: Sequence[Sequence[int]]) -> list[float]:
    """The median milliseconds before each station, and before the reply."""
    found = []
    for sent, replied in messages:
        times = [sent]
        for passed in marks:
            place = bisect_left(passed, times[-1])
            times.append(passed[place] if place < len(passed) else replied + 1)
        times.append(replied)
        if times == sorted(times):
            found.append([(end - begin) / 1e6 for begin, end in pairwise(times)])
    return [median(column) for column in zip(*found, strict=True)]


def show(seconds: float, rounds: int, *, postgres: bool) -> None:
    """Measure and print: SQLite beside the floor, or PostgreSQL beside SQLite."""
    messages: dict[str, list[tuple[int, int]]] = {"sqlite": [], "postgres" if postgres else "floor": []}
    marks: dict[str, list[list[int]]] = {name: [[] for _ in STATIONS] for name in messages}
    for _ in range(rounds):
        for name in messages:
            with postgres_store() if name == "postgres" else nullcontext((None, 0)) as (url, _):
                settings = {} if url is None else {"BOT_STORE": url}
                more, passed = asyncio.run(watched(name, seconds, settings))
            messages[name] += more
            marks[name] = [sorted(each + new) for each, new in zip(marks[name], passed, strict=True)]
    for name in messages:
        if name == "floor":
            continue
        at = 0.0
        print(f"{'ms':>6} {'sum':>6}  {name}: to this station (medians: their sum is not the median of the whole)")
        for station, gap in zip(
            (*STATIONS, "the gateway has the reply"), gaps(messages[name], marks[name]), strict=True
        ):
            at += gap
            print(f"{gap:6.2f} {at:6.2f}  {station}")
    for name, each in messages.items():
        print(f"{name}: the reply came after {median(replied - sent for sent, replied in each) / 1e6:.2f} ms")


if __name__ == "__main__":
    serve()
