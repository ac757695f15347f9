"""A defect: an exception that nobody foresaw, in a thread or a callback of ours. It is logged, and ends no less and no more than it must."""

import ast
import os
import re
import socket
import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from queue import Empty, SimpleQueue
from tempfile import TemporaryFile
from unittest.mock import Mock, patch

import pytest
from flask import Flask

from bot.cli.shared.flow_reloader import BotFiles, FlowReloader
from bot.core import defects
from bot.core.alarms import Alarms
from bot.core.clock import MovableClock, SystemClock, Timekeeper
from bot.core.defects import guard
from bot.core.engine_answers import Status
from bot.core.engine_requests import AskStatus
from bot.loading import watchdog
from bot.loading.watchdog import Watchdog
from bot.pages.console.live_check import LiveCheck
from bot.pages.playground.flow_map import FlowMap, UnreadableTests
from bot.pages.playground.playground_server import PlaygroundServer
from bot.pages.playground.shared_findings import SharedFindings
from bot.pages.shared.page_server import PageServer, page_app
from bot.runtime import python_calls
from bot.runtime.performers import WorkerPool
from bot.runtime.shared_limiter import SharedLimiter
from bot.server import local_socket
from bot.server.process import child
from bot.server.web import web_server
from bot.server.web.web_app import _App
from bot.server.web.web_server import WebServer
from bot.services import http_client, public_addresses
from bot.services.gateway.gateway_answers import OutcomeUnknown
from bot.services.gateway.gateway_client import Gateway
from bot.services.http_client import HttpClient, Response
from bot.store import lock_watch
from bot.store.database import Budget, BudgetTurn
from bot.store.postgres_database import NoticeListener
from bot.store.sqlite_database import SqliteDatabase
from bot.testing.simulation.simulation import Simulation
from tests.broken import WORDS, Unforeseen, raises_on
from tests.cli.terminal import make_bot
from tests.patience import PATIENCE

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Hi., then: end}}\n"


class Defects:
    """What was found, and whether it was to end the process."""

    def __init__(self) -> None:
        self._found: SimpleQueue[tuple[str, bool]] = SimpleQueue()
        self.ended = threading.Event()

    def note(self, thread: str, place: str) -> None:
        self._found.put((thread, "Unforeseen" in place))

    def next(self) -> str:
        """The name of the thread of the next one."""
        thread, is_ours = self._found.get(timeout=PATIENCE)
        assert is_ours
        return thread

    def none(self) -> bool:
        with suppress(Empty):
            return self._found.get_nowait() is None
        return True


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Defects:
    noted = Defects()
    monkeypatch.setattr(defects.HANDLER, "note", noted.note)
    monkeypatch.setattr(defects.HANDLER, "end", noted.ended.set)
    return noted


def whole_bot(folder: Path, parts: ExitStack) -> None:
    parts.enter_context(Simulation(BotFiles(folder).load(), MovableClock(START)))


def request(folder: Path, parts: ExitStack) -> None:
    parts.enter_context(patch.object(http_client, "_running", ABANDONED))
    HttpClient("http://127.0.0.1:9").begin("GET", "/", None, {}, print)


def timekeeper(folder: Path, parts: ExitStack) -> None:
    lock = threading.Lock()
    keeper = Timekeeper(MovableClock(START), lock, lambda: None, "some")
    with lock:
        keeper.wake_by(0.0)


def worker_pool(folder: Path, parts: ExitStack) -> None:
    pool: WorkerPool[str, str] = WorkerPool(
        MovableClock(START),
        refresh=lambda now: (1, None),
        pop=lambda now: "job",
        do=lambda job: job,
        done=lambda job, result: None,
        size=1,
        name="handlers",
    )
    parts.callback(pool.stop, 0.0)
    pool.start()


def local_server(folder: Path, parts: ExitStack) -> None:
    server = local_socket.LocalServer(folder / "bot.db", lambda request: Status())
    server.start()
    parts.callback(server.stop)
    with suppress(local_socket.NotRunning):
        local_socket.ask(folder / "bot.db", AskStatus(), 0.1)


def page_server(folder: Path, parts: ExitStack) -> None:
    server = PageServer(Flask(__name__), socket.create_server(("127.0.0.1", 0)), threading.Event())
    server._thread.start()


def flow_map(folder: Path, parts: ExitStack) -> None:
    files = BotFiles(folder)
    with suppress(UnreadableTests):  # so soon
        FlowMap(files.load(), files.folder, SharedFindings()).tests_at("main", "a")


def playground(folder: Path, parts: ExitStack) -> None:
    files = BotFiles(folder)
    PlaygroundServer._drawn(Mock(), files.load(), files.folder)


def reloader(folder: Path, parts: ExitStack) -> None:
    parts.enter_context(FlowReloader(BotFiles(folder), lambda program: None, lambda problems, trouble: None))


def lifeline(folder: Path, parts: ExitStack) -> None:
    child.end_with(0)


