"""A drawing as one SVG file for light and dark screens, without scripts or other files."""

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape

from bot.checker.drawing.drawing_model import (
    COLOURS,
    LISTED,
    Box,
    BoxKind,
    Drawing,
    DrawnLine,
    listed,
    listed_each,
    plain,
)
from bot.checker.drawing.layered_graph import rows
from bot.checker.drawing.layout import LineRoute, Point, Size, lay_out
from bot.core.immutable import immutable
from bot.core.text import head

TITLE, TEXT, LABEL = 14.0, 12.0, 11.0  # pixels of letters
LEADING = 1.35
ROOM, LEAST = 210.0, 60.0  # pixels of width for texts
MOST_LINES = 4
PADDING = 10.0
BOLD = 1.1  # how much wider bold text is
_PILLS = (BoxKind.START, BoxKind.END)


@immutable
class TextRow:
    """One line of a box. ``kind`` is ``title``, ``text`` or ``flag``, ``base`` the distance from the box's top."""

    kind: str
    text: str
    base: float


@immutable
class TextBox:
    """A box as it is written."""

    box: Box
    rows: tuple[TextRow, ...]
    size: Size


def text_box(box: Box) -> TextBox:
    """Write a box."""
    written = [("title", line) for line in _lines(box.title, TITLE * BOLD, 2)]
    written += [("text", line) for text in box.lines for line in _lines(text, TEXT, MOST_LINES)]
    written += [("flag", line) for flag in box.flags for line in _lines(f"⚠ {flag.code}: {flag.rule}", TEXT * BOLD, 3)]
    rows, y, widest = [], PADDING, LEAST
    for kind, line in written:
        letters = TITLE if kind == "title" else TEXT
        rows.append(TextRow(kind, line, y + letters))
        y += letters * LEADING
        widest = max(widest, width(line, letters) * (1.0 if kind == "text" else BOLD))
    slack = 2.4 if box.kind in _PILLS else 2.0
    return TextBox(box, tuple(rows), Size(widest + slack * PADDING, y + PADDING))


def _lines(text: str, letters: float, most: int) -> list[str]:
    lines = wrapped(plain(text), letters, ROOM)
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + "…"]


def label_size(label: str) -> Size | None:
    """The size of a line's label; None: it has no label."""
    return Size(width(label, LABEL) + 8, LABEL * LEADING + 4) if label else None


_NARROW, _WIDE = frozenset("ijltfrI.,:;'|!()[]{} "), frozenset("mwMW@%—…→▶")


def width(text: str, size: float) -> float:
    """The width of a text in pixels, in letters of so many pixels."""
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.15
    if char in _NARROW:
        return 0.4
    if char in _WIDE:
        return 1.0
    return 0.74 if char.isupper() else 0.63


