"""Read YAML into a tree of nodes with places: 1.2 core values, no aliases, tags or duplicate keys, bounded.

The tree is built from the parser's events, so nothing recurses over what somebody else wrote. Two departures from the
core schema: ``.inf``, ``.nan`` and numbers beyond 40 characters are text, because no conversation can hold them.
"""

import hashlib
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator
from dataclasses import field
from operator import attrgetter
from typing import Any

import yaml

from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_errors import MISALIGNED, NO_KEY_HERE, QUOTE, SyntaxFault


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
        """True if YAML reads a number that loses a part of what is written: ``01234``, ``1.10``, ``0x1F``."""
        return type(self.value) in _NUMBERS and str(self.value) != self.text


_NUMBERS = (int, float)  # and not bool, which is an int, too


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
        """The place of a key; the map's own if there is no such key."""
        return next((name.mark for name, _ in self.entries if name.text == key), self.mark)


Node = Scalar | List | Map


def one_or_more(node: Node | None) -> tuple[Node, ...]:
    """The items of a list, or the node itself if it is no list; nothing if there is no node."""
    return () if node is None else node.items if isinstance(node, List) else (node,)


def plain(node: Node, value_of: Callable[[Scalar], Any] = attrgetter("value")) -> Any:
    """The content of a node as plain values. ``value_of`` gives that of a scalar."""
    if isinstance(node, Scalar):
        return value_of(node)
    if isinstance(node, List):
        return [plain(item, value_of) for item in node.items]
    return {key.text: plain(item, value_of) for key, item in node.entries}


def as_written(node: Node) -> Any:
    """The content of a node as plain values. A number that YAML alters is the text in the file: ``"007"``."""
    return plain(node, lambda scalar: scalar.text if scalar.altered else scalar.value)


def fingerprint(node: Node, without: Collection[str] = ()) -> str:
    """A short hash of what a node says, however it is written; ``without`` names keys of a map to leave out."""
    if isinstance(node, Map):
        node = Map(node.mark, tuple((key, value) for key, value in node.entries if key.text not in without))
    # numbers as they are written, too: the title 1.10 is not the title 1.1
    return digest(plain(node, lambda scalar: (scalar.value, scalar.text) if scalar.altered else scalar.value))


