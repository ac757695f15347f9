"""SIGKILL or a full disk at any instant: no acknowledged event lost, none taken twice, every reply once and in order, whatever
a conversation waits for.
"""

import json
import os
import random
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from bot.core.effects import Publish
from bot.emulator.completion import CompletionService
from bot.emulator.emulated_templates import MessageTemplate, TemplateButton
from bot.emulator.emulator import Emulator
from bot.store.database import StoreAddress
from bot.store.inbox import InboxReader
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.postgres import new_database, postgres_server
from tests.searches import search, tries

KILLS = tries(8, 20)
VICTIMS = {"web": 3, "engine": 3, "supervisor": 1, "all": 1, "web's disk": 1, "engine's disk": 1}
"""How often each is killed, or has no room for a while; a new supervisor takes a second."""
EVENTS = tries(150, 350)
CONTACTS = 50
FIRST_TRAVELLER = 6281234600000
NO_ROOM = 0.3  # seconds
BOT = """
name: Echo
secrets: [CRM_SECRET]
signals: {paid: {by: text}, taken: {by: phone}}
transcribe: {call: speech.words, tries: 5}
events_to: {url: "RECEIVER", secret: CRM_SECRET, on: [end], allow_private: true}
defaults: {timeout: {after: 20h, then: end}, errors: {else: /sorry}}
"""
FLOW = """
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps: {echo: {ask: "You wrote: {{ text }}", save: text, then: echo}}
---
flow: notes
start: {words: [notes]}
vars: {said: text}
steps:
  ask: {ask: Tell me all., save: said, gather: 1s}
  all: {say: "All: {{ said }}", then: end}
---
flow: pay
start: {words: [pay]}
steps:
  ask: {ask: 'Pay: {{ signal_url("paid") }}', signals: {paid: {say: "Paid by {{ event.by }}.", then: end}}}
---
flow: taxi
start: {words: [taxi]}
vars: {drivers: {type: list, value: ["1", "2"]}, driver: phone}
steps:
  ask: {start: /offer, each: drivers, contact: "{{ contact.id ~ it }}", with: {rider: "{{ contact.id }}"}, busy: after}
  who: {wait: 10h, signals: {taken: [{if: driver == none, set: {driver: "{{ event.by }}"}, then: comes}, {then: end}]}}
  comes: {say: "{{ driver }} comes.", then: end}
---
flow: offer
vars: {rider: phone}
steps:
  ask: {template: {name: ride, language: en}, replies: {I take it: yes}}
  yes: {signal: taken, contact: "{{ rider }}", with: {by: "{{ contact.id }}"}, then: end}
---
flow: parcel
start: {about: They ask where their parcel is., title: Parcel}
steps:
  number: {ask: Which number?, buttons: [A17]}
  found: {say: We look for it., then: end}
---
flow: table
start: {words: [table]}
slots: {fill: [guests, name], model: true}
vars: {guests: {type: integer, min: 1}, name: text}
steps:
  guests: {ask: How many?, save: guests, retry: {say: A number., max: 1, else: end}}
  name: {ask: Which name?, save: name}
  done: {say: "{{ guests }} guests, {{ name }}.", then: end}
---
flow: voice
start: {words: [voice]}
vars: {said: text}
steps:
  ask: {ask: Say it., save: said}
  heard: {say: "Heard: {{ said }}", then: end}
---
flow: sorry
steps: {s: {say: Sorry., then: end}}
"""
HANDLERS = """
from bot import handler
from bot.core.values import Media


@handler("speech.words")
def words(voice: Media) -> str:
    return "spoken"
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
    """``bot serve``, with its ``roles`` or both, started again whenever it has been killed. The port stays the same."""

    def __init__(
        self,
        folder: Path,
        gateway: Emulator,
        store: str,
        models: CompletionService | None = None,
        roles: Sequence[str] = (),
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.folder = folder
        self._roles = roles
        self.log = folder / "log"
        self._log = self.log.open("a")
        self.environment = {
            **os.environ,
            "BOT_STORE": store,
            "BOT_GATEWAY_URL": gateway.url,
            "BOT_GATEWAY_KEY": gateway.api_key,
            "BOT_WEBHOOK_SECRET": gateway.secret,
            "BOT_GATEWAY_PER_MINUTE": "1000000",
            "BOT_GATEWAY_PER_DAY": "1000000",
            "BOT_PORT": str(self.port),
            "BOT_PUBLIC_URL": "https://bot.example",
            **(
                {}
                if models is None
                else {"BOT_AI_URL": models.url, "BOT_AI_KEY": models.key, "BOT_AI_MODEL": "acme/swift"}
            ),
            "CRM_SECRET": "secret of the receiver",
        }
        self.start()

    def start(self) -> None:
        command = [sys.executable, "-m", "bot", "serve", str(self.folder), *self._roles]
        self.process = subprocess.Popen(
            command, env=self.environment, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self.process.stdout is not None
        assert "Ctrl-C stops it" in self.process.stdout.readline()

    def children(self) -> dict[str, int]:
        """The processes of web and engine, by their roles."""
        found = {}
        with suppress(OSError):
            for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                found[Path(f"/proc/{pid}/comm").read_text().strip().removeprefix("bot-")] = int(pid)
        return found

    def child(self, role: str) -> int:
        """The process of web or engine, once it runs."""
        until = monotonic() + PATIENCE
        while role not in (children := self.children()):  # it is about to be started again
            assert monotonic() < until
            sleep(0.01)
        return children[role]

    def post(self, address: str, data: Mapping[str, str]) -> bool:
        """Whether the bot has taken what was posted to one of its addresses."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=5)
        with closing(connection), suppress(OSError, HTTPException):
            path = address.removeprefix("https://bot.example")
            connection.request("POST", path, json.dumps(data), {"Content-Type": "application/json"})
            return 200 <= connection.getresponse().status < 300
        return False

    def kill(self, victim: str) -> None:
        """SIGKILL by process id, and to nobody but the victim: children of a supervisor that dies alone end politely. Or, for
        a while, the victim finds its disk full.
        """
        if victim in ("web", "engine"):
            pid = self.child(victim)
            os.kill(pid, signal.SIGKILL)
            gone(pid)
            return
        if victim.endswith("'s disk"):
            with suppress(ProcessLookupError):  # an engine that cannot begin ends
                pid = self.child(victim.removesuffix("'s disk"))
                _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, most))
                sleep(NO_ROOM)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (most, most))
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


