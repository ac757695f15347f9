"""Redaction of a bot's messages: everything personal that a conversation knows of its contact is hidden, and every
number.

A sent text does not say which of its words came from variables. But the possible values are known: the contact's name
and messages, the values of the variables, and the results of calls, requests and models.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bot.checker.replaying.differences import ReplayDifference
from bot.core.events import (
    CallEnded,
    CallProgressed,
    ColleagueDecided,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    MessageReceived,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
    Tapped,
    ValuesSet,
)
from bot.core.lazy_patterns import lazy_pattern
from bot.core.session import Session
from bot.core.values import Location, Media
from bot.language.expressions.formats import shown
from bot.language.expressions.templates import Template
from bot.language.flow.definition import uses_of_all
from bot.language.flow.library import Library
from bot.language.keys.text_shapes import JINJA

HIDDEN = "‹…›"
_WORD = lazy_pattern(r"[^\W_]+")
_SIDE_BY_SIDE = lazy_pattern(rf"{HIDDEN}(?:[\s.,:;/@+-]*{HIDDEN})+")
_SHORTEST = 3  # characters; a shorter value is hidden only as a word


def common_words(library: Library) -> frozenset[str]:
    """The words of the flows themselves, in all languages: they are not personal."""
    return frozenset(_words(text for spoken in (library, *library.translations.values()) for text in _written(spoken)))


class Redaction:
    """Hides the values that a conversation knew when a difference was found. ``common`` are the words of the flows."""

    def __init__(self, difference: ReplayDifference, common: frozenset[str]) -> None:
        sessions, events = difference.sessions, difference.events
        values = {text for value in (*map(_kept, sessions), *map(_result, events)) for text in _texts_in(value)}
        self._whole = {line.casefold() for text in values for line in text.split("\n") if len(line) >= _SHORTEST}
        names = {text for each in sessions for text in _texts_in([each.contact, each.name, each.email])}
        said = {text for event in events for text in _texts_in(_said(event))}
        known = {word for word in _words(values | said) if _has_digit(word) or word not in common}
        self._hidden = known.union(_words(names))
        self._common = common

    def over(self, text: str) -> str:
        """The text without personal values. Hidden values next to each other become one."""
        folded = text.casefold()
        there = sorted((line for line in self._whole if line in folded), key=len, reverse=True)
        if there:
            whole = "|".join(rf"(?<!\w){re.escape(line)}(?!\w)" for line in there)
            text = re.sub(whole, HIDDEN, text, flags=re.IGNORECASE)
        return _SIDE_BY_SIDE.sub(HIDDEN, _WORD.sub(self._word, text))

    def _word(self, found: re.Match[str]) -> str:
        word = found[0].casefold()
        personal = word in self._hidden or (_has_digit(word) and word not in self._common)
        return HIDDEN if personal else found[0]


def _written(library: Library) -> Iterator[str]:
    """Every text of the flows in one language, without its variables."""
    for each in uses_of_all(library.bot, library.flows):
        for wording in each.text.wordings if isinstance(each.text, Template) else ():
            yield JINJA.sub(" ", wording.source)


def _words(texts: Iterable[str]) -> Iterator[str]:
    return (found[0].casefold() for text in texts for found in _WORD.finditer(text))


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _kept(session: Session) -> Any:
    """All values that a session holds."""
    waiting = (below for frame in session.frames if frame.unanswered for below in frame.unanswered.below)
    sent = (frame for replies in session.valid_replies for frame in replies.frames)
    drafts = (frame for draft in session.drafts for frame in draft.frames)
    frames = (frame.vars for frame in (*session.frames, *waiting, *sent, *drafts))
    return [session.kept_variables, *frames, *(plan.inputs for plan in session.plans)]


def _result(event: Event) -> Any:
    """The values of an event that do not come from the contact."""
    match event:
        case CallEnded(value=value, detail=detail):
            return [value, detail]
        case CallProgressed(text=text):
            return text
        case StartRequested(data=data) | SignalReceived(data=data) | SharedRunRequested(data=data):
            return data
        case ValuesSet(values=values):
            return values
    return None


def _said(event: Event) -> Any:
    """The values of an event that the contact sent, or that describe the contact."""
    match event:
        case MessageReceived(text=text, media=media, location=location):
            return [text, media, location]
        case Tapped(title=title):
            return title
        case ContactChanged(name=name, email=email):
            return [name, email]
        case ConversationOpened(name=name):
            return name
        case ConversationAssigned(name=name, text=text):
            return [name, text]
        case ColleagueDecided(note=note):
            return note
    return None


def _texts_in(value: Any) -> Iterator[str]:
    """Every single value within a value, as a contact reads it."""
    match value:
        case None | bool():
            return
        case Media(url=url, caption=caption, file=file):
            yield from _texts_in([url, caption, file])
        case Location(latitude=latitude, longitude=longitude, name=name, address=address):
            yield from _texts_in([latitude, longitude, name, address])
        case Mapping():
            yield from _texts_in(list(value.values()))
        case list() | tuple():
            for item in value:
                yield from _texts_in(item)
        case _:
            yield shown(value)
