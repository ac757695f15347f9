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
    def counted(self) -> tuple[Node, ...]:
        """The nodes whose time is added."""
        onward = () if self.onward is None or self.anew else (self.onward,)
        return onward if self.inner is None or not self.times else (*onward, self.inner)


def by_node(constraints: Iterable[tuple[Node, Constraint]]) -> dict[Node, list[Constraint]]:
    """The constraints of each node."""
    found = defaultdict[Node, list[Constraint]](list)
    for node, constraint in constraints:
        found[node].append(constraint)
    return found


Path = list[tuple[Node, Constraint]]
"""Nodes, each with the constraint that leads to the next one."""


def after(path: Path) -> Node | None:
    """The node at which a path continues; None if the contact says something there, or the path is over."""
    last = path[-1][1]
    return None if last.anew else last.onward


class LongestPaths:
    """The greatest time of each possible node in ``seconds``. ``bounds`` are the most visits of a node in one frame."""

    def __init__(self, constraints: Mapping[Node, Sequence[Constraint]], bounds: Mapping[Node, int]) -> None:
        self.seconds: dict[Node, float] = {}
        self._alone: dict[Node, Constraint] = {}  # the longest constraint of a node that does not depend on itself
        self._components: dict[Node, Component] = {}
        possible = _possible(constraints)
        onward = {
            node: several[0].counted if len(several) == 1 else [each for one in several for each in one.counted]
            for node, several in possible.items()
        }
        for nodes in strongly_connected_components(onward):
            node = nodes[0]
            if len(nodes) == 1 and node not in onward[node]:
                self.seconds[node], self._alone[node] = self._longest(possible[node])
            else:
                component = self._component(nodes, possible, bounds)
                self.seconds.update(component.seconds())
                self._components.update(dict.fromkeys(nodes, component))

    def path(self, node: Node) -> "Path":
        """The nodes of a longest path, each with the constraint that leads on, back to the contact's last message. A
        cycle without a limit is repeated until it has taken a day.
        """
        found: Path = []
        here: Node | None = node
        while here is not None:
            found += self.beginning(here)
            here = after(found)
        return found

    def beginning(self, node: Node) -> "Path":
        """The beginning of a node's longest path: as far as its nodes depend on each other."""
        return [(node, self._alone[node])] if node in self._alone else self._components[node].path(node)

    def endless_cycle(self, node: Node) -> "Component | None":
        """The component of a node if a path can repeat a cycle in it without a limit."""
        component = self._components.get(node)
        return component if component is not None and component.endless else None

    def exit(self, node: Node) -> Constraint:
        """The constraint by which a longest path leaves this node, and the other nodes of its component."""
        return self._alone[node] if node in self._alone else self._components[node].exit.constraint

    def _longest(self, several: Sequence[Constraint]) -> tuple[float, Constraint]:
        """The longest of these constraints, with its time; the first of equal ones."""
        longest, seconds = several[0], self._known(several[0])
        for constraint in several[1:]:
            known = self._known(constraint)
            if known > seconds:
                longest, seconds = constraint, known
        return seconds, longest

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
    """Nodes that all depend on each other.

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

    def path(self, node: Node) -> Path:
        """The nodes from one of them to the exit, each with its constraint. A cycle that takes time comes first.
        Where only an inner node's time leads out, the path continues at the exit.
        """
        found: Path = []
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
    users = defaultdict[Node, list[tuple[Node, Constraint, Node | None]]](list)  # with the other node that each needs
    ready = deque[tuple[Node, Constraint]]()
    for node, several in constraints.items():
        for constraint in several:
            onward, inner = constraint.onward, constraint.inner
            if onward is not None:
                users[onward].append((node, constraint, inner))
            if inner is not None and inner != onward:
                users[inner].append((node, constraint, onward))
            if onward is None and inner is None:
                ready.append((node, constraint))
    while ready:
        here, possible = ready.popleft()
        if here not in found:
            found[here] = []
            for node, constraint, other in users.get(here, ()):
                if other is None or other in found:
                    ready.append((node, constraint))
        found[here].append(possible)
    return found
