"""An operator's requests about broadcasts: add recipients, stop, resume, correct, and repeat a message that failed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core.effects import Send
from bot.core.engine_answers import (
    BroadcastResumed,
    BroadcastStopped,
    CorrectionBegun,
    CorrectionEnded,
    RecipientsAdded,
    RecipientsCorrected,
)
from bot.core.engine_requests import AddRecipients, BeginCorrection
from bot.core.messages import TemplateMessage, violations
from bot.core.values import json_text
from bot.language.source.wall_clock import LONGEST
from bot.runtime.batch import Batch, RequestRefused, effect_key
from bot.runtime.broadcasting import TakeBack, broadcast_elsewhere, find_broadcast, known_broadcast, take_back_all
from bot.store.broadcast_rows import (
    EDITING,
    FINISHED,
    PAUSED,
    RUNNING,
    SCHEDULED,
    STOPPED,
    TRYING,
    Broadcast,
    Content,
    FlowToStart,
    RepeatedSend,
)
from bot.store.dead_letter_rows import DeadSend
from bot.store.trace_rows import OPERATOR

LATE, LEAST_LATE = timedelta(hours=1), timedelta(minutes=1)
"""How long after a contact's time its message is still sent if no server ran then. A restart or a short outage costs
nothing, and a message for the morning does not come in the evening. A busy server would miss less than a minute.
"""

_ADDED_AGAIN = (None, "left_out", "missed", "failed", "unknown")

_RecipientRow = tuple[str, list[str] | dict[str, Any], datetime | None]
"""A contact, its parameters or data, and its time."""


def add_recipients(
    batch: Batch,
    name: str,
    content: Content,
    recipients: Sequence[Any],
    by: str,
    at: str = "",
    late: timedelta = timedelta(),
) -> RecipientsAdded:
    """Add recipients, ``{"contact", "body": [...]}`` each, to the broadcast of this name; make it with the first, as
    started ``by`` somebody.

    If the broadcast starts a flow, they are ``{"contact", "data": {...}}``. Each may have an ``at``, the moment at
    which the clock of its contact shows what the broadcast's ``at`` says.

    Raises `RequestRefused`.
    """
    known = find_broadcast(batch, name)
    begun = known or broadcast_elsewhere(batch, name)
    if begun is not None and begun.content != content:
        what = (
            "starts another flow"
            if begun.starts_flow and isinstance(content, FlowToStart)
            else "sends another template or language"
        )
        raise RequestRefused(f'the broadcast "{name}" {what}: `--edit "{name}"` corrects it, or choose another name')
    if begun is not None and begun.at != at:
        raise RequestRefused(f'the broadcast "{name}" was requested for another time: `--edit "{name}"` corrects it')
    if begun is not None and begun.state == STOPPED:
        raise RequestRefused(f'the broadcast "{name}" was stopped: `bot broadcast resume "{name}"` goes on with it')
    if begun is not None and begun.state == EDITING:
        raise RequestRefused(_broken_off(name))
    rows = [_read(batch, recipient, content) for recipient in recipients]
    first = begun or Broadcast(name, content, SCHEDULED if at else TRYING, at=at, late=late, started_by=by)
    broadcast = _begins_no_later(first, rows)
    if broadcast is not known:
        batch.commit.broadcasts.set(known, broadcast)
    added = opted_out = differ = 0
    for contact, own, due_at in rows:
        if (name, contact) in batch.commit.broadcasts.recipients:
            continue
        if (there := batch.store.broadcasts.recipient(name, contact)) is not None:
            outcome, has = there
            differ += has != own and outcome in (None, "failed")
        elif batch.session(contact).opted_out:
            opted_out += 1
        else:
            batch.commit.broadcasts.add_recipient(broadcast, contact, own, due_at)
            added += 1
    if added:
        _reopen(batch, broadcast)
    return RecipientsAdded(added, len(rows) - added - opted_out, differ, opted_out)


def stop(batch: Batch, name: str, event_id: str, take_back: TakeBack, by: str) -> BroadcastStopped:
    """Take back a broadcast, except messages that are being sent or may have been, and flows that have started.

    A second stop changes nothing. Raises `RequestRefused`.
    """
    broadcast = known_broadcast(batch, name)
    asked = json_text({"do": "stop", "name": name, "by": by})
    waiting = 0 if broadcast.state in (STOPPED, EDITING) else batch.store.broadcasts.count_waiting(name)
    just_added = sum(broadcast == name for broadcast, _ in batch.commit.broadcasts.recipients)
    back, in_flight = take_back_all(batch, name, event_id, asked, take_back)
    stopped = waiting + just_added + back
    if broadcast.state != EDITING:
        batch.commit.broadcasts.set(broadcast, replace(broadcast, state=STOPPED, ended_at=None))
    batch.commit.add_note(None, event_id, asked, OPERATOR, f"{stopped} stopped, {in_flight} in flight")
    return BroadcastStopped(stopped, in_flight)


def resume(batch: Batch, name: str, event_id: str, by: str) -> BroadcastResumed:
    """Go on with a broadcast that was stopped or paused: its next message goes alone, then the others.

    Contacts whose message was refused because of the template, or with the code that paused it, get another message,
    unless a correction has left them out; contacts whose time has come meanwhile get it now. Raises `RequestRefused`.
    """
    broadcast = known_broadcast(batch, name)
    if broadcast.state == EDITING:
        raise RequestRefused(_broken_off(name))
    resumed = to_come = 0
    if broadcast.state in (PAUSED, STOPPED):
        to_come = sum(count for at, count in batch.store.broadcasts.to_come(name).items() if at > batch.now)
        resumed = (
            batch.store.broadcasts.count_waiting(name)
            + batch.store.broadcasts.count_refused(name, broadcast.code)
            - to_come
        )
        batch.commit.broadcasts.resume_refused(broadcast, broadcast.code)
        state = SCHEDULED if broadcast.begins_at is not None and broadcast.begins_at > batch.now else TRYING
        again = replace(broadcast, state=state, code="", recent=(), canary=None, resumed_at=batch.now)
        batch.commit.broadcasts.set(broadcast, again)
    note = f"{resumed + to_come} wait again"
    batch.commit.add_note(None, event_id, json_text({"do": "resume", "name": name, "by": by}), OPERATOR, note)
    return BroadcastResumed(resumed, to_come)


def begin_edit(
    batch: Batch,
    name: str,
    content: Content,
    event_id: str,
    take_back: TakeBack,
    at: str = "",
    late: timedelta = timedelta(),
) -> CorrectionBegun:
    """Begin to correct a broadcast: it is stopped, and sends this content when it is resumed; with ``at``, at another
    time. Raises `RequestRefused`.
    """
    broadcast = known_broadcast(batch, name)
    if broadcast.starts_flow != isinstance(content, FlowToStart):
        raise RequestRefused(
            f'the broadcast "{name}" {"starts a flow" if broadcast.starts_flow else "sends a template"}, and a correction '
            "does so too: stop it, and choose another name"
        )
    asked = json_text({"do": "edit", "name": name})
    _, in_flight = take_back_all(batch, name, event_id, asked, take_back)
    changed = replace(broadcast, content=content, ended_at=None)
    if at:
        changed = replace(changed, at=at, late=late, begins_at=None)
    edited = replace(changed, state=EDITING, edit=broadcast.edit + 1)
    batch.commit.broadcasts.set(broadcast, edited)
    batch.commit.add_note(None, event_id, asked, OPERATOR, f"correction {edited.edit} has begun")
    return CorrectionBegun(edited.edit, in_flight)


def correct(batch: Batch, name: str, edit: int, recipients: Sequence[Any], moved: bool = False) -> RecipientsCorrected:
    """Set the parameters of recipients, as `add_recipients` takes them, and their times where the broadcast was
    ``moved``; other contacts become recipients. Raises `RequestRefused`.
    """
    broadcast = _in_edit(batch, name, edit)
    rows = [_read(batch, recipient, broadcast.content) for recipient in recipients]
    if (earlier := _begins_no_later(broadcast, rows)) is not broadcast:
        batch.commit.broadcasts.set(broadcast, earlier)
    counts = Counter[str]()
    for contact, own, due_at in rows:
        there = batch.store.broadcasts.recipient(name, contact)
        outcome = there and there[0]
        if outcome == "opted_out" or batch.session(contact).opted_out:
            counts["opted_out"] += 1
        elif outcome in _ADDED_AGAIN:
            batch.commit.broadcasts.add_recipient(broadcast, contact, own, due_at, moved)
            counts["added" if there is None else "unknown" if outcome == "unknown" else "corrected"] += 1
        else:
            counts["had_it"] += 1
    return RecipientsCorrected(**counts)


def end_edit(batch: Batch, name: str, edit: int, event_id: str) -> CorrectionEnded:
    """End a correction: contacts that it did not name do not get the broadcast any more. Raises `RequestRefused`."""
    broadcast = _in_edit(batch, name, edit)
    left_out = batch.store.broadcasts.count_not_corrected(broadcast)
    batch.commit.broadcasts.exclude(broadcast)
    batch.commit.broadcasts.set(broadcast, replace(broadcast, state=STOPPED))
    asked = json_text({"do": "edit", "name": name})
    batch.commit.add_note(None, event_id, asked, OPERATOR, f"correction {edit} has ended, {left_out} left out")
    return CorrectionEnded(left_out)


def _begins_no_later(broadcast: Broadcast, rows: Iterable[_RecipientRow]) -> Broadcast:
    """The broadcast, beginning with the first of these rows that has a time."""
    times = [at for at in (broadcast.begins_at, *(due_at for _, _, due_at in rows)) if at is not None]
    begins_at = min(times, default=None)
    return broadcast if begins_at == broadcast.begins_at else replace(broadcast, begins_at=begins_at)


def _reopen(batch: Batch, broadcast: Broadcast) -> Broadcast:
    """Let a finished broadcast go on: with all messages if the gateway took the last message, else with one alone."""
    if broadcast.state != FINISHED:
        return broadcast
    taken = broadcast.recent[-1:] == ("",)
    again = replace(broadcast, state=RUNNING if taken else TRYING, canary=None, ended_at=None)
    batch.commit.broadcasts.set(broadcast, again)
    return again


def _in_edit(batch: Batch, name: str, edit: int) -> Broadcast:
    broadcast = known_broadcast(batch, name)
    if (broadcast.state, broadcast.edit) != (EDITING, edit):
        raise RequestRefused(
            f'the broadcast "{name}" was corrected by somebody else meanwhile: look at it, and begin anew'
        )
    return broadcast


def _broken_off(name: str) -> str:
    return f'a correction of the broadcast "{name}" was broken off: write it again (`bot broadcast send` or `start`, with `--edit "{name}"`)'


def wait_again(batch: Batch, dead: DeadSend, ref: str) -> Broadcast | None:
    """Queue the recipient of a dead letter's message again, with the present parameters. Returns the broadcast.

    A message that may have been sent is repeated as it was, under its own key where that helps. A message to a contact
    that a correction has left out is also repeated as it was, under the key of this effect. Returns None for a message
    of no broadcast, or of a flow that a broadcast started: it is retried like any other message.
    """
    place = None if dead.send_id is None else batch.store.broadcasts.place_of(dead.send_id)
    if place is None or dead.send_id is None or not isinstance(dead.effect, Send):
        return None
    broadcast = known_broadcast(batch, place.broadcast)
    if broadcast.starts_flow:
        return None
    if dead.may_be_sent and dead.key_helps:
        batch.commit.broadcasts.repeat(dead.send_id, RepeatedSend(dead.ref, dead.key, dead.effect, repeated=True))
    elif dead.may_be_sent or place.edit != broadcast.edit:
        key = effect_key(batch.store.store_id, ref)
        batch.commit.broadcasts.repeat(dead.send_id, RepeatedSend(ref, key, dead.effect, repeated=False))
    else:
        batch.commit.broadcasts.wait_again(dead.send_id)
    return _reopen(batch, broadcast)


def read_template(fields: Mapping[str, Any]) -> TemplateMessage:
    """The template of a request: ``name``, ``language``, ``header`` (a parameter), ``body`` (texts).

    Raises `RequestRefused`.
    """
    match fields:
        case {"name": str(name), "language": str(language)}:
            header, body = fields.get("header"), _texts(fields.get("body", []))
            if header is None or _is_parameter(header):
                template = TemplateMessage(
                    name, language, header, tuple({"type": "text", "text": text} for text in body)
                )
                if broken := violations(template):
                    raise RequestRefused("; ".join(broken))
                return template
    raise RequestRefused("a template has a name, a language, and perhaps a header and texts for its body")


def read_time_to_begin(request: AddRecipients | BeginCorrection) -> tuple[str, timedelta]:
    """The ``at`` of a request, an empty text for now, and how ``late`` it may be, in seconds. Raises
    `RequestRefused`.
    """
    late = LATE.total_seconds() if request.late is None else request.late
    if LEAST_LATE.total_seconds() <= late <= LONGEST.total_seconds():
        return request.at, timedelta(seconds=int(late))
    raise RequestRefused(f"late is a number of seconds, from {LEAST_LATE.total_seconds():.0f} to {LONGEST.days} days")


def _due_at(recipient: dict[str, Any]) -> datetime | None:
    """When a recipient's time comes, in UTC; None for now. Raises `RequestRefused`."""
    if "at" not in recipient:
        return None
    try:
        return datetime.fromisoformat(recipient["at"]).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise RequestRefused("a recipient's at is a time with its offset, such as 2030-12-24T18:00:00+01:00") from None


