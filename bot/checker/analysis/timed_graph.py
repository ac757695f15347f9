"""The nodes and edges of longest paths: steps before and after a visit is counted, ends of frames, and dwell times."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta
from functools import cached_property

from bot.checker.analysis.counters import counted_visits
from bot.checker.analysis.definite_assignment import definite_assignment
from bot.checker.analysis.feasibility import Feasibility
from bot.checker.analysis.longest_paths import UNBOUNDED
from bot.checker.graph import AFTER_RUN, Cause, Edge, Graph, StepId
from bot.checker.graph.edges import reachable
from bot.core.immutable import immutable
from bot.core.session import SENDING_WINDOW
from bot.language.expressions.abstract_texts import AbstractText
from bot.language.expressions.abstract_values import FALSE, NULL
from bot.language.expressions.grammar import WINDOW_OPEN
from bot.language.flow.definition import Step
from bot.language.steps.step_facts import WaitsFor


@immutable(eq=False)
class EndNode:
    """A node for the time from a step to the end of its frame.

    ``heard``: only the time since the contact's last word counts.
    """

    step_node: "StepNode"
    heard: bool


Ends = tuple[EndNode, EndNode]
"""The ends of frames without a word of the contact, and those with one."""


@immutable(eq=False)
class StepNode:
    """A step as a node. ``sends``: it sends its message. Otherwise its visit is not counted yet, or the path skips it
    because its visits are used up.
    """

    place: StepId
    sends: bool

    @cached_property
    def ends(self) -> tuple[Ends, Ends]:
        """The ends of its frame: those without expiry or failure, and those by expiry or failure."""
        return _ends_of(self)


def _ends_of(step_node: StepNode) -> tuple[Ends, Ends]:
    return (EndNode(step_node, heard=False), EndNode(step_node, heard=True)), (
        EndNode(step_node, heard=False),
        EndNode(step_node, heard=True),
    )


class StepNodes:
    """The nodes of all steps. ``bounds`` are the most visits of each step that has a limit: `visits`, or a counter in
    its loop.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        limits = {
            place: step.options.visits.most for place, step in graph.steps.items() if step.options.visits is not None
        }
        bounds = {**graph.analysis(counted_visits), **limits}
        returned = (edge.target for edges in graph.edges.values() for edge in edges if edge.returns and edge.target)
        self._entered = {place: StepNode(place, sends=False) for place in (*bounds, *returned)}
        self._used_up = {place: StepNode(place, sends=False) for place in limits}
        self.bounds = {self._entered[place]: most for place, most in bounds.items()}
        self._sending = {place: StepNode(place, sends=True) for place in graph.steps}
        self._every: dict[StepId, tuple[Ends, Ends]] = {}

    def skips(self, place: StepId) -> bool:
        """True if a path may skip the step, because its visits are used up."""
        return place in self._used_up

    def sending(self, place: StepId) -> StepNode:
        """The node at which a step sends its message."""
        return self._sending[place]

    def first(self, place: StepId) -> StepNode:
        """The node at which a frame begins, by its first step."""
        return self._entered.get(place) or self._sending[place]

    def run_at(self, place: StepId) -> list[tuple[StepNode, int]]:
        """The nodes at which the flows begin that a step runs, each with how often it may run in a row."""
        runs = self._graph.steps[place].facts.flows_run
        return [(self.first(self._graph.opened_by(run.flow)), run.most) for run in runs]

    def entered(self) -> Iterator[tuple[StepNode, StepNode]]:
        """The nodes that count a visit, each with the node at which the step then sends its message."""
        return ((step_node, self._sending[place]) for place, step_node in self._entered.items())

    def every(self, place: StepId) -> tuple[Ends, Ends]:
        """The ends of all frames that a step opens one after another, for the elements of a list."""
        if place not in self._every:
            self._every[place] = _ends_of(self.first(place))
        return self._every[place]

    def of(self, edge: Edge) -> StepNode:
        """The node from which an edge leads."""
        return (self._used_up if edge.outcome == "visits.else" else self._sending)[edge.source]

    def after(self, edge: Edge) -> tuple[StepNode, ...]:
        """The nodes to which an edge leads; empty if the frame ends."""
        place = edge.target
        if place is None:
            return ()
        if edge.again and edge.cause is Cause.REPLY and place in self._entered:
            return (self._entered[place],)  # the silence begins anew, in one of the visits
        if edge.again or edge.returns or not edge.enters:
            return (self._sending[place],)
        first = self.first(place)
        return (first, self._used_up[place]) if place in self._used_up else (first,)


@immutable(eq=False)
class TimedEdge:
    """An edge, and the longest dwell time before it: how long the contact is silent at the step, in seconds.

    ``runs`` are the first steps of the flows that run before it, each with the most times in a row. ``in_window``: it
    is taken only while the window is open.
    """

    edge: Edge
    seconds: float
    runs: tuple[tuple[StepId, int], ...] = ()
    in_window: bool = False


def timed_edges(graph: Graph) -> Mapping[StepId, tuple[TimedEdge, ...]]:
    """The edges of each step. Edges that are equal for the time, such as several answers, are left out."""
    return {place: _different(graph, place, step) for place, step in graph.steps.items()}


def speaks(edge: Edge) -> bool:
    """True if an edge or a reminder sends something."""
    return edge.messages > 0 or edge.cause is Cause.REMINDER


def keeps_waiting(edge: Edge) -> bool:
    """True if the conversation keeps waiting at its step. Its time-out does not begin again then."""
    return (edge.target is not None and not edge.enters) or (edge.cause is Cause.REMINDER and edge.again)


