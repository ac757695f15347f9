"""W101 and W102: steps that no customer reaches, and conversations that no customer can end."""

from collections.abc import Iterator

from bot.checker.analysis.reachability import Reachability
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, Place
from bot.checker.graph.traversal import cycle_through, reachable


@rule(W101="a step that nobody reaches", W102="a conversation that never ends")
def find_ends(graph: Graph) -> Iterator[Finding]:
    """Find steps that no conversation reaches, and steps from which no conversation can end."""
    reachability = graph.analysis(Reachability)
    yield from _unreached(graph, reachability)
    yield from _endless(graph, reachability)


def _unreached(graph: Graph, reachability: Reachability) -> Iterator[Finding]:
    """The steps that no conversation reaches. Of several that lead to each other, only the first."""
    unreached = [place for place in graph.steps if place not in reachability.reached]
    among = set(unreached)
    heads = [
        place for place in unreached if all(e.source == place or e.source not in among for e in graph.edges_to[place])
    ]
    reported: set[Place] = set()
    for place in (*heads, *unreached):
        if place not in reported:
            reported.update(
                reachable([place], lambda here: (other for other in _led_to(here, graph) if other not in reported))
            )
            step = graph.steps[place]
            yield Finding.at("W101", step.mark, f'nobody reaches step "{step.name}"', _why(place, graph, reachability))


def _led_to(place: Place, graph: Graph) -> Iterator[Place]:
    """The steps to which a step leads, and the flows that it runs or schedules: nobody reaches them either."""
    yield from (edge.target for edge in graph.edges[place] if edge.target is not None)
    yield from (root.place for root in graph.roots_by.get(place, ()))


def _why(place: Place, graph: Graph, reachability: Reachability) -> str:
    """What to do about it. After a run, the flow that is run never ends in this way."""
    runs = [edge.source for edge in graph.edges_to[place] if not reachability.can_be_taken(edge)]
    if runs:
        flow = next(graph.steps[runs[0]].kind.flows_run()).flow
        return f'let flow {flow}, which step "{runs[0][1]}" runs, end'
    return "let something lead to it, or take it out"


def _endless(graph: Graph, reachability: Reachability) -> Iterator[Finding]:
    """The steps at which a conversation goes round for ever: no path leads to an end, whatever anybody does."""
    stuck = {place for place in reachability.reached if not reachability.can_end(place)}
    reported: set[Place] = set()
    for place in (place for place in graph.steps if place in stuck):
        cycle = None if place in reported else cycle_through(place, graph.edges, stuck)
        if cycle:
            reported |= _around(place, graph, stuck)
            step = graph.steps[place]
            names = " -> ".join([edge.source[1] for edge in cycle] + [cycle[-1].target[1] if cycle[-1].target else ""])
            what = f'a conversation at step "{step.name}" never ends: {names}'
            fix = "let a time-out, an answer or a word lead to `end`"
            yield Finding.at("W102", step.mark, what, fix, (*reachability.path_to(place), *cycle))


def _around(place: Place, graph: Graph, stuck: set[Place]) -> set[Place]:
    """The other such steps of the same cycle: one report is enough for all."""

    def near(here: Place) -> Iterator[Place]:
        others = [e.target for e in graph.edges[here]] + [e.source for e in graph.edges_to[here]]
        return (other for other in others if other in stuck)

    return set(reachable([place], near))
