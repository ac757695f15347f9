"""Reading what a question offers: `options`, `buttons` and `list`, and how they are shown and heard."""

from collections.abc import Mapping
from dataclasses import replace

from bot.core import messages as limits
from bot.expressions.templates import compile_template
from bot.keys.declared_keys import KeySet, KeySpec, one_of, raw_node
from bot.keys.fields import Fields, refuse_altered, text_of
from bot.keys.key_schemas import (
    ANY_TEXT,
    BOOLEAN,
    EMPTY,
    EXPRESSION,
    Schema,
    Schemas,
    either,
    integer,
    list_of,
    map_of,
    record,
    shared,
    takes,
    with_key,
)
from bot.keys.patterns import MATCH_KEYS, read_match
from bot.keys.text_shapes import TEXT, Keys, Part, Shape
from bot.lang.problems import Problems
from bot.lang.source import List, Map, Node, Scalar
from bot.steps.choices import Choices, FixedChoice, MadeChoices, Many
from bot.steps.transition import (
    CONDITION,
    TARGET,
    TEXTS,
    TRANSITION_KEYS,
    TRANSITION_TEXTS,
    altered_in,
    transition_from,
    transition_of,
    value_of,
)

_TITLES = Keys({**TRANSITION_TEXTS, "about": TEXT}, Part.TITLE)
_MADE: Mapping[str, Shape] = {"title": TEXT, "about": TEXT, "extra": _TITLES}
MOST_EXTRA = 6  # of ten rows: there must be room for a choice, two ways to other pages and the end of many answers


def _choices_texts(node: Node) -> Shape:
    """Titles, or what is made of a list."""
    return _MADE if isinstance(node, Map) and node.get("from") is not None else _TITLES


_LIST_TEXTS: Mapping[str, Shape] = {
    "button": TEXT,
    "rows": _choices_texts,
    "sections": Keys(_TITLES, Part.HEADING),
    "extra": _TITLES,
}


def read_choices(fields: Fields) -> Choices | None:
    """Read whichever of `options`, `buttons` and `list` the step has, with `match`, `many` and `show`."""
    found = [key for key in ("options", "buttons", "list") if fields.has(key)]
    for extra in found[1:]:
        fields.raw(extra)
        fields.problems.add(
            "E121", fields.mark_of(extra), f'{fields.what}: "{extra}" beside "{found[0]}"', "keep one of them"
        )
    how, many, shown = read_match(fields), _read_many(fields), _SHOW.read(fields)
    if not found:
        _refuse(fields, "E123", ("match", "many", "show"), "where there is nothing to choose from", "add `options`")
        return None
    form = found[0]
    if form != "options":
        _refuse(fields, "E121", ("show",), f'beside "{form}"', "write the choices under `options`")
    node = fields.raw(form)
    assert node is not None
    what = f"{fields.what}: {form}"
    read = _read_list(node, fields.problems, what) if form == "list" else _read_flat(form, node, fields.problems, what)
    for choice in read.fixed if many is not None else ():
        if choice.altered is not None:  # they are saved as a list, of no declared type
            refuse_altered(choice.altered, fields.problems)
    return replace(read, how=how, many=many, numbered=shown is not None)


def _refuse(fields: Fields, code: str, keys: tuple[str, ...], why: str, fix: str) -> None:
    for key in keys:
        if fields.has(key):
            fields.problems.add(code, fields.mark_of(key), f'{fields.what}: "{key}" {why}', fix)


def _read_many(fields: Fields) -> Many | None:
    """``many: true``, or with `min`, `max` and `done`."""
    if not isinstance(fields.raw("many"), Map):
        return Many() if fields.boolean("many") else None
    inner = fields.fields("many")
    assert inner is not None
    least, most = inner.integer("min", 0, 100), inner.integer("max", 1, 100)
    many = Many(1 if least is None else least, most, inner.template("done"))
    if most is not None and most < many.least:
        what = f"{inner.what}: {most} at most, and {many.least} at least"
        inner.problems.add("E307", inner.mark_of("max"), what, f"write a `max` of {many.least} or more")
    inner.close()
    return many


