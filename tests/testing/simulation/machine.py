"""The machine that a simulated bot runs on: its clocks, its disk, its network, and the crashes of its processes.

While a simulation runs, the modules of `bot` find what stands here under the names that they import (`STAND_INS`): the
standard library's threads, its randomness and its clock, SQLite's connections, and HTTP. All else of them is as it is.
"""

import logging
import random
import secrets
import sqlite3
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode, urlsplit

import psycopg
from psycopg.pq.abc import PGresult

from bot.core.defects import HANDLER, guard
from bot.runtime import event_calls, model_calls  # noqa: F401
from bot.server.web import web_server
from bot.services.ai import ai_client  # noqa: F401 (this and the others are imported before the stand-ins are put in)
from bot.services.http_client import Headers, HttpClient, ReachabilityAlarm, Response, Streamed
from bot.services.request_errors import Ambiguous, DeadlinePassed, HttpError, NotSent, Silent
from bot.store import files, postgres_database  # noqa: F401
from bot.store.postgres_statements import PreparedStatements
from bot.testing.emulator import webhooks
from tests.testing.simulation import threads
from tests.testing.simulation.threads import Condition, Event, Killed, Process, Scheduler, Unforeseen

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
GATEWAY, MODELS, RECEIVER = "http://gateway.simulated", "http://models.simulated/api/v1", "http://crm.simulated"
FILES = "https://files.simulated"

Serve = Callable[["Request"], "Served"]


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request on its way to a peer."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Served:
    """What a peer answers: ``late`` seconds later, and whether it ``ends`` whole, is cut off or hangs."""

    status: int
    headers: Mapping[str, str]
    chunks: list[bytes]
    late: float = 0.0
    ends: str = "whole"


@dataclass(slots=True)
class Crash:
    """A process is killed where it passes the ``after``-th point of a kind from now on (``any``: of all kinds). Where it ``raises``,
    something unforeseen is raised there instead, in the next thread that the product has begun.
    """

    process: str
    point: str
    after: int
    raises: bool = False


@dataclass(slots=True)
class Disk:
    """What is wrong with a file of the store: ``full`` or ``failing`` for so many commits, and when it began."""

    trouble: str
    commits: int


@dataclass(slots=True)
class Unreadable:
    """So many queries of the engine fail, behind so many others."""

    after: int
    count: int


@dataclass
class Machine:
    """One machine on one seed. ``peers`` answer requests, by the beginning of their addresses. ``end_session`` ends a session
    of PostgreSQL, and returns when it has ended.
    """

    scheduler: Scheduler
    folder: Path
    peers: dict[str, Serve] = field(default_factory=dict)
    unreachable: set[str] = field(default_factory=set)
    offset: timedelta = timedelta()
    latency: float = 0.0
    crashes: list[Crash] = field(default_factory=list)
    disk: dict[str, Disk] = field(default_factory=dict)
    unreadable: Unreadable | None = None
    history: list[str] = field(default_factory=list)
    defects: list[str] = field(default_factory=list)
    end_session: Callable[[int], None] = lambda session: None
    outside: Process = field(default_factory=lambda: Process("outside"))
    died: Callable[[Process], None] = lambda process: None
    deliver: Callable[[bytes, Mapping[str, str], float], int | None] = lambda body, headers, within: None
    serials: int = 0

    def note(self, what: str) -> None:
        """Write a line of the history."""
        now = timedelta(seconds=round(self.scheduler.now, 3))
        self.history.append(f"{now!s:>15}  {what.replace(str(self.folder), '')}")

    def point(self, kind: str) -> None:
        """A place at which the process may crash, and another thread go on."""
        thread = self.scheduler.current
        if thread is None or thread.process is self.outside:
            return
        process = thread.process
        if process.killed:
            raise Killed
        for crash in self.crashes:
            if crash.process == process.name and crash.point in (kind, "any"):
                crash.after -= 1
                if crash.after < 0 and (thread.is_products or not crash.raises):
                    self.crashes.remove(crash)
                    if crash.raises:
                        self.note(f"{thread.name} of {process.name} RAISES at a {kind}")
                        raise Unforeseen
                    self.kill(process, f"at a {kind}")
                    raise Killed
        self.scheduler.pause(0.5)

    def kill(self, process: Process, where: str) -> None:
        """Kill a process."""
        self.note(f"CRASH of {process.name} {where}")
        self.died(process)
        self.scheduler.kill(process)

    def end_by_defect(self) -> None:
        """What `os._exit` is to the process of the thread that runs."""
        if not self.scheduler.dying:
            self.kill(self.scheduler.running().process, "by a defect")
            raise Killed

    def trouble(self, file: str) -> str | None:
        """What is wrong with a file of the store when it is written."""
        disk = self.disk.get(file)
        if disk is None or self.scheduler.current is None:
            return None
        disk.commits -= 1
        if disk.commits < 0:
            del self.disk[file]
            return None
        return disk.trouble

    def query_fails(self) -> bool:
        """Whether a query that the engine makes now fails."""
        failing = self.unreadable
        if failing is None or self.scheduler.current is None:
            return False
        failing.after -= 1
        if failing.after < -failing.count:
            self.unreadable = None
        return -failing.count <= failing.after < 0

    def chance(self) -> random.Random:
        """Randomness for somebody who would have taken the system's."""
        self.serials += 1
        return random.Random(f"{self.serials} {self.scheduler.random.random()}")


