"""Times of day as people write them: ``15:30``, ``3pm``, ``halb vier``, ``jam 8 malam``, ``शाम 5 बजे``."""

from collections.abc import Iterator, Sequence
from datetime import time

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.numbers import number_at
from bot.language.answers.phrase_patterns import Found, Matcher
from bot.language.answers.tokens import Tokens
from bot.language.answers.words import Kind, Mark, Words


@immutable
class TimeOfDay:
    """A time of day without the part of the day.

    ``sure`` where the hour is one of 24, or written so. ``bare`` is an hour alone, which is a time only beside a part
    of the day or a word that says so.
    """

    hour: int
    minute: int = 0
    second: int = 0
    sure: bool = False
    bare: bool = False
    in_part: bool = False  # the part of the day is known
    next_day: bool = False  # 24:00
    midnight: bool = False  # said so, and of one night or the next one

    def at(self, part: str | None) -> "TimeOfDay | None":
        """The time in a part of the day; None where they contradict each other."""
        if part is None:
            return self
        hour = _in_part(self.hour, part)
        return None if hour is None else TimeOfDay(hour, self.minute, self.second, True, in_part=True)

    @property
    def time_of_day(self) -> time:
        """The time of day."""
        return time(self.hour, self.minute, self.second)

    @property
    def later(self) -> time | None:
        """The same time in the other half of the day; None where it is sure."""
        return None if self.sure or self.hour > 12 else time((self.hour + 12) % 24, self.minute, self.second)


def _in_part(hour: int, part: str) -> int | None:
    if hour > 12 or (hour == 0 and part not in ("am", "morning", "night")):
        return hour if hour >= 12 and part != "am" and part != "morning" else None
    match part:
        case "am":
            return hour % 12
        case "morning":
            return hour if hour < 12 else None
        case "pm":
            return hour % 12 + 12
        case "noon":
            return hour if hour >= 10 else hour + 12 if hour < 6 else None
        case "afternoon":
            return hour % 12 + 12 if hour == 12 or hour < 8 else None
        case "evening":
            return hour + 12 if 3 < hour < 12 else 0 if hour == 12 else None
        case "night":
            return hour + 12 if 6 <= hour < 12 else hour % 12 if hour != 5 else None
    return None


_MIDNIGHT = ("00:00", "0:00")
_EARLY = 6  # an hour up to it is seldom one of the morning
_END = 24  # the hour in which a day ends
_FIGURES = lazy_pattern(
    r"([0-9]{1,2})(\s?[:.h時时点點시]\s?|,)([0-5][0-9])(?![0-9])(?:[:.]([0-5][0-9])(?![0-9.]))?(?!\s?h\b)[分분]?"
)
_TOGETHER = lazy_pattern(r"([01]?[0-9]|2[0-3])([0-5][0-9])(?![0-9])")  # 330pm
_OTHER_SIGNS = lazy_pattern(r"[0-9][.,:/]$")
_NOT_A_TIME = lazy_pattern(r"[.,/][0-9]")
_HOUR_SIGNS = frozenset("時时点點시")