def _read_flat(form: str, node: Node, problems: Problems, what: str) -> Choices:
    if _is_made(node):
        fields = Fields(node, problems, what)
        made = _read_made(fields)
        fixed = _read_extra(fields)
        fields.close()
        return Choices(form, node.mark, fixed, made)
    return Choices(form, node.mark, _read_fixed(node, problems, what))


def _read_list(node: Node, problems: Problems, what: str) -> Choices:
    fields = Fields(node, problems, what)
    opener = fields.template("button")
    made: MadeChoices | None = None
    fixed: tuple[FixedChoice, ...] = ()
    rows, sections = fields.raw("rows"), fields.fields("sections")
    if rows is not None and _is_made(rows):
        inner = Fields(rows, problems, f"{what}: rows")
        made = _read_made(inner)
        inner.close()
    elif rows is not None:
        fixed += _read_fixed(rows, problems, f"{what}: rows")
    if sections is not None:
        for title, members in sections.entries():
            _check_section(title, members, problems, what)
            fixed += _read_fixed(members, problems, what, title.text)
    if sections is None:
        fields.require("rows")
    fixed += _read_extra(fields)
    fields.close()
    return Choices("list", node.mark, fixed, made, opener)


def _read_extra(fields: Fields) -> tuple[FixedChoice, ...]:
    """Choices below the others, on every page."""
    node = fields.raw("extra")
    if node is None:
        return ()
    found = _read_fixed(node, fields.problems, f"{fields.what}: extra")
    if len(found) > MOST_EXTRA:
        what = f"{fields.what}: extra: {len(found)} choices, {MOST_EXTRA} are allowed, since each page shows them"
        fields.problems.add("E401", found[MOST_EXTRA].mark, what, "write them among the rows")
    return tuple(replace(choice, pinned=True) for choice in found)


def _check_section(title: Scalar, members: Node, problems: Problems, what: str) -> None:
    if len(title.text) > limits.SECTION_TITLE:
        problems.add(
            "E402",
            title.mark,
            f'{what}: section "{title.text}" has {len(title.text)} characters, {limits.SECTION_TITLE} are allowed',
            "shorten it",
        )
    count = len(members.entries) if isinstance(members, Map) else len(members.items) if isinstance(members, List) else 1
    if count > limits.ROWS_PER_SECTION:
        problems.add(
            "E401", members.mark, f"{what}: {count} rows in one section, {limits.ROWS_PER_SECTION} are allowed",
            "divide them into sections",
        )  # fmt: skip


def _is_made(node: Node) -> bool:
    """Whether the choices are made at run time: a title that is a template stands there for all of them."""
    title = node.get("title") if isinstance(node, Map) else None
    return isinstance(node, Map) and (
        node.get("from") is not None or (isinstance(title, Scalar) and "{{" in title.text)
    )


def _read_made(fields: Fields) -> MadeChoices | None:
    fields.require("from")
    source = fields.expression("from")
    title = fields.template("title")
    if title is None:
        title = compile_template("{{ it }}", fields.mark, fields.problems)
    value, about, words = fields.template("value"), fields.template("about"), fields.templates("words")
    condition = fields.expression("if")
    return None if source is None else MadeChoices(source, title, value, about, condition, words)


def _read_fixed(node: Node, problems: Problems, what: str, section: str = "") -> tuple[FixedChoice, ...]:
    match node:
        case List(items=items):
            found = [_plain_choice(item, problems, what) for item in items]
        case Map(entries=entries):
            found = [_named_choice(key, value, problems, what) for key, value in entries]
        case _:
            problems.add(
                "E106", node.mark, f"{what}: choices are expected", 'write "Title: target" or a list of titles'
            )
            found = []
    return tuple(replace(choice, section=section) for choice in found if choice is not None)


def _plain_choice(node: Node, problems: Problems, what: str) -> FixedChoice | None:
    """An option in a plain list saves its title."""
    if text_of(node, problems, what) is None or not isinstance(node, Scalar):
        return None
    choice = _titled(node, problems)
    return replace(choice, value=choice.written, saves=True)


def _titled(node: Scalar, problems: Problems) -> FixedChoice:
    """A choice of this title. In a translated flow it knows the written one, and is called by all of them."""
    title = compile_template(node.text, node.mark, problems)
    written = title if node.origin is None else compile_template(node.origin, node.mark, problems)
    return FixedChoice(title, node.mark, written, words=node.also)


