"""What flows that are run do to the silence: how long it lasts from a step to the end of its frame."""

from collections.abc import Iterator, Mapping

from bot.checker.graph import Cause, Graph, Opening, Place
from bot.checker.graph.reaching import reached
from bot.checker.paths.rests import Lead, stays
from bot.checker.paths.stages import End, Ends, Stages
from bot.checker.paths.terms import Node, Term

_OPENING = (Opening.RUN, Opening.INTERRUPTION, Opening.PLAN)
"""What opens frames on top of others, to which something happens when these have ended."""


class Passages:
    """The times until frames end."""

    def __init__(self, graph: Graph, leads: Mapping[Place, tuple[Lead, ...]], stages: Stages) -> None:
        self._graph = graph
        self._leads = leads
        self._stages = stages

    def terms(self) -> Iterator[tuple[Node, Term]]:
        """What the times are made of."""
        for place in self._in_frames():
            for lead in self._leads[place]:
                yield from self._on(lead)
        for entered, put in self._stages.entered():
            for ends, further in zip(entered.ends, put.ends, strict=True):
                yield from ((end, Term(onward=onward)) for end, onward in zip(ends, further, strict=True))
        for opened, most in {run for leads in self._leads.values() for lead in leads for run in lead.runs}:
            if most > 1:
                yield from self._elements(opened, most - 1)

    def bounds(self) -> Iterator[tuple[Node, int]]:
        """How often steps are entered on the way to an end."""
        for stage, most in self._stages.bounds.items():
            yield from ((end, most) for ends in stage.ends for end in ends)

    def run(self, lead: Lead) -> Iterator[Ends]:
        """The times of the flows that run before an edge, to the end that it follows."""
        for opened, most in lead.runs:
            ends = self._stages.every(opened) if most > 1 else self._stages.first(opened).ends
            yield ends[lead.edge.cause is not Cause.FLOW]

    def _in_frames(self) -> list[Place]:
        """The steps that such frames come to."""
        opened = (root.place for root in self._graph.roots if root.opening in _OPENING)
        return list(reached(opened, self._targets))

    def _targets(self, place: Place) -> Iterator[Place]:
        return (lead.edge.target for lead in self._leads[place] if lead.edge.target is not None)

    def _on(self, lead: Lead) -> Iterator[tuple[Node, Term]]:
        """An edge leads to the end of its frame, or on. What goes back to a flow below does neither."""
        edge, here = lead.edge, self._stages.of(lead.edge).ends
        if edge.target is None and not edge.ends_all:
            yield from self._link(lead, here[edge.expires or edge.breaks], (None, None))
        elif edge.target is not None and edge.target[0] not in self._graph.below[edge.source[0]]:
            for after in self._stages.after(edge):
                yield from self._link(lead, here[False], after.ends[False])
                yield from self._link(lead, here[True], after.ends[True])

    def _link(self, lead: Lead, here: Ends, after: tuple[End | None, End | None]) -> Iterator[tuple[Node, Term]]:
        edge, (silent, heard), (quietly, later) = lead.edge, here, after
        if edge.cause is Cause.REPLY:
            yield heard, Term(onward=quietly, edge=edge)
        for inner, spoken in self.run(lead):
            yield silent, Term(onward=quietly, inner=inner, edge=edge)
            yield heard, Term(onward=quietly, inner=spoken, edge=edge)
            if later is not None:
                yield heard, Term(onward=later, inner=inner, times=0, edge=edge)
                yield heard, Term(onward=later, inner=spoken, times=0, edge=edge)
        if lead.runs or stays(edge):
            return
        if edge.cause is not Cause.REPLY:
            yield silent, Term(lead.seconds, quietly, edge=edge)
        if later is not None:
            yield heard, Term(onward=later, edge=edge)

    def _elements(self, opened: Place, more: int) -> Iterator[tuple[Node, Term]]:
        """A flow that runs for each element: for none, or for one and so many more. The last one may expire."""
        ends, every = self._stages.first(opened).ends, self._stages.every(opened)
        (end, end_heard), (_, expires_heard) = ends
        yield every[False][0], Term()
        for once, all_of_them in zip((*ends[False], *ends[True]), (*every[False], *every[True]), strict=True):
            yield all_of_them, Term(onward=once, opens=True)
            if once is not expires_heard:
                yield all_of_them, Term(onward=once, inner=end, times=more, opens=True)
        yield every[True][1], Term(onward=every[True][0], inner=end_heard, opens=True)
