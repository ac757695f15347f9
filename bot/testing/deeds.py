"""What a model has done in a talk, by the trace: the exits that it took, and the values that it noted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from bot.core.effects import Complete, Effect, effect_ref
from bot.core.events import CallEnded
from bot.core.session import Session
from bot.core.text import json_object
from bot.expressions.template_failures import TemplateFailed
from bot.flow.library import Library
from bot.steps.prompt import LEAVE, REMEMBER
from bot.store.trace_rows import TurnTraced
from bot.types.type_registry import Answer, Mismatch, Unfit, Variable

EXIT = "exits."
"""What the outcomes of exits begin with."""


def asked_in(turns: Iterable[TurnTraced]) -> dict[str, Effect]:
    """All that was to be done, by the names of the effects."""
    return {effect_ref(turn.event_id, ordinal): effect for turn in turns for ordinal, effect in enumerate(turn.effects)}


def exits_in(turns: Iterable[TurnTraced]) -> list[str]:
    """The exits that were taken, in order."""
    outcomes = [step["outcome"] or "" for turn in turns for step in turn.steps]
    return [outcome.removeprefix(EXIT) for outcome in outcomes if outcome.startswith(EXIT)]


def filled_in(turns: Sequence[TurnTraced], session: Session, library: Library) -> dict[str, Any]:
    """The values that are known, and those that a model has noted although the flow has ended since."""
    known = {name: value for frame in session.frames for name, value in frame.vars.items()} | dict(
        session.kept_variables
    )
    asked = asked_in(turns)
    for turn in turns:
        event = turn.event
        flow = library.flows.get(turn.steps[0]["flow"]) if turn.steps else None
        if flow is not None and isinstance(event, CallEnded) and isinstance(asked.get(event.effect), Complete):
            for name, value in _noted(event.value):
                if name in flow.variables:
                    now = turn.at.astimezone(library.bot.timezone)
                    text = str(value).lower() if isinstance(value, bool) else str(value)
                    known = _with(known, flow.variables[name], text, now)
    return known


def _noted(answer: Any) -> Iterator[tuple[str, Any]]:
    """What the calls of a model's answer note."""
    for call in answer["calls"] if isinstance(answer, Mapping) else ():
        if call["name"] == REMEMBER or call["name"].startswith(LEAVE):
            arguments = json_object(call["arguments"])
            yield from ((name, value) for name, value in arguments.items() if value not in (None, ""))


def _with(known: dict[str, Any], variable: Variable, text: str, now: datetime) -> dict[str, Any]:
    """The values with one more, if its variable takes it; where that depends on what is not known here, as it was noted."""
    try:
        return known | {variable.name: variable.accept(Answer(text), now, known)}
    except (Unfit, Mismatch):
        return known
    except TemplateFailed:
        return known | {variable.name: text}
