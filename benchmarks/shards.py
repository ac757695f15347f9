"""Engines that share the work: ``python -m benchmarks.shards``. Events a second with one, two and more engines, as
ratios to one engine.

Events of a thousand contacts wait in the log; the engine of each shard is a process of its own, and takes those of its
shard to the end (`benchmarks.cycle`: no network, and a delivery that has sent at once what it gets). PostgreSQL, on the
same machine, flushes each commit to the disk. So n engines keep n cores busy, and PostgreSQL some more. Where there are
not so many, ``--share 0.25`` has each engine rest after each commit, so that it uses a quarter of a core: so long as
all shares and PostgreSQL's fit into the cores, the ratio is what it would be with enough of them.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from statistics import median
from time import perf_counter, process_time, sleep

from benchmarks.cycle import CONTACTS, EngineOn, conversation
from bot.core.clock import SystemClock
from bot.runtime.engine_input import EngineInput
from bot.services.gateway import webhook_events
from bot.store.database import PostgresAddress, StoreAddress, shards_of
from bot.store.inbox import InboxWriter
from bot.store.store_setup import prepare
from tests.postgres import new_database, postgres_server

_PATIENCE = 60.0
_APPENDED_AT_ONCE = 500
_DURABLE = ("listen_addresses=", "shared_buffers=512MB", "max_wal_size=4GB")  # each commit is flushed to the disk


def append(store: StoreAddress, events: int) -> None:
    """Append so many events, of all contacts in turn."""
    talks = [conversation(contact) for contact in range(CONTACTS)]
    bodies = (next(talks[number % CONTACTS]) for number in range(events))
    now = datetime.now(UTC)
    with closing(InboxWriter(store, SystemClock(), patience=_PATIENCE)) as inbox:
        while piece := [*islice(bodies, _APPENDED_AT_ONCE)]:
            found = [(webhook_events.envelope(body), body) for body in piece]
            writes = [inbox.event(None, e.id, e.event, e.contact, now, body, e.readable) for e, body in found]
            inbox.hand_over(writes[:-1], lambda: None)
            inbox.append(writes[-1])


def take_all(store: StoreAddress, share: float) -> None:
    """As the engine of a shard, with a share of a core: say that it is ready, wait for a line, take all events, and
    print the seconds of CPU.
    """
    engine = EngineOn(store)
    print("ready", flush=True)
    sys.stdin.readline()
    before = getrusage(RUSAGE_SELF)
    worked = True
    while worked:
        began = process_time()
        worked, _ = engine.cycle.run(EngineInput(sent=engine.delivery.results()))
        sleep((process_time() - began) * (1 / share - 1))
    used = getrusage(RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, flush=True)


def drained(store: StoreAddress, share: float) -> tuple[float, float]:
    """Let the engines of all shards take everything. Returns the seconds, and those of CPU of all engines."""
    places = [
        str(shard) if isinstance(shard, Path) else f"{shard.url}#{shard.shard}#{shard.shards}"
        for shard in shards_of(store)
    ]
    with ExitStack() as running:
        engines = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "benchmarks.shards", "--share", str(share), "--take", place],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for place in places
        ]
        for engine in engines:
            assert engine.stdout is not None and engine.stdout.readline() == "ready\n"
        began, cpu = perf_counter(), 0.0
        for engine in engines:
            assert engine.stdin is not None
            engine.stdin.write("\n")
            engine.stdin.flush()
        for engine in engines:
            assert engine.stdout is not None
            cpu += float(engine.stdout.readline())
        return perf_counter() - began, cpu


def _address(place: str) -> StoreAddress:
    """The address of a shard, as `drained` writes it."""
    url, _, shard = place.partition("#")
    if not shard:
        return Path(place)
    number, _, shards = shard.partition("#")
    beside = Path(tempfile.gettempdir()) / "bot"
    return PostgresAddress(url, beside, beside, int(shards), None if number == "None" else int(number))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 2], help="numbers of shards to compare")
    parser.add_argument("--share", type=float, default=1.0, help="of a core, for each engine")
    parser.add_argument("--take", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.take:
        take_all(_address(given.take), given.share)
        return
    found: dict[str, list[tuple[float, float]]] = {}
    with postgres_server(_DURABLE) as server:
        for _ in range(given.rounds):
            for shards in (0, *given.shards):
                with (
                    tempfile.TemporaryDirectory() as folder,
                    new_database(server, Path(folder), "template0") as database,
                ):
                    place = PostgresAddress(database.url, database.beside, database.files, shards)
                    store = place if shards else Path(folder) / "bot.db"
                    prepare(store)
                    append(store, given.events)
                    name = f"{shards} in PostgreSQL" if shards else "1 in SQLite"
                    found.setdefault(name, []).append(drained(store, given.share))
    one = f"{given.shards[0]} in PostgreSQL"
    print(f"{'engines':20} {'events/s':>9} {'to one':>7} {'CPU us an event':>16}   on {os.cpu_count()} cores")
    for name, results in found.items():
        ratio = median(theirs[0] / ours[0] for theirs, ours in zip(found[one], results, strict=True))
        seconds, cpu = (median(result[place] for result in results) for place in (0, 1))
        print(f"{name:20} {given.events / seconds:9,.0f} {ratio:7.2f} {cpu / given.events * 1e6:16.0f}")


if __name__ == "__main__":
    main()
