"""The webhook, whose answers wait for a commit, and ``/healthz``, ``/readyz`` and ``/metrics`` for monitors.

Every answer is JSON or Prometheus' text.
"""

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from datetime import timedelta
from functools import lru_cache
from typing import Any

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.engine_answers import EngineAnswer
from bot.core.engine_requests import A, AnyRequest, AskMetrics, AskStatus, EngineRequest, answer_to
from bot.core.errors import BotError
from bot.core.immutable import mutable
from bot.runtime.metrics import WebMetrics, content_type
from bot.server.shard_requests import silent_in_words
from bot.server.web.web_server import DEFERRED, App, Environ
from bot.services.gateway.webhook_events import Envelope, Verdict, envelope, verify
from bot.store.database import PendingStatement
from bot.store.inbox import InboxBusy, InboxRefused, InboxWriter

DELIVERY_ID = 200  # characters; a longer one is ignored
log = logging.getLogger("bot.server.web")


@mutable
class _Batch:
    """The events of one commit, and their answers, each with the function that sends it."""

    writes: list[PendingStatement] = field(default_factory=list)
    answers: list[tuple[Callable[[App], None], App]] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class CommitBarrier:
    """Hands events over to the inbox, and holds their answers back until they are committed. No thread waits.

    Events that come in one turn of the event loop, or during a commit, are collected for the next commit. So there is
    one hand-over from the loop to the inbox's thread for each commit, and one back, and none for each event. An answer
    waits no longer than the inbox's ``patience``.
    """

    def __init__(self, inbox: InboxWriter) -> None:
        self._inbox = inbox
        self._gathering = _Batch()
        self._committing: _Batch | None = None

    def answer_after(self, write: PendingStatement, answer: Callable[[], Response]) -> Response:
        """Return what a view has to return so that ``answer()`` is sent when a write is committed, failed or is late.

        Behind any other server than `WebServer`, such as Flask's test client, it waits for the commit and returns
        ``answer()``.
        """
        send = request.environ.pop(DEFERRED, None)
        if send is None:
            self._inbox.commit(write)
            return answer()
        batch = self._gathering
        if not batch.writes:
            loop = asyncio.get_running_loop()
            batch.timer = loop.call_later(self._inbox.patience, self._end, loop, batch)
            if self._committing is None:
                loop.call_soon(self._hand_over, loop)  # with what other connections have sent meanwhile
        batch.writes.append(write)
        batch.answers.append((send, lambda environ, start: answer()(environ, start)))
        return _PLACEHOLDER

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._committing is not None or not self._gathering.writes:
            return
        self._committing = batch = self._gathering
        self._gathering = _Batch()

        def ended() -> None:
            with suppress(RuntimeError):  # the loop has ended before its last commit
                loop.call_soon_threadsafe(self._end, loop, batch)

        self._inbox.hand_over(batch.writes, ended)

    def _end(self, loop: asyncio.AbstractEventLoop, batch: _Batch) -> None:
        """Send the answers of a batch: its commit has ended, or takes too long."""
        if batch.timer is not None:
            batch.timer.cancel()
        if batch is self._gathering:
            self._gathering = _Batch()
        if batch is self._committing:
            self._committing = None
            self._hand_over(loop)
        answers, batch.answers = batch.answers, []
        for send, answer in answers:
            send(answer)


