"""Reading the declarations of variables."""

from dataclasses import replace
from datetime import datetime

from bot.lang.addresses import EmailVariable, PhoneVariable
from bot.lang.fields import Fields
from bot.lang.filters import FUNCTIONS
from bot.lang.moments import DateTimeVariable, DateVariable, TimeVariable
from bot.lang.nodes import Map, Node, Scalar, plain
from bot.lang.problems import Problems, did_you_mean
from bot.lang.quantities import IntegerVariable, NumberVariable
from bot.lang.scalars import text_of
from bot.lang.structures import ListVariable, LocationVariable, MediaVariable, ObjectVariable
from bot.lang.templates import compile_expression
from bot.lang.texts import BooleanVariable, ChoiceVariable, TextVariable
from bot.lang.variable import Answer, Check, Mismatch, Unfit, Variable

__all__ = ["TYPES", "Answer", "Mismatch", "Unfit", "Variable", "read_variable"]

TYPES: dict[str, type[Variable]] = {
    variable.type: variable
    for variable in (
        TextVariable, IntegerVariable, NumberVariable, ChoiceVariable, BooleanVariable, DateVariable, TimeVariable,
        DateTimeVariable, EmailVariable, PhoneVariable, ListVariable, ObjectVariable, MediaVariable, LocationVariable,
    )
}  # fmt: skip
TAKEN = frozenset({
    *FUNCTIONS, "contact", "now", "today", "came_from", "message", "it", "loop", "self", "true", "false", "none",
    "and", "or", "not", "in", "is", "if", "else",
})  # fmt: skip


def read_variable(name: str, node: Node, problems: Problems) -> Variable:
    """Read a declaration: ``{type: text, ...}``, or the type alone. What is wrong becomes a problem."""
    what = f'variable "{name}"'
    if isinstance(node, Scalar) and node.value is not None:
        node = Map(node.mark, ((Scalar(node.mark, "type", "type"), node),))
    fields = Fields(node, problems, what)
    if name in TAKEN:
        problems.add("E306", node.mark, f'{what}: the name "{name}" means something else', "choose another name")
    kind = fields.string("type") if fields.require("type") else None
    declared = TYPES.get(kind or "")
    if declared is None:
        if kind is not None:
            fix = did_you_mean(kind, TYPES, f"write one of {', '.join(TYPES)}")
            problems.add("E304", fields.mark_of("type"), f'{what}: no type "{kind}"', fix)
        return TextVariable(name, node.mark)
    fields.boolean("optional")  # says to the reader that null is expected: every variable may be null
    keep = fields.boolean("keep")
    variable = replace(declared.read(name, None, fields), keep=keep)
    if variable.answered:
        variable = replace(variable, checks=_read_checks(fields), error=fields.template("error"))
    initial = fields.raw("value")
    fields.close()
    return variable if initial is None else _starting_at(variable, initial, problems)


def _read_checks(fields: Fields) -> tuple[Check, ...]:
    """``check``: an expression, ``{if, error}``, or a list of these."""
    found = (_read_check(item, fields) for item in fields.one_or_more("check"))
    return tuple(check for check in found if check is not None)


def _read_check(node: Node, fields: Fields) -> Check | None:
    what = f"{fields.what}: check"
    if not isinstance(node, Map):
        text = text_of(node, fields.problems, what)
        return None if text is None else Check(compile_expression(text, node.mark, fields.problems))
    inner = Fields(node, fields.problems, what)
    inner.require("if")
    condition, error = inner.expression("if"), inner.template("error")
    inner.close()
    return None if condition is None else Check(condition, error)


def _starting_at(variable: Variable, initial: Node, problems: Problems) -> Variable:
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
