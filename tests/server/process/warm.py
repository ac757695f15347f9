"""`bot serve` without the second in which Python imports it and reads the words of languages.

A process that has imported everything and had a conversation (`python -m tests.server.process.warm`, one of each worker)
forks the server, as the server forks web and engine. All else is as in production: three processes, their signals, pipes,
files and exit codes. Only the pauses are shorter before what fails again and again is started again.
A search with `tests/server/test_kill.py`, and tests that run a command, start a new Python instead.
"""

import atexit
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import Any

from bot import handler
from bot.cli import main as run
from bot.server.process.supervisor import fork
from tests.broken import break_for_good, set_for_good
from tests.talk import Talk

ROOT = Path(__file__).parents[3]
VALUES = {"bot.server.process.supervisor:LONGEST_PAUSE": 0.2}


class Forked:
    """A server of the warm process: what of `subprocess.Popen` tests need."""

    def __init__(
        self,
        arguments: Sequence[str],
        environ: Mapping[str, str],
        output: int,
        broken: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
    ) -> None:
        self.returncode: int | None = None
        changed = {"broken": dict(broken or {}), "values": {**VALUES, **(values or {})}}
        request = {"arguments": arguments, "environ": dict(environ), **changed}
        self.pid = _warm().fork(request, output)

    def poll(self) -> int | None:
        """The exit code, if it has ended."""
        return self._look(0)

    def wait(self, timeout: float) -> int:
        """The exit code, once it has ended."""
        if self._look(timeout) is None:
            raise subprocess.TimeoutExpired("bot serve", timeout)
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Kill it."""
        self.send_signal(signal.SIGKILL)

    def _look(self, seconds: float) -> int | None:
        if self.returncode is None:
            self.returncode = _warm().ended(self.pid, seconds)
        return self.returncode


class _Warm:
    """The tests' end of the socket to the warm process. It ends when this is closed."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", "tests.server.process.warm", str(theirs.fileno())]
        self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], cwd=ROOT)
        theirs.close()
        self._lock = threading.Lock()
        self._pids: list[int] = []
        self._codes: dict[int, int] = {}
        atexit.register(self._end)

    def fork(self, request: dict[str, Any], output: int) -> int:
        """Start a server that writes to ``output``; returns its process id."""
        with self._lock:
            socket.send_fds(self._socket, [json.dumps(request).encode()], [output])
            while not self._pids:
                self._read()
            return self._pids.pop()

    def ended(self, pid: int, seconds: float) -> int | None:
        """The exit code of a server that ends within so many seconds."""
        until = monotonic() + seconds
        while True:
            with self._lock:
                while select.select([self._socket], [], [], 0)[0]:
                    self._read()
                if pid in self._codes:
                    return self._codes[pid]
            if monotonic() >= until:
                return None
            select.select([self._socket], [], [], min(0.05, until - monotonic()))

    def _end(self) -> None:
        self._socket.close()
        self._process.wait()

    def _read(self) -> None:
        told = json.loads(self._socket.recv(65536) or b'{"gone": true}')
        assert "gone" not in told, "the warm process has ended"
        if "code" in told:
            self._codes[told["pid"]] = told["code"]
        else:
            self._pids.append(told["pid"])


@cache
def _warm() -> _Warm:
    return _Warm()


def role_of(pid: int) -> str:
    """What a process of a server is: ``serve`` the first, ``web``, ``engine``; empty once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip().removeprefix("bot-")
    except (FileNotFoundError, ProcessLookupError):
        return ""


# What the warm process does

MODULES = (
    "bot.cli.serve",
    "bot.runtime.model_calls",
    "bot.server.process.engine_process",
    "bot.server.process.web_process",
    "bot.store.store_backup",
    "encodings.idna",
    "prometheus_client",
    "psycopg",  # not `bot.store.postgres_database`, which gives each server a name of its own
)
BOT = "name: Warm\ndefaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}\n"
FLOWS = """\
flow: main
start: {otherwise: true}
vars: {count: {type: integer}}
steps:
  hello: {say: Hello}
  ask: {ask: "How many?", save: count}
  talk: {ai: You help., tools: [orders.find], exits: {done: {when: all is said, then: end}}, errors: {else: end}}
"""


@handler("orders.find")
def _find(contact: str, idempotency_key: str) -> str:
    """Find the order."""
    return "found"


def _have_conversation() -> None:
    """Have the pure engine read the words of languages, and import what only some bots need."""
    talk = Talk(FLOWS, BOT, {"find": _find})
    talk.user("hi")
    talk.user("three")


def main(number: int) -> None:
    """Fork a server for each request, and report which has ended."""
    requests = socket.socket(fileno=number)
    news, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(news, False)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for module in MODULES:
        import_module(module)
    _have_conversation()
    gc.collect()
    while True:
        ready, _, _ = select.select([requests.fileno(), news], [], [])
        if news in ready:
            os.read(news, 1000)
            _report_ended(requests)
        if requests.fileno() in ready:
            asked, files, _, _ = socket.recv_fds(requests, 1 << 20, 1)
            if not asked:
                os._exit(0)
            pid = fork("bot-serve", partial(_serve, json.loads(asked), *files), files)
            os.close(*files)
            requests.send(json.dumps({"pid": pid}).encode())


def _report_ended(requests: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        requests.send(json.dumps({"pid": pid, "code": os.waitstatus_to_exitcode(status)}).encode())


def _serve(request: dict[str, Any], output: int) -> None:
    """Be `bot serve`, and end as it does."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(request["environ"])
    sys.argv = ["bot", *request["arguments"]]
    break_for_good(request["broken"])
    set_for_good(request["values"])
    try:
        run()
    except SystemExit as end:
        sys.stdout.flush()
        os._exit(end.code if isinstance(end.code, int) else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
