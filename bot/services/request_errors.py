"""The errors of HTTP requests: `HttpError` says what is certain, `RequestFailed` what an ``http`` step ends with."""

from typing import ClassVar

from bot.core.errors import BotError


class HttpError(BotError):
    """A request without a usable answer. ``advice``: what the operator can do; empty where only the address may be
    wrong.
    """

    advice: str = ""


class NotSent(HttpError):
    """There was no connection (refused, no such host, time-out, TLS, proxy): the request certainly did not leave."""

    def __init__(self, text: str, advice: str = "") -> None:
        super().__init__(text)
        self.advice = advice


class Ambiguous(HttpError):
    """The request may have left, and no whole answer came (reset, cut or no HTTP, where no class below says more)."""


class DeadlinePassed(Ambiguous):
    """The answer was not whole when the time for the exchange was up."""


class Silent(Ambiguous):
    """The peer was silent for longer than a stream may be."""


class Oversized(Ambiguous):
    """The answer's body has more bytes than are taken."""


class RequestFailed(BotError):
    """A request without a whole answer. Its text names no secret, and nothing that a contact wrote.

    ``outcome`` is what the step ends with, ``may_have_arrived`` whether the service may have acted on it, and
    ``passes`` whether another try may help.
    """

    outcome: ClassVar[str] = "unreachable"
    may_have_arrived: ClassVar[bool] = False
    passes: ClassVar[bool] = True


class Unreachable(RequestFailed):
    """There was no connection: the request certainly did not leave."""


class AnswerCut(RequestFailed):
    """The request may have left, and its answer was cut off."""

    may_have_arrived = True


class RequestTimedOut(RequestFailed):
    """The answer was not whole in time."""

    outcome = "timeout"
    may_have_arrived = True


class AnswerTooLarge(RequestFailed):
    """The answer has more bytes than are taken."""

    outcome = "too_large"
    may_have_arrived = True
    passes = False


class NotAllowed(RequestFailed):
    """The request is not sent: it leads into a private network, or a variable of its service is not set."""

    passes = False
