"""Regular expressions that are bounded in size and in time."""

import math
import re
import threading
from time import monotonic
from typing import Any

from bot.core.errors import BotError

MAX_PATTERN = 500  # characters
MAX_REPEATS = 100_000  # a pattern's counts multiplied: what it may cost to compile
PATTERN_SECONDS = 0.05
"""How long all patterns of one turn may take together. After that none matches: another contact's message waits meanwhile."""
_LEAST_SECONDS = 0.001  # are left after a pattern that was not stopped
_COUNT = re.compile(r"([0-9]{1,9})\}")


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
    """The time that patterns have. Those that a thread matches inside a ``with`` block of it share it."""

    def __init__(self) -> None:
        self.left = PATTERN_SECONDS
        self.is_up = False  # a pattern was stopped, and no other is tried any more

    def __enter__(self) -> "PatternTime":
        self._outer, _turn.time = _turn.time, self
        return self

    def __exit__(self, *raised: object) -> None:
        _turn.time = self._outer


class _Turn(threading.local):
    time: PatternTime | None = None


_turn = _Turn()


def matches(pattern: Any, text: str) -> bool:
    """Whether a pattern matches a text in full, within the time that is left."""
    return named_parts(pattern, text) is not None


def named_parts(pattern: Any, text: str) -> dict[str, str] | None:
    """The texts of the pattern's named groups; None if the pattern does not match the whole text within the time that is left."""
    time = _turn.time or PatternTime()
    if time.is_up:
        return None
    started = monotonic()
    try:
        found = pattern.fullmatch(text, timeout=time.left)
    except TimeoutError:
        time.is_up = True
        return None
    time.left = max(time.left - (monotonic() - started), _LEAST_SECONDS)
    return None if found is None else {name: part for name, part in found.groupdict().items() if part is not None}
