"""What a model notes of what a contact says: values of the flow's variables, under the rules of answers."""

from collections.abc import Collection, Mapping
from typing import Any

from bot.core.text import without_controls
from bot.keys.fields import Fields
from bot.lang.problems import did_you_mean
from bot.steps.kind import StepContext
from bot.types.structured_types import ListVariable, LocationVariable, MediaVariable, ObjectVariable
from bot.types.type_registry import Answer, Mismatch, Unfit, Variable

# nothing that somebody says becomes one of these
STRUCTURES = (ListVariable, ObjectVariable, MediaVariable, LocationVariable)


def read_fill(fields: Fields, variables: Mapping[str, Variable]) -> dict[str, str]:
    """Read `fill`: for each variable that the model may note, what it is."""
    inner = fields.fields("fill")
    if inner is None:
        return {}
    fill: dict[str, str] = {}
    for name, _ in inner.entries():
        about = inner.string(name.text)
        variable = variables.get(name.text)
        if variable is None:
            fix = did_you_mean(name.text, variables, f"declare it under vars: {name.text}: {{type: text}}")
            fields.problems.add("E301", name.mark, f'{fields.what}: fill: no variable "{name.text}"', fix)
        elif isinstance(variable, STRUCTURES):
            what = f'{fields.what}: fill: no text becomes "{name.text}", its type is {variable.type}'
            fields.problems.add("E303", name.mark, what, "note texts, numbers, dates and choices")
        elif about is not None:
            fill[name.text] = about
    return fill


def noted(arguments: Mapping[str, Any], names: Collection[str], context: StepContext) -> tuple[dict[str, Any], str]:
    """The values that fit their variables, and in words for the model what is wrong with the others."""
    values, wrong = {}, []
    for name, value in arguments.items():
        if value is None or value == "":
            continue
        if name not in names:
            wrong.append(f"There is nothing called {name} to note.")
            continue
        variable = context.variables[name]
        try:
            values[name] = _accepted(variable, value, context)
        except (Unfit, Mismatch) as error:
            example = getattr(variable, "example", None)
            wrong.append(f"{name} does not fit: {error}{f', like {example}' if example else ''}. Ask for it.")
    return values, " ".join(wrong)


def _accepted(variable: Variable, value: Any, context: StepContext) -> Any:
    if isinstance(value, str | int | float):
        text = str(value).lower() if isinstance(value, bool) else without_controls(str(value))
        return variable.accept(Answer(text), context.now, context.scope)
    return variable.coerce(value, context.now)
