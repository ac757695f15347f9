"""The answer to each request: authorisation, limits, body, faults, idempotency, endpoint, envelope, and HTTP."""

import hmac
import socket
import struct
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from urllib.parse import parse_qsl

from werkzeug.wsgi import ClosingIterator

from bot.testing.emulator import endpoints
from bot.testing.emulator.emulated_account import AcceptedMessage, EmulatedAccount
from bot.testing.emulator.emulator_server import CONNECTION, GONE, CutOff, read_object, status_line
from bot.testing.emulator.endpoints import ENDPOINTS, KEYED, QUERY, Endpoint
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.injected_faults import REFUSALS, REQUEST_FAULTS, Faults, InjectedFault, Request
from bot.testing.emulator.request_limits import RequestLimits
from bot.testing.emulator.request_rules import GatewayAnswer, Refusal, failure, refuse, success

_MOST_KEYS = 200_000
_NEVER_STORED = (401, 429)


@dataclass(frozen=True, slots=True)
class Kept:
    """A key that was used: its answer, a hash of its body, and the time."""

    answer: GatewayAnswer
    content: int
    at: datetime


class IdempotencyKeys:
    """The idempotency keys of an account, at most so many. The account's lock guards them.

    ``reused`` are the keys that came again with another body, which is a mistake of the client.
    """

    def __init__(self, behaviour: Behaviour, counts: Counter[str]) -> None:
        self._behaviour = behaviour
        self._counts = counts
        self._kept: OrderedDict[str, Kept] = OrderedDict()
        self.reused: deque[str] = deque(maxlen=1000)

    def repeated(self, key: str | None, content: int, now: datetime) -> GatewayAnswer | None:
        """The first answer under this key; None if the request counts as a new one."""
        if key is None or self._behaviour.repeated_key == "ignored":
            return None
        kept = self._kept.get(key)
        if kept is None:
            return None
        if now - kept.at >= self._behaviour.key_kept:
            del self._kept[key]
            return None
        self._counts["repeated keys"] += 1
        if kept.content != content:
            self.reused.append(key)
        return None if self._behaviour.repeated_key == "new" else kept.answer

    def keep(
        self, key: str | None, content: int, now: datetime, accepted: GatewayAnswer | None, shown: GatewayAnswer
    ) -> None:
        """Remember the answer that ``accepted`` a message; or, if errors are stored, whatever answer was ``shown``."""
        answer = accepted
        if self._behaviour.repeated_key == "stored_error" and shown.status not in _NEVER_STORED:
            answer = shown
        if key is None or answer is None:
            return
        self._kept.setdefault(key, Kept(answer, content, now))
        if len(self._kept) > _MOST_KEYS:
            self._kept.popitem(last=False)


_BARE = b"<html><body><h1>The server is not available</h1></body></html>"
_REFUSED_BY = {
    "send_failed": ("WHATSAPP_SEND_FAILED", "the platform refused the message"),
    "refused_type": ("VALIDATION_INVALID_TYPE", "this type cannot be sent here"),
    "unauthorized": ("unauthorized", "the API key is missing or invalid"),
}


@dataclass(frozen=True, slots=True)
class RawRequest:
    """A request as it came."""

    method: str
    path: str
    authorization: str
    content_type: str
    key: str | None
    query: Mapping[str, str]
    raw: bytes


@dataclass(frozen=True, slots=True)
class GatewayReply:
    """An answer, and what happens to it while it is sent. ``sent`` is the message that the request had accepted."""

    answer: GatewayAnswer
    sent: AcceptedMessage | None = None
    slow: float = 0.0
    fault: str | None = None
    held: float = 0.0


