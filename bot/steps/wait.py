"""``wait``: let time pass."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Self

from bot.expressions.opening_hours import Hours, no_hours
from bot.expressions.template_failures import TemplateFailed
from bot.expressions.templates import Template
from bot.keys.fields import Fields
from bot.keys.key_schemas import ANY_TEXT, Schemas, either, record, takes
from bot.lang.nodes import Map
from bot.lang.wall_clock import read_iso
from bot.steps.declared import Null, Rest, RestFor, Used
from bot.steps.kind import Reading, StepContext, StepFailed, StepKind, StepResult, ending
from bot.steps.points_in_time import CLOCK, duration_of, in_time, start_of

SHORTEST = timedelta(seconds=1)
_WEEK = [datetime(2030, 5, day, 12, tzinfo=UTC) for day in range(6, 13)]
_UNTIL: Schemas = {"until": takes(ANY_TEXT, "The name of opening hours: it waits until they begin.")}


@dataclass(frozen=True, slots=True)
class Wait(StepKind):
    """A duration from the moment the step is entered, a point in time, or until an office is open."""

    until: timedelta | Template | Hours
    past: bool = False  # a day that comes once, or what has passed whenever it is worked out, such as {{ today }}
    verb: ClassVar[str] = "wait"
    keys: ClassVar[Schemas] = {
        "wait": takes(either(ANY_TEXT, record(_UNTIL, "until")), "A duration, a point in time, or until which hours."),
    }
    options: ClassVar[frozenset[str]] = frozenset({"then", "words"})

    @classmethod
    def read(cls, fields: Fields, reading: Reading) -> Self:
        """Read ``wait: 2h``, ``wait: "{{ slot.starts }}"`` or ``wait: {until: office}``."""
        if isinstance(fields.raw("wait"), Map):
            return cls(_read_hours(fields.fields("wait"), reading) or SHORTEST)
        text = fields.template("wait")
        if text is None or (text.constant and read_iso(text.source) is None):
            return cls(fields.duration("wait") or SHORTEST)
        return cls(text, past=text.constant or _always_past(text))

    @property
    def rest(self) -> Rest:
        """It rests until the time has come, which only a written duration tells beforehand. An office is open for hours."""
        if isinstance(self.until, timedelta):
            return Rest(RestFor.TIME, self.until)
        return Rest(RestFor.TIME, over=isinstance(self.until, Hours) or self.past)

    @property
    def fails(self) -> bool:
        """What is worked out may be no point in time, and hours may never begin again."""
        return not isinstance(self.until, timedelta)

    def uses(self) -> Iterator[Used]:
        """The point in time."""
        if isinstance(self.until, Template):
            yield Used(self.until, null=Null.REFUSED)

    def moments(self) -> Iterator[Template]:
        """The one that it waits for, if it is one."""
        if isinstance(self.until, Template):
            yield self.until

    def enter(self, context: StepContext) -> StepResult:
        """Wait, and go on once the time has come; the engine wakes the step then."""
        until = self._until(context)
        if until <= context.now:
            return ending("then")
        lasts = context.step_state["for"] if "for" in context.step_state else self._lasts(context)
        return StepResult(step_state={"until": until} if lasts is None else {"until": until, "for": lasts})

    def wakes_at(self, step_state: Mapping[str, Any]) -> datetime | None:
        """When the time has come, as far as is known."""
        return step_state.get("until")

    def _lasts(self, context: StepContext) -> timedelta | None:
        """How long it waits, where that is what the step says: no longer than this, whatever happens to the clock."""
        if isinstance(self.until, Template):
            return duration_of(self.until, context.scope)
        return self.until if isinstance(self.until, timedelta) else None

    def _until(self, context: StepContext) -> datetime:
        """When the wait is over, in UTC. Opening hours are looked at anew: an edit may have closed the office."""
        if isinstance(self.until, Hours):
            opens = self.until.opens(context.now)
            if opens is None:
                raise StepFailed("failed", f"{self.until.name} never opens again")
            return opens
        if "until" in context.step_state:
            held: datetime = context.step_state["until"]
            return held
        if isinstance(self.until, timedelta):
            return in_time(context.now, self.until)
        return start_of(self.until, context.scope, context.now)


def _always_past(text: Template) -> bool:
    """Whether a time that is reckoned from now alone is before it, on any day of a week."""
    if text.calls or not text.names or not text.names <= CLOCK:
        return False
    try:
        return any(start_of(text, {"now": now, "today": now.date()}, now) <= now for now in _WEEK)
    except (TemplateFailed, StepFailed):
        return False


def _read_hours(fields: Fields | None, reading: Reading) -> Hours | None:
    """The opening hours that are named under `until`."""
    if fields is None or not fields.require("until"):
        return None
    name = fields.string("until") or ""
    if name not in reading.hours:
        reading.problems.add("E115", fields.mark_of("until"), *no_hours(name, reading.hours))
    fields.close()
    return reading.hours.get(name)
