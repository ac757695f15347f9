"""Silent time: how long a contact may have been silent when a conversation reaches a step, on the longest path to it.

The constraints come from the edges. If a step runs a flow, the time that this flow takes is summarised at its ends
(`SubFlowSummaries`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bot.checker.analysis.longest_paths import UNBOUNDED, Constraint, LongestPaths, Node, Path, after, by_node
from bot.checker.analysis.reachability import Reachability
from bot.checker.analysis.timed_graph import (
    EndNode,
    Ends,
    StepNode,
    StepNodes,
    TimedEdge,
    keeps_waiting,
    speaks,
    steps_of_run,
    timed_edges,
    waits_during_run,
)
from bot.checker.graph import Cause, Edge, Graph, Opening, Root, StepId
from bot.checker.graph.edges import reachable
from bot.core.session import CUTS_IN, SENDING_WINDOW

Sender = StepId | Edge
"""A sender of messages: a step, or an edge with a text."""

_MOST_SHOWN = 800  # steps and edges of a path; in longer ones the flows that run in between are left out
_LAST_IN_WINDOW = SENDING_WINDOW.total_seconds() - 1
_MOST_FRAMES = 10  # on top of each other, on one path


class SilentTimes:
    """The longest silence at which each step is reached, and at which each edge is taken that sends something."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = graph.analysis(StepNodes)
        self.timed_edges = timed_edges(graph)
        self._summaries = SubFlowSummaries(graph, self.timed_edges, self._nodes)
        constraints = by_node((*self._summaries.constraints(), *self._constraints()))
        self._longest = LongestPaths(constraints, dict((*self._nodes.bounds.items(), *self._summaries.bounds())))

    def before(self, sender: Sender) -> float | None:
        """The longest silence in seconds at which something is sent; None: it is never sent."""
        return self._longest.seconds.get(self._node(sender))

    def first(self, late: Iterable[Sender]) -> Mapping[Sender, Sender]:
        """For each message that may come too late, the first such message since the contact's last one, on the
        longest path to it.

        A message that a limit of visits may skip is perhaps not sent at all, so it stands for no other.
        """
        unsure = {sending for entered, sending in self._nodes.entered() if self._nodes.skips(entered.place)}
        senders = {self._node(sender): sender for sender in late}
        passed = _FirstOnPaths(self._longest, senders.keys() - unsure)
        before = {node: passed.first(node) or node for node in senders}
        return {sender: senders[_last(node, before)] for node, sender in senders.items()}

    def path_to(self, sender: Sender) -> tuple[Edge, ...]:
        """A path from a root on which the silence is as long; for an unbounded silence, about a day."""
        node = self._node(sender)
        since = [each for each in self._in_order(node) if isinstance(each, Edge)]
        heard_at = self._longest.path(node)[-1][1].onward
        before = heard_at.place if isinstance(heard_at, StepNode) else None
        return (*self._graph.analysis(Reachability).path_to(before), *since)

    def _node(self, sender: Sender) -> Node:
        return sender if isinstance(sender, Edge) else self._nodes.sending(sender)

    def _in_order(self, node: Node) -> list[Node | None]:
        """The nodes and edges of a longest path to a node, in order."""
        found: list[Node | None] = []
        _add_path(self._longest, self._longest.path(node), found, 0)
        return found

    # -- the constraints --------------------------------------------------------------------------------------------

    def _constraints(self) -> Iterator[tuple[Node, Constraint]]:
        for root in self._graph.roots:
            yield from self._root_constraints(root)
        for several in self.timed_edges.values():
            for timed in several:
                yield from self._edge_constraints(timed)
        yield from ((sending, Constraint(onward=entered)) for entered, sending in self._nodes.entered())
        yield from self._return_constraints()

    def _root_constraints(self, root: Root) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of a frame's first step. When a scheduled flow is due follows from the edges of the step
        that schedules it.
        """
        first = self._nodes.first(root.place)
        if root.by is None:
            if root.opening is not Opening.TAP:  # a tap returns to a step at which the conversation has been
                yield first, Constraint(0.0 if root.opening in _SPOKEN else UNBOUNDED)
            return
        by = self._nodes.sending(root.by)
        if root.opening is Opening.PLAN:
            yield first, Constraint(onward=_due(root))
            if root.busy in _FREE:
                yield _due(root), Constraint(onward=_FREE[root.busy], inner=by, times=0, opens=True)
        else:
            yield first, Constraint(onward=by, opens=True)
            if any(run[0] == root.place and run[1] > 1 for timed in self.timed_edges[root.by] for run in timed.runs):
                for end in self._nodes.every(root.place)[False]:  # of the elements before
                    yield first, Constraint(onward=by, inner=end, anew=end.heard, opens=True)

    def _edge_constraints(self, timed: TimedEdge) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of an edge and of the steps that it leads to.

        An edge on which something is sent is a node of its own.
        """
        edge, taken = timed.edge, list(self._taken(timed))
        if speaks(edge) or edge.returns:
            yield from ((edge, each) for each in taken)
            met = self._nodes.first(edge.target) if edge.target is not None and edge.returns else None
            taken = [Constraint(onward=edge, inner=met, times=0)]
        if edge.target is None or edge.cause in (Cause.PERSON, Cause.SIGNAL):
            yield from ((_FREE["after" if edge.target is None else "interrupt"], constraint) for constraint in taken)
        if not keeps_waiting(edge):
            yield from ((after, constraint) for after in self._nodes.after(edge) for constraint in taken)
        for root in self._graph.roots_by.get(edge.source, ()) if edge.success else ():
            if root.opening is Opening.PLAN:
                after = UNBOUNDED if root.after is None else root.after.total_seconds()
                yield from (
                    (_due(root), constraint._replace(seconds=constraint.seconds + after, opens=True))
                    for constraint in taken
                )

    def _taken(self, timed: TimedEdge) -> Iterator[Constraint]:
        """The constraints under which an edge is taken."""
        edge, here = timed.edge, self._nodes.of(timed.edge)
        if edge.cause is Cause.REPLY:
            yield Constraint(timed.seconds, here, edge=edge, anew=True)
        elif timed.in_window:
            yield Constraint(_LAST_IN_WINDOW, here, edge=edge, anew=True)
        elif edge.cause is Cause.SIGNAL and any(self._graph.steps[edge.source].facts.flows_run):
            for place, seconds in waits_during_run(self._graph, edge.source):
                yield Constraint(seconds, self._nodes.sending(place), edge=edge)
        elif timed.runs:
            for ends in self._summaries.run(timed):
                yield from (Constraint(onward=here, inner=end, edge=edge, anew=end.heard) for end in ends)
        else:
            yield Constraint(timed.seconds, here, edge=edge)
            if self._waits_on(edge.source):  # its clock begins anew when the flow above has ended
                yield Constraint(timed.seconds, here, _over(edge.source[0]), edge=edge, anew=True)
                yield Constraint(timed.seconds, _PLANNED, here, times=0, edge=edge)

    def _waits_on(self, place: StepId) -> bool:
        """True if a step that is interrupted is not entered again afterwards."""
        return self._graph.takes_words(place) and self._graph.flow(place).interrupted == "wait"

    def _return_constraints(self) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of questions that are asked again after an interruption or a scheduled flow."""
        for flow in self._graph.library.flows.values():
            if flow.interrupted in ("resume", "ask", "wait"):
                for place in self._interrupting(flow.name):
                    ends = self._nodes.first(place).ends
                    over = (*ends[False], *(ends[True] if flow.interrupted == "wait" else ()))
                    yield from ((_over(flow.name), Constraint(inner=end)) for end in over)
        for root in self._graph.roots:
            if root.busy in CUTS_IN and (root.busy != "notice" or self._asks(root.place)):
                for end in self._nodes.first(root.place).ends[False]:
                    yield _PLANNED, Constraint(onward=_due(root), inner=end, anew=end.heard, opens=True)
        for place in filter(self._graph.takes_words, self._graph.steps):
            if self._waits_on(place):
                continue
            here = self._nodes.sending(place)
            if self._graph.may_be_interrupted(place):
                yield here, Constraint(onward=here, inner=_over(place[0]), anew=True)
            yield here, Constraint(onward=_PLANNED, inner=here, times=0)

    def _asks(self, first: StepId) -> bool:
        """True if a flow that begins here may ask something: the question below is asked again then."""
        return any(self._graph.steps[place].facts.waits for place in steps_of_run(self._graph, [first]))

    def _interrupting(self, flow: str) -> Iterator[StepId]:
        """The first steps of the flows that can interrupt this one. A flow that is open below it cannot."""
        never = {flow, *self._graph.below[flow]}
        return (place for place in self._graph.interrupters if place[0] not in never)


_SPOKEN = (Opening.WORDS, Opening.WORD, Opening.INTERRUPTION)


_PLANNED = "planned"
"""The node for the end of a scheduled flow that has interrupted another one."""
_FREE = {
    "after": "in no flow",
    "interrupt": "not with a person",
    "notice": "not with a person",
    "replace": "not with a person",
}
"""The nodes for the moment at which a scheduled flow need not wait any longer, by what it does while the contact is
busy.
"""


def _due(root: Root) -> Node:
    """The node for the moment at which a scheduled flow can begin."""
    return "due", root.place, root.busy


def _over(flow: str) -> Node:
    """The node for the end of the flows that have interrupted a flow."""
    return "over", flow


_OPENING = (Opening.RUN, Opening.INTERRUPTION, Opening.PLAN)
"""Openings of frames on top of others. The frames below continue when these have ended."""


class SubFlowSummaries:
    """The time from each step to the end of its frame: without a word of the contact, and since their last word."""

    def __init__(self, graph: Graph, timed_edges: Mapping[StepId, tuple[TimedEdge, ...]], nodes: StepNodes) -> None:
        self._graph = graph
        self._timed_edges = timed_edges
        self._nodes = nodes

    def constraints(self) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of the ends of frames."""
        for place in self._in_frames():
            for timed in self._timed_edges[place]:
                yield from self._edge_constraints(timed)
        for entered, sending in self._nodes.entered():
            for ends, further in zip(entered.ends, sending.ends, strict=True):
                yield from ((end, Constraint(onward=onward)) for end, onward in zip(ends, further, strict=True))
        for opened, most in {run for several in self._timed_edges.values() for each in several for run in each.runs}:
            if most > 1:
                yield from self._element_constraints(opened, most - 1)

    def bounds(self) -> Iterator[tuple[Node, int]]:
        """The most visits of each step on the path to an end."""
        for step_node, most in self._nodes.bounds.items():
            yield from ((end, most) for ends in step_node.ends for end in ends)

    def run(self, timed: TimedEdge) -> Iterator[Ends]:
        """The ends of the flows that run before an edge, as far as the edge follows them."""
        for opened, most in timed.runs:
            ends = self._nodes.every(opened) if most > 1 else self._nodes.first(opened).ends
            yield ends[timed.edge.cause is not Cause.FLOW]

    def _in_frames(self) -> list[StepId]:
        """The steps that such frames reach."""
        opened = [root.place for root in self._graph.roots if root.opening in _OPENING]
        return list(reachable([*opened, *self._graph.interrupters], self._targets))

    def _targets(self, place: StepId) -> Iterator[StepId]:
        return (timed.edge.target for timed in self._timed_edges[place] if timed.edge.target is not None)

    def _edge_constraints(self, timed: TimedEdge) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of an edge: it leads to the end of its frame, or to another step. An edge that returns to a
        flow below, or ends all flows below, does neither.
        """
        edge, here = timed.edge, self._nodes.of(timed.edge).ends
        if edge.target is None and not edge.ends_all:
            yield from self._link(timed, here[edge.expires or edge.breaks], (None, None))
        elif edge.target is not None and not edge.alone and edge.target[0] not in self._graph.below[edge.source[0]]:
            for after in self._nodes.after(edge):
                yield from self._link(timed, here[False], after.ends[False])
                yield from self._link(timed, here[True], after.ends[True])

    def _link(
        self, timed: TimedEdge, here: Ends, after: tuple[EndNode | None, EndNode | None]
    ) -> Iterator[tuple[Node, Constraint]]:
        edge, (silent, heard), (quietly, later) = timed.edge, here, after
        if edge.cause is Cause.REPLY:
            yield heard, Constraint(timed.seconds, quietly, edge=edge)
        if timed.in_window:  # however long it took, the last word of the contact is not older than this
            yield heard, Constraint(_LAST_IN_WINDOW, quietly, edge=edge)
            if later is not None:
                yield heard, Constraint(onward=later, edge=edge)
            return
        for inner, spoken in self.run(timed):
            yield silent, Constraint(onward=quietly, inner=inner, edge=edge)
            yield heard, Constraint(onward=quietly, inner=spoken, edge=edge)
            if later is not None:
                yield heard, Constraint(onward=later, inner=inner, times=0, edge=edge)
                yield heard, Constraint(onward=later, inner=spoken, times=0, edge=edge)
        if timed.runs or keeps_waiting(edge):
            return
        if edge.cause is not Cause.REPLY:
            yield silent, Constraint(timed.seconds, quietly, edge=edge)
        if later is not None:
            yield heard, Constraint(onward=later, edge=edge)

    def _element_constraints(self, opened: StepId, more: int) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of a flow that runs once for each element of a list: for no element, or for one and some
        more. The last run may expire.
        """
        ends, every = self._nodes.first(opened).ends, self._nodes.every(opened)
        (end, end_heard), (_, expires_heard) = ends
        yield every[False][0], Constraint()
        for once, all_of_them in zip((*ends[False], *ends[True]), (*every[False], *every[True]), strict=True):
            yield all_of_them, Constraint(onward=once, opens=True)
            if once is not expires_heard:
                yield all_of_them, Constraint(onward=once, inner=end, times=more, opens=True)
        yield every[True][1], Constraint(onward=every[True][0], inner=end_heard, opens=True)


