"""One bot that really runs, contacts that write to it, one fault, and what became of each promise.

Everything is looked at from outside: the log of acknowledged events, what the emulated gateway accepted, the answers to
monitors, the lines of the log, exit codes.
"""

import http.client
import os
import shutil
import signal
import socket
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

from bot.core.clock import MovableClock, SystemClock
from bot.core.engine_requests import AskStatus
from bot.core.errors import BotError
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server import local_socket
from bot.server.app import StandIns
from bot.settings import ModelService
from bot.store.database import StoreAddress, shards_of
from bot.store.files import inbox_path
from bot.store.inbox import InboxReader
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from bot.testing.emulator.emulator import Emulator
from bot.testing.simulation.running_bot import RunningBot
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.ports import reserved_port
from tests.postgres import bot_store, divided_database, postgres_server
from tests.proxy import relay
from tests.server.process.serving import SECRET, Serving, serves

LOST, DOUBLED, ORDER, LIMITS = "nothing lost", "nothing doubled", "in order", "limits kept"
OTHERS, VISIBLE, HEALS = "others served", "visible", "heals"
PROMISES = (LOST, DOUBLED, ORDER, LIMITS, OTHERS, VISIBLE, HEALS)

VICTIM, OTHER, *REST = CONTACTS = [f"628120000000{number}" for number in range(5)]
CHANNELS = {"channel-1": "15550000001", "channel-2": "15550000002"}
PER_MINUTE, PER_DAY = 600, 10_000
SERVED_WITHIN = 5.0  # seconds; on an idle machine it is a tenth of one
LOOK = 2.0  # seconds that a monitor waits for an answer
BOT = "name: Echo\ndefaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}\n"
FLOW = 'flow: main\nstart: {otherwise: true}\nsteps:\n  answer: {say: "You wrote: {{ message.text }}"}\n'


@dataclass(frozen=True)
class Cell:
    """What became of a promise: kept, broken, or None: the fault is not about it. ``fact`` is what was measured."""

    ok: bool | None = None
    fact: str = ""

    def __str__(self) -> str:
        verdict = {True: "ok", False: "FAIL", None: "-"}[self.ok]
        return f"{verdict}: {self.fact}" if self.fact and self.ok is not None else self.fact or verdict


@dataclass(frozen=True)
class Fault:
    """A row of the table. ``act`` does what goes wrong, and looks. ``quick``: CI has the time for it."""

    name: str
    act: Callable[["Trial"], None]
    quick: bool = False

    def run(self, quick: bool = False) -> dict[str, Cell]:
        """The row: a cell for each promise. ``quick`` does with fewer messages and clients what can be done so."""
        folder = Path(mkdtemp(prefix="faults-"))
        trial = Trial(folder, quick)
        try:
            with trial:
                self.act(trial)
                trial.judge()
        except Exception as error:  # one row that ends badly does not cost the others
            words = " ".join(f"{type(error).__name__}: {error}".split())
            trial.cells[HEALS] = Cell(False, words[-300:])
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return {promise: trial.cells.get(promise, Cell()) for promise in PROMISES}


