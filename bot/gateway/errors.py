"""Everything that can go wrong with a send, as one tree (spec: Errors).

Each class says what its code means, whether sending the same again can help, and what the operator should do.
"""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from bot.core.errors import BotError
from bot.gateway.rate import Rate


class GatewayError(BotError):
    """A send that came to nothing, or to nothing certain.

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
        named = {name: self.details[name] for name in ("field", "hint", "max", "received") if name in self.details}
        details = f" ({', '.join(f'{name}: {value}' for name, value in named.items())})" if named else ""
        words = f"{self.code}: {self.message}" if self.code else self.message
        return f"{words}{details}" + (f" ({self.advice})" if self.advice else "")


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


class OutcomeUnknown(GatewayError):
    """Nobody can tell whether it was sent: no whole answer came, or a server's error.

    ``keyed`` says whether the endpoint took the idempotency key, so that sending it again cannot send twice.
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
    """The channel is unknown or inactive: no message can be sent."""

    code = "WHATSAPP_CHANNEL_NOT_FOUND"
    advice = "set BOT_CHANNEL_ID to an active channel"


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
    """The request has no type."""

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


class EndpointRefused(InvalidType):
    """This endpoint does not take messages of this type, but the next one may: send again, at once."""

    retry = True


class InvalidUrl(InvalidRequest):
    """The address of the media is invalid, or the gateway cannot reach it."""

    code = "VALIDATION_INVALID_URL"
    advice = "the address must be public"


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

    advice = "correct the step that sends it"


class InteractiveInvalidType(InteractiveError):
    """The interactive type is none of button, cta_url and list."""

    code = "INTERACTIVE_INVALID_TYPE"


class InteractiveInvalidButton(InteractiveError):
    """There are too many buttons, or one of them is malformed."""

    code = "INTERACTIVE_INVALID_BUTTON"


class InteractiveInvalidUrl(InteractiveError):
    """The button's address is invalid or too long."""

    code = "INTERACTIVE_INVALID_URL"


class InteractiveInvalidList(InteractiveError):
    """The list is malformed, or has too many sections or rows."""

    code = "INTERACTIVE_INVALID_LIST"


class InteractiveBodyEmpty(InteractiveError):
    """The text above the buttons or the list is empty."""

    code = "INTERACTIVE_BODY_EMPTY"


def _tree(root: type[Refused]) -> Iterator[type[Refused]]:
    yield root
    for child in root.__subclasses__():
        yield from _tree(child)


BY_CODE: Mapping[str, type[Refused]] = {
    error.code: error for error in _tree(Refused) if error.code and error is not EndpointRefused
}
"""Every code of the specification, and its class."""
