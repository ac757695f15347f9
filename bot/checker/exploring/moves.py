"""What can happen to a conversation: each thing as a value, as a line of a test, and as a sentence for people.

Acts are what a contact, time, a program or the gateway does; answers (`bot.checker.exploring.answers`) are what the world says to
what the bot asks.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bot.checker.exploring.answers import Answer
from bot.checker.exploring.phrases import quoted, spelt_out
from bot.lang.wall_clock import UNITS, duration_words

Line = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Writes:
    """The contact writes."""

    text: str

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"user": self.text}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return f"you write {quoted(self.text)}"


@dataclass(frozen=True, slots=True)
class Taps:
    """The contact taps a button, or picks a row of a list."""

    reply: str
    title: str
    picks: bool = False

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"pick" if self.picks else "tap": self.title}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return f"you {'pick' if self.picks else 'tap'} [{self.title}]"


@dataclass(frozen=True, slots=True)
class Sends:
    """The contact sends a file, a sticker or a place."""

    kind: str

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"send": {"location": dict(PLACE)} if self.kind == "location" else self.kind}

    @property
    def sentence(self) -> str:
        """The same for people."""
        what = "a place" if self.kind == "location" else f"{'an' if self.kind[0] in 'aeiou' else 'a'} {self.kind}"
        return f"you send {what}"


PLACE: Mapping[str, float] = {"latitude": 38.7, "longitude": -9.1}
"""The place that is sent, in degrees."""


@dataclass(frozen=True, slots=True)
class Waits:
    """Nothing happens for a while."""

    duration: timedelta

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"wait": duration_words(self.duration, len(UNITS))}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return f"you wait {spelt_out(self.duration)}"


@dataclass(frozen=True, slots=True)
class Happens:
    """The gateway tells of something: an event by its name."""

    event: str

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"event": self.event}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return _HAPPENINGS.get(self.event, f"the gateway tells of {self.event}")


_HAPPENINGS = {
    "conversation.resolved": "a person gives the conversation back to the bot",
    "conversation.assigned": "a person takes the conversation over",
}


@dataclass(frozen=True, slots=True)
class Starts:
    """A program starts a flow, with values for its variables."""

    flow: str
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"start": {"flow": self.flow, "data": dict(self.data)} if self.data else self.flow}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return f"a program starts the flow {self.flow}"


@dataclass(frozen=True, slots=True)
class Spoils:
    """The gateway will refuse the next message."""

    @property
    def line(self) -> Line:
        """The line of a test."""
        return {"fault": "send_failed"}

    @property
    def sentence(self) -> str:
        """The same for people."""
        return "the gateway will refuse the next message"


Act = Writes | Taps | Sends | Waits | Happens | Starts | Spoils
Move = Act | Answer