class GatewayApi:
    """Answers requests; safe for threads. ``listeners`` are called for every accepted message."""

    def __init__(
        self, account: EmulatedAccount, budget: RequestLimits, faults: Faults, api_key: str, latency: float
    ) -> None:
        self._account = account
        self._budget = budget
        self._faults = faults
        self._authorization = f"Bearer {api_key}".encode()
        self._latency = latency
        self.counts: Counter[str] = Counter()
        self.keys = IdempotencyKeys(account.behaviour, self.counts)
        self.unknown_fields: set[str] = set()
        self.listeners: list[Callable[[AcceptedMessage], None]] = []

    def respond(self, incoming: RawRequest) -> GatewayReply:
        """Answer a request. Everything that is wrong with it becomes an error envelope."""
        try:
            reply = self._respond(incoming)
        except Refusal as refusal:
            reply = GatewayReply(self._failure(refusal))
        with self._account.lock:
            limits = self._budget.headers(self._account.clock.now())
            self.counts["requests"] += 1
            if reply.answer.status:
                self.counts[f"answered {reply.answer.status}"] += 1
            if reply.answer.code is not None:
                self.counts[f"refused {reply.answer.code}"] += 1
        if reply.sent is not None:
            for listener in list(self.listeners):
                listener(reply.sent)
        return replace(reply, answer=replace(reply.answer, headers={**limits, **reply.answer.headers}))

    def _respond(self, incoming: RawRequest) -> GatewayReply:
        if not hmac.compare_digest(incoming.authorization.encode(), self._authorization):
            refuse("unauthorized", "the API key is missing or invalid")
        with self._account.lock:
            self._budget.take(self._account.clock.now())
        name, endpoint = _endpoint(incoming)
        request = _request(name, incoming)
        self._record_unknown(request)
        drawn = self._faults.draw(REQUEST_FAULTS, request)
        slow = self._latency + sum(fault.seconds for fault in drawn if fault.kind == "slow")
        fault = next((fault for fault in drawn if fault.kind != "slow"), None)
        with self._account.lock:
            self.counts[f"requests of {name}"] += 1
            answer, sent = self._answer(request, hash(incoming.raw), endpoint, fault)
        if fault is None:
            return GatewayReply(answer, sent, slow)
        answer = replace(answer, headers={**answer.headers, **fault.headers})
        return GatewayReply(answer, sent, slow, fault.kind, fault.seconds)

    def _answer(
        self, request: Request, content: int, endpoint: Endpoint, fault: InjectedFault | None
    ) -> tuple[GatewayAnswer, AcceptedMessage | None]:
        now = self._account.clock.now()
        early = self._early(fault) if fault is not None else None
        repeated = self.keys.repeated(request.key, content, now)
        if repeated is not None and (early is None or self._account.behaviour.repeated_key == "stored_error"):
            return self._repeat(repeated), None
        if early is not None:
            answer, sent = early, None
        else:
            answer, sent = self._take(request, endpoint)
        shown = _error(fault) if fault is not None and fault.kind == "error_after" else answer
        if shown.status:
            self.keys.keep(request.key, content, now, answer if sent is not None else None, shown)
        return shown, sent

    def _take(self, request: Request, endpoint: Endpoint) -> tuple[GatewayAnswer, AcceptedMessage | None]:
        behaviour = self._account.behaviour
        if behaviour.repeated_key == "ignored":
            request = replace(request, key=None)
        try:
            result, sent = endpoint(self._account, request)
        except Refusal as refusal:
            return self._failure(refusal), None
        return success(result, behaviour.success_status if request.method == "POST" else 200), sent

    def _early(self, fault: InjectedFault) -> GatewayAnswer | None:
        """The answer of a fault that comes before anything is accepted; status 0 for none."""
        if fault.kind == "reset_before":
            return GatewayAnswer(0, b"")
        if fault.kind == "error_before":
            return _error(fault)
        if fault.kind == "rate_limited":
            headers = self._budget.retry_after(self._account.clock.now(), fault.seconds)
            message = f"Rate limit exceeded, retry in {fault.seconds:g} s"
            return self._failure(Refusal("RATE_LIMIT_EXCEEDED", message, fault.details, headers))
        if fault.kind in (*_REFUSED_BY, *REFUSALS):
            code, message = _REFUSED_BY.get(fault.kind, (fault.kind, "the gateway does not take this message"))
            return self._failure(Refusal(code, message, fault.details, {}))
        return None

    def _repeat(self, answer: GatewayAnswer) -> GatewayAnswer:
        code = {"conflict": "conflict", "refused": "IDEMPOTENCY_KEY_REUSED"}.get(self._account.behaviour.repeated_key)
        return answer if code is None else self._failure(Refusal(code, "this Idempotency-Key has been used", {}, {}))

    def _failure(self, refusal: Refusal) -> GatewayAnswer:
        behaviour = self._account.behaviour
        interactive = behaviour.interactive_status if refusal.code.startswith("INTERACTIVE_") else None
        return failure(refusal, behaviour.error_status or interactive)

    def _record_unknown(self, request: Request) -> None:
        strange = set(request.query) - QUERY.get(request.endpoint, set())
        strange.update(endpoints.unknown(request.endpoint, request.body))
        if strange:
            with self._account.lock:
                self.unknown_fields.update(f"{request.endpoint}: {name}" for name in strange)


