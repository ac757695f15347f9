"""Every error of a request to the chat-completion service, as one table, and how an answer is read as one (spec:
Errors).
"""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from bot.core.errors import BotError, ErrorRow, row_of
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import json_object, line
from bot.core.values import Usage
from bot.language.source import wall_clock
from bot.services.request_errors import DeadlinePassed, HttpError, NotSent, Oversized, Silent

QUOTA_KINDS = ("5h", "weekly", "monthly_exhausted")


class CompletionError(BotError):
    """A request without a usable answer. `ERRORS` has a row for each kind.

    ``code`` is the service's, ``""`` where there was none; ``message`` is its text; ``reset_in`` is how long it asks
    to wait; ``usage`` is what the request used, if the model had begun to answer. ``retry``: whether the same request
    can succeed a little later. ``advice``: what the operator should do.
    """

    def __init__(self, message: str, *, code: str = "", reset_in: timedelta | None = None, advice: str = "") -> None:
        row = row_of(ERRORS, type(self), code)
        self.message = message
        self.code = code or row.code
        self.reset_in = reset_in
        self.usage: Usage | None = None
        self.retry = row.retry
        self.advice = advice or row.advice
        super().__init__(self._text())

    def _text(self) -> str:
        words = f"{self.code}: {self.message}" if self.code else self.message
        notes = [f"renewed in {wall_clock.duration_words(self.reset_in)}"] if self.reset_in is not None else []
        notes += [self.advice] if self.advice else []
        return f"{words} ({'; '.join(notes)})" if notes else words


class InvalidRequest(CompletionError):
    """A parameter is invalid."""


class PromptTooLong(InvalidRequest):
    """The question is longer than the model can read."""


class ContentRefused(InvalidRequest):
    """The service's filter refused the question."""


class NoToolSupport(InvalidRequest):
    """The model cannot call tools."""


class ServiceUnauthorized(CompletionError):
    """The API key is missing, wrong or revoked, or its package is inactive."""


class PackageRequired(CompletionError):
    """Only customers with an active package may use the model."""


class ModelNotInPackage(CompletionError):
    """The model is not in the account's package."""


class QuotaExceeded(CompletionError):
    """The quota is used up: ``kind`` is one of `QUOTA_KINDS`, or ``""`` if the service does not say."""

    def __init__(self, message: str, *, reset_in: timedelta | None, kind: str) -> None:
        self.kind = kind
        super().__init__(f"{message} ({kind})" if kind else message, reset_in=reset_in)


class ServiceRateLimited(CompletionError):
    """There were too many requests within a minute."""


class ServerError(CompletionError):
    """The model's provider is not configured, or there is an outage."""


class ProviderError(CompletionError):
    """The model's provider failed."""


class ServiceNotReached(CompletionError):
    """There is no connection to the service: nothing was asked."""


class ServiceTimedOut(CompletionError):
    """The answer was not complete in time. ``idle``: nothing at all came for too long."""

    def __init__(self, message: str, *, idle: bool = False) -> None:
        self.idle = idle
        super().__init__(message)


class CutStream(CompletionError):
    """The answer broke off before its end."""


class ExcessiveCalls(CompletionError):
    """The model asked for more tool calls, or longer ones, than an answer of its length can hold."""


class EmptyAnswer(CompletionError):
    """The model answered with neither text nor a tool call."""


class NotTheService(CompletionError):
    """The answer is not the service's: something in between answered, perhaps a proxy."""


_SECOND_MODEL = "if this happens often, name a second model in BOT_AI_MODEL"
ERRORS: tuple[ErrorRow[CompletionError], ...] = (
    ErrorRow("invalid_request_error", InvalidRequest, False, "correct what the flow asks the model"),
    ErrorRow(
        "context_length_exceeded",
        PromptTooLong,
        False,
        "if this happens often, name a model that reads more, or lower `history` and `hears`",
    ),
    ErrorRow(
        "content_filter", ContentRefused, False, "if this happens to harmless questions, check the service's filter"
    ),
    ErrorRow("model_no_tool_support", NoToolSupport, False, "name a model that can call tools"),
    ErrorRow("model_requires_package", PackageRequired, False, "name another model in BOT_AI_MODEL, or get a package"),
    ErrorRow(
        "model_not_in_package",
        ModelNotInPackage,
        False,
        "name a model of the package in BOT_AI_MODEL; `bot models` lists all",
    ),
    ErrorRow(
        "quota_exceeded",
        QuotaExceeded,
        False,
        "wait until the quota is renewed, or name a second model in BOT_AI_MODEL",
    ),
    ErrorRow("rate_limit_exceeded", ServiceRateLimited, True, "ask less often, or get a package with a higher limit"),
    ErrorRow("server_error", ServerError, False, "name a second model in BOT_AI_MODEL"),
    ErrorRow("provider_error", ProviderError, True, _SECOND_MODEL),
    ErrorRow(  # by the HTTP status 401, whatever the code
        "invalid_request_error", ServiceUnauthorized, False, "set BOT_AI_KEY to a valid key of an active package"
    ),
    # without a code of the service
    ErrorRow("", ServiceNotReached, True, "check BOT_AI_URL and the network"),
    ErrorRow("", ServiceTimedOut, False, "name a faster model, or ask for a shorter answer"),
    ErrorRow("", CutStream, True, "if this happens often, check the proxies between the bot and the service"),
    ErrorRow("", ExcessiveCalls, False, "if this happens often, name another model"),
    ErrorRow("", EmptyAnswer, False, "name another model, or raise max_tokens if the model thinks first"),
    ErrorRow(
        "",
        NotTheService,
        False,
        "check BOT_AI_URL, which ends with /api/v1, and any proxy between the bot and the service",
    ),
)
"""Every error of the chat-completion service's client. docs/models.md explains each."""

