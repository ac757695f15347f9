"""A text that a regular expression matches, so that somebody can be made to write it."""

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # the only reader of patterns that there is
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_CATEGORIES = {codes.CATEGORY_DIGIT: "7", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}


def text_like(pattern: str) -> Iterator[str]:
    """A short text that a pattern matches in full, where one is found."""
    try:
        text = _text(parser.parse(pattern))
    except (re.error, RecursionError, KeyError, IndexError):
        return
    if re.fullmatch(pattern, text) is not None:
        yield text


def _text(items: Any) -> str:
    return "".join(_of(code, value) for code, value in items)


def _of(code: Any, value: Any) -> str:
    """The text of one part of a pattern. Raises `KeyError` for one that is not known here."""
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.NOT_LITERAL:
        return "a" if value != ord("a") else "b"
    if code is codes.ANY:
        return "a"
    if code is codes.IN:
        return _one_of(value)
    if code is codes.SUBPATTERN:
        return _text(value[3])
    if code is codes.BRANCH:
        return _text(value[1][0])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        least, most, items = value
        return _text(items) * int(max(least, min(1, most)))
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return ""
    raise KeyError(code)


def _one_of(items: Any) -> str:
    """A character of a class."""
    if items[0][0] is codes.NEGATE:
        return next((sign for sign in "a1 _-" if not any(_holds(item, sign) for item in items[1:])), "")
    code, value = items[0]
    if code is codes.RANGE:
        return chr(value[0])
    return _CATEGORIES[value] if code is codes.CATEGORY else chr(value)


def _holds(item: Any, sign: str) -> bool:
    code, value = item
    if code is codes.RANGE:
        return bool(value[0] <= ord(sign) <= value[1])
    return _CATEGORIES.get(value) == sign if code is codes.CATEGORY else bool(value == ord(sign))
