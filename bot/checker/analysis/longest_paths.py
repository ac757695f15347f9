"""Longest paths: the greatest time of each node, where the time of a node depends on other nodes.

Strongly connected components are solved one after another, first those that others depend on. A cycle that takes time
is `UNBOUNDED`, unless the steps on it have a limit of visits.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from math import ceil
from typing import NamedTuple

from bot.checker.graph import Edge
from bot.checker.graph.edges import strongly_connected_components

DAY = 24 * 3600.0
UNBOUNDED = 1e12
"""Seconds, or messages, without a limit. It is a number, so that it can be added and multiplied."""
MOST_CUTS = 20
"""The most nodes with a limit of visits in one component. A component with more of them counts as unbounded."""
_LONGEST_CYCLE_SHOWN = 120  # constraints of a cycle that are shown
_NEVER = float("-inf")

Node = Hashable
"""Something that takes time: each module that builds a graph has its own nodes."""


class Constraint(NamedTuple):
    """One possible composition of a node's time: ``seconds``, plus the time of ``onward``, plus ``times`` the time of
    ``inner``. It is possible only if both are.

    ``edge`` is the edge that is taken, if any. ``anew``: the contact says something, so the time of ``onward`` does
    not count. ``opens``: it leads into another frame, where visits are counted from the beginning.
    """

    seconds: float = 0.0
    onward: Node | None = None
    inner: Node | None = None
    times: int = 1
    edge: Edge | None = None
    anew: bool = False
    opens: bool = False

    @property
    def needed(self) -> tuple[Node, ...]:
        """The nodes that must be possible for this constraint to be possible."""
        if self.inner is None:
            return () if self.onward is None else (self.onward,)
        return (self.inner,) if self.onward is None else (self.onward, self.inner)

    @property
    def counted(self) -> tuple[Node, ...]:
        """The nodes whose time is added."""
        onward = () if self.onward is None or self.anew else (self.onward,)
        return onward if self.inner is None or not self.times else (*onward, self.inner)


def by_node(constraints: Iterable[tuple[Node, Constraint]]) -> dict[Node, list[Constraint]]:
    """The constraints of each node."""
    found: dict[Node, list[Constraint]] = {}
    for node, constraint in constraints:
        found.setdefault(node, []).append(constraint)
    return found


class LongestPaths:
    """The greatest time of each possible node in ``seconds``. ``bounds`` are the most visits of a node in one frame."""

    def __init__(self, constraints: Mapping[Node, Sequence[Constraint]], bounds: Mapping[Node, int]) -> None:
        self.seconds: dict[Node, float] = {}
        self.components: dict[Node, Component] = {}
        possible = _possible(constraints)
        onward = {node: [each for one in several for each in one.counted] for node, several in possible.items()}
        for nodes in strongly_connected_components(onward):
            alone = len(nodes) == 1 and nodes[0] not in onward[nodes[0]]
            component = self._single(nodes[0], possible) if alone else self._component(nodes, possible, bounds)
            self.seconds.update(component.seconds())
            self.components.update(dict.fromkeys(nodes, component))

    def path(self, node: Node) -> list[tuple[Node, Constraint]]:
        """The nodes of a longest path, each with the constraint that leads on, back to the contact's last message. A
        cycle without a limit is repeated until it has taken a day.
        """
        found: list[tuple[Node, Constraint]] = []
        here: Node | None = node
        while here is not None:
            found += self.components[here].path(here)
            here = None if found[-1][1].anew else found[-1][1].onward
        return found

    def _single(self, node: Node, possible: Mapping[Node, Sequence[Constraint]]) -> "Component":
        """The component of a node that does not depend on itself, as most do not."""
        several = possible[node]
        longest = several[0] if len(several) == 1 else max(several, key=self._known)
        return Component((node,), (), {node: ComponentExit(node, longest, self._known(longest))}, {})

    def _component(
        self, nodes: Sequence[Node], possible: Mapping[Node, Sequence[Constraint]], bounds: Mapping[Node, int]
    ) -> "Component":
        among = set(nodes)
        exits, dependencies = dict[Node, ComponentExit](), list[Dependency]()
        for node in nodes:
            for constraint in possible[node]:
                seconds = self._known(constraint)
                inside = [each for each in constraint.counted if each in among]
                if not inside and (node not in exits or exits[node].seconds < seconds):
                    exits[node] = ComponentExit(node, constraint, seconds)
                for each in inside:
                    several = len(inside) > 1 or (each == constraint.inner and constraint.times > 1)
                    dependencies.append(Dependency(node, each, constraint, seconds, several))
        return Component(nodes, dependencies, exits, {node: bounds[node] for node in nodes if node in bounds})

    def _known(self, constraint: Constraint) -> float:
        """The time of a constraint, as far as its nodes are solved."""
        found = constraint.seconds
        if constraint.onward is not None and not constraint.anew:
            found += self.seconds.get(constraint.onward, 0.0)
        if constraint.inner is not None:
            found += self.seconds.get(constraint.inner, 0.0) * constraint.times
        return min(found, UNBOUNDED)


class ComponentExit(NamedTuple):
    """A constraint by which a node leaves its component."""

    node: Node
    constraint: Constraint
    seconds: float


class Dependency(NamedTuple):
    """A dependency between two nodes of a component, with the time that the constraint adds. ``several``: the inner
    node's time is added several times.
    """

    source: Node
    target: Node
    constraint: Constraint
    seconds: float
    several: bool = False

    @property
    def onward(self) -> bool:
        """True if a path continues along it, not only adds its time."""
        return self.target == self.constraint.onward

    @property
    def plain(self) -> bool:
        """True if a path continues along it in the same frame, in which visits are counted."""
        return self.onward and not self.several and not self.constraint.opens


class Component:
    """Nodes that all depend on each other, or one node alone.

    ``exits`` has the longest constraint by which each node leaves it.
    """

    def __init__(
        self,
        nodes: Sequence[Node],
        dependencies: Sequence[Dependency],
        exits: Mapping[Node, ComponentExit],
        bounds: Mapping[Node, int],
    ) -> None:
        self.nodes = nodes
        self.exit = max(exits.values(), key=lambda found: found.seconds)
        self._dependencies = dependencies
        self._exits = exits
        self._bounds = bounds
        self._rounds = 0.0  # how often its cycles are repeated, at most

    @property
    def endless(self) -> bool:
        """True if a path can repeat a cycle without a limit."""
        return self._rounds >= UNBOUNDED

    def seconds(self) -> Mapping[Node, float]:
        """The time of each node. Where no cycle takes time, all nodes take as long as the longest exit."""
        longest = self.exit.seconds
        if not any(each.seconds > 0 or (each.several and longest > 0) for each in self._dependencies):
            return dict.fromkeys(self.nodes, longest)
        cuts = self._cuts() if all(each.plain for each in self._dependencies) else None
        if cuts is None:
            self._rounds = UNBOUNDED
            return dict.fromkeys(self.nodes, UNBOUNDED)
        self._rounds = sum(self._bounds[cut] for cut in cuts)
        return self._bounded(cuts)

    # -- cycles with bounds ----------------------------------------------------------------------------------------

    def _cuts(self) -> list[Node] | None:
        """Nodes with a limit of visits, at least one on each cycle that takes time, the smallest limits first; None
        if a cycle has no such node, or too many are needed.
        """
        cuts: list[Node] = []
        parts = [list(self.nodes)]
        while parts:
            part = set(parts.pop())
            if any(each.seconds > 0 and each.target in part for node in part for each in self._onward[node]):
                cut = min((node for node in self._bounds if node in part), key=self._bounds.__getitem__, default=None)
                if cut is None or len(cuts) == MOST_CUTS:
                    return None
                cuts.append(cut)
                parts += self._without(cuts, part)
        return cuts

    def _bounded(self, cuts: Sequence[Node]) -> Mapping[Node, float]:
        """The longest time of each node: to a cut, from cut to cut while visits are left, and out of the component."""
        order = self._without(cuts, self.nodes)
        out = self._longest({node: found.seconds for node, found in self._exits.items() if node not in cuts}, order)
        to_cut = self._longest(dict.fromkeys(cuts, 0.0), order)
        last = max(
            max(self._exits[cut].seconds if cut in self._exits else _NEVER, self._next(cut, out)) for cut in cuts
        )
        around = max(self._next(cut, to_cut) for cut in cuts)
        whole = last + (self._rounds - 1) * around if self._rounds > 1 else last
        out.update(dict.fromkeys(cuts, whole))
        return {node: min(max(out[node], to_cut[node] + whole), UNBOUNDED) for node in self.nodes}

    def _longest(self, goals: Mapping[Node, float], order: Iterable[Sequence[Node]]) -> dict[Node, float]:
        """The longest time from each node to a goal. In ``order`` each node comes after those that it leads to."""
        found = dict(goals)
        for part in order:
            longest = max(max(found.get(node, _NEVER), self._next(node, found)) for node in part)
            found.update(dict.fromkeys(part, longest))
        return found

    def _next(self, node: Node, known: Mapping[Node, float]) -> float:
        return max(
            (each.seconds + known[each.target] for each in self._onward[node] if each.target in known), default=_NEVER
        )

    def _without(self, cuts: Sequence[Node], nodes: Iterable[Node]) -> list[list[Node]]:
        """The nodes without the cuts, as components again. Each component comes after those that it leads to."""
        left = {node for node in nodes if node not in cuts}
        onward = {
            node: [each.target for each in self._onward[node] if each.target in left] for node in nodes if node in left
        }
        return strongly_connected_components(onward)

    @cached_property
    def _onward(self) -> Mapping[Node, list[Dependency]]:
        found: dict[Node, list[Dependency]] = {node: [] for node in self.nodes}
        for each in self._dependencies:
            found[each.source].append(each)
        return found

    # -- paths -----------------------------------------------------------------------------------------------------

    def path(self, node: Node) -> list[tuple[Node, Constraint]]:
        """The nodes from one of them to the exit, each with its constraint. A cycle that takes time comes first.
        Where only an inner node's time leads out, the path continues at the exit.
        """
        found: list[tuple[Node, Constraint]] = []
        if self._cycle and (node == self._cycle[0].source or node in self._to_cycle):
            found += _followed(node, self._to_cycle)
            found += [(each.source, each.constraint) for each in self._cycle] * self._rounds_shown
            node = self._cycle[0].source
        return [*found, *_followed(node, self._to_exit), (self.exit.node, self.exit.constraint)]

    @cached_property
    def _cycle(self) -> Sequence[Dependency]:
        """A cycle that takes time; empty if it leads through inner nodes."""
        longest = max((each for each in self._dependencies if each.onward), key=lambda each: each.seconds, default=None)
        if longest is None or longest.seconds <= 0:
            return ()
        back = self._toward(longest.source)
        if longest.target != longest.source and longest.target not in back:
            return ()
        cycle = [longest]
        while cycle[-1].target != longest.source:
            cycle.append(back[cycle[-1].target])
        return cycle

    @cached_property
    def _to_cycle(self) -> Mapping[Node, Dependency]:
        return self._toward(self._cycle[0].source)

    @cached_property
    def _to_exit(self) -> Mapping[Node, Dependency]:
        return self._toward(self.exit.node)

    def _toward(self, end: Node) -> Mapping[Node, Dependency]:
        """For each node, the dependency that leads to an exit over the fewest nodes."""
        before: dict[Node, list[Dependency]] = {}
        for each in self._dependencies:
            if each.onward and each.source != end:
                before.setdefault(each.target, []).append(each)
        found: dict[Node, Dependency] = {}
        waiting = deque([end])
        while waiting:
            for each in before.get(waiting.popleft(), ()):
                if each.source not in found:
                    found[each.source] = each
                    waiting.append(each.source)
        return found

    @property
    def _rounds_shown(self) -> int:
        """The number of times that a cycle is shown: until it has taken a day."""
        left = max(DAY - self.exit.seconds, 0.0)
        around = sum(each.seconds for each in self._cycle)
        return int(min(ceil(left / around), self._rounds, max(_LONGEST_CYCLE_SHOWN // len(self._cycle), 1)))


def _followed(node: Node, toward: Mapping[Node, Dependency]) -> Iterator[tuple[Node, Constraint]]:
    while node in toward:
        yield node, toward[node].constraint
        node = toward[node].target


def _possible(constraints: Mapping[Node, Sequence[Constraint]]) -> dict[Node, list[Constraint]]:
    """The possible constraints of each node: all nodes that they need are possible."""
    found: dict[Node, list[Constraint]] = {}
    users: defaultdict[Node, list[tuple[Node, Constraint, list[Node]]]] = defaultdict(list)
    ready = deque[tuple[Node, Constraint]]()
    for node, several in constraints.items():
        for constraint in several:
            missing = list(constraint.needed)
            for need in missing:
                users[need].append((node, constraint, missing))
            if not missing:
                ready.append((node, constraint))
    while ready:
        here, possible = ready.popleft()
        if here not in found:
            found[here] = []
            for node, constraint, missing in users[here]:
                missing.remove(here)
                if not missing:
                    ready.append((node, constraint))
        found[here].append(possible)
    return found
