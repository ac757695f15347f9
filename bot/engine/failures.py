"""What is wrong in a flow while it runs: an outcome, where one is declared; else the end of the conversation."""

from typing import Any

from bot.core.effects import Send
from bot.core.messages import TextMessage
from bot.engine.frames import FlowBroken
from bot.engine.hooks import tell_error
from bot.engine.turn_context import TurnContext
from bot.lang import hidden
from bot.lang.templates import TemplateFailed
from bot.lang.variables import Mismatch
from bot.lang.wordings import wording
from bot.steps.kind import StepFailed

Failure = StepFailed | TemplateFailed | Mismatch
FAILURES = (StepFailed, TemplateFailed, Mismatch)


def taken_by(work: TurnContext, failed: Failure, leaving: str = "") -> str:
    """The active step's outcome that takes a failure, which happened while it was left by ``leaving``.

    Raises `FlowBroken` where none is declared, where that one fails itself, or where it led back here and to the same
    failure: what is said on such a way would be said hundreds of times.
    """
    ways = work.step.transitions
    name = "mismatch" if isinstance(failed, Mismatch) else getattr(failed, "outcome", "failed")
    work.trace.notes.append(f"{work.where}: {name}: {failed}")
    work.frame.step_state = dict(work.step.kind.after_failure(work.frame.step_state))
    for outcome in (f"errors.{name}", "errors.else"):
        if outcome in ways and not leaving.startswith("errors."):
            _note(work, failed)
            if outcome == "errors.else":
                tell_error(work, str(failed))
            return outcome
    raise FlowBroken(f"{work.where}: {failed}")


def _note(work: TurnContext, failed: Failure) -> None:
    """Note where this turn failed, and with what was known. Raises `FlowBroken` where it did so before."""
    state = _state(work)
    if state in work.failed:
        raise FlowBroken(f"{work.where}: {failed}: its errors lead back here, and it fails again")
    work.failed.append(state)


def _state(work: TurnContext) -> Any:
    """All by which a step could do otherwise when it is entered again in this turn. Nothing of it is changed in place."""
    session = work.session
    frames = [(each.flow, each.step, each.vars, each.step_state, each.visit_counts) for each in session.frames]
    return frames, session.kept_variables, session.tags, session.language


def say_sorry(work: TurnContext) -> None:
    """A model that fails is never silence: where nothing has been said since, and nothing is being worked out, the bot says
    sorry. An agent who has the conversation answers in its place; what cannot be sent any more is a dead letter.
    """
    session = work.session
    if session.agent is not None or any(isinstance(effect, Send) for effect in work.effects):
        session.apology_due = False
    if not session.apology_due or (session.frame is not None and session.frame.awaited_effect is not None):
        return
    session.apology_due = False
    if not session.window_is_open(work.event.at):
        work.failure = work.failure or "a model failed, and the contact hears nothing of it: their 24 hours are over"
        return
    work.trace.notes.append("a model failed, and the flow says nothing: sorry")
    try:
        work.send(TextMessage(wording(work.scope(), "sorry")))
    except FAILURES as failed:  # the bot's own words cannot be worked out
        work.trace.notes.append(f"ai: sorry: {failed}")
        work.send(TextMessage(wording({**work.scope(), hidden.WORDINGS: {}}, "sorry")))
