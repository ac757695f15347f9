"""Copies a store that nobody uses to another place, also from SQLite to PostgreSQL or back, and verifies the copy."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from bot.core.clock import SystemClock
from bot.core.errors import BotError
from bot.core.events import MOVED
from bot.core.immutable import immutable
from bot.core.values import json_text, time_text
from bot.store.database import StoreAddress, Table, WholeStore, shard_number
from bot.store.files import StoreExists, StoreLocked, beside, server_lock
from bot.store.kept_files import KeptFiles, kept_files
from bot.store.rows import EARLY_FOR
from bot.store.sqlite_schema import tables
from bot.store.store_setup import new_store, stopped_store

_AT_ONCE = 200  # rows
_SIZE_AT_ONCE = 4 << 20  # characters and bytes, about
Row = tuple[Any, ...]
Progress = Callable[[int, int], None]


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
    """The contents of a copy: tables and a number of kept ``files``. ``divided``: the copy or its source has several
    shards.
    """

    tables: tuple[CopiedTable, ...]
    files: int
    divided: bool

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(table.rows for table in self.tables)


def copy_store(source: StoreAddress, target: StoreAddress, tell: Progress = lambda done, of: None) -> Copied:
    """Copy a store, and its kept files, to a place where there is none. ``source`` does not change; ``target`` is
    complete, or not there. ``tell`` gets the steps that are done, and how many there are.

    Raises `CannotCopy`, and the errors of `bot.store.store_setup.stopped_store` and `new_store`.
    """
    if _is_same(source, target):
        raise CannotCopy(f"{source} is the same store twice: name another to copy it to")
    with ExitStack() as held:
        for store in {beside(target).resolve(): target, beside(source).resolve(): source}.values():
            try:
                held.callback(server_lock(store).release)
            except StoreLocked:
                raise CannotCopy(f"a server runs on {store}: stop it first") from None
        old = held.enter_context(stopped_store(source))
        with new_store(target) as new:
            from_files, to_files = kept_files(source), kept_files(target)
            files = _copy_files(from_files, to_files)
            copied = _copy_tables(old, new, _Moved(from_files.place, to_files.place), tell)
            divided = max(len(store.schemas("engine")) for store in (old, new)) > 1
    return Copied(copied, files, divided)


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


def _copy_tables(old: WholeStore, new: WholeStore, moved: _Moved, tell: Progress) -> tuple[CopiedTable, ...]:
    counts = {table: int(old.ask(f"SELECT count(*) FROM {table.name}")[0][0]) for table in tables()}
    steps = 2 * sum(counts.values())
    done = 0
    copied = []
    log = _MergedLog(old)
    shards = _Shards(new)
    for table, count in counts.items():
        written, read = _Digest(), _Digest()
        shards.clear(table)  # what a new store begins with
        for batch in log.batches(table):
            rows = [moved(row) for row in batch]
            shards.insert(table, rows)
            written.add(rows)
            tell(done + written.rows, steps)
        shards.insert_rest()
        if table.has_ids:
            ((last,),) = new.ask(f"SELECT coalesce(max({table.key[0]}), 0) FROM {table.name}")
            new.go_on_after(table, max(last, log.last_id(table)))
        for batch in _batches(new, table):
            read.add(batch)
            tell(done + written.rows + read.rows, steps)
        if not (count == written.rows == read.rows and written.hash == read.hash):
            raise CannotCopy(
                f"{table.name} was not copied as it is ({written.rows:,} of {count:,} rows, {read.rows:,} there): report this as a bug"
            )
        done += 2 * written.rows
        copied.append(CopiedTable(table.name, read.rows, read.hash))
    shards.settle()
    return tuple(copied)


_GIVEN = {"engine.messages": "last_send", "engine.calls": "last_call", "engine.turns": "last_turn"}


_END = """
    SELECT cursor, EXISTS (SELECT 1 FROM {inbox}.log WHERE seq = cursor), last_event, (SELECT taken FROM {inbox}.meta) FROM {engine}.meta
