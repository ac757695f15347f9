"""The comments of a YAML file. The parser drops them; what of a line is none of its texts and has a ``#`` is one."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from bot.lang.nodes import Mark
from bot.lang.source import parsed


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment: its place, its text from the ``#`` on, and whether nothing else stands in its line."""

    mark: Mark
    text: str
    alone: bool


def comments(path: str, text: str) -> Iterator[Comment]:
    """The comments of a file that can be read without problems, in their order."""
    texts = _Texts(text)
    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        column = next((at for at, character in enumerate(line) if character == "#" and start + at not in texts), None)
        if column is not None:
            yield Comment(Mark(path, number, column + 1), line[column:].rstrip(), not line[:column].strip())
        start += len(line)


class _Texts:
    """Where in a file its keys and values stand."""

    def __init__(self, text: str) -> None:
        spans = [_span(event, text) for event in parsed(text) if isinstance(event, yaml.ScalarEvent)]
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def __contains__(self, index: int) -> bool:
        before = bisect_right(self._starts, index) - 1
        return before >= 0 and index < self._ends[before]


def _span(event: Any, text: str) -> tuple[int, int]:
    """From where to where a text stands. A block begins behind its first line, where a comment may stand."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        end_of_line = text.find("\n", start)
        start = end if end_of_line < 0 else end_of_line
    return start, end
