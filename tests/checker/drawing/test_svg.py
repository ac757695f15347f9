"""The SVG: what is in it, and what is not."""

import re
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from bot.checker.drawing.drawing_model import Box, BoxFinding, BoxKind, Drawing, DrawnLine
from bot.checker.drawing.svg import svg, text_box, width, wrapped
from tests.checker.drawing.drawn import flow
from tests.checker.drawing.test_mermaid import HOSTILE

FLAG = BoxFinding(
    "W501", "a message after the window has closed", 'the bot may not write "Hi" any more (send a template)'
)
DRAWN = Drawing(
    "order",
    "Takes an order.",
    (
        Box("n1", BoxKind.START, "hi"),
        Box("n2", BoxKind.ASKS, "size", ("ask", "Which size?"), (FLAG,)),
        Box("n3", BoxKind.END, "end"),
    ),
    (
        DrawnLine("n1", "n2"),
        DrawnLine("n2", "n3", ("Small", "Large", "Huge")),
        DrawnLine("n2", "n2", ("Tell me more",)),
    ),
)
NAME = "{http://www.w3.org/2000/svg}"


def texts(drawing: Drawing) -> list[str]:
    return [found.text or "" for found in ElementTree.fromstring(svg(drawing)).iter(f"{NAME}text")]


def test_it_has_the_title_a_key_to_the_colours_every_box_and_every_label() -> None:
    assert texts(DRAWN) == [
        "order", "Takes an order.", "start", "end", "asks",
        "Small, Large, +1", "Tell me more",
        "hi", "size", "ask", "Which size?", "⚠ W501: a message after the", "window has closed", "end", "again",
    ]  # fmt: skip


def test_what_is_shortened_can_be_read_in_full_where_one_points_at_it() -> None:
    told = [found.text for found in ElementTree.fromstring(svg(DRAWN)).iter(f"{NAME}title")]
    assert "Small, Large, Huge" in told
    assert f"size\nask\nWhich size?\nW501 {FLAG.text}" in told


def test_it_can_be_read_aloud() -> None:
    root = ElementTree.fromstring(svg(DRAWN))
    assert root.attrib["role"] == "img" and root.attrib["aria-labelledby"] == "title desc"
    assert root[0].text == "order"
    assert root[1].text == f"Takes an order. 3 boxes, 3 lines. W501 at size: {FLAG.text}"


def test_it_is_one_file_in_light_and_dark_without_a_script() -> None:
    written = svg(DRAWN)
    assert "prefers-color-scheme:dark" in written
    assert re.findall(r"https?://[^\"]*", written) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"<script|\son\w+=|url\((?!#)|@import", written)


def test_hostile_texts_are_texts() -> None:
    boxes = tuple(Box(f"n{number}", BoxKind.SAYS, text, (text,)) for number, text in enumerate(HOSTILE))
    written = svg(
        Drawing(HOSTILE[9], HOSTILE[9], boxes, tuple(DrawnLine("n0", box.name, (box.title,)) for box in boxes))
    )
    found = {element.tag.removeprefix(NAME) for element in ElementTree.fromstring(written).iter()}
    assert found == {"svg", "title", "desc", "style", "marker", "path", "rect", "text", "g", "a"}


@given(st.text(), st.text())
def test_any_text_makes_a_file_that_can_be_read(title: str, line: str) -> None:
    box = Box("n1", BoxKind.ASKS, title, (line,), (BoxFinding("W101", line, title),))
    ElementTree.fromstring(svg(Drawing(title, line, (box,), (DrawnLine("n1", "n1", (line, title)),))))


@given(st.text(), st.text())
def test_texts_stay_within_their_boxes(title: str, line: str) -> None:
    written = text_box(Box("n1", BoxKind.ASKS, title, (line,)))
    for row in written.rows:
        assert width(row.text, 14.0 if row.kind == "title" else 12.0) <= written.size.width
        assert 0 < row.base < written.size.height


@given(st.text(alphabet=st.characters(categories=["L", "Zs"])), st.floats(40, 300))
def test_lines_have_room_and_nothing_is_lost(text: str, room: float) -> None:
    lines = wrapped(text, 12.0, room)
    assert all(width(line, 12.0) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_line_that_leads_far_away_is_a_sign_that_links_to_its_box() -> None:
    steps = "".join(f"  s{number}: {{say: Hi}}\n" for number in range(9))
    last = "  last: {branch: [{if: 'true', then: first}, {else: end}]}\n"
    text = f"flow: long\nstart: {{words: [a]}}\nsteps:\n  first: {{ask: Go on?, buttons: {{'Yes': s0}}}}\n{steps}{last}"
    root = ElementTree.fromstring(svg(flow("long", text)))
    (link,) = root.iter(f"{NAME}a")
    assert [found.text for found in link.iter(f"{NAME}text")] == ["→ first"]
    target = link.attrib["href"].removeprefix("#")
    assert [found.attrib["class"] for found in root.iter(f"{NAME}rect") if found.attrib.get("id") == target] == [
        "box asks"
    ]
