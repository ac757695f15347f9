"""W307: values that go into a flow which never reads them."""

from collections.abc import Iterator

from bot.checker.findings import Finding
from bot.checker.graph import Graph, Place, Root
from bot.checker.graph.traversal import reachable
from bot.flow.definition import Flow, uses_of_flow


def find_unused(graph: Graph) -> Iterator[Finding]:
    """Inputs of flows, in a bot whose own Python is told of no variables."""
    if not graph.library.hooks:
        inputs = _Inputs(graph)
        for root in graph.roots:
            if root.by is not None:
                yield from inputs.unread(root, root.by)


class _Inputs:
    """What goes into flows, and what they read."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._read = {flow.name: set(_read_in(flow)) for flow in graph.library.flows.values()}
        for run in (run for step in graph.steps.values() for run in step.kind.flows_run()):
            self._read[run.flow].update(run.outputs.values())

    def unread(self, root: Root, by: Place) -> Iterator[Finding]:
        """What neither the flow that a step opens looks at, nor any that it goes over to."""
        flows = reachable([root.place[0]], self._graph.crossed.__getitem__) if root.inputs else ()
        for item in root.inputs:
            if not any(item.name in self._read[name] for name in flows):
                what = f'step "{by[1]}": flow {root.place[0]} never reads "{item.name}"'
                yield Finding.at("W307", item.mark, what, "leave it out, or let a step of that flow read it")


def _read_in(flow: Flow) -> Iterator[str]:
    """What texts and expressions look at, and what models are told of."""
    for used in uses_of_flow(flow):
        yield from used.text.names
    for step in flow.steps.values():
        yield from (need.variable for need in step.kind.needs())
        yield from step.kind.gives if step.kind.asks_models else ()
