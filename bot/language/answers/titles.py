"""Finds the title that a text means, also by a number in the title, or within a sentence."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import date, datetime, time, tzinfo
from decimal import Decimal
from functools import lru_cache, partial
from typing import Any, TypeVar

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.numbers import number_at
from bot.language.answers.phrases import all_phrases
from bot.language.answers.readers import Reading, read_date, read_moment, read_time
from bot.language.answers.segments import Segment, TokenizedText, covered, in_each_language, says_nothing, written
from bot.language.answers.stated_values import PRICES, stated_as
from bot.language.answers.topics import is_question, topics_in
from bot.language.answers.words import Kind, Mark, words_of
from bot.language.expressions.formats import country_names
from bot.language.source.languages import ENGLISH
from bot.language.source.wall_clock import read_clock
from bot.language.source.word_matching import has_plural, normalise

Number = TypeVar("Number", int, Decimal)
_STRICT = frozenset("<>≤≥")
_SET_OFF = lazy_pattern(r"[,;:(–—-]")


def number_in(text: str, language: str | None) -> tuple[Decimal, frozenset[str]] | None:
    """The only number that a text says, and the words beside it that may be those of a title."""

    def read(text: TokenizedText) -> tuple[Decimal, frozenset[str]] | None:
        found: list[Decimal] = []
        others: set[str] = set()
        index = 0
        while index < text.length:
            number = number_at(text.tokens, text.marks, index, text.words, True)
            if number is not None:
                found.append(number[2])
                index = number[0]
                continue
            if any(kind is Kind.AGAINST for _, kind, _ in text.marks[index]):
                return None
            end = next(text.ends_of(index, Kind.HARMLESS, Kind.AROUND_TITLE), None)
            if end is None:
                others.add(text.tokens.tokens[index])
            index = end or index + 1
        return (found[0], frozenset(others)) if len(found) == 1 else None

    return in_each_language(text, language, read)


def with_number(number: Decimal, others: frozenset[str], titles: Sequence[str], language: str | None) -> list[int]:
    """The titles that have a number, and these words beside it; none where a title compares with it: ``< 18``."""
    found: list[int] = []
    for index, title in enumerate(titles):
        text = written(title, words_of(language))
        if text is None or not others <= set(text.tokens.tokens):
            continue
        compared = [is_compared for value, is_compared in _numbers_in(text) if value == number]
        if any(compared):
            return []
        found += [index] if compared else []
    return found


def _numbers_in(text: TokenizedText) -> Iterator[tuple[Decimal, bool]]:
    """The numbers that a title has, and whether it only compares with each: ``under 18``."""
    for index, token in enumerate(text.tokens.tokens):
        places = range(max(index - 2, 0), index)
        compared = any(
            text.tokens.tokens[at] in _STRICT or any(kind is Kind.AGAINST for _, kind, _ in text.marks[at])
            for at in places
        )
        if token.isdigit():
            yield Decimal(token), compared
        number = number_at(text.tokens, text.marks, index, text.words, True)
        if number is not None:
            yield number[2], compared


def place_in(text: str, language: str | None) -> int | None:
    """The place in a list that a text names, and nothing else: ``the second one  -> 2``."""

    return in_each_language(text, language, lambda text: only_value(text, partial(place_at, text)))


def only_value(text: TokenizedText, piece_at: Callable[[int], tuple[int, Number | None]]) -> Number | None:
    """The only value among the pieces of a text. ``piece_at`` gives the end of the piece that begins at a token, and
    its value if it has one; the start itself if no piece begins there, and then the text has no value.
    """
    found: list[Number] = []
    index = 0
    while index < text.length:
        end, value = piece_at(index)
        if end == index:
            return None
        found += [] if value is None else [value]
        index = end
    return found[0] if len(found) == 1 else None


def place_at(text: TokenizedText, start: int) -> tuple[int, int | None]:
    """The end of a place, or of words that change nothing; the start where there is something else."""
    places = (Kind.ORDINAL, Kind.PLACE)
    ordinal = next(((end, value) for end, kind, value in text.marks[start] if kind in places), None)
    token = text.tokens.tokens[start]
    if ordinal is None and token.isdecimal() and len(token) < _LONG_PLACE:
        behind = next(text.ends_of(start + 1, Kind.ENDING), None) if start + 1 < text.length else None
        ordinal = None if behind is None else (behind, Decimal(token))
    end = next(text.ends_of(start, Kind.HARMLESS, Kind.AROUND_TITLE), start) if ordinal is None else ordinal[0]
    against = next(text.ends_of(start, Kind.AGAINST), start)
    if against > start and against >= end:
        return start, None
    return end, None if ordinal is None else int(ordinal[1])


_LONG_PLACE = 3  # figures


def extreme_in(text: str, titles: Sequence[str], now: datetime, language: str | None) -> int | None:
    """The title that a text names by its place in an order: the earliest of times or days, the cheapest of prices.

    "The first one" is the earliest or cheapest, too: None where the titles are not in that order. Titles without a
    value do not count.
    """
    named = _meanings_of(text, Kind.EXTREME, language)
    if len(named) != 1 or is_question(text) or "?" in text:
        return None
    name = named.pop()
    for kind, names in _ORDERS:
        said = [_in_order(title, kind, now, language) for title in titles]
        values = [value for value in said if value is not None]
        if len(values) < _FEWEST_IN_ORDER or name not in names:
            continue
        wanted = min(values) if names.index(name) % 2 == 0 else max(values)
        fits = values == sorted(values) if name in _PLACES else name not in _OF_TWO or len(values) == 2
        return said.index(wanted) if fits and values.count(wanted) == 1 else None
    return None


_PLACES = ("first", "last")
_OF_TWO = ("earlier", "later")
_IN_TIME = (*_PLACES, "earliest", "latest", *_OF_TWO)
_ORDERS = (
    ("time", _IN_TIME), ("date", _IN_TIME), ("datetime", _IN_TIME), ("price", (*_PLACES, "cheapest", "dearest"))
)  # fmt: skip
"""The kinds of values that titles may say, and the names of the least and the greatest, in turn."""
_FEWEST_IN_ORDER = 2


def names_last(text: str, language: str | None) -> bool:
    """True if a text names the last of several, and nothing else: "the last one, please"."""
    return _meanings_of(text, Kind.EXTREME, language) == {"last"} and not is_question(text) and "?" not in text


def left_out_of_all(text: str, count: int, language: str | None) -> str | None:
    """The words for what a text leaves out of all ``count`` choices; None if it does not choose all.

    ``left_out_of_all("all but ham", 4, "en")  -> "ham"``, and empty for "everything, please" or "all four".
    """
    words = [] if is_question(text) or "?" in text else normalise(text).split()
    for rest in _beside(words, lambda phrase: is_phrase(phrase, (Kind.EVERYTHING,), language)):
        number = number_in(rest, language)
        if says_nothing(rest, language) or (number is not None and number[0] == count and not number[1]):
            return ""
        for left_out in _beside(rest.split(), all_phrases("all but").__contains__):
            return left_out or None
    return None


def _beside(words: Sequence[str], is_phrase: Callable[[str], bool]) -> Iterator[str]:
    """The words that are left behind a phrase at their beginning, or before one at their end, longest phrase first."""
    for length in range(min(len(words), _LONGEST_PHRASE), 0, -1):
        if is_phrase(" ".join(words[:length])):
            yield " ".join(words[length:])
        elif is_phrase(" ".join(words[-length:])):
            yield " ".join(words[:-length])


_LONGEST_PHRASE = 4  # words


def says_nothing_of_all(text: str, titles: Sequence[str], language: str | None) -> int | None:
    """The only title that stands for none of the others, where a text says that: Nothing of this for "none"."""
    if is_question(text) or not _meanings_of(text, Kind.NOTHING, language):
        return None
    spoken = (written(title, words_of(language)) for title in titles)
    found = [at for at, title in enumerate(spoken) if title is not None and any(title.ends_of(0, Kind.NOTHING))]
    return found[0] if len(found) == 1 else None


def _meanings_of(text: str, kind: Kind, language: str | None) -> set[Any]:
    """The meanings of the phrases of a kind in a text that says nothing else."""

    def read(text: TokenizedText) -> set[Any] | None:
        def pieces(start: int) -> Iterator[Segment]:
            yield from (Segment(start, end, "meant", value) for end, mark, value in text.marks[start] if mark is kind)
            yield from (Segment(start, end, "") for end in text.ends_of(start, Kind.AROUND_TITLE))

        found = next(covered(text, pieces, 4), ())
        return {piece.value for piece in found if piece.kind} or None

    return in_each_language(text, language, read) or set()


def _in_order(title: str, kind: str, now: datetime, language: str | None) -> Any:
    """The value of a kind that a title says."""
    if kind != "price":
        return _said_by(title, kind, now.date(), now.tzinfo, language)
    stated = [each for each in stated_as(title, language or ENGLISH, now.date()) if each.kind == PRICES]
    amounts = [value for each in stated for _, value in each.means if isinstance(value, Decimal)]
    return max(amounts) if len(stated) == 1 else None  # Rp 25.000 may be read as 25, too


def faulty(text: str, titles: Sequence[str], language: str | None) -> int | None:
    """The only title whose thing a text calls wrong: Email, or Another email, for "the email is wrong"."""

    def read(text: TokenizedText) -> int | None:
        if not any(kind is Kind.DEFECT for marks in text.marks for _, kind, _ in marks):
            return None
        said, beside = text.tokens.tokens, _places_of(text, Kind.DEFECT, Kind.HARMLESS, Kind.AROUND_TITLE)
        others = {token for at, token in enumerate(said) if at not in beside}
        things = (_things(title, text) for title in titles)
        found = [index for index, named in enumerate(things) if named and others <= named <= {*said}]
        return found[0] if len(found) == 1 else None

    return in_each_language(text, language, read)


def without_fault(text: str, language: str | None, *, complaints: bool = False) -> str:
    """The text behind a first clause that only calls something wrong: "it's a@b.de" for "wrong mail! it's a@b.de". A
    complaint stays whole, "wrong order, I asked for tea", unless they are looked for, too.
    """
    clause, stop, rest = (*_FIRST_CLAUSE.split(text.strip(), maxsplit=1), "", "")[:3]
    is_short = stop and len(clause.split()) <= _LONGEST_FAULT and (complaints or not topics_in(clause))
    return rest if rest and is_short and has_word(clause, (Kind.DEFECT,), language) else text


_FIRST_CLAUSE = lazy_pattern(r"((?<![,.;:!\n])[,.;:!\n]+\s+)")
_LONGEST_FAULT = 4  # words


def _things(title: str, text: TokenizedText) -> frozenset[str]:
    """The words of a title that name something: day for ``Another day``."""
    name = written(title, text.words)
    if name is None:
        return frozenset()
    named = [at for at in range(name.length) if at not in _places_of(name, Kind.DEFECT)]
    telling = [at for at in named if at not in _places_of(name, Kind.HARMLESS)] or named
    return frozenset(name.tokens.tokens[at] for at in telling)


def _places_of(text: TokenizedText, *kinds: Kind) -> set[int]:
    """The places of all words in phrases of some kinds."""
    return {at for start in range(text.length) for end in text.ends_of(start, *kinds) for at in range(start, end)}


def with_time(text: str, titles: Sequence[str], now: datetime, language: str | None) -> list[int]:
    """The titles that say the time or the day that a text may mean: ``10:30`` for "half past ten"."""
    found: list[int] = []
    for kind, read in (("time", _time), ("date", _date), ("datetime", read_moment)):
        wanted = [_said_by(title, kind, now.date(), now.tzinfo, language) for title in titles]
        values = _values(read(text, now, language)) if any(wanted) else ()
        clocks = _values(_time(text, now, language)) if kind == "datetime" and any(wanted) else ()
        found += [
            index
            for index, value in enumerate(wanted)
            if value is not None and (value in values or (kind == "datetime" and value.time() in clocks))
        ]
    return list(dict.fromkeys(found))


def _values(reading: Reading[Any] | None) -> tuple[Any, ...]:
    return () if reading is None else (reading.value, *reading.others)


_MOST_OF_HOUR = 3  # words


def with_minutes(text: str, language: str | None) -> str:
    """An hour that is a number alone as a time of day; any other text as it is."""
    hour = number_in(text, language) if len(text.split()) <= _MOST_OF_HOUR else None
    return text if hour is None or hour[1] or hour[0] not in range(25) else f"{hour[0]}:00"


@lru_cache(maxsize=1024)
def _said_by(title: str, kind: str, today: date, zone: tzinfo | None, language: str | None) -> Any:
    """The time, the day or both that a title says; None if it says none, or may say several."""
    midnight = datetime.combine(today, time(), zone)
    if kind == "time":
        return read_clock(title) or _sure(_time(title, midnight, language))
    if kind == "date":
        return _sure(_date(title, midnight, language))
    moment = read_moment(title, midnight, language)
    of_a_day = moment is not None and all(other.date() == moment.value.date() for other in moment.others)
    return moment.value if moment is not None and of_a_day else None  # 10:30 is written with the hour of 24


def _sure(reading: Reading[Any] | None) -> Any:
    return None if reading is None or reading.others else reading.value


def _time(text: str, now: datetime, language: str | None) -> Reading[time] | None:
    return read_time(with_minutes(text, language), language)


def _date(text: str, now: datetime, language: str | None) -> Reading[date] | None:
    return read_date(text, now.date(), language)


@lru_cache(maxsize=1024)
def name_in(title: str, language: str | None) -> str | None:
    """The words before the price or number at the end of a title, without an article: beard in ``A beard, 12 €``."""
    text = written(title, words_of(language))
    if text is None:
        return None
    for start in range(1, text.length):
        first = next(text.ends_of(start, Kind.CURRENCY), start)
        if first == text.length or (first == start and not _SET_OFF.search(text.tokens.gap(start))):
            continue
        number = number_at(text.tokens, text.marks, first, text.words, True)
        if number is not None and _is_end(text, number[0]):
            break
    else:
        return None
    begin = 0
    while begin < start - 1 and (end := next(text.ends_of(begin, Kind.HARMLESS), start)) < start:
        begin = end
    if any(kind in (Kind.AGAINST, Kind.NO) for at in range(begin, start) for _, kind, _ in text.marks[at]):
        return None
    return text.tokens.text[text.tokens.starts[begin] : text.tokens.ends[start - 1]]


def _is_end(text: TokenizedText, index: int) -> bool:
    return index == text.length or text.length in text.ends_of(index, Kind.UNIT, Kind.CURRENCY)


def within(text: str, phrases: Sequence[tuple[str, int]], language: str | None) -> int | None:
    """The only value of the phrases that a text names beside words that change nothing: "the large one, please"."""
    named = set(all_within(text, phrases, language, most=8))
    return named.pop() if len(named) == 1 else None


def all_within(
    text: str,
    phrases: Sequence[tuple[str, int]],
    language: str | None,
    *,
    joints: frozenset[str] = frozenset(),
    most: int = 60,
) -> list[int]:
    """The values of the phrases that a text names, in its order, beside words that change nothing; longer ones first.

    ``joints`` are the words that may stand between them: "tea and coffee, please". At most so many pieces are read.
    """

    def read(text: TokenizedText) -> list[int] | None:
        tokens = sorted(((_tokens(phrase, text), value) for phrase, value in phrases), key=lambda item: -len(item[0]))

        def pieces(start: int) -> Iterator[Segment]:
            for phrase, value in tokens:
                if phrase and _is_said(phrase, text.tokens.tokens[start : start + len(phrase)]):
                    yield Segment(start, start + len(phrase), "title", value)
            yield from (Segment(start, end, "") for end in text.ends_of(start, Kind.AROUND_TITLE))
            if text.tokens.tokens[start] in joints:
                yield Segment(start, start + 1, "")

        coverings = covered(text, pieces, most, whole_phrases=False)
        named = ([piece.value for piece in found if piece.kind == "title"] for found in coverings)
        return next(filter(None, named), None)

    return in_each_language(text, language, read) or []


def _is_said(phrase: Sequence[str], words: Sequence[str]) -> bool:
    """True if words are a phrase, the last of them perhaps with the -s of several."""
    if [*words] == [*phrase]:
        return True
    last = words[-1] if words else ""
    several = last in (f"{phrase[-1]}s", f"{phrase[-1]}es")
    return several and has_plural(phrase[-1]) and [*words[:-1]] == [*phrase[:-1]]


def _tokens(phrase: str, text: TokenizedText) -> list[str]:
    found = written(phrase, text.words)
    return [] if found is None else found.tokens.tokens


def telling_words(text: str, language: str | None) -> tuple[str, ...]:
    """The words of a text without harmless words; empty if a word negates something."""
    read = written(text, words_of(language))
    if read is None or any(kind is Kind.AGAINST for marks in read.marks for _, kind, _ in marks):
        return ()
    harmless = _places_of(read, Kind.HARMLESS, Kind.AROUND_TITLE)
    return tuple(token for at, token in enumerate(read.tokens.tokens) if at not in harmless)


def has_word(text: str, kinds: Collection[Kind], language: str | None) -> bool:
    """True if a text has a word of one of these kinds, in the language or in English. A word that begins a longer
    harmless phrase does not count: "how about".
    """
    spoken = (written(text, words_of(known)) for known in dict.fromkeys((language, None)))
    return any(_has(found, kinds) for read in spoken if read is not None for found in read.marks)


def _has(marks: Sequence[Mark], kinds: Collection[Kind]) -> bool:
    longest = max((end for end, kind, _ in marks if kind is Kind.HARMLESS), default=0)
    return any(kind in kinds and end >= longest for end, kind, _ in marks)


def is_known(word: str, language: str | None) -> bool:
    """True for a normalised word in the phrases of the language, or of English: it is no slip of another word."""
    return any(word in _vocabulary(words_of(known).language) for known in (language, None))


@lru_cache(maxsize=64)
def _vocabulary(language: str) -> frozenset[str]:
    phrases = (phrase for found in words_of(language).phrases.values() for phrase in found)
    return frozenset(token for tokens, _, _ in phrases for token in tokens)


def is_yes_or_no(text: str, language: str | None) -> bool:
    """True if a text is a yes or a no in words, in the language or in English."""
    return not any(map(str.isdigit, text)) and is_phrase(text, (Kind.YES, Kind.NO), language)


def is_phrase(text: str, kinds: Collection[Kind], language: str | None) -> bool:
    """True if a text is a phrase of one of these kinds and nothing else, in the language or in English."""
    spoken = (written(text, words_of(known)) for known in dict.fromkeys((language, None)))
    return any(read.length in read.ends_of(0, *kinds) for read in spoken if read is not None)


def refuses_all(text: str, language: str | None) -> bool:
    """True if a text begins by refusing all that is offered: "sorry, none of those work"."""

    def read(text: TokenizedText) -> bool | None:
        start = 0
        while start < text.length and not any(text.ends_of(start, Kind.REFUSAL)):
            start = next(text.ends_of(start, Kind.HARMLESS, Kind.NO), text.length)
        return start < text.length or None

    return bool(in_each_language(text, language, read))


def is_name(word: str, language: str | None) -> bool:
    """True for a word that is a day, a month or a country: a slip of the pen does not make another of it."""
    for known in dict.fromkeys((language, None)):
        text = written(word, words_of(known))
        if (
            text is not None
            and text.length == 1
            and any(
                kind in (Kind.WEEKDAY, Kind.MONTH, Kind.DAY, Kind.NUMBER, Kind.ORDINAL) for _, kind, _ in text.marks[0]
            )
        ):
            return True
    return any(word in _countries(known) for known in (language or ENGLISH, ENGLISH))


@lru_cache(maxsize=32)
def _countries(language: str) -> frozenset[str]:
    return frozenset(map(normalise, country_names(language)))
