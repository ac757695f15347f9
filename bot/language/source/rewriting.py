"""Replacing one text of a YAML file: in its own style where that can hold the new text, and with every other byte kept.

The new content is read back before it is returned, so no file is made in which anything else differs.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import yaml

from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import Mark, Problems
from bot.language.source.writing import block_style, inline, quoted
from bot.language.source.yaml_tree import List, Map, Node, Scalar, indent_of, parsed, plain, read

_HALF = lazy_pattern("[\ud800-\udfff]")
_HALF_SAID = "the text has half a character in it: delete it and write it again"
_BOM = "\ufeff"
_BLOCK_HEAD = lazy_pattern(r"([|>])([-+1-9]*)([^\r\n]*)(\r?\n|\Z)")
_BEFORE_KEY = lazy_pattern(r" *(?:- +)*")

Leaf = tuple[Mark | None, str, str]
"""A text of a file or a bracket around some: its place, its type and its content."""


class Unwritable(BotError):
    """A text that cannot be put there; the sentence says why, and what to do."""


def with_text(content: bytes, mark: Mark, text: str) -> bytes:
    """The content of a file in which the text (or key) that begins at a mark is another one. Raises `Unwritable`."""
    written, before = _readable(mark.path, content)
    places = [number for number, (place, *_) in enumerate(before) if place == mark]
    found = _Written.at(written, mark) if places else None
    if found is None:
        raise Unwritable(f"{mark}: no text begins there any more: open the form again")
    wanted = [leaf[1:] for leaf in before]
    if wanted[places[0]] == (str.__name__, text):
        return content
    if _HALF.search(text):
        raise Unwritable(_HALF_SAID)
    wanted[places[0]] = (str.__name__, text)
    why = ""
    for spelling in found.spellings(text):
        tried = f"{written[: found.start]}{spelling}{written[found.end :]}"
        problems = Problems()
        if [leaf[1:] for leaf in _leaves(mark.path, tried, problems)] == wanted and not problems:
            bom = _BOM if content.startswith(_BOM.encode()) else ""
            return f"{bom}{tried}".encode()
        why = next((f": {each.what}" for each in problems.sorted()), "")
    raise Unwritable(f"{mark}: this text cannot stand there{why}")


def with_more(content: bytes, node: Node, value: Any) -> bytes:
    """The content of a file with more keys, more items, or a value where it was empty. Raises `Unwritable`."""
    written, _ = _readable(node.mark.path, content)
    tries = (f"{written[:start]}{more}{written[start:]}" for start, more in _additions(written, node, value))

    def with_value(found: Any) -> Any:
        return value if isinstance(node, Scalar) else found + value if isinstance(node, List) else found | value

    return _first_that_says(tries, content, node, with_value)


def without_item(content: bytes, node: List, mark: Mark) -> bytes:
    """The content of a file in which a list has not the text that begins at a mark. Raises `Unwritable`."""
    written, _ = _readable(mark.path, content)
    number = next(at for at, item in enumerate(node.items) if item.mark == mark)

    def without(found: Any) -> Any:
        return [*found[:number], *found[number + 1 :]]

    return _first_that_says(_without(written, node, number), content, node, without)


def _without(text: str, node: List, number: int) -> Iterator[str]:
    """The ways to leave out an item: its line, or what is between it and the item before or behind it."""
    places = [_Written.at(text, item.mark) for item in node.items[max(number - 1, 0) : number + 2]]
    around = [place for place in places if place is not None]
    if len(around) < len(places):
        return
    here = around[min(number, 1)]
    line = text.rfind("\n", 0, here.start) + 1
    if text[line : here.start].strip() == "-":
        after = text.find("\n", here.end) + 1
        yield text[:line] + (text[after:] if after else "")
    if number:
        yield text[: around[0].end] + text[here.end :]
    else:
        yield text[: here.start] + text[around[-1].start if len(around) > 1 else here.end :]


def _first_that_says(tries: Iterable[str], content: bytes, node: Node, change: Callable[[Any], Any]) -> bytes:
    """The first text that says the same as a file, with a change of one node. Raises `Unwritable`."""
    path = node.mark.path
    wanted = [_changed(each, node, change) for each in read(path, content, Problems())]
    for tried in tries:
        problems = Problems()
        if [plain(each) for each in read(path, tried, problems)] == wanted and not problems:
            bom = _BOM if content.startswith(_BOM.encode()) else ""
            return f"{bom}{tried}".encode()
    raise Unwritable(f"{node.mark}: this cannot be changed by itself: edit the file")


def _changed(node: Node, target: Node, change: Callable[[Any], Any]) -> Any:
    """The content of a node, with a change at one place in it."""
    if node.mark == target.mark and type(node) is type(target):
        return change(plain(node))
    match node:
        case Map(entries=entries):
            return {key.text: _changed(item, target, change) for key, item in entries}
        case List(items=items):
            return [_changed(item, target, change) for item in items]
    return plain(node)


def _additions(text: str, node: Node, value: Any) -> Iterator[tuple[int, str]]:
    """The ways to add to a node: where, and what to insert."""
    if isinstance(node, Scalar):
        found = _Written.at(text, node.mark)
        if found is not None and found.start == found.end:
            yield found.start, f" {inline(value)}" if text[found.start - 1 : found.start] != " " else inline(value)
        return
    collection = _collection_at(text, node.mark, of_map=isinstance(node, Map))
    if collection is None:
        return
    column, end, is_flow, is_empty = collection
    entries = [f"{inline(str(key))}: {inline(item)}" for key, item in value.items()] if isinstance(node, Map) else []
    items = entries or list(map(inline, value))
    if is_flow:
        yield end, f"{'' if is_empty else ', '}{', '.join(items)}"
        return
    lines = [line for key, item in value.items() for line in block_style(str(key), item)] if entries else []
    line_end = "\r\n" if "\r\n" in text else "\n"
    fresh = [f"{' ' * column}{line}" for line in lines or [f"- {item}" for item in items]]
    at = text.find("\n", len(text[:end].rstrip()))
    if at < 0:
        yield len(text), "".join(f"{line_end}{line}" for line in fresh)
    else:
        yield at + 1, "".join(f"{line}{line_end}" for line in fresh)


def _collection_at(text: str, mark: Mark, *, of_map: bool) -> tuple[int, int, bool, bool] | None:
    """The map or list at a mark: its column, the end of its last entry, if it is in brackets, and if it is empty."""
    kind = yaml.MappingStartEvent if of_map else yaml.SequenceStartEvent
    begun: Any = None
    depth = end = 0
    for event in parsed(text):
        begin, ended = event.start_mark, event.end_mark
        if begun is None:
            if isinstance(event, kind) and (begin.line + 1, begin.column + 1) == (mark.line, mark.column):
                begun, end = event, ended.index
        elif isinstance(event, yaml.CollectionEndEvent) and not depth:
            return mark.column - 1, end, bool(begun.flow_style), end == begun.end_mark.index
        else:
            closes = isinstance(event, yaml.CollectionEndEvent)
            depth += isinstance(event, yaml.CollectionStartEvent) - closes
            end = end if closes and begin.index == ended.index else max(end, ended.index)
    return None


def block_at(lines: list[str], line: int) -> tuple[int, int]:
    """The first line (from 0) and the end of the block at a ``line`` (from 1): all that is indented further."""
    first = min(line, len(lines)) - 1
    end = first + 1
    while end < len(lines) and (not lines[end].strip() or indent_of(lines[end]) > indent_of(lines[first])):
        end += 1
    while end > first + 1 and not lines[end - 1].strip():
        end -= 1
    return first, end


def block_of(text: str, line: int) -> str:
    """The block of a text that begins in a line, without its indentation."""
    lines = text.split("\n")
    first, end = block_at(lines, line)
    return "\n".join(each[indent_of(lines[first]) :].removesuffix("\r") for each in lines[first:end])


def with_block(content: bytes, mark: Mark, block: str) -> bytes:
    """A file's content with other lines in place of the block at a mark, indented as it is. Raises `Unwritable`."""
    if _HALF.search(block):
        raise Unwritable(_HALF_SAID)
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    first, end = block_at(lines, mark.line)
    margin, line_end = " " * indent_of(lines[first]), "\r" if lines[first].endswith("\r") else ""
    fresh = [f"{margin}{line}{line_end}" if line else line_end for line in block.rstrip().replace("\r", "").split("\n")]
    return "\n".join([*lines[:first], *fresh, *lines[end:]]).encode("utf-8", "surrogateescape")


