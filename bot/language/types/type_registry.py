"""All types of variables, and the reading of declarations: ``{type: text, max: 40}``, or the type alone.

A new type is a subclass of `Variable` in a file of its own, and a line in `TYPES`.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import cache

from bot.core.lazy_patterns import lazy_pattern
from bot.language.expressions.grammar import RESERVED_LIST, RESERVED_NAMES
from bot.language.keys import key_schemas
from bot.language.keys.declared_keys import (
    BOOLEAN,
    EXPRESSION,
    NAME,
    TEMPLATE,
    Form,
    KeySet,
    KeySpec,
    as_node,
    either,
    map_of,
    mapped,
    nested,
    one_of,
    one_or_several,
    raw_node,
    read_over,
    shared,
)
from bot.language.keys.fields import Fields, entries_of, name_of, refuse_altered, text_of
from bot.language.keys.key_schemas import ANY, by_value
from bot.language.keys.text_shapes import TEXT, Shape
from bot.language.source.problems import Problems, did_you_mean
from bot.language.source.yaml_tree import List, Map, Node, Scalar, one_or_more, plain
from bot.language.types.address_types import EmailVariable, PhoneVariable
from bot.language.types.date_types import DateTimeVariable, DateVariable, TimeVariable
from bot.language.types.number_types import IntegerVariable, NumberVariable
from bot.language.types.structured_types import (
    KEEP_FILES,
    AnswerVariable,
    FilesVariable,
    ListVariable,
    LocationVariable,
    MediaVariable,
    ObjectVariable,
)
from bot.language.types.text_types import ChoiceVariable, NameVariable, TextVariable
from bot.language.types.variable import NEEDED, SENT_AS, Answer, AnswerCheck, InvalidAnswer, TypeMismatch, Variable
from bot.language.types.yes_no_type import BooleanVariable

__all__ = ["TYPES", "Answer", "InvalidAnswer", "TypeMismatch", "Variable", "read_variable"]

TYPES: dict[str, type[Variable]] = {
    variable.type: variable
    for variable in (
        TextVariable, NameVariable, IntegerVariable, NumberVariable, ChoiceVariable, BooleanVariable, DateVariable, TimeVariable,
        DateTimeVariable, EmailVariable, PhoneVariable, ListVariable, ObjectVariable, MediaVariable, LocationVariable,
        AnswerVariable,
    )
}  # fmt: skip
_TYPE = KeySpec(
    "type",
    Form(key_schemas.shared("type", key_schemas.either(one_of(*TYPES).schema, NAME.schema)), text_of),
    "The type of its values: one of these, or one of `types` in bot.yml.",
    required=True,
)
_VALUE = KeySpec("value", raw_node(ANY), "Its first value; null by default.")
_OPTIONAL = KeySpec("optional", BOOLEAN, "Says to the reader that null is expected.")  # every variable may be null


def _check_of(fields: Fields) -> AnswerCheck | None:
    condition = _IF.read(fields)
    return None if condition is None else AnswerCheck(condition, _OBJECTION.read(fields))


_IF = KeySpec("if", EXPRESSION, "A condition that the answer must meet; the answer is called it.", required=True)
_OBJECTION = KeySpec("error", TEMPLATE, "The message to the contact if it is not true.", texts=TEXT)
_ONE_CHECK = either(mapped(EXPRESSION, AnswerCheck), nested(KeySet(_IF, _OBJECTION), _check_of))
_CHECKS = KeySpec("check", shared("check", one_or_several(_ONE_CHECK)), "Conditions that an answer must meet.")
_ERROR = KeySpec(
    "error", TEMPLATE, "The message after an answer that does not fit, in place of the question's retry.", texts=TEXT
)


def _read_fields(node: Node, problems: Problems, what: str) -> dict[str, Variable]:
    entries = entries_of(node, problems, what, "{starts: datetime}")
    return {
        key.text: read_variable(key.text, item, problems, f'{what}: "{key.text}"', of_field=True)
        for key, item in entries
    }


_ABOUT_FIELDS = "The types of the fields of a record, or of each record of a list. Fields that are not named here may have any value."
_FIELDS_OF_FIELD = KeySpec(
    "fields",
    map_of(Form({"$ref": "#/definitions/field"}, as_node), _read_fields, absent={}),  # itself: a field may have fields
    _ABOUT_FIELDS,
)


@cache
def _settings_of(kind: str, *, of_field: bool = False) -> KeySet:
    declared = TYPES[kind]
    fields = (_FIELDS_OF_FIELD if of_field else _FIELDS,) if declared in (ListVariable, ObjectVariable) else ()
    if of_field:
        return KeySet(_TYPE, _VALUE, _OPTIONAL, *declared.keys, *fields)
    answered = (_CHECKS, _ERROR) if declared.answered or declared is ListVariable else ()
    return KeySet(_TYPE, _VALUE, declared.keep_key, NEEDED, SENT_AS, _OPTIONAL, *declared.keys, *fields, *answered)


def _in_types(key: str) -> str:
    return (
        "a type's settings stand under `types` in bot.yml"
        if any(key in each.keys.names for each in TYPES.values())
        else ""
    )


_OWN_TYPE = replace(_TYPE, form=replace(_TYPE.form, schema=NAME.schema), about="One of `types` in bot.yml.")
_OF_OWN_TYPE = {
    False: KeySet(_OWN_TYPE, _VALUE, KEEP_FILES, NEEDED, SENT_AS, _OPTIONAL, _CHECKS, _ERROR, elsewhere=_in_types),
    True: KeySet(_OWN_TYPE, _VALUE, _OPTIONAL, elsewhere=_in_types),
}
"""The keys of a variable whose type is one of the bot's own, and of a field."""


