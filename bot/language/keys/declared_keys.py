"""One declaration for each key of a map: its name, what it takes and says, how it is read, which texts contacts read.

    MOST = KeySpec("max", integer(1), "How often the step may be entered.", required=True)
    ELSE = KeySpec("else", TRANSITION, "Where the next entry leads.", required=True)
    VISITS = KeySpec("visits", nested(KeySet(MOST, ELSE), read_visits), "A bound on how often the step is entered.")

    VISITS.read(fields)  -> what `read_visits` returns; None where the key is not written

From a `KeySet` follow the schema for editors, the texts that a locale translates, which keys are known, and which are
missing. Forms are made of forms: `nested` is a map of known keys, `map_of` one of free names, `one_or_several` a list,
and `either` a short form or a map. A reader that must know its step or its bot gets the map `as_fields`, or a node as
it is (`as_node`).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any, Generic, TypeVar

from bot.core.immutable import immutable
from bot.language.expressions.templates import AnyOf, Expression, Template, compile_expression
from bot.language.keys import key_schemas
from bot.language.keys.fields import (
    NAME_FIX,
    NAME_PATTERN,
    Fields,
    map_in,
    name_of,
    refuse,
    refuse_left_over,
    signal_name_of,
    template_of,
    text_of,
)
from bot.language.keys.key_schemas import ANY_TEXT, Schema, Schemas, pattern
from bot.language.keys.text_shapes import Keys, Part, Shape
from bot.language.source import wall_clock
from bot.language.source.languages import SORRY, without_country
from bot.language.source.problems import Mark, Problems, did_you_mean, meant_by, nearest
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more

T = TypeVar("T")
Other = TypeVar("Other")
Written = TypeVar("Written", covariant=True)


@immutable
class Form(Generic[Written]):
    """The form of a value: its schema, its reader, and the shape of its texts (None: contacts read none of it).

    A reader gets the node, where problems go, and what the value is called in them. ``absent`` is the value of a key
    that is not written.
    """

    schema: Schema
    read: Callable[[Node, Problems, str], Written]
    texts: Shape | None = None
    absent: Any = None


@immutable
class KeySpec(Generic[Written]):
    """A key: what it takes, and in one sentence what it says. ``texts`` stands in place of the form's.

    ``required``: it is a problem where it is not written.
    """

    name: str
    form: Form[Written]
    about: str
    required: bool = False
    texts: Shape | None = None

    def read(self, fields: Fields) -> Written:
        """Read its value; mostly None where it is not written."""
        node = fields.raw(self.name)
        if node is None:
            absent: Written = self.form.absent
            return absent
        return self.form.read(node, fields.problems, f"{fields.what}: {self.name}")

    def written(self, fields: Fields) -> bool:
        """True if it is written."""
        return fields.has(self.name)

    def mark(self, fields: Fields) -> Mark:
        """The place of its value; the map's own if it is not written."""
        return fields.mark_of(self.name)

    def report(self, fields: Fields, code: str, what: str, fix: str) -> None:
        """Add a problem at its value."""
        fields.report(code, self.mark(fields), what, fix)


def read_over(key: KeySpec[T], fields: Fields, inherited: T | None) -> T:
    """The value of a key; where it is not written, what is inherited, if there is anything."""
    return key.read(fields) if inherited is None or key.written(fields) else inherited


