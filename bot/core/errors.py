"""The root of every error that this package raises on purpose, and the shape of a service's error table."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from bot.core.immutable import immutable


class BotError(Exception):
    """An error whose text is written for a person: it says what is wrong, where, and what to do."""


class OutcomeLost(BotError):
    """The request may have been carried out: no answer came."""


E = TypeVar("E", bound=BotError)


@immutable
class ErrorRow(Generic[E]):
    """A row of a service's error table: the code, the class that is raised, whether a retry can help, what to do.

    ``code`` is the service's, ``""`` for an error of the client's own. ``advice`` is for the operator of the bot.
    """

    code: str
    raises: type[E]
    retry: bool
    advice: str


def row_of(table: Iterable[ErrorRow[E]], kind: type[E], code: str) -> ErrorRow[E]:
    """The row of an error's class. If a class has several rows, the code decides; an unknown code has no advice."""
    rows = [row for row in table if row.raises is kind]
    if len(rows) == 1:
        return rows[0]
    return next((row for row in rows if row.code == code), ErrorRow(code, kind, False, ""))
