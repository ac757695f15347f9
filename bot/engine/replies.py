"""Messages of contacts that were parked, or came before the question: several as one, and when they were written."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from bot.core.events import MessageReceived, Tapped
from bot.core.session import Frame, Session
from bot.core.text import KEPT_CHARACTERS, head
from bot.language.steps.ai_exchange import from_contact
from bot.language.steps.step_kind import reply_of

_KEPT = "kept:"


def kept(message: MessageReceived | Tapped) -> MessageReceived | Tapped:
    """The event that brings back a message that a step has put off. It has an id of its own, because a turn happens
    once per event.
    """
    return replace(message, id=_KEPT + message.id)


def is_kept(message: MessageReceived | Tapped) -> bool:
    """True if a step has put off a parked message. The others were parked unread."""
    return message.id.startswith(_KEPT)


def merged(messages: Sequence[MessageReceived | Tapped]) -> MessageReceived | Tapped:
    """Parked messages as one event, in order. A single message does not change."""
    last = messages[-1]
    if len(messages) == 1:
        return last
    text = "\n".join(
        message.title if isinstance(message, Tapped) and message.title else from_contact(reply_of(message))
        for message in messages
    )
    ids = tuple(message.id.rpartition(_KEPT)[2] for message in messages)
    sent_at = max(message.sent_at for message in messages)
    text = head(text, KEPT_CHARACTERS)
    files = tuple(each for message in messages if (each := reply_of(message).media) is not None)
    return MessageReceived(last.id, last.contact, last.at, sent_at, "text", text, together=ids, files=files)


_TICK = timedelta(seconds=1)  # of the gateway's time (spec: Events)
_BURST = timedelta(seconds=2)  # between two messages that are sent together, such as the pictures of an album


def put_since(session: Session, frame: Frame, event: MessageReceived | Tapped) -> datetime | None:
    """When the waiting question was put, if the contact wrote this before; None if the contact may have seen it.

    A message that was parked has come before the question. Otherwise the gateway's time decides. Its clock may be
    behind, so the message must also belong to a burst: it was written right after the newest one, or before it. And it
    counts whole seconds: a text may have been written up to a second later than it says. Nobody sends a picture that
    fast.
    """
    newest = session.last_inbound
    if isinstance(event, MessageReceived) and event.transcribed:
        return None
    put_at = frame.silent_since
    if is_kept(event):  # its own time is the newest one, and the step that kept it takes it
        return put_at if event.at < frame.entered_at else None
    in_burst = newest is not None and event.sent_at <= newest + _BURST
    pictured = isinstance(event, MessageReceived) and event.media is not None
    written_by = event.sent_at if pictured else event.sent_at + _TICK
    return put_at if event.at < put_at or (in_burst and written_by < put_at) else None
