"""Answers in words that leave their value open: almost 3, 3 or 4. The contact is asked which is meant."""

from collections.abc import Iterator
from itertools import pairwise

from bot.language.answers.segments import TokenizedText, in_each_language
from bot.language.answers.words import Kind


def values_left_open(text: str, language: str | None) -> list[list[str]]:
    """The texts of the values that a text leaves open, in each way in which it may be read; none if it does not.

    Words may be of both values or of one: ``5 or 6 pm  -> [["5 pm", "6 pm"], ["5", "6 pm"]]``.
    """
    return in_each_language(text, language, lambda text: list(_ways(text)) or None) or []


def _ways(text: TokenizedText) -> Iterator[list[str]]:
    words: list[str | None] = []  # None for an "or"
    index, is_open = 0, False
    while index < text.length:
        end, kind = _doubt_at(text, index)
        is_open = is_open or kind is not None
        if kind is None:
            words.append(text.tokens.gap(index) + text.tokens.tokens[index])
        elif kind is Kind.OR:
            words.append(None)
        index = end
    joints = [at for at, word in enumerate(words) if word is None]
    if len(joints) == 1 and 0 < (at := joints[0]) < len(words) - 1:
        yield [_joined([*words[:at], *words[at + 2 :]]), _joined([*words[: at - 1], *words[at + 1 :]])]
    if is_open:
        ends = [-1, *joints, len(words)]
        yield [_joined(words[start + 1 : end]) for start, end in pairwise(ends)]


def _joined(words: list[str | None]) -> str:
    return "".join(word for word in words if word is not None).strip(" ,")


def _doubt_at(text: TokenizedText, start: int) -> tuple[int, Kind | None]:
    """The end of the words that leave a value open, and their kind; None for another word."""
    longest = max((end for end, _, _ in text.marks[start]), default=start + 1)
    found = (kind for end, kind, _ in text.marks[start] if end == longest and kind in (Kind.ROUGHLY, Kind.OR))
    kind = next(found, None)
    return (start + 1 if kind is None else longest), kind
