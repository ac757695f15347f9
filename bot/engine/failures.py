"""Failures of steps: what is tried with a step, and the outcome by which the step is left when that fails."""

from collections.abc import Callable
from typing import Any, TypeVarTuple

from bot.core.session import Frame
from bot.engine.contact_values import note_cleared
from bot.engine.turn_context import FAILURES, Failure, FlowBroken, TurnContext
from bot.engine.turn_effects import call_error_hooks
from bot.language.steps.step_kind import LeaveStep, StepContext, StepResult
from bot.language.steps.transition import NEXT
from bot.language.types.type_registry import TypeMismatch

Given = TypeVarTuple("Given")


def ask(
    turn: TurnContext, decide: Callable[[StepContext, *Given], StepResult | None], *given: *Given
) -> StepResult | None:
    """Call a method of the active step's kind, and return its result. A failure in its texts or values becomes an error
    outcome.
    """
    try:
        return decide(turn.step_context(), *given)
    except FAILURES as failed:
        return LeaveStep(failure_outcome(turn, failed), known=getattr(failed, "known", {}))


def failure_outcome(turn: TurnContext, failed: Failure, leaving: str = "") -> str:
    """The active step's outcome for a failure that happened while it was left by ``leaving``.

    Raises `FlowBroken` if there is none, if that outcome fails itself, or if it led back to the same failure:
    otherwise its texts would be sent hundreds of times.
    """
    transitions = turn.step.transitions
    name = "mismatch" if isinstance(failed, TypeMismatch) else getattr(failed, "outcome", "failed")
    ignored = _is_ignored(turn)
    note = turn.trace.notes.append if ignored or f"errors.{name}" in transitions else turn.trace.problem
    note(f"{turn.where}: {name}: {failed}")
    before = turn.frame.step_state
    turn.frame.step_state = after = dict(turn.step.kind.after_failure(before))
    forgotten = before.keys() - after.keys()
    note_cleared(turn, (before[name] for name in forgotten))
    for outcome in (f"errors.{name}", "errors.else"):
        if outcome in transitions and not leaving.startswith("errors."):
            _note_failure(turn, failed)
            if outcome == "errors.else" and not ignored:
                call_error_hooks(turn, str(failed))
            return outcome
    raise FlowBroken(f"{turn.where}: {failed}")


def _is_ignored(turn: TurnContext) -> bool:
    """True if the active step itself goes on after any failure: `errors: {else: next}`."""
    other = (turn.step.options.defaults.errors or {}).get("else")
    return other is not None and other.then is not None and other.then.text == NEXT


def _note_failure(turn: TurnContext, failed: Failure) -> None:
    """Note the state on which the failed step depends. Raises `FlowBroken` if it has failed in exactly this state
    before.

    Values of the state are never changed in place.
    """
    session = turn.session
    state = [*map(_state_of, session.frames)], session.kept_variables, session.tags, session.language
    if state in turn.counted.failed:
        raise FlowBroken(f"{turn.where}: {failed}: its errors lead back here, and it fails again")
    turn.counted.failed.append(state)


def _state_of(frame: Frame) -> tuple[Any, ...]:
    waits = None if frame.waits is None else frame.waits.without_effect()
    return frame.flow, frame.step, frame.vars, frame.step_state, waits, frame.visit_counts


def refuse(turn: TurnContext, failed: Failure | FlowBroken) -> None:
    """Report to the operator why something that was asked for does not happen."""
    turn.result.failure = str(failed)
    turn.trace.problem(turn.result.failure)
