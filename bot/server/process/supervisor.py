"""The supervisor: opens the ports, starts the web process, an engine process for each shard, and the console's, and
restarts any that dies.

It runs nobody's flows or handlers, so nothing in them can take it down. It has one thread, imports what its children
need, and forks them. They end when the pipe that it holds open closes, which also happens when it is killed.
"""

import gc
import logging
import os
import select
import signal
import socket
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic, sleep

from bot.core.errors import BotError
from bot.server.process.child import UNFIT, Half, main, tell
from bot.settings import Settings
from bot.store.database import StoreAddress, role_name, shards_of
from bot.store.files import FileLock, StoreLocked, children_lock, server_lock
from bot.store.store_setup import prepare

_COMMAND_FOLDER = None if sys.flags.safe_path else sys.path[0]  # a bot's, maybe, with modules that are not meant for us


def fork(name: str, run: Callable[[], object], files: Collection[int]) -> int:
    """Start a process that calls ``run`` and ends; returns its id. This process may have only one thread.

    ``run`` ends the process with an exit code of its own (`os._exit`), else it is 1. The process has a session of its
    own: Ctrl-C in the terminal is for the parent. From this process it gets the standard streams and ``files``, and no
    other descriptors.
    """
    gc.freeze()  # a collection would write to, and so copy, the memory that the processes share
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # its disk is full, or nobody reads it any more
            stream.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until it has let go of our wakeup pipe
    try:
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                _forget_parent(name, {0, 1, 2, *files})
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                run()
            finally:
                os._exit(1)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


def _forget_parent(name: str, kept: set[int]) -> None:
    """Leave the parent's signal handlers, descriptors, name, and the folder of its command in `sys.path`; ignore
    SIGINT.
    """
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for descriptor in {int(each.name) for each in Path("/dev/fd").iterdir()} - kept:
        with suppress(OSError):  # the one by which these were listed
            os.close(descriptor)
    with suppress(OSError):  # where there is no /proc
        Path("/proc/self/comm").write_text(name)
    sys.path[:] = [*(path for path in sys.path if path != _COMMAND_FOLDER), str(Path(__file__).resolve().parents[3])]


ROLES = ("web", "engine")
"""The two halves of a server: ``web`` accepts events, ``engine`` works on them and answers."""

BACKLOG = 1024
STOP_SECONDS = 25.0  # processes that still run after that are killed: everything is durable
STEADY_SECONDS = 10.0  # a child that lived so long did not fail at its start
LONGEST_PAUSE = 1.5
ORPHAN_SECONDS = 15.0  # a killed server's engine ends slowly on a busy machine: it has the lowest priority
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD)
_WITHOUT_MEANING = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM)  # they would end a process
log = logging.getLogger("bot.serve")


class CannotServe(BotError):
    """The server cannot start: another process has the port or the store."""


