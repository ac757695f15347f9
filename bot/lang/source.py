"""YAML source as a tree with marks. YAML 1.2 core, no aliases, no tags, no duplicate keys, bounded.

The tree is built from the parser's event stream, without recursion: the nesting is counted before anything
is built on it.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from bot.lang.problems import Problems

MOST_BYTES = 1 << 20
MOST_LEVELS = 40
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml's, where PyYAML was built with it

_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]{1,18}|0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]{1,30}|[0-9]{1,30}(\.[0-9]{0,30})?)([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1."""

    path: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. ``text`` is what stands in the file, ``value`` what YAML 1.2 makes of it."""

    mark: Mark
    value: bool | int | float | str | None
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class List:
    """A sequence."""

    mark: Mark
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
class Map:
    """A mapping, in its written order."""

    mark: Mark
    entries: tuple[tuple[Scalar, "Node"], ...]

    def get(self, key: str) -> "Node | None":
        """The value under a key, or None."""
        return next((node for name, node in self.entries if name.text == key), None)

    def key_mark(self, key: str) -> Mark:
        """Where a key stands; the map's own mark where it does not."""
        return next((name.mark for name, _ in self.entries if name.text == key), self.mark)


Node = Scalar | List | Map


def read(path: str, text: str | bytes, problems: "Problems") -> tuple[Node, ...]:
    """One node for each document of a file that is not empty. Never raises: what is wrong becomes a problem."""
    top = Mark(path, 1, 1)
    if len(text) > MOST_BYTES:
        problems.add("E003", top, f"the file has {len(text):,} bytes, {MOST_BYTES:,} are allowed", "divide it")
        return ()
    decoded = _decoded(path, text, problems)
    if decoded is None:
        return ()
    builder = _Builder(path, problems)
    try:
        loader = _Loader(decoded)
        try:
            while builder.going and loader.check_event():
                builder.take(loader.get_event())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        _explain(path, decoded, error, problems)
    except yaml.YAMLError as error:
        problems.add("E001", top, f"the file holds characters that YAML does not allow: {error}".split("\n")[0])
    return tuple(builder.documents)


def _decoded(path: str, text: str | bytes, problems: "Problems") -> str | None:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            problems.add("E001", Mark(path, line, 1), "the file is not UTF-8 text", "save it as UTF-8")
            return None
    for bad in ("\0", *(char for char in text if "\ud800" <= char <= "\udfff")):
        if bad in text:
            line = text[: text.index(bad)].count("\n") + 1
            problems.add("E001", Mark(path, line, 1), "the file holds a character that is no text", "remove it")
            return None
    return text


@dataclass(slots=True)
class _Open:
    """A list or map whose end has not come yet."""

    mark: Mark
    is_map: bool
    nodes: list[Node] = field(default_factory=list)