_machine: Machine | None = None


def machine() -> Machine:
    """The machine that is simulated."""
    assert _machine is not None, "no simulation runs"
    return _machine


LOOK = 5.0
"""Seconds after which a thread looks at the earliest whether something has happened that nobody has told it."""


class TrueClock:
    """The time as it is, for everybody but the bot."""

    def now(self) -> datetime:
        return START + timedelta(seconds=machine().scheduler.now)

    def elapsed(self) -> float:
        return machine().scheduler.now

    def wait(self, condition: Condition, until: float | None, at_most: float) -> None:
        scheduler = machine().scheduler
        if until is None or until > scheduler.now:
            condition.wait_until(until, scheduler.now + max(LOOK, 10 * at_most))


class BotClock(TrueClock):
    """The clock of the bot's machine, which may be wrong."""

    def now(self) -> datetime:
        return super().now() + machine().offset


class Connection(sqlite3.Connection):
    """A connection to a file of the store."""

    trouble_with = ""

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        if sql == "BEGIN IMMEDIATE":
            self._trouble()
        if sql.startswith("PRAGMA busy_timeout"):  # whoever is waited for could not go on meanwhile
            sql = "PRAGMA busy_timeout = 0"
        if self.trouble_with == "engine" and sql.lstrip().startswith("SELECT") and machine().query_fails():
            raise _error_of(sqlite3.SQLITE_IOERR)
        if sql != "COMMIT":
            return super().execute(sql, *parameters)
        here = machine()
        here.point("commit")
        self._trouble()
        cursor = super().execute(sql)
        here.point("committed")
        return cursor

    def _trouble(self) -> None:
        trouble = machine().trouble(self.trouble_with)
        if trouble is None:
            return
        raise _error_of(sqlite3.SQLITE_FULL if trouble == "full" else sqlite3.SQLITE_IOERR)


def _error_of(code: int) -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("database or disk is full" if code == sqlite3.SQLITE_FULL else "disk I/O error")
    error.sqlite_errorcode = code
    return error


def _connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
    here = machine()
    connection = sqlite3.connect(*arguments, **{**options, "timeout": 0}, factory=Connection)
    uri = str(arguments[0])
    if "mode=rw" in uri:
        connection.trouble_with = "inbox" if ".inbox." in uri else "engine"
    if here.scheduler.current is not None:
        here.scheduler.current.process.held.append(lambda: _abandon(connection))
    return connection


