"""How many messages a turn can send: the longest way in messages that a conversation can go without resting."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from bot.checker.graph import Cause, Edge, Graph, Place
from bot.checker.paths.circles import components
from bot.checker.paths.longest import Longest
from bot.checker.paths.rests import said
from bot.checker.paths.stages import Stage, Stages
from bot.checker.paths.terms import Node, Term, by_node
from bot.checker.paths.waits import Waits

_AT_ONCE = (Cause.FLOW, Cause.FAILED)
"""How a flow that is run may end in the turn that opens it."""


class Through(NamedTuple):
    """What is sent from a stage to the end of its frame, where one turn can come there."""

    stage: Stage


class Turns:
    """The most messages that a turn sends from each step on, until the conversation rests or is over."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._stages = graph.fact(Stages)
        self._waits = Waits(graph)
        self._over = set(filter(self._waits.may_be_over, graph.steps))
        bounds: dict[Node, int] = {}
        for stage, most in (*self._stages.bounds.items(), *((stage, 1) for stage in self._once())):
            bounds[stage] = bounds[Through(stage)] = most
        self._longest = Longest(by_node(self._terms()), bounds)

    def most(self, place: Place) -> float:
        """The most messages from a step on, that step's with them; `UNBOUNDED` where it goes round and round."""
        return self._longest.seconds[self._stages.first(place)]

    def after_rest(self, place: Place) -> float:
        """The most messages of a turn that leaves a step at which the conversation rested."""
        turns: list[float] = [0]
        for edge in (edge for edge in self._graph.edges[place] if edge.cause is not Cause.TURN):
            onward = (self._longest.seconds.get(stage, 0) for stage in self._after(edge))
            turns.append(self._said(edge) + max(onward, default=0))
        return max(turns)

    def onward(self, place: Place) -> list[Place]:
        """Where a turn can go on to from a step, and the flows that it runs on the way."""
        opened = (first.place for first, _ in self._stages.run_at(place))
        return [*opened, *(stage.place for edge in self._at_once(place) for stage in self._after(edge))]

    # -- what it is made of ----------------------------------------------------------------------------------------

    def _terms(self) -> Iterator[tuple[Node, Term]]:
        for entered, put in self._stages.entered():
            yield entered, Term(onward=put)
            yield Through(entered), Term(onward=Through(put))
        for place in self._graph.steps:
            yield from self._come_to(place)
            for edge in self._at_once(place):
                yield from self._left_by(edge)

    def _come_to(self, place: Place) -> Iterator[tuple[Node, Term]]:
        """What a step sends, and what the flows send that it runs: all but the last of them to their ends."""
        put, own = self._stages.put(place), self._graph.steps[place].kind.most_messages
        yield put, Term(own)
        for opened, most in self._stages.run_at(place):
            yield put, Term(own, opened, opens=True)
            if most > 1:
                yield put, Term(own, opened, Through(opened), most - 1, opens=True)

    def _left_by(self, edge: Edge) -> Iterator[tuple[Node, Term]]:
        here, runs = self._stages.of(edge), self._stages.run_at(edge.source) if edge.cause in _AT_ONCE else []
        sent = self._said(edge) + (self._graph.steps[edge.source].kind.most_messages if here.puts else 0)
        inner, times = (Through(runs[0][0]), runs[0][1]) if runs else (None, 1)
        yield here, Term(sent, None, inner, times)
        if edge.target is None:
            yield Through(here), Term(sent, None, inner, times)
        for after in self._after(edge):
            yield here, Term(sent, after, inner, times)
            yield Through(here), Term(sent, Through(after), inner, times)

    def _at_once(self, place: Place) -> Iterator[Edge]:
        """The edges that a turn can take through a step: past a wait too that may be over when it is come to."""
        passes = not self._graph.steps[place].kind.pauses
        causes = (Cause.TURN, *_AT_ONCE) if passes else (Cause.TIME,) if place in self._over else ()
        for edge in self._graph.edges[place]:
            if (edge.cause in causes or edge.outcome == "visits.else") and not edge.fails:
                yield edge

    def _after(self, edge: Edge) -> tuple[Stage, ...]:
        """Where a turn goes on past an edge: not where the step only goes on waiting, nor past a question that is returned to."""
        return self._stages.after(edge) if edge.puts and not edge.returns else ()

    def _said(self, edge: Edge) -> int:
        """The messages of a way on, with that of a question to which it returns."""
        returned = edge.target if edge.returns else None
        return said(edge) + (0 if returned is None else self._graph.steps[returned].kind.most_messages)

    def _once(self) -> Iterator[Stage]:
        """The waits that a turn passes once at most: for something that changes."""
        changing = (place for place in self._over if self._waits.moves_on(place, self._given_around(place)))
        return map(self._stages.put, changing)

    def _given_around(self, place: Place) -> set[str]:
        """The variables that are given something where a turn goes round and round with a step."""
        return {name for each in self._circles[place] for name in self._given_by(each)}

    @cached_property
    def _circles(self) -> Mapping[Place, Sequence[Place]]:
        """By each step those between which a turn can go round and round with it."""
        found = components({place: self.onward(place) for place in self._graph.steps})
        return {place: component for component in found for place in component}

    def _given_by(self, place: Place) -> Iterator[str]:
        """The variables to which a step or a way on from it gives something."""
        step = self._graph.steps[place]
        yield from (item.name for item in step.options.set)
        yield from self._graph.flow(place).variables if step.kind.gives_any else step.kind.gives
        yield from (name for outcome in step.outcomes.values() for name in outcome.known)
        yield from (
            item.name
            for edge in self._graph.edges[place]
            if edge.transition is not None
            for item in edge.transition.set
        )
        if step.options.save is not None:
            yield step.options.save
