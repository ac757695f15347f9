"""Mermaid's text, held against the real Mermaid."""

import re
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.checker.drawing.drawing_model import LABEL, Box, BoxFinding, BoxKind, Drawing, DrawnLine, Stroke, plain, short
from bot.checker.drawing.flow_drawing import FindingIndex, draw_bot, draw_flow
from bot.checker.drawing.mermaid import escaped, mermaid
from bot.checker.graph import Graph
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from tests.checker.drawing.real_mermaid import read_by_mermaid
from tests.docs.test_docs import ROOT
from tests.searches import search, some

HOSTILE = (
    'a "b" c', "end", "graph TD", "a]b)c}d", "[x](http://e.example)", "1. one", "- one", "# one", "#35; &lt; #quot;",
    "<b>b</b><br/><script>1</script>", "`a` *b* _c_ __d__ ~~e~~", "$$x^2$$", "%% no %%{init: {}}%%", "a | b ; c",
    "fa:fa-car", "👋 👨‍👩‍👧 Ünï 你好 שלום", "\\n \\", "a --> b", "subgraph x", "class n1 found", "click n1 call x()", "ﬂ°°35¶ß",
)  # fmt: skip


def drawing(*boxes: Box, lines: tuple[DrawnLine, ...] = ()) -> Drawing:
    return Drawing("A drawing", "", boxes, lines)


def test_a_chart_has_boxes_lines_and_classes() -> None:
    boxes = (
        Box("n1", BoxKind.START, "hi"),
        Box(
            "n2",
            BoxKind.ASKS,
            "day",
            ("ask", "Which day?"),
            (BoxFinding("W501", "a message after the window has closed", "..."),),
        ),
        Box("n3", BoxKind.END, "end"),
    )
    lines = (
        DrawnLine("n1", "n2"),
        DrawnLine("n2", "n3", ("Mon", "Tue", "Wed", "Thu")),
        DrawnLine("n2", "n3", ("x",), Stroke.DASHED),
    )
    assert mermaid(drawing(*boxes, lines=lines)).splitlines()[:8] == [
        "flowchart TD",
        '  n1(["hi"]):::is_start',
        '  n2["day<br/>ask<br/>Which day?<br/>⚠ W501: a message after the window has closed"]:::is_asks',
        '  n3(["end"]):::is_end',
        "  n1 --> n2",
        '  n2 -->|"Mon, Tue, +2"| n3',
        '  n2 -.->|"x"| n3',
        "  classDef is_start fill:#eceef1,stroke:#5f6368,color:#202124",
    ]


def test_mermaid_reads_every_label_as_it_was_meant() -> None:
    boxes = [Box(f"n{number}", BoxKind.SAYS, text, (text,)) for number, text in enumerate(HOSTILE)]
    lines = tuple(DrawnLine("n0", box.name, (box.title,)) for box in boxes)
    (read,) = read_by_mermaid([mermaid(drawing(*boxes, lines=lines))])
    meant = [plain(text).replace("ﬂ", "fl") for text in HOSTILE]
    assert [label for label, _ in read.boxes.values()] == [f"{text}<br/>{text}" for text in meant]
    assert [label for _, _, label in read.lines] == [short(text, LABEL) for text in meant]


@given(st.text())
def test_no_label_has_a_mark_of_mermaids(text: str) -> None:
    rest = re.sub(r"#\d+;", "x", escaped(text))
    assert not re.search(r"""["#<>&`*~$\\|;^%@\n\r]|^[-+=]|^\d+[.)]|:\S|ﬂ""", rest)


@search
def test_mermaid_reads_every_example() -> None:
    bots = some(3, sorted((ROOT / "examples").glob("*/bot.yml")))
    drawings = [drawn for bot in bots for drawn in all_drawings(bot.parent)]
    for read, drawn in zip(read_by_mermaid([mermaid(drawn) for drawn in drawings]), drawings, strict=True):
        assert list(read.boxes) == [box.name for box in drawn.boxes]
        assert [line[:2] for line in read.lines] == [(line.source, line.target) for line in drawn.lines]


def all_drawings(folder: Path) -> Iterator[Drawing]:
    graph = Graph(load_program(read_folder(folder)).library)
    flags = FindingIndex.of(graph.library, ())
    for everything in (False, True):
        yield draw_bot(graph, flags, everything=everything)
        yield from (draw_flow(graph, name, flags, everything=everything) for name in graph.library.flows)


def test_mermaid_marks_what_was_found() -> None:
    flag = BoxFinding("W101", "a step that nobody reaches", "...")
    (read,) = read_by_mermaid(
        [mermaid(drawing(Box("n1", BoxKind.SAYS, "a", (), (flag,)), Box("n2", BoxKind.SAYS, "b")))]
    )
    assert [classes for _, classes in read.boxes.values()] == [["is_says", "found"], ["is_says"]]
