"""The engine's loop: one thread takes all events, and it alone writes the engine's file.

`EngineLoop` says what wakes this thread, who reports to it, and when it rests; `bot.runtime.engine_cycle` is one pass.
`WakePipe` lets another process wake it.
"""

import logging
import math
import os
import select
import threading
from collections.abc import Callable, Collection
from concurrent.futures import Future
from datetime import datetime
from time import monotonic, sleep

from bot.core.alarms import Alarms
from bot.core.clock import Clock, deadline_of
from bot.core.defects import guard
from bot.core.engine_answers import EngineAnswer
from bot.core.engine_requests import A, AnyRequest, EngineRequest, answer_to
from bot.core.errors import BotError, OutcomeLost
from bot.runtime.batch import Advance
from bot.runtime.engine_cycle import AT_ONCE, EngineCycle
from bot.runtime.engine_input import (
    Consumer,
    EngineInput,
    SendConsumer,
    can_wait,
)
from bot.runtime.performers import CallResult
from bot.runtime.sending import SendResult
from bot.store.files import StoreUnavailable
from bot.store.rows import CallRow, OutboxRow

_WAITING_RESULTS = 32  # results that wait at most for something else that is to be committed
_MANY = 16  # results, requests and events: a cycle that takes so many works under load, unless they have piled up

# in seconds
_POLL = 0.1  # while results are awaited
_POLL_IDLE = 0.5  # else: it finds what a lost wake-up missed
_ANSWERED_WITHIN = 10.0
GATHERING = 0.01
_FIRST_BACKOFF = 0.1
_LONGEST_BACKOFF = 5.0
CUT_OFF = "the bot was killed while it sent this, and the gateway took no key for it: look whether it arrived"

log = logging.getLogger(__name__)


class EngineStopped(BotError):
    """The engine does not run."""


class EngineSilent(EngineStopped, OutcomeLost):
    """The engine gave no answer in time, or stopped before it did."""


