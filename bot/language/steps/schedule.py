"""``schedule`` and ``cancel``: flows that start for the contact later, and the points in time that steps name."""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import Any

from bot.core.immutable import immutable
from bot.core.session import BUSY, Plan
from bot.core.text import head
from bot.language.expressions.template_failures import kind_of
from bot.language.expressions.templates import Template
from bot.language.keys.declared_keys import (
    DURATION,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    mapped,
    nested,
    one_of,
    one_or_several,
    one_written,
    shared,
)
from bot.language.keys.fields import Fields, template_of
from bot.language.keys.key_schemas import ANY_TEXT
from bot.language.source.problems import Problems
from bot.language.source.wall_clock import A_DAY, later, next_after, on_the_clock, read_every, read_iso, zone_of
from bot.language.source.yaml_tree import Node
from bot.language.steps.step_facts import StepFailed
from bot.language.steps.transition import ASSIGNMENTS, TARGET, Assignment, Target, target_of

NOW, SKIP = "now", "skip"
SOON = timedelta(seconds=1)  # the delay of `now`: a flow that schedules itself must not start again at once
_LONGEST_NAME = 100  # characters


@immutable
class Schedule:
    """A flow, when it is to start (one of ``at``, ``after`` and ``every``), and what goes in.

    ``past`` says what becomes of an ``at`` that has passed already: it starts `now`, or not at all (`skip`).
    """

    target: Target
    name: Template
    at: Template | None
    after: timedelta | None
    every: str | Template | None  # five fields of cron
    until: Template | None
    inputs: tuple[Assignment, ...]
    busy: str | None
    past: str

    @property
    def flow(self) -> str:
        """The flow's name."""
        return self.target.flow

    def plan(self, scope: Mapping[str, Any], now: datetime) -> Plan | None:
        """The flow to start and its time; None if the time has passed. ``now`` is in the bot's time zone.

        Raises `StepFailed` and `bot.language.expressions.templates.TemplateFailed`.
        """
        until = None if self.until is None else end_of(self.until, scope, now)
        every = self._every(scope)
        at = self._first(scope, now) if every is None else next_after(every, now)
        if at is None or (until is not None and at >= until):
            return None
        inputs = {item.name: item.evaluate(scope) for item in self.inputs}
        name, where = name_in(self.name, scope), self.target.text.removeprefix("/")
        return Plan(name, where, at, inputs, self.busy or "", every, until, self.after)

    def _every(self, scope: Mapping[str, Any]) -> str | None:
        if not isinstance(self.every, Template):
            return self.every
        text = self.every.render(scope)
        every = read_every(text)
        if every is None:
            raise StepFailed("mismatch", f'{self.every.mark}: "{head(text, 40)}" is no time that comes again')
        return every

    def _first(self, scope: Mapping[str, Any], now: datetime) -> datetime | None:
        current = now.astimezone(UTC)
        if self.after is not None:
            return in_time(now, self.after)
        assert self.at is not None
        at = point_of(self.at, scope, now)
        return at if at > current else current + SOON if self.past == NOW else None

    def uses(self) -> Iterator[Template]:
        """Every template of it."""
        yield from (text for text in (self.name, self.at, self.until, self.every) if isinstance(text, Template))
        for item in self.inputs:
            yield from item.uses()


def name_in(name: Template, scope: Mapping[str, Any]) -> str:
    """The name of a plan. Raises `StepFailed` if it is empty or too long."""
    text = name.render(scope).strip()
    if not 0 < len(text) <= _LONGEST_NAME:
        raise StepFailed("mismatch", f"{name.mark}: a scheduled flow's name has 1 to {_LONGEST_NAME} characters")
    return text


def _read_one(fields: Fields) -> Schedule | None:
    target, when = _FLOW.read(fields), one_written(fields, _WHEN)
    if when is None:
        names = ", ".join(key.name for key in _WHEN)
        fields.report("E105", fields.mark, "when is missing", f"add one of {names}")
    else:
        for key, belongs in ((_PAST, _AT), (_UNTIL, _EVERY)):
            if when is not belongs and key.written(fields):
                key.report(fields, "E121", f'"{key.name}" without "{belongs.name}"', "leave it out")
    at, after, every = _AT.read(fields), _AFTER.read(fields), _EVERY.read(fields)
    until, inputs, name = _UNTIL.read(fields), _WITH.read(fields), _NAME.read(fields)
    busy, past = _BUSY.read(fields), _PAST.read(fields)
    if target is None or when is None or (at, after, every)[_WHEN.index(when)] is None:
        return None
    name = name or Template.plain(target.text.removeprefix("/"), target.mark)
    return Schedule(target, name, at, after, every, until, inputs, busy, str(past))


def _read_every(node: Node, problems: Problems, what: str) -> str | Template | None:
    template = template_of(node, problems, what)
    if template is None or not template.constant:
        return template
    text = template.source
    every = read_every(text)
    if every is None:
        problems.add("E106", node.mark, f'{what}: "{text}" is no time that comes again', _every_meant(text))
    return every


