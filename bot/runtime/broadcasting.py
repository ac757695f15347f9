"""Broadcasts: one template, or one flow, to many contacts, in the time that replies leave (decisions: "Broadcasts").

They wait in the store and are moved to the outbox a few at a time, so that replies never wait behind them. A flow is
started in the commit that notes it, so that nobody is in it twice. A recipient may have a time of its own, before which
it does not wait. The first message is sent alone; the others follow once the gateway has taken it. A broadcast that is
refused is paused.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.core.alarms import Alarms
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
from bot.core.events import STARTS, StartRequested
from bot.core.messages import TemplateMessage, violations
from bot.core.session import effect_ref
from bot.core.turn import SKIPPED, WAITS
from bot.core.values import json_text
from bot.language.source.wall_clock import LONGEST
from bot.runtime.batch import Batch, RequestRefused, effect_key
from bot.runtime.sending import UNCLEAR, WINDOW_CLOSED_CODE, SendResult
from bot.services.gateway.gateway_answers import BY_CODE
from bot.store.broadcast_rows import (
    EDITING,
    FINISHED,
    GOT_IT,
    LIVE,
    PAUSED,
    RUNNING,
    SCHEDULED,
    STOPPED,
    TEMPLATE_CODES,
    TRYING,
    Broadcast,
    BroadcastPlace,
    Content,
    FlowToStart,
    Recipient,
    RepeatedSend,
)
from bot.store.dead_letter_rows import DeadSend
from bot.store.engine_store import EngineStore
from bot.store.rows import CAMPAIGN, SentRow
from bot.store.trace_rows import OPERATOR

AHEAD = 100
"""How many messages of broadcasts are in the outbox at most."""

STARTING = 20
"""How many flows that broadcasts have started may wait at once for a call, or for their first message to be sent: a
contact who writes meanwhile answers a question that has not come yet, so these are few.
"""

LATE, LEAST_LATE = timedelta(hours=1), timedelta(minutes=1)
"""How long after a contact's time its message is sent still if no server ran then: a restart or a short outage costs
nothing, and what was meant for the morning does not come in the evening. Less than a minute would be missed by a busy
server.
"""

CANARY_WAITS = timedelta(minutes=10)
"""How long a first message may wait for its channel, or its contact's share, before another one is the first."""

ALARM = "broadcast-paused"

_RECENT = 10
_ADDED_AGAIN = (None, "left_out", "missed", "failed", "unknown")
_ENOUGH_OF_ANY = 3, 5
_ENOUGH_OF_CONTACTS = 9, 10
_ABOUT_TEXTS = ("132005", "132018")
_ONE_PARAMETER = re.compile(r"\bparam(?:eter)?s?[.\[][0-9]+|\bparam(?:eter)? #?[0-9]+|\{\{[0-9]+\}\}")
_TYPE = re.compile(r"\bparam(?:eter)?s?[.\[][0-9]+\]?\.(?:type|image|video|document|location)\b")
_ABOUT_CONTACTS = ("VALIDATION_INVALID_PHONE", "WHATSAPP_SEND_FAILED", WINDOW_CLOSED_CODE)
NOT_STARTED = "not_started"
"""The code of a flow that could not be started: its inputs do not fit, or it is not there."""

log = logging.getLogger(__name__)

TakeBack = Callable[[Set[int]], Set[int]]
"""Takes messages back from delivery, by their ids; returns the ids of those that were certainly not sent."""