def digest(value: Any) -> str:
    """A short hash of plain values."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


MAX_BYTES = 1 << 20
MAX_DEPTH = 50
_NUMBER_CHARACTERS = 40
_Parser: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # a system without libyaml has the slow one only
_DOCUMENT = lazy_pattern(r"^---(?=\s|\Z)", re.MULTILINE)
_UNPRINTABLE = lazy_pattern("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_INTEGER = lazy_pattern(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def read(path: str, text: str | bytes, problems: Problems, partly: re.Pattern[str] | None = None) -> tuple[Node, ...]:
    """Read every document of a file that is not empty. Never raises: what cannot be read becomes a problem.

    A document with a syntax error is left out; those after it are read. If it begins with the pattern ``partly``, only
    what stands under the key with the error is left out, that of a step, for example: see `Problems.emptied`.
    """
    decoded = _decoded(path, text, problems)
    if decoded is None:
        problems.unread.add(path)
        return ()
    starts = [0, *(found.start() for found in _DOCUMENT.finditer(decoded) if found.start())]
    documents: list[Node] = []
    line = 0
    for start, end in zip(starts, [*starts[1:], len(decoded)], strict=True):
        part = decoded[start:end]
        if part.strip() not in ("", "---"):
            in_part = partly is not None and partly.match(part) is not None
            documents += _documents(path, part, line, problems, partly=in_part)
        line += part.count("\n")
    return tuple(documents)


_MOST_ERRORS = 20
"""How many syntax errors of a document are looked for."""


def _documents(path: str, text: str, line: int, problems: Problems, *, partly: bool) -> list[Node]:
    """Read one document. A document with a syntax error is left out, unless it is read ``partly``."""
    emptied = dict[tuple[str, int], tuple[str, str]]()
    for _ in range(_MOST_ERRORS):
        found = Problems()
        builder = _Builder(path, text, line, found)
        documents = builder.documents()
        if builder.broken_at is None:
            problems.include(found)
            problems.emptied |= emptied
            return documents
        problems.include(found.of_line(builder.broken_at + line + 1))
        lines = text.split("\n")
        if not partly:
            break
        level = _level_meant(lines, builder.broken_at) if builder.misaligned else None
        if level is not None and (mended := _whole(path, _aligned(lines, builder.broken_at, level), line)) is not None:
            problems.emptied |= emptied
            return mended
        block = _Block.around(lines, builder.broken_at, level)
        if block is None or (path, line + block.first + 1) in emptied:
            break
        emptied |= {(path, line + number + 1): block.keys for number in block.known}
        text = block.emptied
    problems.include(found)
    problems.unread.add(path)
    return []


def _whole(path: str, lines: list[str], line: int) -> list[Node] | None:
    """The document of these lines, if that has no problem."""
    found = Problems()
    documents = _Builder(path, "\n".join(lines), line, found).documents()
    return None if found else documents


def _level_meant(lines: list[str], at: int) -> int | None:
    """The indentation that was meant for a line that is not aligned with any key above; None if it is aligned."""
    depth, above = indent_of(lines[at]), _levels_above(lines, at)
    return min(above, key=lambda level: (abs(level - depth), -level)) if above and depth not in above else None


def _aligned(lines: list[str], at: int, meant: int) -> list[str]:
    """The lines with one indented so far. A move to the left takes along all lines below at least as far in."""
    depth = indent_of(lines[at])
    after = (
        number for number in range(at + 1, len(lines)) if lines[number].strip() and indent_of(lines[number]) < depth
    )
    end = at + 1 if meant > depth else next(after, len(lines))
    moved = [" " * (indent_of(line) + meant - depth) + line.lstrip(" ") for line in lines[at:end]]
    return [*lines[:at], *moved, *lines[end:]]


def _levels_above(lines: list[str], at: int) -> list[int]:
    """The indentations of the line above and of each key that it belongs to."""
    levels: list[int] = []
    for line in reversed(lines[:at]):
        if line.strip() and not line.lstrip().startswith("#") and (not levels or indent_of(line) < levels[-1]):
            levels.append(indent_of(line))
    return levels


_KEY = lazy_pattern(r"""\s*(?:"[^"]*"|'[^']*'|[^\s"'#:,{}\[\]-][^\s"'#:,{}\[\]]*)(?=\s*:(?:\s|$))""")


