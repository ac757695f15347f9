"""The types date, time and datetime."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any, ClassVar, Self

from bot.core.immutable import immutable
from bot.language.answers.doubts import values_left_open
from bot.language.answers.readers import Reading, prepare, read_date, read_moment, read_time
from bot.language.answers.titles import with_minutes
from bot.language.expressions.abstract_values import ValueKind
from bot.language.keys.declared_keys import DURATION, Form, KeySet, KeySpec
from bot.language.keys.fields import Fields, text_of
from bot.language.keys.key_schemas import ANY_TEXT, pattern
from bot.language.source.problems import Problems
from bot.language.source.wall_clock import ISO_DAY, ISO_MOMENT, in_zone, read_clock, read_iso, zone_of
from bot.language.source.yaml_tree import Node
from bot.language.types.variable import OutOfBounds, Variable, mismatch


def _keys(kind: str, relative: Mapping[str, int], example: str, form: re.Pattern[str]) -> KeySet:
    named = ", ".join(relative)

    def bound_of(node: Node, problems: Problems, what: str) -> str | None:
        written = text_of(node, problems, what)
        if written is None or written in relative or read_iso(written, form) is not None:
            return written
        problems.add("E106", node.mark, f'{what}: "{written}" is no {kind}', f"write {named}, or one like {example}")
        return None

    bound = Form(pattern(f"{'|'.join(relative)}|{form.pattern}", f"write {named}, or one like {example}"), bound_of)
    return KeySet(
        KeySpec("after", bound, f"Answers are later than this: {named}, or one written out."),
        KeySpec("before", bound, f"Answers are earlier than this: {named}, or one written out."),
        KeySpec("within", DURATION, "Answers lie between now and so much later."),
    )


def _clock_of(node: Node, problems: Problems, what: str) -> time | None:
    written = text_of(node, problems, what)
    found = None if written is None else read_clock(written)
    if written is not None and found is None:
        problems.add("E106", node.mark, f'{what}: "{written}" is no time of day', "write one like 9:00")
    return found


_CLOCK = Form(ANY_TEXT, _clock_of)
_MIN = KeySpec("min", _CLOCK, "The earliest time that it may be, like 9:00.")
_MAX = KeySpec("max", _CLOCK, "The latest time that it may be, like 18:00.")


@immutable
class _OnCalendar(Variable):
    """A day, with a time or without. ``after`` and ``before`` exclude what they name; ``within`` counts from now on."""

    after: str | None = None
    before: str | None = None
    within: timedelta | None = None
    unit: ClassVar[timedelta]  # from one value to the next
    relative: ClassVar[Mapping[str, int]]  # the words in `after` and `before`, and how many days from now each means
    example: ClassVar[str]
    form: ClassVar[re.Pattern[str]]
    takes_every = True  # its bounds are for answers alone: they move with the day

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `after`, `before` and `within`."""
        after, before, within = (key.read(fields) for key in cls.keys)
        ends = (
            None
            if after is None or before is None
            else (cls.relative.get(after, after), cls.relative.get(before, before))
        )
        if ends is not None and (ends[0] == ends[1] or (type(ends[0]) is type(ends[1]) and ends[0] > ends[1])):
            fix = "leave more room between them" if after == before else "swap them"
            fields.report("E307", fields.mark_of("before"), f"nothing is after {after} and before {before}", fix)
        return cls(name, fields.mark, value, after, before, within)

    @property
    def described(self) -> str:
        """``date like 2030-12-31``."""
        return f"{self.type} like {self.example}"

    @property
    def samples(self) -> tuple[Any, ...]:
        """For each month each weekday on days of two digits, of which some have the longest names."""
        days = (datetime(2030, month, day, 10, 55, 55) for month in range(1, 13) for day in range(20, 27))
        return tuple(self._from_value(day, None) for day in days)

    def prepare(self, languages: Iterable[str]) -> None:
        """The languages' words for days."""
        prepare(languages)

    def _left_open(self, text: str, language: str | None) -> Sequence[Sequence[str]]:
        return values_left_open(text, language)

    def _answer_bounded(self, value: Any, now: datetime) -> Any:
        found, (least, most) = self._bounded(value), self._ends(now)
        if least is not None and found < least:
            raise OutOfBounds("it is too early", least, most)
        if most is not None and found > most:
            raise OutOfBounds("it is too late", least, most)
        return found

    def _ends(self, now: datetime) -> tuple[Any, Any]:
        """The first and the last that an answer may be now; None is no bound."""
        first = [] if self.after is None else [self._beside(self._bound(self.after, now), self.unit)]
        last = [] if self.before is None else [self._beside(self._bound(self.before, now), -self.unit)]
        if self.within is not None:
            present = self._from_value(now, now)
            first, last = [*first, present], [*last, present + self.within]
        return max(first, default=None), min(last, default=None)

    @staticmethod
    def _beside(bound: Any, unit: timedelta) -> Any:
        """The value beside a bound; the bound itself where the calendar ends."""
        try:
            return bound + unit
        except OverflowError:
            return bound

    def _bound(self, written: str, now: datetime) -> Any:
        ahead = self.relative.get(written)
        return self._from_value(written if ahead is None else now + timedelta(days=ahead), now)

    @property
    def _past(self) -> bool:
        """True if an answer without its year means one that has been."""
        return self.relative.get(self.before or "", -1) >= 0