class ClockReader:
    """Reads the times of day in a text.

    ``dots`` says that 15.30 is one by itself, and ``together`` that 1530 is. 15,30 is one behind "at" or beside a part
    of the day.
    """

    def __init__(
        self, tokens: Tokens, marks: Sequence[Sequence[Mark]], words: Words, *, dots: bool, together: bool = False
    ) -> None:
        self._tokens, self._marks, self._words, self._dots, self._together = tokens, marks, words, dots, together
        self._matcher = Matcher(words.clock, tokens, self._slot)

    def times_at(self, start: int) -> list[tuple[int, TimeOfDay]]:
        """The times that begin at a token, each with the index of the token behind it; the longest first."""
        return sorted(self._read(start), key=lambda item: -item[0])

    def _read(self, start: int) -> Iterator[tuple[int, TimeOfDay]]:
        first, said = self._behind_before(start)
        for end, clock in self._told(first, said):
            behind = self._behind(end)
            if behind is not None:
                sure = clock.sure or self._is_sure(clock.hour)
                yield behind, TimeOfDay(clock.hour, clock.minute, clock.second, sure, next_day=clock.next_day)
            yield end, clock
        for end, name, bound in self._matcher.found_at(first) if first < len(self._marks) else ():
            behind = None if name == "hour minute" else self._behind(end)
            yield from ((last, self._of_pattern(name, bound)) for last in (behind, end) if last is not None)

    def _behind_before(self, start: int) -> tuple[int, bool]:
        """The index behind words such as "at", and whether there are any."""
        first, said = start, False
        while first < len(self._marks):
            end = next((end for end, kind, _ in self._marks[first] if kind is Kind.BEFORE_TIME), None)
            if end is None:
                break
            first, said = end, True
        return first, said

    def _behind(self, end: int) -> int | None:
        """The index behind a word such as "o'clock", if there is one."""
        if end >= len(self._marks):
            return None
        token = self._tokens.tokens[end]
        if token in _HOUR_SIGNS:
            return end + 1
        return next((behind for behind, kind, _ in self._marks[end] if kind is Kind.BEHIND_HOUR), None)

    def _told(self, start: int, said: bool) -> Iterator[tuple[int, TimeOfDay]]:
        if start >= len(self._marks):
            return
        for end, kind, value in self._marks[start]:
            if kind in (Kind.TIME, Kind.TIME_OF_12):
                hour, _, minute = value.partition(":")
                midnight = value in _MIDNIGHT
                yield end, TimeOfDay(int(hour), int(minute), sure=kind is Kind.TIME, midnight=midnight)
        yield from self._in_figures(start, said)
        for end, hour in self._hours(start):
            if hour == _END and not said:
                continue  # 24 hours
            yield end, TimeOfDay(hour % _END, sure=self._is_sure(hour), bare=not said, next_day=hour == _END)

    def _is_sure(self, hour: int) -> bool:
        """True if an hour alone is of one half of the day: at 3 people may mean the afternoon in every language."""
        return hour > 12 or (hour > _EARLY and not self._words.hours_of_12)

    def _in_figures(self, start: int, said: bool) -> Iterator[tuple[int, TimeOfDay]]:
        text, place = self._tokens.text, self._tokens.starts[start]
        if _OTHER_SIGNS.search(text[max(place - 2, 0) : place]) or not text[place].isdigit():
            return
        found = _FIGURES.match(text, place)
        if found is not None and int(found[1]) <= 24:
            hour, sign = int(found[1]) % 24, found[2].strip()
            if not _NOT_A_TIME.match(text, found.end()):
                sure = hour >= 12 or (len(found[1]) == 2 and found[1][0] == "0") or not self._words.hours_of_12
                bare = not said and (sign == "," or (sign == "." and not self._dots))
                clock = TimeOfDay(hour, int(found[3]), int(found[4] or 0), sure, bare, next_day=int(found[1]) == _END)
                yield self._tokens.at(found.end()), clock
        elif (four := _TOGETHER.match(text, place)) is not None:
            hour, minute = int(four[1]), int(four[2])
            alone = (
                self._together and len(four[1]) == 2 and minute % 15 == 0 and not _NOT_A_TIME.match(text, four.end())
            )
            sure = alone and (hour > 12 or four[1][0] == "0" or not self._words.hours_of_12)
            yield self._tokens.at(four.end()), TimeOfDay(hour, minute, sure=sure, bare=not alone)

    def _slot(self, name: str, start: int) -> Iterator[tuple[int, int]]:
        """An hour or minutes, in a pattern."""
        if name == "{hour}":
            yield from self._hours(start)
        else:
            yield from self._minutes(start)

    def _hours(self, start: int) -> Iterator[tuple[int, int]]:
        if start >= len(self._marks):
            return
        token = self._tokens.tokens[start]
        if token.isdigit():
            place = self._tokens.starts[start]
            if (
                len(token) <= 2
                and int(token) <= 24
                and not _OTHER_SIGNS.search(self._tokens.text[max(place - 2, 0) : place])
                and not _NOT_A_TIME.match(self._tokens.text, self._tokens.ends[start])
            ):
                yield start + 1, int(token)
            return
        number = number_at(self._tokens, self._marks, start, self._words, True)
        if number is not None and number[2] == int(number[2]) and 0 <= number[2] <= 24:
            yield number[0], int(number[2])
        for end, kind, value in self._marks[start]:
            other = number is None or end != number[0]
            if other and kind in (Kind.HOUR, Kind.NUMBER) and value == int(value) and 0 <= value <= 24:
                yield end, int(value)

    def _minutes(self, start: int) -> Iterator[tuple[int, int]]:
        gap, tokens = self._tokens.gap(start), self._tokens.tokens
        if gap.strip(" -") or (start and tokens[start].isdigit() and tokens[start - 1].isdigit()):
            return  # 7 30 may be two numbers
        number = number_at(self._tokens, self._marks, start, self._words, True)
        if number is not None and number[2] == int(number[2]) and 0 <= number[2] < 60:
            yield number[0], int(number[2])

    def _of_pattern(self, name: str, bound: Found) -> TimeOfDay:
        hour: int = bound["{hour}"] % _END
        if name == "hour minute":
            minute = bound["{minute}"]
        elif name in ("+minute", "-minute"):
            minute = bound["{minute}"] * (1 if name[0] == "+" else -1)
        else:
            minute = int(name)
        if minute < 0:
            hour, minute = (hour - 1) % 24 if hour != 1 else 12, minute + 60
        sure = hour > 12 or (name == "hour minute" and not self._words.hours_of_12)
        return TimeOfDay(hour, minute, sure=sure)
