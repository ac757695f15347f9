"""Small talk that nothing else has taken: thanks, praise, greetings, smiles, "help", "one moment", "are you a bot?" and
opening hours.

The phrases are data (`bot.language.answers.phrases`). All languages are heard in every bot; the answers, among the
built-in wordings, are in the contact's language.
"""

from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from typing import Any
from unicodedata import category

from bot.core.lazy_patterns import lazy_pattern
from bot.language.answers.closings import clauses_of, tells
from bot.language.answers.phrases import all_phrases, consists_of
from bot.language.answers.sentences import OF_TIMES, is_told
from bot.language.answers.titles import has_word
from bot.language.answers.topics import only_asks, topics_in
from bot.language.expressions.formats import weekday_name
from bot.language.expressions.opening_hours import HOURS, Hours, Span
from bot.language.source.languages import CONTACT_LANGUAGE, ENGLISH, wording
from bot.language.source.wall_clock import A_DAY
from bot.language.source.word_matching import contains, normalise, singular

THANKS, GREETING, BYE, SMILE, HELP, MOMENT, BOT, OPENING_HOURS, PRAISE = TOPICS = (
    "thanks", "greeting", "bye", "smile", "help", "moment", "bot", "hours", "praise"
)  # fmt: skip
"""The topics of small talk, by their names under `small_talk` in ``bot.yml``."""

_MOST_CHARACTERS = 80  # of small talk: a longer message says more
_WAVES = "👋🙋"


@cache
def _topics() -> Mapping[str, str]:
    """The topic of each whole phrase, normalised."""
    return {
        phrase: topic
        for topic in (SMILE, GREETING, HELP, MOMENT, BOT, BYE, THANKS)
        for phrase in all_phrases("small talk", topic)
    }


@cache
def _of_hours() -> tuple[str, ...]:
    return tuple(f" {phrase} " for phrase in all_phrases("small talk", OPENING_HOURS))


def _fillers() -> frozenset[str]:
    return all_phrases("around small talk")


@lru_cache(maxsize=1024)
def topic_of(text: str, language: str | None = None) -> str | None:
    """The topic of a message that is small talk and nothing else."""
    if len(text) > _MOST_CHARACTERS:
        return None
    said = normalise(text)
    if not any(char.isalnum() for char in said):
        return _of_symbols(text)
    found = _topics().get(said)
    if found is not None:
        return found
    words = f" {said} "
    if any(phrase in words for phrase in _of_hours()):
        return OPENING_HOURS
    if _asks_if_there(said.split(), language):
        return OPENING_HOURS
    return (
        _among_fillers(said.split())
        or _moment_for(said)
        or _thanks_for(text, language)
        or _moment_behind(text, language)
        or _bye_for(text)
    )


def _asks_if_there(words: list[str], language: str | None) -> bool:
    """True for a question whether somebody is there on a day, and for nothing else: "do you work on Saturdays?"."""
    start = next((place for place, word in enumerate(words) if word not in _fillers()), 0)
    ends = range(len(words) - 1, start, -1)
    asked = next(
        (end for begin in {0, start} for end in ends if " ".join(words[begin:end]) in all_phrases("presence")), 0
    )
    rest = words[asked:] if asked else []
    days = {word for word in rest if word in _other_days() or has_word(singular(word), OF_TIMES, language)}
    return bool(days) and {*rest} <= days | _fillers() | all_phrases("beside days") | all_phrases("people")


@cache
def _other_days() -> frozenset[str]:
    return frozenset(word for phrase in all_phrases("other days") for word in phrase.split())


def asks_hours(text: str, phrase: str) -> bool:
    """True if the clause with a phrase asks for opening hours: coffee in "how late can I come for a coffee?"."""
    known = [each for each in _of_hours() if phrase not in each and each.strip() not in phrase]
    clauses = (f" {said} " for part in _CLAUSES.split(text) if contains(said := normalise(part), phrase))
    asked = any(hours in clause for clause in clauses for hours in known)
    return asked and only_asks(text)


def _moment_for(said: str) -> str | None:
    """A request for time, with its reason: "hang on, I ask my husband", but not "let me see the menu"."""
    words = said.split()
    begins = (phrase for count in range(2, _LONGEST_LATER + 1) if (phrase := " ".join(words[:count])) not in _LOOKS)
    waits = any(_topics().get(phrase) == MOMENT or phrase in all_phrases("later") for phrase in begins)
    waits = waits and len(words) <= _MOST_OF_MOMENT
    return MOMENT if waits and not any(map(str.isdigit, said)) and not topics_in(said) else None


_LOOKS = ("let me see", "let me look", "let me check", "no time")  # no request, with what is behind: "no time limits"
_LONGEST_LATER = 6  # words
_MOST_OF_MOMENT = 8  # words


def _thanks_for(text: str, language: str | None) -> str | None:
    """Thanks, where the other clauses name what was good: "amazing coffee, thank you!". No complaint is.

    `kind_words` hears what people tell of themselves.
    """
    others = _clauses_beside(text, THANKS)
    named = all(
        not tells(clause, language)
        and any(is_told(clause, word, language) or word in all_phrases("small talk", PRAISE) for word in clause.split())
        for clause in others or ()
    )
    return None if others is None or not named else THANKS


