"""What flow files say of how a text is matched: `match`, and patterns that are bounded in size and in time."""

import math
from typing import Any

import regex

from bot.lang.fields import Fields
from bot.lang.keys import ANY_TEXT, Schemas, choice, takes
from bot.lang.words import CLOSE, WAYS, WHOLE

MAX_PATTERN = 500  # characters
MAX_REPEATS = 100_000  # a pattern's counts multiplied: what it may cost to compile
PATTERN_SECONDS = 0.05  # a pattern that takes longer on one text does not match it
_COUNT = regex.compile(r"([0-9]{1,9})\}")
_WAYS = "whole, anywhere in a longer text, or close to it in spelling too"
MATCH_KEYS: Schemas = {"match": takes(choice(*WAYS), f"How words are matched: {_WAYS}; whole where nothing is said.")}
PATTERN_KEYS: Schemas = {"pattern": takes(ANY_TEXT, "A regular expression that the text matches in full.")}


def read_match(fields: Fields) -> str:
    """Read `match`: one of `bot.lang.words.WAYS`."""
    how = fields.choice("match", WAYS, WHOLE) or WHOLE
    if how == CLOSE:
        import rapidfuzz.fuzz  # noqa: F401 - its 20 ms are spent here, by bots that need it, and by no turn
    return how


def read_pattern(fields: Fields) -> Any:
    """Read `pattern`, a regular expression; None where there is none that can be used."""
    written = fields.string("pattern")
    if written is None:
        return None
    try:
        if len(written) > MAX_PATTERN:
            raise regex.error(f"it has {len(written)} characters, {MAX_PATTERN} are allowed")
        if math.prod(int(count) or 1 for count in _COUNT.findall(written)) > MAX_REPEATS:
            raise regex.error("it repeats too much")
        return regex.compile(written)
    except (regex.error, RecursionError, OverflowError) as error:
        what = f"{fields.what}: this pattern cannot be read: {getattr(error, 'msg', 'it is too deep')}"
        fields.problems.add("E305", fields.mark_of("pattern"), what, "write a regular expression, in single quotes")
        return None


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
