"""A layered graph of boxes and lines (Sugiyama): the row of each box, and crossing reduction within the rows.

This is our own code, because users would have to install Graphviz first. A line over several rows becomes a
chain with one node in each of them.
"""

import heapq
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

LineEnds = tuple[int, int]
"""The numbers of the boxes at which a line begins and ends."""


def rows(widths: Sequence[float], ends: Sequence[LineEnds], widest: float) -> list[int]:
    """The row of each box: where there is room below all boxes that lead there, except by lines that close a cycle.

    Boxes are taken in their order, so that the same drawing always looks the same.
    """
    forward = _without_cycles(len(widths), ends)
    leads_on, led_to = {source for source, _ in forward}, Counter(target for _, target in forward)
    signs = {target: source for source, target in forward if target not in leads_on and led_to[target] == 1}
    filled = _Rows(widths, [line for line in forward if line[1] not in signs], widest)
    filled.fill(box for box in range(len(widths)) if box not in signs)
    filled.pull_down()
    for sign, source in signs.items():  # right below the box that leads there
        filled.put(sign, filled.row[source] + 1)
    used = {row: number for number, row in enumerate(sorted(set(filled.row)))}
    return [used[row] for row in filled.row]


def _without_cycles(count: int, ends: Sequence[LineEnds]) -> list[LineEnds]:
    """The lines without those that close a cycle."""
    leading: list[list[int]] = [[] for _ in range(count)]
    for source, target in ends:
        leading[source].append(target)
    known, open_, forward = set[int](), set[int](), []
    for start in range(count):
        walk = [] if start in known else [(start, iter(leading[start]))]
        known.add(start)
        while walk:
            box, targets = walk[-1]
            open_.add(box)
            following = next(targets, None)
            if following is None:
                open_.remove(box)
                walk.pop()
            elif following not in open_:
                forward.append((box, following))
                if following not in known:
                    known.add(following)
                    walk.append((following, iter(leading[following])))
    return forward


class _Rows:
    """The rows while they are filled: which box is where, and how much room is taken. No line closes a cycle."""

    def __init__(self, widths: Sequence[float], forward: Sequence[LineEnds], widest: float) -> None:
        self.row = [0] * len(widths)
        self._widths, self._widest = widths, widest
        self._taken: defaultdict[int, float] = defaultdict(float)
        self._leading: list[list[int]] = [[] for _ in widths]
        self._led_to = [0] * len(widths)
        for source, target in forward:
            self._leading[source].append(target)
            self._led_to[target] += 1
        self._order: list[int] = []

    def put(self, box: int, row: int) -> None:
        """Put a box into a row, or into the next below that has room."""
        while self._full(row, box):
            row += 1
        self.row[box] = row
        self._taken[row] += self._widths[box]

    def _full(self, row: int, box: int) -> bool:
        return self._taken[row] > 0 and self._taken[row] + self._widths[box] > self._widest

    def fill(self, boxes: Iterable[int]) -> None:
        """Put each of these into the first row below all that lead there."""
        missing = list(self._led_to)
        ready = [box for box in boxes if not missing[box]]
        while ready:
            box = heapq.heappop(ready)
            self._order.append(box)
            self.put(box, self.row[box])
            for target in self._leading[box]:
                self.row[target] = max(self.row[target], self.row[box] + 1)
                missing[target] -= 1
                if not missing[target]:
                    heapq.heappush(ready, target)

    def pull_down(self) -> None:
        """Move each box down towards its targets, if that makes more lines shorter than longer."""
        for box in reversed(self._order):
            if len(self._leading[box]) <= self._led_to[box]:
                continue
            row = min(self.row[target] for target in self._leading[box]) - 1
            while row > self.row[box] and self._full(row, box):
                row -= 1
            if row > self.row[box]:
                self._taken[self.row[box]] -= self._widths[box]
                self.put(box, row)


LINE_WIDTH = 6.0  # pixels of width that a line takes in a row which it passes


