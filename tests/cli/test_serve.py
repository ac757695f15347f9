"""`bot serve` as it really runs: three processes on the loopback interface, and a sender that signs."""

import hashlib
import hmac
import http.client
import json
import os
import queue
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import bot
from bot import local
from bot.emulator.emulator import Emulator
from bot.store.files import inbox_path
from bot.store.inbox import InboxReader

SECRET = "signing-secret"
CONTACT = "6281234567890"
BOT = "name: Test Bot\ndefaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}\n"
FLOW = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello}\n"
PATIENCE = 30.0  # seconds; nothing here takes a tenth of it


class Serving:
    """A `bot serve` in a folder of its own. Its lines come in over a queue."""

    def __init__(self, folder: Path, **settings: str) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("BOT_")}
        environ |= {
            "BOT_GATEWAY_URL": "http://127.0.0.1:9",
            "BOT_GATEWAY_KEY": "key-of-the-gateway",
            "BOT_WEBHOOK_SECRET": SECRET,
            "BOT_PORT": "0",
            **settings,
        }
        self.store = folder / "bot.db"
        self.started = monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "from bot.cli import main; main()", "serve", str(folder)],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(line.rstrip())
        self.lines.put("<end>")

    def line_with(self, words: str) -> str:
        """Wait for a line of output."""
        while words not in (line := self.lines.get(timeout=PATIENCE)):
            self.seen.append(line)
            assert line != "<end>", "\n".join(self.seen)
        self.seen.append(line)
        return line

    def up(self) -> "Serving":
        """Wait for the start line."""
        line = self.line_with(" answers at http://127.0.0.1:")
        self.port = int(line.split("http://127.0.0.1:")[1].split("/")[0])
        return self

    def get(self, path: str) -> int:
        return self._ask("GET", path)[0]

    def post(self, id: str, text: str = "hi") -> int:
        data = {"message_id": id, "from": CONTACT, "to": "628000", "type": "text", "body": text}
        stamp = str(int(datetime.now(UTC).timestamp()))
        raw = json.dumps({"id": id, "event": "message.inbound", "timestamp": int(stamp), "data": data}).encode()
        signature = hmac.new(SECRET.encode(), stamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
        headers = {
            "X-Service-Timestamp": stamp,
            "X-Service-Signature": f"sha256={signature}",
            "X-Service-Delivery-Id": f"delivery-{id}",
        }
        return self._ask("POST", "/webhook", raw, headers)[0]

    def _ask(self, method: str, path: str, body: bytes | None = None, headers: Any = None) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def child(self, role: str) -> int:
        """The process id of a child that runs now."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        found = [pid for pid in children if f"\0{role}\0" in Path(f"/proc/{pid}/cmdline").read_text()]
        return int(found[0])

    def status(self) -> dict[str, Any]:
        return local.ask(self.store, {"do": "status"})

    def kept(self) -> list[str]:
        reader = InboxReader(self.store)
        try:
            return [row.event_id for row in reader.after(0, 1000)]
        finally:
            reader.close()

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        self._reading.join(PATIENCE)
        while not self.lines.empty():
            self.seen.append(self.lines.get())
        return code


def until(condition: Callable[[], object]) -> None:
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline


Serve = Callable[..., Serving]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    return tmp_path


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    started: list[Serving] = []

    def start(**settings: str) -> Serving:
        started.append(Serving(folder, **settings))
        return started[-1]

    yield start
    for serving in started:
        serving.end()
        assert not any("is killed" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any("Traceback" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any(secret in line for line in serving.seen for secret in (SECRET, "key-of-the-gateway", CONTACT))


def test_it_says_where_it_answers_acknowledges_and_is_ready(serve: Serve) -> None:
    serving = serve().up()
    assert serving.seen[-1].startswith("Test Bot answers at ")
    assert serving.post("evt-1") == 200
    assert serving.get("/healthz") == 200
    assert serving.get("/readyz") == 200
    until(lambda: serving.status()["cursor"] == 1)
    assert serving.end() == 0


def test_a_contact_who_writes_gets_the_answer(serve: Serve) -> None:
    with Emulator() as gateway:
        serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key).up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        gateway.receive(CONTACT, "hi")
        assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
        assert gateway.sent[0].body["text"]["body"] == "Hello"


def test_ctrl_c_ends_it_too_and_what_it_leaves_is_private(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert local.socket_of(serving.store).exists()
    assert serving.end(signal.SIGINT) == 0
    assert not local.socket_of(serving.store).exists()
    left = [path for path in folder.iterdir() if path.name.startswith("bot.") and path.name != "bot.yml"]
    assert left
    assert all(path.stat().st_mode & 0o077 == 0 for path in left)


def test_all_that_is_wrong_is_listed_before_it_starts(serve: Serve, folder: Path) -> None:
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving = serve(BOT_GATEWAY_URL="", BOT_WEBHOOK_SECRET="", BOT_PORT="many")
    assert serving.process.wait(PATIENCE) == 1
    serving.end()
    starts = [line.split()[0] for line in serving.seen if line != "<end>"]
    assert starts[:3] == ["BOT_GATEWAY_URL", "BOT_WEBHOOK_SECRET", "BOT_PORT"]
    assert starts[3].startswith("main.yml:5:")


def test_a_bot_with_faulty_flows_does_not_start(serve: Serve, folder: Path) -> None:
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving = serve()
    assert serving.process.wait(PATIENCE) == 1
    serving.end()
    assert any(line.startswith("main.yml:5:") for line in serving.seen)


def test_a_second_server_on_the_same_store_is_refused_in_words(serve: Serve) -> None:
    first = serve().up()
    second = serve()
    assert second.process.wait(PATIENCE) == 1
    second.end()
    assert "a server runs on" in second.seen[0]
    assert first.get("/readyz") == 200


def test_a_port_that_is_taken_is_said_in_words(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serving = serve(BOT_PORT=str(taken.getsockname()[1]))
        assert serving.process.wait(PATIENCE) == 1
    serving.end()
    assert "cannot be listened on" in serving.seen[0]


def test_a_killed_web_process_comes_back_and_connections_wait_for_it(serve: Serve) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == 200
    os.kill(serving.child("web"), signal.SIGKILL)
    serving.line_with("the web process was killed by signal 9: it is started again")
    assert serving.post("evt-2") == 200
    assert serving.kept() == ["evt-1", "evt-2"]


def test_while_the_engine_is_away_events_are_taken_and_it_comes_back(serve: Serve) -> None:
    serving = serve().up()
    os.kill(serving.child("engine"), signal.SIGKILL)
    serving.line_with("the engine process was killed by signal 9: it is started again")
    assert serving.post("evt-1") == 200
    until(lambda: serving.get("/readyz") == 200)
    until(lambda: serving.status()["cursor"] == 1)


def test_after_a_killed_supervisor_the_children_end_and_the_next_one_starts(serve: Serve) -> None:
    first = serve().up()
    assert first.post("evt-1") == 200
    first.end(signal.SIGKILL)
    second = serve().up()
    assert second.post("evt-1") == 200
    assert second.post("evt-2") == 200
    assert second.kept() == ["evt-1", "evt-2"]


def test_everything_killed_at_once_loses_nothing(serve: Serve) -> None:
    first = serve().up()
    assert first.post("evt-1") == 200
    for pid in (first.child("web"), first.child("engine"), first.process.pid):
        os.kill(pid, signal.SIGKILL)
    first.end()
    second = serve().up()
    until(lambda: second.status()["cursor"] == 1)


def test_a_stop_drops_no_request(serve: Serve) -> None:
    serving = serve().up()
    acknowledged: list[str] = []
    refused = 0

    def send(sender: int) -> None:
        nonlocal refused
        for number in range(1000):
            try:
                if serving.post(f"{sender}-{number}") == 200:
                    acknowledged.append(f"{sender}-{number}")
            except ConnectionRefusedError:
                return  # the door is shut: nothing was taken from us
            except OSError:
                refused += 1

    senders = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for sender in senders:
        sender.start()
    until(lambda: len(acknowledged) > 100)
    assert serving.end() == 0
    for sender in senders:
        sender.join()
    assert refused == 0
    assert set(acknowledged) == set(serving.kept())


def test_an_inbox_that_cannot_commit_is_a_503_in_time_and_recovers(serve: Serve) -> None:
    serving = serve().up()
    blocker = sqlite3.connect(inbox_path(serving.store), isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    assert serving.post("evt-1") == 503
    assert serving.get("/readyz") == 503
    assert serving.get("/healthz") == 200
    blocker.execute("ROLLBACK")
    blocker.close()
    until(lambda: serving.post("evt-1") == 200)


def test_saved_files_are_loaded_and_faulty_ones_leave_the_old_flows_serving(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    (folder / "main.yml").write_text(FLOW.replace("Hello", "Hi"))
    serving.line_with("the flows are loaded again")
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving.line_with("main.yml:5:")
    serving.line_with("the flows loaded before go on")
    assert serving.get("/readyz") == 200
    os.kill(serving.child("engine"), signal.SIGKILL)
    serving.line_with("the files from before the last change are used")
    until(lambda: serving.get("/readyz") == 200)
    serving.process.send_signal(signal.SIGHUP)
    serving.line_with("the flows loaded before go on")


def test_modules_of_the_folder_it_runs_in_are_not_taken_for_pythons_own(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("select", "sqlite3", "flask", "json"):
        (elsewhere / f"{name}.py").write_text("raise RuntimeError('imported by mistake')")
    monkeypatch.setenv("PYTHONPATH", str(Path(bot.__file__).parent.parent))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # the installed command does not look there either
    monkeypatch.chdir(elsewhere)
    assert serve().up().get("/readyz") == 200


def test_a_local_request_reloads(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert local.ask(serving.store, {"do": "reload"}) == {"reloaded": True}
    (folder / "main.yml").write_text("flow: [")
    assert local.ask(serving.store, {"do": "reload"}) == {"reloaded": False}
