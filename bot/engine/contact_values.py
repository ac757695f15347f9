"""The values that a turn sets: variables, and the contact's tags, language and time zone.

`roll_back` undoes the changes if leaving a step fails.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any

from bot.core.effects import DeleteFile
from bot.core.own_addresses import FILES_VALID
from bot.core.session import Frame, MadeFile, Plan, Session
from bot.core.values import Media, dumps, files_in
from bot.engine.turn_context import TurnContext, add_effect
from bot.language.flow.definition import LANGUAGE
from bot.language.source.wall_clock import next_after
from bot.language.steps.transition import Assignment
from bot.language.types.contact_zones import TIMEZONE
from bot.language.types.type_registry import TypeMismatch

_NO_VALUES: Mapping[str, Any] = {}

Locale = tuple[str | None, str | None]
OfFrame = tuple[dict[str, Any], dict[str, str], dict[str, int]]
Checkpoint = tuple[OfFrame, dict[str, Any], tuple[str, ...], tuple[Plan, ...], Locale]


def declare_variables(turn: TurnContext, kept: Mapping[str, Any] = _NO_VALUES) -> None:
    """Give each declared variable of the active flow its first value, or the one that the conversation has for its
    name, if it fits.

    ``kept`` are the kept variables of the flow that was left, which are not in the frame.
    """
    frame, flow = turn.frame, turn.flow
    values = {name: variable.value for name, variable in flow.variables.items() if not variable.keep}
    for name, value in {**kept, **frame.vars}.items() if kept else frame.vars.items():
        if name in values:
            with suppress(TypeMismatch):
                values[name] = flow.variables[name].coerce(value, turn.now)
    brought, frame.vars = frame.vars, {**frame.vars, **values}
    for name in flow.kept.keys() & brought.keys():
        del frame.vars[name]
        if brought[name] is not None:
            with suppress(TypeMismatch):
                assign(turn, name, brought[name])


def assign(turn: TurnContext, name: str, value: Any) -> None:
    """Give a variable its value. Raises `TypeMismatch`."""
    if name == LANGUAGE and turn.library.bot.languages:
        _set_language(turn, value)
        return
    if name == TIMEZONE and turn.library.bot.contact_timezones:
        _set_timezone(turn, value)
        return
    frame = turn.frame
    flow = turn.library.flows.get(frame.flow)  # an edit may have removed it, while its variables stay
    variable = None if flow is None else flow.variables.get(name)
    value = value if variable is None else variable.coerce(value, turn.now)
    if variable is not None and variable.keep:
        turn.session.kept_variables = {**turn.session.kept_variables, name: value}
    else:
        frame.vars = {**frame.vars, name: value}


def note_cleared(turn: TurnContext, values: Iterable[Any]) -> None:
    """Note the kept files of values that `clear` takes back (see `delete_cleared`)."""
    turn.cleared += [
        file for value in values if value is not None for file in files_in(value) if file.file and not file.made
    ]


def note_made(turn: TurnContext, result: Any) -> None:
    """Note the file that a handler has made for the contact (see `delete_made`)."""
    if not isinstance(result, Media) or not result.made or result.file is None:
        return
    if all(made.file != result.file for made in turn.session.made_files):  # it may return one that it was given
        turn.session.made_files += (MadeFile(result.file),)


def delete_made(turn: TurnContext) -> None:
    """Delete the made files that no value of the contact's has had for as long as the address of a file is valid."""
    made, turn.session.made_files = turn.session.made_files, ()
    known = dumps(turn.session) if any(each.until is None for each in made) else ""
    for each in made:
        until = each.until
        if until is None and dumps(each.file) not in known:
            until = turn.event.at + FILES_VALID
        if until is not None and until <= turn.event.at:
            add_effect(turn, DeleteFile(each.file))
        else:
            turn.session.made_files += (MadeFile(each.file, until),)


def delete_cleared(turn: TurnContext) -> None:
    """Delete the kept files that have been cleared, if nothing in the session has them any more."""
    left = {file.file for file in turn.cleared if file.file is not None}
    known = dumps(turn.session)
    for file in sorted(left):
        if dumps(file) not in known:
            add_effect(turn, DeleteFile(file))


def note_dropped(turn: TurnContext, before: Session) -> None:
    """Note the kept files that conversations and drafts of the contact had before the turn (see `delete_cleared`)."""
    frames = chain(before.frames, *(draft.frames for draft in before.drafts))
    note_cleared(turn, (value for frame in _with_left(frames) for value in (frame.vars, frame.step_state)))


def _with_left(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Frames, with those that were left below a question without an answer."""
    for frame in frames:
        yield frame
        yield from () if frame.unanswered is None else _with_left(frame.unanswered.below)


def assign_values(turn: TurnContext, values: Mapping[str, Any]) -> None:
    """Give variables their values. Raises `TypeMismatch`."""
    for name, value in values.items():
        assign(turn, name, value)


def assign_all(turn: TurnContext, assignments: Iterable[Assignment], scope: Mapping[str, Any]) -> None:
    """Assign values, each of which is evaluated before any is assigned. Raises a `Failure`."""
    values = [(item.name, item.evaluate(scope)) for item in assignments]
    for name, value in values:
        assign(turn, name, value)


def _set_language(turn: TurnContext, language: Any) -> None:
    """Set the contact's language."""
    if language not in turn.library.bot.languages:
        raise TypeMismatch(f"it is none of {', '.join(turn.library.bot.languages)}")
    turn.session.language = language
    turn.use_language()


def _set_timezone(turn: TurnContext, zone: Any) -> None:
    """Set the contact's time zone. Schedules that repeat by the clock keep their hour in it. Raises `TypeMismatch`."""
    session = turn.session
    session.timezone = None if zone is None else turn.library.bot.common[TIMEZONE].coerce(zone, turn.now)
    turn.use_timezone()
    session.plans = tuple(
        plan if plan.every is None else replace(plan, at=next_after(plan.every, turn.now)) for plan in session.plans
    )


def add_tag(turn: TurnContext, tag: str) -> None:
    """Tag the contact."""
    if tag and tag not in turn.session.tags:
        turn.session.tags = (*turn.session.tags, tag)


def remove_tag(turn: TurnContext, tag: str) -> None:
    """Remove a tag of the contact's."""
    turn.session.tags = tuple(other for other in turn.session.tags if other != tag)


def checkpoint(turn: TurnContext) -> Checkpoint:
    """Everything that leaving a step may change: for `roll_back`."""
    session, frame = turn.session, turn.frame
    place = session.language, session.timezone
    return (frame.vars, frame.ahead, frame.visit_counts), session.kept_variables, session.tags, session.plans, place


def roll_back(turn: TurnContext, before: Checkpoint) -> None:
    """Undo these changes: the step was not left after all."""
    session, frame = turn.session, turn.frame
    of_frame, session.kept_variables, session.tags, plans, (session.language, zone) = before
    frame.vars, frame.ahead, frame.visit_counts = of_frame
    turn.use_language()
    if session.timezone != zone:
        _set_timezone(turn, zone)
    session.plans = plans
