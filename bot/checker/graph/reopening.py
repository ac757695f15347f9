"""Taps on buttons of questions that were put long ago, where `old_taps` lets them open these again (routing.md)."""

from collections.abc import Iterator, Mapping

from bot.checker.graph.edges import Cause, Edge, Place
from bot.flow.definition import Step
from bot.flow.library import Library

REOPEN = "reopen"


class Reopening:
    """The questions with buttons of a bot in which they can be opened again; none in all others."""

    def __init__(self, library: Library, steps: Mapping[Place, Step]) -> None:
        self._steps = steps
        self._flows: dict[str, list[Place]] = {}
        defaults = [library.bot.defaults, *(flow.defaults for flow in library.flows.values())]
        if any(level.old_taps == REOPEN for level in defaults):
            for place, step in steps.items():
                if library.flows[place[0]].can_be_tapped(step):
                    self._flows.setdefault(place[0], []).append(place)
        rings = self._flows.values()
        self._next = {place: (number + 1) % len(ring) for ring in rings for number, place in enumerate(ring)}

    @property
    def questions(self) -> Iterator[Place]:
        """All of them. The conversation in which they were put may be over."""
        return (place for questions in self._flows.values() for place in questions)

    def edges(self) -> Iterator[Edge]:
        """Enough ways to all such questions. Where one question can be opened, so can the next."""
        for place, step in self._steps.items():
            if self._flows and step.kind.hears and step.defaults.old_taps == REOPEN:
                for target in self._opened_from(place):
                    yield Edge(place, target, "old tap", Cause.REPLY, step.mark, returns=True)

    def _opened_from(self, place: Place) -> Iterator[Place]:
        """The next of its own flow; of other flows from the first of it: the first, or all that lead to no other."""
        own = self._flows.get(place[0], [])
        if own:
            yield own[self._next.get(place, 0)]
        if not own or place == own[0]:
            for flow, questions in self._flows.items():
                if flow != place[0]:
                    yield from questions[:1] if self._steps[questions[0]].defaults.old_taps == REOPEN else questions
