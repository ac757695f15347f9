"""Everything that can go wrong at the gateway, as one tree (docs/errors.md lists it); its own codes are in `refusals`.

Each class says what it means, whether asking the same again can help, and what the operator should do.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, ClassVar

from bot.core.errors import BotError
from bot.core.text import clean, digits, json_object, line

if TYPE_CHECKING:  # who only reads webhooks does without the client
    from bot.http_client import Response


_LONGEST_WAIT = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests are left until when, and how long to wait (a span, or a time); None where it is not said."""

    remaining: int | None = None
    resets_at: datetime | None = None
    retry_after: timedelta | datetime | None = None

    def wait(self, now: datetime) -> float | None:
        """How many seconds ``Retry-After`` asks to wait, a day at most; None where it asks for no wait at all."""
        if self.retry_after is None:
            return None
        left = self.retry_after - now if isinstance(self.retry_after, datetime) else self.retry_after
        return min(left, _LONGEST_WAIT).total_seconds() if left > timedelta() else None

    def resets_in(self, now: datetime) -> float | None:
        """In how many seconds there are requests again; below 0 where one of the two clocks is wrong."""
        return None if self.resets_at is None else (self.resets_at - now).total_seconds()


def read_rate(headers: Mapping[str, str]) -> Rate:
    """Read ``X-RateLimit-Remaining``, ``X-RateLimit-Reset`` and ``Retry-After``; what is no such value is not said."""
    remaining = _number(headers.get("X-RateLimit-Remaining"))
    return Rate(
        None if remaining is None else int(remaining),
        _time(headers.get("X-RateLimit-Reset")),
        _wait(headers.get("Retry-After")),
    )


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _time(text: str | None) -> datetime | None:
    seconds = _number(text)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _wait(text: str | None) -> timedelta | datetime | None:
    seconds = _number(text)
    if seconds is not None:
        return timedelta(seconds=min(seconds, _LONGEST_WAIT.total_seconds()))
    try:
        at = parsedate_to_datetime(text or "")
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


DETAILS = ("field", "hint", "max", "received")
"""The documented names in ``error.details``."""

_SHOWN = 6
_WORDS = 200  # characters of each detail


class GatewayError(BotError):
    """A request that came to nothing, or to nothing certain.

    ``code`` is the gateway's, ``""`` where there was none; ``message`` are its words and ``details`` its
    ``error.details``; ``rate`` is what the answer said about limits.
    """

    code: str = ""
    retry: ClassVar[bool] = False
    """Whether the same request can succeed later."""
    requested: ClassVar[bool] = True
    """Whether a request reached the gateway, and so counts against its limits."""
    advice: str = ""
    """What the operator should do."""

    def __init__(self, message: str, details: Mapping[str, Any] | None = None, rate: Rate | None = None) -> None:
        self.message = message
        self.details = dict(details or {})
        self.rate = rate or Rate()
        super().__init__(self._text())

    def _text(self) -> str:
        words = f"{self.code}: {self.message}" if self.code else self.message
        details = "; ".join(_details(self.details))
        return words + (f" ({details})" if details else "") + (f" ({self.advice})" if self.advice else "")


def _details(details: Mapping[str, Any]) -> Iterator[str]:
    """What the details say, the documented ones first: which others there are is not documented."""
    plain = {str(name): value for name, value in details.items() if isinstance(value, str | int | float)}
    for name in sorted(plain, key=lambda name: DETAILS.index(name) if name in DETAILS else len(DETAILS))[:_SHOWN]:
        yield line(f"{name}: {plain[name]}", _WORDS) or ""


class InvalidMessage(GatewayError):
    """The message breaks a limit of the gateway, so it was not sent."""

    requested = False
    advice = "correct the flow that sends it"


class GatewayNotReached(GatewayError):
    """There is no connection to the gateway: the message was certainly not sent."""

    retry = True
    requested = False
    advice = "check BOT_GATEWAY_URL and the network"

    def __init__(self, message: str, *, advice: str = "") -> None:
        if advice:
            self.advice = advice
        super().__init__(message)


class NotTheGateway(GatewayError):
    """Something in between answered, a proxy perhaps: a redirect or a 4xx that is no answer of the gateway's."""

    retry = True
    advice = "check BOT_GATEWAY_URL, and what stands between here and the gateway"