_FIELD = key_schemas.shared(
    "field",
    key_schemas.either(
        _TYPE.form.schema,
        by_value(
            _TYPE.name,
            {kind: _settings_of(kind, of_field=True).schema() for kind in TYPES},
            _OF_OWN_TYPE[True].schema(),
        ),
    ),
)
_FIELDS = KeySpec("fields", map_of(Form(_FIELD, as_node), _read_fields, absent={}), _ABOUT_FIELDS)


def _texts_of(node: Node) -> Shape:
    kind = node.get(_TYPE.name) if isinstance(node, Map) else None
    return _settings_of(kind.text).texts if isinstance(kind, Scalar) and kind.text in TYPES else {}


VARIABLE = shared(
    "variable",
    raw_node(
        key_schemas.either(
            _TYPE.form.schema,
            by_value(_TYPE.name, {kind: _settings_of(kind).schema() for kind in TYPES}, _OF_OWN_TYPE[False].schema()),
        ),
        _texts_of,
    ),
)
"""The declaration of a variable; `read_variable` reads it."""


def read_variable(name: str, node: Node, problems: Problems, what: str = "", *, of_field: bool = False) -> Variable:
    """Read a declaration: ``{type: text, ...}``, or the type alone. A mistake becomes a problem.

    ``of_field``: it is a field of a record, which has no settings of a variable's own, and may have any name, as a type
    may. ``what`` is what the declaration is called.
    """
    what = what or f'variable "{name}"'
    if isinstance(node, Scalar) and node.value is not None:
        node = Map(node.mark, ((Scalar(node.mark, "type", "type"), node),))
    fields = KeySet(_TYPE).open(node, problems, what, "{type: text}", others=True)
    if name in RESERVED_NAMES and what == f'variable "{name}"':
        why, fix = (
            f'the name "{name}" is reserved',
            f"choose another name, and if programs send it so, add sent_as: {name}; {RESERVED_LIST}",
        )
        problems.add_taken(node.mark, what, name, why, fix)
    kind = _TYPE.read(fields)
    if kind is not None and (own := problems.types.get(kind)) is not None:
        return _of_own_type(name, own, _OF_OWN_TYPE[of_field].open(node, problems, what), of_field)
    declared = TYPES.get(kind or "")
    if declared is None:
        if kind is not None:
            fix = did_you_mean(kind, (*TYPES, *problems.types), f"write one of {', '.join((*TYPES, *problems.types))}")
            if kind in problems.types:
                fix = f'declare "{kind}" further above: a type can use those above it'
            written = fields.raw(_TYPE.name)
            if isinstance(written, Scalar) and isinstance(written.value, bool | int | float):
                meant = "boolean" if isinstance(written.value, bool) else "number"
                fix = f"write {name}: {{type: {meant}, value: {kind}}}"
            problems.add("E304", _TYPE.mark(fields), f'{what}: no type "{kind}"', fix)
        return TextVariable(name, node.mark)
    fields = _settings_of(declared.type, of_field=of_field).open(node, problems, what)
    _OPTIONAL.read(fields)
    variable = declared.read(name, None, fields)
    if isinstance(variable, ListVariable | ObjectVariable):
        variable = replace(variable, fields={**variable.fields, **_FIELDS.read(fields)})
    if not of_field:
        variable = variable.kept_as(declared.keep_key.read(fields))
        variable = replace(variable, required=NEEDED.read(fields), sent_as=SENT_AS.read(fields))
    if variable.answered and not of_field:
        variable = replace(variable, checks=_CHECKS.read(fields), error=_ERROR.read(fields))
    for key in () if variable.answered or of_field else (_CHECKS, _ERROR):
        if key.written(fields):
            key.report(fields, "E307", f"{key.name} where contacts send no files", "add of: media, or leave it out")
    initial = _VALUE.read(fields)
    return variable if initial is None else _starting_at(variable, initial, problems)