def _readable(path: str, content: bytes) -> tuple[str, list[Leaf]]:
    """A file's text without its byte order mark, and its leaves. Raises `Unwritable` where it has problems."""
    problems = Problems()
    leaves = list(_leaves(path, content, problems))
    if problems:
        raise Unwritable(f"the file has a problem, correct it first: {problems.sorted()[0]}")
    return content.decode("utf-8").removeprefix(_BOM), leaves


def _leaves(path: str, content: str | bytes, problems: Problems) -> Iterator[Leaf]:
    """All that a file says, in its order."""
    for node in read(path, content, problems):
        yield from _leaves_of(node)
        yield None, "---", ""


def _leaves_of(node: Node) -> Iterator[Leaf]:
    match node:
        case Scalar(mark=mark, value=value, text=text):
            yield mark, type(value).__name__, text
        case List(items=items):
            yield None, "[", str(len(items))
            for item in items:
                yield from _leaves_of(item)
        case Map(entries=entries):
            yield None, "{", str(len(entries))
            for key, item in entries:
                yield key.mark, str.__name__, key.text
                yield from _leaves_of(item)


@immutable
class _Written:
    """A text as it is written: from ``start`` to ``end`` of the file's ``text``, in a ``style`` of YAML.

    ``indent`` is that of a block's lines there.
    """

    text: str
    start: int
    end: int
    style: str
    indent: int

    @classmethod
    def at(cls, text: str, mark: Mark) -> "_Written | None":
        """The text that begins at a mark; None if no text does."""
        for event in parsed(text):
            begin: Any = event.start_mark
            if isinstance(event, yaml.ScalarEvent) and (begin.line + 1, begin.column + 1) == (mark.line, mark.column):
                end_mark: Any = event.end_mark
                start, end = begin.index, end_mark.index
                before = _BEFORE_KEY.match(text, start - begin.column)
                margin = 0 if before is None else min(before.end() - before.start(), begin.column)
                indent = margin if margin == begin.column else margin + 2
                return cls(text, start, end, event.style or "", indent)
        return None

    def spellings(self, text: str) -> Iterator[str]:
        """The ways to write another text there, the best one first; some may mean something else."""
        space = " " if self.start == self.end and self.text[self.start - 1 : self.start].strip() else ""
        tail = ""
        if self.style in ("|", ">"):
            yield from self._blocks(text)
            written = self.text[self.start : self.end]
            tail = written[len(written.rstrip()) :]
        elif "\n" in text:
            lines = self._indented(text.rstrip("\n").split("\n"), self.indent)
            yield f"{space}{_head('|', text)}{self._line_end}{lines}"
        if self.style == "'":
            yield f"'{text.replace(chr(39), chr(39) * 2)}'"
        elif not self.style:
            yield f"{space}{text}"
        yield f"{space}{quoted(text)}{tail}"

    def _blocks(self, text: str) -> Iterator[str]:
        """The ways to write another text in a block: with its first line as it is, or as the text needs it."""
        written = self.text[self.start : self.end]
        head = _BLOCK_HEAD.match(written)
        assert head is not None
        lines = written[head.end() :].split("\n")
        full = [number for number, line in enumerate(lines) if line.strip()]
        behind = lines[full[-1] + 1 :] if full else lines[-1:]
        tail = "\n".join(["", *behind]) if behind else ""  # empty lines, which belong to the file's layout
        ends = f"\r{tail}" if full and lines[full[-1]].endswith("\r") else tail
        indent = indent_of(lines[full[0]]) if full else self.indent
        width = max((len(lines[number].rstrip()) - indent for number in full), default=80)
        marks = "".join(mark for mark in head[2] if mark in "123456789")
        for style in dict.fromkeys((head[1], "|")):
            for folded in _folded(text, width) if style == ">" else [text.rstrip("\n").split("\n")]:
                body = self._indented(folded, indent)
                for first in dict.fromkeys((f"{style}{head[2]}", _head(style, text, marks), _head(style, text, "2"))):
                    yield f"{first}{head[3]}{self._line_end}{body}{ends}"
                more = self._line_end * (len(text) - len(text.rstrip("\n")))
                yield f"{_head(style, text, marks)}{head[3]}{self._line_end}{body}{more}"

    def _indented(self, lines: list[str], indent: int) -> str:
        return self._line_end.join(f"{' ' * indent}{line}" if line else "" for line in lines)

    @property
    def _line_end(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"


def _head(style: str, text: str, indent: str = "") -> str:
    """The first line of a block that holds a text."""
    ends = len(text) - len(text.rstrip("\n"))
    return f"{style}{indent}{'-' if not ends else '' if ends == 1 else '+'}"


def _folded(text: str, width: int) -> Iterator[list[str]]:
    """The lines of a folded block that holds a text: wrapped as the one from before, or not wrapped."""
    paragraphs = re.split(r"(\n+)", text.rstrip("\n"))
    for wraps in (True, False):
        lines: list[str] = []
        for number, paragraph in enumerate(paragraphs):
            if number % 2:
                lines += [""] * len(paragraph)
            else:
                lines += (_wrap(paragraph, max(width, 20)) if wraps else None) or [paragraph]
        yield lines


def _wrap(paragraph: str, width: int) -> list[str]:
    return textwrap.wrap(paragraph, width, break_long_words=False, break_on_hyphens=False, expand_tabs=False)
