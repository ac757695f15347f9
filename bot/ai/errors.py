"""Everything that can go wrong with a request for a completion, as one tree (spec: Errors).

Each class says what its code means, whether asking the same again can help, and what the operator should do.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import ClassVar

from bot.core.errors import BotError
from bot.core.values import Usage
from bot.lang import durations

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
        notes = [f"renewed in {durations.words(self.reset_in)}"] if self.reset_in is not None else []
        notes += [self.advice] if self.advice else []
        return f"{words} ({'; '.join(notes)})" if notes else words


class NotReached(CompletionError):
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


class TimedOut(CompletionError):
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


class Refused(CompletionError):
    """The service refused, or says that it failed."""


class InvalidRequest(Refused):
    """A parameter is invalid."""

    code = "invalid_request_error"
    advice = "correct what is asked of the model"


class TooLong(InvalidRequest):
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


class Unauthorized(Refused):
    """The API key is missing, wrong or revoked, or its package is inactive."""

    code = "invalid_request_error"
    advice = "set BOT_AI_KEY to a valid key of an active package"


class PackageRequired(Refused):
    """The model is exclusive to customers with an active package."""

    code = "model_requires_package"
    advice = "name another model in BOT_AI_MODEL, or get a package"


class ModelNotInPackage(Refused):
    """The model is outside the account's package."""

    code = "model_not_in_package"
    advice = "name a model of the package in BOT_AI_MODEL; `bot models` lists all"


class QuotaExceeded(Refused):
    """The quota is used up: ``kind`` says which (spec: Quota exhaustion kinds), ``""`` where that is not said."""

    code = "quota_exceeded"
    advice = "wait until it is renewed, or name a second model in BOT_AI_MODEL"

    def __init__(self, message: str, *, code: str = "", reset_in: timedelta | None = None, kind: str = "") -> None:
        self.kind = kind
        super().__init__(f"{message} ({kind})" if kind else message, code=code, reset_in=reset_in)


class RateLimited(Refused):
    """There were too many requests within a minute."""

    code = "rate_limit_exceeded"
    retry = True
    advice = "ask less often, or get a package with a higher limit"


class ServerError(Refused):
    """The model's provider is not configured, or there is an outage."""

    code = "server_error"
    advice = "name a second model in BOT_AI_MODEL"


class ProviderError(Refused):
    """The model's provider failed."""

    code = "provider_error"
    retry = True
    advice = "if this happens often, name a second model in BOT_AI_MODEL"


BY_CODE: Mapping[str, type[Refused]] = {
    error.code: error
    for error in (
        InvalidRequest,
        TooLong,
        ContentRefused,
        NoToolSupport,
        PackageRequired,
        ModelNotInPackage,
        QuotaExceeded,
        RateLimited,
        ServerError,
        ProviderError,
    )
}
"""Every code of the specification, and two usual ones beside it, each with its class; with HTTP status 401 it is
`Unauthorized`, whatever the code."""
