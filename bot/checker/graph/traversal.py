"""Traversals of a graph: what can be reached, cycles, and strongly connected components."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeVar

from bot.checker.graph.edges import Edge, Place

Node = TypeVar("Node")


def reachable(starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """The starts and all that can be reached from them, in the order in which it is found."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    while waiting:
        fresh = [other for other in onward(waiting.pop()) if other not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return found


def cycle_through(place: Place, edges: Mapping[Place, Sequence[Edge]], among: Collection[Place]) -> tuple[Edge, ...]:
    """A shortest path from a step back to itself through some steps; through another step if possible. Empty: there is none."""
    itself = next((edge for edge in edges[place] if edge.target == place), None)
    came: dict[Place, Edge] = {}
    waiting = deque([place])
    while waiting:
        here = waiting.popleft()
        for edge in edges[here]:
            if edge.target == place and here != place:
                return (*_way(here, place, came), edge)
            if edge.target is not None and edge.target in among and edge.target not in came and edge.target != place:
                came[edge.target] = edge
                waiting.append(edge.target)
    return () if itself is None else (itself,)


def _way(end: Place, start: Place, came: Mapping[Place, Edge]) -> tuple[Edge, ...]:
    found: list[Edge] = []
    while end != start:
        found.append(came[end])
        end = came[end].source
    return tuple(reversed(found))


def strongly_connected_components(onward: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """The strongly connected components (Tarjan). A component stands behind those that it leads to. Not recursive,
    because graphs can be deep.
    """
    index: dict[Node, int] = {}
    low: dict[Node, int] = {}
    open_: dict[Node, None] = {}
    found: list[list[Node]] = []
    for root in onward:
        path = [] if root in index else [(root, iter(onward[root]))]
        while path:
            node, following = path[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_[node] = None
            further = next((other for other in following if other not in index or other in open_), None)
            if further is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    found.append(_taken(node, open_))
            elif further in index:
                low[node] = min(low[node], index[further])
            else:
                path.append((further, iter(onward[further])))
    return found


def _taken(node: Node, open_: dict[Node, None]) -> list[Node]:
    component = []
    while True:
        last, _ = open_.popitem()
        component.append(last)
        if last == node:
            return component