@contextmanager
def receiving() -> Iterator[tuple[str, dict[str, Any]]]:
    """An address for events, and those that came, by their ids, in the order of their first arrival."""
    taken: dict[str, Any] = {}

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert taken.setdefault(event["id"], event)["data"] == event["data"]
            self.send_response(204)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/events", taken
        finally:
            server.shutdown()
            thread.join()


def model(request: dict[str, Any]) -> str:
    """What the model says of a contact's message."""
    said = request["messages"][-1]["content"]
    return '{"guests": "12"}' if "whole team" in said else "parcel 95" if "my stuff" in said else "none"


@dataclass
class Journeys:
    """Contacts who go through flows again and again, each as soon as it has its answer, until the kills are over."""

    gateway: Emulator
    server: Server
    ended: threading.Event
    expected: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def travel(self) -> None:
        """Go through all of them, and return when each has come to its end."""
        kinds: list[Callable[[str], Iterator[None]]] = [
            *(self.notes, self.pay, self.taxi, self.parcel, self.table, self.voice)
        ]
        under_way = [self.rounds(kind, str(FIRST_TRAVELLER + number)) for number, kind in enumerate(kinds * 2)]
        until = monotonic() + PATIENCE + 60
        while under_way:
            under_way = [journey for journey in under_way if next(journey, self) is not self]
            assert monotonic() < until, {contact: self.texts(contact)[-3:] for contact in self.expected}
            self.ended.wait(0.01) if not self.ended.is_set() else sleep(0.01)

    def rounds(self, kind: Callable[[str], Iterator[None]], contact: str) -> Iterator[None]:
        while not self.ended.is_set():
            yield from kind(contact)

    def texts(self, contact: str) -> list[str]:
        return [text_of(sent) for sent in list(self.gateway.sent) if sent.to == contact]

    def says(self, contact: str, text: str | None, *replies: str, kind: str = "text") -> Iterator[None]:
        self.gateway.receive(contact, text, kind=kind)
        yield from self.hears(contact, *replies)

    def hears(self, contact: str, *replies: str) -> Iterator[None]:
        self.expected[contact] += replies
        while len(self.texts(contact)) < len(self.expected[contact]):
            yield

    def notes(self, contact: str) -> Iterator[None]:
        note = f"note {len(self.expected[contact])} of {contact}"
        yield from self.says(contact, "notes", "Tell me all.")
        yield from self.says(contact, note, f"All: {note}")

    def pay(self, contact: str) -> Iterator[None]:
        yield from self.says(contact, "pay", "Pay:")
        *_, message = (sent for sent in list(self.gateway.sent) if sent.to == contact)
        for _ in range(2):  # a service may report it twice
            while not self.server.post(message.body["text"]["body"].split()[1], {"by": "Ann"}):
                yield
        yield from self.hears(contact, "Paid by Ann.")

    def taxi(self, contact: str) -> Iterator[None]:
        yield from self.says(contact, "taxi")
        for driver in "12":
            yield from self.hears(contact + driver, "[ride]")
        for driver in "12":
            self.gateway.tap(contact + driver, title="I take it")
        yield from self.hears(contact, "a driver comes.")

    def parcel(self, contact: str) -> Iterator[None]:
        yield from self.says(contact, "where is my stuff", "Which number?")
        self.gateway.tap(contact, title="A17")
        yield from self.hears(contact, "We look for it.")

    def table(self, contact: str) -> Iterator[None]:
        yield from self.says(contact, "table", "How many?")
        yield from self.says(contact, "the whole team", "Which name?")
        yield from self.says(contact, "Ann", "12 guests, Ann.")

    def voice(self, contact: str) -> Iterator[None]:
        yield from self.says(contact, "voice", "Say it.")
        yield from self.says(contact, None, "Heard: spoken", kind="audio")


