"""The first half of a layered layout (Sugiyama): in which row each box stands.

Own code and no Graphviz: that is a program which users would have to install first.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

Ends = tuple[int, int]
"""Where a line begins and ends, by the numbers of the boxes."""


def rows(widths: Sequence[float], ends: Sequence[Ends], widest: float) -> list[int]:
    """The row of each box: below whatever leads there, but for lines that close a circle, and where there is room.

    Boxes are taken in their order, so that the same drawing always looks the same.
    """
    forward = _without_circles(len(widths), ends)
    leads_on, led_to = {source for source, _ in forward}, Counter(target for _, target in forward)
    signs = {target: source for source, target in forward if target not in leads_on and led_to[target] == 1}
    filled = _Rows(widths, [line for line in forward if line[1] not in signs], widest)
    filled.fill(box for box in range(len(widths)) if box not in signs)
    filled.pull_down()
    for sign, source in signs.items():  # they stand right below what leads there, wherever that has come
        filled.put(sign, filled.row[source] + 1)
    used = {row: number for number, row in enumerate(sorted(set(filled.row)))}
    return [used[row] for row in filled.row]


def _without_circles(count: int, ends: Sequence[Ends]) -> list[Ends]:
    """The lines, those that lead back to where a walk came from left out."""
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
    """The rows while they are filled: which box is where, and how much room is taken. No line closes a circle."""

    def __init__(self, widths: Sequence[float], forward: Sequence[Ends], widest: float) -> None:
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
        """Bring each box nearer to what it leads to, where more lines get shorter by that than longer."""
        for box in reversed(self._order):
            if len(self._leading[box]) <= self._led_to[box]:
                continue
            row = min(self.row[target] for target in self._leading[box]) - 1
            while row > self.row[box] and self._full(row, box):
                row -= 1
            if row > self.row[box]:
                self._taken[self.row[box]] -= self._widths[box]
                self.put(box, row)
