"""Personal values do not show in a text: neither a contact's name, nor the values that the conversation knows."""

from dataclasses import replace
from datetime import date

import pytest

from bot.checker.replaying.differences import DifferenceKind, ReplayDifference
from bot.checker.replaying.redaction import HIDDEN, Redaction, common_words
from bot.core.events import CallEnded, ConversationAssigned, MessageReceived
from bot.core.session import Frame, Session
from tests.talk import CONTACT, START, library_of

FLOWS = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}, day: {type: date}}
steps:
  a: {ask: "Will {{ name }} come within 3 days?", save: name}
  b: {say: {any: [Fine., Lovely.]}}
"""
COMMON = common_words(library_of(FLOWS))
FRAME = Frame("main", "a", 1, START, START, vars={"name": "Budi Santoso", "day": date(2030, 5, 12), "n": 3})
SESSION = Session(CONTACT, name="Will Smith", email="w@post.test", frames=(FRAME,))
WROTE = MessageReceived("e1", CONTACT, START, START, "text", "my secret garden, please come")
ANSWERED = ConversationAssigned("e3", CONTACT, START, answered=True, text="Turquoise teapot")
FOUND = CallEnded("e2", CONTACT, START, "e1#0", "done", {"orders": ["Blue kettle"], "total": 12.5})


def redacted(text: str, session: Session = SESSION) -> str:
    sessions, events = (session,), (WROTE, FOUND, ANSWERED)
    found = ReplayDifference(DifferenceKind.SAYS, "main/a", "main/a", None, (), (), 1, START, sessions, events)
    return Redaction(found, COMMON).over(text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Dear Budi Santoso, welcome", f"Dear {HIDDEN}, welcome"),
        ("DEAR BUDI", f"DEAR {HIDDEN}"),
        ("Hello Will!", f"Hello {HIDDEN}!"),
        ("Write to w@post.test", f"Write to {HIDDEN}"),
        (f"Your number is +{CONTACT}", f"Your number is +{HIDDEN}"),
        ("A Blue kettle for 12.50 €", f"A {HIDDEN} for {HIDDEN} €"),
        ("On 12 May 2030", f"On {HIDDEN} May {HIDDEN}"),
        ("Your secret is safe", f"Your {HIDDEN} is safe"),
        ("A turquoise teapot", f"A {HIDDEN}"),
        ("Order A-4711 has left", f"Order A-{HIDDEN} has left"),
        ("See https://shop.example/orders/17", f"See https://shop.example/orders/{HIDDEN}"),
    ],
)
def test_what_the_conversation_knows_and_every_number_is_hidden(text: str, shown: str) -> None:
    assert redacted(text) == shown


def test_the_flows_own_words_and_numbers_show() -> None:
    stranger = replace(SESSION, name=None, frames=())
    assert redacted("Will you come within 3 days? Lovely.", stranger) == "Will you come within 3 days? Lovely."


def test_a_number_of_the_flows_is_hidden_where_it_may_be_a_value() -> None:
    assert redacted("within 3 days") == f"within {HIDDEN} days"


def test_what_is_hidden_side_by_side_is_hidden_as_one() -> None:
    assert redacted("Budi Santoso, Blue kettle and more") == redacted("Budi, 12 and more") == f"{HIDDEN} and more"
