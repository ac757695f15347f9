"""Reading what a question offers: `options`, `buttons` and `list`, and how they are shown and heard."""

from dataclasses import replace
from functools import partial

from bot.core import messages as limits
from bot.language.expressions.templates import compile_template
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    EXPRESSION,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    as_fields,
    as_node,
    either,
    integer,
    map_of,
    mapped,
    nested,
    one_of,
    one_written,
    raw_node,
    shared,
)
from bot.language.keys.fields import Fields, entries_of, map_in, refuse_altered, text_of
from bot.language.keys.key_schemas import ANY_TEXT, EMPTY
from bot.language.keys.patterns import CHOICE_MATCH
from bot.language.keys.text_shapes import TEXT, Part
from bot.language.source.problems import Problems, nearest
from bot.language.source.yaml_tree import List, Map, Node, Scalar
from bot.language.steps.choices import Choices, FixedChoice, MadeChoices, Many
from bot.language.steps.transition import (
    CONDITION,
    TEMPLATES,
    TEXTS,
    TO_TARGET,
    TRANSITION_KEYS,
    altered_in,
    transition_from,
    transition_to,
    value_of,
)

MOST_EXTRA = 6  # of ten rows: there must be room for a choice, two ways to other pages and the end of many answers


def read_choices(fields: Fields) -> Choices | None:
    """Read whichever of `options`, `buttons` and `list` the step has, with `match`, `many` and `show`."""
    form = one_written(fields, (_OPTIONS, _BUTTONS, _LIST))
    how, many, shown = CHOICE_MATCH.read(fields), MANY.read(fields), _SHOW.read(fields)
    if form is None:
        for key in (CHOICE_MATCH, MANY, _SHOW):
            if key.written(fields):
                key.report(fields, "E123", f'"{key.name}" where there is nothing to choose from', "add `options`")
        return None
    if form is not _OPTIONS and _SHOW.written(fields):
        _SHOW.report(fields, "E121", f'"{_SHOW.name}" beside "{form.name}"', "write the choices under `options`")
    read = form.read(fields)
    if read is None:
        return None
    for choice in read.fixed if many is not None else ():
        if choice.altered is not None:  # they are saved as a list, of no declared type
            refuse_altered(choice.altered, fields.problems)
    return replace(read, form=form.name, how=how, many=many, numbered=shown is not None)


def _read_many(fields: Fields) -> Many:
    least, most = _LEAST.read(fields), _MOST.read(fields)
    many = Many(1 if least is None else least, most, _DONE.read(fields))
    if most is not None and most < many.least:
        what = f"{most} at most, and {many.least} at least"
        _MOST.report(fields, "E307", what, f"write a `max` of {many.least} or more")
    return many


def _read_choices(node: Node, problems: Problems, what: str, made: KeySet) -> Choices:
    """Titles, or what is made of a list."""
    if not _is_made(node):
        return Choices("options", node.mark, _read_fixed(node, problems, what))
    fields = made.open(node, problems, what)
    return Choices("options", node.mark, _EXTRA.read(fields) if _EXTRA in made.keys else (), _read_made(fields))


def _read_list(fields: Fields) -> Choices:
    if not _SECTIONS.written(fields) and not _ROWS.written(fields):
        fields.miss(_ROWS.name)
    rows = _ROWS.read(fields)
    made, fixed = (None, ()) if rows is None else (rows.made, rows.fixed)
    return Choices(
        "list", fields.mark, fixed + _SECTIONS.read(fields) + _EXTRA.read(fields), made, _OPENER.read(fields)
    )


def _read_sections(node: Node, problems: Problems, what: str) -> tuple[FixedChoice, ...]:
    found: tuple[FixedChoice, ...] = ()
    for title, members in entries_of(node, problems, what, "{Heading: [a title, another]}"):
        _check_section(title, members, problems, what)
        found += _read_fixed(members, problems, what, title.text)
    return found


def _read_extra(node: Node, problems: Problems, what: str) -> tuple[FixedChoice, ...]:
    """Choices below the others, on every page."""
    found = _read_fixed(node, problems, what)
    if len(found) > MOST_EXTRA:
        fix = "write them among the rows"
        why = f"{what}: {len(found)} choices, {MOST_EXTRA} are allowed, since each page shows them"
        problems.add("E401", found[MOST_EXTRA].mark, why, fix)
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
    """True if the choices are made at run time: a title that is a template stands there for all of them."""
    title = node.get("title") if isinstance(node, Map) else None
    a_template = isinstance(title, Scalar) and "{{" in title.text
    return isinstance(node, Map) and (node.get("from") is not None or a_template)


