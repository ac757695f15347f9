"""Answers to small talk that nothing else has taken. The contact stays there, and no wrong answer is counted."""

from dataclasses import replace

from bot.core.messages import TextMessage
from bot.engine.entering import put_again
from bot.engine.executor import Executor
from bot.engine.slots import may_mean_answer
from bot.engine.starting_flows import find_start, hears_crises, model_takes_others, triggers
from bot.engine.turn_context import FAILURES, TurnContext, send
from bot.language.answers.closings import calls_off, clauses_of, kind_words, praises
from bot.language.answers.topics import PERSON
from bot.language.source.languages import wording
from bot.language.steps.small_talk_texts import (
    BOT,
    BYE,
    GREETING,
    HELP,
    MOMENT,
    OPENING_HOURS,
    PRAISE,
    SMILE,
    THANKS,
    answer_to,
    topic_of,
)
from bot.language.steps.step_kind import Reply

_MOST_WRITTEN = 8  # words that are named as what can be written
_COURTESIES = frozenset({THANKS, GREETING, SMILE, PRAISE})


def answer_small_talk(executor: Executor, reply: Reply) -> bool:
    """Answer small talk of a contact who is in a flow, above the question that waits. Where another reply leads to
    another step (`other`), that step gets what is no courtesy.
    """
    turn = executor.turn
    topic = _topic(turn, reply)
    starts = None if topic is None or turn.flow.interrupted is None else _started(turn, topic, reply)
    if starts not in (None, turn.flow.name) or (topic == MOMENT and _answers_beside(turn, reply.text or "")):
        return False
    return topic is not None and _answer_here(executor, topic, reply)


def _answers_beside(turn: TurnContext, text: str) -> bool:
    """True if a clause beside small talk may answer the question: "one moment, friday works"."""
    others = (clause for clause in clauses_of(text) if topic_of(clause, turn.contact_language) is None)
    return any(may_mean_answer(turn, clause) for clause in others)


def answer_kind_words(executor: Executor, reply: Reply) -> bool:
    """Answer thanks, praise and farewells in words of their own, of a contact who is in a flow, where no part of them
    may answer its question.
    """
    topic = _kind_topic(executor.turn, reply)
    return (
        topic is not None
        and not may_mean_answer(executor.turn, reply.text or "")
        and _answer_here(executor, topic, reply)
    )


def _answer_here(executor: Executor, topic: str, reply: Reply) -> bool:
    turn = executor.turn
    if not turn.step.facts.takes_words or (turn.put_since is not None and turn.step.facts.asks):
        return False
    other = turn.step.transitions.get("other")
    if other is not None and other.target is not None and topic not in _COURTESIES:
        return False
    try:
        said = _said(turn, topic, reply)
    except FAILURES as failed:
        executor.fail(failed)
        return True
    if not said:
        return False
    frame = turn.frame
    asks = turn.step.facts.shows_question and topic not in (MOMENT, BYE)  # who needs time is not asked again
    frame.question = replace(frame.question, in_a_row=0)
    if topic == BYE and (remind := turn.step.defaults.remind) is not None:  # who has left is not reminded
        frame.question = replace(frame.question, reminders=remind.most or 1)
    turn.trace.rule = f"small talk: {topic}"
    if asks and topic not in (HELP, OPENING_HOURS):  # whose words must come, however long the question is
        turn.above_question = said
    else:
        send(turn, TextMessage(said))
    if asks:
        executor.run(put_again(turn))
        turn.above_question = ""
    return True


def answer_outside(executor: Executor, reply: Reply) -> bool:
    """Answer small talk of a contact who is in no flow. A greeting starts the flow with `otherwise`; so does a call for
    help, after the words that can be written, and a first goodbye to a bot that hears crises. A sticker is a smile.
    """
    turn = executor.turn
    smiles = reply.kind == "sticker" and SMILE in turn.library.bot.small_talk
    topic = SMILE if smiles else _topic(turn, reply) or _kind_topic(turn, reply)
    starts = triggers(turn)
    welcomes = starts.otherwise is not None
    first = not turn.session.visit
    if topic is None or (welcomes and (topic == GREETING or (topic == SMILE and first))):
        return False
    if topic == BYE and first and hears_crises(turn):
        return False
    if _started(turn, topic, reply) is not None or starts.by_event(turn.event) is not None:
        return False
    said = _said(turn, topic, reply)
    if not said:
        return False
    turn.trace.rule = f"small talk: {topic}"
    send(turn, TextMessage(said))
    return not (welcomes and topic in (HELP, BOT))


def _started(turn: TurnContext, topic: str, reply: Reply) -> str | None:
    """The flow that small talk starts. The question when a person is there starts none as a call for a person."""
    match = find_start(turn, reply)
    return None if match is None or (topic == OPENING_HOURS and match.topic == PERSON) else match.flow


def _topic(turn: TurnContext, reply: Reply) -> str | None:
    """The topic of a written message, if the bot hears it."""
    heard = turn.library.bot.small_talk
    if not heard or not reply.text or reply.tap is not None or reply.payload is not None:
        return None
    topic = topic_of(reply.text, turn.contact_language)
    in_flow = turn.session.frame is not None and not hears_crises(turn)
    if topic is None and in_flow and calls_off(reply.text):
        topic = BYE  # there is no word for it
    return topic if topic in heard else None


def _kind_topic(turn: TurnContext, reply: Reply) -> str | None:
    """The topic of a message in kind words, if the bot hears it and no model takes all other messages."""
    if not reply.text or reply.is_tap or model_takes_others(turn) or hears_crises(turn):
        return None
    topic = kind_words(reply.text, turn.contact_language)
    return topic if topic in turn.library.bot.small_talk and not (topic == PRAISE and _wants_praise(turn)) else None


def _wants_praise(turn: TurnContext) -> bool:
    """True if the flow for all other messages has answers that praise, as a survey has."""
    flow = turn.library.flows.get(triggers(turn).otherwise or "") if turn.session.frame is None else None
    answers = (answer.text for step in (flow.steps.values() if flow else ()) for answer in step.facts.answers)
    return any(map(praises, answers))


def _said(turn: TurnContext, topic: str, reply: Reply) -> str | None:
    """The bot's words. Raises one of `FAILURES`."""
    if topic != HELP:
        return answer_to(topic, turn.scope(), turn.now, turn.library.bot.name)
    waits = turn.session.frame is not None
    hint = turn.step.kind.hint(turn.step_context(), reply) if waits else None
    words = _can_be_written(turn)
    listed = wording(turn.scope(), "can_write", choices=", ".join(words)) if words else None
    return "\n".join(text for text in (hint, listed) if text)


def _can_be_written(turn: TurnContext) -> list[str]:
    """The words that the contact can write here: the bot's, the flow's and the step's, and those that start flows."""
    levels = [turn.library.bot.words]
    waits = turn.session.frame is not None
    if waits:
        levels += [turn.flow.words, turn.step.options.words, *(step.options.words for step in turn.running_steps)]
    found = [word.text for words in levels for word in words.values() if word.condition is None]
    if not waits or turn.flow.interrupted is not None:
        here, starts = turn.flow.name if waits else None, triggers(turn).words.values()
        for flow in turn.library.flows.values():
            trigger = flow.trigger
            if (
                trigger is not None
                and trigger.words
                and not trigger.otherwise
                and flow.name in starts
                and flow.name != here
            ):
                found.append(trigger.words[0][0])
    return list(dict.fromkeys(found))[:_MOST_WRITTEN]