# -- Requests of an operator


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

    ``{"contact", "data": {...}}`` is one of a broadcast that starts a flow. Each may have an ``at``, the moment at
    which the clock of its contact shows what the broadcast's ``at`` says.

    Raises `RequestRefused`.
    """
    known = _find(batch, name)
    begun = known or _find_elsewhere(batch, name)
    if begun is not None and begun.content != content:
        what = "starts another flow" if _is_flow(begun) and _is_flow(content) else "sends another template or language"
        raise RequestRefused(f'the broadcast "{name}" {what}: `--edit "{name}"` corrects it, or choose another name')
    if begun is not None and begun.at != at:
        raise RequestRefused(f'the broadcast "{name}" was requested for another time: `--edit "{name}"` corrects it')
    if begun is not None and begun.state == STOPPED:
        raise RequestRefused(f'the broadcast "{name}" was stopped: `bot broadcast --resume "{name}"` goes on with it')
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
    broadcast = _known(batch, name)
    asked = json_text({"do": "stop", "name": name, "by": by})
    waiting = 0 if broadcast.state in (STOPPED, EDITING) else batch.store.broadcasts.count_waiting(name)
    just_added = sum(broadcast == name for broadcast, _ in batch.commit.broadcasts.recipients)
    back, in_flight = _take_back_all(batch, name, event_id, asked, take_back)
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
    broadcast = _known(batch, name)
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
    broadcast = _known(batch, name)
    if _is_flow(broadcast) != _is_flow(content):
        raise RequestRefused(
            f'the broadcast "{name}" {"starts a flow" if _is_flow(broadcast) else "sends a template"}, and a correction '
            "does so too: stop it, and choose another name"
        )
    asked = json_text({"do": "edit", "name": name})
    _, in_flight = _take_back_all(batch, name, event_id, asked, take_back)
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
    """End a correction: contacts that it did not name and who have not got the broadcast do not get it. Raises
    `RequestRefused`.
    """
    broadcast = _in_edit(batch, name, edit)
    left_out = batch.store.broadcasts.count_not_corrected(broadcast)
    batch.commit.broadcasts.exclude(broadcast)
    batch.commit.broadcasts.set(broadcast, replace(broadcast, state=STOPPED))
    asked = json_text({"do": "edit", "name": name})
    batch.commit.add_note(None, event_id, asked, OPERATOR, f"correction {edit} has ended, {left_out} left out")
    return CorrectionEnded(left_out)


def _begins_no_later(broadcast: Broadcast, rows: Iterable["_RecipientRow"]) -> Broadcast:
    """The broadcast, beginning with the first of these rows that has a time."""
    times = [at for at in (broadcast.begins_at, *(due_at for _, _, due_at in rows)) if at is not None]
    begins_at = min(times, default=None)
    return broadcast if begins_at == broadcast.begins_at else replace(broadcast, begins_at=begins_at)


def continue_broadcasts(batch: Batch, take_back: TakeBack) -> None:
    """Continue all broadcasts.

    Messages of paused broadcasts and to contacts who opt out are withdrawn. Then broadcasts that are due begin, free
    places of the outbox are filled, and complete broadcasts are finished.
    """
    if batch.commit.broadcasts.moved:
        take_back_paused(batch, take_back)
    if batch.commit.broadcasts.opted_out:
        cancel(batch, take_back)
    starts = batch.store.broadcasts.next_due()
    if starts is not None and starts <= batch.now:
        begin_due(batch)
    if batch.commit.broadcasts.written or batch.store.broadcasts.some_wait():
        fill_outbox(batch, take_back)
    if batch.store.broadcasts.done():
        finish_done(batch)


def begin_due(batch: Batch) -> None:
    """Let those recipients wait whose time has come, some at a time, unless this batch has stopped or corrected their
    broadcast. Those whose time has passed by too much, while no server ran, get nothing.
    """
    for broadcast in [_known(batch, name) for name in batch.store.broadcasts.due(batch.now)]:
        if broadcast.state in LIVE:
            if missed := batch.store.broadcasts.count_missed(broadcast, batch.now):
                log.warning(
                    'no server ran when the broadcast "%s" was due for %d contacts: they get nothing '
                    "(`bot broadcast ... --edit NAME` sends it to them)",
                    broadcast.name,
                    missed,
                )
            batch.commit.broadcasts.release(broadcast, batch.now)
        if broadcast.state == SCHEDULED:
            batch.commit.broadcasts.set(broadcast, replace(broadcast, state=TRYING))


def finish_done(batch: Batch) -> None:
    """Finish the broadcasts for which nobody waits any more, unless this batch changes them: then the next does it."""
    if batch.commit.broadcasts.lets_some_wait:
        return
    for name in batch.store.broadcasts.done():
        if name not in batch.commit.broadcasts.written:
            broadcast = _known(batch, name)
            batch.commit.broadcasts.set(broadcast, replace(broadcast, state=FINISHED, ended_at=batch.now))


def _reopen(batch: Batch, broadcast: Broadcast) -> Broadcast:
    """Let a finished broadcast go on: with all messages if the gateway took the last one, else with one alone."""
    if broadcast.state != FINISHED:
        return broadcast
    taken = broadcast.recent[-1:] == ("",)
    again = replace(broadcast, state=RUNNING if taken else TRYING, canary=None, ended_at=None)
    batch.commit.broadcasts.set(broadcast, again)
    return again


def _in_edit(batch: Batch, name: str, edit: int) -> Broadcast:
    broadcast = _known(batch, name)
    if (broadcast.state, broadcast.edit) != (EDITING, edit):
        raise RequestRefused(
            f'the broadcast "{name}" was corrected by somebody else meanwhile: look at it, and begin anew'
        )
    return broadcast


def _broken_off(name: str) -> str:
    return (
        f'a correction of the broadcast "{name}" was broken off: write it again (`bot broadcast ... --edit "{name}"`)'
    )


def _find(batch: Batch, name: str) -> Broadcast | None:
    return batch.commit.broadcasts.written.get(name) or batch.store.broadcasts.get(name)


def _find_elsewhere(batch: Batch, name: str) -> Broadcast | None:
    """A broadcast that only other shards have, as it would begin here: so all shards refuse a request alike."""
    found = batch.store.broadcasts.in_any_shard(name)
    if found is None:
        return None
    state = found.state if found.state in (STOPPED, EDITING) else SCHEDULED if found.at else TRYING
    return replace(found, state=state, edit=0, code="", recent=(), canary=None, begins_at=None, ended_at=None)


def _known(batch: Batch, name: str) -> Broadcast:
    broadcast = _find(batch, name) or _find_elsewhere(batch, name)
    if broadcast is None:
        raise RequestRefused(f'there is no broadcast "{name}" (`bot broadcast` lists them)')
    return broadcast


def cancel(batch: Batch, take_back: TakeBack) -> None:
    """Take back all broadcasts from contacts who have opted out in this batch, except what may have been sent."""
    for contact in sorted(batch.commit.broadcasts.opted_out):
        in_outbox = batch.store.broadcasts.in_outbox_to(contact)
        unclaimed = {each.id for each in in_outbox if not (each.claimed or each.id in batch.commit.messages.ended)}
        for id in sorted(take_back(unclaimed)):
            batch.commit.messages.opt_out(id)


def _take_back_all(batch: Batch, name: str, event_id: str, asked: str, take_back: TakeBack) -> tuple[int, int]:
    """Returns how many messages were taken back out of the outbox, and how many are in flight: all those of flows,
    since their contacts are in the flow already.
    """
    in_outbox = {m.id: m for m in batch.store.broadcasts.in_outbox(name) if m.id not in batch.commit.messages.ended}
    unclaimed = {message.id for message in in_outbox.values() if not message.claimed}
    back = set[int]() if _is_flow(_known(batch, name)) else take_back(unclaimed)
    for id in sorted(back):
        batch.commit.broadcasts.withdraw(id)
        batch.commit.add_note(in_outbox[id].contact, event_id, asked, "broadcast", f"message {id} was taken back")
    return len(back), len(in_outbox) - len(back)


# -- Results of the messages


def is_of_flow(batch: Batch, send_id: int) -> bool:
    """True if a flow that a broadcast started sent this message, which has its priority: the session is informed."""
    place = batch.store.broadcasts.place_of(send_id)
    return place is None or _is_flow(_known(batch, place.broadcast))


def handle_campaign_result(batch: Batch, result: SendResult) -> None:
    """Note the result of a broadcast's message, and decide what it means for the other messages."""
    row, place = result.row, batch.store.broadcasts.place_of(result.row.id)
    if place is not None and result.state == "failed" and _was_corrected(batch, place, row.ref):
        batch.commit.broadcasts.correct_refused(row.id)
        asked = json_text({"do": "broadcast", "name": place.broadcast})
        batch.commit.add_note(row.contact, row.ref, asked, "broadcast", f"message {row.id} was refused, and corrected")
        return
    code = result.code if result.state == "failed" else ""
    ended = result.message_ids, result.attempts, result.detail, result.at, code
    batch.commit.messages.end(row, result.state, *ended, key_helps=result.key_helps)
    if place is not None:
        _judge(batch, place, row.ref, result.state, result.code, result.detail)


