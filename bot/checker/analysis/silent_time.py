"""How long a contact may have been silent when a conversation comes to a step: the longest time along any path."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bot.checker.analysis.longest_paths import UNBOUNDED, Constraint, LongestPaths, Node, by_node
from bot.checker.analysis.timed_graph import (
    EndNode,
    Ends,
    StepNode,
    StepNodes,
    TimedEdge,
    keeps_waiting,
    speaks,
    timed_edges,
)
from bot.checker.graph import Cause, Edge, Graph, Opening, Place, Root
from bot.checker.graph.traversal import reachable

Sender = Place | Edge
"""What sends messages: a step, or an edge on which something is said."""

_MOST_TOLD = 400  # edges of a way
_MOST_FRAMES = 10  # on top of each other, on a way


class SilentTimes:
    """The longest silence with which each step of a bot is come to, and on each edge on which something is said."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stages = graph.fact(StepNodes)
        self.leads = timed_edges(graph)
        self._passages = SubFlowSummaries(graph, self.leads, self._stages)
        terms = by_node((*self._passages.terms(), *self._terms()))
        self._longest = LongestPaths(terms, dict((*self._stages.bounds.items(), *self._passages.bounds())))

    def before(self, sender: Sender) -> float | None:
        """The seconds of silence with which something is sent, at most; None: it never is."""
        return self._longest.seconds.get(self._node(sender))

    def first(self, late: Iterable[Sender]) -> Mapping[Sender, Sender]:
        """By each message that comes too late the first such in the same silence."""
        senders = {self._node(sender): sender for sender in late}
        found = first_late(self._longest, senders, {self._stages.put(stage.place) for stage in self._stages.bounds})
        return {senders[node]: senders[first] for node, first in found.items()}

    def way_to(self, sender: Sender) -> tuple[Edge, ...]:
        """A way from a beginning on which the silence is as long as that, or a day."""
        found: list[Edge] = []
        for term in reversed(self._longest.way(self._node(sender))):
            self._tell(term, found, 0)
        return tuple(found)

    def _node(self, sender: Sender) -> Node:
        return sender if isinstance(sender, Edge) else self._stages.put(sender)

    def _tell(self, term: Constraint, found: list[Edge], depth: int) -> None:
        """Note the edges of a term: those of the flow that runs meanwhile come before its own."""
        runs = term.inner is not None and not isinstance(term.inner, StepNode)
        if runs and len(found) < _MOST_TOLD and depth < _MOST_FRAMES:
            for inner in self._longest.way(term.inner):
                self._tell(inner, found, depth + 1)
        if term.edge is not None:
            found.append(term.edge)

    # -- what it is made of ----------------------------------------------------------------------------------------

    def _terms(self) -> Iterator[tuple[Node, Constraint]]:
        for root in self._graph.roots:
            yield from self._opened(root)
        for several in self.leads.values():
            for lead in several:
                yield from self._on(lead)
        yield from ((put, Constraint(onward=entered)) for entered, put in self._stages.entered())
        yield from self._come_back()

    def _opened(self, root: Root) -> Iterator[tuple[Node, Constraint]]:
        """The silence with which a frame is opened; when it is due that a step has scheduled, its edges say."""
        first = self._stages.first(root.place)
        if root.by is None:
            if root.opening is not Opening.TAP:  # which leads to where somebody has been
                yield first, Constraint(0.0 if root.opening in _SPOKEN else UNBOUNDED)
            return
        by = self._stages.put(root.by)
        if root.opening is Opening.PLAN:
            yield first, Constraint(onward=_due(root))
            if root.busy in _FREE:
                yield _due(root), Constraint(onward=_FREE[root.busy], inner=by, times=0, opens=True)
        else:
            yield first, Constraint(onward=by, opens=True)
            if any(run[0] == root.place and run[1] > 1 for lead in self.leads[root.by] for run in lead.runs):
                for end in self._stages.every(root.place)[False]:  # the elements before
                    yield first, Constraint(onward=by, inner=end, anew=end.heard, opens=True)

    def _on(self, lead: TimedEdge) -> Iterator[tuple[Node, Constraint]]:
        """An edge, and where it leads. What is said on it is a node of its own."""
        edge, taken = lead.edge, list(self._taken(lead))
        if speaks(edge) or edge.returns:
            yield from ((edge, term) for term in taken)
            met = self._stages.first(edge.target) if edge.target is not None and edge.returns else None
            taken = [Constraint(onward=edge, inner=met, times=0)]
        if edge.target is None or edge.cause is Cause.PERSON:
            yield from ((_FREE["after" if edge.target is None else "interrupt"], term) for term in taken)
        if not keeps_waiting(edge):
            yield from ((after, term) for after in self._stages.after(edge) for term in taken)
        for root in self._graph.roots_by.get(edge.source, ()) if edge.success else ():
            if root.opening is Opening.PLAN:
                after = UNBOUNDED if root.after is None else root.after.total_seconds()
                yield from ((_due(root), term._replace(seconds=term.seconds + after, opens=True)) for term in taken)

    def _taken(self, lead: TimedEdge) -> Iterator[Constraint]:
        """The silence with which an edge is taken."""
        edge, here = lead.edge, self._stages.of(lead.edge)
        if edge.cause is Cause.REPLY:
            yield Constraint(onward=here, edge=edge, anew=True)
        elif lead.runs:
            for ends in self._passages.run(lead):
                yield from (Constraint(onward=here, inner=end, edge=edge, anew=end.heard) for end in ends)
        else:
            yield Constraint(lead.seconds, here, edge=edge)

    def _come_back(self) -> Iterator[tuple[Node, Constraint]]:
        """The questions that are put again after another flow: one that a message started, or a step had planned."""
        for flow in self._graph.library.flows.values():
            if flow.interrupted in ("resume", "ask"):
                for place in self._cutting_in(flow.name):
                    yield from (
                        (_over(flow.name), Constraint(inner=end)) for end in self._stages.first(place).ends[False]
                    )
        for root in self._graph.roots:
            if root.busy == "interrupt":
                for end in self._stages.first(root.place).ends[False]:
                    yield _PLANNED, Constraint(onward=_due(root), inner=end, anew=end.heard, opens=True)
        for place in filter(self._graph.hears, self._graph.steps):
            here = self._stages.put(place)
            yield here, Constraint(onward=here, inner=_over(place[0]), anew=True)
            yield here, Constraint(onward=_PLANNED, inner=here, times=0)

    def _cutting_in(self, flow: str) -> Iterator[Place]:
        """Where flows begin that cut in on one. What is open below it does not."""
        never = {flow, *self._graph.below[flow]}
        roots = (root for root in self._graph.roots if root.opening is Opening.INTERRUPTION)
        return (root.place for root in roots if root.place[0] not in never)