class WakePipe(threading.Condition):
    """A condition on which one thread waits until it is notified, or until another process writes to the pipe ``file``.

    The system itself wakes that thread, so no second thread has to watch the pipe.
    """

    def __init__(self, file: int) -> None:
        super().__init__(threading.Lock())
        self._file = file
        self._notified, self._notify = os.pipe()
        self._waits = False
        self._written, self._both = select.poll(), select.poll()
        self._written.register(file, select.POLLIN)
        for each in (file, self._notified):
            self._both.register(each, select.POLLIN)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait; False when nobody has notified or written within so many seconds."""
        self._waits = True
        self.release()
        try:
            ready = self._both.poll(None if timeout is None else math.ceil(timeout * 1000))
        finally:
            self.acquire()
            self._waits = False
        for file, _ in ready:
            os.read(file, 65536)
        return bool(ready)

    def notify(self, n: int = 1) -> None:
        """Wake the thread that waits, if one does."""
        if self._waits:
            os.write(self._notify, b"x")
            self._waits = False

    def notify_all(self) -> None:
        """Wake the thread that waits, if one does."""
        self.notify()

    def was_written(self) -> bool:
        """True if another process has written since the last call of this method or of `wait`."""
        ready = self._written.poll(0)
        for file, _ in ready:
            os.read(file, 65536)
        return bool(ready)


class EngineLoop:
    """Runs cycles on a thread of its own, and sleeps while there is nothing to take.

    ``gathering`` is how many seconds the loop waits under load, so that one commit takes more events; 0 if there is
    only one contact. ``wakes`` is a pipe that another process writes to when the log has grown, as `wake` does here.
    While the store cannot be used, ``alarms`` has the alarm ``store-unavailable``. ``failure`` is the error that ended
    the loop, None if `stop` did.
    """

    def __init__(
        self,
        cycle: EngineCycle,
        clock: Clock,
        alarms: Alarms,
        gathering: float = GATHERING,
        wakes: WakePipe | None = None,
    ) -> None:
        self.failure: BaseException | None = None
        self._cycle = cycle
        self._clock = clock
        self._alarms = alarms
        self._gathering = gathering
        self._changed = threading.Condition() if wakes is None else wakes
        self._wakes = wakes
        self._incoming = EngineInput()
        self._answers: list[Future[EngineAnswer]] = []  # one for each of the incoming requests
        self._claimed: set[int] = set()  # messages without a key: after a crash nobody knows whether they were sent
        self._woken = False
        self._stopping = False
        self._working = True  # False only while it sleeps
        self._cycles = 0
        self._thread = threading.Thread(target=guard(self._run), name="turns")

    def start(self, delivery: SendConsumer, performers: Consumer[CallRow]) -> None:
        """Begin to take events, and hand what they decide to these two, which report to `sent` and `called`.

        Raises `bot.store.integrity.StoresDiffer` and `bot.store.files.StoreUnavailable`.
        """
        now = self._clock.now()
        for row in self._cycle.begin(delivery, performers):
            self._incoming.sent.append(SendResult(row, "unknown", row.attempts, None, (), CUT_OFF, now))
        self._thread.start()

    def use(self, advance: Advance, dead_letter_hooks: Collection[str] = ()) -> None:
        """Use this engine from the next event on, and report dead letters to these hooks."""
        self._cycle.advance, self._cycle.dead_letter_hooks = advance, dead_letter_hooks

    def stop(self, timeout: float) -> bool:
        """Take what was reported, and end. Stop delivery and performers first: what they report later is lost.

        Returns False when the loop has not ended within ``timeout`` seconds.
        """
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        if self._thread.ident is not None:  # it may never have been started
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def wake(self) -> None:
        """Read on: the log has grown. From any thread."""
        with self._changed:
            self._take_now()

    def _take_now(self) -> None:
        self._woken = True
        self._changed.notify_all()

    def sent(self, result: SendResult) -> None:
        """Report the result of a message. From any thread.

        A result that nobody waits for is committed with whatever comes next, or after `_POLL`: so at low load an event
        costs one commit and not two. If the bot crashes before that, it repeats the request with the same key.
        """
        with self._changed:
            self._incoming.sent.append(result)
            waits = self._gathering > 0 and can_wait(result) and result.row.id not in self._claimed
            if not self._woken and (not waits or len(self._incoming.sent) >= _WAITING_RESULTS):
                self._take_now()
            self._claimed.discard(result.row.id)

    def called(self, result: CallResult) -> None:
        """Report the result of a call. From any thread."""
        with self._changed:
            self._incoming.called.append(result)
            self._take_now()

    def operate(self, request: EngineRequest[A]) -> A:
        """Do what an operator asks (see `bot.runtime.operator_requests.operate`), and return when it is durable.

        Raises `bot.runtime.batch.RequestRefused` and `EngineStopped`.
        """
        return answer_to(request, self._ask(request))

    def _ask(self, request: AnyRequest | CallRow) -> EngineAnswer:
        try:
            return self._begin_ask(request).result(_ANSWERED_WITHIN)
        except TimeoutError:
            raise EngineSilent(f"no answer within {_ANSWERED_WITHIN:g} s: the engine may still do it") from None

    def claim(self, row: CallRow) -> None:
        """Return when it is durable that a call is about to be made in the crash quarantine. Raises `EngineStopped`."""
        self._ask(row)

    def begin_claim(self, row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        """Call back once it is durable that a message is about to be sent without a key. Raises `EngineStopped`."""

        def answered(answer: Future[EngineAnswer]) -> None:
            error = answer.exception()
            done(error if isinstance(error, BotError) else None)

        self._claimed.add(row.id)
        self._begin_ask(row).add_done_callback(answered)

    def settled(self) -> bool:
        """True when nothing is left to do until something comes in or time passes.

        The log is read to its end, no timer is due, nothing is parked that could be taken, and delivery and
        performers are idle.
        """
        with self._changed:
            cycles = self._cycles
            asleep = not self._working
        if not asleep or not self._cycle.idle():
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

    def _begin_ask(self, request: AnyRequest | OutboxRow | CallRow) -> Future[EngineAnswer]:
        answer: Future[EngineAnswer] = Future()
        with self._changed:
            if not self._thread.is_alive() or self._stopping:
                raise EngineStopped("the engine does not run")
            self._incoming.requests.append(request)
            self._answers.append(answer)
            self._take_now()
        return answer

    def _wait_for_cycle(self, cycles: int, timeout: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._cycles != cycles, timeout)

    def _run(self) -> None:
        try:
            self._loop()
            self._cycle.end()
        except StoreUnavailable as error:
            log.error("the engine stops without being able to note it: %s", error)
        except BotError as error:  # `Engine.check` raises it, and its caller logs it
            self.failure = error
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._refuse_requests()

    def _loop(self) -> None:
        backoff = _FIRST_BACKOFF
        while not (self._stopping and not len(self._incoming)):
            try:
                more = self._run_cycle()
                rests = not more and not self._cycle.housekeeping()
                if backoff != _FIRST_BACKOFF:
                    backoff = _FIRST_BACKOFF
                    self._alarms.clear("store-unavailable")
                if more and _MANY <= self._cycle.taken < AT_ONCE:
                    sleep(self._gathering)  # the next commit takes more events, and costs the same for one and for many
                elif rests:
                    self._sleep()
            except StoreUnavailable as error:
                if self._stopping:
                    raise
                self._alarms.report("store-unavailable", f"nothing is taken or sent: {error.what}", error.advice)
                self._rest_in_trouble(backoff)
                backoff = min(2 * backoff, _LONGEST_BACKOFF)

    def _run_cycle(self) -> bool:
        """Run one cycle. Returns whether there is more to take at once."""
        with self._changed:
            self._working = True
            self._woken = False
            taken = self._incoming.first(self._cycle.takes_at_once(self._incoming))
            left = len(self._incoming) > len(taken)
        worked, answers = self._cycle.run(taken)
        with self._changed:
            self._incoming.drop(taken)
            futures = self._answers[: len(answers)]
            del self._answers[: len(answers)]
            woken = self._woken or (self._wakes is not None and self._wakes.was_written())
            more = woken or (worked and self._cycle.more) or left
        for future, answer in zip(futures, answers, strict=True):
            _resolve(future, answer)
        return more

    def _sleep(self) -> None:
        with self._changed:
            self._working = False
            self._cycles += 1
            self._changed.notify_all()
            if not (self._woken or self._stopping):
                wake = self._cycle.next_wake
                until = None if wake is None else deadline_of(self._clock, wake)
                rests = self._cycle.all_done() and not len(self._incoming)
                self._clock.wait(self._changed, until, _POLL_IDLE if rests else _POLL)

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

    def _next_question(self) -> tuple[int, AnyRequest] | None:
        """The first question among the requests, and its place there."""
        asked = enumerate(self._incoming.requests)
        return next(((n, r) for n, r in asked if isinstance(r, EngineRequest) and r.only_tells), None)

    def _refuse_requests(self) -> None:
        with self._changed:
            self._stopping = True
            self._working = False
            self._cycles += 1
            futures, self._answers = self._answers, []
            self._changed.notify_all()
        for future in futures:
            future.set_exception(EngineSilent("the engine stopped before it answered: it may have done this"))


def _resolve(future: Future[EngineAnswer], answer: EngineAnswer | BotError) -> None:
    if isinstance(answer, BotError):
        future.set_exception(answer)
    else:
        future.set_result(answer)
