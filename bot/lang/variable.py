"""What a variable is: which answers of a contact it takes, and which values of a flow or a handler."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, ClassVar, Self

from bot.core.errors import BotError
from bot.core.values import Location, Media
from bot.lang.fields import Fields
from bot.lang.nodes import Mark
from bot.lang.templates import Template


class Unfit(BotError):
    """A contact's answer is no value of the variable. The text does not repeat the answer.

    ``objection`` is what the contact is told instead of the step's `retry`, where the variable says so.
    """

    def __init__(self, reason: str, objection: Template | None = None) -> None:
        super().__init__(reason)
        self.objection = objection


class Mismatch(BotError):
    """A value that a flow or a handler gives does not fit the variable. The text does not repeat the value."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a contact sent in answer to a question."""

    text: str | None = None
    media: Media | None = None
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable, which starts at ``value``. Its types are its subclasses."""

    name: str
    mark: Mark
    value: Any = None
    keep: bool = field(default=False, kw_only=True)  # it is kept with the contact, for good
    type: ClassVar[str] = ""

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read the settings that this type has of its own."""
        return cls(name, fields.mark, value)

    def accept(self, answer: Answer, now: datetime, scope: Mapping[str, Any] | None = None) -> Any:
        """The value that an answer stands for. ``now`` is in the bot's time zone, ``scope`` the turn's. Raises `Unfit`."""
        text = (answer.text or "").strip()
        if not text:
            raise Unfit("a text is expected")
        try:
            return self._bounded(self._from_text(text, now))
        except Mismatch as mismatch:
            raise Unfit(str(mismatch)) from mismatch

    def coerce(self, value: Any, now: datetime | None) -> Any:
        """A value as one of this variable's; null stays null. Raises `Mismatch`.

        ``now``, in the bot's time zone, is None while a flow is checked. Bounds that move with it, as a date's,
        are for answers only: a day that was right when it was given may have passed since.
        """
        return None if value is None else self._bounded(self._from_value(value, now))

    def _from_text(self, text: str, now: datetime) -> Any:
        raise Unfit(f"{self.type} is no answer that can be written")

    def _from_value(self, value: Any, now: datetime | None) -> Any:
        raise NotImplementedError

    def _bounded(self, value: Any) -> Any:
        return value


def mismatch(value: Any, wanted: str) -> Mismatch:
    """The error for a value of the wrong kind."""
    kinds: tuple[tuple[Any, str], ...] = (
        (bool, "true or false"),
        (str, "a text"),
        (int | float | Decimal, "a number"),
        (datetime, "a date with a time"),
        (date, "a date"),
        (time, "a time of day"),
        (list | tuple, "a list"),
        (Mapping, "an object"),
        (Media, "a file"),
    )
    kind = next((words for types, words in kinds if isinstance(value, types)), "something else")
    return Mismatch(f"{kind} is not {wanted}")
