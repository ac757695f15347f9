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
from bot.services.gateway.gateway_client import content, type_of
from bot.testing.simulation.phone import (
    ListRow,
    NotOnScreen,
    ShownFile,
    ShownLink,
    ShownMessage,
    choice_of,
    message_from_request,
)

ONE, TWO = Choice("1", "One", "the first"), Choice("2", "Two")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (TextMessage("Hi"), ShownMessage("Hi")),
        (MediaMessage("image", "https://a.example/1.png", "Look"),
         ShownMessage("Look", file=ShownFile("image", "https://a.example/1.png"))),
        (MediaMessage("audio", "https://a.example/1.mp3"), ShownMessage(file=ShownFile("audio", "https://a.example/1.mp3"))),
        (LocationMessage(1.5, 2.5, "Home", "1 Road"), ShownMessage("1 Road", place="Home")),
        (LocationMessage(1.5, 2.5), ShownMessage(place="1.5, 2.5")),
        (Buttons("Which?", (ONE, TWO), "Top"), ShownMessage("Which?", "Top", buttons=("One", "Two"), ids=("1", "2"))),
        (LinkButton("Here", "Map", "https://a.example", "Top", "Bottom"),
         ShownMessage("Here", "Top", "Bottom", link=ShownLink("Map", "https://a.example"))),
        (ListMessage("Which?", "See", (Section("A", (ONE,)), Section("B", (TWO,))), "Bottom"),
         ShownMessage("Which?", footer="Bottom", rows=(ListRow("One", "the first"), ListRow("Two")), opens="See", ids=("1", "2"))),
        (TemplateMessage("t", "en"), ShownMessage(template="t", language="en")),
        (TemplateMessage("t", "en", {"type": "text", "text": "Top"}, ({"type": "text", "text": "1"},), ("payload",)),
         ShownMessage(template="t", language="en", header="Top", body=("1",), ids=("payload",))),
        (TemplateMessage("t", "en", {"type": "image", "image": {"link": "https://a.example/1.png"}}),
         ShownMessage(template="t", language="en", file=ShownFile("image", "https://a.example/1.png"))),
        (TemplateMessage("t", "en", {"type": "image", "image": {"id": "10203040"}}),
         ShownMessage(template="t", language="en", file=ShownFile("image", "", "10203040"))),
        (TemplateMessage("t", "en", {"type": "document", "document": {"link": "https://a.example/1.pdf", "filename": "bill.pdf"}}),
         ShownMessage(template="t", language="en", file=ShownFile("document", "https://a.example/1.pdf", "bill.pdf"))),
        (TemplateMessage("t", "en", {"type": "location", "location": {"latitude": 1.5, "longitude": 2.5}}),
         ShownMessage(template="t", language="en", place="1.5, 2.5")),
    ],
)  # fmt: skip
def test_a_message_is_seen_as_it_was_meant(message: Message, shown: ShownMessage) -> None:
    assert message_from_request(type_of(message), {type_of(message): content(message)}) == shown


def test_what_can_be_chosen_are_buttons_or_rows_and_a_templates_registered_replies() -> None:
    assert ShownMessage(buttons=("A",)).choices == ("A",)
    assert ShownMessage(rows=(ListRow("A"), ListRow("B"))).choices == ("A", "B")
    template = TemplateMessage("t", "en")
    assert message_from_request("template", {"template": content(template)}, ("Yes", "No")).choices == ("Yes", "No")


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (ShownFile("image", "https://a.example/photos/1.png?size=9"), "1.png"),
        (ShownFile("document", "https://a.example/1.pdf", "bill.pdf"), "bill.pdf"),
        (ShownFile("image", "https://a.example/"), "https://a.example/"),
    ],
)
def test_a_file_is_called_by_its_name_or_the_end_of_its_address(file: ShownFile, name: str) -> None:
    assert file.name == name


def test_a_button_is_that_of_the_newest_message_that_has_it() -> None:
    asked = ShownMessage("Time for iron.", buttons=("Taken", "Later"), ids=("1", "2"))
    newer, said = ShownMessage("Time for iron!", buttons=("Taken",), ids=("3",)), ShownMessage("You have had iron.")
    assert choice_of([asked, newer, said], "Taken", "iron") == "3"
    assert choice_of([asked, newer, said], "Later", "iron") == "2"
    with pytest.raises(NotOnScreen, match='the message with "iron" has no "Never", but Taken'):
        choice_of([asked, newer, said], "Never", "iron")
    with pytest.raises(NotOnScreen, match="but nothing to choose"):
        choice_of([said], "Taken", "iron")
    with pytest.raises(NotOnScreen, match='there is no message with "zinc"'):
        choice_of([asked], "Taken", "zinc")
