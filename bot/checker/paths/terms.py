"""What a time is made of that depends on other times."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

from bot.checker.graph import Edge

DAY = 24 * 3600.0
UNBOUNDED = 1e12
"""Seconds: for ever. A number, so that it can be added to and multiplied."""

Node = Hashable
"""What takes time."""


class Term(NamedTuple):
    """One of the ways in which a node takes time: so many seconds, what ``onward`` takes, and ``times`` what ``inner``
    does. It can be only where both of them can.

    ``edge`` is what is taken, if any. ``anew``: the contact says something, so what ``onward`` takes does not count.
    ``opens``: it leads into another frame, where visits are counted anew.
    """

    seconds: float = 0.0
    onward: Node | None = None
    inner: Node | None = None
    times: int = 1
    edge: Edge | None = None
    anew: bool = False
    opens: bool = False

    @property
    def counted(self) -> tuple[Node, ...]:
        """The nodes whose time counts."""
        onward = () if self.onward is None or self.anew else (self.onward,)
        return onward if self.inner is None or not self.times else (*onward, self.inner)


def by_node(terms: Iterable[tuple[Node, Term]]) -> dict[Node, list[Term]]:
    """The terms of each node."""
    found: dict[Node, list[Term]] = {}
    for node, term in terms:
        found.setdefault(node, []).append(term)
    return found