def _abandon(connection: sqlite3.Connection) -> None:
    try:
        if connection.in_transaction:
            connection.rollback()
        connection.close()
    except sqlite3.ProgrammingError:
        pass  # it was closed properly


class PostgresConnection(psycopg.Connection[Any]):
    """A session of a database. On a ``full`` disk it commits nothing; a ``failing`` server ends it before a commit or after it."""

    _committed: str | None = None  # the trouble of what is committed when the pipeline ends; "" for none

    def execute(self, query: Any, *given: Any, **options: Any) -> psycopg.Cursor[Any]:
        if str(query).lstrip().startswith("SELECT") and self._pipeline is None:
            self.read()
        trouble = self._before_commit() if query == "COMMIT" else None
        cursor = super().execute(query, *given, **options)
        self._committed = trouble
        return cursor

    @contextmanager
    def transaction(self, *arguments: Any, **options: Any) -> Iterator[psycopg.Transaction]:
        with super().transaction(*arguments, **options) as transaction:
            yield transaction
            trouble = self._before_commit()
        self._committed = trouble
        self._after_commit()

    @contextmanager
    def pipeline(self) -> Iterator[psycopg.Pipeline]:
        with super().pipeline() as pipeline:
            yield pipeline
        self._after_commit()

    def read(self) -> None:
        """Fail if a query of an engine is to fail now."""
        if "bot-flows engine " in self.info.dsn and machine().query_fails():
            raise psycopg.errors.IoError("could not read block 0: Input/output error")

    @contextmanager
    def committing(self) -> Iterator[None]:
        """What is executed in the block is a commit."""
        trouble = self._before_commit()
        yield
        self._committed = trouble
        self._after_commit()

    def _before_commit(self) -> str:
        here = machine()
        here.point("commit")
        trouble = here.trouble("inbox" if "bot-flows web " in self.info.dsn else "engine") or ""
        if trouble == "full":
            raise psycopg.errors.DiskFull("could not extend file: No space left on device")
        if trouble == "failing" and here.scheduler.random.random() < 0.5:
            here.end_session(self.info.backend_pid)
        return trouble

    def _after_commit(self) -> None:
        trouble, self._committed = self._committed, None
        if trouble is not None:
            machine().point("committed")
        if trouble == "failing":  # it was committed, but the answer is lost
            machine().end_session(self.info.backend_pid)
            self.execute("SELECT 1")


class _Statements(PreparedStatements):
    """What a session executes at once: queries, a notice, or else a commit."""

    _connection: PostgresConnection

    def execute(self, statements: Iterable[tuple[str, Sequence[Any]]]) -> list[PGresult]:
        given = list(statements)
        if not all(sql.lstrip().startswith("SELECT") for sql, _ in given):
            with self._connection.committing():
                return super().execute(given)
        if not any("pg_notify" in sql for sql, _ in given):
            self._connection.read()
        return super().execute(given)


def _connect_to_postgres(url: str, **options: Any) -> PostgresConnection:
    connection = PostgresConnection.connect(url, **options)
    current = machine().scheduler.current
    if current is not None:
        session = connection.info.backend_pid
        current.process.held += [connection.close, lambda: machine().end_session(session)]
    return connection


