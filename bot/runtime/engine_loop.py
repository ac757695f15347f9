"""The engine's loop: one thread takes all events, and it alone writes the engine's file."""

import logging
import threading
from collections.abc import Collection
from concurrent.futures import Future
from datetime import datetime
from time import monotonic

from bot.alarms import Alarms
from bot.clock import Clock, deadline_of
from bot.core.errors import BotError
from bot.metrics import EngineMetrics
from bot.runtime.batch import Advance, place_of
from bot.runtime.engine_cycle import Consumer, EngineCycle, Read, SendConsumer
from bot.runtime.engine_input import EngineInput
from bot.runtime.operator_requests import QUESTIONS, Answer, Request
from bot.runtime.performers import CallResult
from bot.runtime.sending import SendResult
from bot.store.engine_store import Store
from bot.store.files import StoreUnavailable
from bot.store.inbox import InboxReader
from bot.store.rows import CallRow, OutboxRow

_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 10.0
GATHERING = 0.005  # seconds
_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 5.0

CUT_OFF = "the bot was killed while it sent this, and the gateway took no key for it: look whether it arrived"

log = logging.getLogger(__name__)


class EngineStopped(BotError):
    """The engine does not run, or gave no answer in time."""


class EngineLoop:
    """Runs cycles on a thread of its own, and sleeps while there is nothing to take.

    ``advance`` is the engine bound to the current library: setting the attribute is a reload, and
    ``dead_letter_hooks``, the hooks that hear of dead letters, goes with it. ``read`` makes
    an event of an acknowledged body and the time it came, or None where it concerns no conversation.
    ``gathering`` is how many seconds the loop waits under load, so that one commit takes more events;
    ``metrics`` counts what is committed. While the store cannot be used there is an alarm among ``alarms``,
    ``store-unavailable``.
    ``failure`` is what ended the loop, where it was not `stop`.
    """

    def __init__(
        self,
        store: Store,
        inbox: InboxReader,
        clock: Clock,
        advance: Advance,
        read: Read,
        gathering: float = GATHERING,
        *,
        metrics: EngineMetrics,
        alarms: Alarms,
    ) -> None:
        self.advance = advance
        self.dead_letter_hooks: Collection[str] = ()
        self.failure: BaseException | None = None
        self._store = store
        self._inbox = inbox
        self._clock = clock
        self._read = read
        self._alarms = alarms
        self._gathering = gathering
        self._metrics = metrics
        self._changed = threading.Condition()
        self._incoming = EngineInput()
        self._answers: list[Future[Answer]] = []  # one for each of the incoming requests
        self._woken = False
        self._stopping = False
        self._working = True  # False only while it sleeps
        self._cycles = 0
        self._gathered_at = 0.0
        self._thread = threading.Thread(target=self._run, name="turns")

    def start(self, delivery: SendConsumer, performers: Consumer[CallRow]) -> None:
        """Begin to take events, and hand what they decide to these two, which report to `sent` and `called`.

        Raises `bot.store.integrity.StoresDiffer` and `bot.store.files.StoreUnavailable`.
        """
        self._cycle = EngineCycle(
            self._store,
            self._inbox,
            self._clock,
            lambda session, event: self.advance(session, event),
            self._read,
            delivery,
            performers,
            self._metrics,
            self._alarms,
            lambda: self.dead_letter_hooks,
        )
        now = self._clock.now()
        for row in self._cycle.begin():
            self._incoming.sent.append(SendResult(row, "unknown", row.attempts, None, (), CUT_OFF, now))
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Take what was reported, and end. Stop delivery and performers before: what they report later is lost to us.

        Returns False when the loop has not ended within ``timeout`` seconds.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:  # it may never have been started
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def wake(self) -> None:
        """The log has grown: read on. From any thread."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def sent(self, result: SendResult) -> None:
        """Report the result of a message. From any thread."""
        with self._changed:
            self._incoming.sent.append(result)
            self._changed.notify_all()

    def called(self, result: CallResult) -> None:
        """Report the result of a call. From any thread."""
        with self._changed:
            self._incoming.called.append(result)
            self._changed.notify_all()

    def operate(self, request: Request) -> Answer:
        """Do what an operator asks (see `bot.runtime.operator_requests.operate`), and return when it is durable.

        Raises `bot.runtime.batch.RequestRefused` and `EngineStopped`.
        """
        return self._ask(request)

    def claim(self, row: OutboxRow | CallRow) -> None:
        """Return when it is durable that a message is about to be sent without a key, or a call to be made by a careful
        engine. Raises `EngineStopped`.
        """
        self._ask(row)

    @property
    def careful(self) -> bool:
        """Whether this run is careful after crashes: see `bot.store.crash_quarantine`."""
        return self._cycle.careful

    def settled(self) -> bool:
        """True when nothing is left to do until something comes in or time passes.

        The log is read to its end, no timer is due, nothing is parked that could be taken, and delivery and
        performers are idle.
        """
        with self._changed:
            cycles = self._cycles
            asleep = not self._working
        if (
            not asleep
            or not self._cycle.idle()
            or self._cycle.clock_is_set
            or self._inbox.has_after(self._cycle.cursor)
        ):
            return False
        wake = self._cycle.next_wake
        if wake is not None and wake <= self._clock.now():
            return False
        with self._changed:  # what was reported before delivery became idle is seen here
            return cycles == self._cycles and not self._working and not len(self._incoming)

    def next_wake(self) -> datetime | None:
        """When the next session wants to be woken, as of the last cycle."""
        return self._cycle.next_wake

    def wait_settled(self, timeout: float) -> bool:
        """Wait until it is `settled`. False when it is not after ``timeout`` real seconds, or the loop has ended."""
        deadline = monotonic() + timeout
        while True:
            cycles = self._cycles
            if self.settled():
                return True
            if not self._wait_for_cycle(cycles, deadline - monotonic()) or not self._thread.is_alive():
                return False

    def _ask(self, request: Request | OutboxRow | CallRow) -> Answer:
        answer: Future[Answer] = Future()
        with self._changed:
            if not self._thread.is_alive() or self._stopping:
                raise EngineStopped("the engine does not run")
            self._incoming.requests.append(request)
            self._answers.append(answer)
            self._changed.notify_all()
        try:
            return answer.result(_ANSWER_SECONDS)
        except TimeoutError:
            raise EngineStopped(f"no answer within {_ANSWER_SECONDS:g} s: the engine may still do it") from None

    def _wait_for_cycle(self, cycles: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._cycles != cycles, timeout)

    def _run(self) -> None:
        try:
            self._loop()
            self._cycle.end()
        except StoreUnavailable as error:
            log.error("the engine stops without being able to note it: %s", error)
        except BaseException as error:
            self.failure = error
            log.critical("the engine's loop has ended, %s", place_of(error))
        finally:
            self._refuse_requests()

    def _loop(self) -> None:
        backoff = _FIRST_BACKOFF
        while not (self._stopping and not len(self._incoming)):
            try:
                if self._take():
                    self._gather()
                elif not self._cycle.rest():
                    self._sleep()
                if backoff != _FIRST_BACKOFF:
                    backoff = _FIRST_BACKOFF
                    self._alarms.clear("store-unavailable")
            except StoreUnavailable as error:
                if self._stopping:
                    raise
                self._alarms.report("store-unavailable", f"nothing is taken or sent: {error.what}", error.advice)
                self._rest_in_trouble(backoff)
                backoff = min(2 * backoff, _LONGEST_BACKOFF)

    def _gather(self) -> None:
        """Under load, wait for more events before the next commit, which costs the same for one and for many."""
        if monotonic() - self._gathered_at < 2 * self._gathering:
            self._rest(self._gathering)
        self._gathered_at = monotonic()

    def _take(self) -> bool:
        with self._changed:
            self._working = True
            self._woken = False
            taken = self._incoming.first(self._cycle.at_once)
        worked, answers = self._cycle.take(taken)
        with self._changed:
            self._incoming.drop(taken)
            futures = self._answers[: len(answers)]
            del self._answers[: len(answers)]
        for future, answer in zip(futures, answers, strict=True):
            _resolve(future, answer)
        return worked or len(taken) > 0

    def _sleep(self) -> None:
        with self._changed:
            self._working = False
            self._cycles += 1
            self._changed.notify_all()
            if not (self._woken or self._stopping or len(self._incoming)):
                wake = self._cycle.next_wake
                until = None if wake is None else deadline_of(self._clock, wake)
                self._clock.wait(self._changed, until, _POLL_SECONDS)

    def _rest(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)

    def _rest_in_trouble(self, seconds: float) -> None:
        """Rest, but answer questions about the status: people ask them when something is wrong."""
        until = monotonic() + seconds
        while not self._stopping and (left := until - monotonic()) > 0:
            with self._changed:
                self._changed.wait_for(lambda: self._stopping or self._next_question() is not None, left)
                found = self._next_question()
                if found is None:
                    continue
                place, request = found
                del self._incoming.requests[place]
                future = self._answers.pop(place)
            try:
                future.set_result(self._cycle.question(request))
            except BotError as error:
                future.set_exception(error)

    def _next_question(self) -> tuple[int, Request] | None:
        """The first question among the requests, and its place there."""
        asked = enumerate(self._incoming.requests)
        return next(((n, r) for n, r in asked if isinstance(r, dict) and r.get("do") in QUESTIONS), None)

    def _refuse_requests(self) -> None:
        with self._changed:
            self._stopping = True
            self._working = False
            self._cycles += 1
            futures, self._answers = self._answers, []
            self._changed.notify_all()
        for future in futures:
            future.set_exception(EngineStopped("the engine has stopped"))


def _resolve(future: Future[Answer], answer: Answer | BotError) -> None:
    if isinstance(answer, BotError):
        future.set_exception(answer)
    else:
        future.set_result(answer)
