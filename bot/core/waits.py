"""The kinds of wait of an open flow: one value says what it waits for (docs/architecture.md, "Waiting")."""

from datetime import datetime, timedelta

from bot.core.events import CallEnded, SendEnded
from bot.core.immutable import immutable
from bot.core.values import stored

HANDOFF_TAG = "handoff:"
"""The beginning of the tag that a contact has while a step waits for a person; the team follows."""


@immutable
class FrameWait:
    """The base of everything that a frame can wait for.

    ``effects`` are the effects with which the wait began: the step's messages, or a call. If a message is not sent, the
    step is resumed. ``ended`` is an end that came while an agent had the conversation: the step is resumed with it when
    the agent has resolved the conversation.
    """

    effects: tuple[str, ...] = ()
    ended: CallEnded | SendEnded | None = None

    @property
    def effect(self) -> str | None:
        """The effect whose end is waited for; None: something else is."""
        return None

    @property
    def parks_messages(self) -> bool:
        """True if messages are parked unread until the wait is over."""
        return False

    @property
    def is_occupied(self) -> bool:
        """True if no signal, no flow that is due and no program interrupts the wait."""
        return self.effect is not None

    def without_effect(self) -> "FrameWait":
        """The wait if the effect has ended and the contact stays at the step."""
        return self


@stored
@immutable(kw_only=True)
class ForContact(FrameWait):
    """A message or a tap. ``gathers_since``: a part of the answer came then, and more may follow."""

    gathers_since: datetime | None = None

    @property
    def is_occupied(self) -> bool:
        """True while the step gathers messages."""
        return self.gathers_since is not None


@immutable
class ForEnd(FrameWait):
    """The end of the last of its effects."""

    @property
    def effect(self) -> str | None:
        """The last effect; None if nothing was sent, because the contact has opted out."""
        return self.effects[-1] if self.effects else None

    def without_effect(self) -> FrameWait:
        """A wait for the contact."""
        return ForContact(self.effects)


@stored
@immutable
class AskedMessage:
    """A message of the contact that a model is asked about. If an edit removes the step, the message is offered again.

    ``found`` are the answers in it that are known, by step; None: the model is asked which flow it is about.
    ``questions`` are the steps whose answers the model looks for.
    """

    text: str
    found: dict[str, str] | None = None
    questions: tuple[str, ...] = ()


@stored
@immutable(kw_only=True)
class ForEffect(ForEnd):
    """The end of a call, a request or a model's answer.

    ``listens``: messages are offered meanwhile; otherwise they are parked unread.
    """

    listens: bool = False
    about: AskedMessage | None = None

    @property
    def parks_messages(self) -> bool:
        """True unless the step listens."""
        return not self.listens


@stored
@immutable(kw_only=True)
class ForSend(ForEnd):
    """The gateway's word on the last of the step's messages."""

    @property
    def parks_messages(self) -> bool:
        """True: the contact's message may be an answer to what comes next."""
        return bool(self.effects)


@stored
@immutable(kw_only=True)
class ForFlow(FrameWait):
    """The end of the flow above, which the step runs."""


@stored
@immutable(kw_only=True)
class ForPerson(FrameWait):
    """A person of the ``team``, who takes the conversation over and resolves it. The ``note`` is for them."""

    team: str
    note: str | None = None

    @property
    def tag(self) -> str:
        """The tag that the contact has meanwhile."""
        return HANDOFF_TAG + self.team


@stored
@immutable(kw_only=True)
class ForTime(FrameWait):
    """A point in time. ``lasts`` is the duration from which it was computed, if it was: the wait is never longer."""

    until: datetime
    lasts: timedelta | None = None