@dataclass
class LayeredGraph:
    """Boxes, and the nodes that stand in for lines; both are called nodes.

    Even rows are for boxes, odd ones for labels.

    ``chains`` are the nodes of each line from its upper end to its lower one, ``above`` and ``below`` each node's
    neighbours in the next rows.
    """

    widths: list[float]
    row_of: list[int]
    rows: list[list[int]] = field(default_factory=list)
    chains: list[list[int]] = field(default_factory=list)
    labels: list[int | None] = field(default_factory=list)  # the node with each line's label
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    boxes: int = 0

    @property
    def place(self) -> dict[int, int]:
        """The number of nodes to the left of each node in its row."""
        return {node: index for row in self.rows for index, node in enumerate(row)}

    @classmethod
    def of(
        cls, widths: Sequence[float], row: Sequence[int], ends: Sequence[LineEnds], labels: Sequence[float]
    ) -> "LayeredGraph":
        """Make a graph. ``labels`` are the widths of the lines' labels; 0: no label. No line leads to its own row."""
        graph = cls(list(widths), [2 * number for number in row], boxes=len(widths))
        for line, label in zip(ends, labels, strict=True):
            graph._chain(line, label)
        graph.above, graph.below = [[] for _ in graph.widths], [[] for _ in graph.widths]
        for chain in graph.chains:
            for upper, lower in pairwise(chain):
                graph.below[upper].append(lower)
                graph.above[lower].append(upper)
        graph.rows = [[] for _ in range(max(graph.row_of, default=-1) + 1)]
        for node in graph._met():
            graph.rows[graph.row_of[node]].append(node)
        return graph

    def _chain(self, line: LineEnds, label: float) -> None:
        """The label stands beside the line's beginning, which may be its lower end."""
        upper, lower = sorted(line, key=lambda box: self.row_of[box])
        first, last = self.row_of[upper] + 1, self.row_of[lower] - 1
        labelled = (first if upper == line[0] else last) if label else None
        chain = [upper]
        for row in range(first, last + 1):
            chain.append(len(self.widths))
            self.widths.append(label if row == labelled else LINE_WIDTH)
            self.row_of.append(row)
        self.chains.append([*chain, lower])
        self.labels.append(None if labelled is None else chain[labelled - first + 1])

    def _met(self) -> list[int]:
        """All nodes in the order in which a walk from the top meets them: neighbours stand near each other."""
        met: dict[int, None] = {}
        for start in sorted(range(self.boxes), key=lambda box: self.row_of[box]):
            walk = [start]
            while walk:
                node = walk.pop()
                if node not in met:
                    met[node] = None
                    walk += reversed(self.below[node])
        return list(met)


SWEEPS = 12


def reduce_crossings(graph: LayeredGraph) -> None:
    """Order the nodes of each row. The best order that was found stays."""
    best, least = [list(row) for row in graph.rows], crossings(graph)
    for sweep in range(SWEEPS):
        if not least:
            break
        _sweep(graph, down=sweep % 2 == 0, turned=sweep % 4 > 1)
        found = crossings(graph)
        if found < least:
            best, least = [list(row) for row in graph.rows], found
    graph.rows = best


def _sweep(graph: LayeredGraph, *, down: bool, turned: bool) -> None:
    """Order each row by the middles of its nodes' neighbours in the row before.

    ``turned``: equal ones change their order.
    """
    neighbours = graph.above if down else graph.below
    place = [0.0] * len(graph.widths)
    for row in graph.rows if down else reversed(graph.rows):
        middles = {node: _middle(place, neighbours[node], index) for index, node in enumerate(row)}
        if turned:
            row.reverse()
        row.sort(key=middles.__getitem__)
        for index, node in enumerate(row):
            place[node] = float(index)


def _middle(place: Sequence[float], neighbours: Sequence[int], own: int) -> float:
    return sum(place[node] for node in neighbours) / len(neighbours) if neighbours else float(own)


def crossings(graph: LayeredGraph) -> int:
    """The number of crossings between neighbouring rows."""
    place = graph.place
    return sum(
        _inversions([low for node in row for low in sorted(place[other] for other in graph.below[node])])
        for row in graph.rows
    )


def _inversions(numbers: Sequence[int]) -> int:
    """The number of pairs in the wrong order."""
    seen, found = list[int](), 0
    for number in numbers:
        at = bisect_right(seen, number)
        found += len(seen) - at
        seen.insert(at, number)
    return found
