"""Words that are understood everywhere, in a flow, or at a step: which one a message says, and where it leads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from bot.core.lazy_patterns import lazy_pattern
from bot.core.session import first_of_conversation
from bot.engine.entering import ask, open_flow
from bot.engine.executor import Executor
from bot.engine.frame_stack import end_all, forget, note_unanswered, remove_step_tags
from bot.engine.starting_flows import find_start, hears_crises, start_by_message
from bot.engine.turn_context import FAILURES, TurnContext
from bot.language.answers.closings import calls_off, wants_silence
from bot.language.answers.titles import has_word, within
from bot.language.answers.words import Kind
from bot.language.source.text_patterns import matches
from bot.language.source.word_matching import contains, normalise
from bot.language.steps.step_kind import Reply
from bot.language.steps.transition import AGAIN, END, NEXT, ROUTE, STAY, Word, Words


def to_word(executor: Executor, reply: Reply) -> bool:
    """A word of the bot, of the flow or of the step; else of a step that runs the active flow."""
    return _hear_word(executor, reply, lambda levels: _said_whole(levels, reply.texts))


def to_polite_word(executor: Executor, reply: Reply) -> bool:
    """A word beside others that change nothing, in a message that is no answer and starts nothing: "stop it please".
    In a bot that hears crises, "make it stop" may mean something else.
    """
    turn = executor.turn
    written = reply.text and reply.tap is None and reply.payload is None and len(reply.text) <= _MOST_POLITE
    known = turn.library.bot.words or turn.session.frames
    if not written or not known or (turn.session.frame is None and find_start(turn, reply) is not None):
        return False
    text, language = reply.text or "", turn.contact_language
    stays = hears_crises(turn) and not calls_off(text)

    def said(levels: Sequence[Words]) -> Iterator[Word]:
        words = _said_politely(levels, text, language)
        return (word for word in words if not (stays and calls_off(word.text)))

    return _hear_word(executor, reply, said)


def to_calling_off(executor: Executor, reply: Reply) -> bool:
    """A message that calls off what is going on. It counts as the word or the choice for that in its text, else as the
    nearest such word that leads to the end. Where another reply leads to another step (`other`), that step gets it. In
    no flow, only a wish for no more messages counts.
    """
    turn, text = executor.turn, reply.text or ""
    in_flow = turn.session.frame is not None
    if reply.is_tap or not (in_flow or turn.library.bot.words) or hears_crises(turn):
        return False
    if not (calls_off(text) if in_flow else wants_silence(text)):
        return False
    start = None if in_flow and turn.flow.interrupted is None else find_start(turn, reply)
    if start is not None and not (in_flow and (start.by or start.flow == turn.flow.name)):
        return False
    other = turn.step.transitions.get("other") if in_flow else None
    if other is not None and other.target is not None:
        return False
    return (
        _hear_word(executor, reply, lambda levels: _words_to_call_off(levels, text))
        or (in_flow and _choose_calling_off(executor, reply))
        or _hear_word(executor, reply, lambda levels: _words_to_call_off(levels))
    )


def _choose_calling_off(executor: Executor, reply: Reply) -> bool:
    """Choose what the waiting question offers for it, if its text stands in the message: "too dear, cancel please"."""
    turn, said = executor.turn, normalise(reply.text or "")
    if turn.put_since is not None or turn.frame.question.undelivered:
        return False
    named = (answer.text for answer in turn.step.facts.answers if contains(said, normalise(answer.text)))
    known = (text for text in named if calls_off(text))
    results = (ask(turn, turn.step.kind.answer, replace(reply, text=text)) for text in known)
    result = next((each for each in results if each is not None), None)
    executor.run(result, "answer")
    return result is not None


_MOST_POLITE = 40  # characters

_CLAUSE_END = lazy_pattern(r"[,.;!…\n]+")

Said = Callable[[Sequence[Words]], Iterable[Word]]
"""Finds the words that a message says among those of several levels, the first of which counts."""


def _hear_word(executor: Executor, reply: Reply, said: Said) -> bool:
    """Take the transition of a word that is understood here."""
    turn, frame = executor.turn, executor.turn.session.frame
    try:
        heard = _word_in(turn, said)
    except FAILURES as failed:
        executor.fail(failed)
        return True
    if heard is None:
        return False
    word, depth = heard
    turn.trace.rule = f'word "{word.text}"'
    if frame is not None and frame.question.in_a_row:
        frame.question = replace(frame.question, in_a_row=0)
    above, turn.session.frames = turn.session.frames[depth:], turn.session.frames[:depth]
    if _take_word(executor, word, reply):
        remove_step_tags(turn, above)
    else:
        turn.session.frames += above
    return True


def _take_word(executor: Executor, word: Word, reply: Reply) -> bool:
    """Follow a word's transition. Returns False if the contact stays where they are."""
    turn, frame = executor.turn, executor.turn.session.frame
    target = None if word.transition.then is None else word.transition.then.text
    if frame is not None:
        target = turn.flow.following[frame.step] if target == NEXT else target
        turn.note_step(turn.trace.rule, target)
    note_unanswered(turn, target, digression=True)
    if not executor.run_actions(word.transition):
        return True
    if target is None:
        return False
    of_bot = turn.library.bot.words.get(normalise(word.text)) is word
    if turn.session.frame is None:
        _go_from_no_flow(executor, word, target, reply)
    elif target == END and of_bot:
        end_all(turn)
    else:
        if word.transition.corrects:
            executor.correct(target)
        executor.run(executor.go(target, alone=of_bot))
    return True


