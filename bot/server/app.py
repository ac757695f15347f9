"""The composition root: the parts of a bot, put together with plain arguments."""

import logging
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from bot.core.alarms import Alarms
from bot.core.clock import Clock, time_of
from bot.core.defects import guard
from bot.core.effects import AskModel, Call, DeleteFile, Fetch, HttpRequest, JudgeAnswer, Publish, RunHook, Transcribe
from bot.core.engine_answers import EngineAnswer, FormPage, Metrics, Mistakes, ServedFlows, Status
from bot.core.engine_requests import (
    A,
    AnyRequest,
    AskFlows,
    AskMetrics,
    AskStatus,
    CheckSignal,
    CheckStart,
    EngineRequest,
    GatewayCommand,
    NoteCommand,
    OpenForm,
    answer_to,
)
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.own_addresses import EXAMPLE, OwnAddresses
from bot.core.session import HAS_OPTED_OUT, Session
from bot.engine.advance import advance
from bot.engine.forms import form_page
from bot.engine.scheduled_flows import objections, signal_fields, signal_objections
from bot.language.flow.event_receiver import EventReceiver
from bot.language.flow.library import Library
from bot.language.steps.judging import AT_ONCE
from bot.loading.program import Program
from bot.runtime.batch import EngineShare
from bot.runtime.delivery import Delivery, WaitReason
from bot.runtime.engine_cycle import EngineCycle
from bot.runtime.engine_loop import GATHERING, EngineLoop, WakePipe
from bot.runtime.event_calls import EventCalls
from bot.runtime.file_calls import Downloads, FileCalls, FileDeletions, LocalFiles
from bot.runtime.gateway_commands import GatewayCommands
from bot.runtime.http_calls import HttpCalls
from bot.runtime.metrics import EngineMetrics
from bot.runtime.operator_requests import refuse_mistakes
from bot.runtime.performers import CallAttempt, CrashQuarantine, Perform, Performers, PerformersByEffect, Prompter, Say
from bot.runtime.python_calls import PythonCalls
from bot.runtime.rate_limiter import ContactLimiter
from bot.runtime.shared_limiter import open_limiter
from bot.runtime.template_check import places_filled
from bot.runtime.transcriptions import Known, Transcriptions
from bot.services.gateway import webhook_events
from bot.services.gateway.gateway_client import Gateway
from bot.services.http_client import ReachabilityAlarm
from bot.services.mcp_client import McpClient
from bot.services.outgoing import Requester, ServiceRequester
from bot.settings import ModelService
from bot.store.database import StoreAddress, whole_of
from bot.store.engine_store import RESULTS_DAYS, EngineStore
from bot.store.inbox import InboxReader
from bot.store.kept_files import ObjectFiles, kept_files
from bot.store.results import counted_as
from bot.store.rows import CallRow
from bot.store.store_reader import StoreReader

if TYPE_CHECKING:
    from bot.runtime.model_calls import ModelCalls

STOP_SECONDS = 18.0  # a send may take so long; a handler that hangs is left alone then
TAKING_SECONDS = 4.0
TOLERANCE = timedelta(minutes=5)
_GATEWAY = ("gateway-unreachable", "the gateway", "check BOT_GATEWAY_URL and the network")
_MODEL = ("model-unreachable", "the chat-completion service", "check BOT_AI_URL and the network")
log = logging.getLogger(__name__)


class EngineFailed(BotError):
    """The engine's loop has ended by itself."""


@immutable
class GatewayAccount:
    """The account that the bot sends with, and its limits: requests per minute and per 24 hours, and a contact's share
    of the latter.

    ``repeat_unknown`` repeats a reply once when nobody can tell whether it was sent.
    """

    url: str
    key: str = field(repr=False)
    channel_id: str | None = None
    per_minute: int = 60
    per_day: int = 10_000
    per_contact: int | None = None
    repeat_unknown: bool = False


@immutable
class StandIns:
    """The parts of a bot for which others stand in where its only contact is made up.

    ``spoken`` says what is known of voice notes, ``prompter`` asks a person before a model is asked, ``located`` is
    that of `bot.runtime.file_calls.Downloads`.
    """

    spoken: Known = lambda url: None
    prompter: Prompter | None = None
    located: Callable[[str], str] = lambda url: url