@dataclass
class Link:
    """The network between the bot and the gateway. What it does with a connection can be changed at any time.

    ``answers``: these bytes are the answer to each request; ``is_silent``: none is given.
    """

    target: int
    port: int
    answers: bytes | None = None
    is_silent: bool = False
    _open: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.up()

    def up(self) -> None:
        """Let everything through."""
        self.answers, self.is_silent = None, False
        self.cut()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=256)
        threading.Thread(target=self._listen, args=(self._listener,), daemon=True).start()

    def cut(self) -> None:
        """End all connections, and take no more."""
        with suppress(AttributeError, OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._open.clear()

    def turns(self, *, answers: bytes | None = None, is_silent: bool = False) -> None:
        """From now on nothing is let through."""
        self.up()
        self.answers, self.is_silent = answers, is_silent

    def _listen(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            if self.is_silent or self.answers is not None:
                while connection.recv(65536):
                    connection.sendall(self.answers or b"")
                return
            with socket.create_connection(("127.0.0.1", self.target)) as gateway:
                threading.Thread(target=relay, args=(gateway, connection), daemon=True).start()
                relay(connection, gateway)


class Trial:
    """A bot in a folder of its own, the gateway, and what is found out. Use it as a context manager."""

    def __init__(self, folder: Path, quick: bool) -> None:
        self.folder = folder
        self.file = folder / "bot.db"
        self.store: StoreAddress = self.file
        self.quick = quick
        self.cells: dict[str, Cell] = {}
        self.held = ExitStack()
        self.alarms_that_stay: set[str] = set()  # for longer than a trial
        self._written: dict[str, tuple[str, str]] = {}  # event id: who wrote, and what
        self._log: dict[str, None] = {}  # the ids of all events that were ever kept, in order
        self._port = 0
        self._slowest = 0.0
        (folder / "bot.yml").write_text(BOT)
        (folder / "main.yml").write_text(FLOW)

    def __enter__(self) -> "Trial":
        self._serve = self.held.enter_context(serves(self.folder))
        return self

    def __exit__(self, *exc: object) -> None:
        if hasattr(self, "_hook"):
            self.gateway.unsubscribe(self._hook)
        self.held.close()

    # The bot and the gateway

    def up(self, *prefix: str, broken: Mapping[str, str] | None = None, **settings: str) -> None:
        """Start `bot serve`, at the address that it had before."""
        if not hasattr(self, "gateway"):
            self._connect(int(settings.get("BOT_GATEWAY_PER_MINUTE", PER_MINUTE)))
        self.serving = self.start(*prefix, broken=broken, **settings).up()
        if not self._port:
            self._port = self.serving.port
            self._hook = self.gateway.subscribe(f"http://127.0.0.1:{self._port}/webhook", secret=SECRET)

    def start(self, *prefix: str, broken: Mapping[str, str] | None = None, **settings: str) -> Serving:
        """Start `bot serve`, which may end at once."""
        known = {
            "BOT_GATEWAY_URL": f"http://127.0.0.1:{self.link.port}",
            "BOT_GATEWAY_KEY": self.gateway.api_key,
            "BOT_GATEWAY_PER_MINUTE": str(PER_MINUTE),
            "BOT_CHANNEL_ID": "channel-1",
            "BOT_PORT": str(self._port),
            "BOT_SHARDS": str(len(shards_of(self.store))),
            **bot_store(self.store),
        }
        return self._serve(*prefix, broken=broken, **{**known, **settings})

    def in_process(self) -> MovableClock:
        """Run the bot in this process, on a clock that can be set."""
        clock = MovableClock(SystemClock().now())
        self._connect(PER_MINUTE, clock)
        migrate(self.file)
        running = RunningBot(
            load_program(read_folder(self.folder)),
            self.file,
            clock,
            self.gateway,
            ModelService("http://127.0.0.1:9", "no-key", ("acme/none",), "authorization"),
            None,
            None,
            StandIns(),
        )
        self.held.enter_context(running)
        return clock

    def _connect(self, per_minute: int, clock: MovableClock | None = None) -> None:
        self.gateway = Emulator(
            clock,
            per_minute=per_minute,
            per_day=max(PER_DAY, per_minute),
            secret=SECRET,
            schedule_scale=0.05,
            answer_within=LOOK,
            channels=CHANNELS if clock is None else {"channel-1": CHANNELS["channel-1"]},
        )
        self.held.enter_context(self.gateway)
        self.gateway.behaviour.restamp = True
        self.link = Link(int(self.gateway.url.rsplit(":")[-1]), self.held.enter_context(reserved_port()))
        self.held.callback(self.link.cut)

    def divide(self) -> str:
        """Keep the store in a database of its own, in two shards. Returns the database's address."""
        server = self.held.enter_context(postgres_server())
        self.store = self.held.enter_context(divided_database(server, self.folder, 2))
        self.held.callback(lambda: self.serving.end())  # before its database goes
        return self.store.url

    def stop(self) -> None:
        """Stop the server politely, once it is quiet."""
        self._look_at_log()
        assert self.serving.end() == 0

    # Contacts write

    def write(self, *contacts: str, text: str = "", channel: str = "channel-1") -> None:
        """Each of the contacts writes once. Nobody waits for the answer."""
        for contact in contacts or CONTACTS:
            said = text or f"m{len(self._written)}"
            event = f"evt-{len(self._written)}"
            self._written[event] = contact, said
            self.gateway.receive(contact, said, event_id=event, channel_id=channel)

    def serves(self, contact: str = OTHER, times: int = 1, within: float = SERVED_WITHIN) -> None:
        """A contact whom the fault is not about writes, and is answered in time."""
        for _ in range(times):
            self.write(contact)
            self.answers(contact, [*self._written.values()][-1][1], within)

    def answers(self, contact: str, text: str, within: float = SERVED_WITHIN) -> None:
        """What a contact has written, whom the fault is not about, is answered in time."""
        began, answer = monotonic(), (contact, f"You wrote: {text}")
        self.gateway.wait_until(lambda: answer in self._answers(), 30.0)
        took = max(monotonic() - began, self._slowest)
        self._slowest = took
        self.cells[OTHERS] = Cell(took <= within, f"answered in {took:.1f} s")

    @contextmanager
    def load(self, *contacts: str) -> Iterator[None]:
        """These contacts write without a pause, 25 times a second each, for as long as the block runs."""
        ended = threading.Event()

        def write() -> None:
            while not ended.wait(0.04):
                self.write(*contacts)

        writing = threading.Thread(target=write)
        writing.start()
        try:
            yield
        finally:
            ended.set()
            writing.join()

    # What is seen from outside

    def shows_alarm(self, kind: str, within: float = 10.0) -> None:
        """Wait until an alarm of this kind is on."""
        self.shows(f"alarm {kind}", lambda: kind in self.alarms(), within)

    def shows(self, fact: str, condition: Callable[[], object], within: float = 10.0) -> None:
        """Whether somebody who looks can see the fault, and how soon."""
        began = monotonic()
        while not (is_seen := bool(condition())) and monotonic() - began < within:
            sleep(0.05)
        took = monotonic() - began
        self._seen(is_seen, f"{fact} in {took:.1f} s" if is_seen else f"no {fact} in {within:.0f} s")

    def logs(self, words: str, fact: str) -> None:
        """Whether the server's log says it."""
        began = monotonic()
        self.serving.line_with(words)
        self._seen(True, f"log: {fact}, in {monotonic() - began:.1f} s")

    def ends(self, serving: Serving, *words: str) -> None:
        """A server that cannot serve ends with 1, says why and what to do, and has listened to nobody."""
        code, lines = serving.process.wait(PATIENCE), ""
        serving.end()
        lines = "\n".join(serving.seen)
        said = all(word in lines for word in words) and "answers at" not in lines
        self._seen(code == 1 and said, f"exit {code}" if said else f"exit {code}, says: {lines[-200:]}")

    def _seen(self, is_seen: bool, fact: str) -> None:
        before = self.cells.get(VISIBLE, Cell(True))
        facts = [before.fact, fact] if before.fact and fact not in before.fact else [before.fact or fact]
        self.cells[VISIBLE] = Cell(bool(before.ok) and is_seen, "; ".join(facts))

    def get(self, path: str) -> int | None:
        """A monitor's look: the status, or None where nobody answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=LOOK)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except OSError:
            return None
        finally:
            connection.close()

    def alarms(self) -> list[str]:
        """The kinds of the engine's alarms that are on."""
        return [alarm["name"] for shard in shards_of(self.store) for alarm in self.status(shard).get("alarms", ())]

    def rows(self, queue: str) -> int:
        """How much waits in a queue; 0 where the store cannot be read."""
        try:
            with closing(StoreReader(self.store)) as reader:
                return reader.queue_counts()[queue]
        except BotError:
            return 0

    def waiting(self) -> int:
        """How many contacts are in a flow."""
        with closing(StoreReader(self.store)) as reader:
            return sum(bool((session := reader.sessions.get(who)) and session.frames) for who in CONTACTS)

    def status(self, shard: StoreAddress | None = None) -> dict[str, Any]:
        """The answer of the engine, or of a shard's, to a command; nothing where it gives none."""
        try:
            return asdict(local_socket.ask(shard or self.store, AskStatus(), LOOK))
        except BotError:
            return {}

    # After it

    def heals(self, fact: str = "", within: float = 30.0) -> None:
        """The fault is over: all that was written is accepted and answered, and the bot is ready."""
        began = monotonic()
        while not (is_quiet := self._is_quiet()) and monotonic() - began < within:
            sleep(0.05)
        took = f"{'quiet after' if is_quiet else 'not quiet in'} {monotonic() - began:.1f} s"
        self.cells[HEALS] = Cell(is_quiet, f"{fact}; {took}" if fact else took)

    def _is_quiet(self) -> bool:
        texts = set(self._answers())
        answered = all((contact, f"You wrote: {said}") in texts for contact, said in self._written.values())
        accepted = len(self.gateway.acknowledged) == len(self._written)
        return (
            answered
            and accepted
            and (
                self.clock_is_movable()
                or (self.get("/readyz") == 200 and self.alarms_that_stay.issuperset(self.alarms()))
            )
        )

    def clock_is_movable(self) -> bool:
        """Whether the bot runs in this process, where no monitor can look."""
        return isinstance(self.gateway.clock, MovableClock)

    def judge(self) -> None:
        """The promises that are about all that was written, by the log and by what the gateway accepted."""
        self._look_at_log()
        acknowledged, accepted = set(self.gateway.acknowledged), self._answers()
        expected = [(self._written[id][0], f"You wrote: {self._written[id][1]}") for id in self._log]
        waiting = self.rows("outbox") if self.gateway.sent else 0
        missing = len(set(expected) - set(accepted)) + len(acknowledged - set(self._log))
        fact = f"{len(acknowledged)} acknowledged" + (f", {missing} still wait" if missing else "")
        self.cells[LOST] = Cell(0 <= missing <= waiting, fact)
        doubled = sum(count - 1 for count in Counter(accepted).values())
        self.cells[DOUBLED] = Cell(doubled == 0, f"{doubled} doubled" if doubled else "")
        crossed = [who for who in CONTACTS if not _is_in_order(who, accepted, expected)]
        self.cells[ORDER] = Cell(not crossed, f"{len(crossed)} contacts out of order" if crossed else "")
        over = self.gateway.counts.get("refused RATE_LIMIT_EXCEEDED", 0) - self.gateway.faults.hits.get(
            "rate_limited", 0
        )
        self.cells[LIMITS] = Cell(over <= 0, f"{over} requests over" if over > 0 else "")

    def _answers(self) -> list[tuple[str, str]]:
        return [(sent.to, str(sent.body["text"]["body"])) for sent in self.gateway.sent]

    def _look_at_log(self) -> None:
        """Note what the log holds; a restore may put an older one in its place."""
        for shard in shards_of(self.store):
            with suppress(BotError), closing(InboxReader(shard)) as reader:
                self._log |= dict.fromkeys(
                    row.event_id for row in reader.after(0, 10_000) if row.event_id in self._written
                )

    # What can be done to it

    @contextmanager
    def stands_still(self, pid: int) -> Iterator[None]:
        """A process that gets no time for as long as the block runs."""
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def back_up(self, name: str) -> Path:
        """`bot backup` while the bot runs."""
        assert call("backup", self.folder / name, "--bot", self.folder).code == 0
        return self.folder / name

    def restore(self, *arguments: str | Path) -> None:
        """`bot restore`, as the server's words said."""
        outcome = call("restore", *arguments, "--bot", self.folder)
        assert outcome.code == 0, outcome.err

    def files(self) -> tuple[Path, Path]:
        """The engine's file and the inbox, emptied of what SQLite has beside them."""
        files = self.file, inbox_path(self.file)
        for path in files:
            with closing(sqlite3.connect(path)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return files


def _is_in_order(contact: str, accepted: list[tuple[str, str]], expected: list[tuple[str, str]]) -> bool:
    answers = list(dict.fromkeys(answer for answer in accepted if answer[0] == contact))
    return answers == [answer for answer in expected if answer[0] == contact and answer in set(answers)]
