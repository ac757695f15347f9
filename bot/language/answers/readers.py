"""The readers of answers: a number, yes or no, a day, a time, a moment, each from all that somebody wrote.

An answer is right or asked again. So every word of it has to be accounted for: it is of the value, or a word that is
known to change nothing of it. Where two people may mean different things by the same words, the answer is unsure.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Generic, TypeVar

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.days import Day, DayReader
from bot.language.answers.numbers import number_at
from bot.language.answers.phrases import phrase_pattern
from bot.language.answers.segments import Segment, TokenizedText, covered, in_each_language, written
from bot.language.answers.times_of_day import ClockReader, TimeOfDay
from bot.language.answers.topics import is_question
from bot.language.answers.words import Kind, Mark, words_of
from bot.language.source.languages import ENGLISH
from bot.language.source.wall_clock import ISO_MOMENT, at_time, later, read_iso, zone_of
from bot.language.source.word_matching import normalise

Value = TypeVar("Value")
_SIMPLE = 15  # figures
_SHORTEST_PHONE = 6  # figures behind the first


@immutable
class Reading(Generic[Value]):
    """The value that an answer means, and the ``others`` that somebody else could mean by the same words."""

    value: Value
    others: tuple[Value, ...] = ()


_UNITS = (Kind.UNIT, Kind.CURRENCY)
_NOTHING = ""
_DOTTED = lazy_pattern(r"[0-9]\.[0-9]")
_ONE_OR_A_THOUSAND = {  # where people of different countries mean different numbers
    language: lazy_pattern(rf"(?<![0-9.,])[1-9][0-9]{{0,2}}{sign}[0-9]{{3}}(?![0-9.,])")
    for language, sign in ((("en", ""), r"\."), (("es", ""), ","))
}
_STRICT_PARTS = ("am", "pm")
_NIGHT = ("evening", "night")
_NOON = 12
_MORNING = 5  # the hour in which a day begins for those who have not slept


def _only(readings: Iterator[Reading[Value] | None], most: int = 4) -> Reading[Value] | None:
    """The reading of the first way in which a text makes sense."""
    for reading, _ in zip(readings, range(most), strict=False):
        if reading is not None:
            return reading
    return None


def prepare(languages: Iterable[str]) -> None:
    """Load the words of these languages and of English, so that no contact waits for it."""
    for language in (*languages, ENGLISH):
        words_of(language)


# numbers


def read_number(text: str, language: str | None = None, *, whole: bool = False) -> Reading[Decimal] | None:
    """The number that somebody wrote, or None. ``whole`` says that a whole number is asked for: 1.000 is a thousand.

    A comma before three digits divides thousands (``1,000``), any other is a decimal comma (``3,5``); a single point
    is a decimal point. In a language with a decimal comma ``1.000`` is a thousand and ``1,000`` is one.
    """
    if text.isdecimal() and text.isascii() and len(text) <= _SIMPLE and not (text[0] == "0" and len(text) > 7):
        return Reading(Decimal(text))

    def read(text: TokenizedText) -> Reading[Decimal] | None:
        def pieces(start: int) -> Iterator[Segment]:
            yield from (Segment(start, end, "number", n) for end, kind, n in text.marks[start] if kind is Kind.COUNT)
            together = _together_at(text, start)
            if together is not None:
                yield Segment(start, together[0], "number", together[1])
            first = next(text.ends_of(start, Kind.CURRENCY), start)
            if first >= text.length or (first > start and text.tokens.gap(start).rstrip().endswith(("-", "−", "–"))):
                return
            number = number_at(text.tokens, text.marks, first, text.words, whole)
            if number is None or _is_code(text, first, number[2]) or _is_article(text, first, number):
                return
            end, _, value = number
            multiple = text.words.unsure_multiples.get(text.tokens.tokens[end]) if end < text.length else None
            if multiple is not None and text.tokens.tokens[end - 1].isdigit():
                yield Segment(start, end + 1, "number", Reading(value * multiple, (value,)))
                return
            for behind in text.ends_of(end, *_UNITS) if end < text.length else ():
                yield Segment(start, behind, "number", value)
            yield Segment(start, end, "number", value)

        for found in covered(text, pieces, 1):
            if found:
                value = found[0].value
                if isinstance(value, Reading):
                    return value
                either = None if whole else _ONE_OR_A_THOUSAND.get((text.words.language, text.words.country))
                return Reading(value, (value * 1000,) if either and either.search(text.tokens.text) else ())
        return None

    return in_each_language(text, language, read)


def _together_at(text: TokenizedText, start: int) -> tuple[int, Decimal] | None:
    """The end of people who are named one by one, and how many they are: ``my wife and me  -> 2``.

    Others are not counted: in "4 adults and 2 kids" the children may not count.
    """
    counts: list[Decimal] = []
    index = start
    while (found := _people_at(text, index)) is not None:
        index, count = found
        counts.append(count)
        if (joint := _behind_joint(text, index)) is None:
            break
        index = joint
    is_whole = found is not None  # "me and" is not all
    return (index, sum(counts, Decimal())) if is_whole and len(counts) > 1 else None


def _people_at(text: TokenizedText, start: int) -> tuple[int, Decimal] | None:
    """``me``, ``my wife`` or ``2 for me``: its end, and how many they are."""
    if start == text.length:
        return None
    alone = next(text.ends_of(start, Kind.MYSELF, Kind.COMPANION), None)
    number = number_at(text.tokens, text.marks, start, text.words, True) if alone is None else None
    if number is None or number[0] == text.length:
        return None if alone is None else (alone, Decimal(1))
    behind = next(text.ends_of(number[0], Kind.HARMLESS), text.length)
    end = next(text.ends_of(behind, Kind.MYSELF, Kind.COMPANION), None) if behind < text.length else None
    return None if end is None else (end, number[2])


def _behind_joint(text: TokenizedText, index: int) -> int | None:
    """The place behind an "and" or a comma; None where there is neither."""
    if index == text.length:
        return None
    joint = next(text.ends_of(index, Kind.BETWEEN_PEOPLE), None)
    return index if joint is None and "," in text.tokens.gap(index) else joint


def counts_time(text: str, language: str | None) -> frozenset[str]:
    """The periods of time that numbers of a text count: ``in 10 min  -> {"minute"}``."""
    return frozenset[str]().union(*map(_counted_periods, _in_both(text, language)))


def _counted_periods(text: TokenizedText) -> set[str]:
    periods = {at: value[1] for at in range(1, text.length) for _, kind, value in text.marks[at] if kind is Kind.PERIOD}
    starts = range(text.length) if periods else ()
    numbers = (number_at(text.tokens, text.marks, start, text.words, True) for start in starts)
    return {periods[number[0]] for number in numbers if number is not None and number[0] in periods}


def asks_for_time(question: str, language: str | None) -> frozenset[str] | None:
    """The periods that a question names, also nights, and years for an age; None if it asks for any, "how long will
    you stay?", or is too long.
    """
    spoken = _in_both(question, language)
    marks = [mark for text in spoken for found in text.marks for mark in found]
    periods = frozenset(value[1] for _, kind, value in marks if kind is Kind.PERIOD)
    if phrase_pattern("measures", "night").search(normalise(question)):
        periods |= {"night"}
    if phrase_pattern("asked measures", "age").search(normalise(question)):
        return periods | {"year"}
    return None if not spoken or any(kind is Kind.LASTING for _, kind, _ in marks) else periods


def _in_both(text: str, language: str | None) -> list[TokenizedText]:
    """A text as the language reads it, and as English does."""
    spoken = (written(text, words_of(known)) for known in dict.fromkeys((language, None)))
    return [found for found in spoken if found is not None]


def _is_code(text: TokenizedText, start: int, value: Decimal) -> bool:
    """True for a phone number, which begins with a plus."""
    return text.tokens.tokens[start] == "+" and value >= 10**_SHORTEST_PHONE


def _is_article(text: TokenizedText, start: int, number: Mark) -> bool:
    """True for a word that may be "one" or "a" before another word: "una cita" is no 1, "una persona" is."""
    end, _, value = number
    kinds = {kind for _, kind, _ in text.marks[start]}
    if value != 1 or end != start + 1 or Kind.ONE not in kinds or end == text.length or text.tokens.gap(end).strip():
        return False
    return not any(kind is Kind.UNIT for _, kind, _ in text.marks[end])


# yes and no


def read_yes_no(text: str, language: str | None) -> Reading[bool] | None:
    """True if a text means yes, False if it means no; None if neither, or both."""

    def read(text: TokenizedText) -> Reading[bool] | None:
        def pieces(start: int) -> Iterator[Segment]:
            for end, kind, _ in text.marks[start]:
                if kind in (Kind.YES, Kind.NO):
                    yield Segment(start, end, "answer", kind is Kind.YES)
                if kind is Kind.FAREWELL and start:
                    yield Segment(start, end, _NOTHING)

        for found in covered(text, pieces, 12):
            said = {piece.value for piece in found if piece.kind}
            return Reading(said.pop()) if len(said) == 1 else None
        return None

    return in_each_language(text, language, read)


def read_side(text: str, language: str | None) -> Reading[bool] | None:
    """The same, also with a reason behind a plain yes or no: "no, I am in London", "better not, my mum is here".

    No word of the reason may be a value, an alternative or a question.
    """
    found = read_yes_no(text, language)
    if found is not None or is_question(text):
        return found
    is_plain = _is_plain(text)

    def read(text: TokenizedText) -> Reading[bool] | None:
        for behind in text.ends_of(0, Kind.YES, Kind.NO):
            said = any(kind is Kind.YES for end, kind, _ in text.marks[0] if end == behind)
            if not is_plain and (said or behind == 1):
                continue
            reasons = (Kind.REASON,) if said else (Kind.REASON, Kind.COMPANION)
            politely = next(text.ends_of(behind, Kind.HARMLESS), behind) if behind < text.length else behind
            for start in (behind, politely):
                begun = next(text.ends_of(start, *reasons), 0) if start < text.length else 0
                if begun:
                    plain = all(_says_no_value(text, at) for at in range(begun, text.length))
                    return Reading(said) if plain else None
        return None

    return in_each_language(text, language, read)


_ELSEWHERE = frozenset({
    Kind.AGAINST, Kind.YES, Kind.NO, Kind.NUMBER, Kind.ORDINAL, Kind.WEEKDAY, Kind.MONTH, Kind.DAY, Kind.DAY_PART, Kind.TIME, Kind.ASKING, Kind.TELLING,
})  # fmt: skip


def _says_no_value(text: TokenizedText, at: int) -> bool:
    """True for a word that is no value, and none that asks or speaks against something. "One" may stand for a thing."""
    marks = ((kind, value) for _, kind, value in text.marks[at] if (kind, value) != (Kind.NUMBER, 1))
    return not text.tokens.tokens[at][0].isdigit() and not any(kind in _ELSEWHERE for kind, _ in marks)


def read_lack(text: str, language: str | None) -> bool:
    """True if a text says that something is missing, and names no value: "I don't have a photo", not "no evenings"."""
    if is_question(text) or "@" in text or phrase_pattern("other days").search(normalise(text)):
        return False

    def read(text: TokenizedText) -> bool | None:
        start = end = 0
        while start < text.length and not (
            end := next(text.ends_of(start, Kind.LACKING), 0) or _behind_no(text, start)
        ):
            start = next(text.ends_of(start, Kind.HARMLESS), text.length)
        clause = next((at for at in range(end + 1, text.length) if "," in text.tokens.gap(at)), text.length)
        names_part = any(kind is Kind.PART for at in range(end, text.length) for _, kind, _ in text.marks[at])
        return end > 0 and clause - end < _MOST_MISSING and not names_part and _says_no_values(text, end)

    return bool(in_each_language(text, language, read))


_MOST_MISSING = 6  # words that name what is missing


def _behind_no(text: TokenizedText, start: int) -> int:
    """The place behind a "no" that a word follows: "no photo"; 0 where it is an answer by itself."""
    longest = max((end for end, kind, _ in text.marks[start] if kind in (Kind.YES, Kind.NO, Kind.AGAINST)), default=0)
    is_no = longest == start + 1 and any(kind is Kind.NO and end == longest for end, kind, _ in text.marks[start])
    if not is_no or longest == text.length or text.tokens.gap(longest).strip():
        return 0
    begins = next(text.ends_of(longest, Kind.HARMLESS, Kind.REASON), longest)
    if begins == longest:
        return longest
    politely = begins < text.length and all(any(text.ends_of(at, Kind.HARMLESS)) for at in range(begins, text.length))
    return longest if politely else 0  # "no email, sorry", but not "no, make it two"


def _says_no_values(text: TokenizedText, start: int) -> bool:
    """True if no word from there on is a value, asks, or speaks against something."""
    while start < text.length:
        now = next(text.ends_of(start, Kind.NOW), 0)
        told = {kind for _, kind, _ in text.marks[start]} & _ELSEWHERE == {Kind.TELLING}
        if not now and not told and not _says_no_value(text, start):
            return False
        start = now or start + 1
    return True


def same_side(text: str, choices: Sequence[Sequence[str]], language: str | None) -> int | None:
    """The only choice, by its title and words, that says yes where a text does, or no.

    For a yes, its title or a word begins so ("Yes, please"), or another title says the opposite: "sure" is With
    pleasure beside Not now.
    """
    said = read_side(text, language)
    if said is None or len(choices) < 2:
        return None
    sides = [_side_of(texts, language) for texts in choices]
    same = [place for place, side in enumerate(sides) if side == said.value]
    opposite = any(side not in (None, said.value) for side in sides)
    by_word = any(read_yes_no(choices[place][0], language) is None for place in same)
    if by_word and len(text.split()) > _MOST_BY_WORD and read_yes_no(text, language) is not None:
        return None  # "no make it coffee" is no Cancel
    is_told = opposite or not said.value or (len(same) == 1 and any(map(_is_plain, choices[same[0]])))
    return same[0] if len(same) == 1 and is_told else None


_MOST_BY_WORD = 3  # words of a yes or a no, but for a reason, where a choice says so by a word and not by its title


def _side_of(texts: Sequence[str], language: str | None) -> bool | None:
    """The side of a choice: by its title, else by a plain yes or no among its words."""
    said = (read_yes_no(text, language) for place, text in enumerate(texts) if place == 0 or _is_plain(text))
    return next((side.value for side in said if side is not None), None)


def denies_own_question(text: str, language: str | None) -> bool:
    """True for a text that asks, and says no to that: "cancel? no, go on"."""
    asked, mark, said = text.rpartition("?")
    first = normalise(said).partition(" ")[0]
    found = read_yes_no(first, language) if mark and first and normalise(asked) else None
    return found is not None and not found.value


def says_both(text: str) -> bool:
    """True if a text has a plain yes and a plain no, in any language: "yes, I have no time"."""
    said = {word in _PLAIN_NO for word in normalise(text).split() if word in _PLAIN}
    return len(said) > 1


def _is_plain(text: str) -> bool:
    return normalise(text).partition(" ")[0] in _PLAIN


_PLAIN_NO = frozenset(normalise("no nope nah tidak não non nein nee hayır нет لا नहीं").split())
_PLAIN = _PLAIN_NO | {*normalise("yes yeah yep ya sí sim oui ja evet да نعم हाँ हां").split()}
""""Yes" and "no" in the languages of `bot.language.source.languages`."""


# days and times


def read_date(text: str, today: date, language: str | None = None, *, past: bool = False) -> Reading[date] | None:
    """The day that a text means, seen from today, or None.

    Without a year it is the next such day, today included; a weekday is the next one after today. Where the ``past``
    is meant, it is the last such day. A weekday beside a date has to be that date's.
    """

    def read(text: TokenizedText, past: bool) -> Reading[date] | None:
        days = DayReader(text.tokens, text.marks, text.words, today, past)

        def pieces(start: int) -> Iterator[Segment]:
            yield from _days(days, start)
            for end, kind, value in text.marks[start]:
                if kind is Kind.DAY_PART:
                    yield Segment(start, end, "day", Day(today + timedelta(days=value[0])))
                if kind in (Kind.PART, Kind.BEFORE_TIME, Kind.BETWEEN):
                    yield Segment(start, end, _NOTHING)

        return _only(_one_day(found) for found in covered(text, pieces, 6, names=True))

    return in_each_language(text, language, lambda text: _in_tense(text, past, read))


def _in_tense(
    text: TokenizedText, past: bool, read: Callable[[TokenizedText, bool], Reading[Value] | None]
) -> Reading[Value] | None:
    """The reading in the tense of the words around it: "I paid Friday" has been, "I booked Friday" may be either."""
    tenses = text.tenses()
    if len(tenses) < 2 and "either" not in tenses:
        return read(text, "past" in tenses if tenses else past)
    found = read(text, past)
    other = None if found is None else read(text, not past)
    if found is None or other is None:
        return found or other
    others = dict.fromkeys((*found.others, other.value, *other.others))
    return Reading(found.value, tuple(value for value in others if value != found.value))


def _one_day(found: Sequence[Segment]) -> Reading[date] | None:
    days = [piece.value for piece in found if piece.kind == "day"]
    return Reading(days[0].day, _known(days[0].other)) if len(days) == 1 else None


def _by_night(found: Sequence[Segment], part: str | None) -> bool:
    return part in _NIGHT or any(piece.kind == "part" and piece.value in _NIGHT for piece in found)


def _known(value: Value | None) -> tuple[Value, ...]:
    return () if value is None else (value,)


def _days(days: DayReader, start: int) -> Iterator[Segment]:
    return (Segment(start, end, "day", day) for end, day in days.days_at(start))


def _times(clock: ClockReader, text: TokenizedText, start: int) -> Iterator[Segment]:
    for end, time_ in clock.times_at(start):
        if not time_.bare or _is_hour(text, start, end, time_.hour):
            yield Segment(start, end, "time", time_)
    for end, kind, value in text.marks[start]:
        if kind is Kind.PART:
            yield Segment(start, end, "part", value)
        if kind is Kind.BEFORE_TIME:
            yield Segment(start, end, _NOTHING)


def _is_hour(text: TokenizedText, start: int, end: int, hour: int) -> bool:
    """True if a number may be an hour by the part of the day beside it: not in "for 4 in the evening"."""
    behind = text.marks[end] if end < text.length else []
    if any(kind is Kind.PART and value in _STRICT_PARTS for _, kind, value in behind):
        return True
    in_part = any(
        (end, kind) == (start, Kind.PART) for at in range(max(start - 3, 0), start) for end, kind, _ in text.marks[at]
    )
    before = text.marks[start - 1] if start and not in_part else []  # after work, 7
    around = any(kind is Kind.HARMLESS for _, kind, _ in before) or (
        any(kind is Kind.HARMLESS for _, kind, _ in behind) and not any(kind is Kind.PART for _, kind, _ in behind)
    )
    return not around and not (hour < _MORNING and any(kind is Kind.UNIT for _, kind, _ in behind))


def read_time(text: str, language: str | None = None) -> Reading[time] | None:
    """The time of day that a text is, or None. A bare number is refused: 3 could be night or afternoon."""

    def read(text: TokenizedText) -> Reading[time] | None:
        clock = ClockReader(text.tokens, text.marks, text.words, dots=True, together=True)

        def pieces(start: int) -> Iterator[Segment]:
            yield from _times(clock, text, start)
            for end, kind, value in text.marks[start]:
                if kind is Kind.DAY_PART and value[0] == 0:  # "tonight"
                    yield Segment(start, end, "part", value[1])
                elif kind is Kind.DAILY:
                    yield Segment(start, end, "")

        found_all = covered(text, pieces, 6, names=True)
        return _only((_one_time(found) for found in found_all), 12)

    return in_each_language(text, language, read)


def _one_time(found: Sequence[Segment]) -> Reading[time] | None:
    clock = _clock_of(found)
    return None if clock is None else Reading(clock.time_of_day, _known(clock.later))


def _are_beside(found: Sequence[Segment]) -> bool:
    """True if a part of the day stands right beside the time: 8 in the evening, but not "for 4 in the evening"."""
    clock = next(piece for piece in found if piece.kind == "time")
    return any(
        piece.kind in ("part", "day part") and clock.start <= piece.end and piece.start <= clock.end for piece in found
    )


def _clock_of(found: Sequence[Segment], part: str | None = None) -> TimeOfDay | None:
    """The time of the pieces, in the part of the day that stands with it."""
    times = [piece.value for piece in found if piece.kind == "time"]
    parts = {piece.value for piece in found if piece.kind == "part"} | ({part} if part else set())
    if len(times) != 1 or len(parts) > 2:
        return None
    said: TimeOfDay = times[0]
    if not parts or (said.bare and not _are_beside(found)):
        return None if said.bare else said
    clocks = [clock for part in parts if (clock := said.at(part)) is not None]
    agree = len(clocks) == len(parts) and len({clock.time_of_day for clock in clocks}) == 1
    return clocks[0] if agree else None


def read_moment(
    text: str, now: datetime, language: str | None = None, *, past: bool = False
) -> Reading[datetime] | None:
    """The day and time that a text means, seen from ``now`` and in its zone, or None. Without a day it is the next such
    time; where the ``past`` is meant, the last.
    """

    def read(text: TokenizedText, past: bool) -> Reading[datetime] | None:
        for dots in (False, True) if _DOTTED.search(text.tokens.text) else (False,):
            reader = _MomentReader(text, now, past, dots)
            found = _only((reader.moment(found) for found in covered(text, reader.pieces, 6, names=True)), 12)
            if found is not None:
                return found
        return None

    try:
        if isinstance(moment := read_iso(text, ISO_MOMENT), datetime):
            here = moment if moment.tzinfo is not None else moment.replace(tzinfo=now.tzinfo)
            return Reading(here.astimezone(UTC).astimezone(now.tzinfo))  # a time that the clocks skip is later then
        return in_each_language(text, language, lambda text: _in_tense(text, past, read))
    except OverflowError:
        return None  # beyond the calendar


class _MomentReader:
    """Reads days together with times."""

    def __init__(self, text: TokenizedText, now: datetime, past: bool, dots: bool) -> None:
        self._text, self._now, self._past, self._dots = text, now, past, dots
        self._days = DayReader(text.tokens, text.marks, text.words, now.date(), past)
        self._clock = ClockReader(text.tokens, text.marks, text.words, dots=dots)

    def pieces(self, start: int) -> Iterator[Segment]:
        """The days, times and parts of the day that begin at a token."""
        yield from (Segment(start, end, "span", span) for end, span in self._days.spans_at(start))
        yield from _days(self._days, start)
        yield from _times(self._clock, self._text, start)
        for end, kind, value in self._text.marks[start]:
            if kind is Kind.DAY_PART:
                yield Segment(start, end, "day part", value)
            elif kind is Kind.NOW:
                yield Segment(start, end, "span", timedelta(0))
            elif kind is Kind.BETWEEN:
                yield Segment(start, end, _NOTHING)

    def moment(self, found: Sequence[Segment]) -> Reading[datetime] | None:
        """The moment that pieces make together."""
        spans = [piece.value for piece in found if piece.kind == "span"]
        days = [piece.value for piece in found if piece.kind == "day"]
        day_parts = [piece.value for piece in found if piece.kind == "day part"]
        if spans:
            others = days or day_parts or any(piece.kind in ("time", "part") for piece in found)
            return None if len(spans) > 1 or others else Reading(later(self._now, spans[0], zone_of(self._now)))
        if len(days) + len(day_parts) > 1:
            return None
        part = None
        if day_parts:
            ahead, part = day_parts[0]
            days = [Day(self._now.date() + timedelta(days=ahead))]
        clock = _clock_of(found, part)
        if clock is None:
            return None
        if clock.next_day:
            days = [Day((days[0].day if days else self._now.date()) + timedelta(days=1))]
        elif clock.hour < _MORNING and _by_night(found, part):
            if clock.hour or not days:
                return None  # Friday night at 2 may be on Saturday
            days = [Day(day.day + timedelta(days=1)) for day in days if day.other is None]  # tonight at 12
            if not days:
                return None
        if days:
            return self._on(days[0], clock)
        return None if self._dots else self._nearest(clock)

    def _on(self, day: Day, clock: TimeOfDay) -> Reading[datetime]:
        days, times = (day.day, *_known(day.other)), (clock.time_of_day, *_known(clock.later))
        moments = [at_time(on, at, zone_of(self._now)) for on in days for at in times]
        if clock.midnight:  # of the night that begins with the day, or that ends with it
            moments = [at_time(on + timedelta(days=1), clock.time_of_day, zone_of(self._now)) for on in days] + moments
        elif (
            len(moments) == 1
            and clock.hour < _NOON
            and not (self._past or clock.in_part)
            and day.day == self._now.date()
        ):
            first = moments[0]
            moments += [first + timedelta(hours=_NOON)] if first <= self._now else []  # "today at 8", said at 10
        return Reading(moments[0], tuple(moments[1:]))

    def _nearest(self, clock: TimeOfDay) -> Reading[datetime]:
        """The next such time, or the last, in each half of the day that it may be in."""
        found = [self._next(at) for at in (clock.time_of_day, *_known(clock.later))]
        return Reading(found[0], tuple(found[1:]))

    def _next(self, at: time) -> datetime:
        today = at_time(self._now.date(), at, zone_of(self._now))
        ahead = 0 if (today <= self._now if self._past else today > self._now) else -1 if self._past else 1
        return at_time(self._now.date() + timedelta(days=ahead), at, zone_of(self._now))
