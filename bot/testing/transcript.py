"""A test as a value: a document that begins with ``test:``, its time and its talk."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bot.lang.nodes import Mark, Node


@dataclass(frozen=True, slots=True)
class User:
    """The contact writes."""

    mark: Mark
    text: str


@dataclass(frozen=True, slots=True)
class Tap:
    """The contact taps a button."""

    mark: Mark
    title: str


@dataclass(frozen=True, slots=True)
class Pick:
    """The contact picks a row of a list."""

    mark: Mark
    title: str


@dataclass(frozen=True, slots=True)
class Wait:
    """Time passes."""

    mark: Mark
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Model:
    """What a model answers when it is asked next: a text, calls of its tools, or a failure.

    ``calls`` are names of handlers, ``remember`` or ``leave``, each with its arguments.
    """

    mark: Mark
    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    fails: str | None = None


@dataclass(frozen=True, slots=True)
class Says:
    """The bot says something: ``parts`` by key, as far as they are written.

    ``alone``: the message has this text and nothing else.
    """

    mark: Mark
    parts: Mapping[str, str | tuple[str, ...]]
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Expect:
    """Where the contact is, and what the conversation knows, as far as it is written."""

    mark: Mark
    wanted: Mapping[str, Node]


Line = User | Tap | Pick | Wait | Model | Says | Expect


@dataclass(frozen=True, slots=True)
class Transcript:
    """One test. ``now`` is when it begins, on the clock of the bot's time zone."""

    name: str
    mark: Mark
    now: datetime
    talk: tuple[Line, ...]
