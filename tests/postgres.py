"""A PostgreSQL of the tests' own, on a socket in a temporary folder; each store is a database that is a copy of a
template.

With ``STORE=postgres`` in the environment, the tests in `WITH_EITHER_STORE` run with it: what uses a store runs there
once more, what makes none or is the same with either does not. Where these tests open the files of a store they get a
database instead (`store_at`), and so does a command of a bot that names no store. A test about the files themselves is
marked (`about_files`), or skips itself (`tests.store.store_kit.sqlite`).
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from bot.settings import _Reader
from bot.store.database import PostgresAddress, StoreAddress
from bot.store.postgres_database import PostgresDatabase
from bot.store.postgres_schema import migrate
from bot.store.sqlite_database import SqliteDatabase, open_reader
from tests.patience import PATIENCE, gone
from tests.tools import POSTGRES, postgres_program

_USER = "postgres"  # PostgreSQL does not run as root
QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "shared_buffers=16MB",  # all of them are looked through when a database is dropped
    "max_connections=500",
    "listen_addresses=",
    "timezone=Asia/Jakarta",
)
_MADE = Path(__file__).parent.parent / ".pytest_cache" / "postgres"
_numbers = count(1)


class Postgres:
    """A server, and databases of it that have the tables of a store, to be copied."""

    def __init__(self, folder: Path, options: Sequence[str] = QUICK) -> None:
        self.folder = folder
        self._options = options
        self._as_user: Any = {"user": _USER if os.geteuid() == 0 else None, "cwd": folder, "stdout": subprocess.DEVNULL}
        self._templates: dict[int, str] = {}
        self._make_data()
        self.start()

    def _make_data(self) -> None:
        """Make the data folder: the first time by `initdb` (0.6 s of CPU), later as a copy of that one (0.04 s)."""
        data, initdb = self.folder / "data", postgres_program("initdb")
        version = subprocess.run([initdb, "--version"], check=True, capture_output=True, text=True).stdout
        made = _MADE / version.split()[2]  # "initdb (PostgreSQL) 15.18"
        if made.exists():
            _copy(made, data)
            return
        options = ["-A", "trust", "-U", "bot", "--no-sync", "-E", "UTF8"]
        subprocess.run([initdb, "-D", str(data), *options], check=True, **self._as_user)
        _MADE.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=_MADE) as copying, suppress(OSError):  # another worker was sooner
            _copy(data, Path(copying) / "data").rename(made)

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://bot@/{database}?host={self.folder}"

    def template(self, shards: int) -> str:
        """The database that has the tables of a store with so many shards. It is made here the first time."""
        if shards not in self._templates:
            name = f"template_{shards}"
            self.run(f"CREATE DATABASE {name} TEMPLATE template0")
            migrate(PostgresAddress(self.url(name), self.folder / "bot", self.folder / "files", shards=shards))
            self._templates[shards] = name
        return self._templates[shards]

    def start(self) -> None:
        """Start it, wait until it answers, and open the connection by which databases are made and dropped."""
        options = " ".join(["-k", str(self.folder), *(f"-c {option}" for option in self._options)])
        program = [postgres_program("pg_ctl"), "-D", str(self.folder / "data"), "-l", str(self.folder / "log")]
        subprocess.run([*program, "-t", f"{PATIENCE:.0f}", "-o", options, "start"], check=True, **self._as_user)
        self._connection = psycopg.connect(self.url("postgres"), autocommit=True)

    def run(self, sql: str) -> None:
        """Execute a statement about databases."""
        self._connection.execute(sql)

    def stop(self) -> None:
        """End it at once, unless it has crashed. Nothing stays in memory that other programs could see."""
        program = [postgres_program("pg_ctl"), "-D", str(self.folder / "data"), "-s", "-m", "immediate", "stop"]
        subprocess.run(program, check=False, **self._as_user)

    def crash(self) -> None:
        """Kill its first process. The others end when they notice that; until then no new one could start."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.kill(postmaster, signal.SIGSTOP)  # so that it has no more children than these
        children = Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
        os.kill(postmaster, signal.SIGKILL)
        for pid in (postmaster, *map(int, children)):
            gone(pid)
        for file in (self.folder / "data" / "postmaster.pid", *self.folder.glob(".s.PGSQL.*.lock")):
            file.unlink()  # nobody may have looked yet: its number is still that of a process


@contextmanager
def postgres_server(options: Sequence[str] = QUICK) -> Iterator[Postgres]:
    """A new server, which does not flush what it writes by default."""
    POSTGRES.require()
    with tempfile.TemporaryDirectory(prefix="pg") as made:
        folder = Path(made)
        if os.geteuid() == 0:
            shutil.chown(folder, _USER)
        server = Postgres(folder, options)
        try:
            yield server
        finally:
            server.stop()


IN_USE = os.environ.get("STORE") == "postgres"
"""True if the stores of the tests are in PostgreSQL."""

