"""Requests of a bot that really runs: a secret that only the service hears, and an engine killed in the middle."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.testing.emulator.emulator import Emulator
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.server.process.serving import CONTACT, SECRET, Serve, Serving
from tests.services.gateway.peer import Peer, answer, peer

KEY = "sk-of-the-crm"
BOT = """\
name: Test Bot
secrets: [CRM_KEY]
http:
  crm:
    base: {url}/v1
    headers: {{Authorization: "Bearer {{{{ secret.CRM_KEY }}}}"}}
    query: {{token: "{{{{ secret.CRM_KEY }}}}"}}
    allow_private: true
defaults: {{timeout: {{after: 1h, then: end}}}}
"""
FLOW = """\
flow: main
start: {otherwise: true}
vars: {order: object, id: text}
steps:
  id: {ask: Which order?, save: id}
  look:
    http: POST crm:/orders/{{ id }}
    json: {by: "{{ contact.id }}"}
    save: order
    errors: {404: {say: "No {{ answer.wanted }}.", then: end}, else: {say: Sorry., then: end}}
  found: {say: "It is {{ order.state }}.", then: end}
"""
SHIPPED = answer(200, {"state": "shipped"}, {"Content-Type": "application/json"})

Begin = Callable[..., Serving]


@pytest.fixture
def crm() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(per_minute=100_000, per_day=100_000, schedule_scale=0.01) as gateway:
        yield gateway


@pytest.fixture
def begin(serve: Serve, folder: Path, gateway: Emulator, crm: Peer) -> Begin:
    """A bot that runs between the gateway and the service."""
    (folder / "bot.yml").write_text(BOT.format(url=crm.url))
    (folder / "main.yml").write_text(FLOW)

    def begin(**settings: str) -> Serving:
        serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key, CRM_KEY=KEY, **settings).up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        return serving

    return begin


def wait_for(gateway: Emulator, *expected: str) -> None:
    """Wait until just this was sent, and see that nothing more was."""

    def texts() -> list[Any]:
        return [sent.body["text"]["body"] for sent in list(gateway.sent)]

    assert gateway.wait_until(lambda: len(texts()) >= len(expected), PATIENCE), texts()
    assert texts() == list(expected)


def ask(gateway: Emulator, order: str) -> None:
    gateway.receive(CONTACT, "hi")
    wait_for(gateway, "Which order?")
    gateway.receive(CONTACT, order)


def test_only_the_service_hears_the_secret(
    begin: Begin, gateway: Emulator, crm: Peer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crm.answers(answer(404, {"wanted": "order"}))
    serving = begin()
    ask(gateway, "17")
    wait_for(gateway, "Which order?", "No order.")
    (request,) = crm.requests
    assert (request.path, request.body) == (f"/v1/orders/17?token={KEY}", {"by": CONTACT})
    assert request.headers["authorization"] == f"Bearer {KEY}"
    monkeypatch.setenv("CRM_KEY", KEY)
    for command in (["trace", CONTACT], ["sessions", CONTACT], ["queue"]):
        outcome = call(*command, "--bot", folder)
        assert outcome.code == 0 and KEY not in outcome.out + outcome.err
    serving.end()
    assert not any(KEY in line for line in serving.seen)
    assert [file.name for file in folder.iterdir() if file.is_file() and KEY.encode() in file.read_bytes()] == []


def test_a_request_that_a_kill_cut_off_is_sent_again_with_the_same_key(
    begin: Begin, gateway: Emulator, crm: Peer
) -> None:
    let_go = threading.Event()

    def silent(connection: Any) -> bool:
        let_go.wait(PATIENCE)
        return False

    crm.answers(silent, SHIPPED)
    serving = begin()
    ask(gateway, "17")
    crm.wait_for_requests(1)
    os.kill(serving.child("engine"), signal.SIGKILL)
    crm.wait_for_requests(2)
    let_go.set()
    wait_for(gateway, "Which order?", "It is shipped.")
    first, second = crm.requests
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]
    assert first.raw == second.raw


def test_a_secret_that_is_missing_is_named_before_anything_starts(serve: Serve, folder: Path, crm: Peer) -> None:
    (folder / "bot.yml").write_text(BOT.format(url=crm.url))
    serving = serve()
    assert serving.process.wait(PATIENCE) == 1
    serving.line_with("CRM_KEY is missing: set it, in the environment or in .env, since bot.yml names it")


def test_a_reload_sends_to_the_new_address(begin: Begin, gateway: Emulator, crm: Peer, folder: Path) -> None:
    serving = begin()
    with peer() as moved:
        moved.answers(SHIPPED)
        (folder / "bot.yml").write_text(BOT.format(url=moved.url))
        serving.line_with("the flows are loaded again")
        ask(gateway, "17")
        wait_for(gateway, "Which order?", "It is shipped.")
        assert len(moved.requests) == 1
    assert crm.requests == []
