"""The bytes that an event leaves in the store, and those that it writes on the way: ``python -m benchmarks.bytes``.

The customers of `benchmarks.conversation` talk with `bot serve` as fast as it answers, and then at 50 events a second.
The store is a file, or with ``BOT_STORE`` an empty database of PostgreSQL on this machine, whose write-ahead log and
CPU are counted, too.
"""

import argparse
import asyncio
import json
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg

from benchmarks.conversation import Extra, GatewayConnection, Town, cpu_of, server

_WAL = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"
_SIZES = """
    SELECT n.nspname || '.' || relname, pg_table_size(c.oid), pg_indexes_size(c.oid)
    FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname IN ('engine', 'inbox') AND relkind = 'r'
"""


class Gateway(GatewayConnection):
    """A gateway that names each message by an id of its own, as long as a real one: the store keeps them."""

    def _answer(self) -> None:
        ids = {"messageId": f"wamid.{uuid4().hex}{uuid4().hex}", "chatMessageId": str(uuid4())}
        body = json.dumps({"success": True, "data": ids}).encode()
        self.transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        self.transport.write(body)


def cpu_of_database(address: str) -> float:
    """The seconds of CPU that the server of a database has used, while no connection of the bot ends."""
    with psycopg.connect(address) as connection:
        pids = [pid for (pid,) in connection.execute("SELECT pid FROM pg_stat_activity").fetchall()]
    total = 0.0
    for pid in pids:
        with suppress(OSError):
            total += cpu_of(pid)
    return total


def asked(address: str, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query."""
    with psycopg.connect(address) as connection:
        return connection.execute(sql).fetchall()


async def measure(seconds: float, address: str | None) -> None:
    """Measure and print."""
    town = Town(1000)
    loop = asyncio.get_running_loop()
    gateway = await loop.create_server(lambda: Gateway(town), "127.0.0.1", 0, backlog=1024)
    with tempfile.TemporaryDirectory(dir=".") as folder:
        with server("ours", gateway.sockets[0].getsockname()[1], folder, Extra()) as (child, port):
            await town.begin(port, 0.0)
            total = 1

            async def phase(name: str, rate: float | None = None) -> None:
                nonlocal total
                cpu, base = (
                    cpu_of(child.pid),
                    (0.0, 0) if address is None else (cpu_of_database(address), _wal(address)),
                )
                await town.talk(seconds, rate)
                await asyncio.sleep(1)
                events = len(town.replied)
                total += events
                line = f"{name:24} {events:6,} events  bot {(cpu_of(child.pid) - cpu) / events * 1e6:5,.0f} us CPU"
                if address is not None:
                    used = (cpu_of_database(address) - base[0]) / events * 1e6
                    line += f"  database {used:5,.0f} us CPU  {(_wal(address) - base[1]) / events:7,.0f} bytes of WAL"
                print(line)

            await phase("as fast as possible")
            await phase("50 events a second", 50)
        gateway.close()
        if address is None:
            sizes = {path.name: path.stat().st_size for path in Path(folder).glob("bot*db")}
            print(*(f"{name:24} {size / total:7,.0f} bytes an event" for name, size in sorted(sizes.items())), sep="\n")
        else:
            for name, table, indexes in sorted(asked(address, _SIZES), key=lambda row: -row[1] - row[2]):
                if table + indexes > 20 * total:
                    print(f"{name:24} {table / total:7,.0f} bytes an event, and {indexes / total:7,.0f} of indexes")


def _wal(address: str) -> int:
    return int(asked(address, _WAL)[0][0])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="of each phase")
    address = os.environ.get("BOT_STORE")
    asyncio.run(measure(parser.parse_args().seconds, address))


if __name__ == "__main__":
    main()