@immutable
class _Block:
    """The contents of a key of the first or second level: from its ``first`` line to the next key.

    ``emptied`` is the text without it, ``keys`` are the two keys, as far as they are known. ``known`` are the lines of
    keys that are left without all or a part of what belongs to them.
    """

    first: int
    emptied: str
    keys: tuple[str, str]
    known: tuple[int, ...]

    @classmethod
    def around(cls, lines: list[str], at: int, level: int | None) -> "_Block | None":
        """The innermost block around a line; None if that is all. If the line has its ``level``, its key is unsure."""
        written = [number for number, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")]
        written = [number for number in written if not lines[number].startswith("---")]
        tops = [number for number in written if not lines[number].startswith((" ", "\t", "-", "}", "]"))]
        top = next((number for number in reversed(tops) if number <= at), None)
        if top is None:
            return None
        end = next((number for number in tops if number > top), len(lines))
        below = [number for number in written if top < number < end]
        first, key = top, _KEY.match(lines[top])
        if (
            key is not None
            and lines[top][key.end() :].strip(" :") == ""
            and below
            and not lines[below[0]].lstrip().startswith("-")
        ):
            depth = indent_of(lines[below[0]])
            keys = [number for number in below if indent_of(lines[number]) <= depth]
            inner = next((number for number in reversed(keys) if number <= at), None)
            if inner is not None:
                first, end = inner, next((number for number in keys if number > inner), end)
        here = _KEY.match(lines[first])
        if here is None and first == tops[0]:
            return None
        kept = [] if here is None else [f"{here[0]}:"]
        emptied = [*lines[:first], *kept, *[""] * (end - first - len(kept)), *lines[end:]]
        alone = level is None or level > indent_of(lines[first])
        inner_key = here[0].strip() if here is not None and first != top and alone else ""
        named = "" if key is None else key[0].strip(), inner_key
        return cls(first, "\n".join(emptied), named, (first,) if here is not None else (first, top))


def indent_of(line: str) -> int:
    """How many spaces a line begins with."""
    return len(line) - len(line.lstrip(" "))


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
    """The document is nested too deeply: nothing more of it is read."""


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
        self.broken_at: int | None = None  # the line of the syntax error after which nothing could be read
        self.misaligned = False  # which is one of a line that does not fit the others

    def documents(self) -> list[Node]:
        """Every document, up to the first syntax error."""
        last = None
        try:
            for event in parsed(self._text):
                self._take(event)
                last = event
        except _TooDeep:
            self._problems.unread.add(self._path)
        except yaml.MarkedYAMLError as error:
            if "nesting depth" in (error.problem or ""):  # libyaml 0.2.6 looks ahead, as far as 1,000 brackets
                self._report_depth(error.problem_mark)
                self._problems.unread.add(self._path)
                return []
            code, place, what, fix = SyntaxFault(error, last, self._text).explained()
            self.broken_at, self.misaligned = place.line, what in (MISALIGNED, NO_KEY_HERE)
            if place.line not in self._reported:
                self._problems.add(code, self._mark(place), what, fix)
        return [node for node in self._done if not (isinstance(node, Scalar) and node.text == "")]

    def _mark(self, place: Any) -> Mark:
        return Mark(self._path, self._line + place.line + 1, place.column + 1)

    def _report(self, code: str, place: Any, what: str, fix: str) -> None:
        self._reported.add(place.line)
        self._problems.add(code, self._mark(place), what, fix)

    def _take(self, event: Any) -> None:
        if isinstance(event, yaml.ScalarEvent):
            self._refuse_decoration(event)
            self._place(_scalar(self._mark(event.start_mark), event))
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._refuse_decoration(event)
            self._begin(event, self._mark(event.start_mark))
        elif isinstance(event, yaml.AliasEvent):
            alias = f"*{event.anchor}"
            self._refuse(event, alias, "an alias")
            self._place(Scalar(self._mark(event.start_mark), alias, alias))

    def _refuse_decoration(self, event: Any) -> None:
        if event.anchor is not None:
            self._refuse(event, f"&{event.anchor}", "an anchor")
        if event.tag is not None:
            self._refuse(event, event.tag, "a tag")

    def _refuse(self, event: Any, text: str, kind: str) -> None:
        what = f'"{text}" is {kind} to YAML, which flow files do not have'
        meant = "leave it out" if kind == "a tag" else "write the value out wherever it is used"
        self._report("E005", event.start_mark, what, f"if it is a text, quote it; else {meant}")

    def _report_depth(self, place: Any) -> None:
        self._report("E004", place, f"more than {MAX_DEPTH} levels of nesting", "use fewer levels")

    def _begin(self, event: Any, mark: Mark) -> None:
        if len(self._open) >= MAX_DEPTH:
            self._report_depth(event.start_mark)
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
        """A key twice. Right behind a key without a value it is that one's, and so is the rest: not indented enough."""
        before, value = list(above.entries.values())[-1]
        if isinstance(value, Scalar) and value.value is None and not above.misplaced:
            above.misplaced = True
            named = before.text if len(self._open) == 2 else ""  # else it may be one of the keys above these
            self._problems.emptied[self._path, before.mark.line] = "", named
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
    spans = [_span(event, text) for event in parsed(text) if isinstance(event, yaml.ScalarEvent)]
    starts = [start for start, _ in spans]

    def in_a_text(index: int) -> bool:
        before = bisect_right(starts, index) - 1
        return before >= 0 and index < spans[before][1]

    start = 0
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        signs = (at for at, character in enumerate(line) if character == "#" and not in_a_text(start + at))
        if (column := next(signs, None)) is not None:
            yield Comment(Mark(path, number, column + 1), line[column:].rstrip(), not line[:column].strip())
        start += len(line)


def _span(event: Any, text: str) -> tuple[int, int]:
    """The span of a text in the file. A block begins behind its first line, where a comment may stand."""
    start, end = event.start_mark.index, event.end_mark.index
    if event.style in ("|", ">"):
        end_of_line = text.find("\n", start)
        start = end if end_of_line < 0 else end_of_line
    return start, end
