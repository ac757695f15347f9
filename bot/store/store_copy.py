"""Copies a store that nobody uses to another place, also from SQLite to PostgreSQL or back, and verifies the copy."""

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.values import json_text
from bot.store.database import StoreAddress, Table, WholeStore
from bot.store.files import StoreExists, StoreLocked, beside, server_lock
from bot.store.kept_files import KeptFiles, kept_files
from bot.store.opening import new_store, stopped_store
from bot.store.sqlite_schema import tables

_AT_ONCE = 200  # rows
_SIZE_AT_ONCE = 4 << 20  # characters and bytes, about
Row = tuple[Any, ...]
Tell = Callable[[int, int], None]


class CannotCopy(BotError):
    """The store was not copied. It has not changed, and there is no store at the other place."""


@immutable
class CopiedTable:
    """How many rows a table has, and the hash of all of them: the same for the same rows in either database."""

    name: str
    rows: int
    hash: str


@immutable
class Copied:
    """What a copy has: its tables, and how many kept ``files``."""

    tables: tuple[CopiedTable, ...]
    files: int

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(table.rows for table in self.tables)


def copy_store(source: StoreAddress, target: StoreAddress, tell: Tell = lambda done, of: None) -> Copied:
    """Copy a store, and its kept files, to a place where there is none. ``source`` does not change; ``target`` is complete, or not
    there. ``tell`` gets the steps that are done, and how many there are.

    Raises `CannotCopy`, and the errors of `bot.store.opening.stopped_store` and `new_store`.
    """
    if _is_same(source, target):
        raise CannotCopy(f"{source} is the same store twice: name another to copy it to")
    with ExitStack() as held:
        for store in {beside(source).resolve(): source, beside(target).resolve(): target}.values():
            try:
                held.callback(server_lock(store).release)
            except StoreLocked:
                raise CannotCopy(f"a server runs on {store}: stop it first") from None
        old = held.enter_context(stopped_store(source))
        with new_store(target) as new:
            from_files, to_files = kept_files(source), kept_files(target)
            files = _copy_files(from_files, to_files)
            copied = _copy_tables(old, new, _Moved(from_files.place, to_files.place), tell)
    return Copied(copied, files)


def _is_same(one: StoreAddress, other: StoreAddress) -> bool:
    if isinstance(one, Path) and isinstance(other, Path):
        return one.resolve() == other.resolve()
    return one == other


class _Moved:
    """Rows as they are in the copy: sessions have the full paths of kept files, or their addresses."""

    def __init__(self, source: str, target: str) -> None:
        old, new = (json_text(place)[1:-1] for place in (source, target))
        self._path = re.compile(rf"{re.escape(old)}(?=/[0-9a-f]{{2}}/[0-9a-f]{{64}}/)") if old != new else None
        self._old, self._new = old, new

    def __call__(self, row: Row) -> Row:
        if (path := self._path) is None or not any(isinstance(value, str) and self._old in value for value in row):
            return row
        return tuple(path.sub(lambda _: self._new, value) if isinstance(value, str) else value for value in row)


def _copy_tables(old: WholeStore, new: WholeStore, moved: _Moved, tell: Tell) -> tuple[CopiedTable, ...]:
    counts = {table: int(old.ask(f"SELECT count(*) FROM {table.name}")[0][0]) for table in tables()}
    steps = 2 * sum(counts.values())
    done = 0
    copied = []
    for table, count in counts.items():
        written, read = _Digest(), _Digest()
        new.ask(f"DELETE FROM {table.name}")  # what a new store begins with
        for batch in _batches(old, table):
            rows = [moved(row) for row in batch]
            _insert(new, table, rows)
            written.add(rows)
            tell(done + written.rows, steps)
        if table.has_ids:
            ((last,),) = old.ask(f"SELECT coalesce(max({table.key[0]}), 0) FROM {table.name}")
            new.go_on_after(table, max(last, old.last_id(table)))
        for batch in _batches(new, table):
            read.add(batch)
            tell(done + written.rows + read.rows, steps)
        if not (count == written.rows == read.rows and written.hash == read.hash):
            raise CannotCopy(
                f"{table.name} was not copied as it is ({written.rows:,} of {count:,} rows, {read.rows:,} there): report this as a bug"
            )
        done += 2 * written.rows
        copied.append(CopiedTable(table.name, read.rows, read.hash))
    return tuple(copied)


def _batches(store: WholeStore, table: Table) -> Iterator[list[Row]]:
    """The rows of a table, by its key, in pieces that memory has room for."""
    key, marks = ", ".join(table.key), ", ".join("?" * len(table.key))
    select, order = f"SELECT {', '.join(table.columns)} FROM {table.name}", f"ORDER BY {key} LIMIT ?"
    places = [table.columns.index(column) for column in table.key]
    rows = store.ask(f"{select} {order}", [1])
    while rows:
        yield rows
        last = [rows[-1][place] for place in places]
        size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes)))
        limit = min(_AT_ONCE, max(1, _SIZE_AT_ONCE * len(rows) // max(1, size)))
        rows = store.ask(f"{select} WHERE ({key}) > ({marks}) {order}", [*last, limit])


def _insert(store: WholeStore, table: Table, rows: list[Row]) -> None:
    marks = f"({', '.join('?' * len(table.columns))})"
    sql = f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {', '.join([marks] * len(rows))}"
    try:
        store.ask(sql, [value for row in rows for value in row])
    except ValueError as error:
        keys = (dict(zip(table.columns, row, strict=True))[table.key[0]] for row in (rows[0], rows[-1]))
        where = " to ".join(str(key) for key in keys)
        raise CannotCopy(
            f"{table.name} has a row that the other database cannot keep, with a {table.key[0]} from {where} ({error}): delete it, and copy again"
        ) from error


class _Digest:
    """The sum of the hashes of rows, whatever their order. A NUL counts as what PostgreSQL keeps of it."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum = 0

    def add(self, rows: list[Row]) -> None:
        """Add rows."""
        self.rows += len(rows)
        for row in rows:
            text = repr(row).replace("\\x00", "\\\\u0000")
            self._sum += int.from_bytes(hashlib.sha256(text.encode()).digest())

    @property
    def hash(self) -> str:
        """The hash of all rows that were added."""
        return f"{self._sum % 2**256:064x}"


def _copy_files(source: KeptFiles, target: KeptFiles) -> int:
    """Copy kept files. Those that a copy has left that was cut short are written again. Returns how many there are."""
    names = source.names()
    if source.place == target.place:
        return len(names)
    if others := target.names() - names:
        raise StoreExists(
            f"{target.place} has files that are not of this store, such as {min(others)}: move them away, or name another place with BOT_FILES"
        )
    for name in sorted(names):
        with source.local(f"{source.place}/{name}") as file:
            target.copy(name, Path(file))
            with target.local(f"{target.place}/{name}") as copy:
                if _hash(Path(file)) != _hash(Path(copy)):
                    raise CannotCopy(f"{target.place}/{name} is not as it was written: look at the disk")
    return len(names)


def _hash(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()