def _add_path(longest: LongestPaths, path: Path, found: list[Node | None], shown: int) -> None:
    """Add the nodes and edges of a path in the order in which a conversation passes them. ``shown`` are before them."""
    for node, constraint in reversed(path):
        _add_run(longest, constraint, found, shown, 0)
        if not isinstance(node, Edge):  # an edge with a text is a node itself
            found.append(constraint.edge)
        found.append(node)


def _add_run(longest: LongestPaths, constraint: Constraint, found: list[Node | None], shown: int, depth: int) -> None:
    """Add the nodes and edges of the flow that runs in between, from its beginning to its end."""
    runs = constraint.inner is not None and not isinstance(constraint.inner, StepNode)
    if runs and depth < _MOST_FRAMES and shown + len(found) < _MOST_SHOWN:
        for node, inner in longest.path(constraint.inner):
            if isinstance(node, EndNode):
                found.append(node.step_node)
            _add_run(longest, inner, found, shown, depth + 1)
            found.append(inner.edge)


class _FirstOnPaths:
    """The first of some nodes on longest paths since the contact's last message. A part that several paths have in
    common is followed once.
    """

    def __init__(self, longest: LongestPaths, nodes: Collection[Node]) -> None:
        self._longest = longest
        self._nodes = nodes
        self._known: dict[Node | None, tuple[int, Node | None]] = {None: (0, None)}  # the path's length, and the first

    def first(self, node: Node) -> Node | None:
        """The first on the longest path to a node; None if none of them is on it."""
        beginnings: list[Path] = []
        here: Node | None = node
        while here not in self._known:
            beginnings.append(self._longest.beginning(here))
            here = after(beginnings[-1])
        for path in reversed(beginnings):
            length, first = self._known[after(path)]
            found: list[Node | None] = []
            _add_path(self._longest, path, found, length)
            for each in found:
                if isinstance(each, Edge) and each.cause is Cause.REPLY:
                    first = None
                if first is None and each in self._nodes:
                    first = each
            self._known[path[0][0]] = length + len(found), first
        return self._known[node][1]


def _last(node: Node, onward: Mapping[Node, Node]) -> Node:
    """The last node of the chain that begins at a node; if the chain ends in a cycle, a node of that cycle."""
    passed = [node]
    while onward[passed[-1]] not in passed:
        passed.append(onward[passed[-1]])
    return passed[-1]
