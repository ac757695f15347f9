"""How long a contact may have been silent when a conversation comes to a step: the longest time along any path."""

from collections.abc import Iterable, Iterator, Mapping

from bot.checker.graph import Cause, Edge, Graph, Opening, Place, Root
from bot.checker.paths.earliest import earliest
from bot.checker.paths.longest import Longest
from bot.checker.paths.passages import Passages
from bot.checker.paths.rests import Lead, leads, speaks, stays
from bot.checker.paths.stages import Stage, Stages
from bot.checker.paths.terms import UNBOUNDED, Node, Term, by_node

Sender = Place | Edge
"""What sends messages: a step, or an edge on which something is said."""

_MOST_TOLD = 400  # edges of a way
_MOST_FRAMES = 10  # on top of each other, on a way


class Silences:
    """The longest silence with which each step of a bot is come to, and on each edge on which something is said."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stages = graph.fact(Stages)
        self.leads = leads(graph)
        self._passages = Passages(graph, self.leads, self._stages)
        terms = by_node((*self._passages.terms(), *self._terms()))
        self._longest = Longest(terms, dict((*self._stages.bounds.items(), *self._passages.bounds())))

    def before(self, sender: Sender) -> float | None:
        """The seconds of silence with which something is sent, at most; None: it never is."""
        return self._longest.seconds.get(self._node(sender))

    def first(self, late: Iterable[Sender]) -> Mapping[Sender, Sender]:
        """By each message that comes too late the first such in the same silence."""
        senders = {self._node(sender): sender for sender in late}
        found = earliest(self._longest, senders, {self._stages.put(stage.place) for stage in self._stages.bounds})
        return {senders[node]: senders[first] for node, first in found.items()}

    def way_to(self, sender: Sender) -> tuple[Edge, ...]:
        """A way from a beginning on which the silence is as long as that, or a day."""
        found: list[Edge] = []
        for term in reversed(self._longest.way(self._node(sender))):
            self._tell(term, found, 0)
        return tuple(found)

    def _node(self, sender: Sender) -> Node:
        return sender if isinstance(sender, Edge) else self._stages.put(sender)

    def _tell(self, term: Term, found: list[Edge], depth: int) -> None:
        """Note the edges of a term: those of the flow that runs meanwhile come before its own."""
        runs = term.inner is not None and not isinstance(term.inner, Stage)
        if runs and len(found) < _MOST_TOLD and depth < _MOST_FRAMES:
            for inner in self._longest.way(term.inner):
                self._tell(inner, found, depth + 1)
        if term.edge is not None:
            found.append(term.edge)

    # -- what it is made of ----------------------------------------------------------------------------------------

    def _terms(self) -> Iterator[tuple[Node, Term]]:
        for root in self._graph.roots:
            yield from self._opened(root)
        for several in self.leads.values():
            for lead in several:
                yield from self._on(lead)
        yield from ((put, Term(onward=entered)) for entered, put in self._stages.entered())
        yield from self._come_back()

    def _opened(self, root: Root) -> Iterator[tuple[Node, Term]]:
        """The silence with which a frame is opened; when it is due that a step has scheduled, its edges say."""
        first = self._stages.first(root.place)
        if root.by is None:
            if root.opening is not Opening.TAP:  # which leads to where somebody has been
                yield first, Term(0.0 if root.opening in _SPOKEN else UNBOUNDED)
            return
        by = self._stages.put(root.by)
        if root.opening is Opening.PLAN:
            yield first, Term(onward=_due(root))
            if root.busy in _FREE:
                yield _due(root), Term(onward=_FREE[root.busy], inner=by, times=0, opens=True)
        else:
            yield first, Term(onward=by, opens=True)
            if any(run[0] == root.place and run[1] > 1 for lead in self.leads[root.by] for run in lead.runs):
                for end in self._stages.every(root.place)[False]:  # the elements before
                    yield first, Term(onward=by, inner=end, anew=end.heard, opens=True)

    def _on(self, lead: Lead) -> Iterator[tuple[Node, Term]]:
        """An edge, and where it leads. What is said on it is a node of its own."""
        edge, taken = lead.edge, list(self._taken(lead))
        if speaks(edge) or edge.returns:
            yield from ((edge, term) for term in taken)
            met = self._stages.first(edge.target) if edge.target is not None and edge.returns else None
            taken = [Term(onward=edge, inner=met, times=0)]
        if edge.target is None or edge.cause is Cause.PERSON:
            yield from ((_FREE["after" if edge.target is None else "interrupt"], term) for term in taken)
        if not stays(edge):
            yield from ((after, term) for after in self._stages.after(edge) for term in taken)
        for root in self._graph.roots_by.get(edge.source, ()) if edge.success else ():
            if root.opening is Opening.PLAN:
                after = UNBOUNDED if root.after is None else root.after.total_seconds()
                yield from ((_due(root), term._replace(seconds=term.seconds + after, opens=True)) for term in taken)

    def _taken(self, lead: Lead) -> Iterator[Term]:
        """The silence with which an edge is taken."""
        edge, here = lead.edge, self._stages.of(lead.edge)
        if edge.cause is Cause.REPLY:
            yield Term(onward=here, edge=edge, anew=True)
        elif lead.runs:
            for ends in self._passages.run(lead):
                yield from (Term(onward=here, inner=end, edge=edge, anew=end.heard) for end in ends)
        else:
            yield Term(lead.seconds, here, edge=edge)

    def _come_back(self) -> Iterator[tuple[Node, Term]]:
        """The questions that are put again after another flow: one that a message started, or a step had planned."""
        for flow in self._graph.library.flows.values():
            if flow.interrupted in ("resume", "ask"):
                for place in self._cutting_in(flow.name):
                    yield from ((_over(flow.name), Term(inner=end)) for end in self._stages.first(place).ends[False])
        for root in self._graph.roots:
            if root.busy == "interrupt":
                for end in self._stages.first(root.place).ends[False]:
                    yield _PLANNED, Term(onward=_due(root), inner=end, anew=end.heard, opens=True)
        for place in filter(self._graph.hears, self._graph.steps):
            here = self._stages.put(place)
            yield here, Term(onward=here, inner=_over(place[0]), anew=True)
            yield here, Term(onward=_PLANNED, inner=here, times=0)

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
