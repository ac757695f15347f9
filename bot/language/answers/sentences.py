"""Sentences with several answers: whether the other words of a sentence make something else of an answer."""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.tokens import split
from bot.language.answers.words import PIECES, Kind, Mark, Words, words_of
from bot.language.source.languages import ENGLISH
from bot.language.source.word_matching import contains, is_spaced, normalise

_WORD = lazy_pattern(r"\S+(?:[^\S\n]*\n)?")
ENDS_CLAUSE = (",", ".", ";", ":", "!", "?", "،", "؛", "؟", "।", "\n")
_VALUES = frozenset({
    Kind.NUMBER, Kind.MULTIPLE, Kind.FRACTION, Kind.ADDED, Kind.BEFORE_NUMBER, Kind.ORDINAL, Kind.MONTH, Kind.WEEKDAY, Kind.DAY, Kind.TIME,
})  # fmt: skip
_RELATIVE = frozenset({Kind.DAY, Kind.DAY_PART})
_COUNTING = frozenset({Kind.NUMBER, Kind.COUNT})
_PASSED = frozenset({Kind.HARMLESS, Kind.AGAINST, Kind.BETWEEN, Kind.AROUND_TITLE, Kind.BEFORE_TIME})
_BESIDE = frozenset({Kind.PERIOD, Kind.POINT, Kind.MINUS})
_NO = frozenset({Kind.DENIAL, Kind.NO})
_NO_MORE = frozenset({*_NO, Kind.HARMLESS})
_ASKS = ("?", "؟")
_SHORT_NO = 2  # words, of which the first denies: "not really"
_SPREAD = (Kind.AGAINST, Kind.DENIAL, Kind.SUPPOSED, Kind.NO)


class Reach(IntEnum):
    """How far a word that speaks against an answer may be from it, in the same clause. Each reaches as far as those
    above it, and further.

    The more a sentence may say beside the answer, the nearer the word must be: ``no milk for 2`` answers one question
    about milk and another for a number, but is no answer to a question for milk alone.
    """

    BEFORE = 1  # before it, with harmless words between them. For the words of a topic: "don't want to order"
    BESIDE = 2  # or right behind it. For one of several answers: "2 or 3", but not "no milk for 2"
    UP_TO = 3  # or anywhere before it. For a choice whose details follow: "an appointment, but not today"
    CLAUSE = 4  # or anywhere behind it, or alone in the next clause. For the only answer of a message: "cake? no"


def is_meant(
    words: Sequence[str], span: tuple[int, int], language: str | None, reach: Reach, *, by: Kind = Kind.AGAINST
) -> bool:
    """True if no denial, alternative or comparison within reach speaks against an answer, a span of a sentence.

    ``by`` says that only words of this kind do.
    """
    return _all_meant(_Sentence(words, [span], language), reach, by)[0]


def is_supposed(words: Sequence[str], span: tuple[int, int], language: str | None) -> bool:
    """True if the words right before an answer say that it was hoped for, or may be: "it would be good to ..."."""
    before = span[0] - 1
    in_clause = before >= 0 and not words[before].endswith(ENDS_CLAUSE)
    return in_clause and Kind.SUPPOSED in _kinds(tuple(words), language)[before]


def denials_in(words: Sequence[str], language: str | None) -> list[int]:
    """The places of the words of a sentence that deny something: no, nobody, hardly."""
    found = _kinds(tuple(words), language)
    return [place for place, kinds in enumerate(found) if Kind.DENIAL in kinds]


def undisturbed(words: Sequence[str], spans: Sequence[tuple[int, int]], language: str | None) -> list[bool]:
    """For each of several answers, whether no word beside it speaks against it, and no further number or day either:
    "12 may" for a number.
    """
    sentence = _Sentence(words, spans, language)
    meant = _all_meant(sentence, Reach.BESIDE)
    beside: set[int | None] = set()
    for place, found in enumerate(sentence.kinds):
        if (found & _VALUES or found & _BESIDE) and not sentence.is_time(place):
            beside |= {sentence.before(place), sentence.changed_behind(place)}
        if Kind.DENIAL in found:
            beside.add(sentence.denied_before(place))
        if sentence.counts_from_before(place):
            beside |= {sentence.owner[at] for at in range(place) if at in sentence.owner}
    return [is_meant and index not in beside for index, is_meant in enumerate(meant)]


