"""The webhook's address from outside: https, a certificate that holds, our own bot behind it."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bot.clock import MovableClock
from bot.doctor.address import certificate, public_address
from bot.emulator import Emulator
from bot.store.migrations import migrate
from bot.web.service import WebService

NOW = datetime.now(UTC)


def made_certificate(folder: Path, name: str, days: int) -> Path:
    """A certificate that signs itself, with its key in one file."""
    file = folder / f"{name}-{days}.pem"
    command = (
        f"openssl req -x509 -newkey rsa:2048 -nodes -days {days} -subj /CN={name} -addext subjectAltName=DNS:{name}"
    )
    subprocess.run([*command.split(), "-keyout", file, "-out", f"{file}.crt"], check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


@contextmanager
def secure_peer(pem: Path) -> Iterator[int]:
    """Shakes hands once, on a free port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    listener = socket.create_server(("127.0.0.1", 0))

    def shake() -> None:
        connection, _ = listener.accept()
        with connection:
            try:
                context.wrap_socket(connection, server_side=True).close()
            except OSError:
                pass  # refused by the other side

    thread = threading.Thread(target=shake)
    thread.start()
    yield listener.getsockname()[1]
    thread.join()
    listener.close()


@contextmanager
def web(store: Path, *, ready: bool = True) -> Iterator[str]:
    """The web process's half, on a free port."""
    migrate(store)
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    service = WebService(
        store,
        listener,
        MovableClock(NOW),
        secrets=["s"],
        tolerance=timedelta(minutes=5),
        path="/webhook",
        wake=lambda: None,
        ask=lambda request: {"alarms": []} if ready else {"error": "it is stuck"},
        threads=2,
    )
    thread = threading.Thread(target=service.run)
    thread.start()
    yield url
    service.stop()
    thread.join()


def states(url: str) -> list[str]:
    return [f"{found.state}: {found.what}" for found in public_address(url, "/webhook", NOW)]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates with")
@pytest.mark.parametrize(
    ("name", "days", "words"),
    [
        ("localhost", 90, "ok: its certificate holds for "),
        ("localhost", 5, "warn: its certificate holds for "),
        ("bot.example", 90, "fail: its certificate is refused: Hostname mismatch"),
    ],
)
def test_the_certificate_is_looked_at(tmp_path: Path, name: str, days: int, words: str) -> None:
    pem = made_certificate(tmp_path, name, days)
    with secure_peer(pem) as port:
        found = certificate("localhost", port, NOW, trusted=str(pem))
    assert f"{found.state}: {found.what}".startswith(words)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make certificates with")
def test_a_certificate_that_nobody_has_signed_is_refused(tmp_path: Path) -> None:
    with secure_peer(made_certificate(tmp_path, "localhost", 90)) as port:
        (found,) = public_address(f"https://localhost:{port}", "/webhook", NOW)
    assert found.state == "fail" and "self-signed certificate" in found.what


def test_the_bot_is_recognised_and_says_that_it_is_ready(tmp_path: Path) -> None:
    with web(tmp_path / "bot.db") as url:
        no_https, webhook, ready = states(url)
    assert no_https == f"fail: {url} is not https"
    assert webhook == f"ok: {url}/webhook is the bot"
    assert ready == "ok: the bot says that it is ready"


def test_a_bot_whose_engine_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    with web(tmp_path / "bot.db", ready=False) as url:
        assert states(url)[-1] == "fail: the bot is not ready: the engine does not answer"


def test_a_proxy_that_does_not_reach_the_bot_is_said_once() -> None:
    class Proxy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_error(502)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        url = f"http://127.0.0.1:{proxy.server_address[1]}"
        found = list(public_address(url, "/webhook", NOW))
        proxy.shutdown()
    assert [one.what for one in found[1:]] == [f"{url}/webhook answers 502: the bot is not reached"]


def test_somebody_elses_server_is_not_the_bot() -> None:
    with Emulator() as emulator:
        assert any("to what should be a 401 of the bot's" in state for state in states(emulator.url))


def test_nobody_at_the_address_is_said_with_what_to_look_at() -> None:
    assert states("http://127.0.0.1:9")[-1] == "fail: no connection to 127.0.0.1:9: Connection refused"
