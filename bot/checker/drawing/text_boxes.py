"""How the boxes and labels of a drawing are written: in which lines, and how large that makes them."""

import unicodedata
from dataclasses import dataclass

from bot.checker.drawing.drawing_model import Box, Look, plain
from bot.checker.drawing.layout import Size

TITLE, TEXT, LABEL = 14.0, 12.0, 11.0  # pixels of letters
LEADING = 1.35
ROOM, LEAST = 210.0, 60.0  # pixels of width for texts
MOST_LINES = 4
PADDING = 10.0
BOLD = 1.1  # how much wider it is
_PILLS = (Look.START, Look.END)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a box: ``kind`` is ``title``, ``text`` or ``flag``; ``base`` how far its letters stand below the top."""

    kind: str
    text: str
    base: float


@dataclass(frozen=True, slots=True)
class Face:
    """A box as it is written."""

    box: Box
    rows: tuple[Row, ...]
    size: Size


def face(box: Box) -> Face:
    """Write a box."""
    written = [("title", line) for line in _lines(box.title, TITLE * BOLD, 2)]
    written += [("text", line) for text in box.lines for line in _lines(text, TEXT, MOST_LINES)]
    written += [("flag", line) for flag in box.flags for line in _lines(f"⚠ {flag.code}: {flag.rule}", TEXT * BOLD, 3)]
    rows, y, widest = [], PADDING, LEAST
    for kind, line in written:
        letters = TITLE if kind == "title" else TEXT
        rows.append(Row(kind, line, y + letters))
        y += letters * LEADING
        widest = max(widest, width(line, letters) * (1.0 if kind == "text" else BOLD))
    slack = 2.4 if box.look in _PILLS else 2.0
    return Face(box, tuple(rows), Size(widest + slack * PADDING, y + PADDING))


def _lines(text: str, letters: float, most: int) -> list[str]:
    lines = wrapped(plain(text), letters, ROOM)
    return lines if len(lines) <= most else [*lines[: most - 1], lines[most - 1] + "…"]


def label_size(label: str) -> Size | None:
    """The size of a line's label; None where there is none."""
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
            head = _fitting(line, size, room)
            lines.append(line[:head])
            line = line[head:]
    return [*lines, line] if line else lines


def _fitting(word: str, size: float, room: float) -> int:
    """How many characters of a word have room: one at least."""
    taken = 0.0
    for index, char in enumerate(word):
        taken += size * _share(char)
        if taken > room and index:
            return index
    return len(word)
