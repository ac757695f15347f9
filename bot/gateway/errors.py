"""Everything that can go wrong at the gateway, as one tree (spec: Errors; docs/errors.md lists it).

Each class says what its code means, whether asking the same again can help, and what the operator should do.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from bot.core.errors import BotError
from bot.core.text import line
from bot.gateway.rate import Rate

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
    advice: ClassVar[str] = ""
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


class NotReached(GatewayError):
    """There is no connection to the gateway: the message was certainly not sent."""

    retry = True
    requested = False
    advice = "check BOT_GATEWAY_URL and the network"


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


class Refused(GatewayError):
    """The gateway refused: the message was certainly not sent. ``code`` may be one that no class here stands for."""

    def __init__(
        self, message: str, details: Mapping[str, Any] | None = None, rate: Rate | None = None, code: str = ""
    ) -> None:
        if code:
            self.code = code
        super().__init__(message, details, rate)


class Unauthorized(Refused):
    """The API key is invalid or absent: no message can be sent."""

    code = "unauthorized"
    advice = "set BOT_GATEWAY_KEY to a valid key"


class ChannelNotFound(Refused):
    """The channel is unknown or inactive, or none is named where there are several: no message can be sent."""

    code = "WHATSAPP_CHANNEL_NOT_FOUND"
    advice = "set BOT_CHANNEL_ID, or channels in bot.yml, to active channels"


class RateLimited(Refused):
    """The requests of a minute or of a day are used up."""

    code = "RATE_LIMIT_EXCEEDED"
    retry = True
    advice = "set BOT_GATEWAY_PER_MINUTE and BOT_GATEWAY_PER_DAY to the account's limits if this happens often"


class TemplateRequired(Refused):
    """The 24-hour window is shut: only templates can be sent."""

    code = "WHATSAPP_TEMPLATE_REQUIRED"
    advice = "declare a window_closed template"


class SendFailed(Refused):
    """The messaging platform refused the message."""

    code = "WHATSAPP_SEND_FAILED"
    advice = "see the gateway's words for the reason"


class InvalidRequest(Refused):
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


class EndpointRefused(Refused):
    """The request is not taken here in this form, but there is another way: make it again, at once."""

    retry = True


class InvalidUrl(InvalidRequest):
    """The address of the media (or of a webhook) is invalid, or the gateway cannot reach it."""

    code = "VALIDATION_INVALID_URL"
    advice = "the address must be public, and lead to a file of the right type"


class FileTooLarge(InvalidRequest):
    """The media is larger than its type allows."""

    code = "VALIDATION_FILE_TOO_LARGE"
    advice = "5 MB for an image, 16 MB for audio and video, 100 MB for a document"


class TemplateError(Refused):
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


class InteractiveError(Refused):
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


def _tree(root: type[Refused]) -> Iterator[type[Refused]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


BY_CODE: Mapping[str, type[Refused]] = {error.code: error for error in _tree(Refused) if error.code}
"""Every code of the specification, and its class."""
