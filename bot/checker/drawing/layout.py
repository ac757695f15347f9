"""The positions of boxes, lines and labels on the page, and the x coordinates of a layered graph.

Lines run down through the rows between the boxes, and sideways only where no boxes are, between two rows: so no line
leads over a box or over a label.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from bot.checker.drawing.layered_graph import LINE_WIDTH, LayeredGraph, LineEnds, reduce_crossings, rows
from bot.core.immutable import immutable

GAP = 14.0  # pixels between two rows, at least
STEEP = 0.07  # more pixels for each pixel that a line goes sideways there
STEEPEST = 60.0
STUB = 9.0  # pixels that a line goes straight at a box
PORTS = 16.0  # pixels between two lines at a box

Point = tuple[float, float]


@immutable
class Size:
    """A size in pixels."""

    width: float
    height: float


@immutable
class LineRoute:
    """The course of a line from its beginning: pairs of points, straight down or up within each, bent between them.

    ``label`` is the middle of its label, if it has one.
    """

    points: tuple[Point, ...]
    label: Point | None


@immutable
class Layout:
    """The middles of all boxes, the routes of all lines, and the size of the page."""

    boxes: tuple[Point, ...]
    routes: tuple[LineRoute, ...]
    size: Size


def lay_out(boxes: Sequence[Size], ends: Sequence[LineEnds], labels: Sequence[Size | None], widest: float) -> Layout:
    """Lay boxes out in rows that are about so wide at most. No line may lead to its own box."""
    row = rows([box.width for box in boxes], ends, widest)
    graph = LayeredGraph.of(
        [box.width for box in boxes], row, ends, [0.0 if size is None else size.width for size in labels]
    )
    reduce_crossings(graph)
    return _Page(graph, boxes, labels).layout(ends)


class _Page:
    """A layered graph with positions."""

    def __init__(self, graph: LayeredGraph, boxes: Sequence[Size], labels: Sequence[Size | None]) -> None:
        self._graph, self._x = graph, x_coordinates(graph)
        self._height = [0.0] * len(graph.widths)
        for node, size in zip((*range(len(boxes)), *graph.labels), (*boxes, *labels), strict=True):
            if node is not None and size is not None:
                self._height[node] = size.height
        self._tops, self._bottoms = self._bands()
        self._ports = {**self._sides(graph.below), **self._sides(graph.above)}

    def layout(self, ends: Sequence[LineEnds]) -> Layout:
        """Return the positions of everything."""
        graph = self._graph
        routes = tuple(self._route(index, line[0]) for index, line in enumerate(ends))
        right = max((x + width / 2 for x, width in zip(self._x, graph.widths, strict=True)), default=0.0)
        return Layout(
            tuple(map(self._middle, range(graph.boxes))), routes, Size(right, self._bottoms[-1] if graph.rows else 0.0)
        )

    def _bands(self) -> tuple[list[float], list[float]]:
        """The top and the bottom of each row."""
        tops, bottoms, y = [], [], 0.0
        for number, row in enumerate(self._graph.rows):
            tops.append(y)
            stubs = 0.0 if number % 2 else 2 * STUB
            bottoms.append(y + stubs + max((self._height[node] for node in row), default=0.0))
            y = bottoms[-1] + GAP + min(STEEPEST, STEEP * max(map(self._aside, row), default=0.0))
        return tops, bottoms

    def _aside(self, node: int) -> float:
        """The distance that the lines below a node go sideways before the next row."""
        return max((abs(self._x[node] - self._x[other]) for other in self._graph.below[node]), default=0.0)

    def _middle(self, node: int) -> Point:
        row = self._graph.row_of[node]
        return self._x[node], (self._tops[row] + self._bottoms[row]) / 2

    def _sides(self, neighbours: Sequence[Sequence[int]]) -> dict[tuple[int, int], float]:
        """The x coordinate at which each line meets its box, by the box and the next node, in order of these nodes."""
        ports = {}
        for box in range(self._graph.boxes):
            others = sorted(neighbours[box], key=lambda other: (self._x[other], other))
            apart = min(PORTS, 0.7 * self._graph.widths[box] / max(1, len(others)))
            for index, other in enumerate(others):
                ports[box, other] = self._x[box] + (index - (len(others) - 1) / 2) * apart
        return ports

    def _route(self, line: int, begin: int) -> LineRoute:
        chain, label = self._graph.chains[line], self._graph.labels[line]
        (upper, *passed, lower), points = chain, self._end(chain[0], chain[1], below=True)
        last = self._end(lower, chain[-2], below=False)[::-1]
        for node, after in zip(passed, chain[2:], strict=True):
            beyond = last[0][0] if after == lower else self._x[after]
            if node == label or not self._free(node, points[-1][0], beyond):
                row = self._graph.row_of[node]
                points += [(self._x[node], self._tops[row]), (self._x[node], self._bottoms[row])]
        points += last
        down = points if begin == upper else points[::-1]
        return LineRoute(tuple(down), None if label is None else self._middle(label))

    def _free(self, node: int, left: float, right: float) -> bool:
        """True if a line may pass a node's row anywhere between these two: in a row of labels without a label near."""
        graph, (left, right) = self._graph, sorted((left, right))
        row = graph.row_of[node]
        return row % 2 == 1 and not any(
            left < self._x[other] + graph.widths[other] / 2 and self._x[other] - graph.widths[other] / 2 < right
            for other in graph.rows[row]
            if graph.widths[other] > LINE_WIDTH
        )

    def _end(self, box: int, other: int, *, below: bool) -> list[Point]:
        """From the edge of a box to the edge of its row, which is higher than some of its boxes."""
        x, (_, y), row = self._ports[box, other], self._middle(box), self._graph.row_of[box]
        half = self._height[box] / 2
        return [(x, y + half), (x, self._bottoms[row])] if below else [(x, y - half), (x, self._tops[row])]


