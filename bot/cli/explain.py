"""Turns, messages and values in words, for `bot trace`, `bot queue`, `bot sessions` and the chat's ``/trace``."""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Any

from bot.cli.output import local_time, printable, styled
from bot.core.effects import Call, Complete, Effect, Fetch, Happen, HttpRequest, PutContact, Tell
from bot.core.events import (
    CallEnded,
    CallProgressed,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SendEnded,
    SignalReceived,
    StartRequested,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.messages import Message, clip
from bot.core.session import HAS_OPTED_OUT, Session
from bot.core.text import PICTURE
from bot.core.values import Location, Media
from bot.expressions.formats import shown
from bot.gateway.gateway_client import content, type_of
from bot.simulation.phone import message_from_request
from bot.store.rows import MessageStatus
from bot.store.trace_rows import TurnTraced

LINE = 100  # characters of a text in one line of a trace


def turn_lines(turn: TurnTraced, zone: tzinfo | None = None) -> Iterator[str]:
    """The lines of one turn: the event and its rule, the steps with their decisions, and the effects. Times are in
    the form of `local_time`.
    """
    at, cost = styled(local_time(turn.at, zone), dim=True), styled(f"{turn.micros} µs", dim=True)
    yield f"{at}  {styled(event_in_words(turn.event), bold=True)}  by rule: {turn.rule}  {cost}"
    for step in turn.steps:
        here = f"{step['flow']}/{step['step']}"
        for text, value in step["conditions"]:
            yield f"  {here}  if {text}: {value_in_words(value)}"
        if step["outcome"] is None:
            yield f"  {here}  waits"
        else:
            yield f"  {here}  {step['outcome']} -> {step['target'] or 'stays'}"
    for effect, status in zip(turn.effects, turn.statuses, strict=True):
        yield f"  {effect_in_words(effect)}{'' if status is None else f'  {status_in_words(status)}'}"
    for note in turn.notes:
        yield f"  {styled('note', fg='yellow')} {printable(note)}"


def session_lines(session: Session, zone: tzinfo | None = None) -> Iterator[str]:
    """Where a contact is, innermost flow first, and the known values. Times are in the form of `local_time`."""
    if session.frame is None:
        yield "in no flow"
    for frame in reversed(session.frames):
        state = "waits for a call or a message to end" if frame.awaited_effect else "waits"
        state = "waits for more of the contact's messages" if frame.gathers_since is not None else state
        yield f"in {styled(f'{frame.flow}/{frame.step}', bold=True)} since {local_time(frame.entered_at, zone)}, {state}"
        yield from _value_lines(frame.vars)
    if session.kept_variables:
        yield "kept"
        yield from _value_lines(session.kept_variables)
    for plan in sorted(session.plans, key=lambda plan: plan.at):
        if plan.signal is not None:
            yield f"signal {plan.signal} waits since {local_time(plan.at, zone)}"
            continue
        named = "" if plan.name == plan.flow else f" ({printable(plan.name)})"
        yield f"{plan.flow} is to start at {local_time(plan.at, zone)}{named}"
    if session.opted_out:
        yield HAS_OPTED_OUT
    if session.tags:
        yield f"tags: {', '.join(session.tags)}"


def _value_lines(values: Mapping[str, Any]) -> Iterator[str]:
    width = max(map(len, values), default=0)
    return (f"  {name:{width}}  {value_in_words(value)}" for name, value in values.items())


def event_in_words(event: Event | Mapping[str, Any]) -> str:
    """An event in words."""
    match event:
        case MessageReceived(text=text, together=(_, *_) as together):
            return f'wrote {len(together)} messages, taken as one: "{_line(text or "")}"'
        case MessageReceived(kind=kind, text=text):
            return (
                f'wrote "{_line(text or "")}"' if kind == "text" else f"sent {_line(kind)} {_line(text or '')}".rstrip()
            )
        case Tapped(title=title, reply=reply):
            return f'tapped "{_line(title)}" ({_line(reply)})'
        case TimeReached():
            return "the time came"
        case CallEnded(outcome="done", value={"text": _, "calls": _, "finish": _, "model": _, "tokens": _} as answer):
            return _answer_in_words(answer)
        case CallEnded(outcome=outcome, value=value, detail=detail):
            return f"the call ended: {outcome} {_line(detail or value_in_words(value))}".rstrip()
        case SendEnded(outcome=outcome, detail=detail):
            return f"the message ended: {outcome} {_line(detail)}".rstrip()
        case CallProgressed(text=text):
            return f'the model said "{_line(text)}"'
        case ContactChanged(event=name):
            return name
        case ConversationOpened():
            return "the conversation was opened"
        case ConversationAssigned(agent=agent):
            return f"the conversation was assigned to {_line(agent or 'an agent')}"
        case StatusReported(status=status):
            return f"a message was {status}"
        case HandoffClosed():
            return "the conversation was resolved"
        case StartRequested(flow=flow, by=by):
            return f"start of {flow} by {by}"
        case SignalReceived(name=name, by=by):
            return f"signal {name} by {by}"
        case ResetRequested(by=by):
            return f"reset by {by}"
    return printable(", ".join(f"{name}: {value}" for name, value in event.items())) or "no event"


def _answer_in_words(answer: Mapping[str, Any]) -> str:
    """A model's answer in words: its new text, its calls, its tokens."""
    parts = [f"{_line(answer['model'])} answered" + (f' "{_line(answer["text"])}"' if answer["text"] else "")]
    parts += [f"calls {_line(call['name'])}({_line(call['arguments'])})" for call in answer["calls"]]
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
        case Complete():
            tools = [tool["function"]["name"] for tool in effect.tools]
            more = f", with {', '.join(tools)}" if tools else ""
            pictures = sum(PICTURE in message for message in effect.messages)
            more += f", pictures: {pictures}" if pictures else ""
            return f"ask {' or '.join(effect.models) or 'the model'}: {len(effect.messages)} messages{more}"
        case HttpRequest():
            return _line(f"request {effect.method} {effect.address}")
        case Happen(event=event):
            return f"for {event.contact}: {event_in_words(event)}"
        case Tell():
            return f"tell the hook {_line(effect.hook)}"
        case PutContact():
            return f"tell the gateway: tags {', '.join(effect.tags) or 'none'}"
    return f"send {message_in_words(effect.message)}"


def status_in_words(status: MessageStatus) -> str:
    """How far a message has got."""
    colour = "red" if status.name == "failed" else "green"
    return styled(f"{status.name}: {_line(status.detail)}" if status.detail else status.name, fg=colour)


def message_in_words(message: Message) -> str:
    """A message on one line: its kind, its text, its choices."""
    kind = type_of(message)
    shown = message_from_request(kind, {kind: content(message)})
    parts = [kind if shown.template is None else f"template {shown.template} ({shown.language})"]
    parts += [f'"{_line(shown.text)}"'] if shown.text else []
    parts += [f"[{title}]" for title in shown.choices]
    parts += [f"[{shown.link.title}] {shown.link.url}"] if shown.link is not None else []
    parts += [shown.file.link] if shown.file is not None else []
    parts += [shown.place] if shown.place is not None else []
    parts += [f'"{part}"' for part in shown.body]
    return printable(" ".join(parts))


def value_in_words(value: Any) -> str:
    """A variable's value, as a person reads it."""
    match value:
        case None:
            return "null"
        case Media(kind, url):
            return f"{kind} {_line(url)}"
        case Location(latitude, longitude):
            return f"{latitude}, {longitude}"
        case Mapping():
            return "{" + ", ".join(f"{key}: {value_in_words(item)}" for key, item in value.items()) + "}"
        case list() | tuple():
            return "[" + ", ".join(map(value_in_words, value)) + "]"
    return printable(shown(value))


def _line(text: str) -> str:
    return clip(printable(" ".join(text.split())), LINE)
