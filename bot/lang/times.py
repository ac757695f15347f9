"""Times of day and moments as people write them: ``15:00``, ``3pm``, ``12 May at 3pm``, ``tomorrow 9:30``, ``in 2 hours``."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from itertools import islice

from bot.lang.dates import read_date
from bot.lang.foreign_dates import in_english
from bot.lang.iso import MOMENT, read_iso
from bot.lang.languages import ENGLISH
from bot.lang.wall_clock import at_time, later, zone_of
from bot.lang.words import normalise

_LONGEST = 60  # characters
_MOST_CLOCKS = 3  # times of day in one text, each of which is tried: reading the day beside it takes milliseconds
_MORNING = r"am|a\.m\.|in the morning|pagi|de la mañana|da manhã|du matin|di mattina|morgens|утра"
_AFTERNOON = (
    r"pm|p\.m\.|in the afternoon|in the evening|sore|de la tarde|da tarde|de l'après-midi|du soir|di sera"
    "|nachmittags|abends|вечера"
)
_HOURS = "uhr|h|o'?clock|ч|時|时|点|點|시"
_BEFORE = "at|a las|a la|às|as|à|alle|pukul|jam|um|gegen|om|kl|saat|в|の"
_CLOCK = re.compile(
    rf"(?:\b(?P<before>{_BEFORE})\s+)?(?<![a-z0-9.,:/-])(?P<hour>[01]?\d|2[0-3])"
    rf"(?:(?P<sign>[:.h時时点點시])\s?(?P<minute>[0-5]\d)(?![\d.,/-])[分]?)?"
    rf"(?:\s?(?P<hours>{_HOURS})(?!\w))?(?:\s?(?:(?P<morning>{_MORNING})|(?P<afternoon>{_AFTERNOON}))(?!\w))?"
    r"(?![\d:])",
    re.IGNORECASE,
)
_NOON = re.compile(r"(?:\bat\s+)?\b(?P<noon>noon|midday|midnight)\b", re.IGNORECASE)
_IN_HOURS = re.compile(r"in ([0-9]{1,3}) (hour|minute)s?")


def read_time(text: str, language: str | None = None) -> time | None:
    """The time of day that a text is, or None. A lone number is none, nor is ``3``: nobody knows which half of the day."""
    if len(text) > _LONGEST:
        return None
    return next((clock for found, clock in _clocks(text, language, dots=True) if not _words_around(text, found)), None)


def read_moment(text: str, now: datetime, language: str | None = None, *, past: bool = False) -> datetime | None:
    """The day and time that a text means, seen from ``now`` and in its zone, or None. Without a day it is the next such
    time; where the ``past`` is meant, the last.
    """
    try:
        return None if len(text) > _LONGEST else _moment(text, now, language, past)
    except OverflowError:
        return None  # beyond the calendar


def _moment(text: str, now: datetime, language: str | None, past: bool) -> datetime | None:
    if isinstance(written := read_iso(text, MOMENT), datetime):
        here = written if written.tzinfo is not None else written.replace(tzinfo=now.tzinfo)
        return here.astimezone(UTC).astimezone(now.tzinfo)  # by way of UTC: a time that the clocks skip is later then
    if (found := _in_hours(normalise(text), now)) is not None:
        return found
    clocks = ((dots, _clocks(text, language, dots=dots)) for dots in (False, True))
    found_in = ((dots, *clock) for dots, found in clocks for clock in islice(found, _MOST_CLOCKS))
    for dots, match, clock in found_in:
        around = _words_around(text, match)
        day = read_date(around, now.date(), language, past=past) if around else None
        if day is not None:
            return at_time(day, clock, zone_of(now))
        if not around and not dots:
            return _nearest(clock, now, past)
    return _in_foreign_hours(text, now, language)


def _clocks(text: str, language: str | None, *, dots: bool) -> Iterator[tuple[re.Match[str], time]]:
    """The times of day in a text. ``dots`` says that 15.30 is one by itself; else something has to say so."""
    for found in (*_NOON.finditer(text), *_CLOCK.finditer(text)):
        clock = _named(found) if found.re is _NOON else _counted(found, language, dots)
        if clock is not None:
            yield found, clock


def _named(found: re.Match[str]) -> time:
    return time(0) if found["noon"].lower() == "midnight" else time(12)


def _counted(found: re.Match[str], language: str | None, dots: bool) -> time | None:
    hour, minute = int(found["hour"]), int(found["minute"] or 0)
    half = _half(found, hour, language)
    marked = found["hours"] or half is not None or (found["before"] and hour > 12)
    if not marked and (found["sign"] is None or (found["sign"] == "." and not (dots or found["before"]))):
        return None
    return time(hour if half is None else hour % 12 + half, minute)


def _half(found: re.Match[str], hour: int, language: str | None) -> int | None:
    """0 for the first half of the day, 12 for the second; None where it is not said, or the hour says it."""
    morning, afternoon = found["morning"], found["afternoon"]
    german = (language or "").startswith("de") and morning == "am"  # 12:30 am Freitag
    return None if hour > 12 or german or not (morning or afternoon) else 12 if afternoon else 0


def _words_around(text: str, found: re.Match[str]) -> str:
    """What a text says beside a time of day."""
    return normalise(rest) and rest if (rest := f"{text[: found.start()]} {text[found.end() :]}".strip(" ,.!?")) else ""


def _nearest(clock: time, now: datetime, past: bool) -> datetime:
    today = at_time(now.date(), clock, zone_of(now))
    if past:
        return today if today <= now else at_time(now.date() - timedelta(days=1), clock, zone_of(now))
    return today if today > now else at_time(now.date() + timedelta(days=1), clock, zone_of(now))


def _in_hours(words: str, now: datetime) -> datetime | None:
    """``in 2 hours``, ``in 30 minutes``."""
    found = _IN_HOURS.fullmatch(words)
    return None if found is None else later(now, timedelta(**{f"{found[2]}s": int(found[1])}), zone_of(now))


def _in_foreign_hours(text: str, now: datetime, language: str | None) -> datetime | None:
    """``dans 2 heures``."""
    if not any(map(str.isalpha, text)):
        return None
    spoken = (in_english(text, known) for known in dict.fromkeys((language or ENGLISH, ENGLISH)))
    return next((found for words in spoken if words and (found := _in_hours(words, now)) is not None), None)
