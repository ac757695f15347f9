"""Tools of an MCP server by the whole path: from a contact's message over the model to the server, and back."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.conversations.recorded_chat import RecordedSimulation
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from bot.testing.emulator.completion import ModelAnswer
from bot.testing.simulation.simulation import Simulation
from bot.testing.simulation.turn_words import event_in_words
from tests.cli.terminal import BOT, make_bot
from tests.services.gateway.peer import Answer, Peer, answer, peer

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help.
    tools: {mcp: crm, only: find, show_errors: true}
    exits: {done: {when: they are done, then: end}}
    errors: {else: end}
"""
SCHEMA = {"type": "object", "properties": {"number": {"type": "string"}, "contact": {"type": "string"}}}
LIST = {"protocol": "2026-07-28", "tools": [{"name": "find", "description": "Find it.", "inputSchema": SCHEMA}]}
TEST = """\
test: a tool without a stub
talk:
  - user: Where is A1?
  - model: {calls: [{crm.find: {number: A1}}]}
  - model: It is sent.
  - bot: It is sent.
"""


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


def saved(folder: Path, url: str, tests: str = "") -> Path:
    bot = f'{BOT}secrets: [KEY]\nmcp: {{crm: {{url: "{url}/mcp", allow_private: true, headers: {{X-Key: "{{{{ secret.KEY }}}}"}}}}}}\n'
    (folder / "mcp").mkdir()
    (folder / "mcp" / "crm.json").write_text(json.dumps(LIST))
    return make_bot(folder, FLOW, tests=tests, bot=bot)


@pytest.fixture
def chat(tmp_path: Path, server: Peer) -> Iterator[Simulation]:
    program = load_program(read_folder(saved(tmp_path, server.url)))
    with Simulation(program, MovableClock(START), secrets={"KEY": "s3cret"}) as simulation:
        yield simulation


def result(of: Any) -> Answer:
    return answer(200, {"jsonrpc": "2.0", "id": 1, "result": of}, {"Content-Type": "application/json"})


def asked(chat: Simulation) -> str:
    """The result of the tool that the model has called, as the model gets it."""
    results: list[str] = []

    def model(body: dict[str, Any]) -> ModelAnswer:
        results.extend(str(each["content"]) for each in body["messages"] if each["role"] == "tool")
        return ModelAnswer("It is sent.") if results else ModelAnswer(calls=[("crm_find", {"number": "A1"})])

    chat.service.answer_with(model)
    chat.user("Where is A1?")
    return results[-1]


def test_the_server_is_asked_for_this_contact_and_the_model_gets_its_answer(chat: Simulation, server: Peer) -> None:
    server.answers(result({"structuredContent": {"state": "sent"}, "content": []}))
    assert asked(chat) == '{"state": "sent"}'
    assert chat.phones.heard()[-1].text == "It is sent."
    (request,) = server.requests
    assert request.body["params"]["arguments"] == {"number": "A1", "contact": chat.contact}
    assert request.headers["x-key"] == "s3cret"


def test_the_text_of_an_error_reaches_the_model_in_one_line(chat: Simulation, server: Peer) -> None:
    server.answers(result({"isError": True, "content": [{"type": "text", "text": "no order\nA1"}]}))
    assert asked(chat) == "Failed: ToolError: no order A1"


def test_a_server_that_is_down_is_a_failure_that_the_trace_shows(chat: Simulation, server: Peer) -> None:
    server.answers(answer(503, b""))
    assert asked(chat) == "Failed: unreachable"
    told = [event_in_words(turn.event) for turn in chat.stored.trace()]
    assert any("unreachable" in line and "it answers 503" in line for line in told), told


def test_a_chat_that_is_recorded_has_the_answers_of_the_server_as_stubs(tmp_path: Path, server: Peer) -> None:
    program = load_program(read_folder(saved(tmp_path, server.url)))
    server.answers(result({"structuredContent": {"state": "sent"}, "content": []}))
    with RecordedSimulation(program, MovableClock(START), secrets={"KEY": "s3cret"}) as simulation:
        assert asked(simulation) == '{"state": "sent"}'
        written = simulation.written()
    assert yaml.safe_load(written)["handlers"] == {"crm.find": [{"returns": {"state": "sent"}}]}
    (tmp_path / "flows" / "tests.yml").write_text(written)
    folder = read_folder(tmp_path)
    loaded = load_with_tests(folder)
    assert loaded.program is not None
    assert [run(each, loaded.program, folder) for each in loaded.transcripts] == [None]


def test_a_test_without_a_stub_asks_no_server_and_fails_with_what_to_write(tmp_path: Path, server: Peer) -> None:
    folder = read_folder(saved(tmp_path, server.url, TEST))
    loaded = load_with_tests(folder)
    assert loaded.program is not None
    failed = run(loaded.transcripts[0], loaded.program, folder)
    assert failed is not None and "write a stub under handlers" in f"{failed.what} {failed.complaints}"
    assert server.requests == []
