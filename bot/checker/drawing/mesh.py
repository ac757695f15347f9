"""A drawing cut into rows: each line becomes a chain that stands in every row which it passes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from bot.checker.drawing.layers import Ends

PASSING = 6.0  # pixels of width that a line takes in a row which it passes


@dataclass
class Mesh:
    """Boxes and what stands in for lines, both called knots. Even rows are for boxes, odd ones for labels.

    ``chains`` are the knots of each line from its upper end to its lower one, ``above`` and ``below`` each knot's
    neighbours in the next rows.
    """

    widths: list[float]
    row_of: list[int]
    rows: list[list[int]] = field(default_factory=list)
    chains: list[list[int]] = field(default_factory=list)
    labels: list[int | None] = field(default_factory=list)  # the knot with each line's label
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)
    boxes: int = 0

    @property
    def place(self) -> dict[int, int]:
        """How many knots stand left of each in its row."""
        return {knot: index for row in self.rows for index, knot in enumerate(row)}

    @classmethod
    def of(cls, widths: Sequence[float], row: Sequence[int], ends: Sequence[Ends], labels: Sequence[float]) -> "Mesh":
        """Make it, with the width of each line's label; 0: it has none. No line leads to its own row."""
        mesh = cls(list(widths), [2 * number for number in row], boxes=len(widths))
        for line, label in zip(ends, labels, strict=True):
            mesh._chain(line, label)
        mesh.above, mesh.below = [[] for _ in mesh.widths], [[] for _ in mesh.widths]
        for chain in mesh.chains:
            for upper, lower in pairwise(chain):
                mesh.below[upper].append(lower)
                mesh.above[lower].append(upper)
        mesh.rows = [[] for _ in range(max(mesh.row_of, default=-1) + 1)]
        for knot in mesh._met():
            mesh.rows[mesh.row_of[knot]].append(knot)
        return mesh

    def _chain(self, line: Ends, label: float) -> None:
        """The label stands beside the line's beginning, which may be its lower end."""
        upper, lower = sorted(line, key=lambda box: self.row_of[box])
        first, last = self.row_of[upper] + 1, self.row_of[lower] - 1
        labelled = (first if upper == line[0] else last) if label else None
        chain = [upper]
        for row in range(first, last + 1):
            chain.append(len(self.widths))
            self.widths.append(label if row == labelled else PASSING)
            self.row_of.append(row)
        self.chains.append([*chain, lower])
        self.labels.append(None if labelled is None else chain[labelled - first + 1])

    def _met(self) -> list[int]:
        """All knots in the order in which a walk from the top meets them: neighbours stand near each other."""
        met: dict[int, None] = {}
        for start in sorted(range(self.boxes), key=lambda box: self.row_of[box]):
            walk = [start]
            while walk:
                knot = walk.pop()
                if knot not in met:
                    met[knot] = None
                    walk += reversed(self.below[knot])
        return list(met)