class _Sentence:
    """The words of a sentence: which answer, clause and kinds each has. Words of answers have no kinds."""

    def __init__(self, words: Sequence[str], spans: Sequence[tuple[int, int]], language: str | None) -> None:
        self.words, self.spans = words, spans
        self.owner = {place: index for index, (first, end) in enumerate(spans) for place in range(first, end)}
        self.clauses = _clauses(words)
        self.said = _kinds(tuple(words), language)
        self.kinds = [frozenset[Kind]() if place in self.owner else kinds for place, kinds in enumerate(self.said)]

    def counts_from_before(self, place: int) -> bool:
        """True for the last word of a clause that counts from a day named before: "it is Friday, so the day before"."""
        is_last = self.clauses[place : place + 2] != [self.clauses[place]] * 2
        return is_last and place > 0 and Kind.AGAINST in self.kinds[place] and Kind.PERIOD in self.kinds[place - 1]

    def is_time(self, place: int) -> bool:
        """True for a time of day, which changes no day beside it: the "8" in "Friday 8 pm"."""
        behind = place + 1 if self.clauses[place : place + 2] == [self.clauses[place]] * 2 else place
        return Kind.NUMBER in self.kinds[place] and Kind.PART in self.kinds[place] | self.kinds[behind]

    def before(self, place: int) -> int | None:
        """The answer of the clause right before a word."""
        return self.owner.get(place - 1) if place and self.clauses[place - 1] == self.clauses[place] else None

    def denied_behind(self, place: int) -> bool:
        """True if the clause behind a word's clause says nothing but no: "good? no" and "good, I don't", but not "good,
        no?" and "good, not for me".
        """
        clause = self.clauses[place] + 1
        behind = [at for at, other in enumerate(self.clauses) if other == clause]
        said = [self.kinds[at] for at in behind]
        says_no = bool(said) and bool(said[-1] & _NO or (said[0] & _NO and len(said) == _SHORT_NO))
        says_no = says_no and all(kinds & _NO_MORE and not kinds & _VALUES for kinds in said)
        return says_no and not self.words[behind[-1]].endswith(_ASKS)

    def denied_before(self, place: int) -> int | None:
        """The day or number before a denial that has nothing else to deny: "tomorrow I can't", not "2 and no sugar"."""
        first = next((at for at in range(place, 0, -1) if self.owner.get(at - 1) is not None), 0)
        end = next(
            (at for at in range(place, len(self.words)) if self.clauses[at] != self.clauses[place]), len(self.words)
        )
        around = [self.kinds[at] for at in range(first, end) if at != place]
        is_value = first > 0 and bool(self.said[first - 1] & _VALUES) and self.clauses[first - 1] == self.clauses[place]
        return self.owner[first - 1] if is_value and all(kinds & _NO_MORE for kinds in around) else None

    def changed_behind(self, place: int) -> int | None:
        """The next answer behind a word of a value, which that may change: "2" in "2 May", but not in "2 tonight" and
        "for 2 on Friday".
        """
        found = self.behind(place, over_harmless=bool(self.kinds[place] & _VALUES))
        if found is None or not self.kinds[place] <= _COUNTING | {Kind.AROUND_TITLE}:
            return found
        first, end = self.spans[found]
        named = self.said[first] if end - first == 1 else frozenset[Kind]()
        is_other = bool(named & _RELATIVE) or (Kind.WEEKDAY in named and first > place + 1)
        return None if is_other else found

    def behind(self, place: int, *, over_harmless: bool) -> int | None:
        """The next answer of the clause behind a word: right behind it, or else after harmless words."""
        for at in range(place + 1, len(self.kinds)):
            if self.clauses[at] != self.clauses[place]:
                return None
            if at in self.owner:
                return self.owner[at]
            if not (over_harmless and self.kinds[at] & _PASSED):
                return None
        return None


def _all_meant(sentence: _Sentence, reach: Reach, by: Kind = Kind.AGAINST) -> list[bool]:
    against: set[int | None] = set()
    if reach is Reach.CLAUSE:
        against |= {index for index, (_, end) in enumerate(sentence.spans) if sentence.denied_behind(end - 1)}
    for place, found in enumerate(sentence.kinds):
        if by in found:
            against.add(sentence.behind(place, over_harmless=True))
            if reach >= Reach.BESIDE:
                against.add(sentence.before(place))
            for index, (first, end) in enumerate(sentence.spans):
                far = Reach.UP_TO if place < first else Reach.CLAUSE
                last = end - 1 if place >= end else first
                if reach >= far and sentence.clauses[place] == sentence.clauses[last]:
                    against.add(index)
    return [index not in against for index in range(len(sentence.spans))]


