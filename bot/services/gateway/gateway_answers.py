"""The meaning of the gateway's answers: limits, errors as one table, and data (spec: Response envelope, Errors)."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

from bot.core.errors import BotError, ErrorRow, row_of
from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.text import clean, digits, json_object, line

if TYPE_CHECKING:  # reading webhooks does not need the client
    from bot.services.http_client import Response


_LONGEST_WAIT = timedelta(days=1)


@immutable
class Rate:
    """The limits that an answer reports: requests left until ``resets_at``, how long to wait (a span, or a time), and
    requests a minute (``limit``). None where it does not say.
    """

    remaining: int | None = None
    resets_at: datetime | None = None
    retry_after: timedelta | datetime | None = None
    limit: int | None = None

    def wait(self, now: datetime) -> float | None:
        """The seconds that ``Retry-After`` asks to wait, a day at most; None if it asks for no wait."""
        if self.retry_after is None:
            return None
        left = self.retry_after - now if isinstance(self.retry_after, datetime) else self.retry_after
        return min(left, _LONGEST_WAIT).total_seconds() if left > timedelta() else None

    def resets_in(self, now: datetime) -> float | None:
        """The seconds until requests are allowed again; below 0 where one of the two clocks is wrong."""
        return None if self.resets_at is None else (self.resets_at - now).total_seconds()


UNSAID = Rate()
"""The limits of an answer that says nothing of them."""


def read_rate(headers: Mapping[str, str]) -> Rate:
    """Read the three ``X-RateLimit-...`` headers and ``Retry-After``. An invalid value counts as missing."""
    remaining, reset = headers.get("X-RateLimit-Remaining"), headers.get("X-RateLimit-Reset")
    retry_after, limit = headers.get("Retry-After"), _number(headers.get("X-RateLimit-Limit"))
    if remaining is None and reset is None and retry_after is None and limit is None:
        return UNSAID
    left = _number(remaining)
    a_minute = int(limit) if limit is not None and limit >= 1 else None
    wait = None if retry_after is None else _wait(retry_after)
    return Rate(None if left is None else int(left), _time(reset), wait, a_minute)


def _number(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _time(text: str | None) -> datetime | None:
    seconds = _number(text)
    try:
        return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _wait(text: str) -> timedelta | datetime | None:
    seconds = _number(text)
    if seconds is not None:
        return timedelta(seconds=min(seconds, _LONGEST_WAIT.total_seconds()))
    try:
        at = parsedate_to_datetime(text)
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


DETAILS = ("field", "hint", "max", "received")
"""The documented names in ``error.details``."""

_SHOWN = 6
_WORDS = 200  # characters of each detail


class GatewayError(BotError):
    """A failed request to the gateway, or one whose outcome is unknown. `ERRORS` has a row for each kind.

    ``code`` is the gateway's, ``""`` where there was none; ``message`` is its text and ``details`` its
    ``error.details``; ``rate`` are the limits that the answer reported. ``retry``: whether the same request can succeed
    later. ``advice``: what the operator should do. ``asked`` is the request's method and address and the answer's HTTP
    status, where the address may be at fault.
    """

    requested: ClassVar[bool] = True
    """True if the request reached the gateway, and so counts against its limits."""

    def __init__(
        self,
        message: str,
        details: Mapping[str, Any] | None = None,
        rate: Rate | None = None,
        code: str = "",
        advice: str = "",
        asked: str = "",
    ) -> None:
        row = row_of(ERRORS, type(self), code)
        self.message = message
        self.details = dict(details or {})
        self.rate = rate or UNSAID
        self.code = code or row.code
        self.retry = row.retry
        self.advice = advice or row.advice
        self.asked = asked
        super().__init__(self._text())

    def _text(self) -> str:
        words = ": ".join(part for part in (self.asked, self.code, self.message) if part)
        details = "; ".join(_details(self.details))
        advice = "" if "hint" in self.details else self.advice  # the gateway's own is about this very case
        return words + (f" ({details})" if details else "") + (f" ({advice})" if advice else "")


def _details(details: Mapping[str, Any]) -> Iterator[str]:
    """Each detail as ``name: value``, the documented ones first."""
    plain = {str(name): value for name, value in details.items() if isinstance(value, str | int | float)}
    for name in sorted(plain, key=lambda name: DETAILS.index(name) if name in DETAILS else len(DETAILS))[:_SHOWN]:
        yield line(f"{name}: {plain[name]}", _WORDS) or ""


class GatewayRefused(GatewayError):
    """The gateway refused: the message was certainly not sent. ``code`` may be one that is not in the table."""


class GatewayUnauthorized(GatewayRefused):
    """The API key is invalid or absent: no message can be sent."""


class ChannelNotFound(GatewayRefused):
    """The channel is unknown or inactive, or none is named where there are several."""


class GatewayRateLimited(GatewayRefused):
    """The requests of a minute or of a day are used up."""


class TemplateRequired(GatewayRefused):
    """The 24-hour window is closed: only templates can be sent."""


class InvalidType(GatewayRefused):
    """The endpoint does not accept messages of this type."""


class EndpointRefused(GatewayRefused):
    """This endpoint does not accept the request, but another one may: send it again at once."""


class EndpointUnavailable(GatewayRefused):
    """The gateway has no such endpoint, or forbids it to the account: the address or the account is at fault, not the
    message.
    """


class KeyUsed(GatewayRefused):
    """The gateway refuses the idempotency key because it was used: an earlier request may have been carried out."""


class InvalidMessage(GatewayError):
    """The message breaks a limit of the gateway, so it was not sent."""

    requested = False


class GatewayNotReached(GatewayError):
    """There is no connection to the gateway: the message was certainly not sent."""

    requested = False


class NotTheGateway(GatewayError):
    """The answer is not the gateway's: a redirect, or a 4xx without an envelope, of a proxy or of another address."""


