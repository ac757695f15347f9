"""Broadcasts: one template, or one flow, to many contacts, in the time that replies leave (decisions: "Broadcasts").

They wait in the store and are moved to the outbox a few at a time, so that replies never wait behind them. A flow is
started in the commit that notes it, so that nobody is in it twice. A recipient may have a time of its own, before which
it does not wait. The first message is sent alone; the others follow once the gateway has taken it. A broadcast that is
refused is paused.
"""

import logging
from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from datetime import timedelta

from bot.core.alarms import Alarms
from bot.core.effects import Send
from bot.core.events import STARTS, StartRequested
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import TemplateMessage
from bot.core.session import effect_ref
from bot.core.turn import SKIPPED, WAITS
from bot.core.values import json_text
from bot.runtime.batch import Batch, RequestRefused
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
    FlowToStart,
    Recipient,
)
from bot.store.engine_store import EngineStore
from bot.store.rows import CAMPAIGN, SentRow

AHEAD = 100
"""How many messages of broadcasts are in the outbox at most."""

STARTING = 20
"""How many flows that broadcasts have started may wait at once for a call, or for their first message to be sent: a
contact who writes meanwhile answers a question that has not come yet, so these are few.
"""

CANARY_WAITS = timedelta(minutes=10)
"""How long a first message may wait for its channel, or its contact's share, before another message goes first."""

ALARM = "broadcast-paused"

_RECENT = 10
_ENOUGH_OF_ANY = 3, 5
_ENOUGH_OF_CONTACTS = 9, 10
_ABOUT_TEXTS = ("132005", "132018")
_ONE_PARAMETER = lazy_pattern(r"\bparam(?:eter)?s?[.\[][0-9]+|\bparam(?:eter)? #?[0-9]+|\{\{[0-9]+\}\}")
_TYPE = lazy_pattern(r"\bparam(?:eter)?s?[.\[][0-9]+\]?\.(?:type|image|video|document|location)\b")
_ABOUT_CONTACTS = ("VALIDATION_INVALID_PHONE", "WHATSAPP_SEND_FAILED", WINDOW_CLOSED_CODE)
NOT_STARTED = "not_started"
"""The code of a flow that could not be started: its inputs do not fit, or it is not there."""

log = logging.getLogger(__name__)

TakeBack = Callable[[Set[int]], Set[int]]
"""Takes messages back from delivery, by their ids; returns the ids of those that were certainly not sent."""


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
    """Queue the recipients whose time has come, some at a time, unless this batch has stopped or corrected their
    broadcast. Recipients whose time passed too long ago, while no server ran, get nothing.
    """
    for broadcast in [known_broadcast(batch, name) for name in batch.store.broadcasts.due(batch.now)]:
        if broadcast.state in LIVE:
            if missed := batch.store.broadcasts.count_missed(broadcast, batch.now):
                log.warning(
                    'no server ran when the broadcast "%s" was due for %d contacts: they get nothing '
                    "(the first command again, with `--edit NAME`, sends it to them)",
                    broadcast.name,
                    missed,
                )
            batch.commit.broadcasts.release(broadcast, batch.now)
        if broadcast.state == SCHEDULED:
            batch.commit.broadcasts.set(broadcast, replace(broadcast, state=TRYING))


def finish_done(batch: Batch) -> None:
    """Finish the broadcasts for which nobody waits any more, unless this batch changes them: then the next batch does
    it.
    """
    if batch.commit.broadcasts.lets_some_wait:
        return
    for name in batch.store.broadcasts.done():
        if name not in batch.commit.broadcasts.written:
            broadcast = known_broadcast(batch, name)
            batch.commit.broadcasts.set(broadcast, replace(broadcast, state=FINISHED, ended_at=batch.now))


def find_broadcast(batch: Batch, name: str) -> Broadcast | None:
    """The broadcast as this batch has it; None if this shard has none of this name."""
    return batch.commit.broadcasts.written.get(name) or batch.store.broadcasts.get(name)


def broadcast_elsewhere(batch: Batch, name: str) -> Broadcast | None:
    """A broadcast that only other shards have, as it would begin here: so all shards refuse a request alike."""
    found = batch.store.broadcasts.in_any_shard(name)
    if found is None:
        return None
    state = found.state if found.state in (STOPPED, EDITING) else SCHEDULED if found.at else TRYING
    return replace(found, state=state, edit=0, code="", recent=(), canary=None, begins_at=None, ended_at=None)


def known_broadcast(batch: Batch, name: str) -> Broadcast:
    """The broadcast, of this shard or of another. Raises `RequestRefused` if no shard has it."""
    broadcast = find_broadcast(batch, name) or broadcast_elsewhere(batch, name)
    if broadcast is None:
        raise RequestRefused(f'there is no broadcast "{name}" (`bot broadcast list` lists them)')
    return broadcast


def cancel(batch: Batch, take_back: TakeBack) -> None:
    """Take back all broadcasts from contacts who have opted out in this batch, except what may have been sent."""
    for contact in sorted(batch.commit.broadcasts.opted_out):
        in_outbox = batch.store.broadcasts.in_outbox_to(contact)
        unclaimed = {each.id for each in in_outbox if not (each.claimed or each.id in batch.commit.messages.ended)}
        for id in sorted(take_back(unclaimed)):
            batch.commit.messages.opt_out(id)


