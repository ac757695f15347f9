"""The rows that the engine has handed on, their results and statuses, and the events that these become."""

import logging
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence, Set
from dataclasses import field, replace
from datetime import datetime, timedelta
from itertools import chain
from math import inf
from typing import Generic, Protocol, TypeVar

from bot.core.clock import Clock
from bot.core.effects import AskModel, DeleteFile, JudgeAnswer, ListContacts, RunHook, Send
from bot.core.engine_requests import AnyRequest
from bot.core.events import (
    AliasLearned,
    CallEnded,
    CallProgressed,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    Forwarded,
    HandoffClosed,
    ReportedMessage,
    SendEnded,
    StatusReported,
    is_by_id,
)
from bot.core.immutable import mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import in_words
from bot.core.turn import JUDGED
from bot.core.values import files_in, json_text
from bot.language.steps.judging import NO, NONE, read_verdict
from bot.runtime.batch import Batch, effect_key
from bot.runtime.broadcasting import handle_campaign_failure, handle_campaign_result, is_of_flow
from bot.runtime.contact_list import forget, handle_page
from bot.runtime.metrics import EngineMetrics
from bot.runtime.performers import NO_RECEIVER, CallResult, Peer, call_name, peer_of
from bot.runtime.sending import REFUSED, UNCLEAR, WINDOW_CLOSED_CODE, SendResult
from bot.services.gateway.gateway_answers import BY_CODE
from bot.store.engine_store import EngineStore
from bot.store.message_rows import DEAD_LETTER_OUTCOMES
from bot.store.rows import CAMPAIGN, EARLY_FOR, REPLY, SYNC, CallRow, EventRow, MessageStatus, OutboxRow, SentRow
from bot.store.trace_rows import JUDGED_NO

Read = Callable[[bytes, datetime], Event | None]
"""Makes an event of an acknowledged body and the time it came, or None where it concerns no conversation."""

PLAIN = "plain"
"""The outcome of a refused message that a plain text replaces."""

FAILED = "failed"
_CODE = lazy_pattern(r"^[0-9A-Z_]{3,64}(?=:|$)")  # of the gateway's, before its words
_READ_AT_ONCE = 256
CALLS_OF_PEER = 1000
_OWN_CODES = (REFUSED, WINDOW_CLOSED_CODE, UNCLEAR)
"""Codes that the bot itself gives. Like numbers and the codes of the gateway's table, they quote no stranger."""
_FIRST_WAIT = 1.0
"""The seconds until the message of an early status is looked for."""

log = logging.getLogger(__name__)

R = TypeVar("R", bound=OutboxRow | CallRow)
R_contra = TypeVar("R_contra", bound=OutboxRow | CallRow, contravariant=True)


# -- rows that are out --------------------------------------------------------------------------------


class Consumer(Protocol[R_contra]):
    """Delivery or the performers: processes rows on threads of its own, and reports the result of each."""

    def offer(self, rows: Sequence[R_contra], /) -> None:
        """Take rows to process."""
        ...

    def withdraw(self, contact: str, /) -> None:
        """Forget the rows of a contact."""
        ...

    def idle(self) -> bool:
        """True when nothing is being done or could be done now."""
        ...


class SendConsumer(Consumer[OutboxRow], Protocol):
    """The part of delivery that a cycle uses."""

    def room(self) -> int:
        """How many more rows it can take."""
        ...

    def accepts(self, rows: Sequence[OutboxRow]) -> list[OutboxRow]:
        """The rows that it accepts now."""
        ...

    def accepts_again(self) -> bool:
        """True if it would accept some of the rows now that it left out before."""
        ...

    def take_back(self, ids: Set[int]) -> Set[int]:
        """Forget the rows that are not being sent and cannot have been sent. Returns them."""
        ...

    def ends_stored(self, ids: Set[int]) -> None:
        """The ends of these rows are durable."""
        ...