def handle_campaign_failure(batch: Batch, sent: SentRow, code: str, detail: str) -> None:
    """A broadcast's message that the gateway took did not arrive: decide what this means for the other messages."""
    place = batch.store.broadcasts.place_of(sent.id)
    if place is not None:
        _judge(batch, place, sent.ref, "failed", code, detail)


def _judge(batch: Batch, place: BroadcastPlace, ref: str, state: str, code: str, detail: str) -> None:
    broadcast = _known(batch, place.broadcast)
    if broadcast.state not in (TRYING, RUNNING, FINISHED) or not _is_current(broadcast, place, ref):
        return
    if state == "failed" and is_about_text(code, detail):
        return  # it says nothing of the others, whose texts are their own
    _count(batch, broadcast, state, code)


def is_about_text(code: str, detail: str) -> bool:
    """True if a refusal is about the text of one parameter, and so about one recipient: 132005 (it is too long), the
    platform's own 132018 (it has line breaks, say), or a code about parameters whose details name one, and not its
    type.
    """
    if code in _ABOUT_TEXTS:
        return True
    return code.startswith(TEMPLATE_CODES) and bool(_ONE_PARAMETER.search(detail)) and not _TYPE.search(detail)


def _count(batch: Batch, broadcast: Broadcast, state: str, code: str) -> None:
    """Count the end of a message, or of an attempt to start a flow: the others may go now, or may not any more."""
    if state in GOT_IT:
        now = replace(broadcast, state=RUNNING, recent=(*broadcast.recent, "")[-_RECENT:], ended_at=None)
    elif code:
        recent = (*broadcast.recent, code)[-_RECENT:]
        now = replace(broadcast, recent=recent)
        if is_enough(recent):
            now = replace(now, state=PAUSED, code=code, ended_at=None)
    else:
        return
    batch.commit.broadcasts.set(broadcast, now)


