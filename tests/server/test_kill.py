"""SIGKILL or a full disk at any instant: no acknowledged event lost, none taken twice, every reply once and in order, whatever
a conversation waits for.
"""

import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count, pairwise
from pathlib import Path
from statistics import median
from time import monotonic, sleep
from typing import Any

import psycopg
import pytest

from bot.core.effects import Publish
from bot.core.events import MOVED
from bot.store.database import StoreAddress, shards_of
from bot.store.inbox import InboxReader
from bot.store.store_reader import StoreReader
from bot.testing.emulator.completion import CompletionService
from bot.testing.emulator.emulated_templates import MessageTemplate, TemplateButton
from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE, gone, wait_for
from tests.ports import reserved_port
from tests.postgres import new_database, postgres_server
from tests.searches import SEARCHING, search, tries
from tests.server.process.serving import wait_for_quarantine
from tests.server.process.warm import Forked

KILLS = tries(6, 20)
VICTIMS = {"web": 3, "engine": 3, "supervisor": 1, "all": 1, "web's disk": 1, "engine's disk": 1}
"""How often each is killed, or has no room for a while; a new supervisor takes a second."""
FAULTS_OF_SEVERAL = int(os.environ.get("FAULTS", tries(9, 40)))
VICTIMS_OF_SEVERAL = {
    **{"web": 3, "engine": 6, "supervisor": 2, "all": 2, "both machines": 1},
    **{"pause": 3, "long pause": 2, "database": 2, "sessions": 4},
}
"""The same where two machines have one database: they are killed or paused, it is killed, or it ends some of its sessions."""
PAUSES = {"pause": 1.0, "long pause": 7.0}  # seconds: an engine that is silent for 5 is relieved
CONTACTS = 50
FIRST_TRAVELLER = 6281234600000
NO_ROOM = 0.3  # seconds
SOME_SESSIONS = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'bot-flows %' AND random() < 0.5"
BOT = """
name: Echo
secrets: [CRM_SECRET]
signals: {paid: {by: text}, taken: {by: phone}}
transcribe: {call: speech.words, tries: 5, daily: 1000}
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


def new_python(arguments: Sequence[str], environ: Mapping[str, str], output: int) -> "subprocess.Popen[bytes]":
    """Start a command of the bot."""
    return subprocess.Popen([sys.executable, "-m", "bot", *arguments], env=environ, stdout=output, stderr=output)


class Server:
    """``bot serve``, with its ``roles`` or both, started again whenever it has been killed. The port stays the same."""

    def __init__(
        self,
        folder: Path,
        gateway: Emulator,
        store: str,
        models: CompletionService | None = None,
        roles: Sequence[str] = (),
        run: Callable[[Sequence[str], Mapping[str, str], int], "subprocess.Popen[bytes] | Forked"] = new_python,
    ) -> None:
        self._held = ExitStack()
        self.port = self._held.enter_context(reserved_port())
        self.folder = folder
        self.dice = random.Random(44)
        self._roles = roles
        self._run = run
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
        self.pausing = threading.Thread()
        self.pausing.start()
        self.start()

    def start(self) -> None:
        before = self.log.stat().st_size
        self.process = self._run(["serve", str(self.folder), *self._roles], self.environment, self._log.fileno())
        wait_for(lambda: b"Ctrl-C stops it" in self.log.read_bytes()[before:] or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def children(self) -> dict[str, int]:
        """The processes of web and engine, by their names: an engine of one shard of several is called ``engine.2``."""
        found = {}
        with suppress(OSError):
            for pid in Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split():
                found[Path(f"/proc/{pid}/comm").read_text().strip().removeprefix("bot-")] = int(pid)
        return found

    def child(self, role: str) -> int:
        """The process of web or engine, once it runs; of several engines, any that runs."""
        until = monotonic() + PATIENCE
        while not (pids := [pid for name, pid in self.children().items() if name.partition(".")[0] == role]):
            assert monotonic() < until  # it is about to be started again
            sleep(0.01)
        return self.dice.choice(pids)

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
        a while, the victim finds its disk full, or all is paused (this call returns at once then).
        """
        self.pausing.join()
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
        if victim in PAUSES:
            self.pausing = threading.Thread(target=self._pause, args=(PAUSES[victim],))
            self.pausing.start()
            return
        if victim == "all":
            os.kill(self.process.pid, signal.SIGSTOP)  # so that it neither restarts the first nor lets the second go
            for pid in self.children().values():
                os.kill(pid, signal.SIGKILL)
                gone(pid)
        os.kill(self.process.pid, signal.SIGKILL)
        assert self.process.wait(PATIENCE) == -signal.SIGKILL
        self.start()

    def _pause(self, seconds: float) -> None:
        """Let nothing of this machine go on for a while."""
        pids = [self.process.pid, *self.children().values()]
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in pids:
                with suppress(ProcessLookupError):  # a child that has just ended
                    os.kill(pid, number)
            if number == signal.SIGSTOP:
                sleep(seconds)

    def stop(self) -> int:
        self.pausing.join()
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(40)
        self._log.close()
        self._held.close()
        return code


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
    machines: int
    expected: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def travel(self) -> None:
        """Go through all of them, and return when each has come to its end."""
        kinds: list[Callable[[str], Iterator[None]]] = [
            *(self.notes, self.pay, self.taxi, self.parcel, self.table, self.voice)
        ]
        under_way = [self.rounds(kind, str(FIRST_TRAVELLER + number)) for number, kind in enumerate(kinds * 2)]
        until = math.inf
        while under_way:
            under_way = [journey for journey in under_way if next(journey, self) is not self]
            assert monotonic() < until, {contact: self.texts(contact)[-3:] for contact in self.expected}
            if self.ended.wait(0.01):
                until = min(until, monotonic() + PATIENCE + 60)
                sleep(0.01)

    def rounds(self, kind: Callable[[str], Iterator[None]], contact: str) -> Iterator[None]:
        while not self.ended.is_set():
            yield from kind(contact)

    def texts(self, contact: str) -> list[str]:
        return [text_of(sent) for sent in list(self.gateway.sent) if sent.to == contact]

    def says(self, contact: str, text: str | None, *replies: str, kind: str = "text") -> Iterator[None]:
        yield from self.sends(lambda: self.gateway.receive(contact, text, kind=kind), contact, *replies)

    def sends(self, event: Callable[[], str], contact: str, *replies: str) -> Iterator[None]:
        """Let an event happen, and again if the gateway gives it up: its tries are over within ten seconds here."""
        sent = event()
        for _ in self.hears(contact, *replies):
            if (
                list(self.gateway.webhooks.given_up).count(sent) == self.machines
                and sent not in self.gateway.acknowledged
            ):
                sent = event()
            yield

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
        yield from self.sends(lambda: self.gateway.tap(contact, title="A17"), contact, "We look for it.")

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
        turns = reader.trace.turns(contact, 10_000)
        found[contact] = sum(isinstance(effect, Publish) for turn in turns for effect in turn.effects)
    reader.close()
    return found


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(
        per_minute=1_000_000, per_day=1_000_000, schedule_scale=0.001, delivery_threads=32, threads=64, seed=7
    ) as emulator:
        yield emulator


