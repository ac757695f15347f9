"""A search by the whole path: from a signed webhook to a service and back to the contact."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import make_bot
from tests.services.gateway.peer import Peer, answer, peer, reset

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = """
name: Test
secrets: [SEARCH_KEY]
http: {search: {base: "%s", headers: {X-Key: "{{ secret.SEARCH_KEY }}"}, allow_private: true}}
defaults: {retry: {max: 1, else: end}, timeout: {after: 1h, then: end}}
"""
FLOWS = """
flow: main
start: {otherwise: true}
vars: {q: text, hits: {type: list, max: 3}}
steps:
  q: {ask: What do you look for?, save: q}
  find:
    http: GET search:/find
    query: {q: "{{ q }}"}
    tries: 3
    cache: 10m
    save: {hits: answer.items}
    errors:
      404: {say: "{{ answer }}", then: end}
      else: {say: "Not now ({{ status }}).", then: end}
  tell: {say: "{{ hits | length }} found.", then: end}
"""
MINUTE = timedelta(minutes=1)
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def search() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def chat(tmp_path: Path, search: Peer) -> Iterator[Simulation]:
    program = load_program(read_folder(make_bot(tmp_path, FLOWS, bot=BOT % search.url)))
    with Simulation(program, MovableClock(START), secrets={"SEARCH_KEY": "sk-1"}) as simulation:
        yield simulation


def asked(chat: Simulation, text: str = "blue shoes") -> str:
    """The last thing that is said to somebody who looks for something."""
    chat.user("hi")
    chat.user(text)
    return chat.phones.heard()[-1].text


def test_what_a_service_found_is_told(chat: Simulation, search: Peer) -> None:
    search.answers(answer(200, {"items": ["a", "b"]}, JSON))
    assert asked(chat) == "2 found."
    assert search.requests[0].path == "/find?q=blue+shoes"
    assert search.requests[0].headers["x-key"] == "sk-1"


@pytest.mark.parametrize("content", [b'{"a\\u0000": "n\\u0000o"}', b"a: n\0o"], ids=["JSON", "text"])
def test_a_nul_in_an_answer_reaches_nobody(chat: Simulation, search: Peer, content: bytes) -> None:
    search.answers(answer(404, content, {"Content-Type": "text/plain"}))
    assert asked(chat) == "a: no"


def test_a_service_that_has_hiccups_is_asked_again(chat: Simulation, search: Peer) -> None:
    search.answers(reset, answer(503, b"", {"Retry-After": "2"}), answer(200, {"items": []}, JSON))
    assert asked(chat) == "What do you look for?"
    chat.wait(MINUTE)
    assert chat.phones.heard()[-1].text == "0 found."
    assert len(search.requests) == 3


def test_what_was_found_lately_is_not_asked_for_again(chat: Simulation, search: Peer) -> None:
    search.answers(answer(200, {"items": ["a"]}, JSON))
    assert [asked(chat), asked(chat)] == ["1 found.", "1 found."]
    assert len(search.requests) == 1
    search.answers(answer(404, b"nothing like that"))
    assert asked(chat, "red shoes") == "nothing like that"


def test_more_than_a_variable_holds_is_a_failure_and_the_trace_says_why(chat: Simulation, search: Peer) -> None:
    search.answers(answer(200, {"items": list(range(4))}, JSON))
    assert asked(chat) == "Not now (200)."
    notes = [note for turn in chat.stored.trace() for note in turn.notes]
    assert notes == ["main/find: mismatch: it has 4 elements, 3 are allowed"]


def test_what_the_contact_writes_meanwhile_is_taken_afterwards(chat: Simulation, search: Peer) -> None:
    search.answers(answer(200, {"items": [1]}, JSON))
    chat.user("hi")
    chat.emulator.receive(chat.contact, "shoes")
    chat.emulator.receive(chat.contact, "boots")
    chat.settle()
    assert [message.text for message in chat.phones.heard()][-2:] == ["1 found.", "What do you look for?"]
