"""Reading the gateway's answer to a send (spec: Response envelope; decisions: Sending)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bot.gateway.errors import (
    BY_CODE,
    GatewayError,
    NotTheGateway,
    OutcomeUnknown,
    RateLimited,
    Refused,
    SendFailed,
    Unauthorized,
)
from bot.gateway.rate import Rate, read_rate
from bot.gateway.text import clean
from bot.http import Response

_WORDS = 500  # characters of the gateway's that are kept
_ID = 256


@dataclass(frozen=True, slots=True)
class Sent:
    """The gateway took the message. ``message_ids`` are all its names in later statuses; there may be none."""

    message_ids: tuple[str, ...]
    status: str
    keyed: bool
    rate: Rate


def read_answer(response: Response, keyed: bool) -> Sent:
    """What an answer means. ``keyed`` tells whether the request carried an idempotency key that counts there.

    Raises the classes of `bot.gateway.errors`.
    """
    rate = read_rate(response.headers)
    envelope = _object(response.body)
    error = envelope.get("error")
    code = _code(error)
    if keyed and response.status == 409 and code not in BY_CODE:
        return Sent((), "", keyed, rate)  # the key was used: the first request with it was taken
    if envelope.get("success") is False or (error and envelope.get("success") is not True):
        raise _refusal(response.status, code, error, keyed, rate)
    if envelope and ("success" in envelope or 200 <= response.status < 300):
        return _sent(envelope.get("data"), keyed, rate)
    raise _bare(response.status, keyed, rate)


def _sent(data: Any, keyed: bool, rate: Rate) -> Sent:
    fields = data if isinstance(data, dict) else {}
    status = str(fields.get("status") or "")
    if status == "failed":
        raise SendFailed("the gateway took the message, but with the status failed", rate=rate)
    return Sent(tuple(dict.fromkeys(_ids(fields))), status, keyed, rate)


def _ids(data: dict[str, Any]) -> Iterator[str]:
    messages = data.get("messages")
    listed = [item.get("id") for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    for found in (data.get("messageId"), data.get("chatMessageId"), *listed):
        if isinstance(found, str | int) and (text := clean(str(found), _ID)):
            yield text


def _refusal(status: int, code: str, error: Any, keyed: bool, rate: Rate) -> GatewayError:
    fields = error if isinstance(error, dict) else {"message": error}
    message = clean(str(fields.get("message") or f"HTTP status {status}"), _WORDS)
    details = fields.get("details")
    details = details if isinstance(details, dict) else None
    known = BY_CODE.get(code)
    if known is not None:
        return known(message, details, rate)
    if status == 401:
        return Unauthorized(message, details, rate, code)
    if status == 429:
        return RateLimited(message, details, rate, code)
    if status >= 500:
        return OutcomeUnknown(f"{code}: {message}" if code else message, keyed, rate)
    return Refused(message, details, rate, code)


def _bare(status: int, keyed: bool, rate: Rate) -> GatewayError:
    """The error of an answer that is no envelope."""
    message = f"HTTP status {status} without an envelope"
    if status == 401:
        return Unauthorized(message, rate=rate)
    if status == 429:
        return RateLimited(message, rate=rate)
    if 300 <= status < 500:
        return NotTheGateway(message, rate=rate)
    return OutcomeUnknown(message, keyed, rate)


def _code(error: Any) -> str:
    code = error.get("code") if isinstance(error, dict) else None
    return clean(str(code), _ID) if isinstance(code, str | int) else ""


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