"""
"""How far the engine of a shard has taken its log, and whether the log has the last event: that of a shard which got
none does not.
"""

_FORWARDED = "SELECT 1 FROM {}.log WHERE seq > ? AND event_id LIKE ? LIMIT 1"
_TO_FORWARD = """
    SELECT 1 FROM {0}.statuses AS kept WHERE at > ?
        AND EXISTS (SELECT 1 FROM engine.message_ids AS sent WHERE sent.message_id = kept.message_id)
        AND NOT EXISTS (SELECT 1 FROM {0}.message_ids AS own WHERE own.message_id = kept.message_id)
    LIMIT 1
"""
"""A status that came before the bot knew its message, which another shard has sent (`bot.runtime.engine_input`)."""


class _MergedLog:
    """The rows of a store as if its shards had one log: first all rows that were taken, then the others. The rows of a
    shard keep their order.
    """

    def __init__(self, store: WholeStore) -> None:
        self._store = store
        ends = [store.ask(_END.format(engine=engine, inbox=inbox))[0] for engine, inbox in self._schemas()]
        self._cursors = [int(cursor) for cursor, *_ in ends]
        if len(ends) > 1:
            self._require_all_forwarded()
        furthest = max(range(len(ends)), key=lambda shard: ends[shard][:2])
        self._order = list(range(len(ends)))  # of the shards at the same place
        self._order[furthest], self._order[-1] = self._order[-1], self._order[furthest]
        cursor, _, event, taken = ends[furthest]
        self._merged: dict[str, dict[str, Any]] = {
            "inbox.meta": {"taken": self._place(furthest, taken)},
            "engine.meta": {"cursor": self._place(furthest, cursor), "last_event": event and self._id(furthest, event)},
            "engine.erasures": {"upto": self._place(furthest, cursor)} if len(ends) > 1 else {},
        }

    def _schemas(self) -> list[tuple[str, str]]:
        return [*zip(self._store.schemas("engine"), self._store.schemas("inbox"), strict=True)]

    def _require_all_forwarded(self) -> None:
        since = time_text(SystemClock().now() - EARLY_FOR)
        for shard, (engine, inbox) in enumerate(self._schemas()):
            if (
                self._store.ask(_FORWARDED.format(inbox), [self._cursors[shard], f"{MOVED}%"])
                or self._store.ask(_TO_FORWARD.format(engine), [since])
                or self._store.ask(f"SELECT 1 FROM {engine}.erasures WHERE upto < 0")
            ):
                raise CannotCopy(
                    f"the engine of shard {shard} has still to do its part of what another has begun: run `bot serve --engine` for some "
                    "seconds, stop it, and copy again"
                )

    def batches(self, table: Table) -> Iterator[list[Row]]:
        """The rows of a table."""
        if table.name == "inbox.log":
            for shard, schema in enumerate(self._store.schemas("inbox")):
                for batch in _batches(self._store, replace(table, name=f"{schema}.log")):
                    yield [
                        (self._place(shard, seq), delivery, self._id(shard, event), *row)
                        for seq, delivery, event, *row in batch
                    ]
            return
        merged = self._merged.get(table.name, {})
        for batch in _batches(self._store, table):
            yield [_with(table, row, merged) for row in batch] if merged else batch

    def last_id(self, table: Table) -> int:
        """The last id that was given in a table, as far as that is noted beside its rows."""
        ids = [*self._store.last_ids(table)]
        if table.name == "inbox.log":
            ids = [self._place(shard, id) for shard, id in enumerate(ids)]
        if table.name in _GIVEN:
            ids += self._store.ask(f"SELECT {_GIVEN[table.name]} FROM engine.meta")[0]
        return int(max(ids))

    def _id(self, shard: int, event: str) -> str:
        """The id of an event in the merged log: what one shard forwards to several has the same in each."""
        return f"{event}:{shard}" if event.startswith(MOVED) and len(self._cursors) > 1 else event

    def _place(self, shard: int, seq: int) -> int:
        """The place in the merged log of an event that has the place ``seq`` in a shard's log."""
        ahead = max(self._cursors) - self._cursors[shard]
        return (seq - 1 + ahead) * len(self._cursors) + self._order[shard] + 1


_IN_EACH = ("inbox.meta", "engine.meta", "engine.crashes", "engine.broadcasts", "engine.erasures")
"""The tables whose rows each shard gets."""


