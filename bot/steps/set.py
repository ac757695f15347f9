"""``set`` as a step of its own: its assignments are those of the rider, done on leaving."""

from dataclasses import dataclass
from typing import ClassVar, Self

from bot.lang.fields import Fields
from bot.lang.keys import Schemas
from bot.steps.kind import At, Decision, Reading, StepKind, ending
from bot.steps.rider_keys import RIDERS


@dataclass(frozen=True, slots=True)
class SetStep(StepKind):
    """Nothing but its riders."""

    verb: ClassVar[str] = "set"
    keys: ClassVar[Schemas] = {"set": RIDERS["set"]}

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """The key itself is read as the rider."""
        return cls()

    def enter(self, at: At) -> Decision:
        """Go on; the values are set on leaving."""
        return ending("then")
