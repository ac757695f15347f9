"""Both files of a store as one `bot.store.database.WholeStore`, to copy from and to."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from math import inf
from pathlib import Path
from typing import Any

from bot.store.database import Part, Table
from bot.store.files import StoreExists, inbox_path, restoring_folder
from bot.store.integrity import check_both, check_pair, check_whole, is_empty
from bot.store.sqlite_database import ERRORS_OF_VALUES, open_reader, trouble_in_words
from bot.store.sqlite_schema import migrate
from bot.store.store_backup import files_locked, new_files, put_in_place


class AttachedFiles:
    """See `bot.store.database.WholeStore`."""

    def __init__(self, store: Path, mode: str, named: Path) -> None:
        self._named = named
        self.connection = sqlite3.connect(":memory:", uri=True, isolation_level=None)
        for part, file in (("engine", store), ("inbox", inbox_path(store))):
            self.ask(f"ATTACH ? AS {part}", [f"{file.resolve().as_uri()}?mode={mode}"])

    def schemas(self, part: Part) -> Sequence[str]:
        """The schema of a part: files are not divided."""
        return [part]

    def ask(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement. Returns the rows that it finds."""
        try:
            with trouble_in_words(self._named):
                return self.connection.execute(sql, parameters).fetchall()
        except ERRORS_OF_VALUES as error:
            raise ValueError(str(error)) from error

    def last_ids(self, table: Table) -> Sequence[int]:
        """The last id that was given in a table, as far as SQLite notes that beside its rows; else 0."""
        part, _, name = table.name.partition(".")
        found = self.ask(f"SELECT seq FROM {part}.sqlite_sequence WHERE name = ?", [name]) if table.counts else []
        return [int(found[0][0]) if found else 0]

    def go_on_after(self, table: Table, id: int) -> None:
        """Give ids above this one in a table."""
        part, _, name = table.name.partition(".")
        if table.counts:
            self.ask(f"DELETE FROM {part}.sqlite_sequence WHERE name = ?", [name])
            self.ask(f"INSERT INTO {part}.sqlite_sequence (name, seq) VALUES (?, ?)", [name, id])


@contextmanager
def stopped_files(store: Path) -> Iterator[AttachedFiles]:
    """A store that is intact and that nobody writes. Raises `bot.store.files.StoreLocked`, and as
    `bot.store.integrity.health`.
    """
    for file in (store, inbox_path(store)):
        open_reader(file).close()
    with files_locked(store):
        check_both(store)
        for file in (store, inbox_path(store)):
            check_whole(file, inf)
        check_pair(store)
        files = AttachedFiles(store, "ro", store)
        with closing(files.connection):
            yield files


@contextmanager
def new_store_of_files(store: Path) -> Iterator[AttachedFiles]:
    """A store without rows, which is there when the block has ended, complete and durable; or nothing is."""
    if not (is_empty(store) and is_empty(inbox_path(store))) or restoring_folder(store).exists():
        raise StoreExists(f"{store} holds a store already: name a file that is not there")
    with files_locked(store):
        with new_files(store) as new:
            migrate(new)
            files = AttachedFiles(new, "rw", store)
            with closing(files.connection):
                for part in ("engine", "inbox"):
                    files.ask(f"PRAGMA {part}.synchronous = OFF")  # all of it is written to the disk at the end
                yield files
                for part in ("engine", "inbox"):
                    files.ask(f"PRAGMA {part}.wal_checkpoint(TRUNCATE)")
            check_pair(new)
        put_in_place(store)
