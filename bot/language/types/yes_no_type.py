"""The type boolean."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from bot.core.immutable import immutable
from bot.language.answers.readers import Reading, prepare, read_side
from bot.language.expressions.abstract_values import ValueKind
from bot.language.types.variable import Variable, mismatch


@immutable
class BooleanVariable(Variable):
    """Yes or no.

    ``agreed: boolean``
    """

    type = "boolean"
    kind = ValueKind.BOOLEAN
    made_of = frozenset({ValueKind.BOOLEAN, ValueKind.TEXT, ValueKind.NUMBER})
    example_answers = ("yes", "no")
    values = (True, False)
    described = "true or false"
    takes_every = True

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[bool] | None:
        return read_side(text, language)

    def prepare(self, languages: Iterable[str]) -> None:
        """The languages' words for yes and no."""
        prepare(languages)

    def _from_value(self, value: Any, now: datetime | None) -> bool:
        if value in (True, "true"):
            return True
        if value in (False, "false"):
            return False
        raise mismatch(value, "true or false")