def is_enough(recent: Sequence[str]) -> bool:
    """True if too many messages were refused, by the codes of the last messages: "" if a message was accepted.

    A code about the template or its parameters holds for everybody; a code about a contact does so only if nearly all
    messages get it.
    """
    code = recent[-1]
    if code.startswith(TEMPLATE_CODES):
        return True
    enough, last = _ENOUGH_OF_CONTACTS if code in _ABOUT_CONTACTS else _ENOUGH_OF_ANY
    return recent[-last:].count(code) >= enough


def _is_current(broadcast: Broadcast, place: BroadcastPlace, ref: str) -> bool:
    return place.edit == broadcast.edit and _is_of(broadcast, place, ref)


def _was_corrected(batch: Batch, place: BroadcastPlace, ref: str) -> bool:
    """True if a message's recipient has other parameters since it was made."""
    broadcast = _known(batch, place.broadcast)
    return place.edit == broadcast.edit and not _is_of(broadcast, place, ref)


def _is_of(broadcast: Broadcast, place: BroadcastPlace, ref: str) -> bool:
    """True if a message is the recipient's present one, or the first that followed from its flow's present start."""
    present = _ref(place.broadcast, place.contact, place.retries)
    if _is_flow(broadcast):  # a start that waited for a conversation has the name of what ended that
        return f"{present}#" in ref or "broadcast:" not in ref
    return ref == present


def _is_flow(of: Broadcast | Content) -> bool:
    return isinstance(of.content if isinstance(of, Broadcast) else of, FlowToStart)


def _ref(name: str, contact: str, retries: int) -> str:
    return effect_ref(f"broadcast:{name}:{contact}", retries)


def wait_again(batch: Batch, dead: DeadSend, ref: str) -> Broadcast | None:
    """Queue the recipient of a dead letter's message again, with the present parameters. Returns the broadcast.

    A message that may have been sent is repeated as it was, under its own key where that helps. A message to a contact
    that a correction has left out is also repeated as it was, under the key of this effect. Returns None for a message
    of no broadcast, or of a flow that a broadcast started: it is retried like any other message.
    """
    place = None if dead.send_id is None else batch.store.broadcasts.place_of(dead.send_id)
    if place is None or dead.send_id is None or not isinstance(dead.effect, Send):
        return None
    broadcast = _known(batch, place.broadcast)
    if _is_flow(broadcast):
        return None
    if dead.may_be_sent and dead.key_helps:
        batch.commit.broadcasts.repeat(dead.send_id, RepeatedSend(dead.ref, dead.key, dead.effect, repeated=True))
    elif dead.may_be_sent or place.edit != broadcast.edit:
        key = effect_key(batch.store.store_id, ref)
        batch.commit.broadcasts.repeat(dead.send_id, RepeatedSend(ref, key, dead.effect, repeated=False))
    else:
        batch.commit.broadcasts.wait_again(dead.send_id)
    return _reopen(batch, broadcast)