class _FileLock(files.FileLock):
    """A lock that the operating system takes back when the process dies."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        current = machine().scheduler.current
        if current is not None:
            current.process.held.append(self.release)


class _Http:
    """`bot.services.http_client.HttpClient`, to a simulated peer."""

    def __init__(self, url: str, *, seconds: float = 30.0, **options: Any) -> None:
        self._peer = next(peer for peer in (GATEWAY, MODELS, RECEIVER, FILES) if url.startswith(peer))
        self._prefix = urlsplit(url).path.rstrip("/")
        self._seconds = seconds

    def begin(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        done: Callable[[Response | HttpError], None],
    ) -> None:
        path, _, query = path.partition("?")

        def exchange() -> None:
            try:
                answer: Response | HttpError = self._exchange(method, path, query, body or b"", headers)
            except HttpError as error:
                answer = error
            done(answer)

        self.after_answers(exchange)

    def after_answers(self, call: Callable[[], object]) -> None:
        current = machine().scheduler.current
        process = machine().outside if current is None else current.process
        machine().scheduler.begin(process, "http", guard(call)).is_products = True

    def get(self, path: str, headers: Mapping[str, str], query: Mapping[str, str] | None = None) -> Response:
        return self._exchange("GET", path, urlencode(query or {}), b"", headers)

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        path, _, query = path.partition("?")
        return self._exchange("POST", path, query, body, headers)

    def close(self) -> None:
        pass

    def _exchange(self, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]) -> Response:
        served = self._served(Request(method, self._prefix + path, query, headers, body), self._seconds)
        machine().point("answered")
        if served.ends != "whole":
            raise Ambiguous("no whole answer: the connection was reset")
        return Response(served.status, _headers(served.headers), b"".join(served.chunks))

    @contextmanager
    def stream(
        self,
        method: str,
        path: str,
        body: bytes | None,
        headers: Mapping[str, str],
        *,
        idle_seconds: float,
        seconds: float,
        first_seconds: float | None = None,
    ) -> Iterator[Streamed]:
        path, _, query = path.partition("?")
        first = first_seconds or idle_seconds
        served = self._served(Request(method, self._prefix + path, query, headers, body or b""), first)
        if not served.status:
            raise Ambiguous("no whole answer: the connection was reset")

        def chunks() -> Iterator[bytes]:
            for chunk in served.chunks:
                machine().point("answered")
                yield chunk
            if served.ends == "hangs":
                machine().scheduler.sleep(idle_seconds)
                raise Silent("no whole answer: timed out")
            if served.ends != "whole":
                raise Ambiguous("no whole answer: the connection was reset")

        yield Streamed(served.status, _headers(served.headers), chunks())

    def _served(self, request: Request, seconds: float) -> Served:
        here = machine()
        here.point("request")
        if self._peer in here.unreachable:
            raise NotSent("no connection: Connection refused")
        begun, answers, done = here.scheduler.now, list[Served](), Event()
        lag = here.scheduler.random.random() * here.latency

        def serve() -> None:
            here.scheduler.sleep(lag)
            served = here.peers[self._peer](request)
            here.scheduler.sleep(served.late + lag)
            answers.append(served)
            done.set()

        here.scheduler.begin(here.outside, "peer", serve)
        done.wait(seconds)
        if not answers or (answers[0].ends == "hangs" and not answers[0].status):
            here.scheduler.sleep(begun + seconds - here.scheduler.now)
            raise (DeadlinePassed if self._peer == GATEWAY else Silent)("no whole answer: timed out")
        return answers[0]


def _headers(headers: Mapping[str, str]) -> Headers:
    return Headers({name.lower(): value for name, value in headers.items()})


class _Poster:
    """The gateway's way to the bot."""

    def __init__(self, within: float) -> None:
        self._within = within

    def post(self, target: object, body: bytes, headers: Mapping[str, str]) -> int | None:
        return machine().deliver(body, headers, self._within)

    def close(self) -> None:
        pass

    def abort(self) -> None:
        pass


class _Server:
    """The web server, in front of which there is no socket."""

    newest: "_Server"

    def __init__(self, app: Any, listener: object, alarms: object, threads: int, in_loop: object) -> None:
        self.app = app
        self._stopped = Event()
        _Server.newest = self

    def run(self) -> None:
        self._stopped.wait()

    def stop(self) -> None:
        self._stopped.set()


def app_of_newest_server() -> Any:
    """The application of the web process that has been started last."""
    return _Server.newest.app