class InFlightWindow(Generic[R]):
    """The rows of the file that a consumer has been given: in the order of their ids, and never more than it has room
    for.

    New rows are given directly as long as the consumer keeps up; else the rest stays in the file and is read when
    there is room again. ``pending`` reads rows after an id from the file. ``accepts`` returns those that the consumer
    accepts; ``accepts_again`` says that some of the others can be offered once more: the file is read anew. ``behind``
    says that there may be rows in the file that were not given yet.
    """

    def __init__(
        self,
        pending: Callable[[int, int], list[R]],
        consumer: Consumer[R],
        room: Callable[[], int],
        accepts: Callable[[Sequence[R]], Sequence[R]],
        accepts_again: Callable[[], bool],
    ) -> None:
        self._pending = pending
        self._consumer = consumer
        self._room = room
        self._accepts = accepts
        self._accepts_again = accepts_again
        self._some_left = False
        self._upto = 0
        self.behind = True
        self._given: set[int] = set()

    def __len__(self) -> int:
        return len(self._given)

    def __contains__(self, id: int) -> bool:
        return id in self._given

    def add(self, rows: Sequence[R]) -> None:
        """Give rows that have been committed to the consumer, as far as it has room."""
        if not self.behind:
            room = self._room()
            self._give(rows[:room])
            self.behind = room < len(rows)

    def refill(self) -> None:
        """Read on from the file as far as there is room."""
        if self._some_left and self._accepts_again():
            self._upto, self.behind, self._some_left = 0, True, False
        while self.behind and (room := min(self._room(), _READ_AT_ONCE)) > 0:
            rows = self._pending(self._upto, room)
            self._give(rows)
            self.behind = len(rows) == room

    def adopt(self, rows: Iterable[R]) -> None:
        """Await the results of rows that an earlier run gave to the consumer, without giving them again."""
        self._given.update(row.id for row in rows)

    def done(self, ids: Iterable[int]) -> None:
        """Rows are done with."""
        self._given.difference_update(ids)

    def done_upto(self, id: int) -> bool:
        """True when nothing is left to do of the rows up to an id."""
        return not self._some_left and (not self.behind or self._upto >= id) and min(self._given, default=id + 1) > id

    def idle(self) -> bool:
        """True when nothing is left to do now."""
        return not self.behind and (not self._given or self._consumer.idle())

    def _give(self, rows: Sequence[R]) -> None:
        if rows:
            self._upto = rows[-1].id
            new = [row for row in rows if row.id not in self._given]
            taken = self._accepts(new)
            self._some_left = self._some_left or len(taken) < len(new)
            self._given.update(row.id for row in taken)
            self._consumer.offer(taken)


