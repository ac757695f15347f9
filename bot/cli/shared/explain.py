"""Turns and sessions as lines for a terminal: `bot trace`, `bot queue`, `bot sessions` and the chat's ``/trace``."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

from bot.cli.shared.output import local_time, styled
from bot.core.messages import in_words
from bot.core.session import HAS_OPTED_OUT, Session
from bot.core.text import printable
from bot.store.rows import MessageStatus
from bot.store.trace_rows import TurnTraced
from bot.testing.simulation.turn_words import (
    draft_in_words,
    effect_in_words,
    event_in_words,
    line_of,
    plan_in_words,
    state_in_words,
    value_in_words,
)


def turn_lines(turn: TurnTraced, zone: tzinfo | None = None) -> Iterator[str]:
    """The lines of one turn: the event and its rule, the steps with their decisions, and the effects. Times are in
    the form of `local_time`.
    """
    at, happened = styled(local_time(turn.at, zone), dim=True), styled(event_in_words(turn.event), bold=True)
    # without a time it was no turn
    taken = f"  by rule: {turn.rule}  {styled(f'{turn.micros} µs', dim=True)}" if turn.micros else ""
    yield f"{at}  {happened}{taken}"
    for step in turn.steps:
        here = f"{step['flow']}/{step['step']}"
        for text, value in step["conditions"]:
            yield f"  {here}  if {text}: {value_in_words(value)}"
        if step["outcome"] is None:
            yield f"  {here}  waits"
        else:
            yield f"  {here}  {step['outcome']} -> {step['target'] or 'stays'}"
    for effect, status in zip(turn.effects, turn.statuses, strict=True):
        yield f"  {effect_in_words(effect)}{'' if status is None else f'  {status_in_words(status)}'}"
    for note in turn.notes:
        yield f"  {styled('note', fg='yellow')} {printable(note)}"


def session_lines(session: Session, zone: tzinfo | None = None) -> Iterator[str]:
    """Where a contact is, innermost flow first, and the known values. Times are in the form of `local_time`."""
    if session.voice_note is not None:
        yield "a voice note is being transcribed"
    if session.frame is None:
        yield "in no flow"
    for frame in reversed(session.frames):
        place = styled(f"{frame.flow}/{frame.step}", bold=True)
        yield f"in {place} since {local_time(frame.entered_at, zone)}, {state_in_words(frame)}"
        yield from _value_lines(frame.vars)
    if session.kept_variables:
        yield "kept"
        yield from _value_lines(session.kept_variables)
    for plan in sorted(session.plans, key=lambda plan: plan.at):
        if plan.signal is not None:
            waits = "waits since" if plan.after is None else "is kept for a step that has it until"
            yield f"signal {plan.signal} {waits} {local_time(plan.at, zone)}"
            continue
        yield f"{plan_in_words(plan)} is to start at {local_time(plan.at, zone)}"
    for draft in session.drafts:
        yield f"{draft_in_words(draft)} is kept until {local_time(draft.until, zone)}"
        for frame in reversed(draft.frames):
            yield from _value_lines(frame.vars)
    for message in session.late_messages:
        yield f"waits until the contact writes: {line_of(in_words(message))}"
    if session.opted_out:
        yield HAS_OPTED_OUT
    if session.tags:
        yield f"tags: {', '.join(session.tags)}"


def _value_lines(values: Mapping[str, Any]) -> Iterator[str]:
    width = max(map(len, values), default=0)
    return (f"  {name:{width}}  {value_in_words(value)}" for name, value in values.items())


def status_in_words(status: MessageStatus) -> str:
    """The status of a message, in words."""
    colour = "red" if status.name == "failed" else "green"
    return styled(f"{status.name}: {line_of(status.detail)}" if status.detail else status.name, fg=colour)