def text_of(sent: Any) -> str:
    """A message in words that are the same each time."""
    if sent.type == "template":
        return f"[{sent.body['template']['name']}]"
    body = sent.body["text"]["body"] if sent.type == "text" else sent.body["interactive"]["body"]["text"]
    return re.sub(r"\d{13,} comes", "a driver comes", re.sub(r" https://\S+", "", body)).rstrip()


def decided_events(store: StoreAddress, contacts: list[str]) -> dict[str, int]:
    """How many events for the receiver the turns of each contact have decided on."""
    reader = StoreReader(store)
    found = {}
    for contact in contacts:
        turns = reader.trace(contact, 10_000)
        found[contact] = sum(isinstance(effect, Publish) for turn in turns for effect in turn.effects)
    reader.close()
    return found


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


def echoes(gateway: Emulator) -> list[Any]:
    """What was sent to those who are repeated."""
    return [sent for sent in list(gateway.sent) if int(sent.to) < FIRST_TRAVELLER]


def expected_replies(rows: list[Any]) -> dict[str, list[str]]:
    """What each contact must have been sent: an answer to each acknowledged event, in the log's order."""
    replies: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        text = json.loads(row.body)["data"]["body"]
        replies[row.contact].append(f"You wrote: {text if replies[row.contact] else ''}".rstrip())
    return replies


@search
def test_killed_at_any_instant_it_loses_nothing_and_repeats_nothing(tmp_path: Path, gateway: Emulator) -> None:
    store = tmp_path / "bot.db"
    check_kills(tmp_path, gateway, ["one"], str(store), store, VICTIMS)


@search
def test_two_machines_on_one_database_lose_nothing_and_repeat_nothing_when_they_are_killed(
    tmp_path: Path, gateway: Emulator
) -> None:
    """Each event comes to both machines, which write into one log; one engine at a time takes it."""
    killed = {victim: often for victim, often in VICTIMS.items() if "disk" not in victim}
    with postgres_server() as server, new_database(server, tmp_path) as store:
        check_kills(tmp_path, gateway, ["one", "two"], store.url, store, killed)


