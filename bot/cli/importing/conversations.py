"""Conversations as another system holds them: recorded ones, or those that an export's own rules give."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from bot.checker.exploring.moves import HttpResult, ModelResult
from bot.core.immutable import immutable


@immutable
class SourceMessage:
    """A message of the other system. ``media`` are files, such as ``image https://shop.example/cup.png``.

    ``place`` is the node that sends it, as in `ImportedNode.place`.
    """

    text: str = ""
    choices: tuple[str, ...] = ()
    media: tuple[str, ...] = ()
    place: str = ""


@immutable
class SourceTurn:
    """One thing that happens, and what the other system says then.

    ``kind`` is ``start`` (a program starts the flow, with `SourceConversation.data`), ``text`` (the contact writes
    ``value``), ``choice`` (the contact taps or picks the title ``value``), ``wait`` (``value`` seconds pass) or the
    kind of a file or ``location`` that the contact sends. ``visited`` are the places of all nodes that the turn passes.
    """

    kind: str
    value: str = ""
    said: tuple[SourceMessage, ...] = ()
    visited: tuple[str, ...] = ()


@immutable
class SourceConversation:
    """A conversation, and what happens around it.

    ``flow`` is the flow of the new bot that it is about. ``now`` is when it begins; without a zone, in the bot's zone.
    ``data`` are values of the flow's variables, if a program starts it. ``http`` and ``models`` are answers, each given
    once and in this order; ``handlers`` are the results of Python functions that are not called. ``draws`` are random
    numbers. The contact has ``contact_name``, ``tags``, ``language`` and ``kept`` (values of kept variables) before.
    """

    name: str
    flow: str
    turns: tuple[SourceTurn, ...]
    now: datetime | None = None
    contact: str = "6281234567890"
    data: Mapping[str, Any] = field(default_factory=dict)
    http: tuple[HttpResult, ...] = ()
    models: tuple[ModelResult, ...] = ()
    handlers: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    draws: tuple[float, ...] = ()
    contact_name: str | None = None
    tags: tuple[str, ...] = ()
    language: str | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
