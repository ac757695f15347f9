"""Each kind of message, from what the client writes to what the contact sees."""

import pytest

from bot.core.messages import (
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    Section,
    TemplateMessage,
    TextMessage,
)
from bot.gateway.gateway_client import content, type_of
from bot.simulation.phone import Bubble, File, Link, Row, bubble_of

ONE, TWO = Choice("1", "One", "the first"), Choice("2", "Two")


@pytest.mark.parametrize(
    ("message", "bubble"),
    [
        (TextMessage("Hi"), Bubble("Hi")),
        (MediaMessage("image", "https://a.example/1.png", "Look"),
         Bubble("Look", file=File("image", "https://a.example/1.png"))),
        (MediaMessage("audio", "https://a.example/1.mp3"), Bubble(file=File("audio", "https://a.example/1.mp3"))),
        (LocationMessage(1.5, 2.5, "Home", "1 Road"), Bubble("1 Road", place="Home")),
        (LocationMessage(1.5, 2.5), Bubble(place="1.5, 2.5")),
        (Buttons("Which?", (ONE, TWO), "Top"), Bubble("Which?", "Top", buttons=("One", "Two"))),
        (LinkButton("Here", "Map", "https://a.example", "Top", "Bottom"),
         Bubble("Here", "Top", "Bottom", link=Link("Map", "https://a.example"))),
        (ListMessage("Which?", "See", (Section("A", (ONE,)), Section("B", (TWO,))), "Bottom"),
         Bubble("Which?", footer="Bottom", rows=(Row("One", "the first"), Row("Two")), opens="See")),
        (TemplateMessage("t", "en"), Bubble(template="t", language="en")),
        (TemplateMessage("t", "en", {"type": "text", "text": "Top"}, ({"type": "text", "text": "1"},), ("payload",)),
         Bubble(template="t", language="en", header="Top", body=("1",))),
        (TemplateMessage("t", "en", {"type": "image", "image": {"link": "https://a.example/1.png"}}),
         Bubble(template="t", language="en", header="https://a.example/1.png")),
    ],
)  # fmt: skip
def test_a_message_is_seen_as_it_was_meant(message: Message, bubble: Bubble) -> None:
    assert bubble_of(type_of(message), {type_of(message): content(message)}) == bubble


def test_what_can_be_chosen_are_buttons_or_rows_and_a_templates_registered_replies() -> None:
    assert Bubble(buttons=("A",)).choices == ("A",)
    assert Bubble(rows=(Row("A"), Row("B"))).choices == ("A", "B")
    template = TemplateMessage("t", "en")
    assert bubble_of("template", {"template": content(template)}, ("Yes", "No")).choices == ("Yes", "No")