def wrapped(text: str, size: float, room: float) -> list[str]:
    """A text in lines that have room. A word that is longer than a line is cut."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and width(f"{line} {word}", size) > room:
            lines.append(line)
            line = ""
        line = f"{line} {word}" if line else word
        while width(line, size) > room:
            cut = _fitting(line, size, room)
            lines.append(line[:cut])
            line = line[cut:]
    return [*lines, line] if line else lines


def _fitting(word: str, size: float, room: float) -> int:
    """The number of characters of a word that have room: at least 1."""
    taken = 0.0
    for index, char in enumerate(word):
        taken += size * _share(char)
        if taken > room and index:
            return len(head(word, index))
    return len(word)


WIDEST = 1500.0  # pixels
MARGIN = 24.0
HEAD = 26.0  # pixels of the title's letters
SWATCH = 14.0
TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="11" markerHeight="11" markerUnits="userSpaceOnUse" orient="auto">'
    '<path class="tip" d="M0 0.5L8 4L0 7.5z"/></marker>'
)


def svg(drawing: Drawing, style: str | None = None) -> str:
    """The drawing as the text of an SVG file.

    All text is escaped. ``style`` takes the place of `STYLE`; empty where a page has it.

    For scripts of a page, a box has ``data-place`` (its flow or step), a line ``data-ends`` (the ids of its boxes) and
    ``data-ways`` (its traces, as JSON), and each word of its label has the traces that it stands for.
    """
    return "\n".join(SvgPicture(drawing, STYLE if style is None else style).elements()) + "\n"


class SvgPicture:
    """A drawing with positions. A line to a box far away becomes a link box."""

    def __init__(self, drawing: Drawing, style: str = "") -> None:
        self._style = f"<style>{style}</style>" if style else ""
        drawing = with_jumps(drawing, [text_box(box).size.width for box in drawing.boxes], WIDEST)
        number = {box.name: index for index, box in enumerate(drawing.boxes)}
        self._drawing = drawing
        self._faces = [text_box(box) for box in drawing.boxes]
        self.sizes = [each.size for each in self._faces]
        self.ends = [(number[line.source], number[line.target]) for line in drawing.lines]
        self.labels = [label_size(listed(line.labels)) for line in drawing.lines]
        self.layout = lay_out(self.sizes, self.ends, self.labels, WIDEST)
        self._kinds = [kind for kind in BoxKind if any(box.kind is kind for box in drawing.boxes)]
        self._top = MARGIN + HEAD * LEADING + (TEXT * 2 if drawing.about else 0) + SWATCH * 3

    def elements(self) -> Iterator[str]:
        """The file, line by line."""
        yield from self._head()
        x, y = MARGIN, self._top - SWATCH * 2.4
        for kind in self._kinds:
            yield f'<rect class="box {_class(kind)}" x="{x:.0f}" y="{y:.0f}" width="{SWATCH}" height="{SWATCH}" rx="3"/>'
            yield _text("key", x + SWATCH + 5, y + TEXT - 1, kind.value)
            x += SWATCH + width(kind.value, TEXT) + 24
        yield f'<g transform="translate({MARGIN:.0f} {self._top:.0f})">'
        for line, route in zip(self._drawing.lines, self.layout.routes, strict=True):
            yield _line(line, route)
        for line, route in zip(self._drawing.lines, self.layout.routes, strict=True):
            if route.label is not None:
                yield from _label(line, route.label)
        for each, middle in zip(self._faces, self.layout.boxes, strict=True):
            yield from _box(each, middle)
        yield "</g>\n</svg>"

    def _head(self) -> Iterator[str]:
        """The elements before the drawing: its description, its style, and its title."""
        title, about = plain(self._drawing.title), plain(self._drawing.about)
        wide, high = (f"{pixels:.0f}" for pixels in self._page())
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" height="{high}" '
            'role="img" aria-labelledby="title desc">'
        )
        yield f'<title id="title">{escape(title)}</title>'
        yield f'<desc id="desc">{escape(self._described())}</desc>'
        if self._style:
            yield self._style
        yield TIP
        yield '<rect class="page" width="100%" height="100%"/>'
        yield _text("head", MARGIN, MARGIN + HEAD, title)
        if about:
            yield _text("about", MARGIN, MARGIN + HEAD + TEXT * 2, about)

    def _page(self) -> tuple[float, float]:
        legend = sum(SWATCH + width(kind.value, TEXT) + 24 for kind in self._kinds)
        heading = max(width(self._drawing.title, HEAD), width(self._drawing.about, TEXT), legend)
        return max(self.layout.size.width, heading) + 2 * MARGIN, self._top + self.layout.size.height + MARGIN

    def _described(self) -> str:
        boxes = sum(box.refers is None for box in self._drawing.boxes)
        flags = [f"{flag.code} at {box.title}: {flag.text}" for box in self._drawing.boxes for flag in box.flags]
        about = f"{self._drawing.about} " if self._drawing.about else ""
        return plain(f"{about}{boxes} boxes, {len(self._drawing.lines)} lines. {' '.join(flags)}")


def _box(each: TextBox, middle: Point) -> Iterator[str]:
    box, size = each.box, each.size
    left, top = middle[0] - size.width / 2, middle[1] - size.height / 2
    round_ = {BoxKind.START: size.height / 2, BoxKind.END: size.height / 2, BoxKind.FLOW: 2.0}.get(box.kind, 8.0)
    found = " found" if box.flags else ""
    place = f' data-place="{escape(box.stands_for)}"' if box.stands_for else ""
    title = "\n".join(map(plain, [box.title, *box.lines, *(f"{flag.code} {flag.text}" for flag in box.flags)]))
    yield f'<a href="#{box.refers}">' if box.refers else "<g>"
    yield f"<title>{escape(title)}</title>"
    yield (
        f'<rect id="{box.name}" class="box {_class(box.kind)}{found}" x="{left:.1f}" y="{top:.1f}" '
        f'width="{size.width:.1f}" height="{size.height:.1f}" rx="{min(round_, 18.0):.1f}"{place}/>'
    )
    for row in each.rows:
        yield _text(row.kind, middle[0], top + row.base - 2, row.text)
    yield "</a>" if box.refers else "</g>"


def _line(line: DrawnLine, route: LineRoute) -> str:
    (x, y), *rest = route.points
    path, bent = [f"M{x:.1f} {y:.1f}"], False
    for to_x, to_y in rest:
        half = (y + to_y) / 2
        path.append(f"C{x:.1f} {half:.1f} {to_x:.1f} {half:.1f} {to_x:.1f} {to_y:.1f}" if bent else f"V{to_y:.1f}")
        x, y, bent = to_x, to_y, not bent
    title = f"<title>{escape(plain(', '.join(line.labels)))}</title>" if line.labels else ""
    ends = f'data-ends="{line.source} {line.target}"' + (_trace_attribute(line.traces) if line.traces else "")
    return f'<path class="line {line.stroke.value}" marker-end="url(#tip)" {ends} d="{"".join(path)}">{title}</path>'


def _label(line: DrawnLine, middle: Point) -> Iterator[str]:
    size = label_size(listed(line.labels))
    assert size is not None
    x, y = middle[0] - size.width / 2, middle[1] - size.height / 2
    yield f"<g><title>{escape(plain(', '.join(line.labels)))}</title>"
    yield f'<rect class="page" x="{x:.1f}" y="{y:.1f}" width="{size.width:.1f}" height="{size.height:.1f}"/>'
    yield f'<text class="label" x="{middle[0]:.1f}" y="{middle[1] + 4:.1f}">{_words(line)}</text></g>'


def _words(line: DrawnLine) -> str:
    """The words of a label, each with its traces. A number may stand for the last ones."""
    spans = []
    for place, text in enumerate(listed_each(line.labels)):
        labels = line.labels[place : place + 1] if place < LISTED else line.labels[LISTED:]
        traces = [trace for trace, label in line.traces.items() if label in labels]
        spans.append(f"<tspan{_trace_attribute(traces)}>{escape(text)}</tspan>" if traces else escape(text))
    return ", ".join(spans)


def _trace_attribute(traces: Iterable[str]) -> str:
    written = json.dumps(list(traces), ensure_ascii=False)
    return f' data-ways="{escape(written)}"'


def _text(kind: str, x: float, y: float, text: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(text)}</text>'


def _class(kind: BoxKind) -> str:
    return kind.name.lower()


DARK: dict[BoxKind, tuple[str, str]] = {  # in place of `COLOURS`
    BoxKind.START: ("#33373c", "#9aa0a6"),
    BoxKind.END: ("#26292d", "#80868b"),
    BoxKind.FLOW: ("#382a4d", "#c58af9"),
    BoxKind.ASKS: ("#1f3350", "#8ab4f8"),
    BoxKind.SAYS: ("#1d3a29", "#81c995"),
    BoxKind.WAITS: ("#443717", "#fdd663"),
    BoxKind.CALLS: ("#47291a", "#fcad70"),
    BoxKind.WORKS: ("#202327", "#9aa0a6"),
}
_FONT = 'font-family:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'


def _colours(boxes: dict[BoxKind, tuple[str, str]], page: str, ink: str, faint: str, found: str) -> str:
    rules = [f".{kind.name.lower()}{{fill:{fill};stroke:{stroke}}}" for kind, (fill, stroke) in boxes.items()]
    rules += [f".page{{fill:{page}}}", f"text{{fill:{ink}}}", f".text,.about,.key,.label{{fill:{faint}}}"]
    rules += [
        f".line{{stroke:{faint}}}",
        f".tip{{fill:{faint}}}",
        f".found{{stroke:{found}}}",
        f".flag{{fill:{found}}}",
    ]
    return "".join(rules)


STYLE = (
    f"text{{{_FONT};font-size:12px}}"
    ".title,.text,.flag,.label{text-anchor:middle}"
    ".title{font-size:14px;font-weight:600}.head{font-size:26px;font-weight:600}.label{font-size:11px}"
    ".flag{font-weight:600}.box{stroke-width:1.5}.flow{stroke-width:2.5}.works{stroke-dasharray:5 3}"
    ".found{stroke-width:3.5;stroke-dasharray:none}"
    ".line{fill:none;stroke-width:1.4}.dashed{stroke-dasharray:6 4}.dotted{stroke-dasharray:2 4}"
    ".line:hover{stroke-width:3}.box:target{stroke-width:5}"
    + _colours(COLOURS, "#ffffff", "#202124", "#4d5156", "#c5221f")
    + f"@media(prefers-color-scheme:dark){{{_colours(DARK, '#17191c', '#e8eaed', '#bdc1c6', '#ff8a80')}}}"
)
"""CSS without anything that older readers of SVG do not know, such as variables."""


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


def _sign(number: int, line: DrawnLine, target: Box) -> Box:
    title = SELF if line.source == line.target else f"→ {target.title}"
    return Box(f"n{number + 1}", BoxKind.END, title, refers=target.name)
