"""A bot in service, in a world that a plan turns against it: both processes, the gateway, the models, and the people."""

import atexit
import hashlib
import json
import re
import shutil
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit
from zlib import crc32

import psycopg

from bot.core import values
from bot.core.effects import HttpRequest, Publish, PutContact, Send
from bot.core.engine_requests import (
    AddRecipients,
    AnswerContact,
    AnyRequest,
    AskStatus,
    DropDeadLetters,
    EraseContact,
    GiveBack,
    ResetContact,
    ResumeBroadcast,
    RetryDeadLetters,
    SendMessage,
    StartFlow,
    StopBroadcast,
    TakeOver,
)
from bot.core.errors import BotError
from bot.core.own_addresses import ADDRESS, EXAMPLE
from bot.server.app import Engine, GatewayAccount
from bot.server.local_socket import NotRunning
from bot.server.web.web_service import WebService
from bot.services.gateway import webhook_events
from bot.services.gateway.webhook_events import Verdict
from bot.services.http_client import Response
from bot.services.request_errors import AnswerCut, RequestTimedOut, Unreachable
from bot.settings import ModelService
from bot.store.crash_quarantine import lost_connection
from bot.store.database import StoreAddress
from bot.store.files import ConnectionLost, inbox_path
from bot.store.opening import engine_reader, log_reader
from bot.store.sqlite_schema import migrate
from bot.testing.emulator import Emulator
from bot.testing.emulator.completion import CompletionService
from bot.testing.emulator.completion.completion_requests import RawCompletionRequest as Asked
from bot.testing.emulator.completion.model_answers import ModelAnswer, NoAnswer, RawAnswer, failure
from bot.testing.emulator.emulated_account import NotShown
from bot.testing.emulator.emulated_templates import MessageTemplate
from bot.testing.emulator.event_payloads import EVENTS
from bot.testing.emulator.gateway_api import RawRequest
from bot.testing.simulation.approved_templates import approved_templates
from tests.postgres import Postgres, new_database, postgres_server
from tests.testing.simulation import bots
from tests.testing.simulation.machine import (
    FILES,
    GATEWAY,
    MODELS,
    RECEIVER,
    BotClock,
    Crash,
    Disk,
    Machine,
    Request,
    Served,
    TrueClock,
    Unreadable,
    app_of_newest_server,
    simulated,
)
from tests.testing.simulation.plan import Plan
from tests.testing.simulation.threads import Event, Process

API_KEY = "programs-key"
EVENTS_SECRET = "events-secret"
RESTART_SECONDS = 1.0
MOST_STARTS = 30
"""How often in a row a process may fail to start."""
DAY = 86_400.0
UNDER_WAY = 3
"""Requests for one contact of which a crash may leave no trace: two endpoints refuse a type before the third takes it."""
_GARBAGE = b'{"success": tru\x00\xff not json'


@dataclass
class Network:
    """How deliveries get from the gateway to the bot: how likely each goes wrong in which way."""

    lost: float = 0.0
    unanswered: float = 0.0
    late: float = 0.0
    doubled: float = 0.0
    repeated: float = 0.0
    wakes_lost: bool = False


@dataclass
class Delivered:
    """What the gateway saw of an event: when it was first sent, and when first answered 200, by a common count."""

    id: str
    name: str
    contact: str | None
    sent: int
    answered: int | None = None


class SentRow(NamedTuple):
    """A message that was done with, as the store had it."""

    ref: str
    key: str
    contact: str
    effect: str
    outcome: str
    priority: int


class TurnRow(NamedTuple):
    """A turn, or a note, as the store has it."""

    id: int
    contact: str | None
    event_id: str
    rule: str
    effects: str
    event: str


@dataclass
class Seen:
    """What was read from the store while it was there."""

    turns: list[TurnRow] = field(default_factory=list)
    sent: dict[int, SentRow] = field(default_factory=dict)
    letters: dict[int, tuple[str, str | None, str, Any]] = field(default_factory=dict)


