"""``POST /api/flows/<flow>/start``: a program starts a flow for a contact."""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from uuid import uuid4

from flask import Response, request

from bot.clock import Clock
from bot.core.errors import BotError
from bot.core.events import STARTS, StartRequested
from bot.core.session import BUSY
from bot.core.text import digits, is_phone
from bot.core.values import UnstorableValue, json_text
from bot.lang.problems import did_you_mean
from bot.metrics import WebMetrics
from bot.store.inbox import InboxBusy, InboxRefused, InboxWriter
from bot.web.web_endpoints import RETRY_AFTER, json_answer

KEYS = ("contact", "data", "busy", "id")
MOST_BYTES = 32 * 1024  # of a request: a hundred starts may wait in a contact's session
_LONGEST_ID = 200  # characters

Judge = Callable[[str, Mapping[str, Any], str], Mapping[str, str]]
"""What is wrong with a start of a flow with such data for a contact, in words, under `WRONG`; nothing while nobody can tell."""
WRONG = {"flow": 404, "data": 400, "contact": 409}


class BadStart(BotError):
    """A request that starts nothing, and why."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class StartEndpoint:
    """Takes the starts that programs ask for: checked, appended to the inbox, committed, and only then acknowledged.

    ``key`` is what a program must know; None: no program may start anything.
    """

    def __init__(
        self,
        inbox: InboxWriter,
        key: str | None,
        clock: Clock,
        judge: Judge,
        metrics: WebMetrics,
    ) -> None:
        self._inbox = inbox
        self._key = key
        self._clock = clock
        self._judge = judge
        self._metrics = metrics

    def receive(self, flow: str) -> Response:
        """Answer one request: 202 once it is durable, also where it came before."""
        response = self._received(flow)
        self._metrics.start(response.status_code)
        return response

    def _received(self, flow: str) -> Response:
        try:
            self._check_key()
            event = self._event(flow)
            body = json_text(event).encode()
        except BadStart as bad:
            return json_answer(bad.status, str(bad))
        except (UnstorableValue, ValueError, RecursionError):
            return json_answer(400, "data has a value that cannot be kept")
        try:
            appended = self._inbox.append(None, event.id, "start", event.contact, event.at, body, True)
        except InboxBusy:
            return json_answer(503, "the start cannot be kept now: send it again", RETRY_AFTER)
        except InboxRefused:
            return json_answer(400, "the start cannot be kept")
        return json_answer(202, "kept already" if appended.duplicate else "kept")

    def _check_key(self) -> None:
        if self._key is None:
            raise BadStart("no program may start flows here: the bot has no BOT_API_KEY", 403)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else request.headers.get("X-API-Key", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._key.encode()):
            raise BadStart("the API key is missing or wrong: send Authorization: Bearer KEY", 401)

    def _event(self, flow: str) -> StartRequested:
        fields = _fields(request.get_data(cache=False))
        contact, busy, data = digits(fields.get("contact")), fields.get("busy", "after"), fields.get("data", {})
        if contact is None or not is_phone(contact):
            raise BadStart("contact: write its number's digits, with the country code")
        if busy not in BUSY:
            raise BadStart(f"busy: write one of {', '.join(BUSY)}")
        if not isinstance(data, dict):
            raise BadStart("data: write an object, with a value for each variable")
        self._check_flow(flow, data, contact)
        return StartRequested(_id(fields, flow, contact), contact, self._clock.now(), flow, data, busy, "api")

    def _check_flow(self, flow: str, data: Mapping[str, Any], contact: str) -> None:
        """Refuse a start that the engine finds wrong. If the engine does not answer, the trace or a dead letter says it later."""
        found = self._judge(flow, data, contact)
        for what, status in WRONG.items():
            if what in found:
                raise BadStart(found[what], status)


def _fields(raw: bytes) -> dict[str, Any]:
    if len(raw) > MOST_BYTES:
        raise BadStart(
            f"the body has {len(raw):,} bytes, {MOST_BYTES:,} are allowed: send where the data is found", 413
        )
    try:
        found = json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadStart('the body is no JSON object: send {"contact": "6281234567890", "data": {}}')
    for name in found.keys() - set(KEYS):
        raise BadStart(f'unknown field "{name[:40]}": {did_you_mean(name, KEYS, "there are " + ", ".join(KEYS))}')
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _id(fields: Mapping[str, Any], flow: str, contact: str) -> str:
    """The start's name: the same for the same key, flow and contact, so that it happens once."""
    key = request.headers.get("Idempotency-Key", fields.get("id"))
    if key is None:
        return f"{STARTS}{uuid4().hex}"
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_ID:
        raise BadStart(f"Idempotency-Key, or id: write a text of 1 to {_LONGEST_ID} characters")
    named = json.dumps([flow, contact, key])
    return f"{STARTS}{hashlib.sha256(named.encode()).hexdigest()[:40]}"