def locks(folder: Path, parts: ExitStack) -> None:
    parts.enter_context(patch.object(lock_watch, "LOOK_SECONDS", 0.0))
    database = SqliteDatabase(folder, sqlite3.connect(":memory:"), nothing)
    parts.callback(database.connection.close)
    parts.enter_context(lock_watch.watches_locks({"no event is accepted": database}, Alarms(MovableClock(START))))


def budget(folder: Path, parts: ExitStack) -> None:
    turn = BudgetTurn(0.0, {"engines": {"another": {"ended": 0, "in_flight": 0}}}, list, [])
    shared = Mock(Budget, turn=lambda: nullcontext(turn))
    shared.name = "this"
    SharedLimiter(60, 10_000, shared, folder / "bot.db", MovableClock(START)).start(Mock(), nothing)


def nothing() -> None:
    """Do what a caller gives."""


ABANDONED: list[http_client._Loop] = []
"""A loop of libcurl's that was left in the middle must not be freed."""

Begin = Callable[[Path, ExitStack], object]
THREADS: dict[str, tuple[str, Begin, bool]] = {
    "inbox": ("bot.store.inbox:InboxWriter._next_group", whole_bot, True),
    "house": ("bot.server.web.web_service:WebService._keep_house", whole_bot, True),
    "web": ("bot.server.web.web_service:WebService.run", whole_bot, True),
    "turns": ("bot.runtime.engine_loop:EngineLoop._run_cycle", whole_bot, True),
    "http": ("bot.services.http_client:_Loop._finish", request, True),
    "emulator-http": ("bot.testing.emulator.emulator_server:_Server.fileno", whole_bot, True),
    "emulator-webhook": ("bot.testing.emulator.webhooks:Webhooks._work", whole_bot, True),
    "some-time": ("bot.core.clock:Timekeeper._run", timekeeper, True),
    "handlers": ("bot.runtime.performers:WorkerPool._next", worker_pool, True),
    "watchdog": ("bot.loading.watchdog:Watchdog._watch", lambda *_: Watchdog().run("x", str, 1.0), True),
    "heartbeat": ("bot.loading.watchdog:faulthandler.dump_traceback_later", lambda *_: watchdog.end_when_deaf(), True),
    "lifeline": ("bot.server.process.child:os.read", lifeline, True),
    "listener x": (
        "bot.store.postgres_database:connect",
        lambda *_: NoticeListener(None, "x", lambda connection: None),  # type: ignore[arg-type]
        True,
    ),
    "locks": ("bot.core.alarms:Alarms.clear", locks, True),
    "budget": ("bot.runtime.shared_limiter:SharedLimiter._draw", budget, True),
    "local": ("bot.server.local_socket:LocalServer._accept", local_server, True),
    "pages": ("bot.pages.shared.page_server:_Server.service_actions", page_server, True),
    "reload": ("bot.cli.shared.flow_reloader:FlowReloader._watch", reloader, True),
    # these concern nobody else
    "local client": ("bot.server.local_socket:LocalServer._reply", local_server, False),
    "name look-up": (
        "bot.services.public_addresses:_Lookups._look_up",
        lambda *_: public_addresses._LOOKUPS._begin("host.example", 80),
        False,
    ),
    "live check": (
        "bot.pages.console.live_check:subprocess.Popen",
        lambda folder, _: LiveCheck(folder, folder / "bot.db", MovableClock(START)).begin(),
        False,
    ),
    'hook "x"': (
        "tests.core.test_defects:nothing",
        lambda *_: python_calls._bounded('hook "x"', lambda: nothing(), 1.0),
        False,
    ),
    "tests": ("bot.pages.playground.flow_map:FlowMap._find_reaching", flow_map, False),
    "checks": ("bot.pages.playground.flow_map:FlowMap.check", playground, False),
}
"""By its name: a function that the thread calls, what begins the thread, and whether a defect in it ends the process."""

ELSEWHERE = {
    "signals": "tests/server/process/test_defects.py has it",
    "check": "tests/server/doctor/test_services.py: what its check raises reaches the command",
}


def test_each_thread_has_its_test() -> None:
    named = [
        name.value
        for path in (Path(defects.__file__).parents[1]).rglob("*.py")
        if "Thread(" in (code := path.read_text())
        for call in ast.walk(ast.parse(code))
        if isinstance(call, ast.Call) and ast.unparse(call.func) in ("Thread", "threading.Thread")
        for name in call.keywords
        if name.arg == "name"
    ]
    given = [ast.unparse(name) for name in named if isinstance(name, ast.Name | ast.Attribute)]
    assert sorted(given) == ["self._name", "what"]  # a pool's, and a hook's
    patterns = [_pattern(name) for name in named if isinstance(name, ast.Constant | ast.JoinedStr)]
    assert len(patterns) + len(given) == len(named) > 20
    assert [each for each in patterns if not any(re.fullmatch(each, name) for name in {*THREADS, *ELSEWHERE})] == []


