"""A conversation while it is explored: where it is, what was sent, what is waited for, and how it came to that."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Any

from bot.checker.exploring.incoming import Asked
from bot.checker.exploring.moves import Move
from bot.checker.exploring.told import Option
from bot.core.messages import Message, TemplateMessage
from bot.core.session import Frame, Session
from bot.core.turn import Turn

WINDOW = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Sent:
    """A message, and what became of it: ``sent``, ``replaced`` (``shown`` is the template), ``covered``, ``failed``.

    ``silence`` is the time since the contact's last message; None: they have never written.
    """

    message: Message
    outcome: str
    shown: Message | None
    silence: timedelta | None

    @property
    def is_late(self) -> bool:
        """Whether it came too late, and no template stood in for it."""
        late = self.silence is None or self.silence >= WINDOW
        return self.outcome == "failed" and late and not isinstance(self.message, TemplateMessage)


@dataclass(frozen=True, slots=True)
class State:
    """A conversation at rest, or while the world's answer is awaited. What has led here is ``before``, by a ``move``,
    which made these ``turns``.
    """

    session: Session
    now: datetime
    wake_at: datetime | None = None
    asked: Mapping[str, Asked] = field(default_factory=dict)  # what the world has not answered yet
    options: tuple[Option, ...] = ()  # what can be tapped, the newest last
    spoiled: bool = False  # the gateway refuses the next message
    replaced: datetime | None = None  # when a template went in place of a message
    cached: Mapping[str, tuple[datetime, Any]] = field(default_factory=dict)  # answers, by address, and until when
    number: int = 0  # of the events until now
    turns: tuple[Turn, ...] = ()
    sent: tuple[Sent, ...] = ()
    move: Move | None = None
    before: "State | None" = None

    @property
    def awaited(self) -> tuple[str, Asked] | None:
        """What the conversation waits for the world to answer, by its name."""
        frame = self.session.frame
        asked = None if frame is None or frame.awaited_effect is None else self.asked.get(frame.awaited_effect)
        return None if frame is None or frame.awaited_effect is None or asked is None else (frame.awaited_effect, asked)

    @property
    def frame(self) -> Frame | None:
        """Where the conversation is."""
        return self.session.frame

    @property
    def is_late(self) -> bool:
        """Whether the window is shut."""
        newest = self.session.last_inbound
        return newest is None or self.now - newest >= WINDOW

    def local(self, zone: tzinfo) -> datetime:
        """The time in a zone."""
        return self.now.astimezone(zone)

    def path(self) -> list["State"]:
        """The states from the first move on; this one is the last."""
        found: list[State] = []
        state: State | None = self
        while state is not None and state.move is not None:
            found.append(state)
            state = state.before
        return found[::-1]
