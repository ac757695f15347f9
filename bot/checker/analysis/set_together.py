"""Kept values that are always set together: where one of them has a value, the other has one, too."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING

from bot.checker.analysis.null_effects import Together, VariableSet
from bot.checker.analysis.transfer_functions import EdgeTransfer, bits_of
from bot.checker.graph import Graph, Opening

if TYPE_CHECKING:
    from bot.checker.analysis.definite_assignment import DefiniteAssignment


def set_together(graph: Graph, assigned: "DefiniteAssignment") -> Together:
    """For each kept variable, those that are null wherever it is: whatever gives one of them a value gives it one, too.

    ``assigned`` is the analysis without this knowledge: by it more is null than can be, so that no pair is too many.
    """
    nulls = assigned.nulls
    candidates = nulls.of(*_only_on_edges(graph))
    if candidates.bit_count() < 2:
        return {}
    transfers = [transfer for place in assigned.at for transfer in assigned.transfers(place)]
    given = [(transfer, names) for transfer in transfers if (names := _given(graph, assigned, transfer) & candidates)]
    pairs = {pair for _, names in given for pair in permutations(bits_of(names), 2)}
    for transfer, names in given if pairs else ():
        null = transfer.past(assigned.left(transfer, assigned.rested(transfer.edge.source))).null
        brought = names & ~nulls.of(
            *graph.flow(transfer.edge.source).kept
        )  # kept by a flow that comes later, where it fits
        pairs = {
            (one, other)
            for one, other in pairs
            if not brought & (one | other) and (not (names & (one | other) and other & null) or one & transfer.empties)
        }
    return {other: sum({one for one, each in pairs if each == other}) for _, other in pairs}


def _given(graph: Graph, assigned: "DefiniteAssignment", transfer: EdgeTransfer) -> VariableSet:
    """The variables that may get another value on an edge."""
    edge = transfer.edge
    runs = graph.steps[edge.source].kind.flows_run() if edge.success else ()
    return transfer.names | assigned.nulls.of(*(name for run in runs for name in run.outputs))


def _only_on_edges(graph: Graph) -> set[str]:
    """The kept variables, alike in all flows, that begin as null and get values on edges only: no message, no program and
    no model gives one of them alone.
    """
    flows = graph.library.flows.values()
    variables = [variable for flow in flows for variable in flow.variables.values()]
    found = {variable.name: variable for variable in variables if variable.keep and variable.value is None}
    alone = {
        each.name for each in variables if each.name in found and each != replace(found[each.name], mark=each.mark)
    }
    for flow in flows:
        alone.update(_given_alone(graph, flow.name))
    by_program = {root.place[0] for root in graph.roots if root.opening is Opening.PROGRAM}
    alone.update(name for flow in by_program for name in graph.library.flows[flow].variables)
    alone.update(item.name for root in graph.roots for item in root.inputs)
    return found.keys() - alone


def _given_alone(graph: Graph, name: str) -> Iterator[str]:
    flow = graph.library.flows[name]
    if flow.trigger is not None and flow.trigger.pattern is not None:
        yield from flow.trigger.pattern.groupindex
    yield from (save for slot in flow.slots if (save := flow.steps[slot].options.save) is not None)
    for step in flow.steps.values():
        yield from step.kind.gives
        if step.kind.gives_any:
            yield from flow.variables
