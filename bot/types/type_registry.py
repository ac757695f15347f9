"""All types of variables, and the reading of declarations: ``{type: text, max: 40}``, or the type alone.

A new type is a subclass of `Variable` in a file of its own, and a line in `TYPES`.
"""

from dataclasses import replace
from datetime import datetime

from bot.expressions.filters import FUNCTIONS
from bot.expressions.templates import compile_expression
from bot.keys.fields import Fields, refuse_altered, text_of
from bot.keys.key_schemas import (
    ANY,
    ANY_TEXT,
    BOOLEAN,
    EXPRESSION,
    Schema,
    Schemas,
    by_value,
    choice,
    either,
    one_or_several,
    record,
    shared,
    takes,
)
from bot.lang.problems import Problems, did_you_mean
from bot.lang.source import Map, Node, Scalar, plain
from bot.types.address_types import EmailVariable, PhoneVariable
from bot.types.date_types import DateTimeVariable, DateVariable, TimeVariable
from bot.types.number_types import IntegerVariable, NumberVariable
from bot.types.structured_types import ListVariable, LocationVariable, MediaVariable, ObjectVariable
from bot.types.text_types import ChoiceVariable, TextVariable
from bot.types.variable import Answer, AnswerCheck, Mismatch, Unfit, Variable
from bot.types.yes_no_type import BooleanVariable

__all__ = ["TYPES", "Answer", "Mismatch", "Unfit", "Variable", "read_variable"]

TYPES: dict[str, type[Variable]] = {
    variable.type: variable
    for variable in (
        TextVariable, IntegerVariable, NumberVariable, ChoiceVariable, BooleanVariable, DateVariable, TimeVariable,
        DateTimeVariable, EmailVariable, PhoneVariable, ListVariable, ObjectVariable, MediaVariable, LocationVariable,
    )
}  # fmt: skip
_TYPE = shared("type", choice(*TYPES))
_KEYS: Schemas = {
    "type": takes(_TYPE, "What it holds."),
    "value": takes(ANY, "What it starts at; null if left out."),
    "keep": takes(BOOLEAN, "Whether its value stays with the contact for good, for all flows that declare it so."),
    "optional": takes(BOOLEAN, "Says to the reader that null is expected."),
}
_CHECK: Schemas = {
    "if": takes(EXPRESSION, "What must be true of the answer, which is called it."),
    "error": takes(ANY_TEXT, "What the contact gets where it is not true."),
}
_CHECKS = shared("check", one_or_several(either(EXPRESSION, record(_CHECK, "if"))))
_ANSWERED: Schemas = {
    "check": takes(_CHECKS, "What must be true of an answer."),
    "error": takes(ANY_TEXT, "What the contact gets whose answer does not fit, in place of the question's retry."),
}


def _record_of(declared: type[Variable]) -> Schema:
    keys = {**_KEYS, **declared.keys, **(_ANSWERED if declared.answered else {})}
    return record(keys, "type", *declared.needed)


VARIABLE = shared(
    "variable",
    either(_TYPE, by_value("type", {name: _record_of(declared) for name, declared in TYPES.items()})),
)
TAKEN = frozenset({
    *FUNCTIONS, "contact", "now", "today", "came_from", "message", "it", "loop", "self", "true", "false", "none",
    "and", "or", "not", "in", "is", "if", "else",
})  # fmt: skip


def read_variable(name: str, node: Node, problems: Problems) -> Variable:
    """Read a declaration: ``{type: text, ...}``, or the type alone. What is wrong becomes a problem."""
    what = f'variable "{name}"'
    if isinstance(node, Scalar) and node.value is not None:
        node = Map(node.mark, ((Scalar(node.mark, "type", "type"), node),))
    fields = Fields(node, problems, what, "{type: text}")
    if name in TAKEN:
        problems.add("E306", node.mark, f'{what}: the name "{name}" means something else', "choose another name")
    kind = fields.string("type") if fields.require("type") else None
    declared = TYPES.get(kind or "")
    if declared is None:
        if kind is not None:
            fix = did_you_mean(kind, TYPES, f"write one of {', '.join(TYPES)}")
            problems.add("E304", fields.mark_of("type"), f'{what}: no type "{kind}"', fix)
        fields.close(whole=False)
        return TextVariable(name, node.mark)
    fields.boolean("optional")  # says to the reader that null is expected: every variable may be null
    keep = fields.boolean("keep")
    variable = replace(declared.read(name, None, fields), keep=keep)
    if variable.answered:
        variable = replace(variable, checks=_read_checks(fields), error=fields.template("error"))
    initial = fields.raw("value")
    fields.close()
    return variable if initial is None else _starting_at(variable, initial, problems)


def _read_checks(fields: Fields) -> tuple[AnswerCheck, ...]:
    """``check``: an expression, ``{if, error}``, or a list of these."""
    found = (_read_check(item, fields) for item in fields.one_or_more("check"))
    return tuple(check for check in found if check is not None)


def _read_check(node: Node, fields: Fields) -> AnswerCheck | None:
    what = f"{fields.what}: check"
    if not isinstance(node, Map):
        text = text_of(node, fields.problems, what)
        return None if text is None else AnswerCheck(compile_expression(text, node.mark, fields.problems))
    inner = Fields(node, fields.problems, what)
    inner.require("if")
    condition, error = inner.expression("if"), inner.template("error")
    inner.close()
    return None if condition is None else AnswerCheck(condition, error)


def check_written(variable: Variable, written: Node, problems: Problems) -> bool:
    """Whether YAML has not altered a value that is written for this variable; a problem where it has (1.10, 007)."""
    if isinstance(variable, NumberVariable):
        return True
    before = len(problems)
    refuse_altered(written, problems, number=isinstance(variable, ListVariable | ObjectVariable))
    return len(problems) == before


def _starting_at(variable: Variable, initial: Node, problems: Problems) -> Variable:
    if not check_written(variable, initial, problems):
        return variable
    try:
        value = variable.coerce(plain(initial), None)
    except Mismatch as error:
        what = f'variable "{variable.name}": its value does not fit: {error}'
        problems.add("E303", initial.mark, what, "change one of them")
        return variable
    if isinstance(value, datetime) and value.tzinfo is None:
        what = f'variable "{variable.name}": its value is in no time zone'
        problems.add("E303", initial.mark, what, "write its offset, like 2030-12-31T15:00+02:00")
    return replace(variable, value=value)
