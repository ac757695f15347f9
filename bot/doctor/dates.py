"""The points in time that flows write out: which of them are past, only the clock can tell."""

from collections.abc import Iterator
from datetime import datetime

from bot.doctor.finding import Finding, warn
from bot.expressions.templates import Template
from bot.flow.library import Library
from bot.steps.schedule import end_of


def past_dates(library: Library, now: datetime) -> Iterator[Finding]:
    """What is scheduled for, or waited for, a time that has passed: it comes at once, or not at all."""
    here = now.astimezone(library.bot.timezone)
    for point in _points(library):
        if point.constant and end_of(point, {}, here) <= now:
            yield warn("flows", f"{point.mark}: {point.source} is past", "write a later time, or take it out")


def _points(library: Library) -> Iterator[Template]:
    for step in (step for flow in library.flows.values() for step in flow.steps.values()):
        yield from step.kind.moments()
        for schedule in step.options.schedule:
            yield from (point for point in (schedule.at, schedule.until) if point is not None)
