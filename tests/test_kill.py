"""SIGKILL at any instant: no acknowledged event lost, none taken twice, every reply once and in order."""

import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from bot.emulator.emulator import Emulator
from bot.store.inbox import InboxReader
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.searches import search, tries

KILLS = tries(8, 20)
VICTIMS = {"web": 3, "engine": 3, "supervisor": 1, "all": 1}  # how often each; a new supervisor takes a second
EVENTS = tries(150, 350)
CONTACTS = 50
BOT = "name: Echo\ndefaults: {timeout: {after: 20h, then: end}}\n"
FLOW = """
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps: {echo: {ask: "You wrote: {{ text }}", save: text, then: echo}}
"""
FAULTS: dict[str, dict[str, Any]] = {
    "slow": {"seconds": 0.05, "probability": 0.1},
    "timeout": {"seconds": 1.0, "probability": 0.01},
    "reset_before": {"probability": 0.02},
    "reset_after": {"probability": 0.03},
    "rate_limited": {"seconds": 1.0, "probability": 0.005},
    "error_before": {"probability": 0.02},
    "error_after": {"probability": 0.03},
    "truncated": {"probability": 0.02},
    "garbage": {"probability": 0.02},
    "double_delivery": {"probability": 0.1},
    "double_event": {"probability": 0.1},
}


class Server:
    """``bot serve``, started again whenever it has been killed. The port stays the same."""

    def __init__(self, folder: Path, gateway: Emulator) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self._folder = folder
        self._log = (folder / "log").open("a")
        self._environment = {
            **os.environ,
            "BOT_GATEWAY_URL": gateway.url,
            "BOT_GATEWAY_KEY": gateway.api_key,
            "BOT_WEBHOOK_SECRET": gateway.secret,
            "BOT_GATEWAY_PER_MINUTE": "1000000",
            "BOT_GATEWAY_PER_DAY": "1000000",
            "BOT_PORT": str(self.port),
        }
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "bot", "serve", str(self._folder)]
        self.process = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self.process.stdout is not None
        assert "answers at" in self.process.stdout.readline()

    def children(self) -> dict[str, int]:
        """The processes of web and engine, by their roles."""
        found = {}
        with suppress(OSError):
            for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                found[Path(f"/proc/{pid}/comm").read_text().strip().removeprefix("bot-")] = int(pid)
        return found

    def kill(self, victim: str) -> None:
        """SIGKILL by process id, and to nobody but the victim: children of a supervisor that dies alone end politely."""
        if victim in ("web", "engine"):
            until = monotonic() + PATIENCE
            while victim not in (children := self.children()):  # it is about to be started again
                assert monotonic() < until
                sleep(0.01)
            os.kill(children[victim], signal.SIGKILL)
            gone(children[victim])
            return
        if victim == "all":
            os.kill(self.process.pid, signal.SIGSTOP)  # so that it neither restarts the first nor lets the second go
            for pid in self.children().values():
                os.kill(pid, signal.SIGKILL)
                gone(pid)
        os.kill(self.process.pid, signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.start()

    def stop(self) -> int:
        self.process.terminate()
        code = self.process.wait(40)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()
        return code


def gone(pid: int) -> None:
    """Wait until a process is dead, and see that it died at once: its parent may not have looked yet."""
    until = monotonic() + PATIENCE
    with suppress(FileNotFoundError, ProcessLookupError):  # it is gone, also while its file is read
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert monotonic() < until
            sleep(0.001)


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(
        per_minute=1_000_000, per_day=1_000_000, schedule_scale=0.001, delivery_threads=8, threads=64, seed=7
    ) as emulator:
        yield emulator


def stream(gateway: Emulator, ended: threading.Event) -> None:
    """All contacts write in turn, for as long as the kills go on."""
    for number in range(EVENTS):
        gateway.receive(str(6281234500000 + number % CONTACTS), f"message {number // CONTACTS}")
        ended.wait(0.04)


def all_tried(gateway: Emulator) -> bool:
    """Whether each event has been acknowledged or given up: what is still to be sent again may be taken later."""
    counts = gateway.webhooks.counts
    return gateway.idle() and counts["acknowledged"] + counts["given up"] >= counts["events"]


def expected_replies(rows: list[Any]) -> dict[str, list[str]]:
    """What each contact must have been sent: an answer to each acknowledged event, in the log's order."""
    replies: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        text = json.loads(row.body)["data"]["body"]
        replies[row.contact].append(f"You wrote: {text if replies[row.contact] else ''}".rstrip())
    return replies


@search
def test_killed_at_any_instant_it_loses_nothing_and_repeats_nothing(tmp_path: Path, gateway: Emulator) -> None:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    for kind, settings in FAULTS.items():
        gateway.faults.add(kind, **settings)
    dice = random.Random(42)
    victims = [*VICTIMS, *dice.choices([*VICTIMS], [*VICTIMS.values()], k=KILLS - len(VICTIMS))]
    dice.shuffle(victims)
    server = Server(tmp_path, gateway)
    gateway.subscribe(f"http://127.0.0.1:{server.port}/webhook")
    ended = threading.Event()
    sender = threading.Thread(target=stream, args=(gateway, ended))
    sender.start()
    try:
        for victim in victims:
            ended.wait(dice.uniform(0.05, 0.6))
            server.kill(victim)
        sender.join()
        gateway.faults.clear()
        assert gateway.wait_until(lambda: all_tried(gateway), 60), "the sender is not done"
        store = tmp_path / "bot.db"
        rows = InboxReader(store).after(0, 10 * EVENTS)
        assert gateway.wait_until(lambda: len(gateway.sent) >= len(rows), 60), f"{len(gateway.sent)} of {len(rows)}"
    finally:
        ended.set()
        sender.join()
        code = server.stop()

    assert set(gateway.acknowledged) <= {row.event_id for row in rows}, "an acknowledged event was lost"
    assert len(rows) > EVENTS / 5, "hardly anything came through: this shows nothing"
    turns = Counter(
        turn.event_id
        for contact in {row.contact or "" for row in rows}
        for turn in StoreReader(store).trace(contact, 1000)
    )
    assert {row.event_id: turns[row.event_id] for row in rows} == {row.event_id: 1 for row in rows}
    sent: dict[str, list[str]] = defaultdict(list)
    for message in gateway.sent:
        sent[message.to].append(message.body["text"]["body"].rstrip())
    assert dict(sent) == dict(expected_replies(rows))
    assert not gateway.reused_keys
    assert code == 0
    log = (tmp_path / "log").read_text()
    assert "Traceback" not in log
    for child in ("web", "engine"):
        seen = log.count(f"the {child} process was killed by signal 9")
        at_once = victims.count("all") + victims.count("supervisor")  # so that nobody may have seen the kill before
        assert victims.count(child) - at_once <= seen <= victims.count(child)
