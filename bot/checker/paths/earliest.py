"""Of messages that come too late in the same silence, the first."""

from collections.abc import Collection, Iterable, Mapping

from bot.checker.paths.longest import Longest
from bot.checker.paths.stages import End
from bot.checker.paths.terms import Node, Term


def earliest(longest: Longest, late: Iterable[Node], unsure: Collection[Node]) -> Mapping[Node, Node]:
    """By each late message the first on the longest way to it, which may be itself; of a knot of them, one.

    Those that are ``unsure`` may not be sent at all, so they stand for no other.
    """
    found: dict[Node, Node | None] = {}
    ranks = {node: rank for rank, node in enumerate(node for node in late if node not in unsure)}
    for node in longest.seconds:
        knot = longest.knots.get(node)
        if knot is None:
            found[node] = _on(node, longest.best[node], found, ranks)
        elif node not in found:
            before = _on(None, knot.exit, found, ranks)
            among = (each for each in knot.nodes if each in ranks)
            first = min(among, key=ranks.__getitem__, default=None) if before is None else before
            found.update(dict.fromkeys(knot.nodes, first))
    return {node: _root(node, found) for node in late}


def _on(node: Node | None, term: Term, found: Mapping[Node, Node | None], late: Collection[Node]) -> Node | None:
    """The first late message on the way to a node; or from there to the end of its frame, since the contact spoke."""
    onward, inner = found.get(term.onward), found.get(term.inner)
    parts: tuple[Node | None, ...]
    if not isinstance(node, End):
        parts = (None if term.anew else onward, inner, node)
    elif node.heard:
        spoken_later = isinstance(term.onward, End) and term.onward.heard
        parts = (None if spoken_later else inner, onward)
    else:
        parts = (node.stage, inner, term.edge, onward)
    return next((part for part in parts if part in late), None)


def _root(node: Node, found: Mapping[Node, Node | None]) -> Node:
    """The first of all, where one leads to the other; of a circle of them, where it was come to."""
    passed = [node]
    while (before := found[passed[-1]]) is not None and before not in passed:
        passed.append(before)
    return passed[-1]
