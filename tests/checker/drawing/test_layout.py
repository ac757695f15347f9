"""The positions of boxes, lines and labels on the page."""

from collections.abc import Iterator
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from bot.checker.drawing.flow_drawing import FindingIndex, draw_flow
from bot.checker.drawing.layered_graph import LayeredGraph, LineEnds, crossings, reduce_crossings, rows
from bot.checker.drawing.layout import Layout, LineRoute, Point, Size, lay_out
from bot.checker.drawing.svg import SvgPicture
from bot.checker.graph import Graph
from tests.checker.drawing.large import large
from tests.searches import over

WIDEST = 600.0
Area = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def area(middle: Point, size: Size) -> Area:
    (x, y), wide, high = middle, size.width / 2, size.height / 2
    return x - wide, y - high, x + wide, y + high


def overlap(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def dots(route: LineRoute) -> Iterator[Point]:
    """Points on a line, near each other."""
    for number, ((x, y), (to_x, to_y)) in enumerate(pairwise(route.points)):
        for part in (step / 12 for step in range(13)):
            bend = part * part * (3 - 2 * part) if number % 2 else part
            rise = (1.5 * part * (1 - part) + part**3) if number % 2 else part
            yield x + (to_x - x) * bend, y + (to_y - y) * rise


def hold(layout: Layout, sizes: list[Size], ends: list[LineEnds], labels: list[Size | None]) -> None:
    """No box and no label lies on another, and no line on a box that is not its own, nor on another's label."""
    boxes = [area(middle, size) for middle, size in zip(layout.boxes, sizes, strict=True)]
    written = {
        number: area(route.label, label)
        for number, (route, label) in enumerate(zip(layout.routes, labels, strict=True))
        if route.label is not None and label is not None
    }
    assert len(written) == sum(label is not None for label in labels)
    assert not [pair for pair in combinations([*boxes, *written.values()], 2) if overlap(*pair)]
    for number, route in enumerate(layout.routes):
        others = [box for index, box in enumerate(boxes) if index not in ends[number]]
        others += [label for index, label in written.items() if index != number]
        for x, y in dots(route):
            assert not any(left < x < right and top < y < bottom for left, top, right, bottom in others)
    page = -0.001, -0.001, layout.size.width + 0.001, layout.size.height + 0.001
    for left, top, right, bottom in (*boxes, *written.values()):
        assert page[0] <= left and page[1] <= top and right <= page[2] and bottom <= page[3]


sizes_ = st.builds(Size, st.floats(20, 250), st.floats(20, 120))


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Size], list[LineEnds], list[Size | None]]:
    sizes = draw(st.lists(sizes_, max_size=14))
    box = st.integers(0, len(sizes) - 1)
    ends = (
        draw(st.lists(st.tuples(box, box).filter(lambda line: line[0] != line[1]), max_size=24))
        if len(sizes) > 1
        else []
    )
    label = st.none() | st.builds(Size, st.floats(10, 160), st.just(18.0))
    return sizes, ends, [draw(label) for _ in ends]


@given(graphs())
def test_nothing_lies_on_anything_else(graph: tuple[list[Size], list[LineEnds], list[Size | None]]) -> None:
    sizes, ends, labels = graph
    layout = lay_out(sizes, ends, labels, WIDEST)
    hold(layout, sizes, ends, labels)
    assert layout == lay_out(sizes, ends, labels, WIDEST)


@given(graphs())
def test_a_line_begins_and_ends_at_its_boxes(graph: tuple[list[Size], list[LineEnds], list[Size | None]]) -> None:
    sizes, ends, labels = graph
    layout = lay_out(sizes, ends, labels, WIDEST)
    for route, line in zip(layout.routes, ends, strict=True):
        for (x, y), box in zip((route.points[0], route.points[-1]), line, strict=True):
            left, top, right, bottom = area(layout.boxes[box], sizes[box])
            assert left <= x <= right and min(abs(y - top), abs(y - bottom)) < 0.001


@given(graphs())
def test_rows_hold_no_more_than_fits_and_no_line_stays_in_its_row(
    graph: tuple[list[Size], list[LineEnds], list[Size | None]],
) -> None:
    sizes, ends, _ = graph
    found = rows([size.width for size in sizes], ends, WIDEST)
    assert sorted(set(found)) == list(range(len(set(found))))
    assert all(found[source] != found[target] for source, target in ends)
    for row in set(found):
        inside = [size.width for size, its in zip(sizes, found, strict=True) if its == row]
        assert len(inside) == 1 or sum(inside) <= WIDEST


def test_what_leads_on_stands_above_what_it_leads_to() -> None:
    chain = [(0, 1), (1, 2), (2, 3), (3, 1)]
    assert rows([10] * 5, [*chain, (4, 3)], WIDEST) == [0, 1, 2, 3, 2]


def test_lines_are_untangled() -> None:
    mesh = LayeredGraph.of([10.0] * 6, [0, 0, 0, 1, 1, 1], [(0, 3), (0, 5), (1, 3), (2, 4)], [0.0] * 4)
    assert crossings(mesh) == 1
    reduce_crossings(mesh)
    assert crossings(mesh) == 0


def test_crossings_are_counted() -> None:
    mesh = LayeredGraph.of([10.0] * 4, [0, 0, 1, 1], [(0, 2), (0, 3), (1, 2), (1, 3)], [0.0] * 4)
    assert crossings(mesh) == 1


@over(1, "seed", [1, 2, 3])
def test_a_hundred_steps_are_apart_from_each_other(seed: int) -> None:
    graph = Graph(large(100, seed))
    picture = SvgPicture(draw_flow(graph, "large", FindingIndex.of(graph.library, ())))
    hold(picture.layout, picture.sizes, picture.ends, picture.labels)
