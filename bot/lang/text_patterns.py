"""Regular expressions that are bounded in size and in time."""

import math
import re
from typing import Any

from bot.core.errors import BotError

MAX_PATTERN = 500  # characters
MAX_REPEATS = 100_000  # a pattern's counts multiplied: what it may cost to compile
PATTERN_SECONDS = 0.05  # a pattern that takes longer on one text does not match it
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


def matches(pattern: Any, text: str) -> bool:
    """Whether a pattern matches a text in full; one that takes too long does not."""
    return named_parts(pattern, text) is not None


def named_parts(pattern: Any, text: str) -> dict[str, str] | None:
    """What a text that a pattern matches in full has in the pattern's named groups; None where it does not match."""
    try:
        found = pattern.fullmatch(text, timeout=PATTERN_SECONDS)
    except TimeoutError:
        return None
    return None if found is None else {name: part for name, part in found.groupdict().items() if part is not None}
