"""The longest time that each of many things takes which depend on each other, in one pass over what depends on what."""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import NamedTuple

from bot.checker.graph import Edge
from bot.checker.graph.traversal import strongly_connected_components

DAY = 24 * 3600.0
UNBOUNDED = 1e12
"""Seconds: for ever. A number, so that it can be added to and multiplied."""

Node = Hashable
"""What takes time."""


class Constraint(NamedTuple):
    """One of the ways in which a node takes time: so many seconds, what ``onward`` takes, and ``times`` what ``inner``
    does. It can be only where both of them can.

    ``edge`` is what is taken, if any. ``anew``: the contact says something, so what ``onward`` takes does not count.
    ``opens``: it leads into another frame, where visits are counted anew.
    """

    seconds: float = 0.0
    onward: Node | None = None
    inner: Node | None = None
    times: int = 1
    edge: Edge | None = None
    anew: bool = False
    opens: bool = False

    @property
    def counted(self) -> tuple[Node, ...]:
        """The nodes whose time counts."""
        onward = () if self.onward is None or self.anew else (self.onward,)
        return onward if self.inner is None or not self.times else (*onward, self.inner)


def by_node(terms: Iterable[tuple[Node, Constraint]]) -> dict[Node, list[Constraint]]:
    """The terms of each node."""
    found: dict[Node, list[Constraint]] = {}
    for node, term in terms:
        found.setdefault(node, []).append(term)
    return found


class LongestPaths:
    """``seconds`` is the longest time of each node that is possible at all, by its terms; what it depends on comes first.

    It comes about by the ``best`` of its terms; of nodes that depend on each other, by their one knot.

    A circle that takes time takes for ever, but for nodes with ``bounds``: how often they are come to in a frame.
    """

    def __init__(self, terms: Mapping[Node, Sequence[Constraint]], bounds: Mapping[Node, int]) -> None:
        self.seconds: dict[Node, float] = {}
        self._bounds = bounds
        self._terms: dict[Node, list[Constraint]] = {}  # those that are possible
        self._first: dict[Node, Constraint] = {}  # one that needs nothing but what was possible before
        self.best: dict[Node, Constraint] = {}
        self.knots: dict[Node, Component] = {}
        self._find_possible(terms)
        self._settle()

    def way(self, node: Node) -> list[Constraint]:
        """The terms of a longest way on from a node: of one that takes a day, where it has no end.

        What lies beyond the contact's last message is as short as it can be.
        """
        found: list[Constraint] = []
        here: Node | None = node
        while here is not None:
            knot = self.knots.get(here)
            found += [self.best[here]] if knot is None else knot.way(here, self._first)
            here = None if found[-1].anew else found[-1].onward
        here = found[-1].onward
        while here is not None:
            found.append(self._first[here])
            here = found[-1].onward
        return found

    def _find_possible(self, terms: Mapping[Node, Sequence[Constraint]]) -> None:
        used: defaultdict[Node, list[tuple[Node, Constraint]]] = defaultdict(list)
        waiting: deque[Node] = deque()
        for node, several in terms.items():
            for term in several:
                if term.onward is not None:
                    used[term.onward].append((node, term))
                if term.inner is not None:
                    used[term.inner].append((node, term))
                if term.onward is None and term.inner is None:
                    self._note(node, term, waiting)
        halves: set[tuple[Node, int]] = set()  # of terms that need two nodes: one is there
        while waiting:
            for node, term in used[waiting.popleft()]:
                half = node, id(term)
                if term.onward is None or term.inner is None or half in halves:
                    self._note(node, term, waiting)
                else:
                    halves.add(half)

    def _note(self, node: Node, term: Constraint, waiting: deque[Node]) -> None:
        if node not in self._first:
            self._first[node] = term
            self._terms[node] = []
            waiting.append(node)
        self._terms[node].append(term)

    def _settle(self) -> None:
        onward = {node: [each for term in terms for each in term.counted] for node, terms in self._terms.items()}
        for component in strongly_connected_components(onward):
            node = component[0]
            if len(component) > 1 or node in onward[node]:
                self._untie(component)
            else:
                seconds = [self._known_of(term) for term in self._terms[node]]
                self.seconds[node] = max(seconds)
                self.best[node] = self._terms[node][seconds.index(self.seconds[node])]

    def _known_of(self, term: Constraint) -> float:
        """What a term comes to, as far as its nodes are known."""
        found = term.seconds
        if term.onward is not None and not term.anew:
            found += self.seconds.get(term.onward, 0.0)
        if term.inner is not None:
            found += self.seconds.get(term.inner, 0.0) * term.times
        return found if found < UNBOUNDED else UNBOUNDED

    def _untie(self, component: Sequence[Node]) -> None:
        """Weigh nodes that depend on each other."""
        among, knot = set(component), Component(self._bounds)
        for node in component:
            for term in self._terms[node]:
                inside = [each for each in term.counted if each in among]
                if not inside:
                    knot.leave(node, term, self._known_of(term))
                for each in inside:
                    several = len(inside) > 1 or (each == term.inner and term.times > 1)
                    knot.arcs.append(Dependency(node, each, term, self._known_of(term), several))
        self.seconds.update(knot.weigh(component))
        self.knots.update(dict.fromkeys(component, knot))


