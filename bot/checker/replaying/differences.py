"""The first difference between a recorded conversation and its replay; comparison of effects, and their lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from typing import Any, cast, get_args

from bot.core.effects import (
    AskModel,
    Call,
    DeleteFile,
    Effect,
    EmitEvent,
    Fetch,
    HttpRequest,
    JudgeAnswer,
    Performed,
    Publish,
    PutContact,
    ReadContact,
    RunHook,
    Send,
    Transcribe,
)
from bot.core.events import CallEnded, Event, SharedRunRequested, SignalReceived, StartRequested
from bot.core.immutable import immutable
from bot.core.messages import (
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
)
from bot.core.own_addresses import ADDRESS
from bot.core.session import Session
from bot.core.values import json_text
from bot.language.expressions.formats import shown
from bot.language.source.problems import Mark


class DifferenceKind(Enum):
    """The ways in which the bot can behave differently."""

    SAYS = "says something else"
    OFFERS = "offers other choices"
    MORE = "says more"
    LESS = "says less"
    ASKS = "asks for something of which no result is recorded"
    ASKS_NOT = "does not ask for it any more"
    DOES = "does something else"
    BY_ITSELF = "does something at a time at which nothing happened"
    WAITS = "waits for a result where it took a message"
    FAILS = "fails"
    LEAVES = "leaves something else behind"


@immutable
class ReplayDifference:
    """The first difference, in turn ``number`` (from 1) of the conversation, at the time ``when``.

    ``was_at`` and ``at`` are the steps that acted then and now (``flow/step``; empty where none did), ``mark`` is the
    present place of the step. ``why`` says what failed. ``sessions`` (before and after the turn) and ``events`` are
    all that was known then.
    """

    kind: DifferenceKind
    was_at: str
    at: str
    mark: Mark | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    number: int
    when: datetime
    sessions: tuple[Session, ...]
    events: tuple[Event, ...]
    why: str | None = None


@immutable
class ReplayResult:
    """The result of a replay: the same conversation, unless there is a ``difference``.

    ``stopped`` says why it could not be compared to its end.
    """

    difference: ReplayDifference | None = None
    stopped: str | None = None


def differing_effects(theirs: Sequence[Effect], ours: Sequence[Effect], at: int) -> tuple[Effect | None, Effect | None]:
    """The two effects at the place where two turns differ.

    Beside an effect that was only added or removed stands None.
    """
    more = len(ours) - len(theirs)
    if more > 0 and _go_on_alike(theirs[at:], ours[at + more :]):
        return None, ours[at]
    if more < 0 and _go_on_alike(theirs[at - more :], ours[at:]):
        return theirs[at], None
    return (theirs[at] if at < len(theirs) else None), (ours[at] if at < len(ours) else None)


def difference_kind(before: Effect | None, after: Effect | None) -> DifferenceKind:
    """The kind of difference between two effects; None: there is no such effect."""
    if _has_result(after):
        return DifferenceKind.ASKS
    if _has_result(before):
        return DifferenceKind.ASKS_NOT
    if isinstance(before, Send | None) and isinstance(after, Send | None):
        if before is None or after is None:
            return DifferenceKind.MORE if before is None else DifferenceKind.LESS
        one, other = before.message, after.message
        offers = list(_texts(one)) == list(_texts(other)) and _choices(one) != _choices(other)
        return DifferenceKind.OFFERS if offers else DifferenceKind.SAYS
    return DifferenceKind.DOES


def session_lines(session: Session) -> tuple[str, ...]:
    """The lines about what remains of a conversation after its end."""
    lines = [f"is at {frame.flow}/{frame.step}" for frame in session.frames]
    lines += [f"tag {tag}" for tag in session.tags]
    lines += [f"{name}: {shown(value)}" for name, value in session.kept_variables.items() if value is not None]
    lines += [
        f"signal {plan.signal} waits" if plan.signal else f"{plan.flow} is to start at {shown(plan.at)}"
        for plan in session.plans
    ]
    lines += [f"draft at {draft.where}" for draft in session.drafts]
    return (*lines, *(() if session.language is None else (f"language {session.language}",)))


def all_effect_lines(effects: Sequence[Effect]) -> tuple[str, ...]:
    """All of a turn's effects, line by line."""
    return tuple(line for effect in effects for line in effect_lines(effect))


def _go_on_alike(theirs: Sequence[Effect], ours: Sequence[Effect]) -> bool:
    return len(theirs) == len(ours) and all(map(same_effect, theirs, ours))


_PERFORMED = get_args(Performed)


def _has_result(effect: Effect | None) -> bool:
    """True if the conversation waits for a result of the effect."""
    return isinstance(effect, _PERFORMED) and not isinstance(effect, RunHook | DeleteFile | JudgeAnswer | Publish)


def same_effect(one: Effect, other: Effect) -> bool:
    """True if two effects are the same to the contact, or ask the same question. The time that a result may take does
    not count, nor do the ids of choices, which contain the step's name, and the addresses of signals.
    """
    if one == other:
        return True
    if type(one) is not type(other):
        return False
    one, other = _bare(one), _bare(other)
    return one == other or _without_addresses(one) == _without_addresses(other)


def _without_addresses(effect: Effect) -> str:
    """An effect as a text without the addresses of signals: they hold the secret that the bot had."""
    return re.sub(ADDRESS, "", json_text(effect))