def _pattern(name: ast.expr) -> str:
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    return "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in parts)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.parametrize("thread", THREADS)
def test_a_defect_in_a_thread_is_told_and_ends_what_it_must(
    found: Defects, tmp_path: Path, caplog: pytest.LogCaptureFixture, thread: str
) -> None:
    broken, begin, ends_process = THREADS[thread]
    with raises_on(thread, broken), ExitStack() as parts:
        begin(make_bot(tmp_path, FLOWS), parts)
        assert found.next() == thread
    assert found.ended.wait(PATIENCE if ends_process else 0.0) is ends_process  # it is told first
    (line,) = {record.getMessage() for record in caplog.records if record.name == "bot.core.defects"}
    assert line.startswith(f'a defect in "{thread}", Unforeseen at ') and WORDS not in caplog.text


@pytest.mark.parametrize(
    ("broken", "ends_process"),
    [
        ("bot.server.web.web_server:_Connection.on_headers_complete", False),  # in the reading of one connection
        ("bot.server.web.web_server:_answer_of", True),  # in a callback, after the view
        ("bot.server.web.web_server:WebServer._each_second", True),
    ],
)
def test_a_defect_in_the_event_loop_ends_its_connection_or_the_process(
    found: Defects,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    broken: str,
    ends_process: bool,
) -> None:
    monkeypatch.setattr(web_server, "DRAIN_SECONDS", 0.0)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address, server = listener.getsockname(), WebServer(Flask(__name__), listener, Alarms(SystemClock()))
        serving = threading.Thread(target=server.run, name="loop")
        raising = "web_0" if broken.endswith("_answer_of") else "loop"
        with raises_on(raising, broken):
            serving.start()
            with socket.create_connection(address, PATIENCE) as connection:
                connection.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
                assert found.next() == "web"
                assert found.ended.wait(PATIENCE if ends_process else 0.0) is ends_process
                server.stop()
        serving.join(PATIENCE)
    assert WORDS not in caplog.text


def test_a_defect_in_a_view_costs_its_request_and_shows_no_address(
    found: Defects, caplog: pytest.LogCaptureFixture
) -> None:
    for app in (_App(), page_app(__name__, forms=False)):
        app.add_url_rule("/<token>", "view", view_func=lambda token: str(1 // 0))
        with patch.object(Defects, "note", lambda *given: None):
            assert app.test_client().get("/a-token").status_code == 500
    assert not found.ended.is_set() and caplog.text.count("ZeroDivisionError at ") == 2
    assert "a-token" not in caplog.text


def test_an_answer_that_a_defect_keeps_from_being_read_may_have_been_a_success(found: Defects) -> None:
    results: list[object] = []
    gateway = Gateway("https://gateway.example", "key", None)
    gateway._answered(True, _unread, results.append, Response(200, http_client.Headers(), b"{}"))
    assert found.next() == "http" and not found.ended.is_set()
    (unknown,) = results
    assert isinstance(unknown, OutcomeUnknown) and unknown.keyed


def _unread(response: Response) -> str:
    raise Unforeseen(WORDS)


def test_the_last_defect_of_any_process_is_an_alarm_for_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []
    monkeypatch.setattr(os, "_exit", ends.append)
    alarms = Alarms(MovableClock(START))
    with TemporaryFile() as note:
        monkeypatch.setattr(defects, "HANDLER", web := defects._Handler())
        monkeypatch.setattr("bot.core.alarms.HANDLER", engine := defects._Handler())
        for handler, process in ((web, "web"), (engine, "engine")):
            handler.serve(process, note.fileno())
        assert alarms.current() == []
        for _ in range(2):
            with suppress(Unforeseen):
                guard(_unread)(Response(200, http_client.Headers(), b""))
        assert ends == [defects.ENDED_BY_DEFECT] * 2
        (alarm,) = alarms.current()
        assert alarm.name == "defect" and WORDS not in alarm.what
        assert alarm.what.startswith('a defect in the web process, in "MainThread", Unforeseen at ')
        assert alarm.what.endswith(" (2 so far)")
        with patch.object(defects, "datetime") as clock:
            clock.fromisoformat = datetime.fromisoformat
            clock.now.return_value = datetime.now(UTC) + timedelta(hours=1, seconds=1)
            assert alarms.current() == []


def test_a_note_that_cannot_be_written_or_read_hides_no_defect(caplog: pytest.LogCaptureFixture) -> None:
    handler = defects._Handler()
    with open(os.devnull, "rb") as note, patch.object(os, "_exit"):  # noqa: PTH123
        handler.serve("web", note.fileno())
        handler.note("inbox", "somewhere")
    assert "the defect is not shown as an alarm" in caplog.text
    with TemporaryFile() as note:
        note.write(b'["web", "in')
        note.flush()
        handler.serve("web", note.fileno())
        assert handler.last() is None