def is_denied(text: str, phrase: str, language: str | None) -> bool:
    """True if the word before a phrase, apart from harmless ones, speaks against it: "I don't want to order"."""
    words = words_in(text)
    span = place_of(phrase, words)
    return span is not None and not is_meant(words, span, language, Reach.BEFORE)


def is_told(text: str, phrase: str, language: str | None) -> bool:
    """True if a "was" stands right behind a phrase, or later in a clause that begins with it or one word before it;
    or if a "loved" stands at most two words before it.

    "The coffee was great", "the cake that we fetched was frozen" and "we loved the cake" tell, and order nothing.
    """
    words = words_in(text)
    span = place_of(phrase, words)
    if span is None:
        return False
    kinds = _kinds(tuple(words), language)
    before = range(max(span[0] - 2, 0), span[0])
    ended = max((at + 1 for at in before if words[at].endswith(ENDS_CLAUSE)), default=0)
    if any(Kind.ENJOYED in kinds[at] for at in before if at >= ended):
        return True
    if words[span[1] - 1].endswith(ENDS_CLAUSE):
        return False
    begins = span[0] < 2 or words[span[0] - 2].endswith(ENDS_CLAUSE)
    end = next((at + 1 for at in range(span[1], len(words)) if words[at].endswith(ENDS_CLAUSE)), len(words))
    return any(Kind.PAST in found for found in kinds[span[1] : end if begins else span[1] + 1])


def words_in(text: str) -> list[str]:
    """The words of a text; the last of each line ends with the line."""
    return _WORD.findall(text)


