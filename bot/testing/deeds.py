"""What a model has done in a talk, by the trace: the exits that it took, and the values that it noted."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.core.effects import Complete, Effect, effect_ref
from bot.core.events import CallEnded
from bot.core.session import Session
from bot.core.text import json_object
from bot.flow.library import Library
from bot.lang.variables import Answer, Mismatch, Unfit
from bot.steps.prompt import LEAVE, REMEMBER
from bot.store.trace import TurnTraced

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
    known = {name: value for frame in session.frames for name, value in frame.vars.items()} | dict(session.kept)
    return known | {name: value for turn in turns for name, value in _noted(turn, asked_in(turns), library)}


def _noted(turn: TurnTraced, asked: Mapping[str, Effect], library: Library) -> Iterator[tuple[str, Any]]:
    """What the calls of a model's answer note, as far as their variables take it."""
    event = turn.event
    if not (isinstance(event, CallEnded) and isinstance(asked.get(event.effect), Complete) and turn.steps):
        return
    flow = library.flows.get(turn.steps[0]["flow"])
    if flow is None or not isinstance(event.value, Mapping):
        return
    for call in event.value["calls"]:
        if call["name"] != REMEMBER and not call["name"].startswith(LEAVE):
            continue
        for name, value in json_object(call["arguments"]).items():
            variable = flow.variables.get(name)
            try:
                if variable is not None and value not in (None, ""):
                    yield name, variable.accept(Answer(str(value)), turn.at.astimezone(library.bot.timezone), {})
            except (Unfit, Mismatch):
                continue