BY_CODE: Mapping[str, ErrorRow[CompletionError]] = {
    row.code: row for row in ERRORS if row.code and row.raises is not ServiceUnauthorized
}

LONGEST_RESET = timedelta(days=31)
_WORDS = 300  # characters of its text that are kept
_WORD = 256
_TOO_LONG = lazy_pattern(
    r"context[ _](length|window|size|limit)|(prompt|inputs?|messages?|request)\b.{0,30}\btoo[ _](long|large)"
    r"|token count.{0,40}exceed|(reduce|shorten) .{0,20}(length|messages|prompt)",
    re.IGNORECASE,
)
_CONTENT = lazy_pattern(
    r"content[ _-](filter|policy|management|moderation)|moderation|safety (system|settings|filter)|\bflagged\b",
    re.IGNORECASE,
)
_SPAN = lazy_pattern(r"(\d+(?:\.\d+)?)\s*(ms|mo|[smhdw])", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "mo": 31 * 86400}


def failure(error: HttpError) -> CompletionError:
    """The error of a request that got no answer."""
    if isinstance(error, NotSent):
        return ServiceNotReached(str(error), advice=error.advice)
    if isinstance(error, DeadlinePassed | Silent):
        return ServiceTimedOut(str(error), idle=isinstance(error, Silent))
    return NotTheService(str(error)) if isinstance(error, Oversized) else CutStream(str(error))


def read_object(status: int, headers: Mapping[str, str], content: bytes) -> dict[str, Any]:
    """The JSON object of a successful answer. Raises `CompletionError` for any other answer."""
    body = json_object(content)
    if 200 <= status < 300 and body and not body.get("error"):
        return body
    raise refusal(status, headers, body)


def refusal(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> CompletionError:
    """The error that an answer means: its code decides, then its HTTP status."""
    error = body.get("error")
    fields = error if isinstance(error, dict) else {"message": error}
    message = (
        line(fields.get("message") or body.get("message"), _WORDS)
        or f"not an answer of the service: HTTP status {status}"
    )
    reset_in = read_reset(fields.get("reset_in", body.get("reset_in")), headers) or read_reset(
        headers.get("Retry-After"), headers
    )
    names = [name for name in (word(fields.get("code")), word(fields.get("type"))) if name]
    if status == 401:
        return ServiceUnauthorized(message, reset_in=reset_in)
    kind = next((kind for kind in QUOTA_KINDS if any(kind in name for name in names)), "")
    if kind or any(name.startswith("quota_exceeded") for name in names):
        return QuotaExceeded(message, reset_in=reset_in, kind=kind)
    found = next((BY_CODE[name] for name in names if name in BY_CODE), None)
    code = found.code if found is not None else names[0] if names else ""
    kind_of_error = found.raises if found is not None else _by_status(status, bool(error))
    if kind_of_error is InvalidRequest:
        kind_of_error = _invalid_by_words(" ".join([*names, message]))
    return kind_of_error(message, code=code, reset_in=reset_in)


def _invalid_by_words(said: str) -> type[CompletionError]:
    """The invalid parameter is often the conversation itself: services say so in their own words and codes."""
    return PromptTooLong if _TOO_LONG.search(said) else ContentRefused if _CONTENT.search(said) else InvalidRequest


def _by_status(status: int, said: bool) -> type[CompletionError]:
    """The error of an unknown code. ``said``: the answer has an ``error``."""
    if status == 429:
        return ServiceRateLimited
    if status >= 500:
        return ProviderError if status in (502, 503, 504) else ServerError
    if status < 300 and said:  # within a stream
        return ProviderError
    return InvalidRequest if status >= 400 and said else NotTheService


def read_reset(value: Any, headers: Mapping[str, str]) -> timedelta | None:
    """Read how long to wait: a number of seconds, ``2h 15m``, ``in 3 hours``, ``PT2H15M``, or a time.

    A time is compared with the answer's own ``Date``. None for anything else; 31 days at most.
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
    """A short text from the service, safe to keep; ``""`` if there is none."""
    return line(value, _WORD) or ""