class _Shards:
    """Divides rows among the shards of a new store."""

    def __init__(self, store: WholeStore) -> None:
        self._store = store
        self._rest = defaultdict[Table, list[Row]](list)

    def clear(self, table: Table) -> None:
        """Delete the rows of a table."""
        for each in self._tables(table):
            self._store.ask(f"DELETE FROM {each.name}")

    def insert(self, table: Table, rows: list[Row]) -> None:
        """Insert rows, in pieces of one shard that are as large as ``rows``. Rows that do not fill a piece are
        inserted with the next rows, or by `insert_rest`.
        """
        tables = self._tables(table)
        if len(tables) == 1 or table.name in _IN_EACH:
            _insert(self._store, tables[0], rows)
            counted = {"stale": 0} if table.name == "inbox.meta" else {}
            for other in tables[1:]:
                _insert(self._store, other, [_with(table, row, counted) for row in rows])
            return
        for row, contact in zip(rows, self._contacts(table, rows), strict=True):
            in_shard = tables[shard_number(contact, len(tables))]
            self._rest[in_shard].append(row)
            if len(self._rest[in_shard]) >= len(rows):
                _insert(self._store, in_shard, self._rest.pop(in_shard))

    def insert_rest(self) -> None:
        """Insert the rows that are left."""
        for in_shard, rows in self._rest.items():
            _insert(self._store, in_shard, rows)
        self._rest.clear()

    def settle(self) -> None:
        """Keep each broadcast only where it has recipients, and its ``canary`` only where that message is."""
        schemas = self._store.schemas("engine")
        for shard, schema in enumerate(schemas if len(schemas) > 1 else ()):
            self._store.ask(_WITHOUT_RECIPIENTS.format(schema) + (_WITH_ANY if shard == 0 else ""))
            self._store.ask(_ELSEWHERE.format(schema))

    def _tables(self, table: Table) -> list[Table]:
        part, _, name = table.name.partition(".")
        schemas = self._store.schemas("inbox" if part == "inbox" else "engine")
        return [replace(table, name=f"{schema}.{name}") for schema in schemas]

    def _contacts(self, table: Table, rows: list[Row]) -> list[str | None]:
        """The contact that decides the shard of each row. Rows about a message go where the message goes."""
        records = [_record(table, row) for row in rows]
        if table.name == "engine.aliases":
            return [record["alias"] for record in records]
        if table.name == "engine.message_ids":
            contacts = self._found("SELECT id, contact FROM engine.messages WHERE id", [r["sent_id"] for r in records])
            return [contacts.get(record["sent_id"]) for record in records]
        if table.name == "engine.statuses":
            named = [record["message_id"] for record in records]
            sent = self._found("SELECT message_id, sent_id FROM engine.message_ids WHERE message_id", named)
            contacts = self._found("SELECT id, contact FROM engine.messages WHERE id", [*sent.values()])
            return [contacts.get(sent.get(record["message_id"]), record["contact"]) for record in records]
        return [record.get("contact") for record in records]

    def _found(self, sql: str, values: list[Any]) -> dict[Any, Any]:
        return dict(self._store.ask(f"{sql} IN ({', '.join('?' * len(values))})", values)) if values else {}


def _record(table: Table, row: Row) -> dict[str, Any]:
    return dict(zip(table.columns, row, strict=True))


def _with(table: Table, row: Row, values: dict[str, Any]) -> Row:
    return tuple((_record(table, row) | values).values())


_WITHOUT_RECIPIENTS = (
    "DELETE FROM {0}.broadcasts WHERE NOT EXISTS (SELECT 1 FROM {0}.recipients WHERE broadcast = name)"
)
_WITH_ANY = " AND EXISTS (SELECT 1 FROM engine.recipients WHERE broadcast = name)"
_ELSEWHERE = """
    UPDATE {0}.broadcasts SET canary = NULL
    WHERE canary IN (SELECT send_id FROM engine.recipients) AND canary NOT IN (SELECT send_id FROM {0}.recipients WHERE send_id IS NOT NULL)
"""


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
    """The sum of the hashes of rows, independent of their order. A NUL counts as what PostgreSQL stores for it."""

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