_SPOKEN = (Opening.WORDS, Opening.WORD, Opening.INTERRUPTION)


_PLANNED = "planned"
"""The silence when a planned flow is over that cut in on others."""
_FREE = {"after": "in no flow", "interrupt": "not with a person"}
"""The silence when what is planned need not wait any longer, by what it does while the contact is busy."""


def _due(root: Root) -> Node:
    """The silence when what is planned can begin."""
    return "due", root.place, root.busy


def _over(flow: str) -> Node:
    """The silence when what cut in on a flow is over."""
    return "over", flow


_OPENING = (Opening.RUN, Opening.INTERRUPTION, Opening.PLAN)
"""What opens frames on top of others, to which something happens when these have ended."""


class SubFlowSummaries:
    """The times until frames end."""

    def __init__(self, graph: Graph, leads: Mapping[Place, tuple[TimedEdge, ...]], stages: StepNodes) -> None:
        self._graph = graph
        self._leads = leads
        self._stages = stages

    def terms(self) -> Iterator[tuple[Node, Constraint]]:
        """What the times are made of."""
        for place in self._in_frames():
            for lead in self._leads[place]:
                yield from self._on(lead)
        for entered, put in self._stages.entered():
            for ends, further in zip(entered.ends, put.ends, strict=True):
                yield from ((end, Constraint(onward=onward)) for end, onward in zip(ends, further, strict=True))
        for opened, most in {run for leads in self._leads.values() for lead in leads for run in lead.runs}:
            if most > 1:
                yield from self._elements(opened, most - 1)

    def bounds(self) -> Iterator[tuple[Node, int]]:
        """How often steps are entered on the way to an end."""
        for stage, most in self._stages.bounds.items():
            yield from ((end, most) for ends in stage.ends for end in ends)

    def run(self, lead: TimedEdge) -> Iterator[Ends]:
        """The times of the flows that run before an edge, to the end that it follows."""
        for opened, most in lead.runs:
            ends = self._stages.every(opened) if most > 1 else self._stages.first(opened).ends
            yield ends[lead.edge.cause is not Cause.FLOW]

    def _in_frames(self) -> list[Place]:
        """The steps that such frames come to."""
        opened = (root.place for root in self._graph.roots if root.opening in _OPENING)
        return list(reachable(opened, self._targets))

    def _targets(self, place: Place) -> Iterator[Place]:
        return (lead.edge.target for lead in self._leads[place] if lead.edge.target is not None)

    def _on(self, lead: TimedEdge) -> Iterator[tuple[Node, Constraint]]:
        """An edge leads to the end of its frame, or on. What goes back to a flow below does neither."""
        edge, here = lead.edge, self._stages.of(lead.edge).ends
        if edge.target is None and not edge.ends_all:
            yield from self._link(lead, here[edge.expires or edge.breaks], (None, None))
        elif edge.target is not None and edge.target[0] not in self._graph.below[edge.source[0]]:
            for after in self._stages.after(edge):
                yield from self._link(lead, here[False], after.ends[False])
                yield from self._link(lead, here[True], after.ends[True])

    def _link(
        self, lead: TimedEdge, here: Ends, after: tuple[EndNode | None, EndNode | None]
    ) -> Iterator[tuple[Node, Constraint]]:
        edge, (silent, heard), (quietly, later) = lead.edge, here, after
        if edge.cause is Cause.REPLY:
            yield heard, Constraint(onward=quietly, edge=edge)
        for inner, spoken in self.run(lead):
            yield silent, Constraint(onward=quietly, inner=inner, edge=edge)
            yield heard, Constraint(onward=quietly, inner=spoken, edge=edge)
            if later is not None:
                yield heard, Constraint(onward=later, inner=inner, times=0, edge=edge)
                yield heard, Constraint(onward=later, inner=spoken, times=0, edge=edge)
        if lead.runs or keeps_waiting(edge):
            return
        if edge.cause is not Cause.REPLY:
            yield silent, Constraint(lead.seconds, quietly, edge=edge)
        if later is not None:
            yield heard, Constraint(onward=later, edge=edge)

    def _elements(self, opened: Place, more: int) -> Iterator[tuple[Node, Constraint]]:
        """A flow that runs for each element: for none, or for one and so many more. The last one may expire."""
        ends, every = self._stages.first(opened).ends, self._stages.every(opened)
        (end, end_heard), (_, expires_heard) = ends
        yield every[False][0], Constraint()
        for once, all_of_them in zip((*ends[False], *ends[True]), (*every[False], *every[True]), strict=True):
            yield all_of_them, Constraint(onward=once, opens=True)
            if once is not expires_heard:
                yield all_of_them, Constraint(onward=once, inner=end, times=more, opens=True)
        yield every[True][1], Constraint(onward=every[True][0], inner=end_heard, opens=True)


def first_late(longest: LongestPaths, late: Iterable[Node], unsure: Collection[Node]) -> Mapping[Node, Node]:
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


def _on(node: Node | None, term: Constraint, found: Mapping[Node, Node | None], late: Collection[Node]) -> Node | None:
    """The first late message on the way to a node; or from there to the end of its frame, since the contact spoke."""
    onward, inner = found.get(term.onward), found.get(term.inner)
    parts: tuple[Node | None, ...]
    if not isinstance(node, EndNode):
        parts = (None if term.anew else onward, inner, node)
    elif node.heard:
        spoken_later = isinstance(term.onward, EndNode) and term.onward.heard
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
