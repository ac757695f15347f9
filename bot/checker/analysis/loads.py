"""The most messages that each flow of a bot can send: in its first turn, in any turn, and in one conversation."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from bot.checker.analysis.longest_paths import UNBOUNDED, Constraint, LongestPaths, Node, by_node
from bot.checker.analysis.timed_graph import StepNode, StepNodes, keeps_waiting
from bot.checker.graph import AFTER_RUN, Cause, Edge, Graph, StepId
from bot.checker.graph.edges import strongly_connected_components
from bot.core.immutable import immutable
from bot.core.text import most_tokens
from bot.core.values import LEAST_COUNTED
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.abstract_values import ValueKind
from bot.language.expressions.templates import Template
from bot.language.flow.definition import Flow, Step
from bot.language.flow.library import Library
from bot.language.steps.judging import AT_ONCE
from bot.language.steps.schedule import CLOCK
from bot.language.steps.step_facts import Spends, WaitsFor


@immutable
class FlowLoad:
    """The most messages of a flow: in its first turn, in any later turn, and in one conversation. None: there is no
    limit, because the conversation goes round in a cycle through the step ``cycle``.
    """

    flow: str
    first: int | None
    turn: int | None
    conversation: int | None
    cycle: StepId | None


def flow_loads(library: Library) -> list[FlowLoad]:
    """The loads of all flows. Messages that are repeated after a wrong answer or a word are not counted."""
    graph = Graph(library)
    turns, conversations = TurnLoads(graph), _ConversationLoads(graph)
    found = []
    for flow in library.flows.values():
        begun = (flow.name, flow.first)
        begins = {begun, *(root.place for root in graph.roots if root.place[0] == flow.name)}
        turn = max(*map(turns.most, begins), *(turns.after_wait((flow.name, step)) for step in flow.steps))
        most = conversations.most(begun)
        cycle = conversations.cycle(begun) if most is None else None
        found.append(FlowLoad(flow.name, _counted(turns.most(begun)), _counted(turn), most, cycle))
    return found


@immutable
class ModelLoad:
    """The most that one contact can cost a day at a step that asks a model: tokens, requests and calls of tools. None:
    there is no limit.
    """

    place: StepId
    spends: Spends

    @property
    def request(self) -> int:
        """The most tokens that one request counts."""
        return most_tokens(self.spends.prompt, self.spends.answer)

    @property
    def judges(self) -> int:
        """The most requests to judges that are under way when the contact's budget is used up."""
        return AT_ONCE if self.spends.judges else 0

    @property
    def judging(self) -> int:
        """The most tokens of these."""
        return self.judges * most_tokens(self.spends.judged, self.spends.answer)

    @property
    def tokens(self) -> int | None:
        """The contact's budget, and the tokens of the requests that are under way when it is used up. Those of judges
        come on top.
        """
        return None if self.spends.contact is None else self.spends.contact + self.spends.at_once * self.request

    @property
    def requests(self) -> int | None:
        """The most requests without the `judges`: each takes at least `LEAST_COUNTED` tokens of the budget."""
        budget = self.spends.contact
        return None if budget is None else -(-budget // LEAST_COUNTED) + self.spends.at_once - 1

    @property
    def calls(self) -> int | None:
        """The most calls of tools. Each turn begins with a request to the model that may make them."""
        return None if self.requests is None else self.requests * self.spends.calls


def model_loads(library: Library) -> list[ModelLoad]:
    """The load of each step that asks a model."""
    steps = [(flow, step) for flow in library.flows.values() for step in flow.steps.values()]
    found = (((flow.name, step.name), step.kind.spends(flow.variables)) for flow, step in steps)
    return [ModelLoad(place, spends) for place, spends in found if spends is not None]


class _ConversationLoads:
    """The most messages of a conversation from each step on: a longest path whose lengths are messages, not seconds."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = graph.analysis(StepNodes)
        self._longest = LongestPaths(by_node(self._constraints()), dict(self._nodes.bounds.items()))
        self._order = {place: number for number, place in enumerate(graph.steps)}

    def most(self, place: StepId) -> int | None:
        """The most messages from a step on; None: there is no limit."""
        return _counted(self._longest.seconds[self._nodes.first(place)])

    def cycle(self, place: StepId) -> StepId | None:
        """A step that an unlimited conversation repeats: the first that waits, else the first."""
        node: Node | None = self._nodes.first(place)
        while node is not None:
            cycle = self._longest.endless_cycle(node)
            if cycle is not None:
                around = {each.place for each in cycle.nodes if isinstance(each, StepNode)}
                return min(around, key=lambda each: (not self._graph.steps[each].facts.pauses, self._order[each]))
            counted = self._longest.exit(node).counted
            node = next((each for each in counted if self._longest.seconds[each] >= UNBOUNDED), None)
        return None

    def _constraints(self) -> Iterator[tuple[Node, Constraint]]:
        yield from ((entered, Constraint(onward=sending)) for entered, sending in self._nodes.entered())
        for place, step in self._graph.steps.items():
            sending, own = self._nodes.sending(place), step.facts.most_messages + self._reminders(place, step)
            runs = self._nodes.run_at(place)
            yield sending, Constraint(own)
            yield from ((sending, Constraint(own, inner=opened, times=most)) for opened, most in runs)
            for edge in filter(_counts, self._graph.edges[place]):
                here = self._nodes.of(edge)
                sent = edge.messages + (own if here.sends else 0)
                inner, times = runs[0] if runs and edge.cause in AFTER_RUN else (None, 1)
                for after in self._nodes.after(edge) or (None,):
                    yield here, Constraint(sent, after, inner, times)

    def _reminders(self, place: StepId, step: Step) -> int:
        """The most messages of a question's reminders."""
        remind = step.defaults.remind
        most = 1 if remind is None or remind.most is None else remind.most
        edges = (edge for edge in self._graph.edges[place] if edge.cause is Cause.REMINDER and keeps_waiting(edge))
        return most * max((edge.messages or step.facts.most_messages for edge in edges), default=0)


def _counts(edge: Edge) -> bool:
    """True if an edge counts: not if the contact can take it any number of times, and not if something fails on it."""
    goes_round = edge.again and edge.cause is Cause.REPLY
    return not (edge.fails or edge.returns or edge.word is not None or goes_round or keeps_waiting(edge))


def _counted(messages: float) -> int | None:
    return None if messages >= UNBOUNDED else int(messages)


_AT_ONCE = (Cause.FLOW, Cause.FAILED)
"""The ways in which a flow that is run may end within the turn that opens it."""


class FrameLoad(NamedTuple):
    """A node for the messages of a turn from a step to the end of its frame, if one turn gets that far."""

    step_node: StepNode


class TurnLoads:
    """The most messages that a turn sends from each step on, until the conversation waits or ends."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._nodes = graph.analysis(StepNodes)
        self._over = {place for place in graph.steps if _may_be_over(graph, place)}
        bounds: dict[Node, int] = {}
        for step_node, most in (*self._nodes.bounds.items(), *((step_node, 1) for step_node in self._passed_once())):
            bounds[step_node] = bounds[FrameLoad(step_node)] = most
        self._longest = LongestPaths(by_node(self._constraints()), bounds)

    def most(self, place: StepId) -> float:
        """The most messages of a turn from a step on, the step's own included; `UNBOUNDED` if there is no limit."""
        return self._longest.seconds[self._nodes.first(place)]

    def after_wait(self, place: StepId) -> float:
        """The most messages of a turn that leaves a step at which the conversation waited."""
        turns: list[float] = [0]
        for edge in (edge for edge in self._graph.edges[place] if edge.cause is not Cause.TURN):
            onward = (self._longest.seconds.get(step_node, 0) for step_node in self._after(edge))
            turns.append(self._said(edge) + max(onward, default=0))
        return max(turns)

    def onward(self, place: StepId) -> list[StepId]:
        """The steps at which a turn can go on from a step, and the flows that run in between."""
        opened = (first.place for first, _ in self._nodes.run_at(place))
        return [*opened, *(step_node.place for edge in self._edges_in_turn(place) for step_node in self._after(edge))]

    # -- the constraints --------------------------------------------------------------------------------------------

    def _constraints(self) -> Iterator[tuple[Node, Constraint]]:
        for entered, sending in self._nodes.entered():
            yield entered, Constraint(onward=sending)
            yield FrameLoad(entered), Constraint(onward=FrameLoad(sending))
        for place in self._graph.steps:
            yield from self._entry_constraints(place)
            for edge in self._edges_in_turn(place):
                yield from self._edge_constraints(edge)

    def _entry_constraints(self, place: StepId) -> Iterator[tuple[Node, Constraint]]:
        """The constraints of a step: its own messages, and those of the flows that it runs."""
        sending, own = self._nodes.sending(place), self._graph.steps[place].facts.most_messages
        yield sending, Constraint(own)
        for opened, most in self._nodes.run_at(place):
            yield sending, Constraint(own, opened, opens=True)
            if most > 1:
                yield sending, Constraint(own, opened, FrameLoad(opened), most - 1, opens=True)

    def _edge_constraints(self, edge: Edge) -> Iterator[tuple[Node, Constraint]]:
        here, runs = self._nodes.of(edge), self._nodes.run_at(edge.source) if edge.cause in _AT_ONCE else []
        sent = self._said(edge) + (self._graph.steps[edge.source].facts.most_messages if here.sends else 0)
        inner, times = (FrameLoad(runs[0][0]), runs[0][1]) if runs else (None, 1)
        yield here, Constraint(sent, None, inner, times)
        if edge.target is None:
            yield FrameLoad(here), Constraint(sent, None, inner, times)
        for after in self._after(edge):
            yield here, Constraint(sent, after, inner, times)
            yield FrameLoad(here), Constraint(sent, FrameLoad(after), inner, times)

    def _edges_in_turn(self, place: StepId) -> Iterator[Edge]:
        """The edges that a turn can take through a step.

        A turn passes a wait if its time may be over when the step is entered.
        """
        passes = not self._graph.steps[place].facts.pauses
        causes = (Cause.TURN, *_AT_ONCE) if passes else (Cause.TIME,) if place in self._over else ()
        for edge in self._graph.edges[place]:
            if (edge.cause in causes or edge.outcome == "visits.else") and not edge.fails:
                yield edge

    def _after(self, edge: Edge) -> tuple[StepNode, ...]:
        """The nodes at which a turn continues after an edge; empty if the step keeps waiting, or if the edge returns to
        a question.
        """
        return self._nodes.after(edge) if edge.enters and not edge.returns else ()

    def _said(self, edge: Edge) -> int:
        """The messages that are sent on an edge, including a question that is asked again."""
        returned = edge.target if edge.returns else None
        return edge.messages + (0 if returned is None else self._graph.steps[returned].facts.most_messages)

    def _passed_once(self) -> Iterator[StepNode]:
        """The steps whose wait a turn passes at most once, because the time that they wait for moves on."""
        changing = (place for place in self._over if _moves_on(self._graph, place, self._assigned_in_cycle(place)))
        return map(self._nodes.sending, changing)

    def _assigned_in_cycle(self, place: StepId) -> set[str]:
        """The variables that get a value on the cycles of a turn through a step."""
        return {name for each in self._cycles[place] for name in self._assigned_at(each)}

    @cached_property
    def _cycles(self) -> Mapping[StepId, Sequence[StepId]]:
        """For each step, the steps of the cycles that a turn can take through it."""
        found = strongly_connected_components({place: self.onward(place) for place in self._graph.steps})
        return {place: component for component in found for place in component}

    def _assigned_at(self, place: StepId) -> Iterator[str]:
        """The variables that a step or an edge from it assigns."""
        step, variables = self._graph.steps[place], self._graph.flow(place).variables
        yield from (item.name for item in step.options.assigned(variables))
        yield from variables if step.facts.gives_any else step.facts.gives
        yield from (name for outcome in step.outcomes.values() for name in outcome.known)
        yield from (
            item.name
            for edge in self._graph.edges[place]
            if edge.transition is not None
            for item in edge.transition.assigned(variables)
        )
        if step.options.save is not None:
            yield step.options.save


def _may_be_over(graph: Graph, place: StepId) -> bool:
    """True if a step may wait for a time that has passed already: a point in time, or opening hours."""
    facts = graph.steps[place].facts
    waits_for = facts.waits_for
    if waits_for is None or waits_for.what is not WaitsFor.TIME or waits_for.longest is not None:
        return False
    return waits_for.over or all(_may_have_passed(moment, graph.flow(place)) for moment in facts.moments)


def _may_have_passed(moment: Template, flow: Flow) -> bool:
    """True if the time may have passed. A time that is computed from now alone is always in the future."""
    if moment.names and moment.names <= CLOCK:
        return False
    known = {name: flow.variables[name].abstract_values for name in moment.names if name in flow.variables}
    return any(case.kind is not ValueKind.DURATION for case in AbstractText(moment).evaluate(known).values)


def _moves_on(graph: Graph, place: StepId, given: Collection[str]) -> bool:
    """True if a step may wait for another time when a turn reaches it again. ``given`` are the variables that get a
    value in between.

    A time that is computed from now and from variables is taken to be in the future.
    """
    return any(
        moment.calls or not moment.names.isdisjoint(given) or (moment.names & CLOCK and moment.names - CLOCK)
        for moment in graph.steps[place].facts.moments
    )
