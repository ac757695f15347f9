"""The longest time that each of many things takes which depend on each other, in one pass over what depends on what."""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence

from bot.checker.paths.circles import components
from bot.checker.paths.knots import Arc, Knot
from bot.checker.paths.terms import UNBOUNDED, Node, Term


class Longest:
    """``seconds`` is the longest time of each node that is possible at all, by its terms; what it depends on comes first.

    It comes about by the ``best`` of its terms; of nodes that depend on each other, by their one knot.

    A circle that takes time takes for ever, but for nodes with ``bounds``: how often they are come to in a frame.
    """

    def __init__(self, terms: Mapping[Node, Sequence[Term]], bounds: Mapping[Node, int]) -> None:
        self.seconds: dict[Node, float] = {}
        self._bounds = bounds
        self._terms: dict[Node, list[Term]] = {}  # those that are possible
        self._first: dict[Node, Term] = {}  # one that needs nothing but what was possible before
        self.best: dict[Node, Term] = {}
        self.knots: dict[Node, Knot] = {}
        self._find_possible(terms)
        self._settle()

    def way(self, node: Node) -> list[Term]:
        """The terms of a longest way on from a node: of one that takes a day, where it has no end.

        What lies beyond the contact's last message is as short as it can be.
        """
        found: list[Term] = []
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

    def _find_possible(self, terms: Mapping[Node, Sequence[Term]]) -> None:
        used: defaultdict[Node, list[tuple[Node, Term]]] = defaultdict(list)
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

    def _note(self, node: Node, term: Term, waiting: deque[Node]) -> None:
        if node not in self._first:
            self._first[node] = term
            self._terms[node] = []
            waiting.append(node)
        self._terms[node].append(term)

    def _settle(self) -> None:
        onward = {node: [each for term in terms for each in term.counted] for node, terms in self._terms.items()}
        for component in components(onward):
            node = component[0]
            if len(component) > 1 or node in onward[node]:
                self._untie(component)
            else:
                seconds = [self._known_of(term) for term in self._terms[node]]
                self.seconds[node] = max(seconds)
                self.best[node] = self._terms[node][seconds.index(self.seconds[node])]

    def _known_of(self, term: Term) -> float:
        """What a term comes to, as far as its nodes are known."""
        found = term.seconds
        if term.onward is not None and not term.anew:
            found += self.seconds.get(term.onward, 0.0)
        if term.inner is not None:
            found += self.seconds.get(term.inner, 0.0) * term.times
        return found if found < UNBOUNDED else UNBOUNDED

    def _untie(self, component: Sequence[Node]) -> None:
        """Weigh nodes that depend on each other."""
        among, knot = set(component), Knot(self._bounds)
        for node in component:
            for term in self._terms[node]:
                inside = [each for each in term.counted if each in among]
                if not inside:
                    knot.leave(node, term, self._known_of(term))
                for each in inside:
                    several = len(inside) > 1 or (each == term.inner and term.times > 1)
                    knot.arcs.append(Arc(node, each, term, self._known_of(term), several))
        self.seconds.update(knot.weigh(component))
        self.knots.update(dict.fromkeys(component, knot))