def _word_in(turn: TurnContext, said: Said) -> tuple[Word, int] | None:
    """The word that a message says and that counts at the contact's step, else at a step that runs the active flow,
    with the number of frames up to that step's. Raises `TemplateFailed`.
    """
    frames = turn.session.frames
    levels: list[Words] = [turn.library.bot.words]
    if frames:
        levels += turn.flow.words, turn.step.options.words
    word = _counting(turn, levels, said)
    if word is not None:
        return word, len(frames)
    try:
        for depth in range(len(frames) - 1, first_of_conversation(frames), -1):
            turn.session.frames = frames[:depth]
            word = None if turn.known_step is None else _counting(turn, [turn.known_step.options.words], said)
            if word is not None:
                return word, depth
    finally:
        turn.session.frames = frames
    return None


def _counting(turn: TurnContext, levels: Sequence[Words], said: Said) -> Word | None:
    """The first word that a message says and whose condition is true."""
    if not any(levels):
        return None
    found = said(levels)
    return next((each for each in found if each.condition is None or each.condition.evaluate(turn.scope())), None)


def _said_whole(levels: Sequence[Words], texts: Sequence[str]) -> Iterator[Word]:
    """The words that equal one of these texts, then the words whose pattern matches one."""
    yield from (words[said] for said in map(normalise, texts) for words in levels if said in words)
    for word in (word for words in levels for word in words.values() if word.pattern is not None):
        if any(matches(word.pattern, text.strip()) for text in texts):
            yield word


def _said_politely(levels: Sequence[Words], text: str, language: str | None) -> Iterator[Word]:
    """The words that a text has beside others that change nothing, or as its last clause: "too dear, forget it".

    A number changes something: "cancel one".
    """
    said = normalise(text)
    clause = normalise(_CLAUSE_END.split(text.rstrip(" .!"))[-1])
    for words in levels:
        known = [word for word in words if contains(said, word)]
        known = [word for word in known if _has_number(word, language) == _has_number(text, language)]
        found = within(text, [(word, place) for place, word in enumerate(known)], language) if known else None
        if found is not None:
            yield words[known[found]]
        elif clause != said and clause in words:
            yield words[clause]


def _has_number(text: str, language: str | None) -> bool:
    return has_word(text, (Kind.NUMBER,), language)


def _words_to_call_off(levels: Sequence[Words], text: str | None = None) -> Iterator[Word]:
    """The words by which people call off, those of the step first: that stand in a text and lead away, or end it all.

    A word that is not in the text, like "cancel", may cancel something else: so it must lead to the end.
    """
    for word in (word for words in reversed(levels) for word in words.values()):
        target = None if word.transition.then is None else word.transition.then.text
        is_said = text is not None and contains(normalise(text), normalise(word.text))
        leads_away = target not in (None, AGAIN, STAY) if is_said else target == END and text is None
        if leads_away and calls_off(word.text):
            yield word


def _go_from_no_flow(executor: Executor, word: Word, target: str, reply: Reply) -> None:
    """Take a word's transition for a contact who is in no flow. It sets variables of the flow that it opens."""
    if target == ROUTE:
        executor.run(start_by_message(executor.turn, reply))
    elif target.startswith("/"):
        turn, scope = executor.turn, executor.turn.scope()
        inputs = {item.name: item.evaluate(scope) for item in word.transition.set}
        forget(turn, word.transition.clear, target)
        executor.run(open_flow(executor.turn, target, inputs))
