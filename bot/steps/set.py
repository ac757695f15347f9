"""``set`` as a step of its own: its assignments are those of the option, done on leaving."""

from dataclasses import dataclass
from typing import ClassVar, Self

from bot.keys.fields import Fields
from bot.keys.key_schemas import Schemas
from bot.steps.kind import Reading, StepContext, StepKind, StepResult, ending
from bot.steps.step_option_keys import STEP_OPTIONS


@dataclass(frozen=True, slots=True)
class SetStep(StepKind):
    """Nothing but its options."""

    verb: ClassVar[str] = "set"
    keys: ClassVar[Schemas] = {"set": STEP_OPTIONS["set"]}

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """The key itself is read as the option."""
        return cls()

    def enter(self, context: StepContext) -> StepResult:
        """Go on; the values are set on leaving."""
        return ending("then")
