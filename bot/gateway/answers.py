"""Reading the gateway's answers: the envelope, what an error means, the result of a send (spec: Response envelope)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.core.text import clean, digits, json_object, line
from bot.gateway.errors import GatewayError, NotTheGateway, OutcomeUnknown, Refused
from bot.gateway.rate import Rate, read_rate
from bot.gateway.refusals import BY_CODE, ChannelNotFound, MissingField, RateLimited, SendFailed, Unauthorized

if TYPE_CHECKING:  # who only reads webhooks does without the client
    from bot.http_client import Response

_WORDS = 500  # characters of the gateway's that are kept
_ID = 256


@dataclass(frozen=True, slots=True)
class Result:
    """A success: its ``data``, and the ``meta`` of a list. Both are as they came."""

    data: Any
    meta: Mapping[str, Any]
    rate: Rate


@dataclass(frozen=True, slots=True)
class Sent:
    """The gateway took the message. ``message_ids`` are all its names in later statuses; there may be none.

    ``status`` is the first one, as it came. ``alias`` is the platform's number of the contact where it is another
    than the one that was written to (spec: ``contacts[].chat_id``).
    """

    message_ids: tuple[str, ...]
    status: str
    keyed: bool
    rate: Rate
    alias: str | None = None


def read_result(response: "Response", keyed: bool) -> Result:
    """What an answer means. ``keyed``: a request that is repeated does nothing twice.

    Raises the classes of `bot.gateway.errors`.
    """
    rate = read_rate(response.headers)
    envelope = json_object(response.body)
    error = envelope.get("error")
    if envelope.get("success") is False or (error and envelope.get("success") is not True):
        raise _refusal(response.status, error, keyed, rate)
    if envelope and ("success" in envelope or 200 <= response.status < 300):
        meta = envelope.get("meta")
        return Result(envelope.get("data"), meta if isinstance(meta, dict) else {}, rate)
    raise _bare(response.status, keyed, rate)


def read_sent(response: "Response", keyed: bool, to: str) -> Sent:
    """What the answer to a send means. ``keyed``: the request carried an idempotency key that counts there.

    Raises the classes of `bot.gateway.errors`.
    """
    try:
        result = read_result(response, keyed)
    except GatewayError as error:
        if keyed and response.status == 409 and error.code not in BY_CODE:
            return Sent((), "", keyed, error.rate)  # the key was used: the first request with it was taken
        raise
    data = result.data if isinstance(result.data, dict) else {}
    status = next(_texts(data, "status", "message_status"), "")
    if status == "failed":
        raise SendFailed("the gateway took the message, but with the status failed", rate=result.rate)
    ids = dict.fromkeys(_texts(data, "messageId", "chatMessageId", "id"))
    return Sent(tuple(ids), status, keyed, result.rate, _alias(data, to))


def words_of(error: Any) -> tuple[str, str]:
    """The code and the message of an ``error`` object; ``""`` for what it does not have."""
    if isinstance(error, str):
        return "", line(error, _WORDS) or ""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return (
        line(str(code), _ID) or "" if isinstance(code, str | int) else "",
        line(message, _WORDS) or "",
    )


def _texts(data: Mapping[str, Any], *names: str) -> Iterator[str]:
    """The values of these fields: of the send-message result, or of the messages in a template-send result."""
    messages = data.get("messages")
    for fields in (data, *(messages if isinstance(messages, list) else ())):
        for name in names if isinstance(fields, dict) else ():
            found = fields.get(name)
            if isinstance(found, str | int) and (text := clean(str(found), _ID)):
                yield text


def _alias(data: Mapping[str, Any], to: str) -> str | None:
    contacts = data.get("contacts")
    first = contacts[0] if isinstance(contacts, list) and contacts else None
    number = digits(first.get("chat_id")) if isinstance(first, dict) else None
    return None if number == digits(to) else number


def _refusal(status: int, error: Any, keyed: bool, rate: Rate) -> GatewayError:
    code, message = words_of(error)
    message = message or f"HTTP status {status}"
    details = error.get("details") if isinstance(error, dict) else None
    details = details if isinstance(details, dict) else None
    known = BY_CODE.get(code)
    if known is MissingField and details is not None and details.get("field") == "channel_id":
        return ChannelNotFound(message, details, rate, code)  # the account has several
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