class _Builder:
    """Builds the documents' trees from the parser's events."""

    def __init__(self, path: str, problems: "Problems") -> None:
        self.documents: list[Node] = []
        self.going = True
        self._path = path
        self._problems = problems
        self._open: list[_Open] = []

    def take(self, event: Any) -> None:
        mark = Mark(self._path, event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.AliasEvent):
            self._refuse(mark, f"*{event.anchor}", "an alias")
            self._add(Scalar(mark, f"*{event.anchor}", f"*{event.anchor}", True))
        elif isinstance(event, yaml.NodeEvent):
            self._check_decoration(event, mark)
            if isinstance(event, yaml.ScalarEvent):
                self._add(_scalar(mark, event.value, plain=event.implicit[0]))
            else:
                self._begin(mark, isinstance(event, yaml.MappingStartEvent))
        elif isinstance(event, yaml.CollectionEndEvent):
            done = self._open.pop()
            self._add(self._map(done) if done.is_map else List(done.mark, tuple(done.nodes)))

    def _check_decoration(self, event: Any, mark: Mark) -> None:
        if event.anchor:
            self._refuse(mark, f"&{event.anchor}", "an anchor")
        tag = getattr(event, "tag", None)
        if tag and tag != "!":
            self._refuse(mark, tag, "a tag")

    def _refuse(self, mark: Mark, text: str, kind: str) -> None:
        self._problems.add(
            "E005", mark, f"{text} is {kind} to YAML, which flows do not use", "quote it if it is a text"
        )

    def _begin(self, mark: Mark, is_map: bool) -> None:
        if len(self._open) >= MOST_LEVELS:
            self._problems.add("E004", mark, f"more than {MOST_LEVELS} levels deep", "make it flatter")
            self.going = False
        self._open.append(_Open(mark, is_map))

    def _add(self, node: Node) -> None:
        if self._open:
            self._open[-1].nodes.append(node)
        elif not (isinstance(node, Scalar) and node.value is None):
            self.documents.append(node)

    def _map(self, done: _Open) -> Node:
        entries: dict[str, tuple[Scalar, Node]] = {}
        for key, value in zip(done.nodes[::2], done.nodes[1::2], strict=True):
            if not isinstance(key, Scalar):
                return self._unquoted(done.mark)
            if key.text in entries:
                first = entries[key.text][0].mark.line
                self._problems.add(
                    "E006", key.mark, f'"{key.text}" stands here twice, first in line {first}', "keep one"
                )
                continue
            entries[key.text] = (key, value)
        return Map(done.mark, tuple(entries.values()))

    def _unquoted(self, mark: Mark) -> Scalar:
        """``{{ name }}`` without quotes is a map with a map for its key."""
        self._problems.add(
            "E007", mark, "YAML reads this {{ ... }} as a map", 'put the whole text in quotes: "{{ ... }}"'
        )
        return Scalar(mark, "", "", True)


def _scalar(mark: Mark, text: str, *, plain: bool) -> Scalar:
    return Scalar(mark, _core(text), text) if plain else Scalar(mark, text, text, True)


def _core(text: str) -> bool | int | float | str | None:
    """YAML 1.2's core schema: ``yes``, ``on``, ``12:30`` and dates are texts."""
    if text in _NULL:
        return None
    if text in _BOOL:
        return _BOOL[text]
    if _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0o", "0x") else int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


def _explain(path: str, text: str, error: yaml.MarkedYAMLError, problems: "Problems") -> None:
    """The parser's complaint, in words about flow files."""
    place = error.problem_mark or error.context_mark
    mark = Mark(path, 1, 1) if place is None else Mark(path, place.line + 1, place.column + 1)
    said = error.problem or "it cannot be read"
    lines = text.split("\n")
    rest = lines[mark.line - 1][mark.column - 1 :] if mark.line <= len(lines) else ""
    if "mapping values are not allowed" in said:
        problems.add("E007", mark, "a colon and a space inside a text without quotes", "put the whole text in quotes")
    elif "cannot start any token" in said:
        what = "a tab" if rest[:1] == "\t" else f'a text cannot begin with "{rest[:1]}"'
        problems.add("E007", mark, what, "indent with spaces" if rest[:1] == "\t" else "put it in quotes")
    elif "alias" in said or "anchor" in said:
        problems.add("E005", mark, "YAML reads this as an alias or an anchor", "quote it if it is a text")
    else:
        context = f"{error.context}, " if error.context else ""
        problems.add(
            "E002", mark, f"this is no YAML: {context}{said}", "look at the quotes, brackets and indentation here"
        )


def fingerprint(node: Node) -> str:
    """A short hash of what a node says, wherever it stands."""
    digest = hashlib.sha256()
    for part in _parts(node):
        digest.update(part.encode() + b"\0")
    return digest.hexdigest()[:16]


def _parts(node: Node) -> Iterator[str]:
    match node:
        case Scalar(value=value):
            yield f"={type(value).__name__}:{value}"
        case List(items=items):
            yield "["
            for item in items:
                yield from _parts(item)
            yield "]"
        case Map(entries=entries):
            yield "{"
            for key, member in entries:
                yield key.text
                yield from _parts(member)
            yield "}"