def choice_ids(effect: Effect) -> list[str]:
    """The ids that come back when a part of a message is tapped, in order."""
    if not isinstance(effect, Send):
        return []
    message, instead = effect.message, () if effect.instead is None else effect.instead.replies
    if isinstance(message, TemplateMessage):
        return [*message.replies, *instead]
    return [*(choice.id for choice in _choices(message)), *instead]


def effect_lines(effect: Effect | None) -> tuple[str, ...]:
    """An effect for people, line by line; no effect has no lines."""
    return tuple(line for text in _parts(effect) for line in text.split("\n"))


def _bare(effect: Effect) -> Effect:
    """An effect without the parts that nobody outside of the engine sees."""
    match effect:
        case Send(message, instead):
            return Send(_without_ids(message), None if instead is None else _without_ids(instead))
        case AskModel():
            return replace(effect, flow="", within=0.0, tries=0)
        case HttpRequest():
            return replace(effect, seconds=0.0, within=0.0, tries=0, cache=0.0)
        case Transcribe(by=by):  # the bare effect is of the same class
            return replace(effect, by=cast(Call | HttpRequest, _bare(by)), within=0.0, tries=0)
        case Call() | Fetch() | RunHook() | JudgeAnswer():
            return replace(effect, within=0.0, tries=0)
        case EmitEvent(event=event):
            return EmitEvent(replace(event, id=""))
    return effect


def _without_ids(message: Any) -> Any:
    match message:
        case Buttons(buttons=buttons):
            return replace(message, buttons=tuple(replace(button, id="") for button in buttons))
        case ListMessage(sections=sections):
            bare = (replace(each, rows=tuple(replace(row, id="") for row in each.rows)) for each in sections)
            return replace(message, sections=tuple(bare))
        case TemplateMessage(replies=replies):
            return replace(message, replies=("",) * len(replies))
    return message


def _choices(message: Message) -> list[Choice]:
    match message:
        case Buttons(buttons=buttons):
            return list(buttons)
        case ListMessage():
            return list(message.rows)
    return []


def _parts(effect: Effect | None) -> Iterator[str]:
    """The visible parts of an effect."""
    match effect:
        case Send(message, instead):
            yield from _texts(message)
            yield from (_choice_in_words(choice) for choice in _choices(message))
            if instead is not None:
                yield f"if the window is closed: {' '.join(_texts(instead))}"
        case Call(handler, arguments):
            yield f"call {handler}"
            yield from _named(arguments)
        case AskModel(messages=messages, tools=tools, models=models):
            yield f"ask {' or '.join(models) or 'the model'}"
            yield from (f"tool {tool['function']['name']}" for tool in tools)
            yield from (f"{message['role']}: {shown(message.get('content'))}" for message in messages)
        case HttpRequest(method, address, headers, body):
            yield f"{method} {address}"
            yield from _named(headers)
            yield from () if body is None else (body,)
        case Fetch(media):
            yield f"keep the {media.kind}"
        case JudgeAnswer(question=question):
            yield f"have the answer judged: {question}"
        case DeleteFile():
            yield "delete a kept file"
        case Transcribe(by=by):
            yield "transcribe the voice note"
            yield from _parts(by)
        case EmitEvent(event=StartRequested(contact=contact, flow=flow, data=data)):
            yield f"start /{flow} for {contact}"
            yield from _named(data)
        case EmitEvent(event=SharedRunRequested(contact=record, flow=flow, data=data)):
            yield f"run /{flow} at {record}"
            yield from _named(data)
        case EmitEvent(event=CallEnded(contact=contact, outcome=outcome)):
            yield f"tell {contact} how the run ended: {outcome}"
        case EmitEvent(event=SignalReceived(contact=contact, name=name, data=data)):
            yield f"signal {name} to {contact}"
            yield from _named(data)
        case RunHook(hook, told):
            yield f"tell the hook {hook}"
            yield from _named(told)
        case Publish(name, _, data):
            yield f"event {name}"
            yield from _named(data)
        case ReadContact():
            yield "read the contact at the gateway"
        case PutContact(name, email, tags):
            yield "tell the gateway"
            yield from _named({"name": name, "email": email, "tags": list(tags)})


def _named(values: Mapping[str, Any]) -> Iterator[str]:
    return (f"{name}: {shown(value)}" for name, value in values.items())


def _texts(message: Message) -> Iterator[str]:
    """The texts of a message, but for its choices."""
    match message:
        case TextMessage(body):
            yield body
        case MediaMessage(kind, link, caption):
            yield f"{kind} {link}"
            yield from () if caption is None else (caption,)
        case LocationMessage(latitude, longitude, name, address):
            yield ", ".join(part for part in (name, address, f"{latitude} {longitude}") if part)
        case TemplateMessage(name, language):
            yield f"template {name} ({language})"
            yield from _parameters(message)
        case Buttons(body, header=header):
            yield from (part for part in (header, body) if part)
        case LinkButton(body, title, url, header, footer):
            yield from (part for part in (header, body, footer, f"[{title}] {url}") if part)
        case ListMessage(body, button, footer=footer):
            yield from (part for part in (body, footer, f"[{button}]") if part)


def _parameters(template: TemplateMessage) -> Iterator[str]:
    given = (() if not template.header else (template.header,)) + template.body
    yield from (shown(parameter[parameter["type"]]) for parameter in given)
    yield from (text for _, text in template.url_buttons)


def _choice_in_words(choice: Choice) -> str:
    return f"[{choice.title}]" + (f" {choice.description}" if choice.description else "")