class KeySet:
    """The keys that a map may have; ``most`` of them at once, where that is said.

    ``elsewhere``: what to do with a key that belongs somewhere else, or an empty text.
    """

    def __init__(
        self, *declared: KeySpec[Any], most: int | None = None, elsewhere: Callable[[str], str] = lambda key: ""
    ) -> None:
        self.keys = declared
        self._most = most
        self._elsewhere = elsewhere

    def __iter__(self) -> Iterator[KeySpec[Any]]:
        return iter(self.keys)

    @cached_property
    def names(self) -> Collection[str]:
        """The names of the keys, in their order."""
        return tuple(self._by_name)

    @cached_property
    def _by_name(self) -> Mapping[str, KeySpec[Any]]:
        return {key.name: key for key in self.keys}

    @cached_property
    def _absent(self) -> Mapping[str, Any]:
        return {key.name: key.form.absent for key in self.keys}

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The names of those that must be written."""
        return tuple(key.name for key in self.keys if key.required)

    @cached_property
    def schemas(self) -> Schemas:
        """The schema of each key."""
        return {key.name: key_schemas.takes(key.form.schema, key.about) for key in self.keys}

    @cached_property
    def texts(self) -> Mapping[str, Shape]:
        """The shapes of the texts that contacts read."""
        shapes = ((key.name, key.form.texts if key.texts is None else key.texts) for key in self.keys)
        return {name: shape for name, shape in shapes if shape is not None}

    def schema(self) -> Schema:
        """The schema of the map."""
        return key_schemas.record(self.schemas, *self.required, most=self._most)

    def open(
        self, node: Node, problems: Problems, what: str, form: str = "key: value", *, others: bool = False
    ) -> Fields:
        """The map, to be read key by key.

        Reported are unknown keys, else missing ones; and what is no map, with ``form`` to write.

        A map or a list under a misspelt key is read, so that what refers to it is no problem too. ``others``: further
        keys may stand there, and only one that is like a missing one is reported.
        """
        found = map_in(node, problems, what, form)
        if found is None:
            return Fields(Map(node.mark, ()), problems, what)
        node, fields = found, Fields(found, problems, what)
        missing = [name for name in self.required if not fields.has(name)]
        unknown = [(key, item) for key, item in node.entries if key.text not in self._by_name]
        if others:
            unknown = [(key, item) for key, item in unknown if nearest(key.text, self.names) in missing]
        for key, item in unknown:
            meant = None if isinstance(item, Scalar) else meant_by(key.text, self.names)
            if meant is not None:
                fields.take(meant, item)
        if unknown:
            refuse_left_over([key for key, _ in unknown], node, self.names, what, problems, self._elsewhere)
        else:
            for name in missing:
                fields.miss(name)
        return fields

    def values(self, fields: Fields) -> dict[str, Any]:
        """The written values of these keys, by name."""
        written = fields.names
        return {key.name: key.read(fields) for key in self.keys if key.name in written}

    def all_values(self, fields: Fields) -> dict[str, Any]:
        """The values of all these keys, by name, also of those that are not written."""
        return {**self._absent, **self.values(fields)}

    def any_written(self, fields: Fields) -> bool:
        """True if one of these keys is written."""
        return not self._by_name.keys().isdisjoint(fields.names)


def one_written(fields: Fields, keys: Iterable[KeySpec[T]], fix: str = "keep one of them") -> KeySpec[T] | None:
    """The first of these keys that is written, or None. A second one is a problem."""
    found = [key for key in keys if key.written(fields)]
    for extra in found[1:]:
        extra.report(fields, "E121", f'"{extra.name}" beside "{found[0].name}"', fix)
    return found[0] if found else None


def nested(known: KeySet, read: Callable[[Fields], T], form: str = "key: value") -> Form[T | None]:
    """A map of known keys; None where it is no map, with ``form`` as what to write: ``{max: 6}`` behind the key."""

    def of(node: Node, problems: Problems, what: str) -> T | None:
        found = map_in(node, problems, what, form)
        return None if found is None else read(known.open(found, problems, what))

    return Form(known.schema(), of, known.texts or None)


def as_fields(known: KeySet, form: str = "key: value") -> Form[Fields | None]:
    """A map of known keys, for a reader that needs to know more than its keys."""
    return nested(known, lambda fields: fields, form)


def fields_by_key(sets: dict[str, KeySet], others: KeySet) -> Form[Fields | None]:
    """A map: of the keys of the first of the ``sets`` whose key it has, else of the ``others``."""

    def keys_of(node: Node) -> KeySet:
        return next((keys for key, keys in sets.items() if isinstance(node, Map) and node.get(key) is not None), others)

    schema = others.schema()
    for key, keys in reversed(sets.items()):
        schema = key_schemas.with_key(key, keys.schema(), schema)
    return Form(schema, lambda node, *rest: keys_of(node).open(node, *rest), lambda node: keys_of(node).texts)


def map_of(
    value: Form[Any],
    read: Callable[[Node, Problems, str], T],
    are: Part | None = None,
    known: KeySet | None = None,
    absent: Any = None,
) -> Form[T]:
    """A map of free names, each with such a value; it is read as a whole. Editors explain the ``known`` ones.

    ``are`` says what its names are to contacts; None: they never see them.
    """
    texts = None if value.texts is None and are is None else Keys(value.texts or {}, are)
    return Form(key_schemas.map_of(value.schema, None if known is None else known.schemas), read, texts, absent)


def one_or_several(item: Form[T | None]) -> Form[tuple[T, ...]]:
    """A list, or one item alone. Items that cannot be read are left out."""
    below = item.texts
    texts = None if below is None else lambda node: below if isinstance(node, Map) else Keys(below)  # by its number

    def read(node: Node, problems: Problems, what: str) -> tuple[T, ...]:
        found = (item.read(each, problems, what) for each in one_or_more(node))
        return tuple(value for value in found if value is not None)

    return Form(key_schemas.one_or_several(item.schema), read, texts, ())


def either(short: Form[Other], in_full: Form[T]) -> Form[Other | T]:
    """A map, or a short form of it: what is no map is read as that."""

    def form_of(node: Node) -> Form[Other | T]:
        return in_full if isinstance(node, Map) else short

    texts = None if short.texts is None and in_full.texts is None else lambda node: form_of(node).texts or {}
    schema = key_schemas.either(short.schema, in_full.schema)
    return Form(schema, lambda node, *rest: form_of(node).read(node, *rest), texts, short.absent)


def word_or(word: str, form: Form[T]) -> Form[str | T]:
    """This word, or what the form reads. Anything else is a problem of the form's."""
    short = one_of(word)

    def read(node: Node, problems: Problems, what: str) -> str | T:
        is_word = isinstance(node, Scalar) and node.text == word
        return word if is_word else form.read(node, problems, what)

    return Form(key_schemas.either(short.schema, form.schema), read, form.texts, form.absent)


