"""Moves as events of the engine, as those make them who bring them in earnest."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from json import dumps
from typing import Any

from bot.checker.exploring.answers import Answer, Keeps, Responds, Returns, Speaks
from bot.checker.exploring.moves import PLACE, Act, Happens, Sends, Starts, Taps, Writes
from bot.core.effects import Call, Complete, Fetch, HttpRequest
from bot.core.events import (
    CallEnded,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    StartRequested,
    StatusReported,
    Tapped,
)
from bot.core.messages import MEDIA_KINDS
from bot.core.values import Location, Media
from bot.extensions.annotations import Results

Asked = Call | Complete | Fetch | HttpRequest
"""What the world is asked, and what somebody waits for."""

_MODEL_FAILURES = {"server_error": "down", "quota_exceeded": "quota", "model_no_tool_support": "no_tools"}


def event_of(act: Act, event_id: str, contact: str, now: datetime) -> Event:
    """The event that an act is. Raises `TypeError` for one that is none: for a wait, and for a fault."""
    match act:
        case Writes(text):
            return MessageReceived(event_id, contact, now, now, "text", text)
        case Taps(reply, title):
            return Tapped(event_id, contact, now, now, reply, title)
        case Sends(kind):
            media = Media(kind, f"https://files.example/{kind}") if kind in MEDIA_KINDS else None
            place = Location(PLACE["latitude"], PLACE["longitude"]) if kind == "location" else None
            return MessageReceived(event_id, contact, now, now, kind, media=media, location=place)
        case Happens(event):
            return _HAPPENINGS[event](event_id, contact, now)
        case Starts(flow, data):
            return StartRequested(event_id, contact, now, flow, dict(data))
    raise TypeError(f"{act} is no event")


def end_of(answer: Answer, awaited: tuple[str, Asked], contact: str, now: datetime, results: Results) -> CallEnded:
    """The end of what is awaited."""
    ref, asked = awaited
    outcome, value = _ended(answer, asked, results)
    return CallEnded(f"call:{ref}", contact, now, ref, outcome, value)


def _ended(answer: Answer, asked: Asked, results: Results) -> tuple[str, Any]:
    match answer:
        case Returns(name, value, None):
            return "done", results.of(name, value)
        case Responds(status=status, fails=None):
            value = {"status": status, "answer": answer.json if answer.text is None else answer.text}
            return ("done" if 200 <= status < 300 else str(status)), value
        case Speaks(fails=None):
            return "done", _said(answer)
        case Keeps():
            assert isinstance(asked, Fetch)
            return "done", replace(asked.media, file=asked.media.kind, type=asked.media.kind)
        case Speaks(fails=str(failure)):
            return _MODEL_FAILURES[failure], None
        case Returns(fails=str(failure)) | Responds(fails=str(failure)):
            return failure, None
    raise TypeError(f"{answer} is no answer")


def _said(speaks: Speaks) -> Mapping[str, Any]:
    """What a model's answer is to a step (`bot.runtime.model_answer.answer_value`)."""
    calls = [
        {"id": f"c{number}", "name": name.replace(".", "_"), "arguments": dumps(arguments)}
        for number, (name, arguments) in enumerate(speaks.calls)
    ]
    finish = "tool_calls" if calls else "stop"
    return {"text": speaks.text, "said": 0, "calls": calls, "finish": finish, "model": "m", "tokens": 0}


_HAPPENINGS: Mapping[str, Callable[[str, str, datetime], Event]] = {
    "contact.created": lambda i, c, context: ContactChanged(i, c, context, "contact.created"),
    "contact.updated": lambda i, c, context: ContactChanged(i, c, context, "contact.updated"),
    "conversation.opened": ConversationOpened,
    "conversation.assigned": lambda i, c, context: ConversationAssigned(i, c, context, agent="Agent"),
    "conversation.resolved": HandoffClosed,
    "message.sent": lambda i, c, context: StatusReported(i, c, context, "sent", ("m",)),
    "message.delivered": lambda i, c, context: StatusReported(i, c, context, "delivered", ("m",)),
    "message.read": lambda i, c, context: StatusReported(i, c, context, "read", ("m",)),
    "message.failed": lambda i, c, context: StatusReported(i, c, context, "failed", ("m",)),
}