class EndlessList(GatewayError):
    """A list whose pages do not end, or are all the same."""

    advice = "tell the gateway's operator"


class OutcomeUnknown(GatewayError):
    """Nobody can tell whether it was done: no whole answer came, or a server's error.

    ``keyed`` says that it can be asked again and cannot be done twice: a send whose endpoint took its idempotency
    key, an upsert, a list.
    """

    retry = True

    def __init__(self, message: str, keyed: bool, rate: Rate | None = None) -> None:
        super().__init__(message, rate=rate)
        self.keyed = keyed


class GatewayRefused(GatewayError):
    """The gateway refused: the message was certainly not sent. ``code`` may be one that no class stands for."""

    def __init__(
        self, message: str, details: Mapping[str, Any] | None = None, rate: Rate | None = None, code: str = ""
    ) -> None:
        if code:
            self.code = code
        super().__init__(message, details, rate)


class EndpointRefused(GatewayRefused):
    """The request is not taken here in this form, but there is another way: make it again, at once."""

    retry = True


class GatewayUnauthorized(GatewayRefused):
    """The API key is invalid or absent: no message can be sent."""

    code = "unauthorized"
    advice = "set BOT_GATEWAY_KEY to a valid key"


class ChannelNotFound(GatewayRefused):
    """The channel is unknown or inactive, or none is named where there are several: no message goes by it."""

    code = "WHATSAPP_CHANNEL_NOT_FOUND"
    advice = "set channels in bot.yml, or BOT_CHANNEL_ID with a restart, to active channels"


class GatewayRateLimited(GatewayRefused):
    """The requests of a minute or of a day are used up."""

    code = "RATE_LIMIT_EXCEEDED"
    retry = True
    advice = "set BOT_GATEWAY_PER_MINUTE and BOT_GATEWAY_PER_DAY to the account's limits if this happens often"


class TemplateRequired(GatewayRefused):
    """The 24-hour window is shut: only templates can be sent."""

    code = "WHATSAPP_TEMPLATE_REQUIRED"
    advice = "declare a window_closed template"


class SendFailed(GatewayRefused):
    """The messaging platform refused the message."""

    code = "WHATSAPP_SEND_FAILED"
    advice = "see the gateway's words for the reason"


class InvalidRequest(GatewayRefused):
    """The request itself is at fault."""


class InvalidPhone(InvalidRequest):
    """The contact's number is malformed."""

    code = "VALIDATION_INVALID_PHONE"
    advice = "numbers are digits with the country code"


class MissingType(InvalidRequest):
    """The request names no type."""

    code = "VALIDATION_MISSING_TYPE"
    advice = "this is a defect of the bot's: please report it"


class MissingField(InvalidRequest):
    """A field that the type requires is missing."""

    code = "VALIDATION_MISSING_FIELD"
    advice = "this is a defect of the bot's: please report it"


class InvalidType(InvalidRequest):
    """No endpoint takes messages of this type."""

    code = "VALIDATION_INVALID_TYPE"
    advice = "ask the gateway's operator which types the account can send"


class InvalidUrl(InvalidRequest):
    """The address of the media (or of a webhook) is invalid, or the gateway cannot reach it."""

    code = "VALIDATION_INVALID_URL"
    advice = "the address must be public, and lead to a file of the right type"


class FileTooLarge(InvalidRequest):
    """The media is larger than its type allows."""

    code = "VALIDATION_FILE_TOO_LARGE"
    advice = "5 MB for an image, 16 MB for audio and video, 100 MB for a document"


class TemplateError(GatewayRefused):
    """The template cannot be sent, or not with these parameters."""


class TemplateParametersMismatch(TemplateError):
    """The template has another number of placeholders than parameters were sent."""

    code = "132000"
    advice = "send as many parameters as the template has placeholders"


class TemplateParametersMissing(TemplateError):
    """Parameters that the template requires are missing, empty or of the wrong type."""

    code = "132001"
    advice = "compare the parameters with the template's components in the template list"


class TemplateTextTooLong(TemplateError):
    """A parameter's value is too long."""

    code = "132005"
    advice = "shorten the value"


