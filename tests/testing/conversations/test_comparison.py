"""What fits what."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from bot.core.values import Media, Record
from bot.language.source.problems import Mark, Problems
from bot.language.source.yaml_tree import Node, read
from bot.testing.conversations.comparison import NAMED_PARTS, differences_of, fits
from bot.testing.conversations.expectation_reader import MESSAGE
from bot.testing.conversations.transcript import BotLine
from bot.testing.simulation.phone import ListRow, ShownFile, ShownLink, ShownMessage

MARK = Mark("t.yml", 1, 1)


def node(text: str) -> Node:
    """What stands in a file; as the value of a key, so that an empty one stays."""
    (document,) = read("t.yml", f"value: {text}", Problems())
    found = document.get("value")  # type: ignore[union-attr]
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 2),
        ("2.50", Decimal("2.5")),
        ("10", Decimal("10.00")),
        ("tea", "tea"),
        ('"007"', "007"),
        ("007", "007"),
        ("1.10", "1.10"),
        ("true", True),
        ("null", None),
        ("2030-05-12", date(2030, 5, 12)),
        ("[a, 2]", ["a", 2]),
        ("{name: tea}", Record("Order", {"name": "tea", "cups": 2})),
        ("{name: tea, cups: 2}", {"name": "tea", "cups": 2}),
        ("{kind: image}", Media("image", "https://files.example/1.jpg")),
    ],
)
def test_values_fit_as_they_are_shown(written: str, value: Any) -> None:
    assert fits(node(written), value)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2", 3),
        ("1.10", "1.1"),
        ("null", ""),
        ('""', None),
        ("true", False),
        ("[a]", ["a", "b"]),
        ("[a, b]", "a, b"),
        ("{name: tea}", {"name": "coffee"}),
        ("{name: tea}", {}),
        ("{name: tea}", "tea"),
        ("2", "2"),
        ('"2"', 2),
        ("true", "true"),
        ('"true"', True),
        ("true", 1),
        ("1", True),
    ],
)
def test_other_values_do_not(written: str, value: Any) -> None:
    assert not fits(node(written), value)


def found(parts: dict[str, Any], message: ShownMessage, alone: bool = False) -> list[tuple[str, str, str]]:
    return [(d.what, d.expected, d.found) for d in differences_of(BotLine(MARK, parts, alone), message)]


def test_only_what_is_written_is_compared() -> None:
    question = ShownMessage("What now?", header="Café", buttons=("Tea", "Coffee"))
    assert found({"contains": ("now",)}, question) == []
    assert found({"says": "What now?", "buttons": ("Tea", "Coffee"), "header": "Café"}, question) == []


def test_a_bare_text_is_the_whole_message() -> None:
    assert found({"says": "What now?"}, ShownMessage("What now?"), alone=True) == []
    assert found({"says": "What now?"}, ShownMessage("What now?", buttons=("Tea",)), alone=True) == [
        ("buttons", "nothing", "Tea")
    ]


def test_each_part_of_a_message_can_be_expected() -> None:
    shown = ShownMessage(
        "Look", "Top", "Bottom", rows=(ListRow("One"), ListRow("Two")), link=ShownLink("Map", "https://a.example"),
        file=ShownFile("image", "https://a.example/1.png"), place="Home", template="t", language="en", body=("1", "2"),
    )  # fmt: skip
    parts = {
        "says": "Look", "header": "Top", "footer": "Bottom", "rows": ("One", "Two"), "link": "https://a.example",
        "image": "https://a.example/1.png", "location": "Home", "template": "t", "language": "en", "body": ("1", "2"),
    }  # fmt: skip
    assert found(parts, shown) == []
    assert [what for what, _, _ in found(parts, ShownMessage())] == list(parts)
    assert found({"video": "https://a.example/1.png"}, shown) == [("video", "https://a.example/1.png", "nothing")]


def test_each_key_of_a_message_is_compared() -> None:
    assert {*MESSAGE.names} == {*NAMED_PARTS, "contains"} - {"link title", "filename", "file text"}


def test_order_and_number_of_choices_matter() -> None:
    assert found({"buttons": ("A", "B")}, ShownMessage(buttons=("B", "A"))) == [("buttons", "A | B", "B | A")]
    assert found({"contains": ("a", "b")}, ShownMessage("only a")) == [("contains", "b", "only a")]