class Engine:
    """The engine half of a bot: it takes the events of a store's inbox, sends, calls handlers and asks models.

    ``models`` says which service is asked for AI turns, ``requester`` stands in for the sending of HTTP requests, and
    ``secrets`` holds those that `bot.yml` names; ``wakes`` is that of `bot.runtime.engine_loop.EngineLoop`.
    ``database`` is the connection that writes the store. With ``stand_ins`` nobody gets the bot's events, and no answer
    is judged.
    Raises `StoreLocked` and `StoreMissing` of `bot.store.files`.
    """

    def __init__(
        self,
        program: Program,
        store: StoreAddress,
        clock: Clock,
        account: GatewayAccount,
        *,
        answer_ids: bool = False,
        results_days: int = RESULTS_DAYS,
        models: ModelService | None = None,
        requester: Requester | None = None,
        secrets: Mapping[str, str] | None = None,
        wakes: WakePipe | None = None,
        addresses: OwnAddresses = EXAMPLE,
        stand_ins: StandIns | None = None,
    ) -> None:
        program.library.prepare()
        self.answer_ids = answer_ids
        self._program = program
        self._store = store
        self._addresses = addresses
        self._clock = clock
        self.alarms = Alarms(clock)
        self._metrics = EngineMetrics()
        self._kept_files = kept_files(store, self.alarms)
        with ExitStack() as opened:
            engine_file = opened.enter_context(closing(EngineStore(store, results_days, self._kept_files)))
            inbox = opened.enter_context(closing(InboxReader(store)))
            reader = opened.enter_context(closing(StoreReader(store)))
            whole = reader if whole_of(store) == store else opened.enter_context(closing(StoreReader(whole_of(store))))
            self._opted_out = whole.sessions.opted_out
            reach, channels = ReachabilityAlarm(self.alarms, clock, *_GATEWAY), program.library.bot.channels
            gateway = Gateway(account.url, account.key, account.channel_id, channels=channels, reach=reach)
            opened.enter_context(closing(gateway))
            self._limiter = open_limiter(
                store, clock, reader, account.per_minute, account.per_day, crashed=not reader.ended_clean()
            )
            opened.callback(self._limiter.stop)
            contact_limiter = self._contact_limiter(account, reader)
            self._mcp = McpClient(program.library.bot.mcp, secrets or {})
            self._python_calls = PythonCalls(self._mcp.bound(program.extensions), self._kept_files)
            self._model_calls = None if models is None else self._open_models(models, whole, opened)
            self._files = opened.pop_all()
        self._inbox = inbox
        self.database = engine_file.database
        is_real = stand_ins is None
        cycle = self._cycle(engine_file, inbox, is_real)
        self._crashes = cycle.crashes
        self._loop = EngineLoop(cycle, clock, self.alarms, GATHERING if is_real else 0.0, wakes)
        self.wake = self._loop.wake  # there is something to read in the inbox
        self._delivery = self._delivery_through(gateway, reader, contact_limiter, account.repeat_unknown)
        self._commands = GatewayCommands(gateway, self._delivery.permit, self._note_command, clock)
        others = stand_ins or StandIns()
        self._service_requester = ServiceRequester(program.library.bot.services, secrets or {})
        self._http_calls = HttpCalls(requester or self._service_requester, clock)
        events = EventCalls(self._receiver, secrets or {}, clock, self.alarms) if is_real else _not_delivered
        judge = _judge(self._model_calls) if is_real else _not_judged
        self._performers = self._performers_for(Downloads(account.url, others.located), events, judge, others)

    def _contact_limiter(self, account: GatewayAccount, reader: StoreReader) -> ContactLimiter:
        """The limiter of each contact's messages, which knows those that earlier runs have sent."""
        elapsed, requests = self._clock.elapsed(), reader.messages.requests_for(self._clock.now())
        sent = [(elapsed - ago, contact, count) for ago, contact, count in requests]
        return ContactLimiter(self.alarms, account.per_minute, account.per_day, account.per_contact, sent)

    def _cycle(self, engine_file: EngineStore, inbox: InboxReader, is_real: bool) -> EngineCycle:
        return EngineCycle(
            engine_file,
            inbox,
            self._clock,
            partial(advance, self._served(self._program.library)),
            partial(webhook_events.read, ids=self.answer_ids),
            self._metrics,
            self.alarms,
            self._python_calls.dead_letter_hooks,
            EngineShare(self._clock) if is_real else None,  # one contact alone never rests for others
        )

    def _delivery_through(
        self, gateway: Gateway, reader: StoreReader, contact_limiter: ContactLimiter, repeat_unknown: bool
    ) -> Delivery:
        return Delivery(
            gateway,
            self._clock,
            self._limiter,
            self._loop.sent,
            reader.sessions.last_inbound,
            alarms=self.alarms,
            contact_limiter=contact_limiter,
            replaced=reader.messages.last_replaced,
            opted_out=reader.sessions.opted_out,
            claim=self._loop.begin_claim,
            repeat_unclear=repeat_unknown,
        )

    def _open_models(self, models: ModelService, reader: StoreReader, opened: ExitStack) -> "ModelCalls":
        from bot.runtime.model_calls import ModelBreaker, ModelCalls
        from bot.services.ai.ai_client import Completions  # 15 ms, which bots without models need not spend

        reach = ReachabilityAlarm(self.alarms, self._clock, *_MODEL)
        service = Completions(models.url, models.key, key_in=models.key_in, reach=reach)
        opened.enter_context(closing(service))
        breaker, call = ModelBreaker(self._clock), self._python_calls.call
        return ModelCalls(service, breaker, models.models, reader.usage.tokens, call, self._clock, self.alarms)

    def _performers_for(
        self, downloads: Downloads, events: Perform, judge: Perform, others: StandIns
    ) -> PerformersByEffect:
        """The performers of all kinds of calls."""
        loop, files = self._loop, self._kept_files
        quarantine = CrashQuarantine(self._crashes.may_crash, loop.claim, is_suspect=self._crashes.is_suspect)
        file_calls = FileCalls(downloads, files)
        python, http = self._near(self._python_calls), self._near(self._http_calls)
        transcriptions = Transcriptions(file_calls, python, http, others.spoken, files.remove)
        models = self._model_calls or _no_service
        moderated = replace(quarantine, concerns=_is_moderated)
        make = partial(partial, Performers, clock=self._clock, report=loop.called)
        return PerformersByEffect(
            {
                Call: make(python, quarantine=quarantine),
                RunHook: make(python, name="hooks", threads=4, quarantine=quarantine),
                Fetch: make(file_calls, name="files", threads=4, spare=4),
                DeleteFile: make(FileDeletions(files), name="deletions"),
                HttpRequest: make(http, name="http calls"),
                Transcribe: make(transcriptions, name="voice notes", quarantine=quarantine),
                AskModel: make(models, name="models", threads=32, quarantine=moderated, prompter=others.prompter),
                JudgeAnswer: make(judge, name="judges", threads=AT_ONCE // 2, spare=AT_ONCE // 2),
                Publish: make(events, name="events", threads=8, spare=8),
            },
            self._crashes.may_crash,
        )

    def _near(self, perform: Perform) -> Perform:
        """The performer; if kept files lie elsewhere, one that first gets local copies of them (`LocalFiles`)."""
        return LocalFiles(self._kept_files, perform) if isinstance(self._kept_files, ObjectFiles) else perform

    def _receiver(self) -> EventReceiver | None:
        return self._program.library.bot.events_to

    def start(self) -> None:
        """Begin to work. Raises `bot.store.integrity.StoresDiffer`."""
        self._python_calls.start()
        self._loop.start(self._delivery, self._performers)
        self._delivery.start()
        self._limiter.start(self._delivery.share_breakers, self._delivery.permits_came)
        self._performers.start()

    def stop(self, timeout: float = STOP_SECONDS) -> None:
        """Finish the work under way within ``timeout`` seconds. The rest is durable and waits for the next start.

        Results of messages and calls that have ended are still taken, within `TAKING_SECONDS` more.
        """
        until = monotonic() + timeout
        self._performers.end()  # while delivery waits for its last answers, no new call begins
        for part in (self._delivery, self._performers):
            part.stop(max(0.0, until - monotonic()))
        self._loop.stop(TAKING_SECONDS)
        self._python_calls.stop()
        self._files.close()

    def swap(self, program: Program) -> None:
        """Take the next event with these flows and handlers."""
        self._mcp.use(program.library.bot.mcp)
        self._python_calls.swap(self._mcp.bound(program.extensions))
        self._delivery.use_channels(program.library.bot.channels)
        self._service_requester.use(program.library.bot.services)
        self._http_calls.cache.clear()
        self._loop.use(partial(advance, self._served(program.library)), self._python_calls.dead_letter_hooks)
        self._program = program  # last: the next event is taken with the flows that others see here

    def _served(self, library: Library) -> Library:
        """The library as turns use it: with addresses, and if no model is set up, without the parts that
        need a model.
        """
        served = library if self._model_calls is not None else library.without_model()
        return served.with_addresses(self._addresses)

    def own_file(self, path: str) -> bytes | None:
        """The content of a file of the bot's own, by its path in its folder; None if it is missing."""
        return self._program.library.files.get(path)

    def operate(self, request: EngineRequest[A]) -> A:
        """Do what an operator or a program asks: see `bot.core.engine_requests`. Raises
        `bot.runtime.batch.RequestRefused`.
        """
        return answer_to(request, self._done(request))

    def _done(self, request: AnyRequest) -> EngineAnswer:
        match request:
            case CheckStart():
                return Mistakes(self.check_start(request))
            case CheckSignal():
                return Mistakes(self.check_signal(request), signal_fields(self._program.library, request.name))
            case OpenForm():
                return _form_page(self._store, self._program.library, request, self._clock.now())
            case GatewayCommand():
                found: EngineAnswer = self._commands.run(request)
                return found
            case AskFlows():
                library = self._program.library
                return ServedFlows(counted_as(library), places_filled(library), library.bot.agents.replies)
            case AskMetrics():
                return Metrics(self._metrics_text(self._cursor()))
            case AskStatus(ids=ids):
                return self._status(self._cursor(), ids or ())
        refuse_mistakes(self._program.library, request)
        return self._loop.operate(request)

    def _cursor(self) -> int:
        """The place in the log up to which events were taken."""
        cursor = self._loop.operate(AskStatus()).cursor
        assert cursor is not None
        return cursor

    def _status(self, cursor: int, ids: Sequence[int]) -> Status:
        delivery = self._delivery.status()
        waits = self._delivery.waits({id for id in ids if isinstance(id, int)})
        return Status(
            cursor,
            delivery.waiting,
            delivery.in_flight,
            delivery.left,
            [alarm.as_json() for alarm in self.alarms.current()],
            {str(id): _wait_as_json(wait) for id, wait in waits.items()},
        )

    def _metrics_text(self, cursor: int) -> str:
        queues, now = ("outbox", "calls", "events_out", "parked"), self._clock.now()
        with closing(StoreReader(self._store)) as reader:  # nobody waits for this one while it counts
            rows, since = reader.counts(), reader.oldest()
        rows = {queue: rows[queue] for queue in (*queues, "dead_letters")} | {"inbox": self._inbox.count_after(cursor)}
        ages = {queue: max(0.0, (now - since[queue]).total_seconds()) if queue in since else 0.0 for queue in queues}
        return self._metrics.text(rows, ages, self._delivery.status().left, self.alarms.current())

    def check_start(self, request: CheckStart) -> dict[str, str]:
        """The mistakes in a start (see `bot.engine.scheduled_flows`), by field."""
        out = {"contact": f"{HAS_OPTED_OUT}: no flow is started for it"} if self._opted_out(request.contact) else {}
        return objections(self._program.library, request.flow, request.data) | out

    def check_signal(self, request: CheckSignal) -> dict[str, str]:
        """The mistakes in a signal (see `bot.engine.scheduled_flows`), by field."""
        return signal_objections(self._program.library, request.name, request.data, by_address=request.by_address)

    def _note_command(self, command: str) -> None:
        self._loop.operate(NoteCommand(command))

    def has_taken_all(self) -> bool:
        """True if every event that has come was taken, and perhaps parked."""
        return not self._inbox.has_after(self._cursor())

    @property
    def run_number(self) -> int:
        """The number of the run that `start` began: see `bot.store.crash_quarantine`."""
        return self._crashes.run.number

    def is_calling(self) -> bool:
        """True if a call is under way, or could begin now: of Python, a service or a model, or for a file."""
        return not self._performers.idle()

    def settled(self) -> bool:
        """True when nothing is left to do until something comes in or time passes."""
        return self._loop.settled()

    def wait_settled(self, timeout: float) -> bool:
        """Wait until nothing is left to do before something comes in or time passes; False after ``timeout``."""
        return self._loop.wait_settled(timeout)

    def next_due(self) -> datetime | None:
        """The time at which something happens by itself: a wake-up, or the next try of a message or a call."""
        deadlines = (self._delivery.next_due(), self._performers.next_due())
        times = [time_of(self._clock, deadline) for deadline in deadlines if deadline is not None]
        wake = self._loop.next_wake()
        return min(times if wake is None else [*times, wake], default=None)

    def check(self) -> None:
        """Raise what has ended the loop if it was not `stop`, and `bot.store.files.ConnectionLost` if another engine
        may write the store now.
        """
        if isinstance(self._loop.failure, BotError):
            raise self._loop.failure
        if self._loop.failure is not None:
            raise EngineFailed("the engine's loop has ended: see the log")
        self.database.require()
        if not self._limiter.works:
            raise EngineFailed("no permits for requests come any more: see the log")


def _form_page(store: StoreAddress, library: Library, request: OpenForm, now: datetime) -> FormPage:
    with closing(StoreReader(store)) as reader:
        session = reader.sessions.get(request.contact) or Session(request.contact)
    return form_page(library, session, request, now)


def _no_service(row: CallRow, say: Say) -> CallAttempt:
    """Performs `AskModel` where no service is set up."""
    log.error("a flow asks a model, and no service is set up: set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL")
    return CallAttempt(
        "refused", detail="no chat-completion service is set up: set BOT_AI_URL, BOT_AI_KEY and BOT_AI_MODEL"
    )


def _not_delivered(row: CallRow, say: Say) -> CallAttempt:
    """Performs `Publish` where the contacts are made up: nobody gets these events."""
    return CallAttempt("done")


def _judge(models: "ModelCalls | None") -> Perform:
    return _no_service if models is None else models.judge


def _not_judged(row: CallRow, say: Say) -> CallAttempt:
    """Performs `JudgeAnswer` where the contacts are made up."""
    return CallAttempt("refused", detail="answers to contacts who are made up are not judged")


def _is_moderated(row: CallRow) -> bool:
    """True if a handler judges a model's prompts or answers. Like any handler, it may end the process."""
    return isinstance(row.effect, AskModel) and bool(row.effect.heard or row.effect.said)


def _wait_as_json(wait: WaitReason) -> dict[str, str | None]:
    return {"why": wait.why, "until": None if wait.until is None else wait.until.isoformat()}


class Bot:
    """A whole bot in one process, web and engine: for `bot chat`, `bot test` and the tests.

    ``url`` is the webhook's address, on a free port of the loopback interface. Where it cannot be made, the engine is
    closed. Raises as the two halves do.
    """

    def __init__(
        self, engine: Engine, store: StoreAddress, clock: Clock, secret: str, tolerance: timedelta = TOLERANCE
    ) -> None:
        from bot.server.web.web_service import WebService  # not above: an engine by itself does without the web's half

        self.engine = engine
        self._begun = threading.Event()
        with ExitStack() as opened:
            opened.callback(engine.stop)
            listener = opened.enter_context(socket.create_server(("127.0.0.1", 0)))
            self.url = f"http://127.0.0.1:{listener.getsockname()[1]}/webhook"
            self._web = WebService(
                store,
                listener,
                clock,
                secrets=[secret],
                tolerance=tolerance,
                answer_ids=engine.answer_ids,
                path="/webhook",
                begun=self._begun.is_set,
                wake=lambda shards: engine.wake(),
                ask=engine.operate,
                addresses=EXAMPLE,
                own_file=engine.own_file,
                threads=4,
            )
            opened.pop_all()
        self._serving = threading.Thread(target=guard(self._web.run), name="web")

    def start(self) -> None:
        """Begin to serve and to work. Where that fails, everything is closed again."""
        self._serving.start()
        try:
            self.engine.start()
            self._begun.set()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Answer the requests that have arrived, finish the work in progress, and close."""
        self._web.stop()
        self._serving.join()
        self.engine.stop()
