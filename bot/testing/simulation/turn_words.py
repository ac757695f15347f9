"""The events, effects, messages and values of a turn in words, each on one line."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from bot.core.effects import (
    AskModel,
    Call,
    DeleteFile,
    Effect,
    EmitEvent,
    Fetch,
    HttpRequest,
    JudgeAnswer,
    ListContacts,
    Publish,
    PutContact,
    ReadContact,
    RunHook,
    Transcribe,
)
from bot.core.events import (
    LISTED,
    CallEnded,
    CallProgressed,
    ColleagueDecided,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    SharedRunRequested,
    SignalReceived,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
    ValuesSet,
)
from bot.core.messages import Message, clip
from bot.core.session import Draft, Frame, Plan
from bot.core.text import PICTURE, printable
from bot.core.values import Location, Media
from bot.language.expressions.formats import shown
from bot.services.gateway.gateway_client import content, type_of
from bot.testing.simulation.phone import ShownMessage, message_from_request

LINE = 100  # characters of a text in one line

SEND_ENDS = {
    "sent": "the message was sent",
    "replaced": "the window was closed: the message's template was sent in its place",
    "superseded": "the window was closed: the message was not sent, since a template had gone before",
    "contact_limit": "the message was not sent: the contact has been sent too much",
    "opted_out": "the message was not sent: the contact has opted out",
    "refused": "the message was refused",
    "failed": "the message was given up",
    "unknown": "the message may have been sent, or not",
}
"""The outcomes of `SendEnded` in words."""
CONTACT_CHANGES = {
    "contact.created": "the gateway has made the contact",
    "contact.updated": "the gateway has changed the contact's data",
    LISTED: "the contact's data came from the gateway's list",
}
"""The events of `ContactChanged` in words."""


def event_in_words(event: Event | Mapping[str, Any]) -> str:
    """An event in words."""
    match event:
        case MessageReceived(text=text, together=(_, *_) as together):
            return f'wrote {len(together)} messages, taken as one: "{line_of(text or "")}"'
        case MessageReceived(kind=kind, text=text):
            return (
                f'wrote "{line_of(text or "")}"'
                if kind == "text"
                else f"sent {line_of(kind)} {line_of(text or '')}".rstrip()
            )
        case Tapped(title=title):
            return f'tapped "{line_of(title)}"'
        case TimeReached():
            return "the time came"
        case CallEnded(
            outcome="done", value={"text": _, "calls": _, "finish": _, "model": _, "tokens": _} as answer, detail=detail
        ):
            return _answer_in_words(answer) + (f" ({line_of(detail)})" if detail else "")
        case CallEnded(outcome="done", value=value, detail=detail):
            return f"the call returned {line_of(detail or value_in_words(value))}"
        case CallEnded(outcome=outcome, detail=detail):
            return f"the call ended with {line_of(outcome)}" + (f": {line_of(detail)}" if detail else "")
        case SendEnded(outcome=outcome, detail=detail):
            return SEND_ENDS[outcome] + (f": {line_of(detail)}" if detail else "")
        case CallProgressed(text=text):
            return f'the model said "{line_of(text)}"'
        case ContactChanged(event=name):
            return CONTACT_CHANGES.get(name, name)
        case ConversationOpened():
            return "the conversation was opened"
        case ConversationAssigned(answered=True, agent=agent, text=text):
            named = f" ({line_of(agent)})" if agent else ""
            return f"an agent answered at the gateway{named}" + (f': "{line_of(text)}"' if text else "")
        case ConversationAssigned(agent=agent):
            return f"the conversation was assigned to {line_of(agent or 'an agent')}"
        case StatusReported(status=status):
            return f"a message was {status}"
        case HandoffClosed(by=None):
            return "the conversation was resolved"
        case HandoffClosed(by=by):
            return f"the conversation was given back by {line_of(by or '')}"
        case StartRequested(flow=flow, by=by):
            return f"start of {flow} by {by}"
        case SharedRunRequested(flow=flow):
            return f"run of {flow}"
        case SignalReceived(name=name, by=by):
            return f"signal {name} by {by}"
        case ValuesSet(values=values, by=by):
            return f"{', '.join(f'{name}: {line_of(value_in_words(value))}' for name, value in values.items())} set by {by}"
        case ColleagueDecided(agreed=agreed, by=by, note=note):
            did = f"a colleague {'agreed' if agreed else 'refused'} ({line_of(by)})"
            return did + (f': "{line_of(note)}"' if note else "")
        case ResetRequested(by=by):
            return f"reset by {by}"
        case {"dropped": Mapping() | MessageReceived() | Tapped() as dropped}:
            return f"{event_in_words(dropped)}, which was dropped"
        case {"judged": str() as question}:
            return f"a judge was asked: {line_of(question)}"
        case {"call": call, "try": number}:
            return f"try {number} of {line_of(str(call))} failed"
        case {"do": str() as act}:
            return _act_in_words(act, event)
    return printable(", ".join(f"{name}: {value}" for name, value in event.items())) or "no event"


def _act_in_words(act: str, asked: Mapping[str, Any]) -> str:
    """An act of an operator in words: ``{"do": "drop", "id": 5, "by": "olga"}`` -> ``olga dropped dead letter 5``"""
    by = line_of(str(asked.get("by", "operator")))
    who = "an operator" if by == "operator" else by
    name, id = f'"{line_of(str(asked.get("name", "")))}"', asked.get("id")
    match act:
        case "broadcast":
            return f"the broadcast {name}"
        case "pause":
            return f"the broadcast {name} was paused"
        case "stop":
            return f"{who} stopped the broadcast {name}"
        case "resume":
            return f"{who} resumed the broadcast {name}"
        case "edit":
            return f"{who} began to correct the broadcast {name}"
        case "send":
            return f"{who} sent a message"
        case "note":
            return f'{who} noted "{line_of(str(asked.get("text", "")))}"'
        case "retry":
            return f"{who} retried dead letter {id}"
        case "drop":
            return f"{who} dropped dead letter {id}"
    return f"{who}: {line_of(act)}"


def _answer_in_words(answer: Mapping[str, Any]) -> str:
    """A model's answer in words: its new text, its calls, its tokens."""
    parts = [f"{line_of(answer['model'])} answered" + (f' "{line_of(answer["text"])}"' if answer["text"] else "")]
    parts += [f"calls {line_of(call['name'])}({line_of(call['arguments'])})" for call in answer["calls"]]
    parts += ["cut short"] if answer["finish"] in ("length", "cut") else []
    return ", ".join([*parts, f"{answer['tokens']} tokens"])


