"""Performs the requests of ``http`` steps: makes answers storable and failures outcomes, and caches recent answers."""

import json
import logging
import threading
from datetime import timedelta
from typing import Any

from bot.core import values
from bot.core.clock import Clock
from bot.core.effects import PASSING, HttpRequest
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.values import UnstorableValue
from bot.runtime.performers import LONGEST_WAIT, CallAttempt, Say
from bot.services.http_client import Response
from bot.services.outgoing import IDEMPOTENCY_KEY, UNSAFE, Requester
from bot.services.request_errors import NotAllowed, RequestFailed
from bot.store.rows import CallRow

_LONGEST_TYPE = 200  # characters
_CHARSET = lazy_pattern(r'\bcharset\s*=\s*"?([^\s;"]+)')
_CHARSETS = {
    "utf-8": "utf-8-sig",
    "us-ascii": "ascii",
    "iso-8859-1": "cp1252",
    "windows-1252": "cp1252",
    "utf-16": "utf-16",
}
"""The accepted character sets and how each is decoded. With some others that Python knows, a service could block it."""

log = logging.getLogger(__name__)


class HttpCalls:
    """Performs `HttpRequest`. Safe to use from many threads."""

    def __init__(self, requester: Requester, clock: Clock) -> None:
        self._requester = requester
        self.cache = AnswerCache(clock)

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Send the row's request, or use a recent answer to the same request. Raises nothing."""
        request = row.effect
        assert isinstance(request, HttpRequest)
        known = self.cache.get(request)
        if known is not None:
            return _ended(request, known)
        try:
            answer = self._requester(request, row.key)
        except RequestFailed as error:
            return _failed(request, error)
        ended = _ended(request, answer)
        if ended.outcome == "done":
            self.cache.put(request, answer)
        return ended


class _Unreadable(BotError):
    """An answer that a conversation cannot keep."""


def _failed(request: HttpRequest, error: RequestFailed) -> CallAttempt:
    if isinstance(error, NotAllowed):
        log.error("an HTTP request is not sent: %s", error)
    again = error.passes and (_repeatable(request) or not error.may_have_arrived)
    return CallAttempt(error.outcome, detail=f"{_name(request)}: {error}", again=again)


def _ended(request: HttpRequest, answer: Response) -> CallAttempt:
    outcome = "done" if 200 <= answer.status < 300 else str(answer.status)
    detail = f"{_name(request)} answered {answer.status}"
    value = None
    try:
        value = _value(answer)
    except _Unreadable as error:
        if outcome == "done":
            outcome, detail = "mismatch", f"{detail}: {error}"
    wait = _wait(answer)
    return CallAttempt(
        outcome,
        {"status": answer.status, "answer": value},
        detail,
        again=_passes(request, answer.status) and (wait is None or wait <= LONGEST_WAIT),
        wait=None if wait is None else timedelta(seconds=min(wait, LONGEST_WAIT)),
    )


def _name(request: HttpRequest) -> str:
    return f"{request.method} {request.address}"


def _repeatable(request: HttpRequest) -> bool:
    """True if a request may be sent twice: by its method, or because the author has given it a key."""
    return request.method not in UNSAFE or IDEMPOTENCY_KEY.lower() in {name.lower() for name in request.headers}


def _passes(request: HttpRequest, status: int) -> bool:
    """True if another attempt may help: not if the service refused the request, but perhaps if it failed."""
    return status in PASSING or (status >= 500 and _repeatable(request))


def _wait(answer: Response) -> int | None:
    """The seconds that the service asks to wait."""
    text = answer.headers.get("retry-after", "")
    return int(text[:9]) if text.isascii() and text.isdigit() else None


def _value(answer: Response) -> Any:
    """The answer's JSON, if it says that it is JSON or can be read so; else its text; null if it is empty."""
    if not answer.body:
        return None
    kind, _, parameters = answer.headers.get("content-type", "")[:_LONGEST_TYPE].lower().partition(";")
    charset = _CHARSET.search(parameters)
    text = _text(answer.body, "utf-8" if charset is None else charset[1])
    kind = kind.strip()
    if kind == "application/json" or kind.endswith("+json"):
        return _json(text)
    try:
        return _json(text) if text.lstrip()[:1] in ("{", "[") else text
    except _Unreadable:
        return text


def _text(body: bytes, charset: str) -> str:
    try:
        return body.decode(_CHARSETS[charset]).replace("\0", "")
    except (LookupError, ValueError):
        raise _Unreadable("it is no text that can be read") from None


def _json(text: str) -> Any:
    try:
        return values.keepable(json.loads(text))
    except (ValueError, RecursionError, UnstorableValue):
        raise _Unreadable("it is no JSON that can be kept") from None


MOST_BYTES = 16 << 20
MOST_ANSWERS = 1000


@immutable
class _Kept:
    answer: Response  # as it came: the value that is read from it may be twenty times as large
    size: int
    until: float  # by `Clock.elapsed`


class AnswerCache:
    """Answers by their whole request. The oldest are dropped if there are too many. Safe to use from many threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: dict[str, _Kept] = {}  # in the order in which they came
        self._size = 0

    def get(self, request: HttpRequest) -> Response | None:
        """The answer to the same request, if it is no older than the request allows."""
        if not request.cache:
            return None
        with self._lock:
            kept = self._kept.get(values.dumps(request))
        return kept.answer if kept is not None and kept.until > self._clock.elapsed() else None

    def put(self, request: HttpRequest, answer: Response) -> None:
        """Keep the answer to a request that allows it."""
        if not request.cache:
            return
        name, now = values.dumps(request), self._clock.elapsed()
        size = len(name) + len(answer.body) + sum(len(key) + len(value) for key, value in answer.headers.items())
        with self._lock:
            for old in [old for old, kept in self._kept.items() if old == name or kept.until <= now]:
                self._drop(old)
            self._kept[name] = _Kept(answer, size, now + request.cache)
            self._size += size
            while self._size > MOST_BYTES or len(self._kept) > MOST_ANSWERS:
                self._drop(next(iter(self._kept)))

    def clear(self) -> None:
        """Forget all answers: the services may have changed."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def _drop(self, name: str) -> None:
        self._size -= self._kept.pop(name).size
