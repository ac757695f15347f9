"""`bot serve`: flows that a program starts, and those that are scheduled, whatever is killed meanwhile."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic

import pytest

from bot.core.own_addresses import OwnAddresses
from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE
from tests.server.process.serving import CONTACT, SECRET, Serve, Serving, until

KEY = "a-key-of-sixteen-or-more"
FLOWS = """
flow: main
start: {otherwise: true}
steps: {s: {say: Booked., schedule: {flow: later, after: 1s}, then: end}}
---
flow: later
vars: {n: {type: integer}}
steps: {s: {say: "Later {{ n }}", then: end}}
"""


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator() as emulator:
        yield emulator


def served(serve: Serve, folder: Path, gateway: Emulator, **more: str) -> Serving:
    (folder / "main.yml").write_text(FLOWS)
    serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key, **more).up()
    gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
    gateway.receive(CONTACT, "hi")
    assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
    return serving


def texts(gateway: Emulator) -> list[str]:
    return [message.body["text"]["body"] for message in gateway.sent]


def start(serving: Serving, flow: str, key: str = KEY) -> tuple[int, str]:
    body = json.dumps({"contact": CONTACT, "data": {"n": 3}}).encode()
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "17"}
    status, answer = serving._ask("POST", f"/api/flows/{flow}/start", body, headers)
    return status, json.loads(answer)["message"]


def engine_beside(serving: Serving, killed: set[int]) -> int:
    """The engine's process id, once it is none of those that were killed."""
    found: list[int] = []

    def there() -> bool:
        with suppress(IndexError, OSError):  # between two engines there is none
            found[:] = [serving.child("engine")]
        return bool({*found} - killed)

    until(there)
    return found[0]


def test_what_is_due_while_the_engine_is_killed_starts_once(serve: Serve, folder: Path, gateway: Emulator) -> None:
    serving = served(serve, folder, gateway)
    killed, due = set[int](), monotonic() + 1
    while monotonic() < due or len(killed) < 3:
        engine = engine_beside(serving, killed)
        killed.add(engine)
        os.kill(engine, signal.SIGKILL)
    assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
    assert texts(gateway) == ["Booked.", "Later "]


def test_a_program_starts_a_flow_once_however_often_it_asks(serve: Serve, folder: Path, gateway: Emulator) -> None:
    serving = served(serve, folder, gateway, BOT_API_KEY=KEY)
    assert start(serving, "later") == (202, "kept")
    os.kill(serving.child("engine"), signal.SIGKILL)
    assert start(serving, "later") == (202, "kept already")
    assert gateway.wait_until(lambda: "Later 3" in texts(gateway), PATIENCE)
    until(lambda: serving.get("/readyz") == 200)
    assert start(serving, "latr")[0] == 404
    assert start(serving, "later", "another-key-of-sixteen")[0] == 401
    assert texts(gateway).count("Later 3") == 1
    serving.end()
    assert not any(KEY in line for line in serving.seen)


PAYS = """
flow: main
start: {otherwise: true}
steps:
  s: {ask: '{{ signal_url("paid") }}', signals: {paid: thanks}}
  thanks: {say: Thank you., then: end}
"""


def test_the_address_of_a_signal_says_nothing_of_the_webhooks_secret_and_outlives_it(
    serve: Serve, folder: Path, gateway: Emulator
) -> None:
    (folder / "main.yml").write_text(PAYS)
    (folder / "bot.yml").write_text((folder / "bot.yml").read_text() + "\nsignals: {paid: {}}\n")
    account = {
        "BOT_GATEWAY_URL": gateway.url,
        "BOT_GATEWAY_KEY": gateway.api_key,
        "BOT_PUBLIC_URL": "https://bot.example",
    }
    serving = serve(**account).up()
    gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
    gateway.receive(CONTACT, "hi")
    assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
    address = texts(gateway)[0]
    name, token = address.split("/")[-2:]
    assert OwnAddresses("https://bot.example", SECRET).read_signal(name, token) is None
    serving.end()
    again = serve(**account, BOT_WEBHOOK_SECRET="another-secret-of-the-gateway-0123").up()
    assert again._ask("POST", address.removeprefix("https://bot.example"), b"{}")[0] == 202
    assert gateway.wait_until(lambda: texts(gateway)[1:] == ["Thank you."], PATIENCE)
