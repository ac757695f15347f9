"""Everything that can go wrong at the gateway, as one tree (docs/errors.md lists it); its own codes are in `refusals`.

Each class says what it means, whether asking the same again can help, and what the operator should do.
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


class NotReached(GatewayError):
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


class Refused(GatewayError):
    """The gateway refused: the message was certainly not sent. ``code`` may be one that no class stands for."""

    def __init__(
        self, message: str, details: Mapping[str, Any] | None = None, rate: Rate | None = None, code: str = ""
    ) -> None:
        if code:
            self.code = code
        super().__init__(message, details, rate)


class EndpointRefused(Refused):
    """The request is not taken here in this form, but there is another way: make it again, at once."""

    retry = True
