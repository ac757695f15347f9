"""Hooks and fixtures for all tests."""

import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from _pytest.runner import runtestprotocol

from tests import postgres, tools
from tests.ports import reserved_port
from tests.searches import search, tries

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MEMORY = Path("/dev/shm")
ROOM = 1 << 30  # bytes; the tests take a fifth of it at most
LONGEST = (
    "test_kill.py",
    "test_views.py",
    "test_trouble.py",
    "test_soundness.py",
    "test_random.py",
    "test_engine_loop_killed.py",
    "test_mermaid.py",
    "test_effort.py",
    "test_keys.py",
    "test_examples.py",
    "test_mcp.py",
    "test_house.py",
    "test_ai_turns.py",
    "test_faults.py",
    "test_hours.py",
    "test_mutants.py",
    "test_shared_limiter.py",
    "process",
    "test_shard_commands.py",
)
"""The files, and folders, with the longest tests, and with those that wait most: one worker waits, the others work."""

if sys.dont_write_bytecode:  # else each of some hundred processes would compile all that it imports
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:  # a disk is waited for at each commit
    tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script's background job, whose processes would ignore it, too
    signal.signal(signal.SIGINT, signal.default_int_handler)

AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE")
for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", *AUTHORITIES):
    os.environ.pop(name, None)  # how this machine reaches others is no matter of the tests
    os.environ.pop(name.lower(), None)


def pytest_runtest_teardown() -> None:
    """A command may set these variables; the next test begins without them."""
    for name in AUTHORITIES:
        os.environ.pop(name, None)


def pytest_configure() -> None:
    """A busy machine is no failure, and a change is not to blame for what chance finds on the day that it lands.

    ``HYPOTHESIS=random`` goes looking.
    """
    from hypothesis import HealthCheck, settings  # large: not before its bytecode can be kept
    from hypothesis.internal.conjecture import providers

    # else it parses all modules for the numbers and texts in them, and tries others with every change of the code
    vars(providers)["is_local_module_file"] = lambda file: False

    many = tries(12, 100)
    any_pace = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=many)
    settings.register_profile("same", any_pace, derandomize=True, database=None)
    settings.register_profile("random", any_pace)
    settings.load_profile(os.environ.get("HYPOTHESIS", "same"))


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Two more than there are cores: many tests wait for another process. Each worker costs ten seconds of a core to
    collect the tests, and its own browser, database server and words.
    """
    return (yield) + 2


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A worker sends what the terminal shows of a test: not that it begins, nor that its set-up and its end passed.

    Half of the messages of a worker are these, and each costs both processes time.
    """
    if not hasattr(item.config, "workerinput"):
        return None
    for report in runtestprotocol(item, log=False, nextitem=nextitem):
        if report.when == "call" or not report.passed:
            item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_collection(session: pytest.Session) -> None:
    """Each worker begins at another folder: else all would compile the same file at the same time."""
    gc.set_threshold(0)  # not `gc.disable()`: `bot.cli` enables it again when a command is imported
    here = Path(__file__).parent
    if [Path(each).resolve() for each in session.config.args] == [here]:
        parts = sorted(str(path) for path in here.iterdir() if path.is_dir() or path.name.startswith("test_"))
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
        first = worker * len(parts) // int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
        session.config.args[:] = parts[first:] + parts[:first]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All workers have the same order. The longest tests come first: all others would have ended long before them, if
    they began late.

    Tests that always use PostgreSQL do not run once more with it.
    """
    if postgres.IN_USE:
        items[:] = [item for item in items if "postgres" not in getattr(item, "fixturenames", ())]
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(search)
    places = {name: place for place, name in enumerate(LONGEST)}

    def place(path: Path) -> int:
        return min(places.get(name, len(places)) for name in (path.name, path.parent.name))

    items.sort(key=lambda item: (place(item.path), str(item.path)))


@pytest.fixture
def free_port() -> Generator[int]:
    """A port that refuses connections, unless the test has a server listen at it."""
    with reserved_port() as port:
        yield port


@pytest.fixture(scope="session")
def chromium() -> Generator["Browser"]:
    """A browser, which takes longer to start than most tests of pages take."""
    from tests.browsing import started_chromium  # large

    with started_chromium() as browser:
        yield browser


@pytest.fixture(name="postgres", scope="session")
def server_of_postgres() -> Generator[postgres.Postgres]:
    """A server of PostgreSQL, which runs again at the end of a test that has crashed it."""
    with postgres.postgres_server() as server:
        yield server


@pytest.fixture(scope="session", autouse=postgres.IN_USE)
def in_postgres() -> Generator[None]:
    """Where stores are made, databases of PostgreSQL are used instead of files."""
    with postgres.databases_for_files():
        yield


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """In PostgreSQL only those tests run that are meant for it."""
    inside = collection_path.relative_to(config.rootpath).as_posix()
    meant = any(part.startswith(inside) or inside.startswith(part) for part in postgres.WITH_EITHER_STORE)
    return True if postgres.IN_USE and not meant else None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The last line before the figures says how many tests were skipped because a tool is missing, and what to do."""
    skipped = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    if line := tools.closing_line(reason.removeprefix("Skipped: ") for reason in skipped):
        terminalreporter.write_line(line, yellow=True)


def pytest_collection_finish() -> None:
    """Imported modules and collected tests stay until the end: the garbage collector need not look through them
    again, nor as often as by default.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_sessionfinish() -> None:
    """A process that ends looks for no garbage: it would take seconds of a core in each."""
    gc.freeze()