def _different(graph: Graph, place: StepId, step: Step) -> tuple[TimedEdge, ...]:
    runs = tuple((graph.opened_by(run.flow), run.most) for run in step.facts.flows_run)
    reminders, assigned = _reminders_at(graph, place), graph.analysis(definite_assignment)
    plans, feasible = bool(step.options.schedule), graph.analysis(Feasibility)
    found: dict[tuple[object, ...], TimedEdge] = {}
    for edge in graph.edges[place]:
        if edge not in feasible.finished or (edge.fails and (edge.idle or not assigned.may_fail(place))):
            continue
        if edge.cause is Cause.REMINDER and not reminders:
            continue
        own = edge if edge.cause is not Cause.REPLY and speaks(edge) else None
        leads = edge.ends_all, keeps_waiting(edge), edge.again or edge.returns
        in_window = _in_window(graph, step, edge)
        apart = edge.outcome in _APART, edge.breaks, in_window
        alike = edge.cause, edge.target, *leads, edge.success and plans, *apart, own
        if alike not in found:
            ran = runs if edge.cause in AFTER_RUN else ()
            found[alike] = TimedEdge(edge, _seconds(step, edge, reminders), ran, in_window)
    return tuple(found.values())


def _in_window(graph: Graph, step: Step, edge: Edge) -> bool:
    """True if an edge is never taken while the window is closed: one of its conditions does not hold then, or the step
    waits for the contact then.
    """
    if step.facts.waits and edge.success and edge.cause is Cause.RESULT:
        return True
    given = [each for each in step.given(edge.outcome) if WINDOW_OPEN in each.condition.names]
    if not given:
        return False
    variables = graph.flow(edge.source).variables
    known = {name: variable.abstract_values | {NULL} for name, variable in variables.items()}
    known[WINDOW_OPEN] = frozenset({FALSE})
    return any(each.holds not in AbstractText(each.condition).evaluate(known).truths for each in given)


_SHORT = timedelta(hours=24) - SENDING_WINDOW
"""Calls that take no longer count for nothing: otherwise each loop of a few calls would take for ever."""
_APART = ("timeout", "visits.else")
"""Outcomes that differ from others of the same cause: one expires the flow, the other skips the step."""


def _reminders_at(graph: Graph, place: StepId) -> int:
    """The number of reminders that follow each other at a step: 0 if the time-out comes first."""
    step = graph.steps[place]
    remind, timeout = step.defaults.remind if step.facts.waits else None, step.timeout
    if remind is None or remind.after is None:
        return 0
    stays = any(edge.cause is Cause.REMINDER and keeps_waiting(edge) for edge in graph.edges[place])
    most = (remind.most or 1) if stays else 1
    if timeout is None or timeout.after is None:
        return most
    if timeout.fixed:
        return min(most, timeout.after // remind.after)
    return most if remind.after <= timeout.after else 0


def _seconds(step: Step, edge: Edge, reminders: int) -> float:
    """The longest dwell time before an edge on which the contact says nothing (docs/language/time.md)."""
    wait = step.facts.waits_for
    match edge.cause:
        case Cause.REMINDER:
            return _reminded(step, reminders)
        case Cause.TIMEOUT:
            return _until_timeout(step, _reminded(step, reminders)) or 0.0
        case Cause.SIGNAL:
            return _longest_wait(step, reminders)
        case Cause.TIME | Cause.RESULT:
            if wait is None or wait.what is WaitsFor.CONTACT:  # the gateway takes or refuses its message at once
                return 0.0
            if wait.what is WaitsFor.RESULT and wait.longest is not None and wait.longest <= _SHORT:
                return 0.0
            return UNBOUNDED if wait.longest is None else wait.longest.total_seconds()
        case Cause.PERSON:
            return UNBOUNDED
        case Cause.REPLY if step.facts.can_gather and step.defaults.gather:
            return step.defaults.gather.total_seconds()
    return 0.0


def _reminded(step: Step, reminders: int) -> float:
    """The time that reminders take."""
    remind = step.defaults.remind
    return 0.0 if remind is None or remind.after is None else remind.after.total_seconds() * reminders


def _longest_wait(step: Step, reminders: int) -> float:
    """The longest time at a step without a word of the contact, apart from flows that the step runs."""
    wait = step.facts.waits_for
    if wait is not None and wait.what in (WaitsFor.TIME, WaitsFor.RESULT):
        return UNBOUNDED if wait.longest is None else wait.longest.total_seconds()
    return _until_timeout(step, _reminded(step, reminders)) or UNBOUNDED


def waits_during_run(graph: Graph, place: StepId) -> Iterator[tuple[StepId, float]]:
    """The steps at which the conversation can be while a step runs a flow, each with its longest dwell time."""
    for each in steps_of_run(graph, _opened(graph, place)):
        wait = graph.steps[each].facts.waits_for
        if wait is not None and wait.what is not WaitsFor.FLOW:
            yield each, _longest_wait(graph.steps[each], _reminders_at(graph, each))


def steps_of_run(graph: Graph, first: Iterable[StepId]) -> Iterable[StepId]:
    """The steps at which the conversation can be while flows run that begin at these steps."""

    def onward(at: StepId) -> list[StepId]:
        leads = [edge.target for edge in graph.edges[at] if edge.target is not None and not edge.ends_all]
        return _opened(graph, at) + leads

    return reachable(first, onward)


def _opened(graph: Graph, place: StepId) -> list[StepId]:
    return [graph.opened_by(run.flow) for run in graph.steps[place].facts.flows_run]


def _until_timeout(step: Step, reminded: float) -> float | None:
    """The longest time that a step waits for the contact, in seconds; None: for ever."""
    timeout = step.timeout
    if timeout is None or timeout.after is None:
        return None
    return timeout.after.total_seconds() + (0.0 if timeout.fixed else reminded)
