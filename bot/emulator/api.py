"""The way of every request: authorisation, limits, body, faults, idempotency, endpoint, envelope."""

import hmac
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from bot.emulator import fields
from bot.emulator.account import Account, Sent
from bot.emulator.answers import Answer, Refusal, failure, refuse, success
from bot.emulator.budget import Budget
from bot.emulator.endpoints import ENDPOINTS, KEYED, QUERY, Endpoint
from bot.emulator.faults import REFUSALS, REQUEST_FAULTS, Fault, Faults, Request
from bot.emulator.keys import Keys
from bot.emulator.server import read_object

_BARE = b"<html><body><h1>The server is not available</h1></body></html>"
_REFUSED_BY = {
    "send_failed": ("WHATSAPP_SEND_FAILED", "the platform refused the message"),
    "refused_type": ("VALIDATION_INVALID_TYPE", "this type cannot be sent here"),
    "unauthorized": ("unauthorized", "the API key is missing or invalid"),
}


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request as it came in."""

    method: str
    path: str
    authorization: str
    content_type: str
    key: str | None
    query: Mapping[str, str]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, and what becomes of it on the wire. ``sent`` is the message that this request had accepted."""

    answer: Answer
    sent: Sent | None = None
    slow: float = 0.0
    fault: str | None = None
    held: float = 0.0


class Api:
    """Answers requests; safe for threads. ``listeners`` are told of every accepted message."""

    def __init__(self, account: Account, budget: Budget, faults: Faults, api_key: str, latency: float) -> None:
        self._account = account
        self._budget = budget
        self._faults = faults
        self._authorization = f"Bearer {api_key}".encode()
        self._latency = latency
        self.counts: Counter[str] = Counter()
        self.keys = Keys(account.behaviour, self.counts)
        self.unknown_fields: set[str] = set()
        self.listeners: list[Callable[[Sent], None]] = []

    def respond(self, incoming: Incoming) -> Reply:
        """Answer a request; everything that is wrong with it ends in an error envelope."""
        try:
            reply = self._respond(incoming)
        except Refusal as refusal:
            reply = Reply(self._failure(refusal))
        with self._account.lock:
            limits = self._budget.state(self._account.clock.now()).headers()
            self.counts["requests"] += 1
            if reply.answer.status:
                self.counts[f"answered {reply.answer.status}"] += 1
            if reply.answer.code is not None:
                self.counts[f"refused {reply.answer.code}"] += 1
        if reply.sent is not None:
            for listener in list(self.listeners):
                listener(reply.sent)
        return replace(reply, answer=replace(reply.answer, headers={**limits, **reply.answer.headers}))

    def _respond(self, incoming: Incoming) -> Reply:
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
            answer, sent = self._answer(request, hash(incoming.raw), endpoint, fault)
        if fault is None:
            return Reply(answer, sent, slow)
        answer = replace(answer, headers={**answer.headers, **fault.headers})
        return Reply(answer, sent, slow, fault.kind, fault.seconds)

    def _answer(
        self, request: Request, content: int, endpoint: Endpoint, fault: Fault | None
    ) -> tuple[Answer, Sent | None]:
        now = self._account.clock.now()
        early = self._early(fault) if fault is not None else None
        repeated = self.keys.repeated(request.key, content, now)
        if repeated is not None and (early is None or self._account.behaviour.repeated_key == "stored_error"):
            return self._repeat(repeated), None
        if early is not None:
            answer, sent = early, None
        else:
            answer, sent = self._take(request, endpoint)
        shown = _bare(fault) if fault is not None and fault.kind == "error_after" else answer
        if shown.status:
            self.keys.keep(request.key, content, now, answer if sent is not None else None, shown)
        return shown, sent

    def _take(self, request: Request, endpoint: Endpoint) -> tuple[Answer, Sent | None]:
        behaviour = self._account.behaviour
        if behaviour.repeated_key == "ignored":
            request = replace(request, key=None)
        try:
            result, sent = endpoint(self._account, request)
        except Refusal as refusal:
            return self._failure(refusal), None
        return success(result, behaviour.success_status if request.method == "POST" else 200), sent

    def _early(self, fault: Fault) -> Answer | None:
        """The answer of a fault that comes before anything is accepted; status 0 where there is none."""
        if fault.kind == "reset_before":
            return Answer(0, b"")
        if fault.kind == "error_before":
            return _bare(fault)
        if fault.kind == "rate_limited":
            headers = self._budget.retry_after(self._account.clock.now(), fault.seconds)
            message = f"Rate limit exceeded, retry in {fault.seconds:g} s"
            return self._failure(Refusal("RATE_LIMIT_EXCEEDED", message, {}, headers))
        if fault.kind in _REFUSED_BY:
            code, message = _REFUSED_BY[fault.kind]
            return self._failure(Refusal(code, message, {}, {}))
        if fault.kind in REFUSALS:
            return self._failure(Refusal(fault.kind, "the gateway does not take this message", {}, {}))
        return None

    def _repeat(self, answer: Answer) -> Answer:
        if self._account.behaviour.repeated_key == "conflict":
            return self._failure(Refusal("conflict", "this Idempotency-Key has been used", {}, {}))
        return answer

    def _failure(self, refusal: Refusal) -> Answer:
        behaviour = self._account.behaviour
        interactive = behaviour.interactive_status if refusal.code.startswith("INTERACTIVE_") else None
        return failure(refusal, behaviour.error_status or interactive)

    def _record_unknown(self, request: Request) -> None:
        strange = set(request.query) - QUERY.get(request.endpoint, set())
        strange.update(fields.unknown(request.endpoint, request.body))
        if strange:
            with self._account.lock:
                self.unknown_fields.update(f"{request.endpoint}: {name}" for name in strange)


def _bare(fault: Fault) -> Answer:
    return Answer(fault.status, _BARE, {"Content-Type": "text/html"})


def _endpoint(incoming: Incoming) -> tuple[str, Endpoint]:
    found = ENDPOINTS.get((incoming.method, incoming.path))
    if found is not None:
        return found
    if any(path == incoming.path for _, path in ENDPOINTS):
        refuse("method_not_allowed", f"{incoming.method} is not possible here")
    refuse("not_found", "there is no such endpoint")


def _request(name: str, incoming: Incoming) -> Request:
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
