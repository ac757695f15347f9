"""What an answer means that is no completion (spec: Errors)."""

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from bot.ai.errors import (
    BY_CODE,
    QUOTA_KINDS,
    CompletionError,
    ContentRefused,
    CutStream,
    InvalidRequest,
    NotReached,
    NotTheService,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    ServerError,
    TimedOut,
    TooLong,
    Unauthorized,
)
from bot.core.text import json_object, line
from bot.http_client import DeadlinePassed, HttpError, NotSent, Oversized, Silent

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
        return NotReached(str(error), advice=error.advice)
    if isinstance(error, DeadlinePassed | Silent):
        return TimedOut(str(error), idle=isinstance(error, Silent))
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
        return Unauthorized(message, reset_in=reset_in)
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
    return TooLong if _TOO_LONG.search(said) else ContentRefused if _CONTENT.search(said) else InvalidRequest


def _by_status(status: int, said: bool) -> type[CompletionError]:
    if status == 429:
        return RateLimited
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
