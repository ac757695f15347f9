"""The view of one contact: the phone's messages, the turns with their reasons, the session's values."""

import hmac
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any

from markupsafe import Markup, escape

from bot.core.effects import AskModel, Effect
from bot.core.events import SendEnded
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import in_words
from bot.core.session import Session
from bot.core.text import head, printable
from bot.language.source.wall_clock import UNITS, duration_words, parse_duration
from bot.store.rows import MessageStatus
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import TurnTraced
from bot.testing.simulation.phone import ShownMessage
from bot.testing.simulation.turn_words import (
    draft_in_words,
    effect_in_words,
    event_in_words,
    line_of,
    plan_in_words,
    state_in_words,
    value_in_words,
)

NEWEST_BUBBLES, NEWEST_TURNS = 60, 25
"""The numbers on a page that does not show all."""
_KIND = lazy_pattern("^send (text|interactive) ")  # its text says it
MOST_ASKED = 20_000  # characters of a prompt

_PAGES = secrets.token_bytes(32)
_LINK = lazy_pattern(r"https?://[^\s<>\"]+")
_AFTER = ".,;:!?'\")]}*_~"  # what ends a sentence, not an address
_MARKS = (
    (lazy_pattern(r"```(.+?)```", re.DOTALL), "code"),
    (lazy_pattern(r"(?<![\w*])\*(?=\S)([^*\n]*\S)\*(?![\w*])"), "strong"),
    (lazy_pattern(r"(?<![\w_])_(?=\S)([^_\n]*\S)_(?![\w_])"), "em"),
    (lazy_pattern(r"(?<![\w~])~(?=\S)([^~\n]*\S)~(?![\w~])"), "s"),
)


def formatted(text: str) -> Markup:
    """A text as phones show it: *bold*, _italic_, ~struck~, ```fixed```, and addresses as links. All else is text."""
    found, begun = Markup(), 0
    for link in _LINK.finditer(text):
        address = link[0].rstrip(_AFTER)
        found += _marked(text[begun : link.start()])
        found += Markup('<a href="{0}" target="_blank" rel="noopener noreferrer nofollow">{0}</a>').format(address)
        begun = link.start() + len(address)
    return found + _marked(text[begun:])


def _marked(text: str) -> Markup:
    found = str(escape(text))
    for pattern, tag in _MARKS:
        found = pattern.sub(rf"<{tag}>\1</{tag}>", found)
    return Markup(found)


@immutable
class Bubble:
    """An entry on a contact's phone: a message of the bot's (``message``), a message of the contact's own (a text, a
    `choice`, a file, a `location`), or something that is no message (`wait`, `start`, `signal`, `event`, `set`,
    `colleague`, `model`).

    ``number`` counts all bubbles of a page. A message of the bot's has the gateway's ``id`` and the bot's ``key``,
    which is the same at every try. ``data`` is what it takes to do it again. ``by`` is the person who wrote in the
    bot's place.
    """

    number: int
    at: datetime
    message: ShownMessage | None = None
    id: str = ""
    text: str = ""
    kind: str = "text"
    file: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    key: str | None = None
    by: str = ""

    @property
    def besides(self) -> bool:
        """True if it is no message."""
        return self.kind in BESIDES

    @property
    def label(self) -> str:
        """The text on the page; for a `wait`, how much later it is then."""
        return self.text if self.kind != "wait" else f"{spelled(self.until - self.at)} later"

    @property
    def until(self) -> datetime:
        """The time to which a `wait` leads."""
        return self.at + (parse_duration(self.text) or timedelta())


BESIDES = ("wait", "start", "signal", "event", "set", "colleague", "model")
MINUTE = timedelta(minutes=1)
_UNITS = {"h": " h", "m": " min", "s": " s"}


def spelled(duration: timedelta) -> str:
    """A duration in words, to the minute if it is longer: ``spelled(timedelta(minutes=9, seconds=59))  -> 10 min``."""
    rounded = duration if duration < MINUTE else round(duration / MINUTE) * MINUTE
    parts = duration_words(rounded, len(UNITS)).split()
    return " ".join(part[:-1] + _UNITS.get(part[-1], " days" if part != "1d" else " day") for part in parts)