class CallWindow(InFlightWindow[CallRow]):
    """The calls that the performers have: at most `CALLS_OF_PEER` to each peer, so that thousands of calls to a slow
    peer do not hold up the calls to others. When half of a peer's calls are done, more are read.
    """

    def __init__(self, pending: Callable[[int, int], list[CallRow]], consumer: Consumer[CallRow]) -> None:
        super().__init__(pending, consumer, lambda: _READ_AT_ONCE, self._within_share, self._has_room_again)
        self._peers: dict[int, Peer] = {}  # of the calls that were given, by their ids
        self._counts: Counter[Peer] = Counter()
        self._full: set[Peer] = set()

    def done(self, ids: Iterable[int]) -> None:
        """Rows are done with."""
        ids = [*ids]
        self._counts -= Counter(self._peers.pop(id) for id in ids if id in self._peers)
        super().done(ids)

    def _within_share(self, rows: Sequence[CallRow]) -> list[CallRow]:
        taken = []
        for row in rows:
            peer = peer_of(row.effect)
            if self._counts[peer] < CALLS_OF_PEER:
                self._counts[peer] += 1
                self._peers[row.id] = peer
                taken.append(row)
            else:
                self._full.add(peer)
        return taken

    def _has_room_again(self) -> bool:
        if all(self._counts[peer] > CALLS_OF_PEER // 2 for peer in self._full):
            return False
        self._full.clear()
        return True


# -- results that come back ---------------------------------------------------------------------------


@mutable
class EngineInput:
    """The results and requests that wait for the next cycle. They are dropped only once they have been committed.

    A row among the requests is to be claimed.
    """

    sent: list[SendResult] = field(default_factory=list)
    called: list[CallResult] = field(default_factory=list)
    requests: list[AnyRequest | OutboxRow | CallRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sent) + len(self.called) + len(self.requests)

    def first(self, most: int) -> "EngineInput":
        """The first results and requests, results before requests."""
        sent = self.sent[:most]
        called = self.called[: most - len(sent)]
        return EngineInput(sent, called, self.requests[: most - len(sent) - len(called)])

    def drop(self, taken: "EngineInput") -> None:
        """Remove what `first` returned."""
        del self.sent[: len(taken.sent)]
        del self.called[: len(taken.called)]
        del self.requests[: len(taken.requests)]

    def count(self, metrics: EngineMetrics) -> None:
        """Count these results: they have been committed."""
        for sent in self.sent:
            tried_again = sent.state in ("retry", "held")
            seconds = None if tried_again else (sent.at - sent.row.created_at).total_seconds()
            metrics.sent(sent.row.priority, sent.state, seconds)
        for called in self.called:
            if called.outcome != "said":
                metrics.called(type(called.row.effect).__name__.lower(), called.outcome)
            if isinstance(called.row.effect, JudgeAnswer) and called.outcome not in ("retry", "late"):
                metrics.judged(called.row.effect.flow, verdict_of(called)[0])
            for model, outcome in called.failures:
                metrics.model_failed(model, outcome)
            for used in called.usage:
                metrics.used(used.model, used.prompt_tokens, used.completion_tokens)


def can_wait(result: SendResult) -> bool:
    """True if a result only says that a message was sent, so that nobody waits for its commit."""
    row = result.row
    expected = result.state == "sent" and result.alias is None
    return expected and row.priority == REPLY and isinstance(row.effect, Send) and not row.effect.report


def handle_send_result(batch: Batch, result: SendResult) -> None:
    """Note the result of a message.

    The session gets an event for its own message if it asked for that, or if the message was not sent as planned. A
    refused message is no dead letter if the session sends a plain text in its place.
    """
    row = result.row
    if result.state in ("retry", "held"):
        batch.commit.messages.try_again(
            row, result.attempts, result.due_at or batch.now, result.detail, unclear=result.unclear
        )
        return
    if isinstance(row.effect, ListContacts):
        handle_page(batch, result)
        return
    if row.priority == CAMPAIGN:
        handle_campaign_result(batch, _report_to_session(batch, result) if is_of_flow(batch, row.id) else result)
    else:
        told = _report_to_session(batch, result)
        batch.commit.messages.end(
            row, told.state, result.message_ids, result.attempts, told.detail, result.at, key_helps=result.key_helps
        )
    give_up_if_failed(batch, result.message_ids)
    if result.alias is not None:
        learn_alias(batch, result.alias, row.contact)


def _report_to_session(batch: Batch, result: SendResult) -> SendResult:
    """Report a result to the session, if it asked for that or the message was not sent. Returns the result to store.

    That is another one if a plain text goes in place of the message, or if the message came too late and cannot wait.
    """
    row, effect, state = result.row, result.row.effect, result.state
    if row.priority == SYNC or not isinstance(effect, Send) or (state == "sent" and not effect.report):
        return result
    outcome, message = ("refused", effect.message) if result.refused else (state, effect.late_message(state))
    turn = batch.take(SendEnded(f"sent:{row.ref}", row.contact, batch.now, row.ref, outcome, result.detail, message))
    if turn is not None and turn.given_up:
        return replace(result, state="failed", detail=turn.given_up, code=WINDOW_CLOSED_CODE)
    return replace(result, state=PLAIN) if turn is not None and turn.in_plain_text else result


def handle_call_result(batch: Batch, result: CallResult) -> None:
    """Note the result of a call, and report its end to the session."""
    row = result.row
    _add_usage(batch, result)
    if result.outcome == "said":
        batch.commit.calls.said(row)
        said = f"call:{row.ref}:{result.said}"
        batch.take(CallProgressed(said, row.contact, batch.now, row.ref, result.value))
        return
    if result.outcome == "retry":
        batch.commit.calls.try_again(row, result.attempts, result.due_at or batch.now, result.detail)
        tried = json_text({"call": call_name(row), "try": result.attempts})
        id = f"retry:{row.ref}:{result.attempts}"
        batch.commit.add_note(row.contact or None, id, tried, "retry", result.detail)
        return
    batch.commit.calls.end(row)
    if isinstance(row.effect, RunHook | DeleteFile):
        return
    if isinstance(row.effect, JudgeAnswer):
        _note_verdict(batch, row, row.effect, result)
        return
    ended = CallEnded(f"call:{row.ref}", row.contact, batch.now, row.ref, result.outcome, result.value, result.detail)
    batch.take(ended)


def _note_verdict(batch: Batch, row: CallRow, judged: JudgeAnswer, result: CallResult) -> None:
    """Count what a judge says of an answer, and add its reason to the trace of the contact."""
    said, reason = verdict_of(result)
    batch.commit.count((judged.flow, judged.step, "", JUDGED, f"{said}: {judged.question}"))
    about = json_text({"judged": judged.question, "flow": judged.flow, "step": judged.step})
    rule = JUDGED_NO if said == NO else JUDGED
    batch.commit.add_note(row.contact, f"judged:{row.ref}", about, rule, f"{said}: {reason}")


def verdict_of(result: CallResult) -> tuple[str, str]:
    """The verdict of a judge, and its reason; if it could not be asked, why."""
    if result.outcome == "done":
        return read_verdict(result.value["text"])
    return NONE, result.detail or result.outcome


OWN_REPORTED_WITHIN = timedelta(minutes=2)
"""How soon the gateway reports that a message of the bot's was sent."""

RETRY_AFTER = tuple(timedelta(seconds=seconds) for seconds in (10, 60, 300, 1800, 7200))
"""The waits after failed deliveries of an event, in order, like the gateway's; the last one repeats."""

DELIVERED_FOR = timedelta(days=3)
"""How long an event is tried. After that it is given up at the first failure."""


def handle_event_result(batch: Batch, result: CallResult) -> None:
    """Note what became of the delivery of an event: it is done, tried again, or a dead letter."""
    row, now = result.row, batch.now
    assert isinstance(row, EventRow)
    if result.outcome == "done":
        batch.commit.events.end(row)
    elif result.outcome == NO_RECEIVER or now - row.created_at >= DELIVERED_FOR:
        log.error("an event could not be delivered and is given up: see `bot queue`")
        batch.commit.events.give_up(row, result.detail)
    else:
        wait = RETRY_AFTER[min(result.attempts, len(RETRY_AFTER)) - 1]
        batch.commit.events.try_again(row, result.attempts, now + wait, result.detail)


def handle_late_result(batch: Batch, result: SendResult | CallResult) -> None:
    """Drop a second result of the same row, with a line in the trace unless the contact was erased.

    The tokens that a model used for it are counted all the same, and the turn that drops it deletes its file.
    """
    if batch.store.sessions.knows(result.row.contact):
        if isinstance(result, CallResult):
            _add_usage(batch, result)
            if files_in(result.value):
                row, id = result.row, f"late:{result.row.ref}"
                batch.take(CallEnded(id, row.contact, batch.now, row.ref, result.outcome, result.value, result.detail))
                return
        batch.commit.add_note(result.row.contact, result.row.ref, "{}", "late", "a second result was dropped")


def _add_usage(batch: Batch, result: CallResult) -> None:
    flow = result.row.effect.flow if isinstance(result.row.effect, AskModel | JudgeAnswer) else ""
    for usage in result.usage:
        batch.commit.calls.add_usage(result.row, flow, usage)


class GivenUpMessages:
    """Counts the messages that were given up since the start, by the gateway's code, and logs why."""

    def __init__(self) -> None:
        self._counts = Counter[str]()

    def note(self, results: Iterable[SendResult]) -> None:
        """Count the messages given up among the results. The first, tenth, hundredth ... of each code are logged.

        The line has the gateway's code, and our advice unless the gateway has given some. It does not have the
        gateway's words, since they may quote a contact. A message whose time was up has no code.
        """
        for result in results:
            if result.state not in DEAD_LETTER_OUTCOMES:
                continue
            own = result.code in _OWN_CODES or re.fullmatch("[0-9]{3,6}", result.code) is not None
            code = result.code if own or result.code in BY_CODE else "another code" if result.code else "no code"
            self._counts[code] += 1
            if str(self._counts[code]).strip("0") == "1":  # 1, 10, 100, ...
                ours = code in BY_CODE and "hint: " not in result.detail  # the gateway's own is about this very case
                advice = BY_CODE[code].advice if ours else "`bot queue` says why"
                log.warning("messages given up with %s since the start: %d (%s)", code, self._counts[code], advice)


# -- what the gateway reports of a message afterwards -------------------------------------------------


def handle_status(batch: Batch, event: StatusReported) -> None:
    """Keep a status that is news, and report it to its contact's session; or forward it to its message's shard."""
    sent = _message(batch, event.messages)
    if sent is None:
        shard = None if batch.forwarded is not None else _shard_of_status(batch, event)
        if shard is not None:
            batch.forward(event, shard)
            return
        batch.commit.messages.early.update(event.messages)
    status = MessageStatus(event.status, event.detail)
    if not _is_news(batch, sent.message_ids if sent else event.messages, status):
        return
    contact = event.contact if sent is None else sent.contact
    if sent is None and event.sent is not None and not contact and event.sent.conversation is not None:
        contact = batch.sessions.contact_in(event.sent.conversation) or ""
    for name in event.messages:
        batch.commit.messages.set_status(name, status, contact or None)
    if status.name == FAILED:
        if sent is None:
            batch.commit.messages.failed_early.update(event.messages)
        else:
            _give_up(batch, sent, status)
    if contact and sent is None and event.sent is not None and _is_an_agents(batch, event, event.sent, contact):
        said = event.sent
        where = contact, event.at, said.conversation, None, said.agent, said.occurred_at
        batch.take(ConversationAssigned(event.id, *where, answered=True, text=said.text))
    elif contact:
        batch.take(replace(event, contact=contact))


def _is_an_agents(batch: Batch, event: StatusReported, said: ReportedMessage, contact: str) -> bool:
    """True if an agent has sent a message from the gateway's own inbox: it cannot be of the bot's.

    A message of the bot's may be reported before the answer to its request, or never under a name that the bot knows.
    So each recent one without a report explains an event that has its text, or no text. Templates are those of
    campaigns.
    """
    if not event.messages or said.kind == "template":
        return False
    unreported = batch.store.messages.unreported(contact, event.at - OWN_REPORTED_WITHIN)
    added = (row.effect for row in batch.commit.messages.added if row.contact == contact)  # an older copy sends again
    sends = [effect for effect in chain(unreported, added) if isinstance(effect, Send)]
    messages = (message for send in sends for message in (send.message, send.instead) if message is not None)
    return not any(said.text is None or said.text.strip() in in_words(message) for message in messages)


def _shard_of_status(batch: Batch, event: StatusReported) -> int | None:
    """The other shard that sent the message of a status, or has its contact."""
    sent_in = batch.store.shards.of_messages(event.messages)
    return next(iter(sent_in.values()), None) if sent_in else batch.store.shards.elsewhere(event.contact)


def give_up_if_failed(batch: Batch, message_ids: Sequence[str]) -> None:
    """The gateway has just taken a message and named it: its failure may have been reported before."""
    known = None if batch.store.messages.failed_early.isdisjoint(message_ids) else _furthest(batch, message_ids)
    if known is not None and known.name == FAILED:
        _give_up(batch, batch.commit.messages.sent[message_ids[0]], known)


def _message(batch: Batch, names: Iterable[str]) -> SentRow | None:
    found = (batch.commit.messages.sent.get(name) or batch.store.messages.sent(name) for name in names)
    return next((sent for sent in found if sent is not None), None)


def _is_news(batch: Batch, names: Iterable[str], status: MessageStatus) -> bool:
    known = _furthest(batch, names)
    return known is None or known.rank < status.rank


def _furthest(batch: Batch, names: Iterable[str]) -> MessageStatus | None:
    """The latest status that a message has reached, under any of its names."""
    found = map(batch.status, names)
    return max((status for status in found if status is not None), key=lambda status: status.rank, default=None)


def _give_up(batch: Batch, sent: SentRow, status: MessageStatus) -> None:
    """Report to the session that a message did not arrive. Unless a plain text goes in its place, it becomes a dead
    letter, which an operator can send again.
    """
    turn, effect = None, sent.effect
    of_flow = sent.priority == REPLY or (sent.priority == CAMPAIGN and is_of_flow(batch, sent.id))
    if isinstance(effect, Send) and of_flow:
        ref = sent.ref
        ended = SendEnded(f"failed:{ref}", sent.contact, batch.now, ref, "refused", status.detail, effect.message)
        turn = batch.take(ended)
    if turn is None or not turn.in_plain_text:
        code = next(iter(_CODE.findall(status.detail)), REFUSED)
        batch.commit.messages.note_failure(sent, status.detail, code)
        if sent.priority == CAMPAIGN:
            handle_campaign_failure(batch, sent, code, status.detail)


class EarlyStatuses:
    """Forwards statuses that came before their messages were known. It looks for these messages in all shards, less and
    less often.

    A status may name only its message, and may come before the answer to the request that sent it. The commits of two
    shards may come in any order, and early statuses are kept in a table, so that a crash loses nothing.
    """

    def __init__(self, store: EngineStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._looked_for: dict[str, tuple[float, float]] = {}  # since when, and when next
        self._next_look = inf

    def begin(self) -> None:
        """Go on with what an earlier run has kept."""
        if self._store.shards.others:
            self.note(self._store.messages.early_statuses(self._clock.now() - EARLY_FOR))

    def note(self, message_ids: Collection[str]) -> None:
        """Look for these messages from now on."""
        if message_ids:
            now = self._clock.elapsed()
            self._looked_for.update(dict.fromkeys(message_ids, (now, now + _FIRST_WAIT)))
            self._next_look = min(self._next_look, now + _FIRST_WAIT)

    def forward(self, batch: Batch) -> None:
        """Forward the statuses of those messages that are found now."""
        now = self._clock.elapsed()
        if now < self._next_look:
            return
        due = [id for id, (_, next_time) in self._looked_for.items() if next_time <= now]
        found = self._store.shards.of_messages(due)
        for id in due:
            since, _ = self._looked_for[id]
            self._looked_for[id] = since, now + max(_FIRST_WAIT, now - since)
            shard = found.get(id)
            if shard is None and now - since <= EARLY_FOR.total_seconds():
                continue
            status = None if shard in (None, self._store.shards.this) else batch.store.messages.status(id)
            if shard is None or status is None:
                del self._looked_for[id]  # it is where it belongs, or nobody's
            else:
                event = StatusReported(f"early:{id}:{status.name}", "", batch.now, status.name, (id,), status.detail)
                batch.forward(event, shard)
                batch.commit.messages.forward_status(id)
        self._next_look = min((next_time for _, next_time in self._looked_for.values()), default=inf)


# -- whose event it is --------------------------------------------------------------------------------


def on_event(batch: Batch, event: Event) -> None:
    """Take an event of the log. The bot may know its contact by another number, or have it in another shard."""
    known = with_contact(batch, event)
    if isinstance(known, StatusReported):
        handle_status(batch, known)
    elif known is not None:
        if isinstance(known, ContactChanged):
            if is_by_id(known.contact):
                return  # the bot has nothing of the contact, so that nothing of it can be out of date
            forget(batch, known.contact)
            if known.alias is not None and batch.sessions.contact_of_alias(known.alias) != known.contact:
                learn_alias(batch, known.alias, known.contact)
        batch.take(known)
    elif batch.forwarded is None:  # the one with the conversation takes it, in the order of its log
        batch.forward(event, *batch.store.shards.others)


def on_forwarded(batch: Batch, forwarded: Forwarded | AliasLearned) -> None:
    """Take from the log what another shard has forwarded."""
    if isinstance(forwarded, Forwarded):
        batch.forwarded = forwarded
        on_event(batch, forwarded.event)
        batch.forwarded = None
    elif not batch.store.erasures.is_under_way(forwarded.contact):
        _note_alias(batch, forwarded.alias, forwarded.contact)


def with_contact(batch: Batch, event: Event) -> Event | None:
    """The event with its contact; None where that cannot be known.

    An event of a conversation may name only the conversation. A contact may write from another number than the bot
    writes to, or in another form of it.
    """
    if event.contact:
        if batch.sessions.knows(event.contact):
            return event
        contact = batch.sessions.contact_of_alias(event.contact) if batch.forwarded is None else None
        return batch.sessions.addressed(event) if contact is None else replace(event, contact=contact)
    if isinstance(event, ConversationOpened | ConversationAssigned | HandoffClosed):
        contact = None if event.conversation is None else batch.sessions.contact_in(event.conversation)
        return None if contact is None else replace(event, contact=contact)
    return event


def learn_alias(batch: Batch, alias: str, contact: str) -> None:
    """Note that the gateway calls a contact by another number. Events of that number are this contact's from now on,
    unless the bot knows the number as a contact. If another shard gets these events, the alias is forwarded to it,
    unless it has it.
    """
    shard = batch.store.shards.elsewhere(alias)
    if shard is None:
        _note_alias(batch, alias, contact)
    elif not batch.store.shards.knows_alias(shard, alias, contact):
        told = f"{alias} {contact} {batch.now.isoformat()}"  # it may be told anew once it is erased
        key = effect_key(batch.store.store_id, told)
        batch.commit.forward(shard, AliasLearned(alias, contact), key)


def _note_alias(batch: Batch, alias: str, contact: str) -> None:
    if not batch.sessions.knows(alias):
        batch.commit.aliases[alias] = contact
