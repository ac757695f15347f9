"""`python -m bot.testing.emulator` as a process of its own, driven by its control API."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import requests
from click.testing import CliRunner

from bot.testing.emulator.__main__ import main
from tests.testing.emulator.conftest import Receiver

TO = "491510000001"
HEADERS = {"Authorization": "Bearer key-1", "Content-Type": "application/json"}


class Process:
    """A running emulator."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-m", "bot.testing.emulator", *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def send(self, text: str = "Hi") -> requests.Response:
        body = {"to": TO, "type": "text", "text": {"body": text}}
        return requests.post(f"{self.url}/external-api/inbox/send-message", json=body, headers=HEADERS, timeout=10)

    def tell(self, path: str, body: dict[str, Any], status: int = 200) -> Any:
        response = requests.post(f"{self.url}/emulator/{path}", json=body, timeout=10)
        assert response.status_code == status, response.text
        return response.json()

    def ask(self, path: str) -> Any:
        return requests.get(f"{self.url}/emulator/{path}", timeout=10).json()

    def end(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGTERM):
            self.process.send_signal(number)
        self.process.communicate(timeout=20)
        return self.process.returncode


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def process(receiver: Receiver) -> Iterator[Process]:
    running = Process("--api-key", "key-1", "--secret", "s", "--per-minute", "1000", "--webhook", receiver.url)
    yield running
    assert running.end() == 0


def test_it_is_driven_from_another_process(process: Process, receiver: Receiver) -> None:
    event_id = process.tell("receive", {"contact": TO, "text": "Hello"})
    buttons = [{"type": "reply", "reply": {"id": "y", "title": "Yes"}}]
    interactive = {"type": "button", "body": {"text": "Well?"}, "action": {"buttons": buttons}}
    body = {"to": TO, "type": "interactive", "interactive": interactive, "odd": 1}
    assert requests.post(f"{process.url}/external-api/inbox/send-message", json=body, headers=HEADERS, timeout=10).ok
    tap_id = process.tell("tap", {"contact": TO, "title": "Yes"})
    assert process.ask("idle?within=10") is True
    assert process.ask("acknowledged")[:2] == [event_id, tap_id]
    assert process.ask("unknown-fields") == ["send-message: odd"]
    (sent,) = process.ask("sent")
    assert (sent["to"], sent["type"], sent["endpoint"]) == (TO, "interactive", "send-message")
    assert process.ask("sent?after=1") == []
    place = {"contact": TO, "kind": "location", "location": {"latitude": 1, "longitude": 2}}
    assert "coordinates: object" in process.tell("receive", place, 400)["error"]
    counts = process.ask("counts")
    assert (counts["requests"], counts["events"], counts["acknowledged"]) == (1, 2, 2)
    assert len(receiver.seen) == 2


def test_faults_switches_templates_and_windows_are_set_from_outside(process: Process) -> None:
    process.tell("windows", {"contacts": [TO]})
    process.tell("faults", {"kind": "error_before", "status": 503, "when": {"to": TO, "type": "text"}})
    assert process.send().status_code == 503
    requests.delete(f"{process.url}/emulator/faults", timeout=10)
    assert process.send().status_code == 200
    process.tell("behaviour", {"success_status": 201})
    assert process.send().status_code == 201
    process.tell("behaviour", {"success_status": 200})
    button = {"kind": "quick_reply", "title": "Yes"}
    process.tell("templates", {"name": "ask", "body": "Well?", "buttons": [button]})
    listed = requests.get(f"{process.url}/external-api/inbox/template-list", headers=HEADERS, timeout=10).json()
    assert [template["name"] for template in listed["data"]] == ["ask"]
    process.tell("events", {"event": "contact.updated", "data": {}, "at": "2030-01-01T00:00:00+00:00"})
    process.tell("resolve", {"contact": TO})


def test_what_is_registered_by_its_public_address_comes_through_a_tunnel(receiver: Receiver) -> None:
    process = Process("--api-key", "key-1", "--tunnel", f"https://bot.example={receiver.url}")
    body = {"name": "Bot", "url": "https://bot.example", "events": ["message.inbound"]}
    url = f"{process.url}/external-api/v1/webhooks"
    assert requests.post(url, json=body, headers=HEADERS, timeout=10).ok
    before = len(receiver.seen)
    process.tell("receive", {"contact": TO, "text": "Hello"})
    assert process.ask("idle?within=10") is True
    assert len(receiver.seen) == before + 1
    assert process.end() == 0


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("receive", {"text": "nobody wrote this"}),
        ("receive", {"contact": TO, "kind": "poem"}),
        ("tap", {"contact": TO, "title": "Never shown"}),
        ("behaviour", {"colour": "red"}),
        ("faults", {"kind": "explode"}),
        ("windows", {}),
        ("events", {"event": "message.lost", "data": {}}),
    ],
)
def test_what_makes_no_sense_is_answered_400(process: Process, path: str, body: dict[str, Any]) -> None:
    assert process.tell(path, body, 400)["error"]


def test_switches_and_limits_are_options() -> None:
    process = Process(
        *("--api-key", "key-1", "--per-minute", "2", "--set", "window=open", "--set", "success_status=202"),
        *("--set", 'statuses=["sent"]', "--latency-ms", "1", "--keep", "1"),
    )
    assert [process.send().status_code for _ in range(3)] == [202, 202, 429]
    assert len(process.ask("sent")) == 1
    assert process.end() == 0


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--set", "window=ajar", "window is one of enforced, open"),
        ("--webhook", "https://bot.example", "this machine"),
        ("--tunnel", "https://bot.example=https://other.example", "this machine"),
        ("--port", "65536", "65536 is not in the range"),
        ("--completions", "-1", "-1 is not in the range"),
        ("--threads", "0", "0 is not in the range"),
        ("--delivery-threads", "0", "0 is not in the range"),
        ("--keep", "-1", "-1 is not in the range"),
    ],
)
def test_a_wrong_option_is_explained(option: str, value: str, words: str) -> None:
    ended = CliRunner().invoke(main, [option, value])
    assert ended.exit_code == 2
    assert words in " ".join(ended.output.split())


@pytest.mark.parametrize("option", ["--port", "--completions"])
def test_a_port_that_is_taken_is_refused_in_words(option: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        command = [sys.executable, "-m", "bot.testing.emulator", option, str(port)]
        refused = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert refused.returncode == 1
    what = f"port {port} cannot be listened on: Address already in use"
    assert refused.stderr == f"Error: {what} (name another one, or 0 for any that is free)\n"