@immutable
class ShownBubble:
    """A bubble with how far it has got, one of `bot.store.rows.STATUSES`; empty for the contact's own."""

    bubble: Bubble
    status: str = ""
    detail: str = ""


@immutable
class Unsent:
    """A message that the gateway has not taken, as far as the bot knows: it waits for its next try, or was given up.

    ``after``: it is shown behind the bubble with this number, or before all (0); None: at the end.
    """

    key: str
    message: ShownMessage
    status: str
    detail: str
    attempts: int = 0
    due_at: datetime | None = None
    after: int | None = None


@immutable
class PhoneView:
    """A contact's phone. ``earlier`` messages are left out; ``types``: the bot works on an answer."""

    bubbles: tuple[ShownBubble, ...]
    unsent: tuple[Unsent, ...]
    earlier: int
    types: bool


@immutable
class TakenStep:
    """A step of a turn: what its conditions evaluated to, why it ended, and where that led."""

    place: str
    conditions: tuple[tuple[str, str], ...]
    outcome: str
    target: str
    visit: int = 0


@immutable
class DecidedEffect:
    """An effect of a turn, its status, and the prompt of a model, as (role, text)."""

    words: str
    status: str = ""
    detail: str = ""
    asked: tuple[tuple[str, str], ...] = ()
    tools: str = ""


@immutable
class ShownTurn:
    """A turn in words. ``id`` tells it from others on a page, and nothing else of its event.

    ``detail``: why a message was not sent. Somebody should look into the ``problems``; the ``notes`` are without them.
    """

    id: str
    at: datetime
    words: str
    rule: str
    micros: int
    steps: tuple[TakenStep, ...]
    effects: tuple[DecidedEffect, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]
    detail: str = ""

    @property
    def why(self) -> str:
        """The rule as the end of a sentence that begins with "because"."""
        return next((pattern.sub(words, self.rule) for pattern, words in _RULES if pattern.fullmatch(self.rule)), "")


_RULES = tuple(
    (lazy_pattern(rule), words)
    for rule, words in {
        "answer": "it answers the question",
        r"answer: answers (.+)": r"it answers the question, and also \1",
        r"corrects (\S+)": r"it corrects \1",
        "tap": "the button belongs to the question",
        "reply": "the step takes it",
        "other": "it is no answer, and the step has an `other`",
        r"retry (\d+)": r"it is no answer: the question is asked again (\1)",
        "retry.else": "it is no answer, once too often",
        "unread": "no step reads it",
        "result: done": "the call is done",
        r"result: (.+)": r"the call has ended: \1",
        r"start of (\S+)": r"it starts \1",
        r"start of (\S+): otherwise": r"no other flow starts by it, and \1 takes all else",
        r"start of (\S+): (.+)": r"it starts \1: \2",
        r"interrupted by (\S+)": r"it starts \1, which interrupts the flow before",
        r"interrupted by (\S+): (.+)": r"it starts \1, which interrupts the flow before: \2",
        r'word "(.+)"': r'the word "\1" works here',
        r'opt-out "(.+)"': r'with "\1" the contact opts out',
        r"small talk: (.+)": r"it is small talk: \1",
        "reply to an earlier template": "it answers an earlier template",
        r"reminder (\d+)": r"the contact has not answered: reminder \1",
        "time-out": "the contact has not answered in time",
        "the time of the wait has come": "the time of the wait has come",
        "an agent has the conversation: not heard": "a person has the conversation, and the bot is silent",
        "hand-over: not heard": "the contact waits for a person, and the bot is silent",
        "written before the question: not heard": "it was written before the question",
    }.items()
)
"""The most frequent rules of a trace in the words of a page."""


