"""What a frame's variables are where a flow declares them: at its beginning, and when it goes over to another flow."""

from collections.abc import Mapping

from bot.checker.data.giving import State
from bot.checker.data.nulls import Names, Nulls
from bot.checker.graph import Edge, Graph, Opening, Place, Root
from bot.flow.definition import Flow
from bot.lang.domains import KINDS, may_fit
from bot.lang.groups import certain_groups
from bot.lang.texts import LONGEST, TextVariable
from bot.lang.variable import Variable


class Declarations:
    """The declarations of all flows. ``given`` are the variables that something gives a value, by flow."""

    def __init__(self, graph: Graph, nulls: Nulls, given: Mapping[str, Names]) -> None:
        self._graph = graph
        self._nulls = nulls
        self._given = given
        flows = graph.library.flows.values()
        self._own = {flow.name: nulls.of(*flow.variables) for flow in flows}
        self._initial = {flow.name: nulls.of(*_with_value(flow)) for flow in flows}
        self._kept = {flow.name: nulls.of(*(v.name for v in flow.variables.values() if v.keep)) for flow in flows}
        self._before = self._spread(self._own)
        self._bare = self._spread({name: own & ~self._initial[name] for name, own in self._own.items()})
        self._misfits: dict[tuple[str, str], Names] = {}

    def at(self, place: Place) -> Names:
        """The variables that a frame may have at a step: the flow's own, and those of flows that it has been in."""
        return self._before[place[0]]

    def fresh(self, root: Root) -> State:
        """What a frame begins with, inputs aside. What a program starts is given all that nothing in the flow gives."""
        flow = self._graph.library.flows[root.place[0]]
        known = self._initial[flow.name]
        match root.opening:
            case Opening.PROGRAM:
                known |= ~self._given[flow.name]
            case Opening.WORDS | Opening.INTERRUPTION:
                known |= self._nulls.of(*_by_pattern(flow))
        return State(self._nulls.everything & ~known)

    def kept_by_both(self, place: Place, other: Place) -> Names:
        """The variables that are kept with the contact wherever the flows of both steps give them a value."""
        return self._kept[place[0]] & self._kept[other[0]]

    def crossed(self, edge: Edge, state: State) -> State:
        """What may be null where the frame goes over to another flow: what it has no value for begins as declared
        there, and what does not fit what it is there begins anew.
        """
        here, there = edge.source[0], edge.source[0] if edge.target is None else edge.target[0]
        if here == there:
            return state
        if (here, there) not in self._misfits:
            self._misfits[here, there] = self._find_misfits(here, there)
        begun = self._initial[there] & ~self._bare[here]
        return State(state.unset & ~begun | self._misfits[here, there], state.emptied)

    def _spread(self, own: Mapping[str, Names]) -> dict[str, Names]:
        """What each flow has, and the flows from which frames go over to it."""
        found = dict(own)
        waiting = list(found)
        while waiting:
            name = waiting.pop()
            for other in self._graph.crossed[name]:
                if found[name] | found[other] != found[other]:
                    found[other] |= found[name]
                    waiting.append(other)
        return found

    def _find_misfits(self, here: str, there: str) -> Names:
        ours, theirs = (self._graph.library.flows[name].variables for name in (here, there))
        both = (name for name in theirs.keys() & ours.keys() if theirs[name].value is None)
        return self._nulls.of(*(name for name in both if not _carries(ours[name], theirs[name])))


def _with_value(flow: Flow) -> list[str]:
    return [name for name, variable in flow.variables.items() if variable.value is not None]


def _carries(ours: Variable, theirs: Variable) -> bool:
    """Whether each value of one variable is one of another: of its type, or a text, which many types can be."""
    if theirs.type == "text":
        return may_fit(KINDS[ours.type], theirs)
    return (ours.type, theirs.type) == ("integer", "number") or ours.type == theirs.type


def _by_pattern(flow: Flow) -> list[str]:
    """The variables that have a value whatever message starts the flow; none where words start it, too."""
    start = flow.start
    if start is None or start.pattern is None or start.words or start.otherwise:
        return []
    return [name for name in certain_groups(start.pattern) if _takes_all(flow.variables[name])]


def _takes_all(variable: Variable) -> bool:
    plain = isinstance(variable, TextVariable) and variable.pattern is None and variable.most == LONGEST
    return plain and not variable.checks