class Supervisor:
    """Runs one bot, or one of its two ``roles``, until a signal stops it. ``console`` imports the console's half, if
    there is to be one.

    ``announce`` gets the address at which the bot takes events, if it takes any, and the console's, once all children
    are up.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        announce: Callable[[str | None, str | None], None],
        *,
        roles: Sequence[str] = ROLES,
        console: Callable[[], Half] | None = None,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self._roles = roles
        self._console_half = console
        self._listener: socket.socket | None = None
        self._console_url: str | None = None
        self._announce = announce
        self._children: list[_Child] = []
        self._starting: set[str] = set()
        self._stop_by: float | None = None
        self._exit_code = 0

    def run(self) -> int:
        """Serve; returns the exit code. Raises `CannotServe`, `StoreLocked` and what `migrate` raises."""
        _open_streams()
        with ExitStack() as held:
            for lock in (locks := _locks(self._settings.store)):
                held.callback(lock.release)
            self._children_lock = locks[1].fileno()
            if "web" in self._roles:
                self._listener = held.enter_context(_listen(self._settings.host, self._settings.port))
            if self._console_half is not None:
                where = self._settings.console_host, self._settings.console_port
                self._console = held.enter_context(_listen(*where, "BOT_CONSOLE_"))
            self._signals = _catch_signals(held)
            self._open_pipes(held)
            while self._children_wanted():
                self._on_signals()
                self._look_after_children()
        return self._exit_code

    def _open_pipes(self, held: ExitStack) -> None:
        """The pipes: the lifeline ends the children, a wake pipe wakes the engine of each shard, and by the news pipe
        they report that they are up.

        Once all engines are up, a byte in the begin pipe lets web accept events from then on, because every one of them
        will be taken.
        """
        lifeline, alive = _pipe(held)
        del alive  # only this process holds it open
        self._news, news = _pipe(held)
        begun, self._begin = _pipe(held)
        os.set_blocking(self._begin, False)
        defects = held.enter_context(tempfile.TemporaryFile()).fileno()  # noqa: SIM115
        common = {"lifeline": lifeline, "news": news, "lock": self._children_lock, "defects": defects}
        web, engines = {"begun": begun}, []
        for number, shard in enumerate(shards_of(self._settings.store) if "engine" in self._roles else ()):
            woken, web[f"wake {number}"] = _pipe(held)
            os.set_blocking(web[f"wake {number}"], False)
            engine = {
                "woken": woken,
                "last_good": held.enter_context(tempfile.TemporaryFile()).fileno(),  # noqa: SIM115
                "lost_run": held.enter_context(tempfile.TemporaryFile()).fileno(),  # noqa: SIM115
            }
            engines.append(
                _Child("engine", _engine_half, replace(self._settings, store=shard), self._folder, common | engine)
            )
        if self._listener is not None:  # web first: it is forked before the engine's half, which is larger, is imported
            web["listener"] = self._listener.fileno()
            self._children.append(_Child("web", _web_half, self._settings, self._folder, common | web))
        self._children += engines
        if not engines:
            tell(self._begin, b"x")  # engines of other machines take what is accepted here
        if self._console_half is not None:
            self._console_url = self._settings.console_url or _url(self._console)
            files = common | {"listener": self._console.fileno()}
            self._children.append(_Child("console", self._console_half, self._settings, self._folder, files))
        self._starting = {child.name for child in self._children}

    def _children_wanted(self) -> bool:
        return self._stop_by is None or any(child.pid for child in self._children)

    def _on_signals(self) -> None:
        ready, _, _ = select.select([self._signals, self._news], [], [], self._pause())
        if self._news in ready:
            self._on_news(os.read(self._news, 10_000).decode().split())
        for number in os.read(self._signals, 1000) if self._signals in ready else b"":
            if number in (signal.SIGTERM, signal.SIGINT):
                self._stop(signal.SIGTERM if self._stop_by is None else signal.SIGKILL)
            elif number == signal.SIGHUP:
                for child in self._children:
                    if child.role == "engine":
                        child.signal(signal.SIGHUP)

    def _pause(self) -> float | None:
        """Seconds until there is something to do without a signal."""
        moments = [child.due for child in self._children if child.pid is None and self._stop_by is None]
        moments += [] if self._stop_by is None else [self._stop_by]
        return max(0.0, min(moments) - monotonic()) if moments else None

    def _on_news(self, up: list[str]) -> None:
        starting, self._starting = self._starting, self._starting.difference(up)
        if not any(child.role == "engine" and child.name in self._starting for child in self._children):
            tell(self._begin, b"x")
        if starting and not self._starting and self._stop_by is None:
            self._announce(None if self._listener is None else _url(self._listener), self._console_url)

    def _look_after_children(self) -> None:
        for child in self._children:
            code = child.reap()
            if code is not None and self._stop_by is None:
                needed = child.role != "console"  # the bot answers without it
                if needed and (code == UNFIT or (code == 1 and child.name in self._starting)):  # it has said why
                    self._exit_code = 1
                    self._stop(signal.SIGTERM)
                else:
                    child.plan_restart(code)
            if child.pid is None and self._stop_by is None and child.due <= monotonic():
                child.start()
        if self._stop_by is not None and self._stop_by <= monotonic():
            log.warning("what still runs after %g s is killed; it goes on at the next start", STOP_SECONDS)
            self._stop(signal.SIGKILL)

    def _stop(self, number: signal.Signals) -> None:
        if self._stop_by is None and self._listener is not None:
            self._listener.close()  # the web process is its last holder, and takes the connections that wait in it
        self._stop_by = monotonic() + STOP_SECONDS
        for child in self._children:
            child.signal(number)


def _open_streams() -> None:
    """Open each standard stream that is closed. Else the next file that is opened gets its descriptor, and with it what
    anybody prints.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_WRONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, mode), True)  # it gets the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


