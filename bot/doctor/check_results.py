"""The result of a check; and how all checks run at once, within one deadline."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Literal

from bot.core.immutable import immutable


@immutable
class CheckResult:
    """The result for one thing: ``what`` in words, and what to do if it is not ``ok``."""

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


@immutable
class Check:
    """One check. ``late`` is the result if the check does not end in time."""

    look: Callable[[], Iterable[CheckResult]]
    late: CheckResult


def together(checks: Sequence[Check], seconds: float) -> Iterator[CheckResult]:
    """Run all checks at once, and return their results in order.

    A check that has not ended after ``seconds`` is reported as such. It continues alone, on a thread that does not
    keep the process alive. Raises the errors of checks.
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
    """The results of a check, and None at its end."""
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
