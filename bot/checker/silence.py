"""How long a contact may have been silent when a conversation comes to a step: the longest time along any path."""

from collections import deque
from collections.abc import Iterator, Mapping

from bot.checker.graph import Cause, Graph, Opening, Place, Root
from bot.checker.passages import DAY, UNBOUNDED, Lead, Passages, Silent, bounded, longest, stays
from bot.checker.trails import Trail


class Silences:
    """The longest silence at each step of a bot, when its message is sent."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._passages = Passages(graph)
        self.at: Mapping[Place, Silent] = self._settled()

    def on(self, lead: Lead, before: Silent) -> Silent | None:
        """The silence when an edge is taken, of which ``before`` there was at its step. None: it cannot be taken."""
        if lead.edge.cause is Cause.REPLY:
            return Silent(0.0, (before.trail, lead.edge, None))
        if lead.opened:
            return self._passages.after_run(before, lead)
        return Silent(before.seconds + lead.lasts.seconds, (before.trail, lead.edge, None))

    def leads(self, place: Place) -> tuple[Lead, ...]:
        """What leads on from a step, as far as it makes a difference."""
        return self._passages.leads[place]

    def _spread(self, begun: Place, silent: Silent, found: dict[Place, Silent]) -> None:
        """Note how long the silence is at a step, and what follows from that for those that it leads to."""
        waiting: deque[Place] = deque()
        self._improve(found, waiting, begun, silent)
        while waiting:
            place = waiting.popleft()
            for lead in self.leads(place):
                target = None if stays(lead.edge) else lead.edge.target
                later = None if target is None else self.on(lead, found[place])
                if later is not None and target is not None:
                    self._improve(found, waiting, target, later)

    def _improve(self, found: dict[Place, Silent], waiting: deque[Place], place: Place, silent: Silent) -> None:
        """Note a longer silence. One that grows each time round grows for ever, unless visits bound it."""
        before = found.get(place)
        if before is not None and (silent.seconds <= before.seconds or before.seconds >= DAY):
            return
        grown = silent if before is None else bounded(self._graph, place, silent, _around(place, silent.trail))
        if grown is not None:
            found[place] = grown
            waiting.append(place)

    def _settled(self) -> dict[Place, Silent]:
        """Begin with what a message opens; what opens by itself, and what is come back to, follows from that."""
        found: dict[Place, Silent] = {}
        for root in self._graph.roots:
            if root.by is None:
                self._spread(root.place, Silent(0.0 if root.opening in _SPOKEN else UNBOUNDED), found)
        before: dict[Place, float] = {}
        while before != (now := {place: silent.seconds for place, silent in found.items()}):
            before = now
            for root in self._graph.roots:
                for silent in self._opened(root, found):
                    self._spread(root.place, silent, found)
            for place, silent in self._come_back_to(found):
                self._spread(place, silent, found)
        return found

    def _opened(self, root: Root, found: Mapping[Place, Silent]) -> Iterator[Silent]:
        """The silence with which a step opens a frame: at once where it runs it, later where it is scheduled."""
        if root.by is None or root.by not in found:
            return
        here = found[root.by]
        if root.opening is Opening.RUN:
            yield here
        elif root.opening is Opening.PLAN:
            for lead in self.leads(root.by):
                silent = self.on(lead, here) if lead.edge.success else None
                if silent is not None:
                    later = UNBOUNDED if root.after is None else root.after.total_seconds()
                    yield Silent(silent.seconds + later, silent.trail)

    def _come_back_to(self, found: Mapping[Place, Silent]) -> Iterator[tuple[Place, Silent]]:
        """The questions that are put again after another flow, and the longest silence at its end."""
        ends = {flow: self._after_interruption(flow) for flow in self._graph.library.flows}
        for place, silent in list(found.items()):
            late = ends[place[0]]
            if late is not None and self._graph.hears(place):
                yield place, Silent(late.seconds, (silent.trail, None, late.trail))

    def _after_interruption(self, flow: str) -> Silent | None:
        """The longest silence when a flow is come back to. What is open below it does not cut in."""
        if self._graph.library.flows[flow].interrupted not in ("resume", "ask"):
            return None
        never = {flow, *self._graph.below[flow]}
        roots = (root for root in self._graph.roots if root.opening is Opening.INTERRUPTION)
        cutting_in = [root.place for root in roots if root.place[0] not in never]
        known = self._passages.through[Cause.FLOW], self._passages.anew[Cause.FLOW]
        return longest(ends[place] for ends in known for place in cutting_in if place in ends)


_SPOKEN = (Opening.WORDS, Opening.WORD, Opening.INTERRUPTION)


def _around(place: Place, trail: Trail | None) -> list[Place]:
    """The steps that were gone round over from a step to itself, itself as often; since the contact last spoke."""
    passed: list[Place] = []
    while trail is not None and (trail[1] is None or trail[1].cause is not Cause.REPLY):
        if trail[1] is not None:
            passed.append(trail[1].source)
        trail = trail[0]
    return passed[: len(passed) - passed[::-1].index(place)] if place in passed else []
