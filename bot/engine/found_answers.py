"""A message that holds answers to several questions of the flow, or another answer to an earlier question.

`bot.engine.slots` finds the answers.
"""

from collections.abc import Mapping

from bot.engine import slots
from bot.engine.entering import answer_ahead, ask, ask_model_for_slots, put_again
from bot.engine.executor import Executor
from bot.language.steps.step_kind import Reply


def look_ahead(executor: Executor, text: str, *, with_others: bool = False) -> bool:
    """Look in a message for answers to the active flow's slots. Returns False if there are none.

    If the active question is among them, it is answered; otherwise the first answer that was given before is corrected.
    Other questions are answered when they come. ``with_others``: returns False unless the message answers the active
    question and another one.
    """
    turn, frame = executor.turn, executor.turn.frame
    found, more = slots.found_ahead(turn, text) or ({}, True)
    if not found or (with_others and (len(found) < 2 or frame.step not in found)):
        return False
    corrects = frame.step not in found and slots.answered_before(turn, iter(found))
    name = None if corrects else slots.name_beside(turn, text, found)
    if name is not None:
        found, more = {frame.step: name, **found}, False
    if not more or corrects or not look_by_model(executor, text, found):
        _answer_found(executor, found)
    return True


def accept_found(executor: Executor, found: Mapping[str, str], said: str) -> bool:
    """Take answers that a model has found in a message, as `look_ahead` does. Returns False if none counts.

    A value counts if its question takes it. A question that was not asked yet is answered or asked.
    """
    turn, frame = executor.turn, executor.turn.frame
    answers, undelivered = slots.taken(turn, found, said), frame.question.undelivered
    turn.trace.add_rule(slots.in_words(answers))
    if undelivered:
        frame.ahead = {**frame.ahead, **answers}
        executor.run(answer_ahead(turn, frame.step) if frame.step in answers else put_again(turn))
    elif frame.step in answers and turn.step.facts.understood_by_model:
        frame.ahead = {**frame.ahead, **{step: piece for step, piece in answers.items() if step != frame.step}}
        executor.run(ask(turn, turn.step.kind.answer, Reply(answers[frame.step])))
    elif answers:
        _answer_found(executor, answers)
    return undelivered or bool(answers)


def look_by_model(executor: Executor, text: str, found: Mapping[str, str]) -> bool:
    """Let a model look in a message for answers to the questions that are open; ``found`` are those that are known.

    Returns False if no question is open, or there is no model.
    """
    asked = ask_model_for_slots(executor.turn, text, found) if executor.turn.step.facts.asks else None
    executor.run(asked)
    return asked is not None


def _answer_found(executor: Executor, found: Mapping[str, str]) -> None:
    """Answer the active question, else correct an earlier answer, else ask the active question again."""
    turn, frame = executor.turn, executor.turn.frame
    frame.ahead = {**frame.ahead, **found}
    corrected = slots.answered_before(turn, (step for step in found if step != frame.step))
    if frame.step in found:
        executor.run(answer_ahead(turn, frame.step), slots.in_words(found))
    elif corrected:
        turn.trace.rule = f"corrects {corrected[0]}"
        between = turn.flow.between(corrected[0], frame.step)
        if any(turn.flow.steps[step].works for step in between):
            frame.ahead = {**slots.as_answered(turn, between), **frame.ahead}
        else:
            executor.correct(corrected[0])
        executor.run(executor.go(corrected[0]))
    else:
        turn.trace.rule = turn.trace.rule or slots.in_words(found)
        executor.run(put_again(turn))