def take_back_paused(batch: Batch, take_back: TakeBack) -> None:
    """Take the messages of those broadcasts back that this batch has paused."""
    for name in sorted(batch.commit.broadcasts.moved):
        if batch.commit.broadcasts.written[name].state == PAUSED:
            asked = json_text({"do": "pause", "name": name})
            _take_back_all(batch, name, f"broadcast:{name}", asked, take_back)


class PausedAlarms:
    """The alarms of the broadcasts that are paused."""

    def __init__(self, store: EngineStore, alarms: Alarms) -> None:
        self._store = store
        self._alarms = alarms
        self._paused: set[str] = set()  # whose alarms are reported

    def report(self) -> None:
        """Report an alarm for each paused broadcast, and clear those of the others."""
        paused = {broadcast.name: broadcast for broadcast in self._store.broadcasts.paused()}
        for name in self._paused - paused.keys():
            self._alarms.clear(ALARM, name)
        for name, broadcast in paused.items():
            self._alarms.report(ALARM, *why_paused(broadcast), about=name)
        self._paused = set(paused)


def why_paused(broadcast: Broadcast, resume: str = "") -> tuple[str, str]:
    """Why a broadcast was paused, and what to do about it, in words that may stand in a log.

    ``resume`` is what its reader resumes it with: by default the command.
    """
    name, known = broadcast.name, BY_CODE.get(broadcast.code)
    command = f'`bot broadcast --resume "{name}"`'
    resume = f"{resume or command} goes on; nobody gets it twice"
    if broadcast.code == UNCLEAR:
        what = f'the broadcast "{name}" is paused: nobody can tell whether its last messages were sent'
        return what, f"look whether they arrived, and what the gateway says in `bot queue`; then {resume}"
    if broadcast.code == NOT_STARTED:
        what = f'the broadcast "{name}" is paused: its flow could not be started'
        return what, f'`bot queue` says why: correct the flow, or the values with `--edit "{name}"`; then {resume}'
    if broadcast.code == WINDOW_CLOSED_CODE:
        what = f'the broadcast "{name}" is paused: the contacts\' windows are closed, and only a template can be sent'
        return what, f"begin the flow with a template, or write window_closed; then {resume}"
    what = f'the broadcast "{name}" is paused: the gateway refuses its messages with {broadcast.code}'
    advice = known.advice if known is not None else "see the gateway's words in `bot queue`"
    return what, f'{advice}; correct it with `bot broadcast TEMPLATE CONTACTS.CSV --edit "{name}"`; then {resume}'


def fill_outbox(batch: Batch, take_back: TakeBack) -> None:
    """Move recipients that wait into the outbox, as far as there is room for them."""
    trying = {*batch.store.broadcasts.trying(), *batch.commit.broadcasts.written}
    for broadcast in (_known(batch, name) for name in sorted(trying)):
        if broadcast.state == TRYING and not _is_out(batch, broadcast, take_back):
            _send_alone(batch, broadcast)
    room = max(0, AHEAD - batch.store.broadcasts.count_in_outbox())  # those that go alone may be beyond it
    for recipient in batch.store.broadcasts.waiting("templates", room):
        changed = batch.commit.broadcasts.written.get(recipient.broadcast)
        if (changed is None or changed.state == RUNNING) and _may_go(batch, recipient):
            _to_outbox(batch, recipient)
    _start_flows(batch)


def _start_flows(batch: Batch) -> None:
    """Start the flows of recipients that wait, as far as there is room for what they send and call."""
    waiting = batch.store.broadcasts.waiting("flows", STARTING)
    room = STARTING - batch.store.broadcasts.starting() if waiting else 0
    for recipient in waiting:
        broadcast = _known(batch, recipient.broadcast)
        if room > 0 and broadcast.state == RUNNING and _may_go(batch, recipient):
            _start(batch, recipient, broadcast)
            room -= 1