def stream(gateway: Emulator, over: threading.Event) -> None:
    """All contacts write in turn, for as long as the kills go on."""
    for number in count():
        gateway.receive(str(6281234500000 + number % CONTACTS), f"message {number // CONTACTS}")
        if over.wait(0.08):
            return


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
    check_kills(tmp_path, gateway, ["one"], str(store), store, drawn(VICTIMS, KILLS), {})


@search
@pytest.mark.parametrize(
    "shards", [1, pytest.param(4, marks=pytest.mark.skipif(not SEARCHING, reason="it takes half a minute"))]
)
def test_two_machines_on_one_database_lose_nothing_and_repeat_nothing_whatever_is_killed_or_paused(
    tmp_path: Path, gateway: Emulator, monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    """Each event comes to both machines, which write into one log; one engine at a time takes it. Of four shards, each machine works on two."""
    monkeypatch.setenv("BOT_SHARDS", str(shards))

    def crash() -> None:
        server.crash()
        server.start()

    def end_sessions() -> None:
        with psycopg.connect(server.url("postgres"), autocommit=True) as connection:
            connection.execute(SOME_SESSIONS)

    with postgres_server() as server, new_database(server, tmp_path, "template0") as address:
        faults = {"database": crash, "sessions": end_sessions}
        victims = drawn(VICTIMS_OF_SEVERAL, FAULTS_OF_SEVERAL)
        store = replace(address, shards=shards)
        check_kills(tmp_path, gateway, ["one", "two"], store.url, store, victims, faults)


def drawn(victims: Mapping[str, int], number: int) -> list[str]:
    """Each of these at least once, in any order."""
    dice = random.Random(42)
    found = [*victims, *dice.choices([*victims], [*victims.values()], k=number - len(victims))]
    dice.shuffle(found)
    return found


def check_kills(
    folder: Path,
    gateway: Emulator,
    machines: Sequence[str],
    url: str,
    store: StoreAddress,
    victims: Sequence[str],
    faults: Mapping[str, Callable[[], None]],
) -> None:
    """Kill parts of servers of one store, at random, while contacts write. ``faults`` are those of no one server."""
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
            servers.append(Server(folder / name, gateway, url, models, run=new_python if SEARCHING else Forked))
        kill_again_and_again(gateway, servers, store, events, victims, faults)


def kill_again_and_again(
    gateway: Emulator,
    servers: Sequence[Server],
    store: StoreAddress,
    events: dict[str, Any],
    victims: Sequence[str],
    faults: Mapping[str, Callable[[], None]],
) -> None:
    for kind, settings in FAULTS.items():
        gateway.faults.add(kind, **settings)
    dice = random.Random(43)
    for server in servers:
        gateway.subscribe(f"http://127.0.0.1:{server.port}/webhook")
    over = threading.Event()
    journeys = Journeys(gateway, servers[-1], over, len(servers))
    sender = threading.Thread(target=stream, args=(gateway, over))
    sender.start()
    travellers = threading.Thread(target=journeys.travel)
    travellers.start()
    begun: list[tuple[str, datetime]] = []
    try:
        for victim in victims:
            sleep(dice.uniform(0.05, 0.6))
            wait_for_quarantine(store)
            begun.append((victim, datetime.now(UTC)))
            if victim in faults:
                faults[victim]()
            elif victim == "both machines":
                for server in servers:
                    server.kill("all")
            else:
                dice.choice([server for server in servers if not server.pausing.is_alive()] or servers).kill(victim)
        over.set()
        sender.join()
        travellers.join()
        gateway.faults.clear()
        assert gateway.wait_until(lambda: all_tried(gateway), PATIENCE), "the sender is not done"
        rows = [row for row in InboxReader(store).after(0, 1_000_000) if not row.event_id.startswith(MOVED)]
        echoed = [row for row in rows if int(row.contact or 0) < FIRST_TRAVELLER]
        assert gateway.wait_until(lambda: len(echoes(gateway)) >= len(echoed), PATIENCE), f"{len(echoed)} messages"
        travelled = [*journeys.expected]

        def arrived() -> dict[str, int]:
            came = Counter(event["data"]["contact"] for event in list(events.values()))
            return {contact: came[contact] for contact in travelled}

        assert gateway.wait_until(lambda: arrived() == decided_events(store, travelled), PATIENCE), arrived()
        reader = StoreReader(store)
        wait_for(lambda: not any(reader.queue_counts().values()) and not reader.dead_letters.newest())
        shards = len(shards_of(store))
        if shards > 1:
            share = shards // len(servers)
            wait_for(lambda: [len(machine.shards) for machine in reader.database.machines()] == [share] * len(servers))
    finally:
        over.set()
        sender.join()
        travellers.join()
        codes = [server.stop() for server in servers]

    assert set(gateway.acknowledged) <= {row.event_id for row in rows}, "an acknowledged event was lost"
    assert len(rows) > 30, "hardly anything came through: this shows nothing"
    turns = Counter(
        turn.event_id for contact in {row.contact or "" for row in rows} for turn in reader.trace.turns(contact, 10_000)
    )
    assert {row.event_id: turns[row.event_id] for row in rows} == {row.event_id: 1 for row in rows}
    sent: dict[str, list[str]] = defaultdict(list)
    for message in echoes(gateway):
        sent[message.to].append(text_of(message))
    assert dict(sent) == dict(expected_replies(echoed))
    for contact, expected in journeys.expected.items():
        assert journeys.texts(contact) == expected, contact
    assert all(journeys.expected[str(FIRST_TRAVELLER + number)] for number in range(12)), "nobody has gone this way"
    noted = [event["data"]["vars"]["said"] for event in events.values() if event["data"]["flow"] == "notes"]
    assert len(noted) == len({*noted}) > 2
    assert not gateway.reused_keys
    assert len({message.key for message in gateway.sent}) == len(gateway.sent), "a key was accepted twice"
    assert set(codes) == {0}
    log = "".join(server.log.read_text() for server in servers)
    assert "Traceback" not in log and "error ignored" not in log
    for child in ("web", "engine"):
        seen = len(re.findall(rf"the {child}(\.\d)? process was killed by signal 9", log))
        both = len(servers) * victims.count("both machines")
        unseen = both + sum(victims.count(victim) for victim in ("all", "supervisor", *PAUSES))  # by nobody who goes on
        assert victims.count(child) - unseen <= seen <= victims.count(child)
    repeated = gateway.counts.get("repeated keys", 0)
    print(f"{len(gateway.acknowledged)} events acknowledged, {len(gateway.sent)} messages, {repeated} keys repeated")
    for victim, silences in silences_after(begun, [message.at for message in gateway.sent]).items():
        print(
            f"{len(silences):4} x {victim}: then no message for {median(silences):.1f} s, at most {max(silences):.1f}"
        )


def silences_after(begun: Sequence[tuple[str, datetime]], sent: Sequence[datetime]) -> dict[str, list[float]]:
    """The longest time without a message that began between each fault and the next, by its kind."""
    found: dict[str, list[float]] = defaultdict(list)
    for (victim, at), (_, following) in pairwise([*begun, ("", datetime.now(UTC))]):
        times = [at, *(time for time in sent if time > at)]
        silences = [(later - time).total_seconds() for time, later in pairwise(times) if time < following]
        found[victim].append(max(silences, default=0.0))
    return found