@immutable
class DateVariable(_OnCalendar):
    """A day.

    ``eta: {type: date, after: today, within: 14d}``
    """

    type = "date"
    kind = ValueKind.DATE
    made_of = frozenset({ValueKind.DATE, ValueKind.DATETIME, ValueKind.TEXT})
    unit = timedelta(days=1)
    relative: ClassVar[Mapping[str, int]] = {"today": 0, "tomorrow": 1, "yesterday": -1}
    example = "2030-12-31"
    form = ISO_DAY
    keys = _keys(type, relative, example, form)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[date] | None:
        return read_date(text, now.date(), language, past=self._past)

    def _from_value(self, value: Any, now: datetime | None) -> date:
        if isinstance(value, datetime):
            return (value if now is None else in_zone(value, zone_of(now))).date()
        if isinstance(value, date):
            return value
        if isinstance(value, str) and (day := read_iso(value, ISO_DAY)) is not None:
            return day
        raise mismatch(value, f"a date like {self.example}")


@immutable
class DateTimeVariable(_OnCalendar):
    """A day and a time, in the bot's time zone.

    ``slot: {type: datetime, after: now}``
    """

    type = "datetime"
    kind = ValueKind.DATETIME
    made_of = frozenset({ValueKind.DATETIME, ValueKind.TEXT})
    unit = timedelta.resolution
    relative: ClassVar[Mapping[str, int]] = {"now": 0}
    example = "2030-12-31T15:00"
    form = ISO_MOMENT
    keys = _keys(type, relative, example, form)

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[datetime] | None:
        return read_moment(text, now, language, past=self._past)

    def _from_value(self, value: Any, now: datetime | None) -> datetime:
        found = read_iso(value, ISO_MOMENT) if isinstance(value, str) else value
        if not isinstance(found, datetime):
            raise mismatch(value, f"a date with a time like {self.example}")
        return found if now is None else in_zone(found, zone_of(now))


@immutable
class TimeVariable(Variable):
    """A time of day, from ``least`` to ``most``, both included.

    ``opens: {type: time, min: '9:00', max: '18:00'}``
    """

    least: time | None = None
    most: time | None = None
    type = "time"
    kind = ValueKind.TIME
    made_of = frozenset({ValueKind.TIME, ValueKind.TEXT})
    keys = KeySet(_MIN, _MAX)
    samples = tuple(time(hour, 55, 55) for hour in range(24))
    described = "time of day like 15:30"

    @classmethod
    def read(cls, name: str, value: Any, fields: Fields) -> Self:
        """Read `min` and `max`."""
        least, most = _MIN.read(fields), _MAX.read(fields)
        if least is not None and most is not None and least > most:
            _MAX.report(fields, "E307", "max is before min", "swap them")
        return cls(name, fields.mark, value, least, most)

    @property
    def takes_every(self) -> bool:
        """True if it has no bounds."""
        return self.least is None and self.most is None

    def _read_text(self, text: str, now: datetime, language: str | None) -> Reading[time] | None:
        return read_time(text, language)

    def _left_open(self, text: str, language: str | None) -> Sequence[Sequence[str]]:
        """The values left open, each as a time, also an hour alone: ``7  -> 7:00``."""
        return [
            [with_minutes(piece, language) for piece in way] for way in values_left_open(text, language) or [[text]]
        ]

    def prepare(self, languages: Iterable[str]) -> None:
        """The languages' words for times."""
        prepare(languages)

    def _from_value(self, value: Any, now: datetime | None) -> time:
        found = read_clock(value) if isinstance(value, str) else value
        if not isinstance(found, time) or found.tzinfo is not None:
            raise mismatch(value, "a time of day like 15:30, without an offset")
        return found

    def _bounded(self, value: time) -> time:
        if self.least is not None and value < self.least:
            raise OutOfBounds(f"it is before {self.least:%H:%M}", self.least, self.most)
        if self.most is not None and value > self.most:
            raise OutOfBounds(f"it is after {self.most:%H:%M}", self.least, self.most)
        return value
