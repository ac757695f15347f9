"""What can be reached from where, over whatever leads on."""

from collections.abc import Callable, Iterable
from typing import TypeVar

Node = TypeVar("Node")


def reached(starts: Iterable[Node], onward: Callable[[Node], Iterable[Node]]) -> dict[Node, None]:
    """The starts and all that they lead to, in the order in which it is found."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    while waiting:
        fresh = [other for other in onward(waiting.pop()) if other not in found]
        found.update(dict.fromkeys(fresh))
        waiting += fresh
    return found
