"""One declaration for each key of a map: its name, what it takes and says, how it is read, which texts contacts read.

    HEADER = KeySpec("header", TEMPLATE, "A line above the text.", texts=TEXT)
    KEYS = KeySet(HEADER, FOOTER)

    HEADER.read(fields)  -> the template, or None

From a `KeySet` follow the schema for editors, the texts that a locale translates, and which keys are known.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar

from bot.expressions.templates import Expression, Template
from bot.keys import key_schemas as keys
from bot.keys.fields import Fields
from bot.keys.key_schemas import Schema, Schemas
from bot.keys.text_shapes import Shape
from bot.lang.problems import Problems
from bot.lang.source import Node

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """What may stand under a key: its schema, its reader, and the shape of its texts; None: contacts read none of it."""

    schema: Schema
    read: Callable[[Fields, str], T]
    texts: Shape | None = None


@dataclass(frozen=True, slots=True)
class KeySpec(Generic[T]):
    """A key: what it takes, and in one sentence what it says. ``texts`` stands in place of the form's.

    ``required``: it must be written. A reader reports where it is missing: by `require`, or in words of its own.
    """

    name: str
    form: Form[T]
    about: str
    required: bool = False
    texts: Shape | None = None

    def read(self, fields: Fields) -> T:
        """Read its value; mostly None where it is not written."""
        return self.form.read(fields, self.name)

    def require(self, fields: Fields) -> bool:
        """Whether it is written; a problem where it is not."""
        return fields.require(self.name)


class KeySet:
    """The keys that a map may have."""

    def __init__(self, *declared: KeySpec[Any]) -> None:
        self.keys = declared

    def __iter__(self) -> Iterator[KeySpec[Any]]:
        return iter(self.keys)

    @cached_property
    def names(self) -> Collection[str]:
        """The names of the keys, in their order."""
        return tuple(key.name for key in self.keys)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of those that must be written."""
        return tuple(key.name for key in self.keys if key.required)

    @cached_property
    def schemas(self) -> Schemas:
        """The schema of each key."""
        return {key.name: keys.takes(key.form.schema, key.about) for key in self.keys}

    @cached_property
    def texts(self) -> Mapping[str, Shape]:
        """The shapes of the texts that contacts read."""
        shapes = ((key.name, key.form.texts if key.texts is None else key.texts) for key in self.keys)
        return {name: shape for name, shape in shapes if shape is not None}

    def schema(self, *, most: int | None = None) -> Schema:
        """The schema of the map: ``most`` keys at the most."""
        return keys.record(self.schemas, *self.required, most=most)

    def open(self, node: Node, problems: Problems, what: str, form: str = "key: value") -> Fields:
        """The map's fields, to be read key by key. ``form`` is what to write where it is no map."""
        return self.declared_in(Fields(node, problems, what, form))

    def declared_in(self, fields: Fields) -> Fields:
        """The same fields, in which these keys are known."""
        fields.declare(self.names)
        return fields


def integer(least: int | None = None, most: int | None = None) -> Form[int | None]:
    """A whole number within bounds."""
    return Form(keys.integer(least, most), lambda fields, key: fields.integer(key, least, most))


def number(least: float | None = None, most: float | None = None) -> Form[float | None]:
    """A number within bounds."""
    return Form(keys.number(least, most), lambda fields, key: fields.number(key, least, most))


def seconds(default: float) -> Form[float]:
    """A duration, in seconds."""
    return Form(keys.DURATION, lambda fields, key: fields.seconds(key, default))


def one_of(*words: str) -> Form[str | None]:
    """One of a few words."""
    return Form(keys.choice(*words), lambda fields, key: fields.choice(key, words))


def raw_node(schema: Schema, texts: Shape | None = None) -> Form[Node | None]:
    """What a reader of its own makes something of: the node as it is."""
    return Form(schema, Fields.raw, texts)


STRING: Form[str | None] = Form(keys.ANY_TEXT, Fields.string)
"""A text that stands for itself."""
STRINGS: Form[tuple[str, ...]] = Form(keys.one_or_several(keys.ANY_TEXT), Fields.strings)
TEMPLATE: Form[Template | None] = Form(keys.ANY_TEXT, Fields.template)
WORDING: Form[Template | None] = Form(keys.WORDING, Fields.wording)
"""A text that is said: one, or one of several by chance."""
EXPRESSION: Form[Expression | None] = Form(keys.EXPRESSION, Fields.expression)
NAME: Form[str | None] = Form(keys.NAME, Fields.name)
BOOLEAN: Form[bool] = Form(keys.BOOLEAN, Fields.boolean)
DURATION: Form[timedelta | None] = Form(keys.DURATION, Fields.duration)
