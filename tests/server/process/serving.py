"""`bot serve` as it really runs: three processes on the loopback interface, and a sender that signs."""

import hashlib
import hmac
import http.client
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from bot.core.engine_answers import EngineRefused
from bot.core.engine_requests import A, AskStatus, EngineRequest
from bot.server import local_socket
from bot.store.crash_quarantine import MOST_CRASHES
from bot.store.database import StoreAddress, shards_of
from bot.store.inbox import InboxReader
from bot.store.opening import engine_reader
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE, wait_for
from tests.postgres import bot_store, store_at
from tests.server.process.warm import Forked, role_of

SECRET = "signing-secret-of-the-gateway-0123"
CONTACT = "6281234567890"
BOT = "name: Test Bot\ndefaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}\n"
FLOW = "flow: main\nstart: {otherwise: true}\nsteps:\n  hello: {say: Hello}\n"


class Serving:
    """A `bot serve` in a folder of its own. Its lines come in over a queue.

    ``prefix`` is a command that runs it, ``arguments`` are more of its own; without one it is forked (`tests.server.process.warm`), and functions
    may be ``broken`` and ``values`` others (`tests.broken`).
    """

    def __init__(
        self,
        folder: Path,
        *prefix: str,
        arguments: Sequence[str] = (),
        broken: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
        **settings: str,
    ) -> None:
        self.store = store_at(folder / "bot.db")
        environ = {name: value for name, value in os.environ.items() if not name.startswith("BOT_")}
        environ |= {
            "BOT_GATEWAY_URL": "http://127.0.0.1:9",
            "BOT_GATEWAY_KEY": "key-of-the-gateway",
            "BOT_WEBHOOK_SECRET": SECRET,
            "BOT_PORT": "0",
            **bot_store(self.store),
            **settings,
        }
        self.started = monotonic()
        output, write = os.pipe()
        self.process = (
            subprocess.Popen(
                [*prefix, sys.executable, "-c", "from bot.cli import main; main()", "serve", str(folder), *arguments],
                env=environ,
                stdout=write,
                stderr=write,
            )
            if prefix
            else Forked(["serve", str(folder), *arguments], environ, write, broken, values)
        )
        os.close(write)
        self._output = os.fdopen(output)
        self.lines: queue.Queue[str] = queue.Queue()
        self.seen: list[str] = []
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        with self._output:
            for line in self._output:
                self.lines.put(line.rstrip())
        self.lines.put("<end>")

    def line_with(self, words: str) -> str:
        """Wait for a line of output, however many others come meanwhile."""
        until = monotonic() + PATIENCE
        while words not in (line := self.lines.get(timeout=max(0.0, until - monotonic()))):
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
        return self.post_raw(body_of(id, text), f"delivery-{id}")

    def post_raw(self, raw: bytes, delivery: str, *, secret: str = SECRET, age: int = 0) -> int:
        """A delivery of a body, signed as so many seconds old."""
        stamp = str(int(datetime.now(UTC).timestamp()) - age)
        signature = hmac.new(secret.encode(), stamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
        headers = {
            "X-Service-Timestamp": stamp,
            "X-Service-Signature": f"sha256={signature}",
            "X-Service-Delivery-Id": delivery,
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
        found = [pid for pid in children if role_of(int(pid)) == role]
        return int(found[0])

    def status(self) -> dict[str, Any]:
        """What the engine says, and how many rows each queue has."""
        answer = local_socket.ask(self.store, AskStatus())
        with closing(StoreReader(self.store)) as reader:
            return asdict(answer) | reader.counts()

    def settle(self, cursor: int) -> None:
        """Wait until the engine has taken so many events of the log."""
        until(lambda: self.status()["cursor"] >= cursor)

    def kept(self) -> list[str]:
        reader = InboxReader(self.store)
        try:
            return [row.event_id for row in reader.after(0, 1_000_000)]
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


def body_of(id: str, text: str = "hi") -> bytes:
    """An inbound message."""
    data = {"message_id": id, "from": CONTACT, "to": "628000", "type": "text", "body": text}
    stamp = int(datetime.now(UTC).timestamp())
    return json.dumps({"id": id, "event": "message.inbound", "timestamp": stamp, "data": data}).encode()


def until(condition: Callable[[], object]) -> None:
    """Wait until something is true. It is not asked all the time: the engine has the lowest priority."""
    deadline = monotonic() + PATIENCE
    while not condition():
        assert monotonic() < deadline
        sleep(0.01)


Serve = Callable[..., Serving]


def made(folder: Path) -> Path:
    (folder / "bot.yml").write_text(BOT)
    (folder / "main.yml").write_text(FLOW)
    return folder


@contextmanager
def serves(folder: Path) -> Iterator[Serve]:
    """Start servers, end them, and look at what they have printed."""
    started: list[Serving] = []

    def start(
        *prefix: str,
        arguments: Sequence[str] = (),
        broken: Mapping[str, str] | None = None,
        values: Mapping[str, Any] | None = None,
        **settings: str,
    ) -> Serving:
        started.append(Serving(folder, *prefix, arguments=arguments, broken=broken, values=values, **settings))
        return started[-1]

    yield start
    for serving in started:
        serving.end()
        assert not any("is killed" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any("Traceback" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any(secret in line for line in serving.seen for secret in (SECRET, "key-of-the-gateway", CONTACT))


def answer_of(store: StoreAddress, request: EngineRequest[A]) -> A:
    """What a request is answered on a machine, once an engine is there that answers without an error."""
    until = monotonic() + PATIENCE
    while True:
        try:
            return local_socket.ask(store, request)
        except (local_socket.NotRunning, EngineRefused) as error:
            assert monotonic() < until, error
        sleep(0.05)


def wait_for_quarantine(store: StoreAddress) -> None:
    """Wait until each engine has left its crash quarantine, if it is there: each kill accuses the event that is being taken then."""
    for shard in shards_of(store):
        with closing(engine_reader(shard)) as database:
            earlier = "SELECT count(*) FROM crashes WHERE work = '' AND run < (SELECT run FROM meta)"
            wait_for(lambda: int(database.one(earlier)[0]) < MOST_CRASHES)  # noqa: B023
