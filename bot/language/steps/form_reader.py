"""Reading `form`: the page behind a button that asks for several variables at once."""

from collections.abc import Collection
from dataclasses import replace

from bot.core import messages as limits
from bot.language.expressions.templates import compile_template
from bot.language.keys.declared_keys import LITERAL, NAMES, KeySet, KeySpec, map_of, nested
from bot.language.keys.fields import Fields, entries_of, is_name
from bot.language.keys.text_shapes import TEXT
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import Node, Scalar
from bot.language.steps.step_facts import FormFacts
from bot.language.steps.transition import TRANSITION_KEYS, Assignment, transition_from


def _labels_of(node: Node, problems: Problems, what: str) -> dict[Scalar, str]:
    entries = entries_of(node, problems, what, "{variable: What it is called}")
    found = ((name, LITERAL.read(item, problems, f'{what}: "{name.text}"')) for name, item in entries)
    return {name: label for name, label in found if label}


_TITLE = KeySpec("title", LITERAL, "The button that opens the page, and its heading.", required=True, texts=TEXT)
_FIELDS = KeySpec(
    "fields",
    map_of(replace(LITERAL, texts=TEXT), _labels_of, absent={}),
    "The variables that the page asks for, each with what it is called there.",
    required=True,
)
_OPTIONAL = KeySpec("optional", NAMES, "Those of its fields that may be left empty; their variables are null then.")
_KEYS = KeySet(_TITLE, _FIELDS, _OPTIONAL, *TRANSITION_KEYS)


def _read_form(fields: Fields) -> FormFacts | None:
    title, labels, filled = _TITLE.read(fields), _FIELDS.read(fields), transition_from(fields)
    if filled.then is None:
        fields.report("E105", fields.mark, "nothing says where a form that was filled in leads", "write then: step")
    optional = _optional_of(fields, {name.text for name in labels})
    given = tuple(
        Assignment(
            name.text, compile_template(_value_in_form(name.text, optional), name.mark, fields.problems), name.mark
        )
        for name in labels
        if is_name(name.text)
    )
    if title is None or not labels or filled.then is None:
        return None
    if len(title) > limits.BUTTON_TITLE:
        what = f"title has {len(title)} characters, {limits.BUTTON_TITLE} are allowed"
        _TITLE.report(fields, "E402", what, "shorten it")
    marks = {name.text: name.mark for name in labels}
    called = {name.text: label for name, label in labels.items()}
    return FormFacts(title, called, marks, optional, replace(filled, set=(*given, *filled.set)))


def _optional_of(fields: Fields, called: Collection[str]) -> frozenset[str]:
    """The fields that may be left empty. A name that is no field is a problem."""
    named = _OPTIONAL.read(fields)
    for name in named:
        if name not in called:
            fix = did_you_mean(name, called, "write a name that stands in `fields`")
            _OPTIONAL.report(fields, "E301", f'no field "{name}"', fix)
    return frozenset(named)


def _value_in_form(name: str, optional: Collection[str]) -> str:
    """The value of a field in what the page has sent. For an optional one the check sees that it may be null."""
    given = f"event.{name}"
    return f"{{{{ none if {given} is none else {given} }}}}" if name in optional else f"{{{{ {given} }}}}"


FORM = KeySpec(
    "form",
    nested(_KEYS, _read_form, "{title: Fill in, fields: {name: Your name}, then: step}"),
    "A page behind a button that asks for several variables at once; an answer in the chat counts as well.",
)
