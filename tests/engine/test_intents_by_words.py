"""What a message is about, without a model: the words that it shares with the flows' examples tell, or it is asked."""

from typing import Any

import pytest

from tests.talk import Talk, library_of

FLOWS = """\
flow: parcel
start:
  words: [parcel]
  about: they ask where their order or parcel is, or when it comes
  examples: [where is my stuff, I am still waiting for my delivery]
steps: {number: {ask: Which number?, then: end}}
---
flow: returns
start: {about: they want to send something back, title: Send back, examples: [the shoes do not fit]}
steps: {how: {say: Put it into its box., then: end}}
---
flow: opening_hours
start: {about: they ask when we are open, title: Opening hours, examples: [are you open on Sunday]}
steps: {hours: {say: From 9., then: end}}
---
flow: other
start: {otherwise: true}
steps: {sorry: {say: "Sorry?", then: end}}
"""


def talk(flows: str = FLOWS) -> Talk:
    return Talk(library_of(flows).without_model())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("where is my stuff?", "Which number?"),
        ("I'm waiting for the delivery", "Which number?"),
        ("still waiting for deliveries", "Which number?"),
        ("the shoes don't fit me", ["Did you mean one of these?", "Send back", "None of these"]),
        ("I want to send these shoes back", "Put it into its box."),
        ("opening hours please", "From 9."),
        ("are you open on Sundays", "From 9."),
        ("when do you open", ["Did you mean one of these?", "Opening hours", "None of these"]),
        ("can you tell me a joke", "Sorry?"),
        ("hello", "Sorry?"),
        ("ok", "Sorry?"),
        ("what is that", "Sorry?"),
    ],
)
def test_the_words_of_a_message_tell_what_it_is_about(text: str, said: Any) -> None:
    chat = talk()
    assert chat.user(text) == [said]
    assert chat.asked == []


def test_where_they_are_unsure_the_contact_says_which_flow_it_is() -> None:
    chat = talk()
    assert chat.user("shoes") == [["Did you mean one of these?", "Send back", "None of these"]]
    assert chat.turn is not None and chat.turn.trace.rule == "its words tell what it is about"
    assert chat.tap("Send back") == ["Put it into its box."]
    chat = talk()
    chat.user("shoes")
    assert chat.tap("None of these") == ["Sorry?"]


def test_another_message_counts_as_one_of_its_own() -> None:
    chat = talk()
    chat.user("shoes")
    assert chat.user("parcel") == ["Which number?"]


def test_where_the_model_fails_the_words_decide() -> None:
    chat = Talk(FLOWS)
    assert chat.user("where is my stuff?") == []
    assert chat.model_ends("down") == ["Which number?"]
    assert chat.turn is not None and any("the model" in note for note in chat.turn.trace.notes)


def test_the_model_decides_where_there_is_one() -> None:
    chat = Talk(FLOWS)
    chat.user("where is my stuff?")
    assert chat.model("none 90") == ["Sorry?"]