def _may_go(batch: Batch, recipient: Recipient) -> bool:
    """True if the contact has not opted out; else what waits for it is cancelled."""
    if batch.session(recipient.contact).opted_out:
        batch.commit.broadcasts.opted_out.add(recipient.contact)
        return False
    return True


def _send_alone(batch: Batch, broadcast: Broadcast) -> None:
    recipient = batch.store.broadcasts.first_waiting(broadcast.name)
    if recipient is None or not _may_go(batch, recipient):
        return
    if _is_flow(broadcast):
        _start(batch, recipient, broadcast)
    else:
        batch.commit.broadcasts.set(broadcast, replace(broadcast, canary=_to_outbox(batch, recipient)))


def _start(batch: Batch, recipient: Recipient, broadcast: Broadcast) -> None:
    """Start a recipient's flow. Where the broadcast tries itself out, its first message is the one that goes alone."""
    assert isinstance(recipient.content, FlowToStart)
    flow, data = recipient.content.flow, dict(recipient.content.data)
    name, contact = broadcast.name, recipient.contact
    id = f"{STARTS}{_ref(name, contact, recipient.retries)}"
    event = StartRequested(id, contact, batch.now, flow, data, by=f'broadcast "{name}"', broadcast=name)
    sends = len(batch.commit.messages.added)
    turn = batch.take(event)
    if turn is None or turn.failure is not None:
        batch.commit.broadcasts.begin_flow(recipient.id, "failed", NOT_STARTED)
        _count(batch, broadcast, "failed", NOT_STARTED)
        return
    batch.commit.broadcasts.begin_flow(recipient.id, turn.start)
    if broadcast.state != TRYING or turn.start in (WAITS, SKIPPED):
        return
    first = next((row for row in batch.commit.messages.added[sends:] if row.contact == contact), None)
    if first is not None:
        batch.commit.broadcasts.set(broadcast, replace(broadcast, canary=first.id))
    elif not turn.session.waits_for_effect:
        _count(batch, broadcast, "sent", "")


def _is_out(batch: Batch, broadcast: Broadcast, take_back: TakeBack) -> bool:
    """True if the message that goes alone is on its way. One that waits for long is to hold up nobody: it is taken
    back, but one of a flow, whose contact is in the flow already.
    """
    canary, name = broadcast.canary, broadcast.name
    if canary in batch.commit.messages.ended:
        return False
    since = None if canary is None else batch.store.messages.in_outbox_since(canary)
    waits_long = (
        since is not None
        and batch.now - since >= CANARY_WAITS
        and batch.store.broadcasts.first_waiting(name) is not None
    )
    if _is_flow(broadcast):
        return not waits_long and batch.store.broadcasts.starting(name) > 0
    if canary is None or since is None:
        return False
    if not (waits_long and take_back({canary})):
        return True
    batch.commit.broadcasts.requeue_last(canary)
    asked = json_text({"do": "broadcast", "name": name})
    batch.commit.add_note(
        None, f"broadcast:{name}", asked, "broadcast", f"message {canary} waits: another one is the first"
    )
    return False


def _to_outbox(batch: Batch, recipient: Recipient) -> int:
    """Returns the message's id."""
    session, again = batch.session(recipient.contact), recipient.again
    if again is not None:
        row = batch.send_row(again.ref, again.effect, session, CAMPAIGN)
        row = replace(row, key=again.key, repeated=again.repeated)
    else:
        ref = _ref(recipient.broadcast, recipient.contact, recipient.retries)
        assert isinstance(recipient.content, TemplateMessage)
        row = batch.send_row(ref, Send(recipient.content), session, CAMPAIGN)
    batch.commit.broadcasts.add_send(recipient.id, row)
    asked = json_text({"do": "broadcast", "name": recipient.broadcast})
    batch.commit.add_note(recipient.contact, row.ref, asked, "broadcast", f"message {row.id}")
    return row.id


# -- Requests


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


_RecipientRow = tuple[str, list[str] | dict[str, Any], datetime | None]
"""A contact, its parameters or data, and its time."""


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