def check_kills(
    folder: Path, gateway: Emulator, machines: Sequence[str], url: str, store: StoreAddress, killed: Mapping[str, int]
) -> None:
    """Kill parts of servers of one store, at random, while contacts write."""
    with CompletionService() as models, receiving() as (address, events):
        models.answer_with(model)
        gateway.templates.add(
            MessageTemplate("ride", "en", body="A ride?", buttons=(TemplateButton("quick_reply", "I take it"),))
        )
        servers = []
        for name in machines:
            (folder / name).mkdir()
            (folder / name / "bot.yml").write_text(BOT.replace("RECEIVER", address))
            (folder / name / "main.yml").write_text(FLOW)
            (folder / name / "handlers.py").write_text(HANDLERS)
            servers.append(Server(folder / name, gateway, url, models))
        kill_again_and_again(gateway, servers, store, events, killed)


def kill_again_and_again(
    gateway: Emulator,
    servers: Sequence[Server],
    store: StoreAddress,
    events: dict[str, Any],
    killed: Mapping[str, int],
) -> None:
    for kind, settings in FAULTS.items():
        gateway.faults.add(kind, **settings)
    dice = random.Random(42)
    victims = [*killed, *dice.choices([*killed], [*killed.values()], k=KILLS - len(killed))]
    dice.shuffle(victims)
    for server in servers:
        gateway.subscribe(f"http://127.0.0.1:{server.port}/webhook")
    ended = threading.Event()
    over = threading.Event()
    journeys = Journeys(gateway, servers[-1], over)
    sender = threading.Thread(target=stream, args=(gateway, ended))
    sender.start()
    travellers = threading.Thread(target=journeys.travel)
    travellers.start()
    try:
        for victim in victims:
            ended.wait(dice.uniform(0.05, 0.6))
            dice.choice(servers).kill(victim)
        sender.join()
        over.set()
        travellers.join()
        gateway.faults.clear()
        assert gateway.wait_until(lambda: all_tried(gateway), 60), "the sender is not done"
        rows = InboxReader(store).after(0, 10 * EVENTS)
        echoed = [row for row in rows if int(row.contact or 0) < FIRST_TRAVELLER]
        assert gateway.wait_until(lambda: len(echoes(gateway)) >= len(echoed), 60), f"{len(echoed)} messages"
        travelled = [*journeys.expected]

        def arrived() -> dict[str, int]:
            came = Counter(event["data"]["contact"] for event in list(events.values()))
            return {contact: came[contact] for contact in travelled}

        assert gateway.wait_until(lambda: arrived() == decided_events(store, travelled), 60), arrived()
    finally:
        ended.set()
        over.set()
        sender.join()
        travellers.join()
        codes = [server.stop() for server in servers]

    assert set(gateway.acknowledged) <= {row.event_id for row in rows}, "an acknowledged event was lost"
    assert len(rows) > EVENTS / 5, "hardly anything came through: this shows nothing"
    turns = Counter(
        turn.event_id
        for contact in {row.contact or "" for row in rows}
        for turn in StoreReader(store).trace(contact, 1000)
    )
    assert {row.event_id: turns[row.event_id] for row in rows} == {row.event_id: 1 for row in rows}
    sent: dict[str, list[str]] = defaultdict(list)
    for message in echoes(gateway):
        sent[message.to].append(text_of(message))
    assert dict(sent) == dict(expected_replies(echoed))
    assert {contact: journeys.texts(contact) for contact in travelled} == dict(journeys.expected)
    assert all(journeys.expected[str(FIRST_TRAVELLER + number)] for number in range(12)), "nobody has gone this way"
    noted = [event["data"]["vars"]["said"] for event in events.values() if event["data"]["flow"] == "notes"]
    assert len(noted) == len({*noted}) > 2
    assert not gateway.reused_keys
    assert set(codes) == {0}
    log = "".join(server.log.read_text() for server in servers)
    assert "Traceback" not in log
    for child in ("web", "engine"):
        seen = log.count(f"the {child} process was killed by signal 9")
        at_once = victims.count("all") + victims.count("supervisor")  # so that nobody may have seen the kill before
        assert victims.count(child) - at_once <= seen <= victims.count(child)
