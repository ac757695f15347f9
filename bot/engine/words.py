"""Words, which are understood before any answer: the bot's, then the flow's, then the step's."""

from collections.abc import Iterator

from bot.core.turn import StepTaken
from bot.engine.executor import Executor
from bot.engine.failures import FAILURES
from bot.engine.routing import route
from bot.engine.turn_context import TurnContext
from bot.lang.words import normalise
from bot.steps.kind import Reply
from bot.steps.transition import AGAIN, BACK, END, NEXT, ROUTE
from bot.steps.words import Word, Words


def take_word(walk: Executor, reply: Reply) -> bool:
    """Do what a word means. False: what was written is none that is heard here."""
    work = walk.work
    try:
        word = next((word for text in reply.texts for word in _heard(work, text)), None)
    except FAILURES as failed:
        walk.fail(failed)
        return True
    if word is None:
        return False
    work.trace.rule = f'word "{word.text}"'
    target = _target(work, word)
    if (frame := work.session.frame) is not None:
        taken = StepTaken(frame.flow, frame.step, work.trace.rule, target, effects=len(work.effects))
        work.trace.steps.append(taken)
    note_left(work, target, digression=True)
    if not walk.through(word.transition) or target is None:
        return True
    if work.session.frame is None:
        _go_from_nowhere(walk, word, target, reply)
    elif target == END and work.library.bot.words.get(normalise(word.text)) is word:
        work.end_all()
    else:
        if word.transition.corrects:
            walk.correct(target)
        walk.go(target)
    return True


def note_left(work: TurnContext, target: str | None, *, digression: bool = False) -> None:
    """A question that is left for elsewhere without an answer: `back` leads there.

    A digression changes nothing of how often it has been put again.
    """
    frame = work.session.frame
    if frame is not None and target not in (None, AGAIN, BACK) and work.step.kind.asks:
        frame.unanswered_question, frame.unanswered_retries = work.where, frame.retries if digression else 0


def _heard(work: TurnContext, text: str) -> Iterator[Word]:
    """The words of this text that are heard where the contact is. Raises `TemplateFailed`."""
    said = normalise(text)
    for words in _levels(work):
        word = words.get(said) if words else None
        if word is not None and (word.condition is None or word.condition.evaluate(work.scope())):
            yield word


def _levels(work: TurnContext) -> Iterator[Words]:
    yield work.library.bot.words
    if work.session.frame is not None:
        yield work.flow.words
        yield work.step.options.words


def _target(work: TurnContext, word: Word) -> str | None:
    """Where a word leads; `next` is what follows the step where the contact is."""
    target = None if word.transition.then is None else word.transition.then.text
    return work.flow.following(work.frame.step) if target == NEXT else target


def _go_from_nowhere(walk: Executor, word: Word, target: str, reply: Reply) -> None:
    """A contact who is in no flow: what the word sets is for the flow that it opens."""
    if target == ROUTE:
        route(walk, reply)
    elif target.startswith("/"):
        walk.open(target, {item.name: item.evaluate(walk.work.scope()) for item in word.transition.set})