class WebhookEndpoint:
    """Takes the gateway's events: verified, appended, committed, and only then acknowledged (spec: Events).

    ``metrics`` counts the answers. ``answer_ids``: senders who are no phone numbers are contacts, too.
    """

    def __init__(
        self,
        inbox: InboxWriter,
        barrier: CommitBarrier,
        secrets: Sequence[str],
        tolerance: timedelta,
        clock: Clock,
        metrics: WebMetrics,
        answer_ids: bool = False,
    ) -> None:
        self._inbox = inbox
        self._barrier = barrier
        self._answer_ids = answer_ids
        self._secrets = secrets
        self._tolerance = tolerance
        self._clock = clock
        self._metrics = metrics
        self._kept = json_answer(200, "kept")
        self.refused_as_stale = 0
        self.refused_as_forged = 0
        self.refused_as_malformed = 0

    def receive(self) -> Response:
        """Answer one delivery: at once, or after the commit of what is written (`CommitBarrier`)."""
        began, now = self._clock.elapsed(), self._clock.now()
        environ = request.environ  # `request.headers` would take as long as the check of the signature
        raw = environ["wsgi.input"].read()  # `WebServer` limits and ends it
        timestamp, signature = environ.get("HTTP_X_SERVICE_TIMESTAMP"), environ.get("HTTP_X_SERVICE_SIGNATURE")
        match verify(self._secrets, timestamp, signature, raw, now, self._tolerance):
            case Verdict.GENUINE:
                event, delivery = envelope(raw, self._answer_ids), environ.get("HTTP_X_SERVICE_DELIVERY_ID", "")
                known_as = delivery if 0 < len(delivery) <= DELIVERY_ID else None
                what = event.event, event.contact, now, raw, event.readable, event.message
                write = self._inbox.event(known_as, event.id, *what)
                return self._barrier.answer_after(write, lambda: self._counted(began, *self._appended(write)))
            case Verdict.STALE:
                event = envelope(raw, self._answer_ids)
                write = self._inbox.stale_event(event.id, event.contact)
                return self._barrier.answer_after(
                    write, lambda: self._counted(began, "stale", self._stale(write, event))
                )
            case Verdict.FORGED:
                self._note_forged()
                refused = json_answer(401, "the signature does not fit the body and the timestamp")
                return self._counted(began, "forged", refused)
            case Verdict.MALFORMED:
                self._note_malformed(timestamp, signature)
                refused = json_answer(401, "X-Service-Timestamp (Unix seconds) and X-Service-Signature are needed")
                return self._counted(began, "malformed", refused)

    def _counted(self, began: float, what: str, response: Response) -> Response:
        """Count an answer by what became of the delivery, and return it."""
        self._metrics.delivery(what, self._clock.elapsed() - began)
        return response

    def _appended(self, write: PendingStatement) -> tuple[str, Response]:
        try:
            appended = self._inbox.appended(write)
        except InboxBusy:
            return "busy", json_answer(503, "the event cannot be kept now: send it again", RETRY_AFTER)
        except InboxRefused as error:
            log.error("an event was refused: %s", error)
            return "refused", json_answer(400, "the event cannot be kept")
        return ("duplicate", json_answer(200, "kept already")) if appended.duplicate else ("kept", self._kept)

    def _note_forged(self) -> None:
        """With a wrong secret every event is lost; but anybody can send such a request, so only a few are logged."""
        self.refused_as_forged += 1
        if str(self.refused_as_forged).strip("0") == "1":  # 1, 10, 100, ...
            log.warning(
                "refused so far for a signature that fits no secret: %d. If these are the gateway's events, set "
                "BOT_WEBHOOK_SECRET to what `bot webhook register` showed, and start again: it is read at the start",
                self.refused_as_forged,
            )

    def _note_malformed(self, timestamp: str | None, signature: str | None) -> None:
        self.refused_as_malformed += 1
        if str(self.refused_as_malformed).strip("0") == "1":
            headers = {"X-Service-Timestamp": timestamp, "X-Service-Signature": signature}
            missing = " and ".join(name for name, value in headers.items() if not value)
            log.warning(
                "refused so far without a usable signature: %d. The last one: %s. If these are the gateway's events, see whether a proxy "
                "takes out its headers",
                self.refused_as_malformed,
                f"{missing} missing" if missing else "X-Service-Timestamp is no number of seconds",
            )

    def _stale(self, write: PendingStatement, event: Envelope) -> Response:
        """Reject a correctly signed event. A new one is lost if its sender does not stamp each try anew."""
        try:
            is_lost = self._inbox.is_lost(write)
        except InboxBusy:
            is_lost = True  # better one warning too many than a loss that nobody hears of
        if is_lost:
            self._warn_of(event)
        return json_answer(401, f"the timestamp is more than {self._tolerance.total_seconds():.0f} seconds off")

    def _warn_of(self, event: Envelope) -> None:
        self.refused_as_stale += 1
        log.warning(
            "refused event %s (%s): it is correctly signed and new, but its timestamp is more than %d seconds off; "
            "so far since the start: %d. If the gateway's retries carry the first try's timestamp, or a clock is wrong, "
            "events are being lost: set this machine's clock, or raise BOT_WEBHOOK_TOLERANCE (up to 10800 seconds)",
            event.id,
            event.event or "unreadable",
            self._tolerance.total_seconds(),
            self.refused_as_stale,
        )


Ask = Callable[[AnyRequest], EngineAnswer]
"""Asks the engine what an operator may ask. Raises a `BotError` if that is not done."""


INBOX = "/readyz/inbox"