class TemplatePaused(TemplateError):
    """The platform's operator has paused the template."""

    code = "132006"
    advice = "use another template until it is approved again"


class TemplateRejected(TemplateError):
    """The platform's operator has rejected the template."""

    code = "132007"
    advice = "have the template approved"


class TemplateLanguageMismatch(TemplateError):
    """The template does not exist in this language."""

    code = "132008"
    advice = "use one of the languages in the template list"


class TemplateNotFound(TemplateError):
    """The channel has no template of this name."""

    code = "132012"
    advice = "compare the name with the template list"


class TemplateCategoryMismatch(TemplateError):
    """The template's category does not fit what it is sent for."""

    code = "132015"
    advice = "use a template of the right category"


class InteractiveError(GatewayRefused):
    """Buttons, a list or a link that the gateway does not take; ``details`` may hold field, max and received."""


class InteractiveInvalidType(InteractiveError):
    """The interactive type is none of button, cta_url and list."""

    code = "INTERACTIVE_INVALID_TYPE"
    advice = "this is a defect of the bot's: please report it"


class InteractiveInvalidButton(InteractiveError):
    """There are too many buttons, or one of them is malformed."""

    code = "INTERACTIVE_INVALID_BUTTON"
    advice = "at most 3 buttons, with titles of up to 20 characters"


class InteractiveInvalidUrl(InteractiveError):
    """The button's address is invalid or too long."""

    code = "INTERACTIVE_INVALID_URL"
    advice = "a full http or https address of up to 2000 characters"


class InteractiveInvalidList(InteractiveError):
    """The list is malformed, or has too many sections or rows."""

    code = "INTERACTIVE_INVALID_LIST"
    advice = "at most 10 sections of 10 rows, with titles of up to 24 and descriptions of up to 72 characters"


class InteractiveBodyEmpty(InteractiveError):
    """The text above the buttons or the list is empty."""

    code = "INTERACTIVE_BODY_EMPTY"
    advice = "give the step a text"


def _tree(root: type[GatewayRefused]) -> Iterator[type[GatewayRefused]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


BY_CODE: Mapping[str, type[GatewayRefused]] = {error.code: error for error in _tree(GatewayRefused) if error.code}
"""Every code of the specification, and its class."""


_MOST_WORDS = 500  # characters of the gateway's that are kept
_ID = 256


@dataclass(frozen=True, slots=True)
class GatewayResult:
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


def read_result(response: "Response", keyed: bool) -> GatewayResult:
    """What an answer means. ``keyed``: a request that is repeated does nothing twice.

    Raises the classes of `bot.gateway.gateway_answers`.
    """
    rate = read_rate(response.headers)
    envelope = json_object(response.body)
    error = envelope.get("error")
    if envelope.get("success") is False or (error and envelope.get("success") is not True):
        raise _refusal(response.status, error, keyed, rate)
    if envelope and ("success" in envelope or 200 <= response.status < 300):
        meta = envelope.get("meta")
        return GatewayResult(envelope.get("data"), meta if isinstance(meta, dict) else {}, rate)
    raise _bare(response.status, keyed, rate)


def read_sent(response: "Response", keyed: bool, to: str) -> Sent:
    """What the answer to a send means. ``keyed``: the request carried an idempotency key that counts there.

    Raises the classes of `bot.gateway.gateway_answers`.
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
        return "", line(error, _MOST_WORDS) or ""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return (
        line(str(code), _ID) or "" if isinstance(code, str | int) else "",
        line(message, _MOST_WORDS) or "",
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
        return GatewayUnauthorized(message, details, rate, code)
    if status == 429:
        return GatewayRateLimited(message, details, rate, code)
    if status >= 500:
        return OutcomeUnknown(f"{code}: {message}" if code else message, keyed, rate)
    return GatewayRefused(message, details, rate, code)


def _bare(status: int, keyed: bool, rate: Rate) -> GatewayError:
    """The error of an answer that is no envelope."""
    message = f"HTTP status {status} without an envelope"
    if status == 401:
        return GatewayUnauthorized(message, rate=rate)
    if status == 429:
        return GatewayRateLimited(message, rate=rate)
    if 300 <= status < 500:
        return NotTheGateway(message, rate=rate)
    return OutcomeUnknown(message, keyed, rate)