def places_of(phrase: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The places of a normalised phrase among the words of a sentence."""
    start = 0
    while (span := place_of(phrase, words[start:])) is not None:
        yield start + span[0], start + span[1]
        start += span[1]


def place_of(phrase: str, words: Sequence[str]) -> tuple[int, int] | None:
    """The first place of a normalised phrase among the words of a sentence."""
    count = range(1, len(words) + 1)
    end = next((end for end in count if contains(normalise(" ".join(words[:end])), phrase)), None)
    if end is None:
        return None
    return max(first for first in range(end) if contains(normalise(" ".join(words[first:end])), phrase)), end


@lru_cache(maxsize=4096)
def may_be_value(word: str, language: str | None) -> bool:
    """True if a word may be in a number, a day or a time, in the language or in English: no other word makes one."""
    return any(_is_of(word, words, _of_values(words.language)) for words in _both(language))


@lru_cache(maxsize=4096)
def may_be_edge(word: str, language: str | None) -> bool:
    """True if a number, a day or a time may begin or end with a word: "in two weeks"."""
    return may_be_value(word, language) or any(
        _is_of(word, words, words.dates.words | words.clock.words | _of_people(words.language))
        for words in _both(language)
    )


def begins_span(word: str, language: str | None) -> bool:
    """True if a word of the language stands before so many days or minutes to come: "in 10 minutes"."""
    words = words_of(language)
    return any(
        pattern.elements[:2] == (token, "{n}")
        for token in split(word, words.spelling).tokens
        for pattern in words.dates.by_word.get(token, ())
    )


def _both(language: str | None) -> tuple[Words, ...]:
    own = words_of(language)
    return (own,) if own.language == ENGLISH else (own, words_of(ENGLISH))


def _is_of(word: str, words: Words, known: frozenset[str]) -> bool:
    tokens = split(word, words.spelling).tokens
    joined = words.joined and any(token.startswith(tuple(_pieces(words.language))) for token in tokens)
    return joined or any(token in known or not token.isalpha() or not is_spaced(token) for token in tokens)


OF_TIMES = frozenset({
    Kind.ORDINAL, Kind.MONTH, Kind.WEEKDAY, Kind.DAY, Kind.DAY_PART, Kind.PERIOD, Kind.PART, Kind.TIME, Kind.TIME_OF_12,
    Kind.HOUR,
})  # fmt: skip
"""The kinds of words in days and times, numbers aside."""
_OF_VALUES = OF_TIMES | {
    Kind.NUMBER, Kind.COUNT, Kind.MULTIPLE, Kind.FRACTION, Kind.ADDED, Kind.TEEN, Kind.NOW, Kind.COMPANION,
}  # fmt: skip


@lru_cache(maxsize=64)
def _of_values(language: str) -> frozenset[str]:
    """The words of all numbers, days and times; of a phrase those that are not harmless alone: "day after tomorrow"."""
    phrases = [phrase for found in words_of(language).phrases.values() for phrase in found]
    harmless = {tokens[0] for tokens, kind, _ in phrases if kind is Kind.HARMLESS and len(tokens) == 1}
    valued = [{*tokens} for tokens, kind, _ in phrases if kind in _OF_VALUES]
    return frozenset(token for tokens in valued for token in (tokens - harmless or tokens))


@lru_cache(maxsize=64)
def _of_people(language: str) -> frozenset[str]:
    """The words of people who are named one by one: "my mother and me"."""
    phrases = (phrase for found in words_of(language).phrases.values() for phrase in found)
    return frozenset(token for tokens, kind, _ in phrases if kind in (Kind.MYSELF, Kind.COMPANION) for token in tokens)


@lru_cache(maxsize=64)
def _pieces(language: str) -> frozenset[str]:
    """The words that begin numbers which are written together."""
    phrases = (phrase for found in words_of(language).phrases.values() for phrase in found)
    return frozenset(tokens[0] for tokens, kind, _ in phrases if kind in PIECES)


def _clauses(words: Sequence[str]) -> list[int]:
    """The number of the clause that each word is in."""
    found, number = [], 0
    for word in words:
        found.append(number)
        number += word.endswith(ENDS_CLAUSE)
    return found


@lru_cache(maxsize=64)
def _kinds(words: tuple[str, ...], language: str | None) -> Sequence[frozenset[Kind]]:
    """The kinds of what each word says, in the language or, where that does not know it, in English.

    They are remembered, because one turn looks for several answers in the same text.
    """
    clauses = _clauses(words)
    found = _kinds_in(words, clauses, words_of(language))
    if all(found) or words_of(language).language == ENGLISH:
        return found
    english = _kinds_in(words, clauses, words_of(ENGLISH))
    return [own or other for own, other in zip(found, english, strict=True)]


def _kinds_in(words: Sequence[str], clauses: Sequence[int], known: Words) -> list[frozenset[Kind]]:
    """The kinds of each word in one language, alone and in phrases that may speak against an answer: "order number"."""
    pieces = [split(word, known.spelling).tokens for word in words]
    tokens = [token for piece in pieces for token in piece]
    owner = [place for place, piece in enumerate(pieces) for _ in piece]
    clause_of = [clauses[place] for place in owner]
    found: list[set[Kind]] = [set() for _ in words]
    harmless = range(0)
    for index, token in enumerate(tokens):
        place = owner[index]
        marks = known.marks(tokens, index)
        if index not in harmless:
            end = next((end for end, kind, _ in marks if kind is Kind.HARMLESS), index)
            harmless = range(index, end) if clause_of[end - 1] == clause_of[index] else range(0)
        marks = [mark for mark in marks if not _lies_within(index, mark, marks, harmless)]
        alone = {kind for end, kind, _ in marks if owner[end - 1] == place}
        if token[0].isdigit():
            alone.add(Kind.NUMBER)
        if (token in known.dates.words or token in known.clock.words) and Kind.HARMLESS not in alone:
            alone.add(Kind.PERIOD)  # "next" before Friday
        found[place] |= alone
        for end, kind, _ in marks:
            if kind in _SPREAD and clause_of[end - 1] == clauses[place]:
                for at in range(place, owner[end - 1] + 1):
                    found[at].add(kind)
    return [frozenset(kinds) for kinds in found]


def _lies_within(index: int, mark: Mark, marks: Sequence[Mark], harmless: range) -> bool:
    """True for a word that speaks against an answer, denies nothing, and is a part of a harmless phrase: the "if" in
    "if possible".
    """
    end, kind, _ = mark
    is_part = end - index < len(harmless) and index in harmless and end <= harmless.stop
    return kind is Kind.AGAINST and is_part and all((end, Kind.DENIAL) != other[:2] for other in marks)