class MonitoringEndpoints:
    """The endpoints for monitors. ``ask`` asks the engine, whose alarms and metrics are shown beside the web process's
    own.
    """

    def __init__(self, inbox: InboxWriter, ask: Ask, alarms: Alarms, metrics: WebMetrics, clock: Clock) -> None:
        self._inbox = inbox
        self._ask = ask
        self._alarms = alarms
        self._metrics = metrics
        self._clock = clock

    def add_to(self, app: Flask) -> None:
        """Answer at the four addresses."""
        app.add_url_rule("/healthz", "healthz", lambda: json_answer(200, "alive"))
        app.add_url_rule("/readyz", "readyz", OneAtATime(self.ready, self._clock))
        app.add_url_rule(INBOX, "inbox", OneAtATime(self.inbox, self._clock))
        app.add_url_rule("/metrics", "metrics", OneAtATime(self.metrics, self._clock))

    def ready(self) -> Response:
        """200 while an event can be kept and each shard's engine answers. The answer lists the kinds of all alarms."""
        inbox = self.inbox()
        if inbox.status_code != 200:
            return inbox
        status = self._answer(AskStatus())
        if status is None:
            return json_answer(503, "the engine does not answer: events are kept until it does", RETRY_AFTER)
        if status.silent:
            return json_answer(503, f"{silent_in_words(status.silent)}: events are kept meanwhile", RETRY_AFTER)
        kinds = {alarm.name for alarm in self._alarms.current()} | {alarm["name"] for alarm in status.alarms}
        body = {"ok": True, "message": "ready", "alarms": sorted(kinds)}
        return Response(json.dumps(body), 200, content_type="application/json")

    def inbox(self) -> Response:
        """200 while this server can keep an event, for a proxy that chooses between servers; engines do not matter."""
        try:
            self._inbox.check()
        except InboxBusy:  # its words, which name the store, are in the log: anybody may ask this
            return json_answer(503, "events cannot be kept now: the log of `bot serve` says why", RETRY_AFTER)
        return json_answer(200, "events are kept")

    def metrics(self) -> Response:
        """The counts of all processes, in Prometheus' text format, except those of silent engines."""
        engine = self._answer(AskMetrics())
        own = self._metrics.text(self._alarms.current(), engine is not None and not engine.silent)
        return Response(own + (engine.text if engine else ""), 200, content_type=content_type())

    def _answer(self, request: EngineRequest[A]) -> A | None:
        try:
            return answer_to(request, self._ask(request))
        except BotError:
            return None


FRESH_SECONDS = 30.0
"""The greatest age of an answer that several requests get."""

WAIT_SECONDS = 3.0
"""The longest time that a request waits for an answer that is being made."""


class OneAtATime:
    """A view that runs once at a time, so that no number of requests takes all threads.

    A request that comes while it runs gets the last answer. If that is older than `FRESH_SECONDS`, the request waits
    for the new answer, and gets a 503 if that takes longer than `WAIT_SECONDS`.
    """

    def __init__(self, view: Callable[[], Response], clock: Clock) -> None:
        self._view = view
        self._clock = clock
        self._ended = threading.Condition()
        self._runs = False
        self._last: tuple[Response, float] | None = None  # with the time at which it began

    def __call__(self) -> Response:
        """Answer a request."""
        with self._ended:
            if self._runs:
                return self._answer_of_another()
            self._runs = True
        began, answer = self._clock.elapsed(), None
        try:
            answer = self._view()
            return answer
        finally:
            with self._ended:
                self._runs = False
                self._last = self._last if answer is None else (answer, began)
                self._ended.notify_all()

    def _answer_of_another(self) -> Response:
        """The answer to another request. With the lock held."""
        until = self._clock.elapsed() + WAIT_SECONDS
        while (answer := self._fresh()) is None and self._runs and self._clock.elapsed() < until:
            self._clock.wait(self._ended, until, WAIT_SECONDS)
        if answer is not None:
            return answer
        return json_answer(503, "this is being found out for another request: ask again", RETRY_AFTER)

    def _fresh(self) -> Response | None:
        if self._last is None or self._clock.elapsed() - self._last[1] > FRESH_SECONDS:
            return None
        return self._last[0]


_REFUSED = {404: "there is nothing at this address", 405: "this method is not taken at this address"}
RETRY_AFTER = "5"  # seconds


class WholeResponse(Response):
    """A response that is sent as it is. Flask's own derives headers from the request, which takes longer
    than the view.
    """

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Send it."""
        start_response(self.status, list(self.headers))
        return self.response  # type: ignore[return-value]  # of bytes


_PLACEHOLDER = WholeResponse(status=202)
"""The response of a view whose answer is sent later. The server does not send it."""


def json_answer(status: int, text: str, retry_after: str | None = None) -> Response:
    """An answer in JSON: ``ok`` says whether it went well, ``message`` what happened."""
    response = WholeResponse(_body(status < 400, text), status, content_type="application/json")
    if retry_after is not None:
        response.headers["Retry-After"] = retry_after
    return response


def refused_answer(error: HTTPException) -> Response:
    """The answer to a request that reaches nobody, in the same form."""
    status = error.code or 400
    response = json_answer(status, _REFUSED.get(status, error.name.lower()))
    response.headers.extend((name, value) for name, value in error.get_headers() if name == "Allow")
    return response


@lru_cache(64)
def _body(ok: bool, text: str) -> bytes:
    return json.dumps({"ok": ok, "message": text}).encode()
