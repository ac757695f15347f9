"""A PostgreSQL of the tests' own, on a socket in a temporary folder; each store is a database that is a copy of a template.

With ``STORE=postgres`` in the environment, the tests in `WITH_EITHER_STORE` run with it: where they make a store of files
and open it, they get a database instead. What a test then does to the files themselves it does in vain, so those
tests are marked (`about_files`), or skip themselves (`tests.store.store_kit.sqlite`).
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pytest

from bot.store.database import PostgresAddress
from bot.store.files import open_reader
from bot.store.postgres_database import PostgresDatabase
from bot.store.postgres_schema import migrate
from bot.store.sqlite_database import SqliteDatabase
from tests.patience import gone

_DEBIANS = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: float(folder.parent.name))
_USER = "postgres"  # PostgreSQL does not run as root
_QUICK = (
    "fsync=off",
    "full_page_writes=off",
    "autovacuum=off",
    "max_connections=500",
    "listen_addresses=",
    "timezone=Asia/Jakarta",
)
_numbers = count(1)


def _program(name: str) -> str:
    found = shutil.which(name) or next((str(bin / name) for bin in reversed(_DEBIANS) if (bin / name).exists()), None)
    if found is None:
        pytest.skip(f"there is no {name}: install PostgreSQL 15 or newer")
    return found


class Postgres:
    """A server, with a database ``template`` that has the tables of a store."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._as_user: Any = {"user": _USER if os.geteuid() == 0 else None, "cwd": folder, "stdout": subprocess.DEVNULL}
        initdb = [_program("initdb"), "-D", str(folder / "data"), "-A", "trust", "-U", "bot", "--no-sync", "-E", "UTF8"]
        subprocess.run(initdb, check=True, **self._as_user)
        self.start()

    def url(self, database: str) -> str:
        """The address of a database."""
        return f"postgresql://bot@/{database}?host={self.folder}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = " ".join(["-k", str(self.folder), *(f"-c {option}" for option in _QUICK)])
        program = [_program("pg_ctl"), "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log")]
        subprocess.run([*program, "-o", options, "start"], check=True, **self._as_user)

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
def postgres_server() -> Iterator[Postgres]:
    """A new server."""
    with tempfile.TemporaryDirectory(prefix="pg") as made:
        folder = Path(made)
        if os.geteuid() == 0:
            shutil.chown(folder, _USER)
        server = Postgres(folder)
        try:
            _run(server, "CREATE DATABASE template")
            migrate(PostgresAddress(server.url("template"), folder / "bot", folder / "files"))
            yield server
        finally:
            server.crash()


IN_USE = os.environ.get("STORE") == "postgres"
"""Whether the stores of the tests are in PostgreSQL."""

WITH_EITHER_STORE = (
    "tests/runtime",
    *(f"tests/store/test_{name}.py" for name in ("clock_set_back", "contact", "conversations")),
    *(f"tests/store/test_{name}.py" for name in ("crash_quarantine", "inbox", "reader", "results")),
)
about_files = pytest.mark.skipif(IN_USE, reason="this is about files of SQLite")


@contextmanager
def databases_for_files() -> Iterator[None]:
    """Open databases where files of a store would be opened, of which one is made for each path."""
    made: dict[Path, PostgresAddress] = {}

    def opened(path: Path, *, alone: bool = False) -> PostgresDatabase:
        open_reader(path).close()  # it raises as it would
        schema = "inbox" if ".inbox" in path.suffixes else "engine"
        store = path.resolve().with_name(path.name.replace(".inbox", ""))
        if store not in made:
            made[store] = parts.enter_context(new_database(server, path.parent))
        return PostgresDatabase(made[store], schema, alone=alone)

    with postgres_server() as server, ExitStack() as parts, pytest.MonkeyPatch.context() as patched:
        writer = staticmethod(lambda path: opened(path, alone=".inbox" not in path.suffixes))
        patched.setattr(SqliteDatabase, "writer", writer)
        patched.setattr(SqliteDatabase, "reader", staticmethod(opened))
        yield


@contextmanager
def new_database(server: Postgres, folder: Path, template: str = "template") -> Iterator[PostgresAddress]:
    """A store in a new database of a server, of a bot in a folder; with the template ``template0`` it has no tables yet."""
    name = f"test{next(_numbers)}"
    _run(server, f"CREATE DATABASE {name} TEMPLATE {template}")
    yield PostgresAddress(server.url(name), folder / "bot", folder / "bot.files")
    _run(server, f"DROP DATABASE {name} WITH (FORCE)")


def _run(server: Postgres, sql: str) -> None:
    with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
        connection.execute(sql)
