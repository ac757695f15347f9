"""The endpoints for programs: ``POST /api/flows/<flow>/start`` starts a flow, ``POST /api/signals`` reports what has
happened, and ``POST /signals/<name>/<token>`` does so for services that have no key.
"""

import hashlib
import hmac
import json
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from uuid import uuid4

from flask import Flask, Response, request
from werkzeug.exceptions import RequestEntityTooLarge

from bot.core.clock import Clock
from bot.core.engine_answers import Mistakes
from bot.core.engine_requests import CheckSignal, CheckStart
from bot.core.errors import BotError
from bot.core.events import SIGNALS, STARTS, SignalReceived, StartRequested
from bot.core.own_addresses import OwnAddresses
from bot.core.session import BUSY
from bot.core.text import digits, head, is_phone
from bot.core.values import UnstorableValue, json_text
from bot.language.source.problems import did_you_mean
from bot.runtime.metrics import WebMetrics
from bot.server.web.web_endpoints import RETRY_AFTER, json_answer
from bot.store.inbox import InboxBusy, InboxRefused, InboxWriter

START_KEYS = ("contact", "data", "busy", "id")
SIGNAL_KEYS = ("contact", "signal", "data", "id")
MOST_BYTES = 32 * 1024  # of a request: a hundred starts may wait in a contact's session
MOST_A_MINUTE = 60  # signals to one address
_LONGEST_ID = 200  # characters

Check = Callable[[CheckStart | CheckSignal], Mistakes]
"""Returns the mistakes in a start or a signal, by the names of `WRONG`; none while the engine does not answer."""
WRONG = {"flow": 404, "signal": 404, "data": 400, "contact": 409}


class BadRequest(BotError):
    """A request that does nothing, and why."""

    def __init__(self, reason: str, status: int = 400) -> None:
        super().__init__(reason)
        self.status = status


