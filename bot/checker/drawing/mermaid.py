"""A drawing as Mermaid text, which code hosts, editors and wikis show as a picture."""

import re
from collections.abc import Iterator

from bot.checker.drawing.drawing_model import COLOURS, Box, BoxKind, Drawing, DrawnLine, Stroke, listed, plain
from bot.core.lazy_patterns import lazy_pattern

_SHAPES = {
    BoxKind.START: ("([", "])"),
    BoxKind.END: ("([", "])"),
    BoxKind.FLOW: ("[[", "]]"),
    BoxKind.WORKS: ("{{", "}}"),
}
_STEP = ("[", "]")
_ARROWS = {Stroke.SOLID: "-->", Stroke.DASHED: "-.->", Stroke.DOTTED: "-.->"}
_TAKEN = lazy_pattern(  # texts that could be read as Mermaid, Markdown, HTML or a formula
    r"""["#<>&`*~$\\|;^%@] | (?<![^\W_])_ | _(?![^\W_]) | (?<=\S)\.(?=\S) | :(?=\S) | ^(\d+)[.)] | ^[-+=]""",
    re.VERBOSE,
)
FOUND = "stroke:#c5221f,stroke-width:4px"


def mermaid(drawing: Drawing) -> str:
    """The drawing as a flowchart. No text of the user is read as Mermaid: ids are made up, labels are escaped."""
    return "\n".join(_lines(drawing)) + "\n"


def _lines(drawing: Drawing) -> Iterator[str]:
    yield "flowchart TD"
    for box in drawing.boxes:
        yield f"  {_box(box)}"
    for line in drawing.lines:
        yield f"  {_line(line)}"
    for kind in BoxKind:
        if any(box.kind is kind for box in drawing.boxes):
            fill, stroke = COLOURS[kind]
            yield f"  classDef {_class(kind)} fill:{fill},stroke:{stroke},color:#202124"
    found = [box.name for box in drawing.boxes if box.flags]
    if found:
        yield f"  classDef found {FOUND}"
        yield f"  class {','.join(found)} found"


def _box(box: Box) -> str:
    flags = [f"⚠ {flag.code}: {flag.rule}" for flag in box.flags]
    label = "<br/>".join(escaped(text) for text in (box.title, *box.lines, *flags))
    before, behind = _SHAPES.get(box.kind, _STEP)
    return f'{box.name}{before}"{label}"{behind}:::{_class(box.kind)}'


def _line(line: DrawnLine) -> str:
    arrow = _ARROWS[line.stroke]
    label = f'|"{escaped(listed(line.labels))}"|' if line.labels else ""
    return f"{line.source} {arrow}{label} {line.target}"


def _class(kind: BoxKind) -> str:
    """A class's name: Mermaid knows words of its own, such as ``end``."""
    return f"is_{kind.name.lower()}"


def escaped(text: str) -> str:
    """A label's text, in which nothing is read as Mermaid, Markdown or HTML."""
    text = plain(text).replace("ﬂ", "fl")  # Mermaid's own marks for escaped texts begin with it
    return _TAKEN.sub(lambda found: "".join(f"#{ord(char)};" for char in found[0]), text)