class World:
    """Everything of one run. Each method that a step of a plan names does what the step says."""

    def __init__(self, machine: Machine, plan: Plan, store: StoreAddress) -> None:
        self.machine = machine
        self.plan = plan
        self.store = store
        self.network = Network()
        self.mood = {"http": "fine", "work": plan.world["work"]}
        self.delivered: dict[str, Delivered] = {}
        self.events_taken: dict[
            str, str
        ] = {}  # by the receiver: contacts by the events' ids, in the order in which these came first
        self.programs_starts: dict[str, tuple[str, str]] = {}  # by event id: what was answered 202
        self.taken_over: set[str] = set()  # by a person, who gives them back in the end
        self.callbacks: list[str] = []  # the addresses that the service was told
        self.erased: set[str] = set()
        self.operated: list[tuple[str, str]] = []  # texts that an operator asked to be sent: contact, text
        self.retried: set[str] = set()
        self.jumped = False
        self.lived: list[list[TurnRow]] = []  # the turns that each restore has undone, and that are taken again
        self.other_history: set[str] = set()  # contacts whose turns then had to do with more than the log and its times
        self.suspected_later: list[str] = []  # events that an engine took one by one, and that came when it had begun
        self._begun_at: int | None = None  # by the common count
        self._lost_run: int | None = None
        self._restores = False  # whether a backup was made
        self._reloaded = False  # whether the flows were edited since
        self.crashes = 0  # of the engine, and connections that it has lost
        self.unknown_requests = 0  # at most: those of which the crashes have left no trace
        self.seen = Seen()
        self.engine: Engine | None = None
        self.failed: Exception | None = None
        self._version = 0
        self._begun = False
        self._count = 0
        self._running: dict[str, Process] = {}
        self._ended: dict[str, Event] = {}
        self._stops: dict[str, Event] = {}
        self._up = {"engine": False, "web": False}
        self.reader = engine_reader(store)
        self.inbox_reader = log_reader(store)
        self._make_gateway()
        self._make_models()
        machine.deliver, machine.died = self._deliver, self._process_died
        machine.latency = plan.world["latency"]
        bots.at_work.append(self._work)

    # Its parts

    def _make_gateway(self) -> None:
        world = self.plan.world
        self.gateway = Emulator(
            TrueClock(),  # type: ignore[arg-type]
            per_minute=world["per_minute"],
            per_day=world["per_day"],
            seed=self.plan.seed,
        )
        for name, value in world["behaviour"].items():
            setattr(self.gateway.behaviour, name, value)
        self.gateway.templates.add(*_templates())
        self.gateway.webhooks.register("bot", "http://127.0.0.1/webhook", EVENTS, self.gateway.secret)
        self.machine.peers[GATEWAY] = self._serve_gateway

    def _make_models(self) -> None:
        self.models = CompletionService(TrueClock())  # type: ignore[arg-type]
        self.models.answer_with(_model)
        self.machine.peers[MODELS] = self._serve_models
        self.machine.peers[RECEIVER] = self._serve_receiver
        self.machine.peers[FILES] = self._serve_file

    def begin(self) -> None:
        """Start the bot and the gateway."""
        scheduler = self.machine.scheduler
        scheduler.begin(self.machine.outside, "gateway", lambda: self.gateway.webhooks.start(2))
        for name, main in (("web", self._web), ("engine", self._engine)):
            scheduler.begin(self.machine.outside, f"supervisor of {name}", partial(self._supervise, name, main))

    def _supervise(self, name: str, main: Callable[[], None]) -> None:
        scheduler, failed = self.machine.scheduler, 0
        while failed < MOST_STARTS:
            process = self._running[name] = Process(name)
            ended = self._ended[name] = Event()
            scheduler.begin(process, f"{name} main", partial(self._main, name, main, ended))
            ended.wait()
            failed = 0 if self._up[name] else failed + 1
            self._up[name] = False
            scheduler.kill(process)
            while process.threads:
                scheduler.sleep(0.001)
            for give_back in process.held:
                give_back()
            scheduler.sleep(RESTART_SECONDS)
        self.machine.defects.append(f"{name} does not start")

    def _main(self, name: str, main: Callable[[], None], ended: Event) -> None:
        self._stops[name] = Event()
        try:
            main()
        except BotError as error:
            self.machine.note(f"{name} ends: {error}")
        ended.set()

    def _process_died(self, process: Process) -> None:
        if process.name == "engine":
            self._note_crash()
        self._ended[process.name].set()

    def _note_crash(self) -> None:
        self.crashes += 1
        sending = self.reader.one("SELECT count(DISTINCT contact) FROM outbox")[0]
        self.unknown_requests += UNDER_WAY * max(1, sending)

    def _web(self) -> None:
        service = WebService(
            self.store,
            None,  # type: ignore[arg-type]
            BotClock(),  # type: ignore[arg-type]
            secrets=[self.gateway.secret],
            tolerance=timedelta(seconds=self.plan.world["tolerance"]),
            path="/webhook",
            begun=lambda: self._begun,
            wake=lambda shards: self._wake(),
            ask=self._ask,
            api_key=API_KEY,
            addresses=EXAMPLE,
        )
        self._up["web"] = True
        self.machine.scheduler.begin(self._running["web"], "signals", lambda: self._stop_when_told(service))
        service.run()
        self.machine.note("web has stopped")

    def _stop_when_told(self, service: WebService) -> None:
        self._stops["web"].wait()
        service.stop()

    def _engine(self) -> None:
        world = self.plan.world
        if self._lost_run is not None:
            with closing(engine_reader(self.store)) as database, database.transaction() as execute:
                lost_connection(execute, self._lost_run)
            self._lost_run = None
        engine = Engine(
            bots.programs()[self._version],
            self.store,
            BotClock(),  # type: ignore[arg-type]
            GatewayAccount(
                GATEWAY,
                self.gateway.api_key,
                per_minute=world["per_minute"],
                per_day=world["per_day"],
                repeat_unknown=world["repeat_unknown"],
            ),
            models=ModelService(MODELS, self.models.key, ("acme/swift", "acme/wise"), "authorization"),
            requester=self._request,
            secrets={"CRM_SECRET": EVENTS_SECRET},
        )
        self._watch_quarantine(engine)
        engine.start()
        self._begun_at = self._count
        self.engine, self._up["engine"], self._begun = engine, True, True
        self.machine.scheduler.begin(self._running["engine"], "watch", lambda: self._stop_when_failed(engine))
        self._stops["engine"].wait()
        try:
            engine.check()
        except ConnectionLost:
            self._lost_run = engine.run_number
            raise
        engine.stop()
        self.machine.note("engine has stopped")

    def _watch_quarantine(self, engine: Engine) -> None:
        """Note which events an engine takes one by one, although they have come since it had started."""
        crashes, self._begun_at = engine._loop._cycle.crashes, None
        real = crashes.may_crash

        def may_crash(taken: Any) -> bool:
            found, event = real(taken), self.delivered.get(getattr(taken, "event_id", ""))
            if found and event is not None and self._begun_at is not None and event.sent > self._begun_at:
                self.suspected_later.append(event.id)
            return found

        crashes.may_crash = may_crash  # type: ignore[method-assign]

    def _stop_when_failed(self, engine: Engine) -> None:
        """An engine that has lost its connection begins anew."""
        engine._loop._thread.join()
        if engine._loop.failure is not None:
            self._note_crash()
        self._stops["engine"].set()

    def _wake(self) -> None:
        if self._up["engine"] and self.engine is not None and not self.network.wakes_lost:
            engine = self.engine
            self.machine.scheduler.begin(self._running["engine"], "wake", engine.wake)

    def _ask(self, request: AnyRequest) -> Any:
        """What the web process asks of the engine. Raises `NotRunning`."""
        answers, done, engine = list[Any](), Event(), self.engine
        if self._up["engine"] and engine is not None:

            def answer() -> None:
                answers.append(engine.operate(request))
                done.set()

            self.machine.scheduler.begin(self._running["engine"], "local", answer)
            done.wait(1.0)
        if not answers:
            raise NotRunning("the engine does not answer")
        return answers[0]

    # What the bot meets

    def _serve_gateway(self, request: Request) -> Served:
        headers = {name.lower(): value for name, value in request.headers.items()}
        incoming = RawRequest(
            request.method,
            request.path.removeprefix("/external-api"),
            headers.get("authorization", ""),
            headers.get("content-type", ""),
            headers.get("idempotency-key"),
            dict(parse_qsl(request.query)),
            request.body,
        )
        reply = self.gateway._api.respond(incoming)
        self.machine.note(
            f"gateway: {request.path.rpartition('/')[2]} -> {reply.answer.status} {reply.answer.code or ''} {reply.fault or ''}"
        )
        if reply.sent is not None:
            self.gateway._before_answer(reply.sent)
            self.machine.scheduler.begin(
                self.machine.outside, "statuses", partial(self.gateway._after_answer, reply.sent)
            )
        body = _GARBAGE if reply.fault == "garbage" else reply.answer.body
        broken = reply.fault in ("timeout", "reset_before", "reset_after", "truncated")
        late = reply.slow + (reply.held if reply.fault == "timeout" else 0.0)
        said = {name: value for name, value in reply.answer.headers.items() if self._tells(name)}
        return Served(reply.answer.status, said, [body], late, "reset" if broken else "whole")

    def _tells(self, header: str) -> bool:
        return bool(self.plan.world["says_limits"]) or not header.startswith("X-RateLimit")

    def _serve_models(self, request: Request) -> Served:
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(
            request.method, request.path.removeprefix("/api/v1/"), headers, dict(parse_qsl(request.query)), request.body
        )
        reply = self.models._api.respond(asked)
        ends = {"whole": "whole", "closed": "cut", "stalled": "hangs"}[reply.ending]
        return Served(reply.status, {"Content-Type": reply.content_type}, [p.data for p in reply.pieces], ends=ends)

    def _serve_receiver(self, request: Request) -> Served:
        """The receiver of events. Where its answer is lost it has taken the event all the same."""
        mood, event = self.mood["http"], json.loads(request.body)
        headers = request.headers["X-Service-Timestamp"], request.headers["X-Service-Signature"]
        now, tolerance = (
            BotClock().now(),
            timedelta(days=2) if self.jumped else timedelta(minutes=5),
        )  # the clock may be set meanwhile
        if webhook_events.verify([EVENTS_SECRET], *headers, request.body, now, tolerance) is not Verdict.GENUINE:
            self.machine.defects.append(f"the event {event['id']} is not signed as it should be")
        self.machine.note(f"receiver: {event['event']} of {event['data']['contact']}, {mood}")
        if mood in ("404", "500", "unreachable"):
            return Served(int(mood) if mood.isdigit() else 503, {}, [])
        self.events_taken.setdefault(event["id"], event["data"]["contact"])
        return Served(0 if mood == "late" else 200, {}, [], ends={"broken": "cut", "late": "hangs"}.get(mood, "whole"))

    def _serve_file(self, request: Request) -> Served:
        """The file of a photo, or of a voice note."""
        if request.path.endswith(".jpg"):
            return Served(200, {"Content-Type": "image/jpeg"}, [b"\xff\xd8\xff\xe0" + bytes(40)])
        return Served(200, {"Content-Type": "audio/ogg"}, [b"OggS" + bytes(40)])

    def _request(self, request: HttpRequest, key: str) -> Response:
        self.machine.point("request")
        self.machine.scheduler.sleep(self.machine.scheduler.random.choice((0.0, 0.5)))
        self.callbacks += re.findall(ADDRESS, request.body or "")
        match self.mood["http"]:
            case "404":
                return Response(404, {}, b"")
            case "500":
                return Response(500, {}, b"oh")
            case "unreachable":
                raise Unreachable("no connection")
            case "broken":
                raise AnswerCut("cut off")
            case "late":
                self.machine.scheduler.sleep(request.seconds)
                raise RequestTimedOut("timed out")
        return Response(200, {"content-type": "application/json"}, b'{"found": true}')

    def _work(self, what: str, key: str) -> Any:
        self.machine.point("request")
        match self.mood["work"]:
            case "busy":
                raise bots.Busy
            case "raises":
                raise RuntimeError("a bug of the bot's own")
            case "hangs":
                self.machine.scheduler.sleep(90)
            case "late":
                self.machine.scheduler.sleep(15)
            case "nothing storable":
                return object()
        return f"{what} done"

    # The way of an event to the bot

    def _deliver(self, body: bytes, headers: Mapping[str, str], within: float) -> int | None:
        scheduler, network = self.machine.scheduler, self.network
        seen = self._noted(body)
        if scheduler.random.random() < network.lost:
            scheduler.sleep(within)
            return None
        if scheduler.random.random() < network.late:
            scheduler.sleep(scheduler.random.uniform(0, 90))
        status = self._posted("/webhook", headers, body, within)
        if status == 200 and seen.answered is None:
            seen.answered = self._next()
        self.machine.note(f"event {seen.id} {seen.name} of {seen.contact} -> {status}")
        if scheduler.random.random() < network.doubled:
            self._posted("/webhook", headers, body, within)
        if scheduler.random.random() < network.repeated:
            self._posted("/webhook", {**headers, "X-Service-Delivery-Id": f"again {self._next()}"}, body, within)
        if scheduler.random.random() < network.unanswered:
            scheduler.sleep(within)
            return None
        return status

    def _noted(self, body: bytes) -> Delivered:
        event = json.loads(body)
        id, count = event["id"], self._next()
        if id not in self.delivered:
            self.delivered[id] = Delivered(id, event["event"], _contact_of(event), count)
        return self.delivered[id]

    def _next(self) -> int:
        self._count += 1
        return self._count

    def _posted(self, path: str, headers: Mapping[str, str], body: bytes, within: float) -> int | None:
        scheduler, answers, done = self.machine.scheduler, list[int](), Event()
        waited = 0.0
        while not self._up["web"]:  # the supervisor holds the socket: a connection waits
            if waited >= within:
                return None
            scheduler.sleep(0.25)
            waited += 0.25
        app = app_of_newest_server()

        def answer() -> None:
            self.machine.point("webhook")
            answers.append(_asked(app, path, headers, body))
            done.set()

        scheduler.begin(self._running["web"], "request", answer)
        done.wait(within)
        return answers[0] if answers else None

    # What the plan says

    def says(self, contact: str, text: str) -> None:
        self.gateway.receive(contact, text)

    def taps(self, contact: str, which: float) -> None:
        shown = self.gateway.shown(contact)
        if shown:
            try:
                self.gateway.tap(contact, shown[int(which * len(shown))].id)
            except NotShown:
                pass

    def program(self, contact: str, flow: str, busy: str, id: str, twice: bool) -> None:
        body = json.dumps({"contact": contact, "data": {"what": id} if flow == "told" else {}, "busy": busy}).encode()
        headers = {"Authorization": f"Bearer {API_KEY}", "Idempotency-Key": id, "Content-Type": "application/json"}
        event_id = "start:" + hashlib.sha256(json.dumps([flow, contact, id]).encode()).hexdigest()[:40]

        def ask() -> None:
            for _ in range(1 + twice):
                status = self._posted(f"/api/flows/{flow}/start", headers, body, 5.0)
                self.machine.note(f"start of {flow} for {contact} -> {status}")
                if status == 202:
                    self.programs_starts[event_id] = contact, flow

        self.machine.scheduler.begin(self.machine.outside, "program", ask)

    def signal(self, contact: str, name: str, id: str, twice: bool) -> None:
        body = json.dumps({"contact": contact, "signal": name, "data": {"by": id} if name != "seen" else {}}).encode()
        headers = {"Authorization": f"Bearer {API_KEY}", "Idempotency-Key": id, "Content-Type": "application/json"}
        self._post_signal(f"signal {name} for {contact}", "/api/signals", headers, body, twice)

    def url(self, which: float, by: str, twice: bool) -> None:
        """A service that was told an address reports to it."""
        if self.callbacks:
            path = urlsplit(self.callbacks[int(which * len(self.callbacks))]).path
            body, headers = json.dumps({"by": by}).encode(), {"Content-Type": "application/json"}
            self._post_signal("signal by address", path, headers, body, twice)

    def _post_signal(self, what: str, path: str, headers: Mapping[str, str], body: bytes, twice: bool) -> None:
        def post() -> None:
            for _ in range(1 + twice):
                self.machine.note(f"{what} -> {self._posted(path, headers, body, 5.0)}")

        self.machine.scheduler.begin(self.machine.outside, "signal", post)

    def agent(self, contact: str, comes: bool) -> None:
        (self.gateway.assign if comes else self.gateway.resolve)(contact)
        self.taken_over.add(contact)

    def voice(self, contact: str, name: str) -> None:
        self.gateway.receive(contact, kind="audio", media_url=f"{FILES}/{name}")

    def photo(self, contact: str, name: str, caption: str) -> None:
        self.gateway.receive(contact, caption or None, kind="image", media_url=f"{FILES}/{name}")

    def broadcast(self, what: str, name: str, contacts: list[str], later: int) -> None:
        if what != "add":
            self._operate(StopBroadcast(name) if what == "stop" else ResumeBroadcast(name))
            return
        sends = name.split()[0]
        what_it_sends: dict[str, Any] = (
            {"template": {"name": "news", "language": "en"}} if sends == "news" else {"flow": sends}
        )
        timed = name.endswith("3")  # those are on each contact's own clock
        recipients = list[dict[str, Any]]()
        for place, contact in enumerate(contacts):
            text, due_at = f"{name} for {contact}", TrueClock().now() + timedelta(seconds=later + 600 * place)
            own = {"body": [text]} if sends == "news" else {"data": {"what": text} if sends == "told" else {}}
            recipients.append({"contact": contact, **own, **({"at": due_at.isoformat()} if timed else {})})
        at = "10:00" if timed else ""
        self._operate(AddRecipients(name, recipients, at=at, **what_it_sends))

    def operator(self, what: str, contact: str, text: str) -> None:
        match what:
            case "erase":
                self.erased.add(contact)
                self._operate(EraseContact(contact))
            case "reset":
                self._operate(ResetContact(contact))
            case "status":
                self._operate(AskStatus())
            case "send":
                self.operated.append((contact, text))
                self._operate(SendMessage(contact, text))
            case "take":
                self.taken_over.add(contact)
                self._operate(TakeOver(contact, by="olga"))
            case "answer":
                self.operated.append((contact, text))
                self._operate(AnswerContact(contact, text, by="olga"))
            case "give_back":
                self._operate(GiveBack(contact, by="olga"))
            case "start":
                self._operate(StartFlow(contact, "told", {"what": text}, "interrupt"))
            case "retry" | "drop":
                letters = self.reader.all("SELECT id, contact FROM dead_letters")
                if letters:
                    self.retried.update(contact for _, contact in letters if contact)
                    ids = [id for id, _ in letters]
                    self._operate(RetryDeadLetters(ids, sure=True) if what == "retry" else DropDeadLetters(ids))

    def _operate(self, request: AnyRequest) -> None:
        engine = self.engine
        if not self._up["engine"] or engine is None:
            self.machine.note("the engine does not run")
            return

        def ask() -> None:
            try:
                self.machine.note(f"answer: {engine.operate(request)}")
            except BotError as error:
                self.machine.note(f"refused: {error}")

        self.machine.scheduler.begin(self._running["engine"], "operator", ask)

    def reload(self, version: int) -> None:
        self._version, self._reloaded = version, True
        engine = self.engine
        if self._up["engine"] and engine is not None:
            self.machine.scheduler.begin(
                self._running["engine"], "reload", lambda: engine.swap(bots.programs()[version])
            )

    def crash(self, process: str, point: str, after: int) -> None:
        self.machine.crashes.append(Crash(process, point, after))

    def crash_loop(self, after: list[int], contacts: list[str], number: int) -> None:
        """The engine crashes again and again, at once, while people write."""
        self.machine.crashes += [Crash("engine", "commit", each) for each in after]

        def write() -> None:
            for place, contact in enumerate(contacts):
                self.says(contact, f"load {number} {place}")
                self.machine.scheduler.sleep(0.3)

        self.machine.scheduler.begin(self.machine.outside, "load", write)

    def restore(self, later: float) -> None:
        """A backup of the engine's file is made now, and put back later, beside the log as it is then."""
        if not isinstance(self.store, Path) or self._restores:
            return
        self._restores, self._reloaded = True, False
        backup = self.machine.folder / "backup.db"
        with closing(sqlite3.connect(self.store)) as engine, closing(sqlite3.connect(backup)) as copy:
            engine.backup(copy)

        def put_back() -> None:
            self.machine.scheduler.sleep(later)
            while not all(self._up.values()):
                self.machine.scheduler.sleep(1.0)
            self.machine.note("> the backup is restored, and the log is kept")
            for name in ("engine", "web"):
                self.machine.kill(self._running[name], "for the restore")
            self.machine.scheduler.sleep(RESTART_SECONDS / 2)
            self._put_back(backup)

        self.machine.scheduler.begin(self.machine.outside, "restore", put_back)

    def _put_back(self, backup: Path) -> None:
        assert isinstance(self.store, Path)
        self.read()
        self.reader.close()
        for suffix in ("", "-wal", "-shm"):
            self.store.with_name(self.store.name + suffix).unlink(missing_ok=True)
        backup.rename(self.store)
        self.reader, seen = engine_reader(self.store), self.seen
        turns, sent, letters = self.reader.one(
            "SELECT last_turn, last_send, (SELECT coalesce(max(id), 0) FROM dead_letters) FROM meta"
        )
        undone = [turn for turn in seen.turns if turn.id > turns]
        self.lived.append(undone)
        known = self.delivered.keys()
        self.other_history |= {
            turn.contact or ""
            for turn in undone
            if not (turn.event_id in known or turn.event_id.startswith(("time:", "kept:"))) or not _is_of_the_log(turn)
        }
        if self._reloaded or self.jumped:  # the clock is not set again while they are taken again
            self.other_history.update(bots.CONTACTS)
        self.seen = Seen(
            [turn for turn in seen.turns if turn.id <= turns],
            {id: row for id, row in seen.sent.items() if id <= sent},
            {id: row for id, row in seen.letters.items() if id <= letters},
        )

    def query(self, after: int, count: int) -> None:
        self.machine.unreadable = Unreadable(after, count)

    def defect(self, process: str, point: str, after: int) -> None:
        self.machine.crashes.append(Crash(process, point, after, raises=True))

    def stop(self, process: str) -> None:
        if self._up[process]:
            self._stops[process].set()

    def disk(self, file: str, trouble: str, commits: int) -> None:
        self.machine.disk[file] = Disk(trouble, commits)

    def clock(self, wrong_by: int) -> None:
        self.jumped = True
        self.machine.offset = timedelta(seconds=wrong_by)

    def webhooks(self, **network: Any) -> None:
        self.network = Network(**network)

    def rush(self, contacts: list[str], texts: list[str], seconds: float) -> None:
        self.gateway.faults.add("slow", count=len(contacts) * len(texts), seconds=seconds)
        for text in texts:
            for contact in contacts:
                self.says(contact, text)

    def gateway_fault(self, kind: str, count: int, seconds: float, status: int, code: str) -> None:
        if kind != "refused":
            self.gateway.faults.add(kind, count=count, seconds=seconds, status=status, code=code)
            return
        self.machine.unreachable.add(GATEWAY)

        def later() -> None:
            self.machine.scheduler.sleep(seconds)
            self.machine.unreachable.discard(GATEWAY)

        self.machine.scheduler.begin(self.machine.outside, "gateway comes back", later)

    def channel(self, active: bool) -> None:
        (self.gateway.inactive_channels.clear if active else lambda: self.gateway.inactive_channels.add("channel-1"))()

    def model(self, kinds: list[str]) -> None:
        queue = self.models._api.script.queue
        for kind in kinds:
            match kind:
                case "hang":
                    queue("chat/completions", NoAnswer())
                case "cut":
                    queue("chat/completions", ModelAnswer("We have it.\n\nWhat else?", cut_after=180))
                case "stall":
                    queue("chat/completions", ModelAnswer("We have it.\n\nWhat else?", stall_after=180))
                case "empty":
                    queue("chat/completions", ModelAnswer(""))
                case "page":
                    queue("chat/completions", RawAnswer(503, b"<html>no</html>"))
                case _:
                    queue("chat/completions", failure(kind))

    def services(self, http: str, work: str) -> None:
        self.mood = {"http": http, "work": work}

    # The run

    def run(self) -> None:
        """Do all that the plan says, then switch every fault off and let time pass until nothing can be left to do."""
        scheduler = self.machine.scheduler
        self.begin()
        scheduler.pass_to(1.0)
        for step in self.plan.steps:
            scheduler.pass_to(scheduler.now + step.after)
            self.read()
            self.machine.note(f"> {step.kind} {step.given}")
            getattr(self, "gateway_fault" if step.kind == "gateway" else step.kind)(**step.given)
            scheduler.run()
            self.read()
        scheduler.pass_to(scheduler.now + 2.0)
        self.machine.note("> all faults end, and time passes")
        self._end_faults()
        for _ in range(3):
            scheduler.pass_to(scheduler.now + 1.5 * DAY)
            self.read()

    def _end_faults(self) -> None:
        self.network = Network()
        self.mood = {"http": "fine", "work": "fine"}
        self.gateway.faults.clear()
        self.gateway.inactive_channels.clear()
        self.models._api.script._queued.clear()
        self.machine.unreachable.clear()
        self.machine.disk.clear()
        self.machine.unreadable = None
        self.machine.crashes.clear()
        self.machine.offset = timedelta()
        for contact in sorted(self.taken_over):
            self.gateway.resolve(contact)

    def read(self) -> None:
        """Read what is new in the store."""
        last = self.seen.turns[-1][0] if self.seen.turns else 0
        turns = "SELECT id, contact, event_id, rule, effects, event FROM turns WHERE id > ? ORDER BY id"
        self.seen.turns += (TurnRow(*row) for row in self.reader.all(turns, last))
        sent = "SELECT id, ref, key, contact, effect, outcome, priority FROM sent"
        self.seen.sent.update((id, SentRow(*row)) for id, *row in self.reader.all(sent))
        letters = "SELECT id, what, contact, reason, body FROM dead_letters"
        self.seen.letters.update((row[0], row[1:]) for row in self.reader.all(letters))

    def close(self) -> None:
        """End everything at once."""
        self.machine.scheduler.abandon([*self._running.values(), self.machine.outside])
        for process in self._running.values():
            for give_back in process.held:
                give_back()
        self.reader.close()
        self.inbox_reader.close()
        bots.at_work.remove(self._work)


