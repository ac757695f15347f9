"""Everything that can go wrong with a request for a completion, as one tree (spec: Errors).

Each class says what its code means, whether asking the same again can help, and what the operator should do.
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar

from bot.core.errors import BotError
from bot.core.text import json_object, line
from bot.core.values import Usage
from bot.http_client import DeadlinePassed, HttpError, NotSent, Oversized, Silent
from bot.lang import wall_clock

QUOTA_KINDS = ("5h", "weekly", "monthly_exhausted")


class CompletionError(BotError):
    """A request without a usable answer.

    ``code`` is the service's, ``""`` where there was none; ``message`` are its words; ``reset_in`` is how long it
    says to wait; ``usage`` is what the try used up, where the model had begun to answer.
    """

    code: str = ""
    retry: ClassVar[bool] = False
    """Whether the same request, sent again a little later, can succeed."""
    advice: str = ""
    """What the operator should do."""

    def __init__(self, message: str, *, code: str = "", reset_in: timedelta | None = None) -> None:
        self.message = message
        self.code = code or self.code
        self.reset_in = reset_in
        self.usage: Usage | None = None
        super().__init__(self._text())

    def _text(self) -> str:
        words = f"{self.code}: {self.message}" if self.code else self.message
        notes = [f"renewed in {wall_clock.duration_words(self.reset_in)}"] if self.reset_in is not None else []
        notes += [self.advice] if self.advice else []
        return f"{words} ({'; '.join(notes)})" if notes else words


class ServiceNotReached(CompletionError):
    """There is no connection to the service: nothing was asked."""

    retry = True
    advice = "check BOT_AI_URL and the network"

    def __init__(self, message: str, *, advice: str = "") -> None:
        if advice:
            self.advice = advice
        super().__init__(message)


class NotTheService(CompletionError):
    """What came is no answer of the service's: something in between answered, a proxy perhaps."""

    advice = "check BOT_AI_URL, which ends with /api/v1, and what stands between here and the service"


class ServiceTimedOut(CompletionError):
    """The answer was not whole in time. ``idle``: nothing at all came for too long."""

    advice = "name a faster model, or ask for a shorter answer"

    def __init__(self, message: str, *, idle: bool = False) -> None:
        self.idle = idle
        super().__init__(message)


class CutStream(CompletionError):
    """The answer broke off before its end."""

    retry = True
    advice = "if this happens often, see what stands between here and the service"


class EmptyAnswer(CompletionError):
    """The model answered with neither text nor a tool call."""

    advice = "name another model, or raise max_tokens if the model thinks first"


class ExcessiveCalls(CompletionError):
    """The model asked for more tool calls, or with more arguments, than an answer of its length can hold."""

    advice = "if this happens often, name another model"


class ServiceRefused(CompletionError):
    """The service refused, or says that it failed."""


class InvalidRequest(ServiceRefused):
    """A parameter is invalid."""

    code = "invalid_request_error"
    advice = "correct what is asked of the model"


class QuestionTooLong(InvalidRequest):
    """The question is longer than what the model can read."""

    code = "context_length_exceeded"
    advice = "if this happens often, name a model that reads more, or lower `history` and `hears`"


class ContentRefused(InvalidRequest):
    """The service does not let the model read what somebody wrote."""

    code = "content_filter"
    advice = "if this happens to harmless questions, see what the service filters"


class NoToolSupport(InvalidRequest):
    """The model cannot call tools."""

    code = "model_no_tool_support"
    advice = "name a model that can call tools"


class ServiceUnauthorized(ServiceRefused):
    """The API key is missing, wrong or revoked, or its package is inactive."""

    code = "invalid_request_error"
    advice = "set BOT_AI_KEY to a valid key of an active package"


class PackageRequired(ServiceRefused):
    """The model is exclusive to customers with an active package."""

    code = "model_requires_package"
    advice = "name another model in BOT_AI_MODEL, or get a package"


class ModelNotInPackage(ServiceRefused):
    """The model is outside the account's package."""

    code = "model_not_in_package"
    advice = "name a model of the package in BOT_AI_MODEL; `bot models` lists all"


class QuotaExceeded(ServiceRefused):
    """The quota is used up: ``kind`` says which (spec: Quota exhaustion kinds), ``""`` where that is not said."""

    code = "quota_exceeded"
    advice = "wait until it is renewed, or name a second model in BOT_AI_MODEL"

    def __init__(self, message: str, *, code: str = "", reset_in: timedelta | None = None, kind: str = "") -> None:
        self.kind = kind
        super().__init__(f"{message} ({kind})" if kind else message, code=code, reset_in=reset_in)


class ServiceRateLimited(ServiceRefused):
    """There were too many requests within a minute."""

    code = "rate_limit_exceeded"
    retry = True
    advice = "ask less often, or get a package with a higher limit"


class ServerError(ServiceRefused):
    """The model's provider is not configured, or there is an outage."""

    code = "server_error"
    advice = "name a second model in BOT_AI_MODEL"


