"""Ways through the graph, linked so that a longer one shares what it begins with."""

from bot.checker.graph import Edge

Trail = tuple["Trail | None", Edge | None, "Trail | None"]
"""What came before, the last edge, and the way through the flow that it ran; without an edge, a way after another."""


def edges_of(trail: Trail | None) -> tuple[Edge, ...]:
    """The edges of a way, from its beginning."""
    found: list[Edge] = []
    stack = [trail]
    while stack:
        here = stack.pop()
        if here is not None:
            before, edge, inner = here
            if edge is not None:
                found.append(edge)
            stack += [before, inner]  # from the end: the inner way comes before its edge
    return tuple(reversed(found))


def begun_with(edge: Edge, inner: Trail | None, onward: Trail | None) -> Trail:
    """The way that begins with an edge and goes on."""
    first = None, edge, inner
    return first if onward is None else (first, None, onward)
