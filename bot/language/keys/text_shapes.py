"""Which texts of a flow file contacts read and write: what a locale says in another language.

A kind of step declares the shape of its keys: what each key holds, and whether a map's own keys are for people.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import Union

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.yaml_tree import List, Map, Node, Scalar

Path = tuple[str, ...]
"""The keys that lead to a text, in the order of the file."""

JINJA = lazy_pattern(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_LETTER = lazy_pattern(r"[^\W\d_]")
_ADDRESS = lazy_pattern(r"https?://\S*")


class Part(Enum):
    """The role of a text for contacts, and so for a locale."""

    TEXT = "text"  # they read it: every language has its own
    MAY = "may"  # they see what it stands for, as an address or a file's name: it may differ in another language
    TITLE = "title"  # a key or an item that they read, and write as an answer
    HEADING = "heading"  # a key that they read
    WORD = "word"  # a key that they write
    WORDS = "words"  # what they write: another language adds to it


TEXT, MAY, WORDS = Part.TEXT, Part.MAY, Part.WORDS
Shape = Union[Part, "Keys", Mapping[str, "Shape"], Callable[[Node], "Shape"]]
"""The texts below a key: a part, a map of known keys, a map of any keys, or what a function returns for the node."""


@immutable
class Keys:
    """A map of any keys, or a list: what the keys or items are to the contacts, and the shape of what is below them.

    ``are`` None: they are names. The items of a list are called by their number then, from 1.
    """

    below: Shape
    are: Part | None = None


@immutable
class Spot:
    """A place in a flow file with a text for people, and its node: a key's, or a value's."""

    path: Path
    part: Part
    node: Node
    value: Node | None = None  # of a key; a list's item has none

    @property
    def on_key(self) -> bool:
        """True if the node is the key itself: a title or a word."""
        return self.part in (Part.TITLE, Part.HEADING, Part.WORD)

    @property
    def required(self) -> bool:
        """True if every language needs its own: there are words in it, and not only values and addresses."""
        return self.part in (Part.TEXT, Part.TITLE, Part.HEADING) and any(map(_has_words, texts_of(self.node)))


def spots(shape: Shape, node: Node | None, path: Path = ()) -> Iterator[Spot]:
    """Every place of a node with something for people, in the order of the file."""
    while callable(shape):
        shape = shape(node) if node is not None else {}
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return
    if isinstance(shape, Part):
        yield Spot(path, shape, node)
    elif isinstance(shape, Keys):
        yield from _of_keys(shape, node, path)
    elif isinstance(shape, Mapping) and isinstance(node, Map):
        for key, value in node.entries:
            if key.text in shape:
                yield from spots(shape[key.text], value, (*path, key.text))


def _of_keys(shape: Keys, node: Node, path: Path) -> Iterator[Spot]:
    if isinstance(node, Map):
        for key, value in node.entries:
            here = (*path, key.text)
            if shape.are is not None:
                yield Spot(here, shape.are, key, value)
            yield from spots(shape.below, value, here)
    elif isinstance(node, List):
        for number, item in enumerate(node.items, 1):
            if shape.are is None:
                yield from spots(shape.below, item, (*path, str(number)))
            elif isinstance(item, Scalar):
                yield Spot((*path, item.text), shape.are, item)


def scalars_of(node: Node) -> Iterator[Scalar]:
    """Every scalar in a node, without keys."""
    match node:
        case Scalar():
            yield node
        case List(items=items):
            for item in items:
                yield from scalars_of(item)
        case Map(entries=entries):
            for _, value in entries:
                yield from scalars_of(value)


def texts_of(node: Node) -> Iterator[str]:
    """Every text in a node, without keys."""
    return (scalar.text for scalar in scalars_of(node))


def _has_words(text: str) -> bool:
    return _LETTER.search(_ADDRESS.sub("", JINJA.sub("", text))) is not None