def with_mark(form: Form[T | None]) -> Form[tuple[T, Mark] | None]:
    """The same form, with the place of its value."""

    def read(node: Node, problems: Problems, what: str) -> tuple[T, Mark] | None:
        value = form.read(node, problems, what)
        return None if value is None else (value, node.mark)

    return Form(form.schema, read)


def mapped(form: Form[T | None], make: Callable[[T], Other]) -> Form[Other | None]:
    """The same form, whose value is passed through a function."""

    def read(node: Node, problems: Problems, what: str) -> Other | None:
        value = form.read(node, problems, what)
        return None if value is None else make(value)

    return Form(form.schema, read, form.texts)


def shared(name: str, form: Form[T]) -> Form[T]:
    """The same form, whose schema stands once in the whole."""
    return replace(form, schema=key_schemas.shared(name, form.schema))


def as_node(node: Node, problems: Problems, what: str) -> Node:
    """Return the node as it is, for a reader that interprets it later."""
    return node


def raw_node(schema: Schema, texts: Shape | None = None) -> Form[Node | None]:
    """The node as it is."""
    return Form(schema, as_node, texts)


def integer(least: int | None = None, most: int | None = None) -> Form[int | None]:
    """A whole number within bounds."""
    return _number(int, "integer", "a whole number", least, most)


def number(least: float | None = None, most: float | None = None) -> Form[float | None]:
    """A number within bounds."""
    return _number(int | float, "number", "a number", least, most)


def _number(kind: Any, name: str, called: str, least: float | None, most: float | None) -> Form[Any]:
    bounds = {"minimum": least, "maximum": most}
    within = f" from {least} to {most}" if least is not None and most is not None else ""
    if not within and least is not None:
        within = f" of at least {least}"
    elif not within and most is not None:
        within = f" of at most {most}"

    def read(node: Node, problems: Problems, what: str) -> Any:
        value: Any = node.value if isinstance(node, Scalar) else None
        fits = isinstance(value, kind) and not isinstance(value, bool)
        if fits and (least is None or value >= least) and (most is None or value <= most):
            return value
        bare = isinstance(node, Scalar) and node.quoted and re.fullmatch(r"-?[0-9]+(\.[0-9]+)?", node.text) is not None
        refuse(node, problems, what, called + within, "write it without the quotes" if bare else "")
        return None

    return Form({"type": name, **{key: bound for key, bound in bounds.items() if bound is not None}}, read)


def one_of(*words: str, default: str | None = None) -> Form[str | None]:
    """One of a few words."""

    def read(node: Node, problems: Problems, what: str) -> str | None:
        text = text_of(node, problems, what)
        if text is None or text in words:
            return text
        fix = did_you_mean(text, words, f"write one of {', '.join(words)}")
        problems.add("E109", node.mark, f'{what}: "{text}" is not known', fix)
        return default

    return Form({"type": "string", "enum": list(words)}, read, absent=default)


def _strings(node: Node, problems: Problems, what: str) -> tuple[str, ...]:
    """A list of texts, or one text. One without quotes that has a comma in it is a problem: several may be meant."""
    for item in one_or_more(node):  # beside one text there may be those of other languages
        if isinstance(item, Scalar) and item.mark == node.mark and not item.quoted and ", " in item.text:
            fix = f"write [{item.text}] where several are meant, else put it in quotes"
            problems.add("E106", item.mark, f'{what}: "{item.text}" is one text', fix)
    return one_or_several(STRING).read(node, problems, what)


def _listed_name(node: Node, problems: Problems, what: str) -> str | None:
    """A name of a list. One with a comma in it is several: the list's brackets are missing."""
    if isinstance(node, Scalar) and ", " in node.text:
        problems.add("E108", node.mark, f'{what}: "{node.text}" is no name', f"write [{node.text}]")
        return None
    return name_of(node, problems, what)