class MinuteLimit:
    """Limits the requests to one address: contacts may know theirs, and nobody is to fill the inbox by it."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._counting = threading.Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()  # of this minute, by token

    def has_room(self, token: str) -> bool:
        """Count a request; False if there are more than `MOST_A_MINUTE`."""
        minute = int(self._clock.elapsed() // 60)
        with self._counting:
            if minute != self._minute:
                self._minute, self._counts = minute, Counter()
            self._counts[token] += 1
            return self._counts[token] <= MOST_A_MINUTE


class ProgramEndpoints:
    """Takes what programs ask for: checked, appended to the inbox, committed, and only then acknowledged.

    ``key`` is what a program must know; None: no program may ask for anything. ``addresses`` know which tokens are
    ours.
    """

    def __init__(
        self,
        inbox: InboxWriter,
        key: str | None,
        clock: Clock,
        check: Check,
        metrics: WebMetrics,
        addresses: OwnAddresses | None = None,
    ) -> None:
        self._inbox = inbox
        self._key = key
        self._clock = clock
        self._ask = check
        self._metrics = metrics
        self._addresses = addresses
        self._limit = MinuteLimit(clock)

    def add_to(self, app: Flask) -> None:
        """Add the routes."""
        app.add_url_rule("/api/flows/<flow>/start", "start", self.start, methods=["POST"])
        app.add_url_rule("/api/signals", "signal", self.signal, methods=["POST"])
        app.add_url_rule("/signals/<name>/<token>", "signal_by_address", self.signal_by_address, methods=["POST"])

    def start(self, flow: str) -> Response:
        """Start a flow: 202 once that is durable, also for a request that came before."""
        return self._answer(lambda: self._start(flow))

    def signal(self) -> Response:
        """Report a signal: 202 once it is durable, also if it came before."""
        return self._answer(self._signal)

    def signal_by_address(self, name: str, token: str) -> Response:
        """Report a signal to the visit of a step that made this address. Strangers get 404."""
        return self._answer(lambda: self._signal_by_address(name, token))

    def _answer(self, read: Callable[[], StartRequested | SignalReceived]) -> Response:
        response = self._answered(read)
        self._metrics.start(response.status_code)
        return response

    def _answered(self, read: Callable[[], StartRequested | SignalReceived]) -> Response:
        try:
            event = read()
            body = json_text(event).encode()
        except BadRequest as bad:
            return json_answer(bad.status, str(bad))
        except (UnstorableValue, ValueError, RecursionError):
            return json_answer(400, "data has a value that cannot be kept")
        what = "start" if isinstance(event, StartRequested) else "signal"
        try:
            write = self._inbox.event(None, event.id, what, event.contact, event.at, body, True)
            appended = self._inbox.append(write)
        except InboxBusy:
            return json_answer(503, f"the {what} cannot be kept now: send it again", RETRY_AFTER)
        except InboxRefused:
            return json_answer(400, f"the {what} cannot be kept")
        return json_answer(202, "kept already" if appended.duplicate else "kept")

    def _start(self, flow: str) -> StartRequested:
        self._check_key()
        fields = _fields(START_KEYS)
        contact, busy, data = _contact(fields), fields.get("busy"), _data(fields)
        if busy is not None and busy not in BUSY:
            raise BadRequest(f"busy: write one of {', '.join(BUSY)}")
        self._check(CheckStart(contact, flow, data))
        return StartRequested(_id(STARTS, fields, flow, contact), contact, self._clock.now(), flow, data, busy, "api")

    def _signal(self) -> SignalReceived:
        self._check_key()
        fields = _fields(SIGNAL_KEYS)
        contact, name, data = _contact(fields), fields.get("signal"), _data(fields)
        if not isinstance(name, str):
            raise BadRequest("signal: write the signal's name")
        self._check(CheckSignal(contact, name, data))
        return SignalReceived(_id(SIGNALS, fields, name, contact), contact, self._clock.now(), name, data, "api")

    def _signal_by_address(self, name: str, token: str) -> SignalReceived:
        found = None if self._addresses is None else self._addresses.read_signal(name, token)
        if found is None:
            raise BadRequest("there is nothing here", 404)
        contact, first_visit = found
        if not self._limit.has_room(token):
            raise BadRequest(f"more than {MOST_A_MINUTE} a minute to one address: send it again later", 429)
        _body()  # first: its size is known before anything of it is read
        data = request.form.to_dict() if request.form else _object()
        said = json.dumps([name, token, data], sort_keys=True)  # a service may send several, and each again
        id = f"{SIGNALS}{hashlib.sha256(said.encode()).hexdigest()[:40]}"
        checked = self._check(CheckSignal(contact, name, data, by_address=True))
        if checked.fields is not None:
            data = {field: data[field] for field in checked.fields if field in data}
        return SignalReceived(id, contact, self._clock.now(), name, data, "its address", first_visit)

    def _check_key(self) -> None:
        if self._key is None:
            raise BadRequest("no program may ask for anything here: the bot has no BOT_API_KEY", 403)
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        given = token.strip() if scheme.lower() == "bearer" else request.headers.get("X-API-Key", "")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._key.encode()):
            raise BadRequest("the API key is missing or wrong: send Authorization: Bearer KEY", 401)

    def _check(self, request: CheckStart | CheckSignal) -> Mistakes:
        """Refuse a request in which the engine finds mistakes. If the engine does not answer, the trace or a dead
        letter has them later.
        """
        found = self._ask(request)
        for what, status in WRONG.items():
            if what in found.by_field:
                raise BadRequest(found.by_field[what], status)
        return found


def _contact(fields: Mapping[str, Any]) -> str:
    contact = digits(fields.get("contact"))
    if contact is None or not is_phone(contact):
        raise BadRequest("contact: write its number's digits, with the country code")
    return contact


def _data(fields: Mapping[str, Any]) -> dict[str, Any]:
    data = fields.get("data", {})
    if not isinstance(data, dict):
        raise BadRequest("data: write an object, with a value for each name")
    return data


def _fields(keys: tuple[str, ...]) -> dict[str, Any]:
    found = _object('send {"contact": "6281234567890", %s"data": {}}' % ('"signal": "paid", ' * ("signal" in keys)))
    for name in found.keys() - set(keys):
        raise BadRequest(
            f'unknown field "{head(name, 40)}": {did_you_mean(name, keys, "there are " + ", ".join(keys))}'
        )
    return found


def _body() -> bytes:
    """The request's body, which is read no further than its limit, and kept for the parser."""
    request.max_content_length = MOST_BYTES
    try:
        return request.get_data()
    except RequestEntityTooLarge:
        raise BadRequest(
            f"the body has more than the {MOST_BYTES:,} bytes that are allowed: send where the data is found", 413
        ) from None


def _object(example: str = "send {}, or a form") -> dict[str, Any]:
    try:
        found = json.loads(_body(), parse_constant=_refuse)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadRequest(f"the body is no JSON object: {example}")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _id(kind: str, fields: Mapping[str, Any], what: str, contact: str) -> str:
    """The name of a start or a signal: the same for the same key, flow or signal, and contact, so that it
    happens once.
    """
    key = request.headers.get("Idempotency-Key", fields.get("id"))
    if key is None:
        return f"{kind}{uuid4().hex}"
    if not isinstance(key, str) or not 0 < len(key) <= _LONGEST_ID:
        raise BadRequest(f"Idempotency-Key, or id: write a text of 1 to {_LONGEST_ID} characters")
    named = json.dumps([what, contact, key])
    return f"{kind}{hashlib.sha256(named.encode()).hexdigest()[:40]}"
