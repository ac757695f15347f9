"""What flows that are run do to the silence: how long it lasts from a step to the end of its frame, followed backwards."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bot.checker.circles import components
from bot.checker.graph import Cause, Edge, Graph, Opening, Place
from bot.checker.trails import Trail, begun_with
from bot.flow.definition import Step

DAY = 24 * 3600.0
UNBOUNDED = float("inf")
ENDS = (Cause.FLOW, Cause.EXPIRED)
"""How a frame can end, as what ran it sees it."""


@dataclass(frozen=True, slots=True)
class Silent:
    """The seconds since the contact's last message, at most, and the way on which that may be so.

    Above a day it is the first such time that was found, not the longest.
    """

    seconds: float
    trail: Trail | None = None


_AT_ONCE = Silent(0.0)
Learned = Callable[[Place, Cause], Iterator[Silent]]


@dataclass(frozen=True, slots=True)
class Lead:
    """An edge, and how long it lasts: so long, or as long as the flows that its step runs, by the steps they begin at."""

    edge: Edge
    lasts: Silent
    opened: tuple[Place, ...] = ()


class Passages:
    """``through`` is how long the silence lasts from a step to the end of its frame, where the contact need not say
    anything on the way; ``anew`` how long the one lasts with which it ends, where they do. By how the frame ends.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self.leads = {place: _different(graph, place) for place in graph.steps}
        self.through: dict[Cause, dict[Place, Silent]] = {end: {} for end in ENDS}
        self.anew: dict[Cause, dict[Place, Silent]] = {end: {} for end in ENDS}
        self._runs: dict[Place, list[Place]] = {}
        for root in graph.roots:
            if root.opening is Opening.RUN and root.by is not None:
                self._runs.setdefault(root.place, []).append(root.by)
        self._settle(self.through, self._silently, _is_silent)
        self._settle(self.anew, self._spoken, lambda edge: True)

    def after_run(self, before: Silent, lead: Lead) -> Silent | None:
        """The silence when the flow that a step runs has ended, of which ``before`` there was when it began."""
        found = []
        for opened in lead.opened:
            through, anew = self.through[lead.edge.cause].get(opened), self.anew[lead.edge.cause].get(opened)
            if through is not None:
                found.append(Silent(before.seconds + through.seconds, (before.trail, lead.edge, through.trail)))
            if anew is not None:
                found.append(Silent(anew.seconds, (before.trail, lead.edge, anew.trail)))
        return longest(found)

    def _settle(self, known: dict[Cause, dict[Place, Silent]], found: Learned, edges: Callable[[Edge], bool]) -> None:
        """Go back from the ends, over some edges, and once more whenever more is learned of what they lead to."""
        onward = {
            p: [lead.edge.target for lead in leads if lead.edge.target and edges(lead.edge)]
            for p, leads in self.leads.items()
        }
        before: dict[Place, list[Place]] = {place: list(self._runs.get(place, ())) for place in onward}
        for place, targets in onward.items():
            for target in targets:
                before[target].append(place)
        order = [place for component in components(onward) for place in component]
        waiting, queued = deque(order), set(order)
        while waiting:
            place = waiting.popleft()
            queued.discard(place)
            grown = [self._note(known[end], place, longest(found(place, end))) for end in ENDS]
            if any(grown):
                fresh = [other for other in dict.fromkeys(before[place]) if other not in queued]
                waiting += fresh
                queued.update(fresh)

    def _note(self, known: dict[Place, Silent], place: Place, found: Silent | None) -> bool:
        before = known.get(place)
        if found is None or (before is not None and (found.seconds <= before.seconds or before.seconds >= DAY)):
            return False
        grown = found if before is None else bounded(self._graph, place, found, _around(place, found.trail))
        if grown is not None:
            known[place] = grown
        return grown is not None

    def _silently(self, place: Place, end: Cause) -> Iterator[Silent]:
        for lead in self.leads[place]:
            if _is_silent(lead.edge):
                for passage in self._passages(lead, self.through):
                    yield from self._to_the_end(lead.edge, passage, end)

    def _spoken(self, place: Place, end: Cause) -> Iterator[Silent]:
        for lead in self.leads[place]:
            edge = lead.edge
            if edge.cause is Cause.REPLY:
                yield from self._to_the_end(edge, _AT_ONCE, end)
            elif lead.opened:
                for passage in self._passages(lead, self.anew):
                    yield from self._to_the_end(edge, passage, end)
            later = None if edge.target is None else self.anew[end].get(edge.target)
            if later is not None:
                for passage in (*self._passages(lead, self.through), *self._passages(lead, self.anew)):
                    yield Silent(later.seconds, begun_with(edge, passage.trail, later.trail))

    def _to_the_end(self, edge: Edge, passage: Silent, end: Cause) -> Iterator[Silent]:
        """An edge and what leads on from it to the end."""
        if edge.target is None:
            if not edge.ends_all and edge.expires is (end is Cause.EXPIRED):
                yield Silent(passage.seconds, begun_with(edge, passage.trail, None))
        elif (onward := self.through[end].get(edge.target)) is not None:
            yield Silent(passage.seconds + onward.seconds, begun_with(edge, passage.trail, onward.trail))

    def _passages(self, lead: Lead, known: dict[Cause, dict[Place, Silent]]) -> Iterable[Silent]:
        """How long an edge lasts. Where a flow is run: as is known of it."""
        if not lead.opened:
            return (lead.lasts,)
        ends = known[lead.edge.cause]
        return [ends[opened] for opened in lead.opened if opened in ends]