_OF_FOLDERS = {
    "cli": "broadcast contact_times contacts_command doctor live privacy publish queue replay report rollback sessions signal "
    "start templates_command trace usage_command versions",
    "pages/console": "agent_inbox broadcasts contact_upkeep contacts dead_letters live_check results usage versions",
    "server/process": "ai_turns erase last_good publish serve starts trouble",
    "store": "clock_set_back contact conversations crash_quarantine inbox reader results",
}
WITH_EITHER_STORE = (
    *("tests/runtime", "tests/server/web", "tests/server/test_app.py"),
    *("tests/paths/test_events_out.py", "tests/paths/test_judging.py"),
    *(f"tests/{folder}/test_{name}.py" for folder, names in _OF_FOLDERS.items() for name in names.split()),
)
"""Beside these, `tests/store/test_postgres.py` and the tests of several machines always use PostgreSQL."""
about_files = pytest.mark.skipif(IN_USE, reason="this is about files of SQLite")


class _Databases:
    """A database for each store that would be in files, by the path of the engine's file, as long as its folder is
    there.
    """

    def __init__(self, server: Postgres) -> None:
        self._server = server
        self._made: dict[Path, tuple[PostgresAddress, ExitStack]] = {}

    def at(self, path: Path) -> PostgresAddress:
        """The one for a path. It is made here; it has no tables yet if there is no file."""
        store = path.resolve()
        if store not in self._made:
            self._make(store, self._server.template(1) if store.exists() else "template0")
        return self._made[store][0]

    def _make(self, store: Path, template: str) -> None:
        self.drop(lambda folder: not folder.exists())
        database = ExitStack()
        self._made[store] = database.enter_context(new_database(self._server, store.parent, template)), database

    def opened(self, path: Path, *, alone: bool = False) -> PostgresDatabase:
        """A connection to the part of a store that would be in a file."""
        store = path.with_name(path.name.replace(".inbox", ""))
        if store.resolve() not in self._made:
            open_reader(path).close()  # it raises as it would
        return PostgresDatabase(self.at(store), "inbox" if ".inbox" in path.suffixes else "engine", alone=alone)

    def copy(self, store: Path, to: Path) -> None:
        """Make the one for a path like that of another."""
        original = conninfo_to_dict(self.at(store).url)["dbname"]
        self._make(to.resolve(), str(original))

    def drop(self, which: Callable[[Path], bool]) -> None:
        for store in [store for store in self._made if which(store.parent)]:
            self._made.pop(store)[1].close()


_in_use: list[_Databases] = []


def store_at(path: Path) -> StoreAddress:
    """Where the store is that has this path: there, or in the database that stands in for its files."""
    return _in_use[0].at(path) if IN_USE else path


def bot_store(store: StoreAddress) -> dict[str, str]:
    """The variable that names a store to another process, which finds the files in the bot's folder by itself."""
    return {"BOT_STORE": store.url} if isinstance(store, PostgresAddress) else {}


def copy_store(store: Path, to: Path) -> None:
    """Copy the database, if one stands in for the files of a store, that were copied already."""
    if IN_USE:
        _in_use[0].copy(store, to)


@contextmanager
def databases_for_files() -> Iterator[None]:
    """Open databases where files of a store would be opened. A bot that names no store has such a database, too."""

    def of_settings(reader: _Reader, folder: Path) -> StoreAddress:
        found = set_store(reader, folder)
        return databases.at(found) if isinstance(found, Path) else found

    set_store = _Reader.store
    with postgres_server() as server, pytest.MonkeyPatch.context() as patched:
        databases = _Databases(server)
        _in_use.append(databases)
        writer = staticmethod(lambda path: databases.opened(path, alone=".inbox" not in path.suffixes))
        patched.setattr(SqliteDatabase, "writer", writer)
        patched.setattr(SqliteDatabase, "reader", staticmethod(databases.opened))
        patched.setattr(_Reader, "store", of_settings)
        yield
        databases.drop(lambda folder: True)
        _in_use.clear()


@contextmanager
def new_database(server: Postgres, folder: Path, template: str | None = None) -> Iterator[PostgresAddress]:
    """A store in a new database of a server, of a bot in a folder; with the template ``template0`` it has no tables
    yet.
    """
    name = f"test{next(_numbers)}"
    # its files are copied, which takes half as long as to log each block, where nothing is flushed
    server.run(f"CREATE DATABASE {name} TEMPLATE {template or server.template(1)} STRATEGY FILE_COPY")
    yield PostgresAddress(server.url(name), folder / "bot", folder / "bot.files")
    server.run(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def divided_database(server: Postgres, folder: Path, shards: int) -> Iterator[PostgresAddress]:
    """A store in a new database that is divided into so many shards."""
    with new_database(server, folder, server.template(shards)) as address:
        yield replace(address, shards=shards)


def _copy(folder: Path, to: Path) -> Path:
    """Copy a folder with the owners of its files."""
    subprocess.run(["cp", "-pR", str(folder), str(to)], check=True)
    return to
