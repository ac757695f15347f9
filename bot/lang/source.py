"""Reads YAML into a tree of nodes, each with its place: 1.2 core values, no aliases, no tags, no duplicate keys, bounded.

The tree is built from the parser's events, so nothing recurses over what somebody else wrote. Two departures from
the core schema: ``.inf``, ``.nan`` and numbers beyond 40 characters are text, because no conversation can hold them.
"""

import hashlib
import math
import re
from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import field
from typing import Any

import yaml

from bot.core.immutable import immutable, mutable
from bot.lang.problems import Mark, Problems
from bot.lang.yaml_errors import QUOTE, explained


@immutable
class Scalar:
    """One value. ``text`` is what stands in the file without its quotes, ``value`` what YAML 1.2 makes of it.

    A title that stands in for another language's has that as its ``origin``. ``also`` are the titles and words of
    the other languages, which mean the same.
    """

    mark: Mark
    value: bool | int | float | str | None
    text: str
    quoted: bool = False
    literal: bool = False  # a `|` block: its text begins in the line after the mark
    origin: str | None = None
    also: tuple[str, ...] = ()

    @property
    def altered(self) -> bool:
        """Whether YAML reads a number that is written otherwise: of ``01234``, ``1.10``, ``0x1F`` not all is left."""
        number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        return number and str(self.value) != self.text


@immutable
class List:
    """A sequence."""

    mark: Mark
    items: tuple["Node", ...]


@immutable
class Map:
    """A mapping in its written order. Keys are scalars."""

    mark: Mark
    entries: tuple[tuple[Scalar, "Node"], ...]

    def get(self, key: str) -> "Node | None":
        """The value under a key, or None."""
        return next((node for name, node in self.entries if name.text == key), None)

    def key_mark(self, key: str) -> Mark:
        """Where a key stands; the map's own mark where it does not."""
        return next((name.mark for name, _ in self.entries if name.text == key), self.mark)


Node = Scalar | List | Map


def one_or_more(node: Node | None) -> tuple[Node, ...]:
    """The items of a list, or the node itself if it is no list; nothing if there is no node."""
    return () if node is None else node.items if isinstance(node, List) else (node,)


def plain(node: Node) -> Any:
    """The content of a node as plain values."""
    match node:
        case Scalar(value=value):
            return value
        case List(items=items):
            return [plain(item) for item in items]
        case Map(entries=entries):
            return {key.text: plain(item) for key, item in entries}


def fingerprint(node: Node, without: Collection[str] = ()) -> str:
    """A short hash of what a node says, wherever and however it is written; ``without`` are keys of a map to leave out."""
    if isinstance(node, Map):
        node = Map(node.mark, tuple((key, value) for key, value in node.entries if key.text not in without))
    return digest(_said(node))


def digest(value: Any) -> str:
    """A short hash of plain values."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _said(node: Node) -> Any:
    """The content of a node, with numbers as they are written: the title 1.10 is not the title 1.1."""
    match node:
        case Scalar():
            return (node.value, node.text) if node.altered else node.value
        case List(items=items):
            return [_said(item) for item in items]
        case Map(entries=entries):
            return {key.text: _said(item) for key, item in entries}


MAX_BYTES = 1 << 20
MAX_DEPTH = 50
_NUMBER_CHARACTERS = 40
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a system without libyaml has the slow one only
_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read(path: str, text: str | bytes, problems: Problems) -> tuple[Node, ...]:
    """Read every document of a file that is not empty. Never raises: what cannot be read becomes a problem.

    A document with a syntax error is left out; those after it are read.
    """
    decoded = _decoded(path, text, problems)
    if decoded is None:
        return ()
    starts = [0, *(found.start() for found in _DOCUMENT.finditer(decoded) if found.start())]
    documents: list[Node] = []
    line = 0
    for start, end in zip(starts, [*starts[1:], len(decoded)], strict=True):
        part = decoded[start:end]
        if part.strip() not in ("", "---"):
            documents += _Builder(path, part, line, problems).documents()
        line += part.count("\n")
    return tuple(documents)


def _decoded(path: str, written: str | bytes, problems: Problems) -> str | None:
    """The file's text, or None after the problem that makes all of it unreadable."""
    if isinstance(written, str):
        written = written.encode("utf-8", "surrogatepass")
    if len(written) > MAX_BYTES:
        what = f"the file has {len(written):,} bytes, {MAX_BYTES:,} are allowed"
        problems.add("E003", Mark(path, 1, 1), what, "split it into several files")
        return None
    try:
        text = written.decode("utf-8")
    except UnicodeDecodeError as error:
        before = written[: error.start].decode("utf-8")
        problems.add("E001", _mark_after(path, before), "this is not UTF-8", "save the file as UTF-8")
        return None
    text = text.removeprefix("\ufeff")
    if (found := _UNPRINTABLE.search(text)) is not None:
        what = f"the character U+{ord(found[0]):04X} cannot stand in a file"
        problems.add("E001", _mark_after(path, text[: found.start()]), what, "delete it")
        return None
    return text


def _mark_after(path: str, before: str) -> Mark:
    return Mark(path, before.count("\n") + 1, len(before) - before.rfind("\n"))


def parsed(text: str) -> Iterator[Any]:
    """The parser's events of a text. Raises `yaml.MarkedYAMLError` where it is no YAML."""
    parser = _Parser(text)
    try:
        while (event := parser.get_event()) is not None:
            yield event
    finally:
        parser.dispose()


class _TooDeep(Exception):
    """Nothing more of this document is read."""