class EndlessList(GatewayError):
    """A list whose pages do not end, or are all the same."""


class OutcomeUnknown(GatewayError):
    """It is unknown whether the request was carried out: the answer is incomplete, or a server error.

    ``keyed``: the request can be repeated and is carried out only once. It is a send with an idempotency key, an
    upsert, or a list. ``conflict``: the answer is a 409 that does not say that a request with this key was carried out.
    """

    def __init__(self, message: str, keyed: bool, rate: Rate | None = None, *, conflict: bool = False) -> None:
        super().__init__(message, rate=rate)
        self.keyed = keyed
        self.conflict = conflict


_DEFECT = "this is a defect of the bot: please report it"
ERRORS: tuple[ErrorRow[GatewayError], ...] = (
    ErrorRow("unauthorized", GatewayUnauthorized, False, "set BOT_GATEWAY_KEY to a valid key"),
    ErrorRow(
        "WHATSAPP_CHANNEL_NOT_FOUND",
        ChannelNotFound,
        False,
        "set channels in bot.yml, or BOT_CHANNEL_ID with a restart, to active channels",
    ),
    ErrorRow(
        "RATE_LIMIT_EXCEEDED",
        GatewayRateLimited,
        True,
        "set BOT_GATEWAY_PER_MINUTE and BOT_GATEWAY_PER_DAY to the account's limits if this happens often",
    ),
    ErrorRow("WHATSAPP_TEMPLATE_REQUIRED", TemplateRequired, False, "declare a window_closed template"),
    ErrorRow("WHATSAPP_SEND_FAILED", GatewayRefused, False, "the gateway's message says why"),
    ErrorRow("VALIDATION_INVALID_PHONE", GatewayRefused, False, "write the number in digits with the country code"),
    ErrorRow("VALIDATION_MISSING_TYPE", GatewayRefused, False, _DEFECT),
    ErrorRow("VALIDATION_MISSING_FIELD", GatewayRefused, False, _DEFECT),
    ErrorRow(
        "VALIDATION_INVALID_TYPE", InvalidType, False, "ask the gateway's operator which types the account can send"
    ),
    ErrorRow(
        "VALIDATION_INVALID_URL",
        GatewayRefused,
        False,
        "the address must be public, and lead to a file of the right type",
    ),
    ErrorRow(
        "VALIDATION_FILE_TOO_LARGE",
        GatewayRefused,
        False,
        "at most 5 MB for an image, 16 MB for audio and video, 100 MB for a document",
    ),
    ErrorRow("132000", GatewayRefused, False, "send as many parameters as the template has placeholders"),
    ErrorRow(
        "132001", GatewayRefused, False, "compare the parameters with the template's components in the template list"
    ),
    ErrorRow("132005", GatewayRefused, False, "shorten the value"),
    ErrorRow("132006", GatewayRefused, False, "use another template until it is approved again"),
    ErrorRow("132007", GatewayRefused, False, "have the template approved"),
    ErrorRow("132008", GatewayRefused, False, "use one of the languages in the template list"),
    ErrorRow("132012", GatewayRefused, False, "compare the name with the template list"),
    ErrorRow("132015", GatewayRefused, False, "use a template of the right category"),
    ErrorRow("INTERACTIVE_INVALID_TYPE", GatewayRefused, False, _DEFECT),
    ErrorRow(
        "INTERACTIVE_INVALID_BUTTON", GatewayRefused, False, "at most 3 buttons, with titles of up to 20 characters"
    ),
    ErrorRow("INTERACTIVE_INVALID_URL", GatewayRefused, False, "a full http or https address of up to 2000 characters"),
    ErrorRow(
        "INTERACTIVE_INVALID_LIST",
        GatewayRefused,
        False,
        "at most 10 sections of 10 rows, with titles of up to 24 and descriptions of up to 72 characters",
    ),
    ErrorRow("INTERACTIVE_BODY_EMPTY", GatewayRefused, False, "give the step a text"),
    # without a code of the gateway
    ErrorRow("", InvalidMessage, False, "correct the flow that sends it"),
    ErrorRow("", GatewayNotReached, True, "check BOT_GATEWAY_URL and the network"),
    ErrorRow("", NotTheGateway, True, "check BOT_GATEWAY_URL, and any proxy between the bot and the gateway"),
    ErrorRow(
        "",
        EndpointUnavailable,
        False,
        "check that BOT_GATEWAY_URL is the base address alone, and ask the gateway's operator what the account may do",
    ),
    ErrorRow("", KeyUsed, False, "look whether it arrived before you send it again"),
    ErrorRow("", OutcomeUnknown, True, ""),
    ErrorRow("", EndpointRefused, True, ""),
    ErrorRow("", EndlessList, False, "tell the gateway's operator"),
)
"""Every error of the gateway's client. docs/errors.md explains each."""

