"""The gateway's refusals: every code of the specification with its class (spec: Errors)."""

from collections.abc import Iterator, Mapping

from bot.gateway.errors import Refused


class Unauthorized(Refused):
    """The API key is invalid or absent: no message can be sent."""

    code = "unauthorized"
    advice = "set BOT_GATEWAY_KEY to a valid key"


class ChannelNotFound(Refused):
    """The channel is unknown or inactive, or none is named where there are several: no message goes by it."""

    code = "WHATSAPP_CHANNEL_NOT_FOUND"
    advice = "set channels in bot.yml, or BOT_CHANNEL_ID with a restart, to active channels"


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
