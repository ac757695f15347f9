"""The CPU of one event in the web process: ``python -m benchmarks.web``. Its ratio to a floor of the same run.

32 connections send signed events, one after the other. The floor is the same HTTP server with an application that
answers 200 to anything: no Flask, no signature, no store. Server and sender are processes of their own, on a core each.
"""

import argparse
import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.conversation import CONNECTIONS, SECRET, Customer, Requests, cpu_of, signed
from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.core.engine_answers import Status
from bot.server.web.web_server import WebServer
from bot.server.web.web_service import WebService
from bot.store.sqlite_schema import migrate


class Sender(Requests):
    """A connection that sends the next event when it has the answer to the last."""

    def __init__(self, events: Iterator[bytes], answers: list[bytes]) -> None:
        super().__init__()
        self._events = events
        self._answers = answers

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.transport.write(next(self._events))

    def message(self, head: bytes, body: bytes) -> None:
        self._answers.append(head.split()[1])
        self.transport.write(next(self._events))


def events(run: str) -> Iterator[bytes]:
    """Signed events of a thousand contacts, for ever."""
    customers = [Customer(number) for number in range(1000)]
    for number in count():
        id = f"{run}-{number}"
        yield signed(customers[number % 1000].event(id), id)


def bare(environ: dict[str, Any], start_response: Callable[..., Any]) -> list[bytes]:
    """Answer 200 to anything."""
    start_response("200 OK", [("Content-Type", "application/json")])
    return [b'{"ok": true, "message": "kept"}']


def serve(name: str, folder: Path) -> None:
    """Be a server, until SIGTERM."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    server: WebServer | WebService
    if name == "floor":
        server = WebServer(bare, listener, Alarms(SystemClock()), in_loop={"/webhook"})
    else:
        migrate(folder / "bot.db")
        server = WebService(
            folder / "bot.db",
            listener,
            SystemClock(),
            secrets=[SECRET],
            tolerance=timedelta(minutes=5),
            path="/webhook",
            begun=lambda: True,
            wake=lambda shards: None,
            ask=lambda request: Status(),
        )
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    print(listener.getsockname()[1], flush=True)
    server.run()


def loop_cpu_of(pid: int) -> float:
    """The seconds of CPU that a server's first thread has used, which runs the event loop."""
    return int(Path(f"/proc/{pid}/task/{pid}/schedstat").read_text(encoding="ascii").split()[0]) / 1e9


async def measured(name: str, seconds: float) -> tuple[float, float]:
    """The microseconds of CPU that an event costs a server, and those of them in the event loop."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "benchmarks.web", "--serve", name, folder]
        child = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, preexec_fn=lambda: os.sched_setaffinity(0, {0})
        )
        assert child.stdout is not None
        port = int(child.stdout.readline())
        source, answers = events(os.urandom(4).hex()), list[bytes]()
        for _ in range(CONNECTIONS):
            await asyncio.get_running_loop().create_connection(lambda: Sender(source, answers), "127.0.0.1", port)
        await asyncio.sleep(0.5)
        answered, until = len(answers), time.perf_counter() + seconds
        before, before_in_loop = cpu_of(child.pid), loop_cpu_of(child.pid)
        while time.perf_counter() < until:
            await asyncio.sleep(0.1)
        each = 1e6 / (len(answers) - answered)
        cost = (cpu_of(child.pid) - before) * each, (loop_cpu_of(child.pid) - before_in_loop) * each
        child.kill()
        child.wait()
    assert set(answers) == {b"200"}, set(answers)
    return cost


def main() -> None:
    """Measure both, in turn, and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        return serve(given.serve[0], Path(given.serve[1]))
    os.sched_setaffinity(0, {1 % (os.cpu_count() or 1)})
    rounds = [
        {name: asyncio.run(measured(name, given.seconds)) for name in ("floor", "web")} for _ in range(given.rounds)
    ]
    floor, web, loop = (
        median(each[name][part] for each in rounds) for name, part in (("floor", 0), ("web", 0), ("web", 1))
    )
    print(f"floor: the same server, which answers 200   {floor:6.0f} us of CPU an event   1.0")
    print(f"an event: verified, kept, acknowledged       {web:6.0f} us of CPU an event   {web / floor:.1f}")
    print(f"... in the event loop                        {loop:6.0f}")
    print(f"... in the inbox's thread                    {web - loop:6.0f}")


if __name__ == "__main__":
    main()