def _is_parameter(value: Any) -> bool:
    match value:
        case {"type": "text", "text": str()}:
            return True
        case {"type": str(kind)}:
            content = value.get(kind)
            return isinstance(content, dict) and isinstance(content.get("link", ""), str)
    return False


def read_content(request: AddRecipients | BeginCorrection) -> Content:
    """The template of a request, or its ``flow``, without what differs by recipient. Raises `RequestRefused`."""
    if request.flow:
        return FlowToStart(request.flow)
    if request.template is not None:
        return read_template(request.template)
    raise RequestRefused("a broadcast has a template, or a flow to start")


def _read(batch: Batch, recipient: Any, content: Content) -> _RecipientRow:
    match recipient, content:
        case {"contact": str(contact)}, FlowToStart() if contact.isdecimal():
            data = recipient.get("data", {})
            if isinstance(data, dict):
                return batch.sessions.person(contact), data, _due_at(recipient)
            raise RequestRefused("data is an object")
        case {"contact": str(contact)}, TemplateMessage() if contact.isdecimal():
            return batch.sessions.person(contact), _texts(recipient.get("body", [])), _due_at(recipient)
    raise RequestRefused(
        "a recipient has a contact, in digits, and perhaps texts for the template's body, or data for the flow"
    )


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    raise RequestRefused("the body's parameters are a list of texts")