def _error(fault: InjectedFault) -> GatewayAnswer:
    if fault.code:
        return failure(Refusal(fault.code, "the request is not carried out", {}, {}), fault.status)
    return GatewayAnswer(fault.status, _BARE, {"Content-Type": "text/html"})


def _endpoint(incoming: RawRequest) -> tuple[str, Endpoint]:
    found = ENDPOINTS.get((incoming.method, incoming.path))
    if found is not None:
        return found
    if any(path == incoming.path for _, path in ENDPOINTS):
        refuse("method_not_allowed", f"{incoming.method} is not possible here")
    refuse("not_found", "there is no such endpoint")


def _request(name: str, incoming: RawRequest) -> Request:
    if incoming.content_type.split(";")[0].strip().lower() != "application/json":
        refuse("VALIDATION_INVALID_JSON", "Content-Type must be application/json", field="Content-Type")
    if incoming.method == "GET":
        return Request(name, "GET", query=incoming.query)
    key = incoming.key if name in KEYED else None
    return Request(name, incoming.method, _json(incoming.raw), incoming.query, key)


def _json(raw: bytes) -> dict[str, Any]:
    try:
        return read_object(raw)
    except (ValueError, RecursionError):
        refuse("VALIDATION_INVALID_JSON", "the body is no JSON object")


Environ = dict[str, Any]

_GARBAGE = b'{"success": tru\x00\xff not json'
_NO_LINGER = struct.pack("ii", 1, 0)
_POLL = 0.05


class GatewayWire:
    """Sends replies over HTTP. ``stopping`` ends every wait; ``before`` and ``after`` are called around an accepted
    message.
    """

    def __init__(
        self,
        api: GatewayApi,
        stopping: threading.Event,
        before: Callable[[AcceptedMessage], None],
        after: Callable[[AcceptedMessage], None],
    ) -> None:
        self._api = api
        self._stopping = stopping
        self._before = before
        self._after = after

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        reply = self._api.respond(_incoming(environ))
        if reply.slow:
            self._stopping.wait(reply.slow)
        sent = reply.sent
        if sent is not None:
            self._before(sent)
        self._break(reply, environ)
        body = [self._start(reply, start_response)]
        return body if sent is None else ClosingIterator(body, lambda: self._after(sent))

    def _start(self, reply: GatewayReply, start_response: Callable[..., Any]) -> bytes:
        answer = reply.answer
        body = _GARBAGE if reply.fault == "garbage" else answer.body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
        start_response(status_line(answer.status), list(headers.items()))
        return body[: len(body) // 2] if reply.fault == "truncated" else body

    def _break(self, reply: GatewayReply, environ: Environ) -> None:
        if reply.fault not in ("timeout", "reset_before", "reset_after"):
            return
        if reply.fault == "timeout":
            self._hold(reply.held, environ)
        if reply.sent is not None:
            self._after(reply.sent)
        connection: socket.socket = environ[CONNECTION]
        with suppress(OSError):  # the client has closed it
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        raise CutOff

    def _hold(self, seconds: float, environ: Environ) -> None:
        waited = 0.0
        while waited < seconds and not self._stopping.is_set() and not environ[GONE]():
            self._stopping.wait(_POLL)
            waited += _POLL


def _incoming(environ: Environ) -> RawRequest:
    query = environ["QUERY_STRING"]
    return RawRequest(
        environ["REQUEST_METHOD"],
        environ["PATH_INFO"],
        environ.get("HTTP_AUTHORIZATION", ""),
        environ.get("CONTENT_TYPE", ""),
        environ.get("HTTP_IDEMPOTENCY_KEY"),
        dict(parse_qsl(query, keep_blank_values=True)) if query else {},
        environ["wsgi.input"].read(),
    )