def take_back_all(batch: Batch, name: str, event_id: str, asked: str, take_back: TakeBack) -> tuple[int, int]:
    """Take back a broadcast's messages. Returns how many were taken out of the outbox, and how many are in flight:
    all those of flows, since their contacts are in the flow already.
    """
    in_outbox = {m.id: m for m in batch.store.broadcasts.in_outbox(name) if m.id not in batch.commit.messages.ended}
    unclaimed = {message.id for message in in_outbox.values() if not message.claimed}
    back = set[int]() if known_broadcast(batch, name).starts_flow else take_back(unclaimed)
    for id in sorted(back):
        batch.commit.broadcasts.withdraw(id)
        batch.commit.add_note(in_outbox[id].contact, event_id, asked, "broadcast", f"message {id} was taken back")
    return len(back), len(in_outbox) - len(back)


def take_back_paused(batch: Batch, take_back: TakeBack) -> None:
    """Take back the messages of the broadcasts that this batch has paused."""
    for name in sorted(batch.commit.broadcasts.moved):
        if batch.commit.broadcasts.written[name].state == PAUSED:
            asked = json_text({"do": "pause", "name": name})
            take_back_all(batch, name, f"broadcast:{name}", asked, take_back)


def fill_outbox(batch: Batch, take_back: TakeBack) -> None:
    """Move recipients that wait into the outbox, as far as there is room for them."""
    trying = {*batch.store.broadcasts.trying(), *batch.commit.broadcasts.written}
    for broadcast in (known_broadcast(batch, name) for name in sorted(trying)):
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
        broadcast = known_broadcast(batch, recipient.broadcast)
        if room > 0 and broadcast.state == RUNNING and _may_go(batch, recipient):
            _start(batch, recipient, broadcast)
            room -= 1


def _may_go(batch: Batch, recipient: Recipient) -> bool:
    """True if the contact has not opted out; else its waiting messages are cancelled."""
    if batch.session(recipient.contact).opted_out:
        batch.commit.broadcasts.opted_out.add(recipient.contact)
        return False
    return True


def _send_alone(batch: Batch, broadcast: Broadcast) -> None:
    recipient = batch.store.broadcasts.first_waiting(broadcast.name)
    if recipient is None or not _may_go(batch, recipient):
        return
    if broadcast.starts_flow:
        _start(batch, recipient, broadcast)
    else:
        batch.commit.broadcasts.set(broadcast, replace(broadcast, canary=_to_outbox(batch, recipient)))


def _start(batch: Batch, recipient: Recipient, broadcast: Broadcast) -> None:
    """Start a recipient's flow. While the broadcast is tried out, the flow's first message goes alone."""
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
    """True if the message that goes alone is on its way. If it waits for long it is taken back, so that it holds up
    nobody. A flow's message is not, because its contact is in the flow already.
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
    if broadcast.starts_flow:
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


# -- Results of the messages


def is_of_flow(batch: Batch, send_id: int) -> bool:
    """True if a flow that a broadcast started sent this message, so that its session is informed of the result."""
    place = batch.store.broadcasts.place_of(send_id)
    return place is None or known_broadcast(batch, place.broadcast).starts_flow


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
    broadcast = known_broadcast(batch, place.broadcast)
    if broadcast.state not in (TRYING, RUNNING, FINISHED) or not _is_current(broadcast, place, ref):
        return
    if state == "failed" and is_about_text(code, detail):
        return  # it says nothing of the others, whose texts are their own
    _count(batch, broadcast, state, code)


def is_about_text(code: str, detail: str) -> bool:
    """True if a refusal is about the text of one parameter, and so about one recipient: 132005 (it is too long), the
    platform's own 132018 (it has line breaks, say), or a code about parameters whose details name a parameter, and not
    its type.
    """
    if code in _ABOUT_TEXTS:
        return True
    return code.startswith(TEMPLATE_CODES) and bool(_ONE_PARAMETER.search(detail)) and not _TYPE.search(detail)


def _count(batch: Batch, broadcast: Broadcast, state: str, code: str) -> None:
    """Count the end of a message, or of an attempt to start a flow. It may let the other messages go, or pause them."""
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
    broadcast = known_broadcast(batch, place.broadcast)
    return place.edit == broadcast.edit and not _is_of(broadcast, place, ref)


def _is_of(broadcast: Broadcast, place: BroadcastPlace, ref: str) -> bool:
    """True if a message is the recipient's present one, or the first that followed from its flow's present start."""
    present = _ref(place.broadcast, place.contact, place.retries)
    if broadcast.starts_flow:  # a start that waited for a conversation has the name of what ended that
        return f"{present}#" in ref or "broadcast:" not in ref
    return ref == present


def _ref(name: str, contact: str, retries: int) -> str:
    return effect_ref(f"broadcast:{name}:{contact}", retries)


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
    command = f'`bot broadcast resume "{name}"`'
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
    return what, f'{advice}; correct it with `bot broadcast send TEMPLATE CONTACTS.CSV --edit "{name}"`; then {resume}'
