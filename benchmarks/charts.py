"""Line charts side by side, as one SVG file for light and dark screens."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import log10
from typing import NamedTuple

WIDTH, HEIGHT = 300, 200  # of a chart
LEFT, RIGHT, TOP, BOTTOM = 44, 16, 44, 30  # around its lines
COLUMNS = 2
_STYLE = """
text{font-family:system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;font-size:11px;fill:#4d5156}
.title{font-size:13px;font-weight:600;fill:#202124}.end{text-anchor:end}.middle{text-anchor:middle}.page{fill:#fff}
.grid{stroke:#dadce0}path{fill:none;stroke-width:2}.s0{stroke:#1a66d6}.s1{stroke:#b3470f}path.s1{stroke-dasharray:5 3}
circle{stroke-width:2;fill:#fff}text.s0{stroke:none;fill:#1a66d6}text.s1{stroke:none;fill:#b3470f}
@media(prefers-color-scheme:dark){.page,circle{fill:#202124}text{fill:#bdc1c6}.title{fill:#e8eaed}.grid{stroke:#3c4043}
.s0{stroke:#8ab4f8}.s1{stroke:#fcad70}text.s0{fill:#8ab4f8}text.s1{fill:#fcad70}}
"""


class Chart(NamedTuple):
    """Lines over sizes, of which each is some ten times the one before; the scale of sizes is logarithmic."""

    title: str
    sizes: Sequence[int]
    lines: Mapping[str, Sequence[float]]


def svg(charts: Sequence[Chart]) -> str:
    """The charts as a file."""
    rows = -(-len(charts) // COLUMNS)
    width, height = COLUMNS * WIDTH, rows * HEIGHT
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    parts = [f'{head} role="img"><style>{_STYLE}</style><rect class="page" width="{width}" height="{height}"/>']
    for number, chart in enumerate(charts):
        parts.append(f'<g transform="translate({number % COLUMNS * WIDTH},{number // COLUMNS * HEIGHT})">')
        parts += [*_drawn(chart), "</g>"]
    return "\n".join([*parts, "</svg>\n"])


def _drawn(chart: Chart) -> Iterator[str]:
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    top = _round_up(max(max(line) for line in chart.lines.values()))
    first, last = log10(chart.sizes[0]), log10(chart.sizes[-1])

    def x(size: int) -> float:
        return LEFT + (right - LEFT) * ((log10(size) - first) / (last - first) if last > first else 0.5)

    def y(value: float) -> float:
        return bottom - (bottom - TOP) * value / top

    yield f'<text class="title" x="{LEFT}" y="18">{escape(chart.title)}</text>'
    for number, name in enumerate(chart.lines):
        yield f'<text class="s{number}" x="{LEFT + number * 90}" y="35">{escape(name)}</text>'
    for part in range(5):
        value = top * part / 4
        yield f'<path class="grid" style="stroke-width:1" d="M{LEFT} {y(value):.1f}H{right}"/>'
        yield f'<text class="end" x="{LEFT - 6}" y="{y(value) + 4:.1f}">{value:g}</text>'
    for size in chart.sizes:
        yield f'<text class="middle" x="{x(size):.1f}" y="{bottom + 18}">{_short(size)}</text>'
    for number, line in enumerate(chart.lines.values()):
        points = [(x(size), y(value)) for size, value in zip(chart.sizes, line, strict=True)]
        yield f'<path class="s{number}" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in points)}"/>'
        for a, b in points:
            yield f'<circle class="s{number}" cx="{a:.1f}" cy="{b:.1f}" r="3"/>'


def _round_up(value: float) -> float:
    """The next number whose quarters are short: 4, 8, 20, 40, 80, ..."""
    unit = 10.0 ** int(log10(value)) if value >= 1 else 1.0
    return next(unit * step for step in (1, 2, 4, 6, 8, 10) if unit * step >= value)


def _short(size: int) -> str:
    """1,000 as 1k, 1,000,000 as 1M."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if size >= unit:
            return f"{size / unit:g}{letter}"
    return str(size)