def _read_made(fields: Fields) -> MadeChoices | None:
    source, title = _FROM.read(fields), _TITLE.read(fields)
    if title is None:
        title = compile_template("{{ it }}", fields.mark, fields.problems)
    value, about, words = _MADE_VALUE.read(fields), _ABOUT.read(fields), _MADE_WORDS.read(fields)
    return None if source is None else MadeChoices(source, title, value, about, CONDITION.read(fields), words)


def _read_fixed(node: Node, problems: Problems, what: str, section: str = "") -> tuple[FixedChoice, ...]:
    if isinstance(node, List) and any(isinstance(item, Map) for item in node.items):
        node = map_in(node, problems, what, "{Title: target}") or Map(node.mark, ())
    match node:
        case Map(entries=entries) if entries and all(_alone(item) for _, item in entries):
            fix = f"write [{', '.join(key.text for key, _ in entries)}]: titles alone stand in square brackets"
            problems.add("E106", node.mark, f"{what}: no title has a target", fix)
            found = [_plain_choice(key, problems, what) for key, _ in entries]
        case List(items=items):
            found = [_plain_choice(item, problems, what) for item in items]
        case Map(entries=entries):
            found = [_named_choice(key, value, problems, what) for key, value in entries]
        case _:
            fix = 'write "Title: target" or a list of titles'
            if isinstance(node, Scalar) and node.text:
                fix = f"write [{node.text}], or {{{node.text.partition(',')[0]}: target}}"
            problems.add("E106", node.mark, f"{what}: choices are expected", fix)
            found = []
    choices = (choice for choice in found if choice is not None)
    return tuple(replace(choice, section=section) if section else choice for choice in choices)


def _alone(node: Node) -> bool:
    """True if nothing is written behind a title."""
    return isinstance(node, Scalar) and node.value is None and not node.text


def _plain_choice(node: Node, problems: Problems, what: str) -> FixedChoice | None:
    """An option in a plain list saves its title."""
    if text_of(node, problems, what) is None or not isinstance(node, Scalar):
        return None
    return titled(node, problems, saves=True)


def titled(node: Scalar, problems: Problems, *, saves: bool = False) -> FixedChoice:
    """A choice of this title, which it ``saves``. In a translated flow it knows the written one, and is called by all
    of them.
    """
    title = compile_template(node.text, node.mark, problems)
    if title.blank and node.quoted:
        problems.add("E105", node.mark, "a title is empty", "write what the contact chooses")
    written = title if node.origin is None else compile_template(node.origin, node.mark, problems)
    return FixedChoice(title, node.mark, written, value=written if saves else None, saves=saves, words=node.also)


def _named_choice(key: Scalar, node: Node, problems: Problems, what: str) -> FixedChoice | None:
    """``Title: target`` saves nothing; ``Title: {value, ...}`` saves the value."""
    what = f'{what}: "{key.text}"'
    choice = titled(key, problems)
    if not isinstance(node, Map):
        return replace(choice, transition=transition_to(node, problems, what))
    fields = _CHOICE.open(node, problems, what)
    value = _VALUE.read(fields)
    if value is not None and not isinstance(value, Scalar):
        fix = "write one of these, no list or map"
        problems.add("E106", value.mark, f"{what}: value is one text, number or true/false", fix)
    return replace(
        choice,
        transition=transition_from(fields),
        value=value_of(value, problems) if isinstance(value, Scalar) else None,
        altered=None if value is None else altered_in(value),
        saves=value is not None,
        about=_ABOUT.read(fields),
        words=(*_WORDS.read(fields), *choice.words),
        condition=CONDITION.read(fields),
    )