def _moment_behind(text: str, language: str | None) -> str | None:
    """A request for time behind its reason: "I am at work, ask me tonight"."""
    *reasons, last = clauses_of(text) or ("",)
    waits = _among_fillers(last.split()) == MOMENT and bool(reasons) and not topics_in(text)
    return MOMENT if waits and all(tells(reason, language) for reason in reasons) else None


def _bye_for(text: str) -> str | None:
    """A goodbye, where the other clauses are small talk, too: "oh wait, forget it"."""
    others = _clauses_beside(text, BYE) or ()
    says_more = any(
        not _fillers().issuperset(clause.split()) and not _among_fillers(clause.split()) for clause in others
    )
    return BYE if others and not says_more else None


def _clauses_beside(text: str, topic: str) -> list[str] | None:
    """The clauses that are not of a topic. None if no clause is of it, or if the text asks or complains."""
    clauses = clauses_of(text)
    others = [clause for clause in clauses if _among_fillers(clause.split()) != topic]
    return None if len(others) == len(clauses) or "?" in text or topics_in(text) else others


_CLAUSES = lazy_pattern(r"[,.;:!\n،؛।]+")


def _among_fillers(words: list[str]) -> str | None:
    """The topic of a phrase among words that say nothing more: "never mind, wrong number", "ok cool"."""
    places = range(len(words))
    said = (_topics().get(" ".join(words[first:end])) for first in places for end in range(len(words), first, -1))
    found = [topic for topic in dict.fromkeys(said) if topic is not None and _consists_of(words, topic)]
    return THANKS if THANKS in found else next(iter(found), None)


def _consists_of(words: list[str], topic: str | None) -> bool:
    """True if all words belong to phrases of a topic, to smiles or, except beside a smile, to fillers."""
    fillers = frozenset[str]() if topic == SMILE else _fillers()
    return consists_of(words, lambda piece: piece in fillers or _topics().get(piece) in (topic, SMILE))


def _of_symbols(text: str) -> str | None:
    """A message of emoji: a hand that waves is a greeting."""
    if any(char in text for char in _WAVES):
        return GREETING
    return SMILE if any(category(char) == "So" for char in text) else None


def answer_to(topic: str, scope: Mapping[str, Any], now: datetime, name: str) -> str | None:
    """The words of a bot with this name on a topic other than help, in the contact's language; None if it has none.

    Raises `TemplateFailed`, by the bot's own wordings.
    """
    if topic == OPENING_HOURS:
        hours: Mapping[str, Hours] = scope.get(HOURS, {})
        named = ((key.replace("_", " ").capitalize(), each) for key, each in hours.items())
        lines = [hours_in_words(each, scope, now, shown if len(hours) > 1 else "") for shown, each in named]
        return "\n".join(lines) or None
    if topic == BOT:
        return wording(scope, "about_bot", value=name)
    return wording(scope, _WORDINGS[topic])


_WORDINGS = {
    THANKS: "welcome",
    GREETING: "greeting",
    BYE: "goodbye",
    SMILE: "smile",
    MOMENT: "no_hurry",
    PRAISE: "praised",
}


def hours_in_words(hours: Hours, scope: Mapping[str, Any], now: datetime, name: str = "") -> str:
    """``Mon-Sat 8:00-19:00. Now open until 19:00.``"""
    language = scope.get(CONTACT_LANGUAGE) or ENGLISH
    week = "; ".join(_days_in_words(hours, language))
    closes, opens = hours.closes(now), hours.opens(now)
    parts = [f"{name}: {week}." if name else f"{week}."] if week else []
    if closes is not None:
        parts.append(wording(scope, "open_until", value=_clock_of(closes.astimezone(hours.zone))))
    elif opens is not None:
        opens = opens.astimezone(hours.zone)
        today = now.astimezone(hours.zone).date()
        day = "" if opens.date() == today else f"{weekday_name(opens.date(), language, 'EEEE')} "
        if opens.date() - today > timedelta(days=6):
            day += f"{opens:%d.%m.} "
        parts.append(wording(scope, "closed_until", value=f"{day}{_clock_of(opens)}"))
    return " ".join(parts)


def _days_in_words(hours: Hours, language: str) -> Iterator[str]:
    """``Mon-Fri 8:00-18:00``, ``Sat 8:00-13:00``: neighbouring days with the same hours together."""
    first = 0
    for day in range(1, 8):
        if day < 7 and hours.week[day] == hours.week[first]:
            continue
        if hours.week[first]:
            last = f"-{_day_name(day - 1, language)}" if day - 1 > first else ""
            spans = ", ".join(map(_span_in_words, hours.week[first]))
            yield f"{_day_name(first, language)}{last} {spans}"
        first = day


def _day_name(day: int, language: str) -> str:
    return weekday_name(date(2030, 5, 6) + timedelta(days=day), language, "EEE")  # a Monday


def _span_in_words(span: Span) -> str:
    start, end = span
    return f"{_clock(start)}-{_clock(end if end <= A_DAY else end - A_DAY)}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60}:{minutes % 60:02}"


def _clock_of(moment: datetime) -> str:
    return _clock(moment.hour * 60 + moment.minute)