def newest_way(session: Session, turns: Sequence[ShownTurn]) -> list[tuple[str, str]]:
    """The steps of the conversation that a contact is in, or of the last one, each with its outcome.

    ``turns`` are the contact's, the newest first.
    """
    begun = session.frames[0].first_visit if session.frames else 0
    way: list[tuple[str, str]] = []
    ended = False
    for turn in reversed(turns):
        if ended and turn.steps:
            way.clear()
        way += [(step.place, step.outcome) for step in turn.steps if step.visit >= begun]
        ended = bool(turn.steps[-1].outcome) if turn.steps else ended
    return [*way, *((f"{frame.flow}/{frame.step}", "") for frame in session.frames[-1:])]


def turns_of(reader: StoreReader, contact: str, limit: int) -> list[ShownTurn]:
    """A contact's newest turns, the newest first."""
    return [_turn(turn) for turn in reversed(reader.trace.turns(contact, limit))]


def _turn(turn: TurnTraced) -> ShownTurn:
    steps = tuple(
        TakenStep(
            f"{step['flow']}/{step['step']}",
            tuple((text, value_in_words(value)) for text, value in step["conditions"]),
            step["outcome"] or "",
            step["target"] or "",
            step["visit"],
        )
        for step in turn.steps
    )
    effects = tuple(_effect(*each) for each in zip(turn.effects, turn.statuses, strict=True))
    notes = tuple(printable(note) for note in turn.notes if note not in turn.problems)
    event, detail, problems = turn.event, "", tuple(map(printable, turn.problems))
    if isinstance(event, SendEnded):
        event, detail = replace(event, detail=""), printable(event.detail)
    words = event_in_words(event)
    id = hmac.digest(_PAGES, turn.event_id.encode(), "sha256").hex()[:20]  # the event's own may have a number
    return ShownTurn(id, turn.at, words, turn.rule, turn.micros, steps, effects, notes, problems, detail)


def _effect(effect: Effect, status: MessageStatus | None) -> DecidedEffect:
    if isinstance(effect, AskModel):
        asked = prompt_of(effect)
        tools = ", ".join(tool["function"]["name"] for tool in effect.tools)
        return DecidedEffect(effect_in_words(effect), asked=asked, tools=tools)
    how = ("", "") if status is None else (status.name, status.detail)
    return DecidedEffect(_KIND.sub("send ", effect_in_words(effect)), *how)


def prompt_of(effect: AskModel) -> tuple[tuple[str, str], ...]:
    """The prompt of a model, as (role, text)."""
    return tuple((message["role"], _content(message)) for message in effect.messages)


def _content(message: Mapping[str, Any]) -> str:
    """The text of a message of a prompt, with its calls of tools."""
    said = message.get("content")
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, indent=1) if said else ""
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    return head("\n".join([text, *calls]).strip(), MOST_ASKED)


@immutable
class OpenFlow:
    """A flow that a contact is in, with its variables as (name, value)."""

    place: str
    since: datetime
    waits: str
    values: tuple[tuple[str, str], ...]


@immutable
class SessionView:
    """Where a contact is, the innermost flow first, and what is known and planned."""

    flows: tuple[OpenFlow, ...]
    kept: tuple[tuple[str, str], ...]
    plans: tuple[tuple[str, datetime], ...]
    facts: tuple[tuple[str, str], ...]


def session_view(session: Session, now: datetime) -> SessionView:
    """The values of a session."""
    flows = tuple(
        OpenFlow(f"{frame.flow}/{frame.step}", frame.entered_at, state_in_words(frame), _values(frame.vars))
        for frame in reversed(session.frames)
    )
    plans = tuple((plan_in_words(plan), plan.at) for plan in sorted(session.plans, key=lambda plan: plan.at))
    plans += tuple((f"{draft_in_words(draft)} ends", draft.until) for draft in session.drafts)
    facts = [("window", "open" if session.window_is_open(now) else "closed: templates only")]
    facts += [(name, printable(str(value))) for name in ("name", "email", "language", "timezone", "agent")
              if (value := getattr(session, name))]  # fmt: skip
    facts += [("tags", printable(", ".join(session.tags)))] if session.tags else []
    facts += [("waits until the contact writes", line_of(in_words(message))) for message in session.late_messages]
    return SessionView(flows, _values(session.kept_variables), plans, tuple(facts))


def _values(values: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value_in_words(value)) for name, value in values.items())
