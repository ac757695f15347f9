"""Edges of the graph: how and why a conversation gets from one step to another; and traversals of them."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from typing import TypeVar

from bot.core.immutable import immutable
from bot.language.source.problems import Mark
from bot.language.steps.transition import BACK, Transition

StepId = tuple[str, str]
"""A flow and one of its steps."""


class Cause(Enum):
    """The causes for which a conversation takes an edge."""

    TURN = "turn"  # nothing: the conversation continues in the same turn
    REPLY = "reply"  # the contact wrote or tapped
    REMINDER = "reminder"  # silence; it keeps waiting
    TIMEOUT = "timeout"  # silence
    TIME = "time"  # a wait is over
    RESULT = "result"  # a call ended
    PERSON = "person"  # a hand-over was closed
    SIGNAL = "signal"  # something has happened outside
    FLOW = "flow"  # a flow that was run has ended
    EXPIRED = "expired"  # ... because nobody answered
    FAILED = "failed"  # ... because a step of it failed

    __hash__ = object.__hash__  # an enum's own is written in Python


AFTER_RUN = (Cause.FLOW, Cause.EXPIRED, Cause.FAILED)
"""The causes of the edges that a step takes when the flow that it ran has ended."""


@immutable(eq=False)
class Edge:
    """One edge from a step. Without a ``target`` the frame ends; with ``ends_all`` all frames end.

    ``enters``: the target is entered and sends its message; otherwise only the transition says something, and the step
    keeps waiting. ``word`` is the word that leads there, if one does. ``fails``: a text or a value fails when the
    step is entered or left; ``idle``: none of them can fail. ``returns``: it leads to a step at which the
    conversation has been before. ``again``: the question is repeated, which is no new visit. ``alone``: it leads to a
    flow below which no other flow waits.
    """

    source: StepId
    target: StepId | None
    outcome: str
    cause: Cause
    mark: Mark
    transition: Transition | None = None
    success: bool = False
    enters: bool = True
    ends_all: bool = False
    word: str | None = None
    fails: bool = False
    idle: bool = False
    returns: bool = False
    again: bool = False
    alone: bool = False

    @property
    def target_text(self) -> str | None:
        """The target that its transition names; None if it names none."""
        return None if self.transition is None else self.transition.target_text

    @property
    def messages(self) -> int:
        """The number of messages that its transition sends."""
        return 0 if self.transition is None else (self.transition.say is not None) + (self.transition.ask is not None)

    @property
    def goes_back(self) -> bool:
        """True if the flows below the step to which it returns are those that were below it before."""
        return self.returns and self.transition is not None

    @property
    def expires(self) -> bool:
        """True if the frame ends here because nobody answered."""
        return self.outcome == "timeout" and self._ends_here

    @property
    def breaks(self) -> bool:
        """True if the frame ends here because its step failed."""
        return self.outcome.startswith("errors.") and self._ends_here

    @property
    def _ends_here(self) -> bool:
        return self.target is None and self.target_text != BACK


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


def cycle_through(place: StepId, edges: Mapping[StepId, Sequence[Edge]], among: Collection[StepId]) -> tuple[Edge, ...]:
    """A shortest path from a step back to itself through some steps; through another step if possible.

    Empty if there is none.
    """
    itself = next((edge for edge in edges[place] if edge.target == place), None)
    entered_by: dict[StepId, Edge] = {}
    waiting = deque([place])
    while waiting:
        here = waiting.popleft()
        for edge in edges[here]:
            if edge.target == place and here != place:
                return (*_path_along(here, place, entered_by), edge)
            if (
                edge.target is not None
                and edge.target in among
                and edge.target not in entered_by
                and edge.target != place
            ):
                entered_by[edge.target] = edge
                waiting.append(edge.target)
    return () if itself is None else (itself,)


def _path_along(end: StepId, start: StepId, entered_by: Mapping[StepId, Edge]) -> tuple[Edge, ...]:
    found: list[Edge] = []
    while end != start:
        found.append(entered_by[end])
        end = entered_by[end].source
    return tuple(reversed(found))


def strongly_connected_components(onward: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """The strongly connected components (Tarjan). A component comes after those that it leads to. Not recursive,
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
            lowest = low[node]
            for other in following:
                if other not in index:
                    low[node] = lowest
                    path.append((other, iter(onward[other])))
                    break
                if index[other] < lowest and other in open_:
                    lowest = index[other]
            else:
                path.pop()
                low[node] = lowest
                if lowest == index[node]:
                    found.append(_taken(node, open_))
                elif lowest < low[path[-1][0]]:
                    low[path[-1][0]] = lowest
    return found


def _taken(node: Node, open_: dict[Node, None]) -> list[Node]:
    component = []
    while True:
        last, _ = open_.popitem()
        component.append(last)
        if last == node:
            return component
