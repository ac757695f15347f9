"""Lines that nobody could follow with their eyes, replaced by a sign at their beginning that says where they lead."""

from collections.abc import Sequence
from dataclasses import replace

from bot.checker.drawing.layers import rows
from bot.checker.drawing.values import Box, Drawing, Line, Look

FARTHEST = 6  # rows
SELF = "again"


def with_jumps(drawing: Drawing, widths: Sequence[float], widest: float) -> Drawing:
    """The drawing with a sign in place of each line that leads to its own box or further than a few rows.

    The first line to a box stays, so that everything is led to.
    """
    number = {box.name: index for index, box in enumerate(drawing.boxes)}
    ends = [(number[line.source], number[line.target]) for line in drawing.lines]
    row = rows(widths, ends, widest)
    boxes, lines, led_to = list(drawing.boxes), [], set[int]()
    for line, (source, target) in zip(drawing.lines, ends, strict=True):
        first = row[target] > row[source] and target not in led_to
        led_to.update([target] if first else [])
        if source != target and (first or abs(row[target] - row[source]) <= FARTHEST):
            lines.append(line)
        else:
            boxes.append(_sign(len(boxes), line, drawing.boxes[target]))
            lines.append(replace(line, target=boxes[-1].name))
    return Drawing(drawing.title, drawing.about, tuple(boxes), tuple(lines))


def _sign(number: int, line: Line, target: Box) -> Box:
    title = SELF if line.source == line.target else f"→ {target.title}"
    return Box(f"n{number + 1}", Look.END, title, refers=target.name)
