"""What a store asks of its databases, whichever they are: queries and durable commits in the SQL that all of them take."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

Execute = Callable[..., Any]
"""Executes a statement (its SQL, then its parameters as a tuple) within a transaction, and returns a cursor."""


class Write:
    """A statement for a common commit, and then its result: how many rows it changed, and the id of the last new ``row``.

    ``error`` is an error of its own, of its values. ``erases``: what it deletes must leave no traces. ``group`` is the
    writer's, who commits several together.
    """

    __slots__ = ("erases", "error", "group", "parameters", "row", "rows_changed", "sql")

    def __init__(self, sql: str, parameters: tuple[Any, ...], erases: bool = False) -> None:
        self.sql = sql
        self.parameters = parameters
        self.erases = erases
        self.row: int | None = None
        self.rows_changed = 0
        self.error: Exception | None = None
        self.group: Any = None


class Database(Protocol):
    """One connection to a database of a store, for any threads. ``name`` is what people call the database.

    Every method raises `bot.store.files.StoreUnavailable` if the database cannot be used now, and has then changed
    nothing.
    """

    name: str

    def one(self, sql: str, *parameters: Any) -> Any:
        """The first row of a query; None if there is none."""

    def all(self, sql: str, *parameters: Any) -> list[Any]:
        """The rows of a query."""

    def records(self, sql: str, *parameters: Any) -> list[dict[str, Any]]:
        """The rows of a query, each by the names of its columns."""

    def write(self, *statements: tuple[str, Sequence[Any]]) -> None:
        """Execute statements, each with all of its rows, in one durable commit."""

    def write_each(self, writes: Sequence[Write]) -> None:
        """Execute statements in one durable commit. An error of one's values is noted in it and does not touch the others."""

    def transaction(self) -> AbstractContextManager[Execute]:
        """Write everything that the block executes in one durable commit, or nothing."""

    def wipe(self) -> None:
        """Leave no traces of deleted data, as far as that is in the bot's hands."""

    def close(self) -> None:
        """Close the connection. It may be called twice."""