def effect_in_words(effect: Effect) -> str:
    """An effect in words."""
    match effect:
        case Call():
            arguments = ", ".join(f"{name}: {value_in_words(value)}" for name, value in effect.arguments.items())
            return f"call {effect.handler}({arguments})"
        case Fetch():
            return f"keep the {effect.media.kind}"
        case JudgeAnswer():
            return f"have the answer judged: {line_of(effect.question)}"
        case DeleteFile():
            return "delete a kept file"
        case Transcribe():
            return f"transcribe the voice note: {effect_in_words(effect.by)}"
        case AskModel():
            tools = [tool["function"]["name"] for tool in effect.tools]
            more = f", with {', '.join(tools)}" if tools else ""
            pictures = sum(PICTURE in message for message in effect.messages)
            more += f", pictures: {pictures}" if pictures else ""
            return f"ask {' or '.join(effect.models) or 'the model'}: {len(effect.messages)} messages{more}"
        case HttpRequest():
            return line_of(f"request {effect.method} {effect.address}")
        case EmitEvent(event=event):
            return f"for {event.contact}: {event_in_words(event)}"
        case RunHook():
            return f"tell the hook {line_of(effect.hook)}"
        case Publish():
            return line_of(f"event {effect.name}: {value_in_words(effect.data)}")
        case ReadContact():
            return "read the contact in the gateway's list"
        case ListContacts():
            return f"read page {effect.page} of the gateway's list of contacts"
        case PutContact():
            return f"tell the gateway: tags {', '.join(effect.tags) or 'none'}"
    return f"send {message_in_words(effect.message)}"


def shown_message(message: Message) -> ShownMessage:
    """A message as the contact's phone shows it."""
    kind = type_of(message)
    return message_from_request(kind, {kind: content(message)})


def message_in_words(message: Message) -> str:
    """A message on one line: its kind, its text, its choices."""
    kind, shown = type_of(message), shown_message(message)
    parts = [kind if shown.template is None else f"template {shown.template} ({shown.language})"]
    parts += [f'"{line_of(shown.text)}"'] if shown.text else []
    parts += [f"[{title}]" for title in shown.choices]
    parts += [f"[{shown.link.title}] {shown.link.url}"] if shown.link is not None else []
    parts += [shown.file.link or shown.file.name] if shown.file is not None else []
    parts += [shown.place] if shown.place is not None else []
    parts += [f'"{part}"' for part in shown.body]
    return printable(" ".join(parts))


def state_in_words(frame: Frame) -> str:
    """The thing that a frame's step waits for, in words."""
    if frame.awaited_effect is not None:
        return "waits for a call or a message to end"
    return "waits for more of the contact's messages" if frame.is_occupied else "waits"


def plan_in_words(plan: Plan) -> str:
    """A plan in words: ``signal paid``, or a flow, with the name that its author has given the plan: ``survey
    (evening)``
    """
    if plan.signal is not None:
        return f"signal {plan.signal}"
    named = plan.name != plan.flow and plan.after != timedelta()  # else a program's request, whose id is the name
    return f"{plan.flow} ({printable(plan.name)})" if named else plan.flow


def draft_in_words(draft: Draft) -> str:
    """A draft in words: ``draft at claim/day (window)``."""
    return f"draft at {draft.where} ({printable(draft.title)})"


def value_in_words(value: Any) -> str:
    """A variable's value, as a person reads it."""
    match value:
        case None:
            return "null"
        case Media(kind, url):
            return f"{kind} {line_of(url)}"
        case Location(latitude, longitude):
            return f"{latitude}, {longitude}"
        case Mapping():
            return "{" + ", ".join(f"{key}: {value_in_words(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(value_in_words, value)) + "]"
    return printable(shown(value))


def line_of(text: str) -> str:
    """A text on one line, cut where it is long."""
    return clip(printable(" ".join(text.split())), LINE)