def _expression(node: Node, problems: Problems, what: str) -> Expression | None:
    text = text_of(node, problems, what)
    return None if text is None else compile_expression(text, node.mark, problems)


def _boolean(node: Node, problems: Problems, what: str) -> bool:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        return node.value
    refuse(node, problems, what, "true or false")
    return False


UNREAD_DURATION = timedelta(days=1)
"""The value of a duration that could not be read.

Compare by identity (``is``): a day that is written is equal, but another object.
"""


def _duration(node: Node, problems: Problems, what: str) -> timedelta:
    """A duration, longer than nothing and at most a year."""
    found = wall_clock.parse_duration(node.text) if isinstance(node, Scalar) else None
    if found is None:
        refuse(node, problems, what, "a duration", "write one like 90s, 10m, 2h30m or 5d, 366d at most")
    return found or UNREAD_DURATION


def _literal(node: Node, problems: Problems, what: str) -> str | None:
    text = text_of(node, problems, what)
    if text is not None and "{{" in text:
        told = f"{what}: no values can stand here, and {{{{ }}}} would be sent as it is written"
        problems.add("E106", node.mark, told, "write it out; if it differs, `branch` to a step for each")
    return text


STRING: Form[str | None] = Form(ANY_TEXT, text_of)
"""A text that stands for itself."""
LITERAL: Form[str | None] = Form(key_schemas.WRITTEN_OUT, _literal)
"""A text that stands for itself, in which people expect values: ``{{ }}`` is a mistake there."""
STRINGS: Form[tuple[str, ...]] = Form(key_schemas.one_or_several(ANY_TEXT), _strings, absent=())
TEMPLATE: Form[Template | None] = Form(ANY_TEXT, template_of)
EXPRESSION: Form[Expression | None] = Form(ANY_TEXT, _expression)
NAME: Form[str | None] = Form(pattern(NAME_PATTERN, NAME_FIX), name_of)
SIGNAL_NAME: Form[str | None] = Form(
    pattern(rf"{NAME_PATTERN}(\.{NAME_PATTERN})*", "write it as it is declared in bot.yml"), signal_name_of
)
LISTED_NAME: Form[str | None] = Form(NAME.schema, _listed_name)
NAMES: Form[tuple[str, ...]] = one_or_several(LISTED_NAME)
BOOLEAN: Form[bool] = Form({"type": "boolean"}, _boolean, absent=False)
DURATION: Form[timedelta | None] = Form(
    key_schemas.shared(
        "duration", pattern(r"\s*(?:[0-9]{1,9}\s*[smhdwSMHDW]\s*)+", "write one like 90s, 10m, 2h30m or 5d")
    ),
    _duration,
)


def seconds(default: float) -> Form[float]:
    """A duration, in seconds."""
    return Form(DURATION.schema, lambda *at: _duration(*at).total_seconds(), absent=default)


def _wording_of(node: Node, problems: Problems, what: str) -> Template | None:
    if not isinstance(node, List):
        return template_of(node, problems, what)
    fix = "write one text in quotes, or {any: [...]}, of which one is sent each time"
    problems.add("E106", node.mark, f"{what}: a text is expected, YAML reads a list here", fix)
    return None


def _any_of(fields: Fields) -> Template | None:
    wordings = _ANY.read(fields)
    if _ANY.written(fields) and not wordings:
        fields.report("E105", fields.mark, f"{_ANY.name}: there is no text to take", "write two or more")
    return AnyOf(wordings, fields.mark) if wordings else None


def _in_locale(key: str) -> str:
    """The fix for texts by their languages in place of one text; empty for any other key."""
    if without_country(key) not in SORRY:
        return ""
    return f"write one text, in the first of the `languages` of bot.yml; those in {key} stand in locales/{key}.yml"


_ANY = KeySpec("any", one_or_several(TEMPLATE), "Several texts, of which chance takes one each time.", required=True)
ANY_WORDING: Form[Template | None] = shared(
    "wording", either(Form(ANY_TEXT, _wording_of), nested(KeySet(_ANY, elsewhere=_in_locale), _any_of))
)
"""A text that is said: one, or one of several by chance. It may be empty."""
WORDING_OR_NOTHING = replace(ANY_WORDING, schema=key_schemas.either(ANY_WORDING.schema, key_schemas.EMPTY))
"""A text that is said, for a key that may stand there without a value."""


def _needed_wording(node: Node, problems: Problems, what: str) -> Template | None:
    found = ANY_WORDING.read(node, problems, what)
    for each in () if found is None else found.wordings:
        if each.blank:
            problems.add("E105", each.mark, f"{what}: the text is empty", "write one, or leave it out")
    return found


WORDING = replace(ANY_WORDING, read=_needed_wording)
"""A text that is said and needed."""
