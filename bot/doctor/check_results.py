"""What a check has found; and how all checks are made at once, within one deadline."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Literal


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How one thing is: ``what`` in words, and what to do where it is not ``ok``."""

    about: str
    state: Literal["ok", "warn", "fail"]
    what: str
    advice: str = ""


def ok(about: str, what: str) -> CheckResult:
    """It is as it should be."""
    return CheckResult(about, "ok", what)


def warn(about: str, what: str, advice: str) -> CheckResult:
    """It may be meant so, or will be trouble later."""
    return CheckResult(about, "warn", what, advice)


def fail(about: str, what: str, advice: str = "") -> CheckResult:
    """The bot cannot work like this."""
    return CheckResult(about, "fail", what, advice)


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. ``late`` is what is found where that has not ended in time."""

    look: Callable[[], Iterable[CheckResult]]
    late: CheckResult


def together(checks: Sequence[Check], seconds: float) -> Iterator[CheckResult]:
    """Look at everything at once, and give what is found in the order of the checks.

    What has not ended after ``seconds`` is reported as such, and goes on alone, on a thread that keeps no process alive.
    Raises what a check raises.
    """
    deadline = monotonic() + seconds
    begun = [(check, _begun(check)) for check in checks]
    for check, found in begun:
        try:
            while (one := found.get(timeout=max(0.0, deadline - monotonic()))) is not None:
                if isinstance(one, Exception):
                    raise one
                yield one
        except Empty:
            yield check.late


def _begun(check: Check) -> "SimpleQueue[CheckResult | Exception | None]":
    """What a check finds, and None at its end."""
    found: SimpleQueue[CheckResult | Exception | None] = SimpleQueue()

    def look() -> None:
        try:
            for one in check.look():
                found.put(one)
            found.put(None)
        except Exception as error:
            found.put(error)

    threading.Thread(target=look, name="check", daemon=True).start()
    return found
