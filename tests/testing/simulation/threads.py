"""Python's `threading`, with one thread running at a time and a seed that says which.

The product's threads, locks, conditions and time-outs run on this scheduler without knowing it: `bot` modules find
`THREADING` under the name ``threading`` while a simulation runs (`tests.testing.simulation.machine`). Threads belong to a
`Process`, which can be killed between any two points at which a thread may be switched.
"""

import _thread
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any, ClassVar

MOST_SWITCHES = 400_000
"""Of one run: more than that is a thread that never rests."""

MOST_ROUNDS = 1000
"""How often something may fall due at one moment."""


class Killed(BaseException):
    """Raised in each thread of a process that was killed. What it does on its way out has no effect."""


class Stuck(Exception):
    """A thread is busy for ever."""


class Unforeseen(Exception):
    """Raised in a thread of the product's, which has no reason to foresee it. As in Python, it ends that thread alone."""


class Process:
    """A number of threads that die together."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.killed = False
        self.threads: list[Thread] = []
        self.held: list[Callable[[], None]] = []  # what the operating system takes back when the process has died


class Scheduler:
    """Runs simulated threads, and time: ``now`` is in seconds and never goes back."""

    def __init__(self, seed: str) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.current: Thread | None = None
        self.failure: BaseException | None = None
        self._ready: list[Thread] = []
        self._blocked: dict[Thread, None] = {}
        self._main = _locked()
        self._switches = 0
        self._halted = False
        self._killed = False  # somebody, whose threads may not have ended yet

    def begin(self, process: Process, name: str, target: Callable[[], object]) -> "Thread":
        """Begin a thread of a process."""
        thread = Thread(target=target, name=name)
        thread.process = process
        thread.begin(self)
        return thread

    def run(self) -> None:
        """Let threads run until each waits for something."""
        while (thread := self._next()) is not None:
            self._give(thread)
            self._main.acquire()
            self.current = None
        if self.failure is not None:
            raise self.failure

    def pass_to(self, until: float) -> None:
        """Let time pass, from one thing that falls due to the next. Raises `Stuck`."""
        rounds = 0
        while True:
            self.run()
            due = self.next_due()
            if due is None or due > until:
                if self.now >= until:
                    return
                due = until
            rounds = rounds + 1 if due <= self.now else 0
            if rounds > MOST_ROUNDS:
                raise Stuck("something is due again and again, and no time passes")
            self.now = max(self.now, due)
            self._wake_due()

    def next_due(self) -> float | None:
        """When the next thread is due that waits for a time; None where none does."""
        return min((thread.due for thread in self._blocked if thread.due is not None), default=None)

    def kill(self, process: Process) -> None:
        """Kill a process: none of its threads does anything more."""
        process.killed = self._killed = True
        for thread in process.threads:
            self.wake(thread)

    # By the thread that runs

    def block(self, due: float | None = None, look: float | None = None) -> bool:
        """Wait until woken, or until ``due``. False where that has come.

        By ``look`` it looks whether something has happened; no time passes for that alone.
        """
        thread = self.running()
        if thread.process.killed:
            raise Killed
        thread.due, thread.look, thread.woken = due, look, False
        if thread.name in LAZY and due is not None:
            thread.due, thread.look = None, due + LAZY[thread.name]
        self._blocked[thread] = None
        self._switch(thread)
        return thread.woken

    def sleep(self, seconds: float) -> None:
        """Let another thread run, and so much time pass."""
        if seconds > 0:
            self.block(self.now + seconds)
        else:
            self.pause()

    def pause(self, probability: float = 1.0) -> None:
        """Let another thread run, perhaps."""
        thread = self.current
        if thread is not None and not thread.process.killed and self._ready and self.random.random() < probability:
            self._ready.append(thread)
            self._switch(thread)

    def wake(self, thread: "Thread") -> None:
        """A thread need not wait any longer."""
        if thread in self._blocked:
            del self._blocked[thread]
            thread.woken = True
            self._ready.append(thread)

    def running(self) -> "Thread":
        """The thread that runs. Raises `RuntimeError` outside of all."""
        if self.current is None:
            raise RuntimeError("only a simulated thread may wait")
        return self.current

    @property
    def dying(self) -> bool:
        """Whether the thread that runs is one of a process that was killed."""
        return self.current is not None and self.current.process.killed

    def add(self, thread: "Thread") -> None:
        """A thread begins."""
        self._ready.append(thread)

    def ended(self) -> None:
        """The thread that runs is at its end: the next one goes on."""
        following = self._next()
        self.current = None
        if following is None:
            self._main.release()
        else:
            self._give(following)

    def _switch(self, thread: "Thread") -> None:
        self._switches += 1
        if self._switches == MOST_SWITCHES:
            self.failure = Stuck(f"{self.running().name} never comes to rest")
            self._halted = True
        following = self._next()
        if following is not thread:
            if following is None:
                self._main.release()
            else:
                self._give(following)
            thread.baton.acquire()
        self.current = thread
        if thread.process.killed:
            raise Killed

    def abandon(self, processes: list[Process]) -> None:
        """End all threads of these."""
        self._halted, self._switches = False, 0
        for process in processes:
            self.kill(process)
        self.failure = None
        self.run()

    def _give(self, thread: "Thread") -> None:
        self.current = thread
        thread.baton.release()

    def _next(self) -> "Thread | None":
        if not self._ready or self._halted:
            return None
        if self._killed:
            for index, thread in enumerate(self._ready):
                if thread.process.killed:
                    return self._ready.pop(index)
            self._killed = False
        return self._ready.pop(int(self.random.random() * len(self._ready)))

    def _wake_due(self) -> None:
        now = self.now
        for thread in list(self._blocked):
            if (thread.due is not None and thread.due <= now) or (thread.look is not None and thread.look <= now):
                del self._blocked[thread]
                self._ready.append(thread)


LAZY = {"house": 600.0}
"""Threads that look again and again whether there is something to do, and how many seconds later than they want to they do
here: time does not stop for them.
"""

_scheduler: Scheduler | None = None


def use(scheduler: Scheduler | None) -> None:
    """Have all that is made from now on belong to a scheduler."""
    global _scheduler
    _scheduler = scheduler


def scheduler() -> Scheduler:
    """The one that is used."""
    assert _scheduler is not None, "no simulation runs"
    return _scheduler


def _locked() -> Any:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock


class _Carrier:
    """A thread of the operating system that carries simulated ones, one after another."""

    free: ClassVar[list["_Carrier"]] = []

    def __init__(self) -> None:
        self._go = _locked()
        self._thread: Thread | None = None
        _thread.start_new_thread(self._run, ())

    def carry(self, thread: "Thread") -> None:
        self._thread = thread
        self._go.release()

    def _run(self) -> None:
        while True:
            self._go.acquire()
            thread = self._thread
            assert thread is not None
            thread.baton.acquire()
            owner = thread.run_once()
            self._thread = None
            _Carrier.free.append(self)
            owner.ended()


class Thread:
    """A simulated thread. It belongs to the process of the one that starts it."""

    def __init__(
        self,
        group: None = None,
        target: Callable[..., object] | None = None,
        name: str = "",
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
        *,
        daemon: bool | None = None,
    ) -> None:
        self.name = name
        self.ident: int | None = None
        self.process = NOBODY
        self.baton = _locked()
        self.due: float | None = None
        self.look: float | None = None
        self.woken = False
        self.is_products = False  # the product has begun it
        self.error: BaseException | None = None
        self._target = target
        self._args = args
        self._kwargs = kwargs or {}
        self._over = False
        self._joining: list[Thread] = []
        self._owner: Scheduler | None = None

    def start(self) -> None:
        owner = scheduler()
        if owner.dying:
            return
        self.process = owner.running().process
        self.is_products = True
        self.begin(owner)

    def begin(self, owner: Scheduler) -> None:
        """Start it, as a thread of the process that it was given."""
        self._owner = owner
        self.ident = id(self)
        self.process.threads.append(self)
        carrier = _Carrier.free.pop() if _Carrier.free else _Carrier()
        carrier.carry(self)
        owner.add(self)

    def run_once(self) -> Scheduler:
        """Do what it is for, on a thread of the operating system."""
        assert self._owner is not None
        try:
            if not self.process.killed and self._target is not None:
                self._target(*self._args, **self._kwargs)
        except (Killed, Unforeseen):
            pass
        except BaseException as error:
            self.error = error
            self._owner.failure = self._owner.failure or error
        self._over = True
        if self in self.process.threads:
            self.process.threads.remove(self)
        for waiting in self._joining:
            self._owner.wake(waiting)
        return self._owner

    def is_alive(self) -> bool:
        return self.ident is not None and not self._over

    def join(self, timeout: float | None = None) -> None:
        owner = scheduler()
        until = None if timeout is None else owner.now + timeout
        while self.is_alive() and not owner.dying and (until is None or owner.now < until):
            self._joining.append(owner.running())
            owner.block(until)


NOBODY = Process("nobody")


class Lock:
    """`threading.Lock`."""

    def __init__(self) -> None:
        self._holder: object = None
        self._count = 0
        self._waiting: list[Thread] = []

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        owner = scheduler()
        if owner.dying:
            return True
        until = None if timeout < 0 else owner.now + timeout
        while not self._free():
            if not blocking or (until is not None and owner.now >= until):
                return False
            self._waiting.append(owner.running())
            owner.block(until)
        self._holder = owner.current or owner
        self._count += 1
        return True

    def _free(self) -> bool:
        return self._count == 0

    def release(self) -> None:
        owner = scheduler()
        if owner.dying:
            return
        self._count -= 1
        self._hand_on(owner)
        if self._count == 0:
            owner.pause(SWITCHED)

    def locked(self) -> bool:
        return self._count > 0

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *exc: object) -> None:
        self.release()

    def let_go(self) -> int:
        """Release it however often it was acquired. Hands back what `take_again` needs."""
        count, self._count = self._count, 0
        self._hand_on(scheduler())
        return count

    def take_again(self, count: int) -> None:
        self.acquire()
        self._count = count

    def _hand_on(self, owner: Scheduler) -> None:
        if self._count == 0:
            self._holder = None
            waiting, self._waiting = self._waiting, []
            for thread in waiting:
                owner.wake(thread)


SWITCHED = 0.1
"""How likely another thread goes on where a lock is released."""


class RLock(Lock):
    """`threading.RLock`."""

    def _free(self) -> bool:
        owner = scheduler()
        return self._count == 0 or self._holder is (owner.current or owner)


class Condition:
    """`threading.Condition`."""

    def __init__(self, lock: Lock | None = None) -> None:
        self._lock = lock or RLock()
        self._waiting: list[Thread] = []
        self.acquire, self.release = self._lock.acquire, self._lock.release

    def __enter__(self) -> bool:
        return self._lock.acquire()

    def __exit__(self, *exc: object) -> None:
        self._lock.release()

    def wait(self, timeout: float | None = None) -> bool:
        return self.wait_until(None if timeout is None else scheduler().now + timeout)

    def wait_until(self, due: float | None = None, look: float | None = None) -> bool:
        """Wait as `Scheduler.block` does."""
        owner = scheduler()
        if owner.dying:
            raise Killed
        thread = owner.running()
        self._waiting.append(thread)
        count = self._lock.let_go()
        woken = owner.block(due, look)
        if thread in self._waiting:
            self._waiting.remove(thread)
        self._lock.take_again(count)
        return woken

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        until = None if timeout is None else scheduler().now + timeout
        while not (result := predicate()):
            if until is not None and scheduler().now >= until:
                break
            self.wait_until(until)
        return result

    def notify(self, n: int = 1) -> None:
        owner = scheduler()
        if owner.dying:
            return
        for thread in self._waiting[:n]:
            owner.wake(thread)
        del self._waiting[:n]

    def notify_all(self) -> None:
        self.notify(len(self._waiting))


class Event:
    """`threading.Event`."""

    def __init__(self) -> None:
        self._set = False
        self._waiting: list[Thread] = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        owner = scheduler()
        if owner.dying:
            return
        self._set = True
        waiting, self._waiting = self._waiting, []
        for thread in waiting:
            owner.wake(thread)

    def clear(self) -> None:
        self._set = False

    def wait(self, timeout: float | None = None) -> bool:
        owner = scheduler()
        until = None if timeout is None else owner.now + timeout
        while not self._set and (until is None or owner.now < until):
            if owner.dying:
                raise Killed
            self._waiting.append(owner.running())
            owner.block(until)
        return self._set


class Future:
    """`concurrent.futures.Future`, as far as it is used."""

    def __init__(self) -> None:
        self._done = Event()
        self._result: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], object]] = []

    @classmethod
    def __class_getitem__(cls, item: object) -> type["Future"]:
        return cls

    def set_result(self, result: Any) -> None:
        self._result = result
        self._end()

    def set_exception(self, error: BaseException) -> None:
        self._error = error
        self._end()

    def _end(self) -> None:
        self._done.set()
        for call in self._callbacks:
            call(self)

    def exception(self) -> BaseException | None:
        return self._error

    def add_done_callback(self, call: Callable[["Future"], object]) -> None:
        self._callbacks.append(call)
        if self._done.is_set():
            call(self)

    def result(self, timeout: float | None = None) -> Any:
        if not self._done.wait(timeout):
            raise TimeoutError
        if self._error is not None:
            raise self._error
        return self._result


def current_thread() -> Thread | None:
    """`threading.current_thread`."""
    return scheduler().current


THREADING = SimpleNamespace(
    Thread=Thread,
    Lock=Lock,
    RLock=RLock,
    Condition=Condition,
    Event=Event,
    current_thread=current_thread,
    get_ident=lambda: id(scheduler().current),
)
"""What stands in for the module `threading`."""
