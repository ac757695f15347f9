"""Waits that may be over when they are come to, and whether they may be so again and again."""

from collections.abc import Collection

from bot.checker.graph import Graph, Place
from bot.lang.cases import Cases, Kind
from bot.lang.domains import values_of
from bot.lang.reads import Reads
from bot.lang.templates import Template
from bot.steps.declared import RestFor
from bot.steps.points_in_time import CLOCK


class Waits:
    """The waits of a bot that are for a point in time, or for an office to open."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def may_be_over(self, place: Place) -> bool:
        """Whether a step may wait for what has come about already."""
        kind = self._graph.steps[place].kind
        if kind.rest is None or kind.rest.what is not RestFor.TIME or kind.rest.longest is not None:
            return False
        return kind.rest.over or all(self._may_have_passed(moment, place) for moment in kind.moments())

    def moves_on(self, place: Place, given: Collection[str]) -> bool:
        """Whether a step may wait for another point in time when it is come to once more in a turn.

        ``given`` are the variables that are given something meanwhile. What is reckoned from now and from variables is
        taken to be in the future.
        """
        return any(
            moment.calls or not moment.names.isdisjoint(given) or (moment.names & CLOCK and moment.names - CLOCK)
            for moment in self._graph.steps[place].kind.moments()
        )

    def _may_have_passed(self, moment: Template, place: Place) -> bool:
        """What is reckoned from now alone, and has not passed whenever it is worked out, is in the future."""
        reckoned = moment.names and moment.names <= CLOCK
        return not reckoned and any(case.kind is not Kind.DURATION for case in self._cases(moment, place))

    def _cases(self, moment: Template, place: Place) -> Cases:
        variables = self._graph.flow(place).variables
        known = {name: values_of(variables[name]) for name in moment.names if name in variables}
        return Reads(moment).reading(known).cases