BY_CODE: Mapping[str, ErrorRow[GatewayError]] = {row.code: row for row in ERRORS if row.code}


_MOST_WORDS = 500  # characters of the gateway's that are kept
_ID = 256


@immutable
class GatewayResult:
    """A success: its ``data``, and the ``meta`` of a list. Both are as they came."""

    data: Any
    meta: Mapping[str, Any]
    rate: Rate


@immutable
class Sent:
    """The gateway accepted the message. ``message_ids`` are all ids that later statuses may use; there may be none.

    ``status`` is the first one, as it came. ``alias`` is the contact's number at the platform, if it differs from the
    number in the request (spec: ``contacts[].chat_id``).
    """

    message_ids: tuple[str, ...]
    status: str
    keyed: bool
    rate: Rate
    alias: str | None = None


class KeyState(Enum):
    """The idempotency key of a send, as far as earlier requests with it are known."""

    NONE = "none"
    """The endpoint takes none."""
    FIRST = "first"
    """No earlier request with this key can have been carried out, as far as is known."""
    REPEATED = "repeated"
    """An earlier request with this key may have been carried out: its answer was lost."""


def read_result(response: "Response", keyed: bool, asked: str = "") -> GatewayResult:
    """Read the result of an answer. ``keyed``: a request that is repeated does nothing twice. ``asked`` is its method
    and address.

    Raises the classes of `bot.services.gateway.gateway_answers`.
    """
    result = _success(response)
    if isinstance(result, FailedAnswer):
        raise result.error(result.meaning(KeyState.NONE), keyed, asked)
    return result


def read_sent(response: "Response", key: KeyState, to: str, asked: str = "") -> Sent:
    """Read the answer to a send. ``asked`` is the request's method and address.

    Raises the classes of `bot.services.gateway.gateway_answers`.
    """
    result, keyed = _success(response), key is not KeyState.NONE
    if isinstance(result, FailedAnswer):
        meaning = result.meaning(key)
        if meaning is Sent:
            return Sent(result.message_ids, "", keyed, result.rate)
        raise result.error(meaning, keyed, asked)
    said = _sent_data(result.data)
    statuses = _texts(said, "status", "message_status")
    if statuses[:1] == ["failed"]:
        raise GatewayRefused("the message has the status failed", rate=result.rate, code="WHATSAPP_SEND_FAILED")
    ids = tuple(dict.fromkeys(_texts(said, "messageId", "chatMessageId", "id")))
    return Sent(ids, statuses[0] if statuses else "", keyed, result.rate, _alias(result.data, to))


def _success(response: "Response") -> "GatewayResult | FailedAnswer":
    rate = read_rate(response.headers)
    envelope = json_object(response.body)
    error, success = envelope.get("error"), envelope.get("success")
    if success is False or (error and success is not True):
        code, message = words_of(error)
        details = error.get("details") if isinstance(error, dict) else None
        details = details if isinstance(details, dict) else {}
        ids = _texts([*_sent_data(envelope.get("data")), details], "messageId", "chatMessageId")
        return FailedAnswer(response.status, rate, True, code, message, details, tuple(dict.fromkeys(ids)))
    if success is True or (envelope and "success" not in envelope and 200 <= response.status < 300):
        meta = envelope.get("meta")
        return GatewayResult(envelope.get("data"), meta if isinstance(meta, dict) else {}, rate)
    return FailedAnswer(response.status, rate, False)