_VALUE = KeySpec(
    "value",
    raw_node(key_schemas.either(ANY_TEXT, EMPTY)),
    "The value to save; without it a choice with a transition saves nothing.",
)
_ABOUT = KeySpec("about", TEMPLATE, "A line below the title, in a list.", texts=TEXT)
_WORDS = KeySpec("words", TEXTS, "Other words for the title.")
_CHOICE = KeySet(_VALUE, _ABOUT, _WORDS, CONDITION, *TRANSITION_KEYS)
_FIXED = map_of(shared("choice", either(TO_TARGET, as_fields(_CHOICE))), as_node, Part.TITLE)
_TITLES = key_schemas.list_of(ANY_TEXT)
_GIVEN: Form[tuple[FixedChoice, ...]] = Form(key_schemas.either(_TITLES, _FIXED.schema), _read_fixed, _FIXED.texts, ())
"""Titles in a list, or titles with their transitions."""
_EXTRA = KeySpec("extra", replace(_GIVEN, read=_read_extra), "Choices below the others, on every page.")
_FROM = KeySpec(
    "from", EXPRESSION, "A list, of which each element becomes a choice; it is called it below.", required=True
)
_TITLE = KeySpec("title", TEMPLATE, "The choice's title; the element itself by default.", texts=TEXT)
_MADE_VALUE = KeySpec("value", TEMPLATE, "The value to save; the element by default.")
_MADE_WORDS = KeySpec("words", TEMPLATES, "Other words for the title.")
_MADE = KeySet(_FROM, _TITLE, _MADE_VALUE, _ABOUT, _MADE_WORDS, CONDITION)


def _choices_of(made: KeySet) -> Form[Choices | None]:
    """The form of choices: written out, or made of a list."""
    schema = key_schemas.either(_TITLES, key_schemas.with_key(_FROM.name, made.schema(), _FIXED.schema))
    texts = _FIXED.texts or {}
    return Form(
        schema,
        partial(_read_choices, made=made),
        lambda node: made.texts if isinstance(node, Map) and node.get(_FROM.name) is not None else texts,
    )


_CHOICES = shared("choices", _choices_of(KeySet(*_MADE, _EXTRA)))
_OPENER = KeySpec("button", TEMPLATE, "The button that opens the list; a word for choose by default.", texts=TEXT)
_ROWS = KeySpec("rows", _choices_of(_MADE), "The rows to choose from.")
_SECTIONS = KeySpec(
    "sections", map_of(_GIVEN, _read_sections, Part.HEADING, absent=()), "The rows below their headings."
)
_LEAST = KeySpec("min", integer(0, 100), "How many answers there must be; one by default.")
_MOST = KeySpec("max", integer(1, 100), "How many answers there may be.")
_DONE = KeySpec("done", TEMPLATE, "The title of what ends the answers; a word for done by default.", texts=TEXT)
_OPTIONS = KeySpec("options", _CHOICES, "The choices, shown as buttons if they fit, else as a list.")
_BUTTONS = KeySpec("buttons", _CHOICES, "The choices as buttons: at most three.")
_IN_LIST = KeySet(_OPENER, _ROWS, _SECTIONS, _EXTRA)
_ROWS_ONLY = _choices_of(_MADE)


def _list_form() -> Form[Choices | None]:
    """A list with its keys; or its rows alone, as they stand below `buttons`."""
    in_full = nested(_IN_LIST, _read_list)
    schema = _ROWS_ONLY.schema
    for name in _IN_LIST.names:
        schema = key_schemas.with_key(name, shared("list", in_full).schema, schema)

    def form_of(node: Node) -> Form[Choices | None]:
        return in_full if isinstance(node, Map) and _has_key(node) else _ROWS_ONLY

    return Form(
        key_schemas.either(_TITLES, schema),
        lambda node, *rest: form_of(node).read(node, *rest),
        lambda node: form_of(node).texts or {},
    )


def _has_key(node: Map) -> bool:
    """True if a map is a list with its keys, and not a map of titles: a misspelt key has its rows below it."""
    below = (_ROWS.name, _SECTIONS.name)
    return not node.entries or any(
        key.text in _IN_LIST.names or (not isinstance(item, Scalar) and nearest(key.text, below))
        for key, item in node.entries
    )


_LIST = KeySpec("list", _list_form(), "The choices as a list that a button opens.")
MANY = KeySpec(
    "many",
    either(
        mapped(BOOLEAN, lambda several: Many() if several else None), nested(KeySet(_LEAST, _MOST, _DONE), _read_many)
    ),
    "Whether several may be chosen; false by default.",
)
_SHOW = KeySpec("show", one_of("numbers"), "Shows the choices as numbered lines of the text.")
CHOICES = KeySet(_OPTIONS, _BUTTONS, _LIST, CHOICE_MATCH, MANY, _SHOW)