class _ReachabilityAlarm(ReachabilityAlarm):
    """Its module is left as it is, but several threads of the bot may meet in it."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._lock = threads.THREADING.Lock()


def _random(seed: object = None) -> random.Random:
    return machine().chance() if seed is None else random.Random(seed)  # type: ignore[arg-type]


STAND_INS: dict[int, object] = {
    id(threading): threads.THREADING,
    id(futures.Future): threads.Future,
    id(time.monotonic): lambda: machine().scheduler.now,
    id(time.thread_time): lambda: machine().scheduler.now,
    id(time.sleep): lambda seconds: machine().scheduler.sleep(seconds),
    id(sqlite3): SimpleNamespace(**{**vars(sqlite3), "connect": _connect}),
    id(PreparedStatements): _Statements,
    id(psycopg): SimpleNamespace(**{**vars(psycopg), "connect": _connect_to_postgres}),
    id(random.Random): _random,
    id(random): SimpleNamespace(Random=_random),
    id(uuid.uuid4): lambda: uuid.UUID(int=machine().chance().getrandbits(128)),
    id(secrets): SimpleNamespace(
        token_hex=lambda size: f"{machine().chance().getrandbits(8 * size):0{2 * size}x}",
        token_urlsafe=lambda size: f"{machine().chance().getrandbits(8 * size):x}",
    ),
    id(HttpClient): _Http,
    id(ReachabilityAlarm): _ReachabilityAlarm,
    id(files.FileLock): _FileLock,
    id(webhooks.Poster): _Poster,
    id(web_server.WebServer): _Server,
}
"""What the modules of `bot` find, by the id of what they have imported."""

_KEPT = (
    "bot.loading.watchdog",
    "bot.services.http_client",
    "bot.services.public_addresses",
    "bot.testing.conversations",
    "bot.testing.simulation",
    "bot.cli",
)
"""Modules that are left as they are: no thread of a simulated bot waits in them."""

_places: list[tuple[Any, str, object, object]] = []


def _find_places() -> None:
    if _places:
        return
    defined = {
        id(files.FileLock): files.__name__,
        id(web_server.WebServer): web_server.__name__,
        id(PreparedStatements): PreparedStatements.__module__,
        id(webhooks.Poster): "",
    }
    for name, module in list(sys.modules.items()):
        if module is None or not name.startswith("bot.") or name.startswith(_KEPT):
            continue
        for attribute, value in list(vars(module).items()):
            if id(value) in STAND_INS and defined.get(id(value)) != name:
                _places.append((module, attribute, value, STAND_INS[id(value)]))


@contextmanager
def simulated(seed: str, folder: Path) -> Iterator[Machine]:
    """A machine of its own for the time of a ``with`` block. What is made of `bot` in there runs on it."""
    global _machine
    _find_places()
    _machine = Machine(Scheduler(seed), folder)
    threads.use(_machine.scheduler)
    for module, name, _, stand_in in _places:
        setattr(module, name, stand_in)
    HANDLER.end = _machine.end_by_defect
    log, listener = logging.getLogger("bot"), _Listener(_machine)
    kept = log.handlers[:], log.propagate, log.level
    log.handlers, log.propagate = [listener], False
    log.setLevel(logging.INFO)
    try:
        yield _machine
    finally:
        HANDLER.end = None
        log.handlers, log.propagate = kept[:2]
        log.setLevel(kept[2])
        for module, name, real, _ in _places:
            setattr(module, name, real)
        threads.use(None)
        _machine = None


class _Listener(logging.Handler):
    """Writes what the bot logs into the history; a defect is one for the promises, too."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(logging.WARNING)
        self._machine = machine

    def emit(self, record: logging.LogRecord) -> None:
        scheduler = self._machine.scheduler
        if scheduler.dying:
            return
        text = record.getMessage().splitlines()[0][:200]
        who = "?" if scheduler.current is None else scheduler.current.process.name
        self._machine.note(f"{who} logs: {text}")
        if Unforeseen.__name__ in text:  # raised on purpose
            return
        if record.exc_info or any(words in text for words in ("defect", "loop has ended", "a turn failed")):
            self._machine.defects.append(record.getMessage())
