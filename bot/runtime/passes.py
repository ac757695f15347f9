"""One pass of the engine: gather what there is, take it, commit, hand it on. No threads and no waiting here."""

import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Protocol

from bot.clock import Clock
from bot.core.errors import BotError
from bot.core.events import Event, HandoffClosed
from bot.runtime.batch import Advance, Batch, place_of
from bot.runtime.claims import Claims, Doer
from bot.runtime.operator import Answer, Request, RequestRefused, operate
from bot.runtime.results import Incoming, take_called, take_late, take_sent
from bot.store.inbox import InboxReader
from bot.store.rows import CallRow, LogRow, OutboxRow
from bot.store.state import Run, Store

AT_ONCE = 256
"""How many events one commit takes."""

_CALLS_AT_ONCE = 1000
_PRUNED_EVERY = timedelta(minutes=1)
_ORDINARY = Run(careful=False, suspects=frozenset())

Read = Callable[[bytes, datetime], Event | None]
Answers = list[Answer | RequestRefused]

log = logging.getLogger(__name__)


class CursorBeyondLog(BotError):
    """The engine has taken events that the log never had."""


class Delivers(Doer[OutboxRow], Protocol):
    """What a pass asks of the delivery."""

    def room(self) -> int:
        """How many more rows it can take."""
        ...


class Passes:
    """Takes events, commits what they decide, and hands that on. One thread calls it; `idle` is for any.

    ``read`` makes an event of an acknowledged body, or None where it concerns no conversation. A method that
    raises `bot.store.files.StoreUnavailable` has changed nothing, and can be called again with the same.
    """

    def __init__(
        self,
        store: Store,
        inbox: InboxReader,
        clock: Clock,
        advance: Advance,
        read: Read,
        delivery: Delivers,
        performers: Doer[CallRow],
    ) -> None:
        self.cursor = store.cursor()
        self.next_wake: datetime | None = None
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._advance = advance
        self._read = read
        self._run = _ORDINARY
        self._caught_up = False
        self._prune_at = clock.now()
        self._sends = Claims(store.pending_sends, delivery, delivery.room)
        self._calls: Claims[CallRow] = Claims(
            store.pending_calls, performers, lambda: _CALLS_AT_ONCE - len(self._calls)
        )

    def begin(self) -> list[OutboxRow]:
        """Begin a run. Returns the messages of which the last run left unknown whether they were sent.

        Raises `CursorBeyondLog`.
        """
        end = self._inbox.last_seq()
        if self.cursor > end:
            raise CursorBeyondLog(
                f"{self._store.path} has taken events up to number {self.cursor}, but the log beside it ends at {end}: "
                "the two files are not of one age (restore both from one backup)"
            )
        self._run = self._store.begin_run()
        unclear = self._store.claimed_sends()
        self._sends.adopt(unclear)
        return unclear

    def end(self) -> None:
        """End the run."""
        self._store.end_run()

    @property
    def at_once(self) -> int:
        """How many events one pass takes, of all kinds together."""
        return 1 if self._run.careful else AT_ONCE

    def take(self, incoming: Incoming) -> tuple[bool, Answers]:
        """One pass: results first, then requests, then the log, and timers once that is read to its end.

        Returns whether there was anything to commit, and the answers to the requests.
        """
        self._sends.refill()
        self._calls.refill()
        batch = Batch(self._store, self._advance, self._run, self._clock.now())
        for sent in incoming.sent:
            known = sent.row.id in self._sends and sent.row.id not in batch.commit.sends_ended
            (take_sent if known else take_late)(batch, sent)
        for called in incoming.called:
            known = called.row.id in self._calls and called.row.id not in batch.commit.calls_ended
            (take_called if known else take_late)(batch, called)
        answers = [_answer(batch, request) for request in incoming.requests]
        self._take_log(batch, self.at_once - len(incoming))
        return self._commit(batch), answers

    def rest(self) -> bool:
        """Use a pass that found nothing for the house. True when there is more of that to do."""
        if not self._caught_up and self._sends.empty() and self._calls.empty():
            self._store.caught_up()
            self._caught_up = True
            self._run = _ORDINARY
        self.next_wake = self._store.next_wake()
        now = self._clock.now()
        if now < self._prune_at:
            return False
        more = self._store.prune(now)
        self._prune_at = now if more else now + _PRUNED_EVERY
        return more

    def idle(self) -> bool:
        """True when nothing that was handed on can be done now."""
        return self._sends.idle() and self._calls.idle()

    def _take_log(self, batch: Batch, most: int) -> None:
        rows = self._inbox.after(self.cursor, most) if most > 0 else []
        for row in rows:
            self._take_row(batch, row)
        if len(rows) < most:  # the log is read to its end, as of a time after `batch.now`: no message came before
            for due in self._store.due(batch.now, most - len(rows)):
                batch.take_due(due)

    def _take_row(self, batch: Batch, row: LogRow) -> None:
        batch.commit.cursor = row.seq
        if not row.readable:
            batch.commit.add_dead_letter("event", row.contact, "it could not be read", row.body)
            return
        try:
            event = self._read(row.body, row.received_at)
        except Exception as error:  # a hostile sender's event, or a defect in the reading: the others go on
            log.error("an event could not be read, %s: see `bot queue`", place_of(error))
            batch.commit.add_dead_letter("event", row.contact, f"it could not be read: {error}", row.body)
            return
        if isinstance(event, HandoffClosed) and not event.contact:
            event = _addressed(batch, event)
        if event is not None:
            batch.take(event)

    def _commit(self, batch: Batch) -> bool:
        commit = batch.commit
        if not self._store.write(commit):
            return False
        self.cursor = commit.cursor
        self._sends.done(commit.sends_ended)
        self._calls.done(commit.calls_ended)
        self._sends.add(commit.sends)
        self._calls.add(commit.calls)
        return True


def _addressed(batch: Batch, event: HandoffClosed) -> HandoffClosed | None:
    """The event with its contact where it names a conversation only (decisions: "Hand-over")."""
    contact = None if event.conversation is None else batch.contact_in(event.conversation)
    return None if contact is None else replace(event, contact=contact)


def _answer(batch: Batch, request: Request | OutboxRow) -> Answer | RequestRefused:
    try:
        if isinstance(request, OutboxRow):
            batch.commit.claim(request)
            return {}
        return operate(batch, request)
    except RequestRefused as refusal:
        return refusal
