"""`bot serve` without the two seconds in which Python imports it, three times over.

A process that has imported everything (`python -m tests.process.warm`, one of each worker) forks the server, and the
server forks its halves where it would start Python anew. All else is as in earnest: three processes, their signals,
pipes, files and exit codes. `tests/test_kill.py`, and servers that are started by a command, are started in earnest.
"""

import atexit
import ctypes
import gc
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any

ROOT = Path(__file__).parents[2]
_PR_SET_NAME = 15
_CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)


class Forked:
    """A server of the warm process: what of `subprocess.Popen` tests need."""

    def __init__(self, arguments: Sequence[str], environ: Mapping[str, str], output: int) -> None:
        self.returncode: int | None = None
        self.pid = _warm().fork({"arguments": arguments, "environ": dict(environ)}, output)

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
        command = [sys.executable, "-m", "tests.process.warm", str(theirs.fileno())]
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
    """What a process that was forked is called: ``serve``, ``web``, ``engine``."""
    return Path(f"/proc/{pid}/comm").read_text().strip()


# What the warm process does


def main(number: int) -> Callable[[], object]:
    """Fork a server for each request, and report which has ended. It returns in the server alone: what that is to run."""
    requests = socket.socket(fileno=number)
    news, write = os.pipe()
    os.set_blocking(write, False)
    os.set_blocking(news, False)
    signal.set_wakeup_fd(write)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    gc.collect()
    gc.freeze()  # else each process would copy all of it when it looks for garbage
    while True:
        ready, _, _ = select.select([requests.fileno(), news], [], [])
        if news in ready:
            os.read(news, 1000)
            _report_ended(requests)
        if requests.fileno() in ready:
            asked, files, _, _ = socket.recv_fds(requests, 1 << 20, 1)
            if not asked:
                os._exit(0)
            pid = os.fork()
            if pid == 0:
                requests.detach()
                return _server(json.loads(asked), *files)
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


def _server(request: dict[str, Any], output: int) -> Callable[[], object]:
    from bot.cli import main as bot
    from bot.process import supervisor

    os.dup2(output, 1)
    os.dup2(output, 2)
    _be("serve", request["environ"], ())
    sys.argv = ["bot", *request["arguments"]]
    vars(supervisor)["subprocess"] = SimpleNamespace(Popen=_Half)
    return bot


class _Half:
    """One of the server's two halves, in its parent: what of `subprocess.Popen` the supervisor needs."""

    def __init__(
        self, command: list[str], env: Mapping[str, str], pass_fds: Sequence[int], start_new_session: bool
    ) -> None:
        *_, code, role, arguments = command
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                _be(role, env, pass_fds)
                sys.argv = ["-c", role, arguments]
                exec(code, {"__name__": "__main__"})
            finally:
                os._exit(1)

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


def _be(role: str, environ: Mapping[str, str], files: Sequence[int]) -> None:
    """Leave nothing of the process that has forked this one: its signals, files, environment and name."""
    signal.set_wakeup_fd(-1)
    for caught in _CAUGHT:
        signal.signal(caught, signal.default_int_handler if caught == signal.SIGINT else signal.SIG_DFL)
    for number in {int(path.name) for path in Path("/proc/self/fd").iterdir()}.difference(files, (0, 1, 2)):
        with suppress(OSError):  # the one by which these were listed
            os.close(number)
    sys.stdout, sys.stderr = os.fdopen(1, "w", closefd=False), os.fdopen(2, "w", buffering=1, closefd=False)
    os.environ.clear()
    os.environ.update(environ)
    ctypes.CDLL(None).prctl(_PR_SET_NAME, role.encode(), 0, 0, 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))()
