"""Slots: answers to several questions of a flow in one message, such as "two large ones for Friday".

Each question of the flow looks in the message for texts that it takes as answers. An answer that is found is kept as it
was written until its question comes; then the question is not asked. A model may find the answers that the questions do
not find: each of its values is read as an answer to its question, like a text of the contact's. If a question takes any
words, only a model looks for its answer, and the answer must be words of the message. The same holds for the waiting
question if it says `understand: model`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import ROWS_PER_SECTION, Message, clip, in_plain_text
from bot.core.messages import in_words as message_in_words
from bot.core.text import visible
from bot.engine.turn_context import OpeningText, TurnContext
from bot.language.answers.phrases import phrase_pattern
from bot.language.answers.segments import says_nothing
from bot.language.answers.sentences import (
    ENDS_CLAUSE,
    OF_TIMES,
    Reach,
    begins_span,
    is_meant,
    may_be_edge,
    may_be_value,
    undisturbed,
    words_in,
)
from bot.language.answers.titles import has_word, is_known, is_yes_or_no, number_in, place_in, without_fault
from bot.language.answers.topics import asks_if_free, is_asked, is_request
from bot.language.answers.wishes import wished
from bot.language.answers.words import Kind
from bot.language.expressions.abstract_values import ValueKind
from bot.language.flow.definition import Step
from bot.language.source.word_matching import CLOSE, LONGEST, contains, is_slip, is_spaced, normalise, quoted, singular
from bot.language.steps.answer_matching import AND
from bot.language.steps.ask_step import AskStep
from bot.language.steps.step_kind import LeaveStep, Reply, StepContext, StepKind, StepResult, WaitHere
from bot.language.types.text_types import TextVariable

MOST_WORDS = 25  # of a message that are looked at
MOST_OF_ONE = 4  # words of one answer
MOST_READINGS = 2000  # of pieces of messages in one turn, by the questions' readers: a tenth of a second or so
MOST_NOTED = 100  # characters of an answer in the trace
_WORD = lazy_pattern(r"\S+")
_TOO_LONG = "the message is too long to look for answers to {} questions"
_NOT_WISHED = (Kind.ASKING, Kind.TELLING)
_EDGES = " ,.;:!?\n"
_FURTHER = 3  # words behind an answer: one, and another answer
_CORRECTING = (Kind.CORRECTING, Kind.NO)
_THINGS = (Kind.UNIT, Kind.AROUND_DATE)
_MOST_BETWEEN = 3  # words between an answer and the one that corrects it
_ASKS = lazy_pattern("[?？؟]")


def found_ahead(turn: TurnContext, text: str) -> tuple[dict[str, str], bool] | None:
    """The answers in a text to the active flow's slots, by step, and whether it has other words.

    None if the text has two answers to a question ("two teas and a coffee"). Longer answers come first; no word is used
    twice. There are no answers if looking takes too long, or if the text asks or tells something. Where a question
    would ask back ("next Friday"), it takes no part of these words either ("Friday"), nor one of two answers ("Friday
    or Saturday"), nor an answer behind a word such as "not".
    """
    language = turn.contact_language
    corrected = without_fault(text, language, complaints=True)
    text = without_fault(text, language)
    if corrected != text:  # "the email is wrong, it's a@b.de", but not "the order is wrong, I got 3"
        fault = normalise(text.removesuffix(corrected))
        wrong = [step for step in turn.flow.slots if contains(fault, normalise(step))]
        whole = [step for step in wrong if answered(turn, step, corrected) is not None]
        return ({whole[0]: corrected}, False) if len(whole) == 1 else ({}, True)
    if has_word(text, (Kind.TELLING,), language) or (has_word(text, (Kind.ASKING,), language) and not is_request(text)):
        return {}, True
    written = [match.group() for match in _WORD.finditer(text)]
    search = _SlotSearch(turn, written[:MOST_WORDS])
    for step, first, end in search.pieces():
        turn.counted.readings += 1
        if turn.counted.readings > MOST_READINGS:
            turn.trace.notes.append(_TOO_LONG.format(len(turn.flow.slots)))
            return {}, True
        if not search.read(step, first, end):
            return None
    kept = search.sure()
    return kept, len(search.used) < len(written) or len(kept) < len(search.found)


def answer_in(turn: TurnContext, opening: OpeningText) -> tuple[str, LeaveStep | WaitHere] | None:
    """The answer to the active question in the text that has started its flow, and its words, which are used up. A
    value that may be one of two is asked back.

    It is what the question reads in all words that are left, or the only thing that it reads in some of them, while
    nothing in the sentence speaks against it. None if a word may not mean that: a yes or no, or a number for a question
    that is not the first; and if the sentence asks or tells something, unless the answer leads to another flow.
    """
    step, words = turn.step, opening.words
    question = _Question.of(turn, step.name) if _looks_in_opening(step) else None
    if question is None or len(words) > MOST_WORDS or turn.where in opening.led:
        return None
    left = [place for place in range(len(words)) if place not in opening.used]
    found = question.only_answer(turn, words, left)
    if found is None:
        return None
    first, end, answer = found.first, found.end, found.answer
    piece, text = _piece([words[place] for place in left], first, end), " ".join(words)
    language, place = turn.contact_language, (left[first], left[end - 1] + 1)
    if isinstance(answer, WaitHere):
        is_sure = is_meant(words, place, language, Reach.UP_TO) and not has_word(text, _NOT_WISHED, language)
        return (piece, answer) if is_sure and not turn.step.facts.choices_alone else None
    target = turn.flow.machine.follow(step.name, answer.outcome).target or ""
    leads = turn.flow.is_menu or target.startswith("/")
    if target.startswith("/") and target[1:].partition("/")[0] in {taken.flow for taken in turn.trace.steps}:
        return None  # the contact comes from there
    around = " ".join(word for at, word in enumerate(words) if at not in left[first:end])
    if is_yes_or_no(piece, language) or has_word(around, (Kind.TELLING,), language) or (leads and not found.is_whole):
        return None
    if (is_code := _takes_code(step)) and not any(map(str.isdigit, piece)):
        return None
    asks = has_word(text, (Kind.ASKING,), language) and not asks_if_free(text)
    is_question = _ASKS.search(text) and not found.is_whole and is_asked(text) and not _requests(text, language)
    if not leads and not is_code and (asks or is_question):
        return None
    number = number_in(piece, language)
    if number is not None and not number[1] and (opening.answers or not found.is_whole or not _counts(step)):
        return None
    if not found.is_whole and not is_meant(words, place, language, Reach.UP_TO):
        return None
    is_value = not found.is_whole and not is_code and answer.outcome == "then"
    if is_value and not all(undisturbed(words, [place], language)):
        return None
    if leads:  # its words may say more where it leads
        opening.led.add(turn.where)
    else:
        opening.used.update(left[first:end])
        opening.answers = True
    return piece, answer


def refused_number(turn: TurnContext, opening: OpeningText) -> str | None:
    """The only number in the words that are left of an opening text, if the active question takes numbers but not this
    one.
    """
    question = _Question.of(turn, turn.step.name) if _counts(turn.step) else None
    rest = " ".join(word for place, word in enumerate(opening.words) if place not in opening.used)
    number = None if question is None else number_in(rest, turn.contact_language)
    written = "" if number is None else str(number[0])
    return written if question is not None and written and question.read(written) is None else None


def which_one(turn: TurnContext, opening: OpeningText) -> str | None:
    """The words that ask which of several choices of the active question an opening text means; None if it names not
    so many.
    """
    question = _Question.of(turn, turn.step.name)
    return None if question is None else question.kind.which_one(question.context, Reply(" ".join(opening.words)))


def _requests(text: str, language: str | None) -> bool:
    """True for a request in the form of a question: "can you squeeze me in on Friday?"."""
    return is_request(text) or not {"book", "order"}.isdisjoint(wished(text, language))


def may_mean_answer(turn: TurnContext, text: str) -> bool:
    """True if some words of a question would answer the active one, unless it asks about one of its choices: "what is
    in the large one". For a name any words would.
    """
    question, words = _Question.of(turn, turn.frame.step), text.split()[:MOST_WORDS]
    if question is None or _is_name(turn.step):
        return False
    if is_request(text):
        return True
    if turn.step.facts.choices_alone and has_word(text, (Kind.ASKING,), turn.contact_language):
        return False
    may_answer = question.may_answer(words)
    places = ((first, end) for end in range(1, len(words) + 1) for first in range(max(end - MOST_OF_ONE, 0), end))
    return any(may_answer(*place) and question.read(_piece(words, *place)) is not None for place in places)


def name_beside(turn: TurnContext, text: str, found: Mapping[str, str]) -> str | None:
    """The words of a text beside the answers in it, if they answer the active question for a name: "Ann, a@b.de".

    The name is introduced ("I'm Ann"), or has capital letters and is several words or a clause of its own; so "Mail:
    a@b.de" has none.
    """
    used, words = _words_of(found.values()), text.split()
    left = [word for word in words if word.strip(_EDGES) not in used]
    rest = " ".join(left).strip(_EDGES)
    answer = answered(turn, turn.step.name, rest) if found and rest and _is_name(turn.step) else None
    if answer is None or says_nothing(rest, turn.contact_language) or any(word.endswith(":") for word in left):
        return None
    alone = len(left) == 1 and not any(word.endswith(ENDS_CLAUSE) for word in words[:-1])
    has_capitals = not any(word[:1].islower() for word in left)
    return rest if answer.saved != rest or (has_capitals and not alone) else None


def has_own_answers(step: Step) -> bool:
    """True for a question with answers that can be told from other words."""
    return _looks_in_opening(step) or _is_name(step)


def _is_name(step: Step) -> bool:
    return isinstance(step.kind, AskStep) and step.kind.variable is not None and step.kind.variable.type == "name"


def _looks_in_opening(step: Step) -> bool:
    """True for a question with answers that can be found in a sentence."""
    if not isinstance(step.kind, AskStep) or step.facts.can_gather:
        return _takes_code(step)
    variable = step.kind.variable
    return step.facts.choices_alone or not (variable is None or variable.takes_any_words)


def _takes_code(step: Step) -> bool:
    """True for a question for a text with a pattern, such as the number of an order."""
    variable = step.kind.variable if isinstance(step.kind, AskStep) else None
    return isinstance(variable, TextVariable) and variable.pattern is not None


def _counts(step: Step) -> bool:
    """True for a question for a number."""
    variable = step.kind.variable if isinstance(step.kind, AskStep) else None
    return variable is not None and variable.kind is ValueKind.NUMBER


def _may_be_time(words: Sequence[str], first: int, end: int, language: str | None) -> bool:
    """True for a number that may be an hour or minutes: "around 7", "be there in ten", but not "around 7 people"."""
    before, behind = " ".join(words[max(first - 1, 0) : first]), " ".join(words[end : end + 1])
    if begins_span(before, language):
        return True
    return has_word(before, (Kind.BEFORE_TIME,), language) and not has_word(behind, (Kind.UNIT,), language)


def _is_label(words: Sequence[str], first: int, named: Collection[str], language: str | None) -> bool:
    """True for a number right behind another thing than the questions name: "room 4", "bus 7", but not "rooms 4"."""
    if not first or words[first - 1].endswith(ENDS_CLAUSE):
        return False
    before = normalise(words[first - 1])
    if not before.isalpha() or before in named or singular(before) in {before[:-1], *named}:
        return False
    return not is_known(before, language) or (
        has_word(before, _THINGS, language) and not has_word(before, (Kind.HARMLESS,), language)
    )


def _is_summand(words: Sequence[str], end: int, language: str | None) -> bool:
    """True for a number that is only a part of the answer: "6 plus a baby", "2 for me, 1 for him"."""
    if has_word(" ".join(words[end : end + 2]), (Kind.PLUS,), language):
        return True
    behind = normalise(" ".join(words[end : end + 1]))
    others = (at for at in range(1, len(words)) if at != end and normalise(words[at]) == behind != "")
    return any(number_in(words[at - 1], language) is not None for at in others)


def _is_itself(words: Sequence[str], end: int, named: Collection[str], language: str | None) -> bool:
    """True unless an unknown word right behind a choice may make another thing of it, as "juice" of "orange"."""
    if end == len(words) or words[end - 1].endswith(ENDS_CLAUSE):
        return True
    behind = normalise(words[end])
    return not behind.isalpha() or behind in named or singular(behind) in named or is_known(behind, language)


def _may_be_row(piece: str, language: str | None) -> bool:
    """True for the place of a choice, "the first", which is no day where choices are shown."""
    place = place_in(piece, language)
    return place is not None and place <= ROWS_PER_SECTION


def _counts_something(words: Sequence[str], first: int, end: int, language: str | None) -> bool:
    """True for a number of things or people, perhaps behind a comma: in "12 May, 5 persons" the "5" is no day."""
    first = next((at for at in range(end - 1, first, -1) if words[at - 1].endswith(",")), first)
    piece, said = " ".join(words[first:end]), " ".join(words[first : end + 1])
    return (
        number_in(piece, language) is not None
        and has_word(said, (Kind.UNIT,), language)
        and not has_word(said, OF_TIMES, language)
    )


def _is_of_time(word: str, language: str | None) -> bool:
    return any(map(str.isdigit, word)) or has_word(word, OF_TIMES, language)


def _is_the_one(words: Sequence[str], first: int, end: int, used: Collection[int], language: str | None) -> bool:
    """True for a "one" behind another answer, which is no number: "the white one"."""
    stands_for_thing = end - first == 1 and has_word(words[first], (Kind.AROUND_TITLE,), language)
    return stands_for_thing and first - 1 in used and not words[first - 1].endswith((",", ".", ";"))


def use_up(opening: OpeningText, pieces: Iterable[str]) -> None:
    """Mark the words of an opening text that stand in answers."""
    opening.answers = True
    used = _words_of(pieces)
    opening.used.update(place for place, word in enumerate(opening.words) if word.strip(_EDGES) in used)


def _words_of(pieces: Iterable[str]) -> set[str]:
    return {word.strip(_EDGES) for piece in pieces for word in piece.split()}


def note_rest(turn: TurnContext, text: str, answer: LeaveStep) -> None:
    """Note the words beside an answer that is a choice: they may answer the question that follows at once."""
    words = text.split()
    chooses = turn.step.facts.choices_alone and 1 < len(words) <= MOST_WORDS
    question = _Question.of(turn, turn.step.name) if chooses else None
    if question is None:
        return
    first, end = question.without_edges(words, 0, len(words), answer)
    if end - first < len(words):
        turn.opening = OpeningText(tuple(words), used={*range(first, end)}, answers=True)


def open_questions(turn: TurnContext, found: Mapping[str, str]) -> dict[str, str]:
    """The questions that a model looks for answers to, by step, as they would be asked.

    They are those of the active flow's slots that have no answer yet, and the waiting one if it says `understand`.

    ``found`` are answers that were found in the message.
    """
    frame, pointed = turn.frame, turn.step.facts.understood_by_model
    asked = dict.fromkeys((*(turn.flow.slots if turn.flow.model_slots else ()), *((frame.step,) if pointed else ())))
    if not asked:
        return {}
    values = turn.library.values_of(turn.frame, turn.session, turn.now)
    answered = {step for step in turn.flow.slots if values.get(turn.flow.steps[step].options.save or "") is not None}
    known = {*found, *frame.ahead, *(answered - {frame.step})}
    questions = ((step, _Question.of(turn, step)) for step in asked if step not in known)
    return {step: f"({_takes(turn, step)}) {question.words}" for step, question in questions if question is not None}


def _takes(turn: TurnContext, step: str) -> str:
    """The answers that a question takes, in words for a model: ``small, large``."""
    variable = turn.flow.variables.get(turn.flow.steps[step].options.save or "")
    words = "choice" if variable is None else ", ".join(getattr(variable, "of", ())) or variable.type
    is_quoted = turn.flow.takes_any_words(step) or turn.flow.steps[step].facts.understood_by_model
    return f"{words}, word for word as the message says it" if is_quoted else words


def taken(turn: TurnContext, found: Mapping[str, str], said: str) -> dict[str, str]:
    """Those of these answers in a message that their questions take; the trace has a note of each other one.

    Where a question takes any words, or says `understand`, an answer must be words of the message, and is kept as they
    stand there.
    """
    kept = {}
    for step, piece in found.items():
        if step != turn.frame.step and step not in turn.flow.slots:  # an edit has come between
            continue
        pointed, free = turn.flow.steps[step].facts.understood_by_model, turn.flow.takes_any_words(step)
        answer = (quoted(piece, said) or quoted(piece.strip(_EDGES), said)) if free or pointed else piece
        if answer is None:
            reason = "the message does not say it"
        elif free and any(normalise(other) == normalise(answer) for name, other in found.items() if name != step):
            reason = "another question has the same answer"
        elif pointed and not free and (against := _against(turn, step, answer, said)):
            reason = against
        elif (pointed and not free) or answered(turn, step, answer) is not None:
            kept[step] = answer
            continue
        else:
            reason = "it is no answer"
        turn.trace.notes.append(f"{turn.flow.name}/{step}: not taken, {reason}: {_shown(piece)}")
    return kept


def _against(turn: TurnContext, step: str, answer: str, said: str) -> str:
    """The reason why words of a message are no answer to a question though a model says so; empty if there is none."""
    question, language = _Question.of(turn, step), turn.contact_language
    result = None if question is None else question.read(answer)
    if question is None or result is None:
        return "it is no answer"
    words, length = words_in(said), len(answer.split())
    ends = range(length, len(words) + 1)
    places = [(end - length, end) for end in ends if normalise(_piece(words, end - length, end)) == normalise(answer)]
    if not places:
        return "it is a part of a word"
    is_sure = all(is_meant(words, place, language, Reach.CLAUSE) for place in places)
    if not (is_sure and all(undisturbed(words, places, language))):
        return "other words speak against it"
    inside = {place for first, end in places for place in range(first, end)}
    for first in range(len(words)):
        for end in range(first + 1, min(first + 2, len(words)) + 1):
            if not inside.isdisjoint(range(first, end)):
                continue
            turn.counted.readings += 1
            if turn.counted.readings > MOST_READINGS:
                return "the message is too long"
            if question.read(_piece(words, first, end)) not in (None, result):
                return "the message has another answer"
    return ""


def in_words(found: Mapping[str, str]) -> str:
    """The answers that were found, for the trace: ``answers size "large", cups "two"``."""
    shown = ", ".join(f'{step} "{_shown(piece)}"' for step, piece in found.items())
    return f"answers {shown or 'no slot'}"


def _shown(piece: str) -> str:
    return visible(clip(piece, MOST_NOTED))


def answered(turn: TurnContext, step: str, piece: str) -> LeaveStep | None:
    """The outcome of answering a question before it is asked; None if the text is no answer."""
    question = _Question.of(turn, step)
    return None if question is None else question.answered(piece)


@immutable
class _Found:
    """An answer that a question has found: its place among the words; ``is_whole``: these words say nothing else."""

    first: int
    end: int
    answer: LeaveStep | WaitHere
    is_whole: bool


@immutable
class _Question:
    """A question as if it had been asked."""

    kind: StepKind
    context: StepContext
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, turn: TurnContext, step: str) -> "_Question | None":
        """A question of the active flow; None if its choices cannot be made now. Its text may need earlier answers."""
        kind = turn.flow.steps[step].kind
        context = replace(turn.step_context(), step=step, step_state={}, waits=None)
        try:
            asked = kind.enter(context)
        except BotError:
            has_choices = not isinstance(kind, AskStep) or kind.choices is not None
            return None if has_choices else cls(kind, context, ())
        if not isinstance(asked, WaitHere):
            return None
        known = turn.frame.step_state if step == turn.frame.step else {}  # what the contact is asked about
        return cls(kind, replace(context, step_state={**asked.step_state, **known}), asked.messages)

    @property
    def words(self) -> str:
        """The question and its choices, as they would be sent."""
        return "\n".join(in_plain_text(message) or message_in_words(message) for message in self.messages)

    @property
    def phrases(self) -> tuple[str, ...]:
        """The texts of its choices."""
        return (self.kind.phrases(self.context) or ()) if isinstance(self.kind, AskStep) else ()

    def read(self, piece: str) -> StepResult | None:
        """The result of a piece of a message: an answer, or a question that goes on waiting; None if it is neither."""
        try:
            result = self.kind.answer(self.context, Reply(piece))
        except BotError:
            return None
        return None if isinstance(result, LeaveStep) and result.outcome == "skip" else result

    def answered(self, piece: str) -> LeaveStep | None:
        """The outcome of an answer; None if the text is no answer."""
        result = self.read(piece)
        return result if isinstance(result, LeaveStep) else None

    def only_answer(self, turn: TurnContext, words: Sequence[str], left: Sequence[int]) -> "_Found | None":
        """The only answer in the words that are left. None if there are none or two, or if it would ask back."""
        rest, language, counts = [words[place] for place in left], turn.contact_language, _counts(turn.step)
        may_answer = self.may_answer(rest)
        if not may_answer(0, len(rest)):
            return None
        whole = self.read(_piece(rest, 0, len(rest)))
        if isinstance(whole, LeaveStep | WaitHere):
            return _Found(*self.without_edges(rest, 0, len(rest), whole), whole, is_whole=True)
        found: _Found | None = None
        for length in range(min(MOST_OF_ONE, len(rest)), 0, -1) if whole is None else ():
            for first in range(len(rest) - length + 1):
                end = first + length
                divided = left[end - 1] - left[first] >= length
                if divided or (found is not None and found.first < end and first < found.end):
                    continue
                if not may_answer(first, end) or (not counts and _counts_something(rest, first, end, language)):
                    continue
                turn.counted.readings += 1
                result = self.read(_piece(rest, first, end))
                if isinstance(result, LeaveStep | WaitHere) and found is None:
                    found = _Found(*self._with_all_values(rest, first, end, result), result, is_whole=False)
                elif result is not None and (found is None or result != found.answer):
                    return None
        return found if turn.counted.readings <= MOST_READINGS else None

    def may_answer(self, words: Sequence[str]) -> Callable[[int, int], bool]:
        """A test for pieces of these words: False if the piece cannot be an answer, because it has neither a value nor
        a word of the choices, or begins or ends with a word that is part of neither, so that a shorter piece is the
        same answer.
        """
        phrases = self.kind.phrases(self.context) if isinstance(self.kind, AskStep) else None
        if phrases is None:
            return lambda first, end: True
        language = self.context.contact_language
        known = {word for phrase in phrases for word in normalise(phrase).split()}
        together = [normalise(phrase).replace(" ", "") for phrase in phrases]
        close = isinstance(self.kind, AskStep) and self.kind.choices is not None and self.kind.choices.how == CLOSE
        named = [_is_named(word, known, together, close=close) for word in words]
        tells = [is_named or may_be_value(word, language) for is_named, word in zip(named, words, strict=True)]
        edges = [is_told or may_be_edge(word, language) for is_told, word in zip(tells, words, strict=True)]

        def may_answer(first: int, end: int) -> bool:
            is_whole = end - first == len(words)
            return any(tells[first:end]) and (is_whole or (edges[first] and edges[end - 1]))

        return may_answer

    def without_edges(self, words: Sequence[str], first: int, end: int, answer: StepResult) -> tuple[int, int]:
        """The place of an answer among these words, without the words at its ends that do not change it. Those behind
        it that speak against a shorter one stay: "five of us".
        """
        last = end
        while end - first > 1 and self.read(_piece(words, first, end - 1)) == answer:
            end -= 1
        if end < last and has_word(_piece(words, end, last), (Kind.AGAINST,), self.context.contact_language):
            end = last
        while end - first > 1 and self.read(_piece(words, first + 1, end)) == answer:
            first += 1
        return first, end

    def measures_another(self, words: Sequence[str], first: int, end: int) -> bool:
        """True if a word beside a number makes a measure of it that is not asked for: "10 km", "at 3"."""
        with_me = phrase_pattern("with me").search(normalise(" ".join(words[end : end + 3])))
        said = " ".join(words[max(first - 1, 0) : end + (3 if with_me else 1)])
        return isinstance(self.kind, AskStep) and self.kind.measures_another(self.context, said)

    def is_told_as_allergy(self, words: Sequence[str], first: int) -> bool:
        """True for a choice behind "allergic to", unless the question asks for that."""
        told = phrase_pattern("allergic")
        is_told = told.search(normalise(" ".join(words[:first]))) is not None
        return is_told and told.search(normalise(f"{self.words} to")) is None

    def _with_all_values(self, words: Sequence[str], first: int, end: int, answer: StepResult) -> tuple[int, int]:
        """The place of an answer among these words, without other words at its ends, but with the values beside it that
        say the same: "Friday 10 May".
        """
        first, end = self.without_edges(words, first, end, answer)
        language = self.context.contact_language
        wider = [
            (start, stop)
            for start in range(max(end - MOST_OF_ONE, 0), first + 1)
            for stop in range(end, min(start + MOST_OF_ONE, len(words)) + 1)
            if _is_of_time(words[start], language) and _is_of_time(words[stop - 1], language)
        ]
        wider.sort(key=lambda place: place[0] - place[1])
        same = (place for place in wider if self.read(_piece(words, *place)) == answer)
        return next(same, (first, end))

    def has_another(self, words: Sequence[str], end: int, used: set[int], answer: LeaveStep) -> bool:
        """True if a different answer follows, behind one word or behind several that correct: "Friday or Saturday",
        "2, no wait, 3".
        """
        language = self.context.contact_language
        for start in range(end + 1, min(end + 1 + _MOST_BETWEEN, len(words))):
            if start > end + 1 and not has_word(_piece(words, end, start), _CORRECTING, language):
                continue
            for stop in range(start + 1, min(start + _FURTHER, len(words) + 1)):
                if used.isdisjoint(range(start, stop)):
                    other = self.answered(_piece(words, start, stop))
                    if other is not None and other != answer:
                        return True
        return False


class _SlotSearch:
    """Looks in the words of a message for answers to the active flow's slots.

    ``found`` are the places of the answers, by step, and ``used`` their words. The words in ``unsure`` may mean an
    answer to a step or not, so no part of them is taken.
    """

    def __init__(self, turn: TurnContext, words: Sequence[str]) -> None:
        self.found: dict[str, tuple[int, int]] = {}
        self.used: set[int] = set()
        self._turn, self._words, self._language = turn, words, turn.contact_language
        waiting = None if turn.frame.waits is None else turn.known_step
        self._shows_choices = waiting is not None and waiting.facts.choices_alone
        told = (step for step in turn.flow.slots if step not in turn.flow.free_slots)
        self._questions = {step: each for step in told if (each := _Question.of(turn, step)) is not None}
        self._unsure: dict[str, set[int]] = {step: set() for step in self._questions}
        self._answers: dict[str, LeaveStep] = {}

    def pieces(self) -> Iterator[tuple[str, int, int]]:
        """The pieces that may answer a step, the longest first. Each depends on what was found in those before it."""
        may_answer = {step: question.may_answer(self._words) for step, question in self._questions.items()}
        for length in range(min(MOST_OF_ONE, len(self._words)), 0, -1):
            for step in self._questions:
                for first in range(len(self._words) - length + 1):
                    if may_answer[step](first, first + length) and self._is_free(step, range(first, first + length)):
                        yield step, first, first + length

    def _is_free(self, step: str, place: range) -> bool:
        """True if no word is used or unsure. A second answer to a step is a choice, or stands behind "and"."""
        first = place.start
        if step in self.found and not (self._chooses(step) or (first and normalise(self._words[first - 1]) in AND)):
            return False
        return self.used.isdisjoint(place) and self._unsure[step].isdisjoint(place)

    def _chooses(self, step: str) -> bool:
        return self._turn.flow.steps[step].facts.choices_alone

    def read(self, step: str, first: int, end: int) -> bool:
        """Read a piece as an answer to a step. False if the message has two answers to it."""
        piece = _piece(self._words, first, end)
        answer = self._questions[step].read(piece) if len(piece) <= LONGEST else None
        if isinstance(answer, LeaveStep):
            return self._accept(step, first, end, answer)
        if isinstance(answer, WaitHere):
            self._unsure[step].update(range(first, end))
        return True

    def _accept(self, step: str, first: int, end: int, answer: LeaveStep) -> bool:
        words, language, question, chooses = self._words, self._language, self._questions[step], self._chooses(step)
        place = question.without_edges(words, first, end, answer)
        if chooses:
            own = (at + 1 for at in range(place[1], end) if normalise(words[at]) in self._named)
            place = place[0], max((place[1], *own))
            if (
                not is_meant(words, place, language, Reach.BESIDE)
                or question.is_told_as_allergy(words, place[0])
                or not _is_itself(words, place[1], self._named, language)
            ):
                self._unsure[step].update(range(*place))  # a part of it is not meant either
                return True
        if self._shows_choices and step != self._turn.frame.step and _may_be_row(_piece(words, *place), language):
            self._unsure[step].update(range(first, end))
            return True
        if step in self.found:
            return chooses and answer == self._answers[step]
        if _counts(self._turn.flow.steps[step]) and (
            _may_be_time(words, *place, language)
            or _is_label(words, place[0], self._named, language)
            or question.measures_another(words, *place)
        ):
            return True
        if _counts(self._turn.flow.steps[step]) and _is_summand(words, place[1], language):
            return False
        if question.has_another(words, place[1], self.used, answer):
            self._unsure[step].update(range(place[0], place[1] + _FURTHER))
            return not chooses
        self.found[step], self._answers[step] = place, answer
        self.used.update(range(*place))
        return True

    @cached_property
    def _named(self) -> frozenset[str]:
        """The words of the choices of the questions, and those that start the flow."""
        starts = () if self._turn.flow.trigger is None else (word for word, _ in self._turn.flow.trigger.words)
        asked = (phrase for question in self._questions.values() for phrase in question.phrases)
        return frozenset(word for phrase in (*starts, *asked) for word in normalise(phrase).split())

    def sure(self) -> dict[str, str]:
        """Drop each "one" that stands for a thing. Return the answers that nothing else speaks against, by step."""
        words, language = self._words, self._language
        self.found = {
            step: place for step, place in self.found.items() if not _is_the_one(words, *place, self.used, language)
        }
        doubtful = {place for places in self._unsure.values() for place in places} - self.used
        sure = undisturbed(words, [*self.found.values(), *((place, place + 1) for place in doubtful)], language)
        return {
            step: _piece(words, *place)
            for (step, place), is_sure in zip(self.found.items(), sure, strict=False)
            if is_sure or self._chooses(step)  # of which no number beside it makes another
        }


def _is_named(word: str, known: Collection[str], together: Iterable[str], *, close: bool) -> bool:
    """True if a word may be one of a choice's, perhaps written together; of words that a sign divides, each must be."""
    for part in normalise(word).split():
        if part in known or singular(part) in known or not is_spaced(part):
            return True
        if len(part) > 1 and any(part in phrase for phrase in together):
            return True
        if close and any(is_slip(part, other) for other in known):
            return True
    return False


def _piece(words: Sequence[str], first: int, end: int) -> str:
    return " ".join(words[first:end]).strip(_EDGES)


def answered_before(turn: TurnContext, steps: Iterator[str]) -> list[str]:
    """The questions among these whose variable has a value already: their answer is corrected."""
    values = turn.library.values_of(turn.frame, turn.session, turn.now)
    return [step for step in steps if values.get(turn.flow.steps[step].options.save or "") is not None]


def as_answered(turn: TurnContext, steps: Collection[str]) -> dict[str, str]:
    """The slots among these steps that were answered before, each with its value as the contact may write it."""
    values, scope = turn.library.values_of(turn.frame, turn.session, turn.now), turn.scope()
    answers = {}
    for name in (name for name in turn.flow.slots if name in steps):
        value = values.get(turn.flow.steps[name].options.save or "")
        if value is not None:
            answers[name] = str(turn.flow.steps[name].kind.title_of(value, scope) or value)
    return answers