MOST_CUTS = 20
"""The bounds that are looked at in a knot: of more, none is believed."""
_MOST_TOLD = 120  # terms of a way round and round
_NEVER = float("-inf")


class Dependency(NamedTuple):
    """A node of a knot depends on another, by a term which takes so long beside it.

    ``several``: it takes as long once more as something in the knot does.
    """

    source: Node
    target: Node
    term: Constraint
    seconds: float
    several: bool = False

    @property
    def plain(self) -> bool:
        """Whether the way through the knot goes on by it, in the same frame."""
        return self.target == self.term.onward and not self.several and not self.term.opens


class Component:
    """Nodes that depend on each other by ``arcs``."""

    def __init__(self, bounds: Mapping[Node, int]) -> None:
        self.arcs: list[Dependency] = []
        self._bounds = bounds
        self._exits: dict[Node, tuple[float, Constraint]] = {}  # the longest by which each node leaves the knot
        self.nodes: Sequence[Node] = ()
        self._rounds = 0.0  # how often its circles are gone round, at most

    @property
    def endless(self) -> bool:
        """Whether it is gone round for ever."""
        return self._rounds >= UNBOUNDED

    def leave(self, node: Node, term: Constraint, seconds: float) -> None:
        """Note a term of a node which does not depend on the knot."""
        if node not in self._exits or self._exits[node][0] < seconds:
            self._exits[node] = seconds, term

    def weigh(self, nodes: Sequence[Node]) -> Mapping[Node, float]:
        """How long each node takes. Where no circle takes time, they all take as long as the longest exit."""
        self.nodes = nodes
        longest = self._exits[self._exit][0]
        if not any(arc.seconds > 0 or (arc.several and longest > 0) for arc in self.arcs):
            return dict.fromkeys(nodes, longest)
        bounded = any(node in self._bounds for node in nodes) and all(arc.plain for arc in self.arcs)
        cuts = self._cuts(nodes) if bounded else None
        if cuts is None:
            self._rounds = UNBOUNDED
            return dict.fromkeys(nodes, UNBOUNDED)
        self._rounds = sum(self._bounds[cut] for cut in cuts)
        return self._between(nodes, cuts)

    @property
    def exit(self) -> Constraint:
        """The longest way out."""
        return self._exits[self._exit][1]

    @cached_property
    def _exit(self) -> Node:
        return max(self._exits, key=lambda node: self._exits[node][0])

    @cached_property
    def _onward(self) -> Mapping[Node, list[Dependency]]:
        found: dict[Node, list[Dependency]] = {}
        for arc in self.arcs:
            found.setdefault(arc.source, []).append(arc)
        return found

    # -- circles that are bounded ----------------------------------------------------------------------------------

    def _cuts(self, nodes: Sequence[Node]) -> list[Node] | None:
        """Nodes with bounds that lie on all circles which take time, the narrowest first; None: there are none such."""
        cuts: list[Node] = []
        parts = [list(nodes)]
        while parts:
            part = parts.pop()
            if not any(arc.seconds > 0 for arc in self._within(part)):
                continue
            cut = min((node for node in part if node in self._bounds), key=self._bounds.__getitem__, default=None)
            if cut is None or len(cuts) == MOST_CUTS:
                return None
            cuts.append(cut)
            parts += self._parts([node for node in part if node != cut])
        return cuts

    def _within(self, part: Sequence[Node]) -> Iterator[Dependency]:
        among = set(part)
        return (arc for node in part for arc in self._onward.get(node, ()) if arc.target in among)

    def _parts(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """What is left of the knot without some of its nodes, what is led to first."""
        onward: dict[Node, list[Node]] = {node: [] for node in nodes}
        for arc in self._within(nodes):
            onward[arc.source].append(arc.target)
        return strongly_connected_components(onward)

    def _between(self, nodes: Sequence[Node], cuts: Sequence[Node]) -> Mapping[Node, float]:
        """The longest on from each node: to a cut, from cut to cut as often as they are come to, and out of the knot."""
        out: dict[Node, float] = {}
        reach: dict[Node, float] = dict.fromkeys(cuts, 0.0)
        for part in self._parts([node for node in nodes if node not in reach]):
            out.update(dict.fromkeys(part, self._longest_out(part, out)))
            reach.update(dict.fromkeys(part, self._longest_to(part, reach)))
        last = max(self._longest_out([cut], out) for cut in cuts)
        around = max(self._longest_to([cut], reach) for cut in cuts)
        all_rounds = last + (self._rounds - 1) * around if self._rounds > 1 else last
        out.update(dict.fromkeys(cuts, all_rounds))
        return {node: min(max(out[node], reach[node] + all_rounds), UNBOUNDED) for node in nodes}

    def _longest_out(self, part: Sequence[Node], known: Mapping[Node, float]) -> float:
        exits = (self._exits[node][0] for node in part if node in self._exits)
        return max((*exits, self._longest_to(part, known)), default=_NEVER)

    def _longest_to(self, part: Iterable[Node], known: Mapping[Node, float]) -> float:
        arcs = (arc for node in part for arc in self._onward.get(node, ()))
        return max((arc.seconds + known[arc.target] for arc in arcs if arc.target in known), default=_NEVER)

    # -- ways ------------------------------------------------------------------------------------------------------

    def way(self, node: Node, first: Mapping[Node, Constraint]) -> list[Constraint]:
        """The terms of a way on from a node until it leaves the knot: round and round before, where that takes time.

        ``first`` are terms that lead out of it at last, for where nothing else is known to.
        """
        found: list[Constraint] = []
        here: Node | None = node
        if self._circle and (node == self._circle[0].source or node in self._to_circle):
            while here != self._circle[0].source:
                found.append(self._to_circle[here].term)
                here = self._to_circle[here].target
            found += [arc.term for arc in self._circle] * self._rounds_told
        among = set(self.nodes)
        while here in among:
            known = self.exit if here == self._exit else first[here]
            found.append(self._to_exit[here].term if here in self._to_exit else known)
            here = None if found[-1].anew else found[-1].onward
        return found

    @cached_property
    def _to_exit(self) -> Mapping[Node, Dependency]:
        return self._toward(self._exit)

    @cached_property
    def _to_circle(self) -> Mapping[Node, Dependency]:
        return self._toward(self._circle[0].source)

    @cached_property
    def _circle(self) -> Sequence[Dependency]:
        """A circle that takes time; none where it leads through other frames."""
        begun = max((arc for arc in self.arcs if arc.plain), key=lambda arc: arc.seconds, default=None)
        if begun is None or begun.seconds <= 0:
            return ()
        circle, back = [begun], self._toward(begun.source)
        while circle[-1].target != begun.source:
            if circle[-1].target not in back:
                return ()
            circle.append(back[circle[-1].target])
        return circle

    @property
    def _rounds_told(self) -> int:
        """How often it goes round until a day is over."""
        left = max(DAY - self._exits[self._exit][0], 0.0)
        around = sum(arc.seconds for arc in self._circle)
        return int(min(ceil(left / around), self._rounds, max(_MOST_TOLD // len(self._circle), 1)))

    def _toward(self, end: Node) -> Mapping[Node, Dependency]:
        """The arc by which each node comes nearer to one, over the fewest."""
        before: dict[Node, list[Dependency]] = {}
        for arc in self.arcs:
            if arc.plain:
                before.setdefault(arc.target, []).append(arc)
        found: dict[Node, Dependency] = {}
        waiting = deque([end])
        while waiting:
            for arc in before.get(waiting.popleft(), ()):
                if arc.source not in found and arc.source != end:
                    found[arc.source] = arc
                    waiting.append(arc.source)
        return found
