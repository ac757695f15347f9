"""The webhook's address from outside: https, a certificate that holds, our own bot behind it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

from bot.core.clock import MovableClock
from bot.core.engine_answers import EngineAnswer, Status
from bot.core.engine_requests import AnyRequest
from bot.core.errors import BotError
from bot.server.doctor import public_address
from bot.server.web.web_service import WebService
from bot.store.sqlite_schema import migrate
from bot.testing.emulator import Emulator
from tests.ports import reserved_port
from tests.services.gateway.peer import peer
from tests.services.test_network import context

NOW = datetime.now(UTC)


@contextmanager
def web(store: Path, *, ready: bool = True) -> Iterator[str]:
    """The web process's half, on a free port."""

    def answer(request: AnyRequest) -> EngineAnswer:
        if not ready:
            raise BotError("it is stuck")
        return Status()

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
        begun=lambda: True,
        wake=lambda shards: None,
        ask=answer,
        threads=2,
    )
    thread = threading.Thread(target=service.run)
    thread.start()
    yield url
    service.stop()
    thread.join()


def states(url: str) -> list[str]:
    return [f"{found.state}: {found.what}" for found in public_address(url, "/webhook", NOW)]


@pytest.mark.parametrize(
    ("host", "days", "words"),
    [
        ("localhost", 90, "ok: its certificate holds for "),
        ("localhost", 5, "warn: its certificate holds for "),
        ("bot.example", 90, "fail: no connection to localhost:"),
    ],
)
def test_the_certificate_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, days: int, words: str
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with peer(context(authority, host, not_after=NOW + timedelta(days=days))) as running:
        first = next(public_address(running.url, "/webhook", NOW))
    assert f"{first.state}: {first.what}".startswith(words)
    if first.state == "fail":
        assert first.what.endswith("its certificate is refused: it is for another name")
        assert "a certificate for this name" in first.advice


def test_a_certificate_that_nobody_knows_is_refused() -> None:
    with peer(context(trustme.CA(), "localhost")) as running:
        (found,) = public_address(running.url, "/webhook", NOW)
    assert found.state == "fail" and "signed by an authority that is not known" in found.what


def test_an_address_that_does_not_answer_is_a_warning_where_the_gateway_is_on_this_machine() -> None:
    with reserved_port() as port:
        url = f"https://127.0.0.1:{port}"
        (fails,), (warns,) = (list(public_address(url, "/webhook", NOW, rehearsed)) for rehearsed in (False, True))
    assert (fails.state, warns.state) == ("fail", "warn") and fails.what == warns.what
    assert "--tunnel" in warns.advice


def test_the_bot_is_recognised_and_says_that_it_is_ready(tmp_path: Path) -> None:
    with web(tmp_path / "bot.db") as url:
        no_https, webhook, ready = states(url)
    assert no_https == f"fail: {url} is not https"
    assert webhook == f"ok: {url}/webhook is the bot"
    assert ready == "ok: the bot says that it is ready"


def test_a_bot_whose_engine_does_not_answer_is_not_ready(tmp_path: Path) -> None:
    with web(tmp_path / "bot.db", ready=False) as url:
        assert (
            states(url)[-1] == "fail: the bot is not ready: the engine does not answer: events are kept until it does"
        )


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
        assert any("and the bot would answer 401" in state for state in states(emulator.url))


def test_nobody_at_the_address_is_said_with_what_to_look_at() -> None:
    assert states("http://127.0.0.1:9")[-1] == "fail: no connection to 127.0.0.1:9: Connection refused"


def test_in_a_rehearsal_nobody_has_to_be_at_the_address() -> None:
    (*_, last) = public_address("https://salon.invalid", "/webhook", NOW, rehearsed=True)
    assert last.state == "warn" and last.what.startswith("no connection to salon.invalid") and "--tunnel" in last.advice
