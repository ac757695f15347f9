"""Texts that are made from patterns: a text that fits, and a text on which matching is slow."""

import re
from collections.abc import Iterator
from re import _constants as codes  # type: ignore[attr-defined]  # the only reader of patterns that there is
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from bot.language.source.text_patterns import compiled, takes_too_long

_REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)
_CATEGORIES = {codes.CATEGORY_DIGIT: "7", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}


def text_matching(pattern: str) -> Iterator[str]:
    """A short text that a pattern matches in full, if one is found."""
    try:
        text = _text(parser.parse(pattern))
    except _UNREADABLE:
        return
    if re.fullmatch(pattern, text) is not None:
        yield text


def slow_text(pattern: str, most: int) -> str | None:
    """A text of ``most`` characters at most that keeps a pattern busy for too long; None if none is found.

    If a repetition contains another one, a text can be divided in more ways than can be tried:
    ``([a-z]+\\.?)+[0-9]`` reads ``aaaa`` as one part, as ``a`` and ``aaa``, and so on. This function makes such texts,
    and tries them.
    """
    try:
        repeated = dict.fromkeys(_repeated(parser.parse(pattern), ""))
    except _UNREADABLE:
        return None
    ready = compiled(pattern)
    made = (
        before + part * ((most - len(before) - len(end)) // len(part)) + end
        for before, part in repeated
        for end in _UNFIT_ENDS
    )
    return next((text for text in made if takes_too_long(ready, text)), None)


_UNREADABLE = (re.error, RecursionError, OverflowError, KeyError, IndexError)
_UNFIT_ENDS = ("\n", "!", "a", "7")  # one of them hardly fits where a repetition ends


def _repeated(items: Any, before: str, *, repeats: bool = False) -> Iterator[tuple[str, str]]:
    """The texts of parts that repeat within what ``repeats``, or are choices there, each with a text before it."""
    for code, value in items:
        if code is codes.SUBPATTERN:
            yield from _repeated(value[3], before, repeats=repeats)
        elif code is codes.BRANCH:
            for branch in value[1]:
                yield from _repeated(branch, before, repeats=repeats)
                if repeats and (text := _text(branch)):
                    yield before, text
        elif code in _REPEATS and value[1] > 1:
            yield from _repeated(value[2], before, repeats=True)
            if repeats and (text := _text(value[2])):
                yield before, text
        before += _of(code, value)


def _text(items: Any) -> str:
    return "".join(_of(code, value) for code, value in items)


def _of(code: Any, value: Any) -> str:
    """The text for one part of a pattern. Raises `KeyError` for an unknown part."""
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
    if code in _REPEATS:
        least, most, items = value
        return _text(items) * int(max(least, min(1, most)))
    if code in (codes.AT, codes.ASSERT, codes.ASSERT_NOT):
        return ""
    raise KeyError(code)


def _one_of(items: Any) -> str:
    """A character of a character class."""
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
