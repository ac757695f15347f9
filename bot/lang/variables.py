"""Reading the declarations of variables."""

from dataclasses import replace
from typing import Any

from bot.lang.fields import Fields
from bot.lang.filters import FUNCTIONS
from bot.lang.nodes import Map, Node, Scalar
from bot.lang.problems import Problems, did_you_mean
from bot.lang.quantities import DateVariable, IntegerVariable, NumberVariable
from bot.lang.structures import ListVariable, MediaVariable, ObjectVariable
from bot.lang.texts import BooleanVariable, ChoiceVariable, EmailVariable, PhoneVariable, TextVariable
from bot.lang.variable import Answer, Mismatch, Unfit, Variable

__all__ = ["TYPES", "Answer", "Mismatch", "Unfit", "Variable", "read_variable"]

TYPES: dict[str, type[Variable]] = {
    variable.type: variable
    for variable in (
        TextVariable, IntegerVariable, NumberVariable, ChoiceVariable, BooleanVariable, DateVariable,
        EmailVariable, PhoneVariable, ListVariable, ObjectVariable, MediaVariable,
    )
}  # fmt: skip
LATER = {"check": "checks of answers", "country": "national numbers"}
TAKEN = frozenset({
    *FUNCTIONS, "contact", "now", "today", "came_from", "it", "loop", "self", "true", "false", "none",
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
    initial = fields.raw("value")
    fields.close(LATER)
    return variable if initial is None else _starting_at(variable, initial, problems)


def _starting_at(variable: Variable, initial: Node, problems: Problems) -> Variable:
    try:
        return replace(variable, value=variable.coerce(_plain(initial), None))
    except Mismatch as error:
        what = f'variable "{variable.name}": its value does not fit: {error}'
        problems.add("E303", initial.mark, what, "change one of them")
        return variable


def _plain(node: Node) -> Any:
    match node:
        case Scalar():
            return node.value
        case Map(entries=entries):
            return {key.text: _plain(value) for key, value in entries}
    return [_plain(item) for item in node.items]