_ADDRESS_OR_ACCOUNT = (402, 403, 404, 405, 407, 410, 421, 426, 451, 501)
"""The statuses that are about the address or the account, where the code says nothing else."""

_NOT_READ = (408, 425)  # the request may not have been read to its end
_KEY_USED = lazy_pattern(
    "^conflict$|idempot|(^|_)duplicated?(_(request|message|send|key))?$|already_(sent|processed|accepted|used)|key_(re)?used"
)
_KEY_NOT_USED = lazy_pattern("progress|processing|pending|concurrent|lock|invalid|missing|required|format|long|expired")


@immutable
class FailedAnswer:
    """An answer that reports no success. ``code``, ``message`` and ``details`` are the gateway's; ``enveloped``: it has
    the form of the gateway's answers. ``message_ids`` are those of a message that it names all the same.
    """

    status: int
    rate: Rate
    enveloped: bool
    code: str = ""
    message: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)
    message_ids: tuple[str, ...] = ()

    def meaning(self, key: KeyState) -> type[GatewayError] | type[Sent]:
        """The meaning of the answer for a request: the first line that fits. `bot.runtime.sending` says what follows
        from it.

        docs/decisions.md ("Sending") has this list with the reasons.
        """
        status, bare, has_key = self.status, not self.enveloped, key is not KeyState.NONE
        if self.code == "VALIDATION_MISSING_FIELD" and self.details.get("field") == "channel_id":
            return ChannelNotFound  # the account has several
        if self.code in BY_CODE:
            return BY_CODE[self.code].raises
        if status == 401:
            return GatewayUnauthorized
        if status == 429:
            return GatewayRateLimited
        if status == 409 and key is KeyState.REPEATED and (self.says_key_used or self.message_ids):
            return Sent
        if status == 409 and (has_key or bare):
            return OutcomeUnknown
        if has_key and status < 500 and self.says_key_used:
            return KeyUsed
        if status in _ADDRESS_OR_ACCOUNT:
            return NotTheGateway if bare else EndpointUnavailable
        if status in _NOT_READ or status >= 500 or (bare and status < 300):
            return OutcomeUnknown
        return NotTheGateway if bare else GatewayRefused

    @property
    def says_key_used(self) -> bool:
        """True if its code says that a request with this key was carried out, and not only that one is under way."""
        code = re.sub("[^a-z0-9]+", "_", self.code.lower())
        return _KEY_USED.search(code) is not None and _KEY_NOT_USED.search(code) is None

    def error(self, meaning: type[GatewayError] | type[Sent], keyed: bool, asked: str) -> GatewayError:
        """The error of this meaning. ``keyed``: the request can be repeated; ``asked`` is its method and address."""
        message = self.message or f"HTTP status {self.status}"
        if not self.enveloped:
            message += " without an envelope"
        if meaning is OutcomeUnknown:
            text = ": ".join(part for part in (self.code, message) if part)
            return OutcomeUnknown(text, keyed, self.rate, conflict=self.status == 409)
        assert issubclass(meaning, GatewayError)
        at_fault = f"{asked} ({self.status})" if meaning in (NotTheGateway, EndpointUnavailable) else ""
        return meaning(message, self.details, self.rate, self.code, asked=at_fault)


def words_of(error: Any) -> tuple[str, str]:
    """The code and the message of an ``error`` object; ``""`` for a missing one."""
    if isinstance(error, str):
        return "", line(error, _MOST_WORDS) or ""
    fields = error if isinstance(error, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    return (line(str(code), _ID) or "" if isinstance(code, str | int) else "", line(message, _MOST_WORDS) or "")


def _sent_data(data: Any) -> list[Mapping[str, Any]]:
    """The parts that may name a message: the send-message result, and the messages in a template-send result."""
    if not isinstance(data, dict):
        return []
    messages = data.get("messages")
    return [data, *(each for each in messages if isinstance(each, dict))] if isinstance(messages, list) else [data]


def _texts(said: Iterable[Mapping[str, Any]], *names: str) -> list[str]:
    """The values of these fields, in order."""
    texts = []
    for fields in said:
        for name in names:
            value = fields.get(name)
            if isinstance(value, (str, int)) and (text := clean(str(value), _ID)):
                texts.append(text)
    return texts


def _alias(data: Any, to: str) -> str | None:
    contacts = data.get("contacts") if isinstance(data, dict) else None
    first = contacts[0] if isinstance(contacts, list) and contacts else None
    number = digits(first.get("chat_id")) if isinstance(first, dict) else None
    return None if number is None or number == digits(to) else number
