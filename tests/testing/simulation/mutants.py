"""Bugs to be put in on purpose: each is one that this design has to rule out, and that a simulation has to find."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from itertools import count
from typing import Any
from unittest.mock import patch

from bot.core import defects
from bot.runtime import batch
from bot.runtime.delivery import Delivery
from bot.runtime.engine_cycle import CrashWatch, EngineCycle
from bot.runtime.engine_input import InFlightWindow
from bot.runtime.engine_loop import EngineLoop
from bot.runtime.rate_limiter import RateLimiter
from bot.runtime.sending import Sender
from bot.server.app import Engine
from bot.store.call_rows import EVENT_ENDED
from bot.store.files import StoreUnavailable
from bot.store.inbox import InboxWriter
from bot.store.message_rows import FORGET_SEND, StoredMessages
from bot.store.postgres_database import PostgresDatabase

Mutant = Callable[[], AbstractContextManager[object]]


@contextmanager
def _around(owner: Any, name: str, replaced: Callable[..., Any]) -> Iterator[None]:
    """Replace a method by one that is given the real one first."""
    real = getattr(owner, name)
    with patch.object(owner, name, lambda *given, **more: replaced(real, *given, **more)):
        yield


def cursor_before_the_turn() -> AbstractContextManager[object]:
    """The cursor is durable before what it has passed is taken."""

    def take_log(real: Any, cycle: EngineCycle, some: Any, most: int) -> Any:
        rows = cycle._inbox.after(cycle._store.cursor, most)
        if rows:
            cycle._store.database.write(("UPDATE meta SET cursor = ?", [(rows[-1].seq,)]))
        return real(cycle, some, most)

    return _around(EngineCycle, "_take_log", take_log)


def key_from_a_count() -> AbstractContextManager[object]:
    """An idempotency key is a number that begins anew with each run."""
    numbers: dict[int, Iterator[int]] = {}

    def send_row(real: Any, some: Any, *given: Any, **more: Any) -> Any:
        row = real(some, *given, **more)
        object.__setattr__(row, "key", f"key {next(numbers.setdefault(id(some.store), count()))}")
        return row

    return _around(batch.Batch, "send_row", send_row)


def known_by_delivery_only() -> AbstractContextManager[object]:
    """An event that comes under another delivery id is taken for a new one."""

    def event(real: Any, inbox: InboxWriter, delivery: str | None, event_id: str, *rest: Any) -> Any:
        return real(inbox, delivery, f"{event_id} {delivery}" if delivery else event_id, *rest)

    return _around(InboxWriter, "event", event)


def retry_behind_the_others() -> AbstractContextManager[object]:
    """A message that is to be tried again goes behind its contact's others."""

    def done(real: Any, delivery: Any, queue: Any, attempt: Any) -> None:
        real(delivery, queue, attempt)
        if attempt.state == "retry" and delivery._scheduler._has(queue):
            queue.rows.rotate(-1)
            queue.begin()

    return _around(Delivery, "_done", done)


def window_not_checked() -> AbstractContextManager[object]:
    """A message goes out although the contact's window has been closed since it was decided."""
    return patch.object(Sender, "_is_open", lambda sender, queue, now: queue.closed_window is None)


def wake_lost_in_a_crash() -> AbstractContextManager[object]:
    """Who waits for a time is forgotten where the engine did not end properly."""

    def begin(real: Any, cycle: EngineCycle, *consumers: Any) -> Any:
        if not cycle._store.database.one("SELECT clean FROM meta")[0]:
            cycle._store.database.write(("UPDATE sessions SET wake_at = NULL", [()]))
        return real(cycle, *consumers)

    return _around(EngineCycle, "begin", begin)


def claim_not_durable() -> AbstractContextManager[object]:
    """A message without a key is sent before it is written down that it is."""
    return patch.object(EngineLoop, "begin_claim", lambda loop, row, done: done(None))


def row_deleted_before_its_result() -> AbstractContextManager[object]:
    """A message leaves the outbox when it is handed to those who send."""

    def give(real: Any, claims: InFlightWindow[Any], rows: Any) -> None:
        real(claims, rows)
        stored = getattr(claims._pending, "__self__", None)
        if isinstance(stored, StoredMessages):
            stored.database.write((FORGET_SEND, [(row.id,) for row in rows]))

    return _around(InFlightWindow, "_give", give)


