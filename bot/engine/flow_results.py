"""The results of flows: what a turn adds to the counts that `bot report` shows (docs/language/results.md)."""

from collections.abc import Mapping

from bot.core.session import Frame, Session
from bot.core.turn import ANSWERED, ENTERED, FAILED, LEFT, TIMED_OUT, Counted, StepTaken
from bot.engine.turn_context import TurnContext
from bot.language.flow.definition import Flow
from bot.language.steps.draft_step import CONTINUED
from bot.language.steps.step_options import SIGNAL
from bot.language.steps.transition import AGAIN, STAY

Visit = tuple[str, int]
"""A flow, and the number of the visit: the first one is still to come while a model looks for the flow."""


def results_of(turn: TurnContext, before: Session) -> tuple[Counted, ...]:
    """Every visit of a step that began in this turn, and every visit that ended, with its way and outcome.

    ``before`` is the session before the turn. A visit goes on while its frame is open, also below other flows, or in a
    draft. If no outcome has ended it, the contact left: they went elsewhere, or the conversation is over.
    """
    flows = turn.library.flows
    visits: dict[Visit, Frame | StepTaken] = _open_visits(before)
    going_on = _open_visits(turn.session)
    counted: list[Counted] = []
    for taken in turn.trace.steps:
        visit = taken.flow, taken.visit
        if visit not in visits:
            _count(counted, flows, taken, taken.splits, ENTERED, "")
        visits[visit] = taken
    for visit, last in visits.items():
        if visit in going_on:
            continue
        if isinstance(last, StepTaken):
            _count(counted, flows, last, last.splits, *_way(last))
        else:
            _count(counted, flows, last, turn.session.splits, LEFT, "")
    return tuple(counted)


def _open_visits(session: Session) -> dict[Visit, Frame | StepTaken]:
    """The visits of the open frames, of those of drafts, and of those to which `back` returns from them. A flow that
    has not begun has no visit.
    """
    visits: dict[Visit, Frame | StepTaken] = {}
    frames = [*session.frames]
    for draft in session.drafts:
        frames += draft.frames
    for frame in frames:  # which grows meanwhile
        if frame.visit:
            visits[frame.flow, frame.visit] = frame
        if frame.unanswered is not None:
            frames += frame.unanswered.below
    return visits


def _count(
    counted: list[Counted],
    flows: Mapping[str, Flow],
    at: Frame | StepTaken,
    splits: Mapping[str, str],
    way: str,
    outcome: str,
) -> None:
    """Count once for all contacts, and once for each split that the conversation has passed."""
    flow, name = at.flow, at.step
    if flow in flows:
        name = flows[flow].reported_as.get(name, name)
    counted.append((flow, name, "", way, outcome))
    if splits:
        counted += [(flow, name, f"{place}: {part}", way, outcome) for place, part in splits.items()]


def _way(taken: StepTaken) -> tuple[str, str]:
    """How a visit ended with this, and the outcome; without one if it still waited then."""
    outcome = taken.outcome
    if outcome is None or taken.target in (None, AGAIN, STAY):
        return LEFT, ""
    if (
        taken.success or outcome == CONTINUED or outcome.startswith((SIGNAL, "["))
    ):  # a choice: also of a step that has gone on long ago
        return ANSWERED, outcome
    if outcome in ("timeout", "expired"):
        return TIMED_OUT, outcome
    return FAILED if outcome.startswith("errors.") else LEFT, outcome
