"""A drawing: boxes, the lines between them and the short texts on both, without positions."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import head
from bot.language.steps.step_options import SIGNAL


class BoxKind(Enum):
    """The kinds of boxes. For a step, the kind says what a conversation does there."""

    START = "start"
    END = "end"
    FLOW = "flow"
    ASKS = "asks"  # it waits for the contact
    SAYS = "says"  # it sends something, and the conversation continues
    WAITS = "waits"  # it waits for time to pass, or for a person
    CALLS = "calls"  # it asks something else: Python, a service, a model, another flow
    WORKS = "works out"  # the contact notices nothing: branches and values


COLOURS: dict[BoxKind, tuple[str, str]] = {  # fill, stroke
    BoxKind.START: ("#eceef1", "#5f6368"),
    BoxKind.END: ("#f7f8f9", "#9aa0a6"),
    BoxKind.FLOW: ("#f1e7fd", "#8430ce"),
    BoxKind.ASKS: ("#dbe8fd", "#1a66d6"),
    BoxKind.SAYS: ("#d9f2e0", "#188038"),
    BoxKind.WAITS: ("#fdefc8", "#b06000"),
    BoxKind.CALLS: ("#fde3d3", "#b3470f"),
    BoxKind.WORKS: ("#ffffff", "#80868b"),
}


class Stroke(Enum):
    """The strokes of lines."""

    SOLID = "solid"  # the conversation continues there
    DASHED = "dashed"  # ... by a failure, by silence or by a word
    DOTTED = "dotted"  # another flow begins there


@immutable
class BoxFinding:
    """A finding at a box: its rule in a few words, and its full text."""

    code: str
    rule: str
    text: str


@immutable
class Box:
    """A box of a drawing.

    ``name`` is made up and can be used as an id. ``lines`` stand below the title.

    ``refers`` is set for a link: the name of the box that it stands in for. ``stands_for`` is ``flow`` or
    ``flow/step``; empty for other boxes.
    """

    name: str
    kind: BoxKind
    title: str
    lines: tuple[str, ...] = ()
    flags: tuple[BoxFinding, ...] = ()
    refers: str | None = None
    stands_for: str = ""


@immutable
class DrawnLine:
    """A line from one box to another. ``labels`` are all of its labels, in full.

    ``traces`` are the entries in a conversation's trace when it takes the line, each with its label on the line:
    ``{"main/size [Small]": "Small"}``.
    """

    source: str
    target: str
    labels: tuple[str, ...] = ()
    stroke: Stroke = Stroke.SOLID
    traces: Mapping[str, str] = field(default_factory=dict)


@immutable
class Drawing:
    """A drawing: its boxes, in the order in which a reader would name them, and its lines."""

    title: str
    about: str
    boxes: tuple[Box, ...]
    lines: tuple[DrawnLine, ...]


@dataclass
class DrawingBuilder:
    """Builds a drawing: makes up the names of boxes, and joins lines between the same two boxes."""

    boxes: list[Box] = field(default_factory=list)
    _lines: dict[tuple[str, str, Stroke], list[tuple[str, str]]] = field(default_factory=dict)  # labels and traces

    def box(
        self,
        kind: BoxKind,
        title: str,
        lines: tuple[str, ...] = (),
        flags: tuple[BoxFinding, ...] = (),
        *,
        stands_for: str = "",
    ) -> str:
        """Add a box, and return its name."""
        name = f"n{len(self.boxes) + 1}"
        self.boxes.append(Box(name, kind, title, lines, flags, stands_for=stands_for))
        return name

    def line(
        self, source: str, target: str, label: str = "", stroke: Stroke = Stroke.SOLID, *, trace: str = ""
    ) -> None:
        """Add a line, or add a label and a trace to the existing line between these boxes."""
        self._lines.setdefault((source, target, stroke), []).append((label, trace))

    def drawing(self, title: str, about: str) -> Drawing:
        """Return the finished drawing."""
        lines = []
        for (source, target, stroke), drawn in self._lines.items():
            labels = dict.fromkeys(label for label, _ in drawn if label)
            traces = {trace: label for label, trace in drawn if trace}
            lines.append(DrawnLine(source, target, tuple(labels), stroke, traces))
        return Drawing(title, about, tuple(self.boxes), tuple(lines))


LABEL = 32  # characters
LISTED = 2  # labels that are written; the others are a number
_VALUE = lazy_pattern(r"\{\{-?\s*([\w.]*)(.*?)-?\}\}", re.DOTALL)
_STATEMENT = lazy_pattern(r"\{%.*?%\}", re.DOTALL)
_MADE_UP = lazy_pattern(r"if \d+: (?P<condition>.*)|exits\.(?P<exit>.*)|\[(?P<choice>.*)\]", re.DOTALL)
_JOINS = "\u200d"  # joins several emoji into one


def plain(text: str) -> str:
    """A text on one line, with the names of the values in it: ``Hi {contact.name}!``."""
    text = _VALUE.sub(lambda value: f"{{{value[1] or '…'}}}", _STATEMENT.sub(" ", text))
    return " ".join("".join(char if char.isprintable() or char == _JOINS else " " for char in text).split())


def short(text: str, most: int) -> str:
    """The beginning of a text, cut at the end of a word where one is near."""
    text = plain(text)
    if len(text) <= most:
        return text
    cut = head(text, most - 1)
    at_word = cut.rpartition(" ")[0]
    return (at_word if len(at_word) > most // 2 else cut).rstrip(" ,;:") + "…"


def listed(texts: Sequence[str], most: int = LISTED) -> str:
    """Some texts in a line: ``Mon, Tue, +3``."""
    return ", ".join(listed_each(texts, most))


def listed_each(texts: Sequence[str], most: int = LISTED) -> list[str]:
    """Some texts, and the number of the others: ``["Mon", "Tue", "+3"]``."""
    shown = [short(text, LABEL) for text in texts[:most]]
    return [*shown, f"+{len(texts) - most}"] if len(texts) > most else shown


def outcome_label(outcome: str) -> str:
    """The label of an outcome on its line; empty for the outcome that needs no name."""
    made_up = _MADE_UP.fullmatch(outcome)
    if made_up is None:
        return "" if outcome == "then" else outcome.replace(SIGNAL, "signal ", 1)
    condition = made_up["condition"]
    return f"if {condition}" if condition else made_up["exit"] or made_up["choice"] or ""
