"""The compose file of several machines: its services run here as processes with its commands and settings, with a real
PostgreSQL and Caddy. Docker itself does not.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from bot.server.process.supervisor import STOP_SECONDS
from bot.settings import SETTINGS
from tests.patience import PATIENCE, gone, wait_for
from tests.ports import reserved_port
from tests.server.process.machines import Shared
from tests.server.test_kill import Server
from tests.tools import CADDY

FOLDER = Path(__file__).parents[3] / "examples" / "several-machines"
COMPOSE = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
BOTS = {name: service for name, service in COMPOSE.items() if "build" in service}
ANN = "6281234567890"
DELIVERIES = 12


def filled_in(text: str, **variables: str) -> str:
    """What Compose makes of a value in which variables stand."""
    found = re.search(r"\$\{(\w+)(?::-((?:[^{}]|\$\{\w+\})*)|:\?[^}]*)?\}", text)
    if found is None:
        return text
    value = variables.get(found[1], found[2])
    assert value is not None, f"{found[1]} has no value"
    return filled_in(text[: found.start()] + value + text[found.end() :], **variables)


@contextmanager
def caddy(folder: Path, upstream: str) -> Iterator[str]:
    """The proxy of the compose file, as the address at which it listens."""
    CADDY.require()
    (volume,) = (volume for volume in COMPOSE["proxy"]["volumes"] if "Caddyfile" in volume)
    with reserved_port() as port:
        address = f"http://127.0.0.1:{port}"
        environ = {**os.environ, "HOME": str(folder), "BOT_DOMAIN": address, "BOT_UPSTREAM": upstream}
        line = ["caddy", "run", "--config", str(FOLDER / volume.split(":")[0]), "--adapter", "caddyfile"]
        process = subprocess.Popen(line, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield address
        finally:
            process.kill()
            process.wait()


def test_every_server_has_the_same_store_a_health_check_and_time_to_end() -> None:
    assert [service["command"][2:] for service in BOTS.values()] == [["--web"]] * 2 + [["--engine"]] * 2
    variables = {spec.variable for spec in SETTINGS.values()}
    for service in BOTS.values():
        assert service["environment"].keys() <= variables
        assert filled_in(service["environment"]["BOT_STORE"], POSTGRES_PASSWORD="pw") == "postgresql://bot:pw@db/bot"
        assert service["restart"] == "unless-stopped" and service["healthcheck"]["test"][0] == "CMD"
        assert float(service["stop_grace_period"].removesuffix("s")) > STOP_SECONDS
        assert service["env_file"] == ".env" and "ports" not in service


def test_an_event_through_the_proxy_is_answered_also_when_one_of_each_is_gone(
    tmp_path: Path, machines_share: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers: dict[str, Server] = {}
    for name, service in BOTS.items():
        for variable, value in service["environment"].items():
            monkeypatch.setenv(variable, filled_in(value, POSTGRES_PASSWORD="pw", BOT_DOMAIN="bot.example"))
        monkeypatch.setenv("BOT_FILES", str(tmp_path))
        servers[name] = machines_share.start(name, *service["command"][2:])
    assert all(healthy(BOTS[name], servers[name]) for name in ("web-1", "engine-1"))
    upstream = filled_in(COMPOSE["proxy"]["environment"]["BOT_UPSTREAM"])
    for name in ("web-1", "web-2"):
        upstream = upstream.replace(f"{name}:8000", f"127.0.0.1:{servers[name].port}")
    gateway = machines_share.gateway
    with caddy(tmp_path, upstream) as address:
        wait_for(lambda: reached(f"{address}/readyz"))
        assert requests.get(f"{address}/metrics", timeout=PATIENCE).text == ""
        stranger = requests.post(f"{address}/signals/paid/{'x' * 60}", json={}, timeout=PATIENCE)
        assert (stranger.status_code, stranger.headers["Content-Type"]) == (404, "application/json")  # the bot's answer
        gateway.subscribe(f"{address}/webhook")
        gateway.receive(ANN, "hi")
        assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
        for name in ("web-1", "engine-1"):
            pids = [servers[name].process.pid, *servers[name].children().values()]
            servers[name].process.kill()
            for pid in pids[1:]:
                gone(pid)
        gateway.receive(ANN, "still there?")
        assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
        assert gateway.sent[1].body["text"]["body"] == "You wrote: still there?"


def test_no_delivery_fails_while_a_machine_hangs_or_after_it_was_killed(tmp_path: Path, machines_share: Shared) -> None:
    gateway, (first, second) = machines_share.gateway, [machines_share.start(name) for name in ("one", "two")]
    with caddy(tmp_path, f"127.0.0.1:{first.port} 127.0.0.1:{second.port}") as address:
        wait_for(lambda: reached(f"{address}/readyz"))
        gateway.subscribe(f"{address}/webhook", events=["message.inbound"])
        to_all(first, signal.SIGSTOP)
        deliver(machines_share)
        to_all(first, signal.SIGCONT)
        to_all(second, signal.SIGSTOP, signal.SIGKILL)
        deliver(machines_share)
        assert gateway.counts["tries answered 200"] == gateway.counts["tries"] == 2 * DELIVERIES


def to_all(server: Server, *signals: int) -> None:
    """Send signals to all processes of a machine."""
    pids = [server.process.pid, *server.children().values()]
    for number in signals:
        for pid in pids:
            os.kill(pid, number)


def deliver(share: Shared) -> None:
    """Have contacts write at once, and wait until each event is acknowledged."""
    acknowledged = share.gateway.counts.get("acknowledged", 0) + DELIVERIES
    for number in range(DELIVERIES):
        share.gateway.receive(str(int(ANN) + number), "hi")
    wait_for(lambda: share.gateway.counts.get("acknowledged", 0) == acknowledged)


def healthy(service: dict[str, Any], server: Server) -> bool:
    """Whether its health check passes, on this machine instead of in a container."""
    check = [part.replace(":8000", f":{server.port}") for part in service["healthcheck"]["test"][1:]]
    check = [str(server.folder) if part == "/bot" else part for part in check]
    line = [sys.executable, *(check[1:] if check[0] == "python" else ["-m", *check])]
    return (
        subprocess.run(line, env=server.environment, capture_output=True, timeout=PATIENCE, check=False).returncode == 0
    )


def reached(address: str) -> bool:
    try:
        return requests.get(address, timeout=PATIENCE).status_code == 200
    except requests.ConnectionError:
        return False
