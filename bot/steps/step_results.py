"""What goes into a step and comes out of it: the contact's reply, the step context, and what the step decides."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, Self

from bot.core.effects import Call, Complete, Fetch, HttpRequest
from bot.core.errors import BotError
from bot.core.events import CallEnded, CallProgressed, ConversationAssigned, HandoffClosed, SendEnded
from bot.core.messages import Message
from bot.core.values import Location, Media, dumps
from bot.types.type_registry import Variable

_NUMBERS = re.compile("[0-9]{1,3}/[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class ReplyId:
    """Which choice of which question was tapped: an old tap never chooses something else.

    Written ``flow/step/choice/visit/hash``, well under the gateway's 256 characters: names have 64 at most.
    """

    flow: str
    step: str
    choice: int
    visit: int
    hash: str

    def __str__(self) -> str:
        return f"{self.flow}/{self.step}/{self.choice}/{self.visit}/{self.hash}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Read an id of ours; None when it is somebody else's."""
        match text.split("/"):
            case [flow, step, choice, visit, hashed] if _NUMBERS.fullmatch(f"{choice}/{visit}") and len(hashed) == 8:
                return cls(flow, step, int(choice), int(visit), hashed)
        return None


def value_hash(title: str, value: Any) -> str:
    """Eight hex digits that tell what a choice stood for when it was shown."""
    return _hashed_text(title, value) if isinstance(value, str) else _hashed(title, value)


@lru_cache(maxsize=4096)
def _hashed_text(title: str, value: str) -> str:
    """The same of most choices there are: each is shown again and again."""
    return _hashed(title, value)


def _hashed(title: str, value: Any) -> str:
    return hashlib.sha256(dumps([title, value]).encode(errors="surrogatepass")).hexdigest()[:8]


class StepFailed(BotError):
    """A step could not do its work: its ``outcome`` (``mismatch``, ``failed``) takes over.

    ``known`` is what templates of the transition that it leads through see beside the rest.
    """

    def __init__(self, outcome: str, reason: str, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.known = known or {}


@dataclass(frozen=True, slots=True)
class Reply:
    """What a contact sent, as steps see it. ``tap`` is set when it was a tap on one of our own ids.

    ``payload`` is what a tap on somebody else's button carries, of which ``text`` is the title.
    """

    text: str | None = None
    tap: ReplyId | None = None
    media: Media | None = None
    location: Location | None = None
    payload: str | None = None

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts that it may be understood by: what was written, or a button's title and payload."""
        return tuple(text for text in (self.text, self.payload) if text)


@dataclass(frozen=True, slots=True)
class FlowEnded:
    """The flow that a `run` step opened has come to its end; ``failed``: because a step of it failed."""

    expired: bool
    vars: Mapping[str, Any]
    failed: bool = False


Awaited = CallEnded | CallProgressed | SendEnded | ConversationAssigned | HandoffClosed | FlowEnded
"""What a step that does not wait for the contact waits for, or what cuts that short."""


@dataclass(frozen=True, slots=True)
class StepContext:
    """A step's view of the session while it is entered or takes a reply. It decides; it changes nothing."""

    flow: str
    step: str
    visit: int
    now: datetime  # in the bot's time zone
    scope: Mapping[str, Any]  # what templates and expressions see
    variables: Mapping[str, Variable]
    step_state: Mapping[str, Any]  # what the step remembered when it began to wait
    pending_input: Reply | None = None  # what the contact wrote, where no step has taken it yet
    open: bool = True  # what is said now can be sent: the contact's 24 hours are not over
    more: bool = False  # the contact has written more, which the step takes when it has what it awaits


NOTHING = object()


@dataclass(frozen=True, slots=True)
class LeaveStep:
    """Leave by an outcome: `save`, `set` and the transition follow.

    ``sets`` are values for variables, by our names. ``pending_input`` is what the contact wrote, where the next step is to
    take it. ``known`` is what templates of the transition see beside the rest. ``conditions`` and ``notes`` are for the
    trace.
    """

    outcome: str
    messages: tuple[Message, ...] = ()
    saved: Any = NOTHING
    sets: Mapping[str, Any] = field(default_factory=dict)
    pending_input: Reply | None = None
    known: Mapping[str, Any] = field(default_factory=dict)
    conditions: tuple[tuple[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What all results have by which a step is not left. ``step_state`` is what the step will need to go on."""

    messages: tuple[Message, ...] = ()
    step_state: Mapping[str, Any] = field(default_factory=dict)
    sets: Mapping[str, Any] = field(default_factory=dict)  # values for variables, by our names
    notes: tuple[str, ...] = ()  # for the trace


@dataclass(frozen=True, slots=True)
class WaitHere(_Waiting):
    """Wait for the contact, or for time to pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitForEffect(_Waiting):
    """Wait for the end of a call, a request or a model's answer.

    ``listens``: words and taps are heard meanwhile, and what the contact writes comes to `StepKind.answer`.
    """

    effect: Call | Fetch | Complete | HttpRequest
    listens: bool = False


@dataclass(frozen=True, slots=True)
class WaitForSend(_Waiting):
    """Wait until the gateway has taken the last of the messages, or refused it."""


@dataclass(frozen=True, slots=True)
class KeepWaiting(_Waiting):
    """Go on waiting for the same effect, after a part of a model's answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlow(_Waiting):
    """Open a flow in a frame of its own, with these inputs, and wait until it has ended."""

    flow: str
    inputs: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver(_Waiting):
    """Wait for a person who takes the conversation over.

    The contact has the ``tag`` until the step is left. The bot's own Python hears of it: the ``event`` with its values.
    """

    tag: str
    event: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PostponeMessage:
    """Change nothing: the contact's message waits until the step has what it waits for."""


Waits = WaitHere | WaitForEffect | WaitForSend | KeepWaiting | RunFlow | HandOver
StepResult = LeaveStep | Waits | PostponeMessage
