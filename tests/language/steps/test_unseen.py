"""What an `ai` step is told of what contacts send that is no text, of their language, and of whom it greets."""

from typing import Any

import pytest

from bot.core.events import MessageReceived
from bot.core.values import Location, Media
from tests.talk import BOT, CONTACT, Talk

FLOW = """\
flow: main
start: {words: [shop], otherwise: true}
steps:
  talk:
    ai: You help the contacts of a shop.
    greet: Hello from the shop!
    exits: {done: {when: all is said, then: end}}
    errors: {else: end}
"""
UNSEEN = "you cannot see or hear"


def sends(chat: Talk, kind: str, text: str | None = None, **more: Any) -> list[Any]:
    return chat.take(MessageReceived(chat.next_id(), CONTACT, chat.now, chat.now, kind, text, **more))


def told(chat: Talk) -> tuple[str, bool]:
    """The contact's last message as the model gets it, and whether it is told that it cannot see it."""
    return chat.prompt[-1]["content"], UNSEEN in chat.prompt[0]["content"]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("image", "(an image) like this?"),
        ("audio", "(a voice note) like this?"),
        ("video", "(a video) like this?"),
        ("document", "(a document) like this?"),
        ("sticker", "(a sticker) like this?"),
    ],
)
def test_a_model_is_told_which_file_came_and_that_it_cannot_see_it(kind: str, words: str) -> None:
    chat = Talk(FLOW)
    sends(chat, kind, media=Media(kind, "https://files.example/1", caption="like this?"))
    assert told(chat) == (words, True)
    chat.model("Sorry, I cannot see it.")
    chat.user("red shoes")
    assert told(chat) == ("red shoes", False)


@pytest.mark.parametrize(
    ("kind", "words"),
    [("sticker", "(a sticker)"), ("contacts", "(a contact card)"), ("order", "(something that is no text)")],
)
def test_a_message_without_a_text_and_a_file_is_named(kind: str, words: str) -> None:
    chat = Talk(FLOW)
    sends(chat, kind)
    assert told(chat)[0] == words


def test_a_picture_that_the_model_gets_is_no_such_file() -> None:
    chat = Talk(FLOW, BOT + "ai: {pictures: true}\n")
    chat.photo()
    assert told(chat) == ("(an image)", False)


def test_a_place_has_its_name_and_its_address_on_one_line() -> None:
    chat = Talk(FLOW)
    sends(chat, "location", location=Location(-6.2, 106.8, "Home\nsweet home", "Jalan 12"))
    assert told(chat) == ("(a place: Home sweet home, Jalan 12, -6.2, 106.8)", False)


def test_a_greeting_alone_is_greeted_and_a_question_beside_it_is_answered() -> None:
    assert Talk(FLOW).user("good morning!") == ["Hello from the shop!"]
    chat = Talk(FLOW)
    assert chat.user("good morning, have you red shoes?") == []
    assert told(chat)[0] == "good morning, have you red shoes?"


def test_a_sticker_after_the_talk_begins_none_anew() -> None:
    chat = Talk(FLOW)
    chat.user("have you red shoes?")
    chat.model("Yes. Bye!", ("leave_done", {}))
    assert sends(chat, "sticker") == ["🙂"]
    assert chat.at is None


def test_a_model_is_told_the_language_that_the_contact_has_chosen() -> None:
    flow = FLOW + "---\nflow: language\nstart: {words: [bahasa]}\nsteps: {a: {say: Baik., set: {language: id}}}\n"
    chat = Talk(flow, BOT + "languages: [en, id]\n")
    chat.user("have you red shoes?")
    assert "chosen" not in chat.prompt[0]["content"]
    chat = Talk(flow, BOT + "languages: [en, id]\n")
    chat.user("bahasa")
    chat.user("have you red shoes?")
    assert "The contact has chosen Indonesian." in chat.prompt[0]["content"]
