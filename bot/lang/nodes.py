"""What a YAML document is read as: a tree of nodes, each with its place in the file."""

import hashlib
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a file; line and column count from 1."""

    path: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.path}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class List:
    """A sequence."""

    mark: Mark
    items: tuple["Node", ...]


@dataclass(frozen=True, slots=True)
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
    """The items of a list, or the node itself where it is none; nothing where there is no node."""
    return () if node is None else node.items if isinstance(node, List) else (node,)


def plain(node: Node) -> Any:
    """What a node holds, as plain values."""
    match node:
        case Scalar(value=value):
            return value
        case List(items=items):
            return [plain(item) for item in items]
        case Map(entries=entries):
            return {key.text: plain(item) for key, item in entries}


def fingerprint(node: Node, without: str | None = None) -> str:
    """A short hash of what a node says, wherever and however it is written; ``without`` is a key of a map to leave out."""
    if isinstance(node, Map):
        node = Map(node.mark, tuple((key, value) for key, value in node.entries if key.text != without))
    return hashlib.sha256(repr(_said(node)).encode()).hexdigest()[:16]


def _said(node: Node) -> Any:
    """What a node holds, with numbers as they are written: a title of 1.10 is not one of 1.1."""
    match node:
        case Scalar():
            return (node.value, node.text) if node.altered else node.value
        case List(items=items):
            return [_said(item) for item in items]
        case Map(entries=entries):
            return {key.text: _said(item) for key, item in entries}