class ProviderError(ServiceRefused):
    """The model's provider failed."""

    code = "provider_error"
    retry = True
    advice = "if this happens often, name a second model in BOT_AI_MODEL"


BY_CODE: Mapping[str, type[ServiceRefused]] = {
    error.code: error
    for error in (
        InvalidRequest,
        QuestionTooLong,
        ContentRefused,
        NoToolSupport,
        PackageRequired,
        ModelNotInPackage,
        QuotaExceeded,
        ServiceRateLimited,
        ServerError,
        ProviderError,
    )
}
"""Every code of the specification, and two usual ones beside it, each with its class; with HTTP status 401 it is
`GatewayUnauthorized`, whatever the code."""


LONGEST_RESET = timedelta(days=31)
_WORDS = 300  # characters of the service's that are kept
_WORD = 256
_TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|(prompt|inputs?|messages?|request)\b.{0,30}\btoo[ _](long|large)"
    r"|token count.{0,40}exceed|(reduce|shorten) .{0,20}(length|messages|prompt)",
    re.IGNORECASE,
)
_CONTENT = re.compile(
    r"content[ _-](filter|policy|management|moderation)|moderation|safety (system|settings|filter)|\bflagged\b",
    re.IGNORECASE,
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|mo|[smhdw])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 31 * 86400}


def failure(error: HttpError) -> CompletionError:
    """What a request without an answer means."""
    if isinstance(error, NotSent):
        return ServiceNotReached(str(error), advice=error.advice)
    if isinstance(error, DeadlinePassed | Silent):
        return ServiceTimedOut(str(error), idle=isinstance(error, Silent))
    return NotTheService(str(error)) if isinstance(error, Oversized) else CutStream(str(error))


def read_object(status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
    """The JSON object of an answer that is none of the errors: those are raised."""
    body = json_object(content)
    if 200 <= status < 300 and body and not body.get("error"):
        return body
    raise refusal(status, headers, body)


def refusal(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> CompletionError:
    """The error that an answer stands for: its code decides, then its HTTP status."""
    error = body.get("error")
    fields = error if isinstance(error, dict) else {"message": error}
    message = (
        line(fields.get("message") or body.get("message"), _WORDS)
        or f"no answer of the service's: HTTP status {status}"
    )
    reset_in = read_reset(fields.get("reset_in", body.get("reset_in")), headers) or read_reset(
        headers.get("Retry-After"), headers
    )
    names = [name for name in (word(fields.get("code")), word(fields.get("type"))) if name]
    if status == 401:
        return ServiceUnauthorized(message, reset_in=reset_in)
    kind = next((kind for kind in QUOTA_KINDS if any(kind in name for name in names)), "")
    if kind or any(name.startswith(QuotaExceeded.code) for name in names):
        return QuotaExceeded(message, reset_in=reset_in, kind=kind)
    found = next((BY_CODE[name] for name in names if name in BY_CODE), None)
    code = found.code if found is not None else names[0] if names else ""
    kind_of_error = _by_words(found or _by_status(status, bool(error)), " ".join([*names, message]))
    return kind_of_error(message, code=code, reset_in=reset_in)


def _by_words(found: type[CompletionError], said: str) -> type[CompletionError]:
    """A refused parameter is often the conversation itself: services say so in words and codes of their own."""
    if found is not InvalidRequest:
        return found
    return QuestionTooLong if _TOO_LONG.search(said) else ContentRefused if _CONTENT.search(said) else InvalidRequest


def _by_status(status: int, said: bool) -> type[CompletionError]:
    if status == 429:
        return ServiceRateLimited
    if status >= 500:
        return ProviderError if status in (502, 503, 504) else ServerError
    if status < 300 and said:  # within a stream
        return ProviderError
    return InvalidRequest if status >= 400 and said else NotTheService


def read_reset(value: Any, headers: Mapping[str, str]) -> timedelta | None:
    """Read how long to wait: a number of seconds, ``2h 15m``, ``in 3 hours``, ``PT2H15M``, or a time.

    A time is taken against the answer's own ``Date``. None where it is nothing of these; 31 days at most.
    """
    text = str(value).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    seconds = _seconds(text) if 0 < len(text) <= 100 else None
    if seconds is None:
        seconds = _until(text, headers.get("Date"))
    if seconds is None or not math.isfinite(seconds):
        return None
    return timedelta(seconds=min(max(seconds, 0.0), LONGEST_RESET.total_seconds()))


def _seconds(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        if re.match(r"\d{4}-\d\d", text):
            return None
        found = _SPAN.findall(text)
        return sum(float(number) * _SECONDS[unit.lower()] for number, unit in found) if found else None


def _until(text: str, date: str | None) -> float | None:
    try:
        now = parsedate_to_datetime(date or "")
        at = datetime.fromisoformat(text)
        return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - now.replace(tzinfo=now.tzinfo or UTC)).total_seconds()
    except (ValueError, OverflowError):
        return None


def word(value: Any) -> str:
    """A short text of the service's, fit to be kept; an empty one where there is none."""
    return line(value, _WORD) or ""