def _every_meant(text: str) -> str:
    """The fix for a text that is no recurring time: mostly a word is missing."""
    named = text.lower().removeprefix("every ").replace("daily", "day").replace("weekdays", "mon-fri")
    days, _, clock = named.rpartition(" ")
    meant = next(filter(read_every, (named, f"{days} at {clock}", f"day at {named}", f"{named} at 9:00")), None)
    if meant is not None:
        return f'did you mean "{meant}"?'
    return "write one like day at 9:00, mon at 9:00, mon-fri at 9:00, or five fields of cron like 0 9 1 * *"


CLOCK = frozenset({"now", "today"})
"""The names of what only time changes."""

TO_WRITE = 'write one like "2030-12-24 18:00", or "{{ }}" around what gives one'


def _read_point(node: Node, problems: Problems, what: str, *, days: bool = True) -> Template | None:
    """Read a point in time, which may be a template. ``days`` says whether a day without a time is one."""
    text = template_of(node, problems, what)
    if text is not None and text.constant:
        found = read_iso(text.source)
        if found is None or not (days or isinstance(found, datetime)):
            problems.add("E106", node.mark, f'{what}: "{text.source}" is not a date with a time', TO_WRITE)
            return None
    return text


def point_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The date-time of a text, in UTC; one without a zone is in the bot's, which is ``now``'s.

    Raises `StepFailed` for everything else, also for a day, and `bot.language.expressions.templates.TemplateFailed`.
    """
    return _worked_out(text, scope, now)


def start_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The moment that a text evaluates to. A day is its beginning, and a duration counts from now."""
    return _worked_out(text, scope, now, minutes=0, durations=True)


def duration_of(text: Template, scope: Mapping[str, Any]) -> timedelta | None:
    """The duration of a text; None where it is something else."""
    value = _value_of(text, scope)
    return value if isinstance(value, timedelta) else None


def end_of(text: Template, scope: Mapping[str, Any], now: datetime) -> datetime:
    """The moment that a text evaluates to. A day is its end. Raises as `point_of` does."""
    return _worked_out(text, scope, now, minutes=A_DAY)


def in_time(now: datetime, duration: timedelta) -> datetime:
    """The time after a duration, in UTC. Whole days count by the calendar of now's zone, so that 9:00 stays 9:00,
    and the rest by the clock.

    Raises `OverflowError`.
    """
    return later(now, duration, zone_of(now)).astimezone(UTC)


def no_later(at: datetime, now: datetime, lasts: timedelta) -> datetime:
    """The end of a wait that ``lasts`` so long; if more than that is left, the clock was set back: it begins now."""
    return at if at - now <= lasts else min(at, in_time(now, lasts))


def _worked_out(
    text: Template, scope: Mapping[str, Any], now: datetime, *, minutes: int | None = None, durations: bool = False
) -> datetime:
    """``minutes``: what a day stands for, counted from its midnight; None where it stands for nothing."""
    zone, value = zone_of(now), _value_of(text, scope)
    try:
        match value:
            case datetime():
                return (value if value.tzinfo is not None else value.replace(tzinfo=zone)).astimezone(UTC)
            case date() if minutes is not None:
                return on_the_clock(value, minutes, zone)
            case timedelta() if durations:
                return in_time(now, value)
    except OverflowError:
        raise StepFailed("mismatch", f"{text.mark}: a time that is too far away") from None
    raise StepFailed("mismatch", f"{text.mark}: {kind_of(value)} is not a date with a time")


def _value_of(text: Template, scope: Mapping[str, Any]) -> Any:
    """The value of a template; a text in the form of a date or a date-time becomes one."""
    value = text.value(scope)
    parsed = read_iso(value) if isinstance(value, str) else None
    return value if parsed is None else parsed


_FLOW = KeySpec(
    "flow",
    mapped(Form(TARGET, target_of), lambda found: Target(f"/{found.text.removeprefix('/')}", found.mark)),
    "The flow that starts: /flow or /flow/step.",
    required=True,
)
_AT = KeySpec("at", Form(ANY_TEXT, partial(_read_point, days=False)), "When it starts: a date with a time.")
_AFTER = KeySpec("after", DURATION, "How long from now it starts, like 2h.")
_EVERY = KeySpec(
    "every",
    Form(ANY_TEXT, _read_every),
    "When it starts, again and again: day at 9:00, mon-fri at 9:00, or five fields of cron.",
)
_WHEN: tuple[KeySpec[Any], ...] = (_AT, _AFTER, _EVERY)
_UNTIL = KeySpec(
    "until", Form(ANY_TEXT, _read_point), "When `every` ends: before this point in time, or after this day."
)
_WITH = KeySpec("with", ASSIGNMENTS, "Values for the flow's variables.")
_NAME = KeySpec("name", TEMPLATE, "The name to cancel it by; the flow's by default.")
_BUSY = KeySpec(
    "busy", one_of(*BUSY), "The rule while the contact is in a flow; by default that flow's rule, else after."
)
_PAST = KeySpec("past", one_of(NOW, SKIP, default=NOW), "The rule if `at` is in the past; now by default.")
_KEYS = KeySet(_FLOW, _AT, _AFTER, _EVERY, _UNTIL, _WITH, _NAME, _BUSY, _PAST)
SCHEDULE = shared("schedule", one_or_several(nested(_KEYS, _read_one, "{flow: its_name, after: 2h}")))
"""One map, or a list of them."""
