"""Replies that answer nothing: `other`, or the question again (`retry`) until there were too many."""

from dataclasses import replace

from bot.core.messages import TextMessage
from bot.engine.executor import Executor
from bot.engine.frame_stack import note_unanswered
from bot.engine.turn_context import FAILURES, TurnContext, send
from bot.language.source.languages import wording
from bot.language.steps.step_kind import Reply
from bot.language.steps.transition import AGAIN


def other_or_retry(executor: Executor, reply: Reply) -> bool:
    """Any other reply at a step: its `other`, else its `retry` until there were too many, or the contact has no answer.

    A message that was written before the question was put is no reply to it.
    """
    turn, frame = executor.turn, executor.turn.frame
    if turn.put_since is not None and turn.step.facts.asks:
        frame.silent_since = turn.put_since
        turn.trace.rule = "written before the question: not heard"
        return True
    turn.pending_input = reply
    retry = turn.step.defaults.retry
    if "other" in turn.step.transitions:
        _leave_unanswered(executor, "other")
    elif "retry" not in turn.step.transitions:
        turn.trace.rule = "unread"
    elif (
        retry is not None
        and retry.most is not None
        and (frame.question.retries >= retry.most or turn.step.kind.lacks_answer(turn.step_context(), reply))
    ):
        _leave_unanswered(executor, "retry.else")
    else:
        frame.question = replace(frame.question, retries=frame.question.retries + 1)
        turn.trace.rule = f"retry {frame.question.retries}"
        _retry(executor, reply)
    return True


def _leave_unanswered(executor: Executor, outcome: str) -> None:
    executor.turn.trace.rule = outcome
    note_unanswered(executor.turn, executor.turn.step.transitions[outcome].target)
    executor.follow(outcome)


def _retry(executor: Executor, reply: Reply) -> None:
    """Ask the question again. If the step's kind has an objection to the reply, it replaces the text of `retry`."""
    turn = executor.turn
    question = turn.frame.question
    turn.frame.question = replace(question, in_a_row=question.in_a_row + 1)
    try:
        objection = turn.step.kind.objection(turn.step_context(), reply)
        above = _hint(turn, reply) if objection is None else None
    except FAILURES as failed:
        executor.fail(failed)
    else:
        if above and not turn.step.facts.shows_question:  # a template is not sent again: its buttons count
            send(turn, TextMessage(above))
            return
        turn.above_question = above or ""
        executor.follow("retry", objection=objection)
        turn.above_question = ""


def _hint(turn: TurnContext, reply: Reply) -> str | None:
    """Return the words for a wrong reply; None if the question is only asked again, or `retry` has a text or a target.

    No two repetitions in a row are the same: first a hint at what the question takes, then no words. If its choices are
    shown again, it is first a reason ("not understood", or which of several it can be), then the hint. A question that
    sends nothing always gets the hint.
    """
    retry = turn.step.transitions["retry"]
    says = retry.written is not None and (retry.written.say is not None or retry.written.ask is not None)
    if says or retry.target != AGAIN:
        return None
    facts, is_odd = turn.step.facts, turn.frame.question.in_a_row % 2 == 1
    if is_odd and facts.choices_alone:
        which = turn.step.kind.which_one(turn.step_context(), reply)
        return which or (wording(turn.scope(), "not_understood") if reply.text else None)
    hints = facts.wordless or is_odd != facts.choices_alone
    return turn.step.kind.hint(turn.step_context(), reply) if hints else None