def _web_half() -> Half:
    from bot.server.process import web_process  # not above: it is imported when it is started, and takes time

    return web_process.run


def _engine_half() -> Half:
    from bot.server.process import engine_process

    return engine_process.run


class _Child:
    """A child process, which is started again when it ends. ``half`` imports its code, and returns the function that it
    runs.
    """

    def __init__(
        self, role: str, half: Callable[[], Half], settings: Settings, folder: Path, files: Mapping[str, int]
    ) -> None:
        self.role = role
        self._half = half
        self.name = role_name(role, settings.store)
        self.pid: int | None = None
        self.due = 0.0
        self._settings = settings
        self._folder = folder
        self._files = files
        self._started = 0.0
        self._failures = 0

    def start(self) -> None:
        """Import its half, which takes time once, and fork. If that is not possible now, it is ``due`` again soon."""
        self._started = monotonic()
        gc.disable()  # what is imported stays
        run = partial(main, self.name, self._half(), self._settings, self._folder, self._files)
        try:
            self.pid = fork(f"bot-{self.name}", run, self._files.values())
        except OSError as error:  # this machine has no memory left, or too many processes
            self.due = monotonic() + LONGEST_PAUSE
            log.error("the %s process cannot be started now: %s", self.name, error.strerror)
        gc.enable()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it runs."""
        if self.pid is not None:
            os.kill(self.pid, number)

    def reap(self) -> int | None:
        """The exit code, once, if it has ended."""
        pid, status = (0, 0) if self.pid is None else os.waitpid(self.pid, os.WNOHANG)
        if pid == 0:
            return None
        self.pid = None
        return os.waitstatus_to_exitcode(status)

    def plan_restart(self, code: int) -> None:
        """Start it again at once; after failures in a row with growing pauses, all short of two seconds."""
        now = monotonic()
        self._failures = 0 if now - self._started > STEADY_SECONDS else self._failures + 1
        self.due = now if self._failures < 2 else now + min(LONGEST_PAUSE, 0.05 * 2**self._failures)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        level = logging.INFO if code == 0 else logging.WARNING  # 0: the engine has left its shard to another machine
        log.log(level, "the %s process %s: it is started again", self.name, how)


def _locks(store: StoreAddress) -> tuple[FileLock, FileLock]:
    """Take the store for this server and bring it up to date; wait for what a killed server left running.

    Each child gets the second lock, too, and holds it for as long as it lives: a child of a killed server may hold the
    port although it has not locked its own file yet.
    """
    try:
        lock = server_lock(store)
    except StoreLocked:
        raise CannotServe(
            f"a server runs on {store} already, or a command that asks the gateway: stop it, "
            "or give this one a store of its own with BOT_STORE"
        ) from None
    until = monotonic() + ORPHAN_SECONDS
    while True:
        try:
            prepare(store)
            return lock, children_lock(store)
        except StoreLocked:
            if monotonic() > until:
                raise
            sleep(0.05)


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def _listen(host: str, port: int, named: str = "BOT_") -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise CannotServe(
            f"{host}:{port} cannot be listened on: {error.strerror or error} "
            f"(choose another with {named}HOST and {named}PORT)"
        ) from error


def _catch_signals(held: ExitStack) -> int:
    """A descriptor on which each signal that comes is one byte."""
    read, write = _pipe(held)
    os.set_blocking(write, False)
    held.callback(signal.set_wakeup_fd, signal.set_wakeup_fd(write))
    for number in _SIGNALS:
        held.callback(signal.signal, number, signal.signal(number, lambda *_: None))
    for number in _WITHOUT_MEANING:  # children ignore them, too
        held.callback(signal.signal, number, signal.signal(number, signal.SIG_IGN))
    return read


def _pipe(held: ExitStack) -> tuple[int, int]:
    read, write = os.pipe()
    held.callback(os.close, read)
    held.callback(os.close, write)
    return read, write
