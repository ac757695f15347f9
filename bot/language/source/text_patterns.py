"""Regular expressions that are bounded in size and in time."""

import math
from contextvars import ContextVar
from typing import Any

from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern

MAX_PATTERN = 500  # characters
MAX_REPEATS = 100_000  # a pattern's counts multiplied: what it may cost to compile
QUICK_SECONDS = 0.005  # a pattern that takes longer for a text is slow for it
SLOW_SECONDS = 0.05
"""How long one slow pattern may take in a turn. After that none matches, because other contacts wait meanwhile."""
_COUNT = lazy_pattern(r"([0-9]{1,9})\}")


class BadPattern(BotError):
    """A text is no regular expression that can be used; ``fix`` is what to do."""

    def __init__(self, reason: str, fix: str) -> None:
        super().__init__(reason)
        self.fix = fix


def compiled(written: str) -> Any:
    """A regular expression that is ready to be used. Raises `BadPattern`."""
    import regex  # 20 ms, which bots without patterns need not spend

    if len(written) > MAX_PATTERN:
        raise BadPattern(f"it has {len(written)} characters, {MAX_PATTERN} are allowed", "shorten it")
    if math.prod(int(count) or 1 for count in _COUNT.findall(written)) > MAX_REPEATS:
        raise BadPattern("it repeats too much", "use smaller counts in { }")
    try:
        return regex.compile(written)
    except regex.error as error:
        raise BadPattern(error.msg, "write a regular expression, in single quotes") from None
    except (RecursionError, OverflowError):
        raise BadPattern("it is too deep", "use fewer brackets inside each other") from None


class PatternTime:
    """The time that the patterns of a turn may take: a moment each, and more for one of them.

    Patterns in its ``with`` block share it.
    """

    is_used = False  # one of them has taken more
    is_up = False  # one of them was stopped: no other is tried any more

    def __enter__(self) -> "PatternTime":
        self._outer = _of_turn.set(self)
        return self

    def __exit__(self, *raised: object) -> None:
        _of_turn.reset(self._outer)


_of_turn: ContextVar[PatternTime | None] = ContextVar("_of_turn", default=None)


def matches(pattern: Any, text: str) -> bool:
    """True if a pattern matches a text in full, in the time that it has."""
    return named_parts(pattern, text) is not None


def named_parts(pattern: Any, text: str) -> dict[str, str] | None:
    """The texts of the pattern's named groups; None if the pattern does not match the whole text in its time."""
    time = _of_turn.get() or PatternTime()
    if time.is_up:
        return None
    found = _found(pattern, text, QUICK_SECONDS)
    if found is _STOPPED and not time.is_used:
        time.is_used, found = True, _found(pattern, text, SLOW_SECONDS)
    if found is _STOPPED:
        time.is_up, found = True, None
    return None if found is None else {name: part for name, part in found.groupdict().items() if part is not None}


_STOPPED = object()


def _found(pattern: Any, text: str, seconds: float) -> Any:
    try:
        return pattern.fullmatch(text, timeout=seconds)
    except TimeoutError:
        return _STOPPED


def takes_too_long(pattern: Any, text: str) -> bool:
    """True if a pattern would be stopped."""
    with PatternTime() as time:
        matches(pattern, text)
    return time.is_up
