"""Who sends the requests of ``http`` steps: what comes back, and how it can fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from bot.core.effects import HttpRequest
from bot.core.errors import BotError

UNSAFE = ("POST", "PATCH")  # what is done twice where it is sent twice
IDEMPOTENCY_KEY = "Idempotency-Key"
"""The header with a request's key: a service that knows it does the same request once."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """A whole answer, whatever its status. The names of headers are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


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


class Broken(RequestFailed):
    """The request may have left, and its answer was cut off."""

    may_have_arrived = True


class TimedOut(RequestFailed):
    """The answer was not whole in time."""

    outcome = "timeout"
    may_have_arrived = True


class AnswerTooLarge(RequestFailed):
    """The answer has more bytes than are taken."""

    outcome = "too_large"
    may_have_arrived = True
    passes = False


class NotAllowed(RequestFailed):
    """The request is not sent: it leads into a private network, or what its service needs is not set."""

    passes = False


class Requester(Protocol):
    """Sends one request, once. Called from many threads.

    ``key`` is the same at every repeat of the same request. Raises `RequestFailed`, and nothing else.
    """

    def __call__(self, request: HttpRequest, key: str, /) -> HttpAnswer:
        """The service's answer."""
        ...
