"""W101 and W102: steps that nobody reaches, and conversations that cannot end."""

from collections.abc import Iterator

from bot.checker.analysis.reachability import Reachability
from bot.checker.findings import Finding, rule
from bot.checker.graph import Graph, Place
from bot.checker.graph.traversal import cycle_through, reachable


@rule(W101="a step that nobody reaches", W102="a conversation that never ends")
def find_ends(graph: Graph) -> Iterator[Finding]:
    """Steps that no conversation comes to, and those from which none comes to an end."""
    passing = graph.fact(Reachability)
    yield from _unreached(graph, passing)
    yield from _endless(graph, passing)


def _unreached(graph: Graph, passing: Reachability) -> Iterator[Finding]:
    """Of several that lead to each other, the first."""
    lost = [place for place in graph.steps if place not in passing.reached]
    among = set(lost)
    heads = [place for place in lost if all(e.source == place or e.source not in among for e in graph.edges_to[place])]
    told: set[Place] = set()
    for place in (*heads, *lost):
        if place not in told:
            told.update(reachable([place], lambda here: (other for other in _led_to(here, graph) if other not in told)))
            step = graph.steps[place]
            yield Finding.at("W101", step.mark, f'nobody reaches step "{step.name}"', _why(place, graph, passing))


def _led_to(place: Place, graph: Graph) -> Iterator[Place]:
    """What a step leads to, runs and schedules: all that is lost with it."""
    yield from (edge.target for edge in graph.edges[place] if edge.target is not None)
    yield from (root.place for root in graph.roots_by.get(place, ()))


def _why(place: Place, graph: Graph, passing: Reachability) -> str:
    """What to do: where it would follow a run, that flow is what never gets there."""
    runs = [edge.source for edge in graph.edges_to[place] if not passing.passable(edge)]
    if runs:
        flow = next(graph.steps[runs[0]].kind.flows_run()).flow
        return f'let flow {flow}, which step "{runs[0][1]}" runs, come to an end'
    return "let something lead to it, or take it out"


def _endless(graph: Graph, passing: Reachability) -> Iterator[Finding]:
    """Where a conversation goes round for ever: there is no way to an end, whatever anybody does."""
    stuck = {place for place in passing.reached if not passing.can_end(place)}
    told: set[Place] = set()
    for place in (place for place in graph.steps if place in stuck):
        circle = None if place in told else cycle_through(place, graph.edges, stuck)
        if circle:
            told |= _around(place, graph, stuck)
            step = graph.steps[place]
            names = " -> ".join(
                [edge.source[1] for edge in circle] + [circle[-1].target[1] if circle[-1].target else ""]
            )
            what = f'a conversation at step "{step.name}" never ends: {names}'
            fix = "let a time-out, an answer or a word lead to `end`"
            yield Finding.at("W102", step.mark, what, fix, (*passing.way_to(place), *circle))


def _around(place: Place, graph: Graph, stuck: set[Place]) -> set[Place]:
    """The stuck steps that lead to each other: one report is enough for them."""

    def near(here: Place) -> Iterator[Place]:
        others = [e.target for e in graph.edges[here]] + [e.source for e in graph.edges_to[here]]
        return (other for other in others if other in stuck)

    return set(reachable([place], near))