APART, CLOSE = 22.0, 10.0  # pixels between two nodes of a row; less if one is a line
SWEEPS = 24
_STRAIGHT = 8.0  # the weight of a straight line, compared with a box in the middle of its neighbours
_SHORT, _LONG = 4.0, 0.5  # weights of a line's nodes: over one row, and over several rows


def x_coordinates(graph: LayeredGraph) -> list[float]:
    """The middle of each node. The order in each row stays, and so do the least distances."""
    x = [0.0] * len(graph.widths)
    for row in graph.rows:
        offsets = _offsets(graph, row)
        for node, offset in zip(row, offsets, strict=True):
            x[node] = offset - (offsets[-1] / 2 if offsets else 0)
    both = [above + below for above, below in zip(graph.above, graph.below, strict=True)]
    weights = _weights(graph)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = both if sweep >= SWEEPS // 2 else graph.above if down else graph.below
        for row in graph.rows if down else reversed(graph.rows):
            _settle(graph, x, row, neighbours, weights)
    place = graph.place
    for _ in range(2):  # when all lines have been moved once, there may be room where another line was
        for _, *passing, _ in graph.chains:
            _straighten(graph, x, place, passing)
    left = min((x[node] - graph.widths[node] / 2 for node in range(len(x))), default=0.0)
    return [middle - left for middle in x]


def _offsets(graph: LayeredGraph, row: Sequence[int]) -> list[float]:
    """The distance of each node from the first node if all stand as close as possible."""
    offsets = [0.0] * len(row[:1])
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + _least(graph, one, other))
    return offsets


def _least(graph: LayeredGraph, one: int, other: int) -> float:
    """The least distance between the middles of two neighbours in a row."""
    apart = CLOSE if LINE_WIDTH in (graph.widths[one], graph.widths[other]) else APART
    return (graph.widths[one] + graph.widths[other]) / 2 + apart


def _weights(graph: LayeredGraph) -> list[float]:
    """The weight of each node: a heavy one moves less when two neighbours want the same place."""
    weights = [1.0] * len(graph.widths)
    for _, *passing, _ in graph.chains:
        for node in passing:
            weights[node] = _SHORT if len(passing) == 1 else _LONG
    return weights


def _settle(
    graph: LayeredGraph,
    x: list[float],
    row: Sequence[int],
    neighbours: Sequence[Sequence[int]],
    weights: Sequence[float],
) -> None:
    """Put the nodes of a row as near as they can be to the middle of their neighbours."""
    offsets, wanted = _offsets(graph, row), []
    for node, offset in zip(row, offsets, strict=True):
        pulls = [_STRAIGHT if min(node, other) >= graph.boxes else 1.0 for other in neighbours[node]]
        middle = sum(pull * x[other] for pull, other in zip(pulls, neighbours[node], strict=True))
        wanted.append((middle / sum(pulls) if pulls else x[node]) - offset)
    shifts = _rising(wanted, [weights[node] for node in row])
    for node, offset, shift in zip(row, offsets, shifts, strict=True):
        x[node] = offset + shift


def _straighten(graph: LayeredGraph, x: list[float], place: Mapping[int, int], passing: Sequence[int]) -> None:
    """Put the nodes of a line into as few columns as there is room for, so that it is straight."""
    left, right, straight = -inf, inf, list[int]()
    for node in (*passing, None):
        room = (inf, -inf) if node is None else _room(graph, x, place, node)
        if straight and max(left, room[0]) > min(right, room[1]):
            middle = sum(x[each] for each in straight) / len(straight)
            for each in straight:
                x[each] = min(max(middle, left), right)
            left, right, straight = -inf, inf, []
        if node is not None:
            left, right = max(left, room[0]), min(right, room[1])
            straight.append(node)


def _room(graph: LayeredGraph, x: Sequence[float], place: Mapping[int, int], node: int) -> tuple[float, float]:
    """The leftmost and the rightmost x coordinate that a node could have between its neighbours."""
    row, at = graph.rows[graph.row_of[node]], place[node]
    left = x[row[at - 1]] + _least(graph, row[at - 1], node) if at else -inf
    right = x[row[at + 1]] - _least(graph, node, row[at + 1]) if at + 1 < len(row) else inf
    return min(left, x[node]), max(right, x[node])  # its own place counts as possible, in spite of rounding


def _rising(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers nearest to the wanted ones that never fall: neighbours in the wrong order get their weighted mean."""
    pools: list[tuple[float, float, int]] = []  # value, weight, how many
    for value, weight in zip(wanted, weights, strict=True):
        pool = value, weight, 1
        while pools and pools[-1][0] > pool[0]:
            last = pools.pop()
            total = last[1] + pool[1]
            pool = (last[0] * last[1] + pool[0] * pool[1]) / total, total, last[2] + pool[2]
        pools.append(pool)
    return [value for value, _, many in pools for _ in range(many)]
