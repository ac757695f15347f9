"""Kept flags: values of a kept variable with which another one surely has a value.

Where `status: sent` is only ever set when `letter` has a value, and `letter` is never taken away alone, a conversation
a week later knows by `status == "sent"` that there is a letter.
"""

from typing import Any

from bot.checker.analysis.definite_assignment import DefiniteAssignment, definite_assignment, only_on_edges
from bot.checker.analysis.transfer_functions import EdgeTransfer
from bot.checker.graph import Graph
from bot.core.immutable import immutable
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.templates import Template
from bot.language.steps.step_facts import Saved
from bot.language.types.variable import Variable

_UNKNOWN = object()


@immutable
class KeptFlag:
    """A value of a kept variable with which the kept variable ``has`` is not null."""

    flag: str
    value: Any
    has: str


def kept_flags(graph: Graph) -> list[KeptFlag]:
    """The flags of a bot: true at the beginning and after each edge. Nulls are overestimated, so each flag is right."""
    kept, assigned = only_on_edges(graph), graph.analysis(definite_assignment)
    found = {
        KeptFlag(flag, value, has)
        for flag, variable in kept.items()
        for value in _values_of(variable)
        for has, other in kept.items()
        if has != flag and other.value is None and value != variable.value
    }
    for transfer in assigned.all_transfers() if found else ():
        found -= {flag for flag in found if _breaks(flag, transfer, graph, assigned)}
        if not found:
            break
    return sorted(found, key=lambda flag: (flag.flag, str(flag.value), flag.has))


def _values_of(variable: Variable) -> tuple[Any, ...]:
    return (True, False) if variable.kind is ValueKind.BOOLEAN else variable.values or ()


def _breaks(flag: KeptFlag, transfer: EdgeTransfer, graph: Graph, assigned: DefiniteAssignment) -> bool:
    """True if the flag may have its value after an edge, and the other variable none."""
    nulls, edge = assigned.nulls, transfer.edge
    names, one, other = assigned.given(transfer), nulls.of(flag.flag), nulls.of(flag.has)
    if not names & (one | other):
        return False
    if names & (one | other) & ~nulls.of(*graph.flow(edge.source).kept):  # kept by a flow that comes later
        return True
    if names & one and _value_after(flag.flag, transfer, graph) not in (_UNKNOWN, flag.value):
        return False
    return bool(assigned.past(transfer).null & other)


def _value_after(name: str, transfer: EdgeTransfer, graph: Graph) -> Any:
    """The value of a variable after an edge that assigns it, where it is written in the flow."""
    edge, step, found = transfer.edge, graph.steps[transfer.edge.source], _UNKNOWN
    outcome = step.outcomes.get(edge.outcome)
    if edge.success and outcome is not None and step.options.save == name and isinstance(outcome.saves, Saved):
        found = _constant(outcome.saves.value)
    for each in graph.assigned_on(edge):
        found = _constant(each.value) if each.name == name else found
    return found


def _constant(value: Any) -> Any:
    if isinstance(value, Template):
        return value.source if value.constant else _UNKNOWN
    return value
