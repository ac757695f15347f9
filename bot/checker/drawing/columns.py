"""How far from the left each knot stands: near its neighbours above and below, and not over those beside it."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf

from bot.checker.drawing.mesh import PASSING, Mesh

APART, CLOSE = 22.0, 10.0  # pixels between two knots of a row; where one is a line that passes
SWEEPS = 24
_STRAIGHT = 8.0  # how much more a line that passes wants to be straight than a box to be in the middle
_SHORT, _LONG = 4.0, 0.5  # how hard a line pushes aside what is beside it: one to the next boxes, one that goes on


def columns(mesh: Mesh) -> list[float]:
    """The middle of each knot. The order of each row stays, and so does the distance."""
    x = [0.0] * len(mesh.widths)
    for row in mesh.rows:
        offsets = _offsets(mesh, row)
        for knot, offset in zip(row, offsets, strict=True):
            x[knot] = offset - (offsets[-1] / 2 if offsets else 0)
    both = [above + below for above, below in zip(mesh.above, mesh.below, strict=True)]
    weights = _weights(mesh)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        neighbours = both if sweep >= SWEEPS // 2 else mesh.above if down else mesh.below
        for row in mesh.rows if down else reversed(mesh.rows):
            _settle(mesh, x, row, neighbours, weights)
    place = mesh.place
    for _ in range(2):  # what was in one line's way may have gone when all others have been moved
        for _, *passing, _ in mesh.chains:
            _straighten(mesh, x, place, passing)
    left = min((x[knot] - mesh.widths[knot] / 2 for knot in range(len(x))), default=0.0)
    return [middle - left for middle in x]


def _offsets(mesh: Mesh, row: Sequence[int]) -> list[float]:
    """How far right of the first each knot stands where they stand as close as they may."""
    offsets = [0.0] * len(row[:1])
    for one, other in pairwise(row):
        offsets.append(offsets[-1] + _least(mesh, one, other))
    return offsets


def _least(mesh: Mesh, one: int, other: int) -> float:
    """How far apart the middles of two knots in a row are at least."""
    apart = CLOSE if PASSING in (mesh.widths[one], mesh.widths[other]) else APART
    return (mesh.widths[one] + mesh.widths[other]) / 2 + apart


def _weights(mesh: Mesh) -> list[float]:
    """How hard each knot pushes aside what is beside it."""
    weights = [1.0] * len(mesh.widths)
    for _, *passing, _ in mesh.chains:
        for knot in passing:
            weights[knot] = _SHORT if len(passing) == 1 else _LONG
    return weights


def _settle(
    mesh: Mesh, x: list[float], row: Sequence[int], neighbours: Sequence[Sequence[int]], weights: Sequence[float]
) -> None:
    """Put the knots of a row as near as they can be to the middle of their neighbours."""
    offsets, wanted = _offsets(mesh, row), []
    for knot, offset in zip(row, offsets, strict=True):
        pulls = [_STRAIGHT if min(knot, other) >= mesh.boxes else 1.0 for other in neighbours[knot]]
        middle = sum(pull * x[other] for pull, other in zip(pulls, neighbours[knot], strict=True))
        wanted.append((middle / sum(pulls) if pulls else x[knot]) - offset)
    shifts = _rising(wanted, [weights[knot] for knot in row])
    for knot, offset, shift in zip(row, offsets, shifts, strict=True):
        x[knot] = offset + shift


def _straighten(mesh: Mesh, x: list[float], place: Mapping[int, int], passing: Sequence[int]) -> None:
    """Put what stands for a line in as few columns as there is room for."""
    left, right, straight = -inf, inf, list[int]()
    for knot in (*passing, None):
        room = (inf, -inf) if knot is None else _room(mesh, x, place, knot)
        if straight and max(left, room[0]) > min(right, room[1]):
            middle = sum(x[each] for each in straight) / len(straight)
            for each in straight:
                x[each] = min(max(middle, left), right)
            left, right, straight = -inf, inf, []
        if knot is not None:
            left, right = max(left, room[0]), min(right, room[1])
            straight.append(knot)


def _room(mesh: Mesh, x: Sequence[float], place: Mapping[int, int], knot: int) -> tuple[float, float]:
    """How far left and right a knot could stand between those beside it."""
    row, at = mesh.rows[mesh.row_of[knot]], place[knot]
    left = x[row[at - 1]] + _least(mesh, row[at - 1], knot) if at else -inf
    right = x[row[at + 1]] - _least(mesh, knot, row[at + 1]) if at + 1 < len(row) else inf
    return min(left, x[knot]), max(right, x[knot])  # it stands where it does, to the last digit


def _rising(wanted: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The numbers that come nearest to the wanted ones and never fall: pooled where two neighbours are at odds."""
    pools: list[tuple[float, float, int]] = []  # value, weight, how many
    for value, weight in zip(wanted, weights, strict=True):
        pool = value, weight, 1
        while pools and pools[-1][0] > pool[0]:
            last = pools.pop()
            total = last[1] + pool[1]
            pool = (last[0] * last[1] + pool[0] * pool[1]) / total, total, last[2] + pool[2]
        pools.append(pool)
    return [value for value, _, many in pools for _ in range(many)]