def _model(request: Mapping[str, Any]) -> str:
    """What a model says: the same to the same question, and something of each kind to different ones."""
    rules, said = request["messages"][0]["content"], request["messages"][-1]["content"]
    nth = crc32(f"{said}".encode())
    if "what one message of a contact is about" in rules:
        return ("buy 90", "none", "buy 50", "hm")[nth % 4]
    if "JSON" in rules:
        return ('{"number": 3}', '{"number": 3, "size": "Large"}', "{}", '{"number": "x"}')[nth % 4]
    if "exactly one" in rules or "good" in rules:
        return ("good", "bad", "hm")[nth % 3]
    return "We have it.\n\nWhat else?"


@cache
def _templates() -> list[MessageTemplate]:
    news = MessageTemplate("news", "en", body="News: {{1}}")
    return [news, *(template for program in bots.programs() for template in approved_templates(program.library))]


@cache
def _empty_store() -> Path:
    """A store that each run begins with a copy of. It lasts as long as this process."""
    folder = mkdtemp(prefix="simulated-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    store = Path(folder) / "bot.db"
    migrate(store)
    return store


def _is_of_the_log(turn: TurnRow) -> bool:
    """Whether a turn did nothing but send, so that what follows it is known from the log and its times."""
    return all(isinstance(effect, Send | PutContact | Publish) for effect in values.loads(turn.effects))


def _contact_of(event: dict[str, Any]) -> str | None:
    contact = event.get("contact") or event.get("data", {}).get("from")
    return contact if isinstance(contact, str) else None


def _asked(app: Any, path: str, headers: Mapping[str, str], body: bytes) -> int:
    environ = {
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "QUERY_STRING": "",
        "SERVER_NAME": "bot",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "CONTENT_LENGTH": str(len(body)),
        "CONTENT_TYPE": headers.get("Content-Type", ""),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": BytesIO(body),
        "wsgi.errors": BytesIO(),
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        **{f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()},
    }
    statuses: list[int] = []
    answer = app(environ, lambda status, head, exc_info=None: statuses.append(int(status[:3])))
    b"".join(answer)
    if hasattr(answer, "close"):
        answer.close()
    return statuses[0]


@contextmanager
def in_files(folder: Path) -> Iterator[StoreAddress]:
    """A new store in a folder."""
    store = folder / "bot.db"
    shutil.copy(_empty_store(), store)
    shutil.copy(inbox_path(_empty_store()), inbox_path(store))
    yield store


@contextmanager
def in_postgres(folder: Path) -> Iterator[StoreAddress]:
    """A new store in a database of PostgreSQL. Nobody waits for a lock there: one thread runs at a time, and may wait for ever."""
    server, _ = _server()
    with new_database(server, folder) as store:
        yield replace(store, url=f"{store.url}&options=-clock_timeout%3D5s")


@cache
def _server() -> tuple[Postgres, psycopg.Connection[Any]]:
    """A server that lasts as long as this process, and a connection of its administrator's."""
    parts = ExitStack()
    server = parts.enter_context(postgres_server())
    atexit.register(parts.close)  # before its folder is removed
    return server, parts.enter_context(psycopg.connect(server.url("postgres"), autocommit=True))


_END = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = %s"


def _end_session(session: int) -> None:
    _, administrator = _server()
    while administrator.execute(_END, [session]).fetchone():  # until it has ended: quicker than waiting there
        pass


NewStore = Callable[[Path], AbstractContextManager[StoreAddress]]


@contextmanager
def played(plan: Plan, new_store: NewStore = in_files) -> Iterator[World]:
    """The world after a plan has been played, or has failed: then `World.failed` says how."""
    bots.programs(), _templates(), _empty_store()  # not within: they last
    folder = Path(mkdtemp(prefix="simulated-"))
    with new_store(folder) as store, simulated(f"threads {plan.seed}", folder) as machine:
        machine.end_session = _end_session
        world = World(machine, plan, store)
        try:
            world.run()
        except Exception as error:
            world.failed = error
        try:
            yield world
        finally:
            world.close()
            shutil.rmtree(folder, ignore_errors=True)