def _named_choice(key: Scalar, node: Node, problems: Problems, what: str) -> FixedChoice | None:
    """``Title: target`` saves nothing; ``Title: {value, ...}`` saves the value."""
    what = f'{what}: "{key.text}"'
    choice = _titled(key, problems)
    if not isinstance(node, Map):
        return replace(choice, transition=transition_of(node, problems, what))
    fields = Fields(node, problems, what)
    value = fields.raw("value")
    choice = replace(
        choice,
        transition=transition_from(fields),
        value=value_of(value, problems) if isinstance(value, Scalar) else None,
        altered=None if value is None else altered_in(value),
        saves=value is not None,
        about=fields.template("about"),
        words=(*fields.strings("words"), *choice.words),
        condition=fields.expression("if"),
    )
    if value is not None and not isinstance(value, Scalar):
        problems.add(
            "E106", value.mark, f"{what}: value is one text, number or true/false", "write one of these, no list or map"
        )
    fields.close()
    return choice


_CHOICE: Schemas = {
    "value": takes(either(ANY_TEXT, EMPTY), "What is saved; without it a choice with a transition saves nothing."),
    "about": takes(ANY_TEXT, "A line below the title, in a list."),
    "words": takes(TEXTS, "What means the same as the title."),
    **CONDITION,
    **TRANSITION_KEYS,
}
_FIXED = map_of(shared("choice", either(TARGET, record(_CHOICE))))
_TITLE_LIST = list_of(ANY_TEXT)
_EXTRA: Schemas = {"extra": takes(either(_TITLE_LIST, _FIXED), "Choices below the others, on every page.")}
_MADE_KEYS: Schemas = {
    "from": takes(EXPRESSION, "A list, of which each element becomes a choice; it is called it below."),
    "title": takes(ANY_TEXT, "The choice's title; the element itself where nothing is said."),
    "value": takes(ANY_TEXT, "What is saved; the element where nothing is said."),
    "about": takes(ANY_TEXT, "A line below the title, in a list."),
    "words": takes(TEXTS, "What means the same as the title."),
    **CONDITION,
}


def _choices_schema(made: Schemas) -> Schema:
    """Titles in a list, titles with their transitions, or what is made of a list."""
    return either(_TITLE_LIST, with_key("from", record(made, "from"), _FIXED))


_CHOICES = shared("choices", _choices_schema({**_MADE_KEYS, **_EXTRA}))
_LIST_KEYS: Schemas = {
    "button": takes(ANY_TEXT, "What opens the list; a word for choose where nothing is said."),
    "rows": takes(_choices_schema(_MADE_KEYS), "The rows to choose from."),
    "sections": takes(map_of(either(_TITLE_LIST, _FIXED)), "The rows below their headings."),
    **_EXTRA,
}
_MANY_KEYS: Schemas = {
    "min": takes(integer(0, 100), "How many answers there must be; one where nothing is said."),
    "max": takes(integer(1, 100), "How many answers there may be."),
    "done": takes(ANY_TEXT, "The title of what ends the answers; a word for done where nothing is said."),
}
SKIP = either(TEXTS, record({"words": takes(TEXTS, "The words."), **TRANSITION_KEYS}, "words"))
_MATCH = KeySpec("match", raw_node(MATCH_KEYS["match"]), str(MATCH_KEYS["match"]["description"]))
_SHOW = KeySpec("show", one_of("numbers"), "Shows the choices as numbered lines of the text.")
CHOICES = KeySet(
    KeySpec(
        "options",
        raw_node(_CHOICES, _choices_texts),
        "What there is to choose from, shown as buttons or as a list, as fits.",
    ),
    KeySpec(
        "buttons", raw_node(_CHOICES, _choices_texts), "What there is to choose from, as buttons: three at the most."
    ),
    KeySpec(
        "list",
        raw_node(record(_LIST_KEYS), _LIST_TEXTS),
        "What there is to choose from, as a list that a button opens.",
    ),
    _MATCH,
    KeySpec(
        "many",
        raw_node(either(BOOLEAN, record(_MANY_KEYS)), {"done": TEXT}),
        "Whether several may be chosen; false where nothing is said.",
    ),
    _SHOW,
)
