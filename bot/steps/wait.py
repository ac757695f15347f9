"""``wait``: let time pass."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar, Self

from bot.lang.fields import Fields
from bot.lang.nodes import Map
from bot.steps.kind import At, Decision, Reading, StepKind

SHORTEST = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Wait(StepKind):
    """A duration from the moment the step is entered."""

    duration: timedelta
    verb: ClassVar[str] = "wait"

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``wait: 2h``."""
        node = fields.raw("wait")
        if isinstance(node, Map):
            inner = Fields(node, reading.problems, f"{fields.what}: wait")
            inner.close({"until": "office hours"})
            return cls(SHORTEST)
        return cls(fields.duration("wait") or SHORTEST)

    @property
    def pauses(self) -> bool:
        """It rests until the time has passed."""
        return True

    def enter(self, at: At) -> Decision:
        """Wait; the engine wakes the step when the time has come."""
        return Decision()

    def wakes_at(self, entered_at: datetime) -> datetime | None:
        """When the time has passed."""
        return entered_at + self.duration