def _different(graph: Graph, place: Place) -> tuple[Lead, ...]:
    """What leads on from a step, but for edges that make no difference to the silence: one answer is like another."""
    step, found = graph.steps[place], {}
    opened = tuple(graph.opened_by(run.flow) for run in step.kind.flows_run())
    for edge in graph.edges[place]:
        seconds = seconds_at(step, edge)
        alike = edge.cause, edge.target, seconds, edge.ends_all, stays(edge)
        if alike not in found:
            found[alike] = Lead(edge, Silent(seconds), opened if edge.cause in ENDS else ())
    return tuple(found.values())


def _is_silent(edge: Edge) -> bool:
    return edge.cause is not Cause.REPLY and not stays(edge)


def stays(edge: Edge) -> bool:
    """Whether the conversation goes on waiting where it is: its clock is not put back."""
    return (edge.target is not None and not edge.puts) or (edge.outcome == "remind" and edge.target == edge.source)


def seconds_at(step: Step, edge: Edge) -> float:
    """The longest time at a step until it is left in silence by an edge (docs/language/time.md)."""
    rest, defaults = step.kind.rest, step.defaults
    remind = defaults.remind if step.kind.waits else None
    reminded = 0.0 if remind is None or remind.after is None else remind.after.total_seconds() * (remind.most or 1)
    match edge.cause:
        case Cause.REMINDER:
            return reminded
        case Cause.TIMEOUT:
            timeout = defaults.timeout if step.kind.waits else step.riders.defaults.timeout
            after = 0.0 if timeout is None or timeout.after is None else timeout.after.total_seconds()
            return after if timeout is not None and timeout.fixed else after + reminded
        case Cause.TIME | Cause.RESULT:
            longest = None if rest is None else rest.longest
            return UNBOUNDED if longest is None else longest.total_seconds()
        case Cause.PERSON:
            return UNBOUNDED
    return 0.0


def longest(found: Iterable[Silent]) -> Silent | None:
    """The longest of several; None of none."""
    return max(found, key=lambda silent: silent.seconds, default=None)


def bounded(graph: Graph, place: Place, silent: Silent, around: Sequence[Place]) -> Silent | None:
    """What grows each time round grows for ever, unless visits bound it; None: more often it does not go round.

    ``around`` are the steps that its way goes round over from the step to itself, itself as often.
    """
    bounds = (graph.steps[other].riders.visits for other in around)
    most = min((visits.most for visits in bounds if visits is not None), default=None)
    if most is None:
        return Silent(UNBOUNDED, silent.trail) if around else silent
    return None if around.count(place) > most else silent


def _around(place: Place, trail: Trail | None) -> list[Place]:
    passed: list[Place] = []
    while trail is not None:
        before, edge, onward = trail
        first = before[1] if edge is None and before is not None else edge
        if first is not None:
            passed.append(first.source)
        trail = onward if edge is None else None
    again = [n for n, other in enumerate(passed) if other == place][1:]
    return passed[: again[-1]] if again else []
