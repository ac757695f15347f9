"""Which knot of a row stands beside which, so that few lines cross: barycentres, a few times down and up."""

from collections.abc import Sequence

from bot.checker.drawing.mesh import Mesh

SWEEPS = 12


def put_in_order(mesh: Mesh) -> None:
    """Order the knots of each row. The best order that was met stays."""
    best, least = [list(row) for row in mesh.rows], crossings(mesh)
    for sweep in range(SWEEPS):
        if not least:
            break
        _sweep(mesh, down=sweep % 2 == 0, turned=sweep % 4 > 1)
        found = crossings(mesh)
        if found < least:
            best, least = [list(row) for row in mesh.rows], found
    mesh.rows = best


def _sweep(mesh: Mesh, *, down: bool, turned: bool) -> None:
    """Each row in the order of the middles of what its knots have in the row before; equal ones may be ``turned``."""
    neighbours = mesh.above if down else mesh.below
    place = [0.0] * len(mesh.widths)
    for row in mesh.rows if down else reversed(mesh.rows):
        middles = {knot: _middle(place, neighbours[knot], index) for index, knot in enumerate(row)}
        if turned:
            row.reverse()
        row.sort(key=middles.__getitem__)
        for index, knot in enumerate(row):
            place[knot] = float(index)


def _middle(place: Sequence[float], neighbours: Sequence[int], own: int) -> float:
    return sum(place[knot] for knot in neighbours) / len(neighbours) if neighbours else float(own)


def crossings(mesh: Mesh) -> int:
    """How often two lines cross between one row and the next."""
    place = mesh.place
    return sum(
        _inversions([low for knot in row for low in sorted(place[other] for other in mesh.below[knot])])
        for row in mesh.rows
    )


def _inversions(numbers: Sequence[int]) -> int:
    """How many pairs stand in the wrong order, by a Fenwick tree."""
    size = max(numbers, default=0) + 1
    tree, found = [0] * (size + 1), 0
    for seen, number in enumerate(numbers):
        found += seen
        at = number + 1
        while at:
            found -= tree[at]
            at &= at - 1
        at = number + 1
        while at <= size:
            tree[at] += 1
            at += at & -at
    return found