def _of_own_type(name: str, own: Variable, fields: Fields, of_field: bool) -> Variable:
    """A variable, or a field, of one of the bot's own types: what is written here wins over the type's declaration."""
    _OPTIONAL.read(fields)
    variable = replace(own, name=name, mark=fields.mark, sent_as=None if of_field else SENT_AS.read(fields))
    if of_field:
        variable = replace(variable.kept_as(False), required=False, checks=(), error=None)
    elif not variable.answered and (_CHECKS.written(fields) or _ERROR.written(fields)):
        key = _CHECKS if _CHECKS.written(fields) else _ERROR
        key.report(fields, "E307", f'{key.name} where contacts send nothing: its type is "{own.name}"', "leave it out")
    else:
        variable = replace(
            variable.kept_as(own.keep_key.read(fields)) if own.keep_key.written(fields) else variable,
            required=read_over(NEEDED, fields, own.required),
            checks=read_over(_CHECKS, fields, own.checks),
            error=read_over(_ERROR, fields, own.error),
        )
    initial = _VALUE.read(fields)
    return variable if initial is None else _starting_at(variable, initial, fields.problems)


def _read_types(node: Node, problems: Problems, what: str) -> dict[str, Variable]:
    """Read the bot's own types. Each may use those above it."""
    types: dict[str, Variable] = {}
    entries = entries_of(node, problems, what, "{slot: {type: object, fields: {starts: datetime}}}")
    inner = problems.defining({})
    for key, item in entries:
        inner.types = {**dict.fromkeys((name.text for name, _ in entries)), **types}
        if key.text in TYPES:
            problems.add_taken(key.mark, f'type "{key.text}"', key.text, "this type is built in", "choose another name")
        elif name_of(key, problems, "type") is not None:
            types[key.text] = read_variable(key.text, item, inner, what=f'type "{key.text}"', of_field=False)
    return types


def _read_variables(node: Node, problems: Problems, what: str) -> dict[str, Variable]:
    """Read a map of declarations. A faulty one is read too, so that its uses are no further problems."""
    variables = {}
    for key, item in entries_of(node, problems, what, "{name: {type: text}}"):
        name_of(key, problems, "variable")
        variables[key.text] = read_variable(key.text, item, problems)
    _check_sent_names(variables, problems)
    listed = (item for item in one_or_more(node) if not isinstance(item, List))
    named = (key for item in listed for key in ([key for key, _ in item.entries] if isinstance(item, Map) else [item]))
    return {key.text: TextVariable(key.text, key.mark) for key in named} | variables


def _check_sent_names(variables: Mapping[str, Variable], problems: Problems) -> None:
    """No two variables have one name in the data of programs."""
    owners: dict[str, str] = {name: name for name in variables}
    for name, variable in variables.items():
        sent = variable.sent_as
        if sent is not None and (owner := owners.setdefault(sent, name)) != name:
            what = f'variable "{name}": "{sent}" is the name of "{owner}"'
            problems.add("E306", variable.mark, what, "choose another `sent_as`, the name that programs send")


def check_written(variable: Variable, written: Node, problems: Problems) -> bool:
    """True if YAML has not altered a value that is written for this variable; a problem where it has (1.10, 007)."""
    if isinstance(variable, NumberVariable):
        return True
    before = len(problems)
    refuse_altered(written, problems, number=isinstance(variable, ListVariable | FilesVariable | ObjectVariable))
    return len(problems) == before


def to_fit(variable: Variable, given: object = None, known: Collection[str] = ()) -> str:
    """The fix for a value that does not fit a variable. ``given``: the step's, in a flow with the ``known`` names."""
    if variable.type == BooleanVariable.type:
        return "write true or false"
    calculated = _CALCULATION.match(given) if isinstance(given, str) else None
    if calculated is not None and calculated[1] in {*known, *RESERVED_NAMES}:
        return f'write "{{{{ {given} }}}}" if it is to be calculated'
    return "change the value, or what the variable takes"


_CALCULATION = lazy_pattern(r"([a-z][a-z0-9_]*)(\.\w+)*\s*([-+*/~|].+)?$")


def _starting_at(variable: Variable, initial: Node, problems: Problems) -> Variable:
    if not check_written(variable, initial, problems):
        return variable
    try:
        value = variable.coerce(plain(initial), None)
    except TypeMismatch as error:
        what = f'variable "{variable.name}": its value does not fit: {error}'
        problems.add("E303", initial.mark, what, to_fit(variable))
        return variable
    if isinstance(value, datetime) and value.tzinfo is None:
        what = f'variable "{variable.name}": its value is in no time zone'
        problems.add("E303", initial.mark, what, "write its offset, like 2030-12-31T15:00+02:00")
    return replace(variable, value=value)


VARIABLES: Form[dict[str, Variable]] = map_of(VARIABLE, _read_variables, absent={})
"""Declarations by their names."""
OWN_TYPES: Form[dict[str, Variable]] = map_of(VARIABLE, _read_types, absent={})
"""Types of the bot's own by their names, each with the declaration of its variables."""
