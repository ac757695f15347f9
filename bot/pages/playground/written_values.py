"""Values of variables as a person writes them on the page: typed by the variable's declaration."""

import json
from typing import Any

from bot.core.immutable import immutable
from bot.core.session import Session
from bot.core.values import json_default
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.formats import shown
from bot.language.flow.library import Library
from bot.language.types.type_registry import Variable
from bot.pages.playground.refused import Refused

NOT_WRITTEN = ("media", "answer")
"""Types of which no value can be written."""
_EXAMPLES = {
    ValueKind.LIST: '["one", 2]',
    ValueKind.RECORD: '{"name": "Ann"}',
    ValueKind.PLACE: '{"latitude": 38.7, "longitude": -9.1}',
}
"""The kinds of values that are written as JSON, each with an example."""


@immutable
class WrittenValue:
    """A variable with its value as a text. ``choices`` are all of its values, where there are few."""

    flow: str
    variable: Variable
    text: str
    choices: tuple[str, ...] = ()

    @property
    def is_json(self) -> bool:
        """True if it is written as JSON."""
        return self.variable.kind in _EXAMPLES


def declared_in(library: Library) -> dict[str, dict[str, str]]:
    """The variables that can be written, by the flows that declare them; those with `keep` also under the name ``""``.

    Each with the flow that declares it.
    """
    found: dict[str, dict[str, str]] = {"": {}}
    for flow in library.flows.values():
        written = {name for name, variable in flow.variables.items() if variable.type not in NOT_WRITTEN}
        found[flow.name] = dict.fromkeys(written - flow.kept.keys(), flow.name)
        found[""] |= dict.fromkeys(written & flow.kept.keys(), flow.name)
    return found


def written_value(library: Library, session: Session, flow: str, name: str) -> WrittenValue:
    """A variable of a flow with its value in the innermost frame of that flow.

    Raises `Refused` for one that is not there.
    """
    variable = _declared(library, flow, name)
    frame = next((frame for frame in reversed(session.frames) if frame.flow == flow), None)
    values = session.kept_variables if variable.keep or frame is None else frame.vars
    choices = tuple(shown(value) for value in variable.values or ())
    return WrittenValue(flow, variable, _text_of(variable, values.get(name, variable.value)), choices)


def _text_of(variable: Variable, value: Any) -> str:
    if value is None:
        return ""
    if variable.kind in _EXAMPLES:
        return json.dumps(value, default=json_default, ensure_ascii=False)
    return value.isoformat(" ", "minutes") if variable.type == "datetime" else shown(value)


def read_value(library: Library, flow: str, name: str, text: str) -> Any:
    """Read a variable's value from a text: empty is null; a list, an object or a place is JSON. Raises `Refused`."""
    variable = _declared(library, flow, name)
    if not text.strip():
        return None
    if variable.kind not in _EXAMPLES:
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Refused(
            f"write {name} as JSON, such as {_EXAMPLES[variable.kind]}: it is of type {variable.type}"
        ) from None


def _declared(library: Library, flow: str, name: str) -> Variable:
    variable = library.flows[flow].variables.get(name) if flow in library.flows else None
    if variable is None or variable.type in NOT_WRITTEN:
        raise Refused(f"flow {flow} has no variable {name} that can be written")
    return variable