def event_deleted_before_it_is_taken() -> AbstractContextManager[object]:
    """An event's row is deleted when it is handed to those who deliver."""

    def deliver(real: Any, cycle: EngineCycle, now: Any) -> None:
        real(cycle, now)
        with suppress(StoreUnavailable):
            cycle._store.database.write((EVENT_ENDED, [(id,) for id in cycle._events]))

    return _around(EngineCycle, "_deliver_events", deliver)


def event_that_waits_for_none() -> AbstractContextManager[object]:
    """Every event is due at once, whether or not an earlier one of its contact waits."""

    def deliver(real: Any, cycle: EngineCycle, now: Any) -> None:
        with suppress(StoreUnavailable):
            cycle._store.database.write(("UPDATE events_out SET due_at = created_at WHERE due_at IS NULL", [()]))
        real(cycle, now)

    return _around(EngineCycle, "_deliver_events", deliver)


def failures_cost_no_budget() -> AbstractContextManager[object]:
    """A request that was not answered well is not counted against the gateway's limits."""

    def ended(
        real: Any, limiter: RateLimiter, permit: int, now: float, remaining: int | None = None, *said: Any
    ) -> None:
        if remaining is None:
            limiter.unused(permit)
        else:
            real(limiter, permit, now, remaining, *said)

    return _around(RateLimiter, "ended", ended)


def parked_lost_in_a_reload() -> AbstractContextManager[object]:
    """Messages that wait for the end of a call are forgotten when the flows are reloaded."""

    def swap(real: Any, engine: Engine, program: Any) -> None:
        real(engine, program)
        with suppress(StoreUnavailable):
            engine._loop._cycle._store.database.write(("DELETE FROM parked", [()]))

    return _around(Engine, "swap", swap)


def times_behind_the_log() -> AbstractContextManager[object]:
    """What is due is taken when the log has been read to its end, as of then."""

    def in_order(cycle: EngineCycle, some: batch.Batch, rows: Any, most: int, until: Any) -> Iterator[Any]:
        for row in rows:
            yield row, partial(cycle._take_row, some, row, cycle._log_events.event_of(row))
        while len(rows) < most and (due := some.next_due(until)) is not None:
            yield due, partial(some.take_due, due, some.now)

    return patch.object(EngineCycle, "_in_order", in_order)


def everything_is_suspect() -> AbstractContextManager[object]:
    """In the crash quarantine, whatever comes is taken one by one."""
    return patch.object(CrashWatch, "may_crash", lambda watch, taken: watch.run.in_quarantine)


def ids_drawn_in_the_turn() -> AbstractContextManager[object]:
    """An id is asked of the store where an error counts as the turn's."""

    def row(real: Any, some: batch.Batch, *given: Any) -> Any:
        some.store.database.one("SELECT last_send FROM meta")
        return real(some, *given)

    return _around(batch.Batch, "_row", row)


def thread_that_ends_alone() -> AbstractContextManager[object]:
    """A process goes on without a thread that has raised what nobody foresaw."""
    return patch.object(defects, "found", lambda *given, **named: None)


def connection_made_anew() -> AbstractContextManager[object]:
    """An engine that has lost its connection to a database goes on with another one."""

    def be_alone(real: Any, database: PostgresDatabase, connection: Any) -> None:
        real(database, connection)
        database._alone = False

    return _around(PostgresDatabase, "_be_alone", be_alone)


MUTANTS: dict[str, tuple[Mutant, str]] = {
    "cursor before the turn": (cursor_before_the_turn, "taken_once"),
    "key from a count": (key_from_a_count, "sent_once"),
    "known by delivery only": (known_by_delivery_only, "taken_once"),
    "retry behind the others": (retry_behind_the_others, "sent_in_order"),
    "window not checked": (window_not_checked, "window_kept"),
    "wake lost in a crash": (wake_lost_in_a_crash, "quiet"),
    "claim not durable": (claim_not_durable, "sent_once"),
    "row deleted before its result": (row_deleted_before_its_result, "visible"),
    "event deleted before it is taken": (event_deleted_before_it_is_taken, "events_delivered"),
    "event that waits for none": (event_that_waits_for_none, "events_delivered"),
    "failures cost no budget": (failures_cost_no_budget, "limits_kept"),
    "parked lost in a reload": (parked_lost_in_a_reload, "taken_once"),
    "times behind the log": (times_behind_the_log, "lived_again"),
    "everything is suspect": (everything_is_suspect, "suspicion_ends"),
    "ids drawn in the turn": (ids_drawn_in_the_turn, "nothing_breaks"),
    "thread that ends alone": (thread_that_ends_alone, "quiet"),
}
"""Each with the promise that it breaks."""