@mutable
class _Open:
    """A list or map whose end has not come yet. ``key`` is set between a key and its value."""

    mark: Mark
    index: int
    is_map: bool
    items: list[Node] = field(default_factory=list)
    entries: dict[str, tuple[Scalar, Node]] = field(default_factory=dict)
    key: Scalar | None = None
    braces: bool = False  # it began with `{{`: a template without quotes
    misplaced: bool = False  # what follows belongs to a key above it


class _Builder:
    """Builds the nodes of one part of a file out of the parser's events."""

    def __init__(self, path: str, text: str, line: int, problems: Problems) -> None:
        self._path = path
        self._text = text
        self._line = line
        self._problems = problems
        self._open: list[_Open] = []
        self._done: list[Node] = []
        self._reported: set[int] = set()  # lines with a problem: what follows from it is not another one

    def documents(self) -> list[Node]:
        """Every document, up to the first syntax error."""
        last = None
        try:
            for event in parsed(self._text):
                self._take(event)
                last = event
        except _TooDeep:
            pass
        except yaml.MarkedYAMLError as error:
            code, place, what, fix = explained(error, last, self._text)
            if place.line not in self._reported:
                self._problems.add(code, self._mark(place), what, fix)
        return [node for node in self._done if not (isinstance(node, Scalar) and node.text == "")]

    def _mark(self, place: Any) -> Mark:
        return Mark(self._path, self._line + place.line + 1, place.column + 1)

    def _report(self, code: str, place: Any, what: str, fix: str) -> None:
        self._reported.add(place.line)
        self._problems.add(code, self._mark(place), what, fix)

    def _take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._refuse_decoration(event)
                self._place(_scalar(self._mark(event.start_mark), event))
            case yaml.AliasEvent(anchor=name):
                self._refuse(event, f"*{name}", "an alias")
                self._place(Scalar(self._mark(event.start_mark), f"*{name}", f"*{name}"))
            case yaml.CollectionStartEvent():
                self._refuse_decoration(event)
                self._begin(event, self._mark(event.start_mark))
            case yaml.CollectionEndEvent():
                self._end(event)

    def _refuse_decoration(self, event: Any) -> None:
        if event.anchor is not None:
            self._refuse(event, f"&{event.anchor}", "an anchor")
        if event.tag is not None:
            self._refuse(event, event.tag, "a tag")

    def _refuse(self, event: Any, text: str, kind: str) -> None:
        what = f'"{text}" is {kind} to YAML, which flow files do not have'
        meant = "leave it out" if kind == "a tag" else "write the value out wherever it is used"
        self._report("E005", event.start_mark, what, f"if it is a text, quote it; else {meant}")

    def _begin(self, event: Any, mark: Mark) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._report("E004", event.start_mark, f"more than {MAX_DEPTH} levels of nesting", "use fewer levels")
            raise _TooDeep
        opened = _Open(mark, event.start_mark.index, isinstance(event, yaml.MappingStartEvent))
        above = self._open[-1] if self._open else opened
        if above.is_map and above.key is None and opened.is_map and opened.index == above.index + 1:
            above.braces = True
            self._reported.add(event.start_mark.line)
            self._problems.add("E007", above.mark, "a text that begins with {{ has no quotes", QUOTE)
        self._open.append(opened)

    def _end(self, event: Any) -> None:
        ended = self._open.pop()
        if ended.braces:
            written = self._text[ended.index : event.end_mark.index]
            self._place(Scalar(ended.mark, written, written))
        elif ended.is_map:
            self._place(Map(ended.mark, tuple(ended.entries.values())))
        else:
            self._place(List(ended.mark, tuple(ended.items)))

    def _place(self, node: Node) -> None:
        if not self._open:
            self._done.append(node)
            return
        above = self._open[-1]
        if not above.is_map:
            above.items.append(node)
        elif above.key is None:
            above.key = self._key(node, above)
        else:
            first, _ = above.entries.setdefault(above.key.text, (above.key, node))
            if first is not above.key:
                self._refuse_second(above, above.key, first)
            above.key = None

    def _refuse_second(self, above: _Open, key: Scalar, first: Scalar) -> None:
        """A key twice. Right behind a key without a value it is that one's, and so is what follows: not indented enough."""
        before, value = list(above.entries.values())[-1]
        if isinstance(value, Scalar) and value.value is None and not above.misplaced:
            above.misplaced = True
            del above.entries[before.text]
            what = f'nothing stands below "{before.text}", and "{key.text}" comes a second time'
            self._problems.add("E006", before.mark, what, f'indent what belongs to "{before.text}" further')
        elif not above.misplaced:
            begins = len(self._open) == 1 and first is next(iter(above.entries.values()))[0]
            above.misplaced = begins
            what = f'a second "{first.text}", the first is in line {first.mark.line}'
            fix = "keep one of them" + (", or put a line of --- between two documents" if begins else "")
            self._problems.add("E006", key.mark, what, fix)

    def _key(self, node: Node, above: _Open) -> Scalar:
        if isinstance(node, Scalar) and (node.text or node.quoted):
            return node
        if not above.braces:
            self._problems.add("E008", node.mark, "a key is one text", "write it as key: value")
        return Scalar(node.mark, "", "")


def _scalar(mark: Mark, event: Any) -> Scalar:
    text: str = event.value
    if event.style:
        return Scalar(mark, text, text, True, event.style == "|")
    return Scalar(mark, _core(text), text)


def _core(text: str) -> bool | int | float | str | None:
    """A plain scalar by the core schema: ``yes``, ``on``, ``12:30`` and dates are texts."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789" or len(text) > _NUMBER_CHARACTERS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


@immutable
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
