"""Sending through the gateway: one call is one request."""

import json
from dataclasses import dataclass
from typing import Any

from bot.core.messages import Message, violations
from bot.gateway import wire
from bot.gateway.answers import Sent, read_answer
from bot.gateway.errors import EndpointRefused, InvalidMessage, InvalidType, NotReached, OutcomeUnknown
from bot.http import Ambiguous, Http, NotSent


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address that takes messages: whether it honours ``Idempotency-Key``, and the common fields of its body."""

    path: str
    keyed: bool
    fields: tuple[str, ...] = ("to", "type", "channel_id")


SEND_MESSAGE = Endpoint("/external-api/inbox/send-message", keyed=True)
CHAT_MESSAGES = Endpoint("/external-api/chat/messages", keyed=True)
SEND_TEMPLATE = Endpoint("/external-api/inbox/send-template-message", keyed=False, fields=("to", "channel_id"))
INTERACTIVE = Endpoint("/external-api/v1/chat/interactive", keyed=False)

ENDPOINTS: dict[str, tuple[Endpoint, ...]] = {
    "text": (SEND_MESSAGE, CHAT_MESSAGES),
    "template": (SEND_MESSAGE, CHAT_MESSAGES, SEND_TEMPLATE),
    "interactive": (SEND_MESSAGE, CHAT_MESSAGES, INTERACTIVE),
}
"""Where a type is sent, in this order; every other type has `SEND_MESSAGE` only."""


class Gateway:
    """The gateway, for one account. Safe to use from many threads.

    Which endpoint takes a type is learned from definite refusals and remembered for as long as this object lives.
    """

    def __init__(self, url: str, key: str, channel_id: str | None = None, http: Http | None = None) -> None:
        self._http = http or Http(url)
        self._channel_id = channel_id
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._refusals: dict[str, int] = {}  # type -> how many endpoints have refused it

    def keyed(self, message: Message) -> bool:
        """Whether the endpoint that this message goes to honours the key, as far as is known now."""
        return self._endpoint(wire.type_of(message)).keyed

    def send(self, to: str, message: Message, key: str) -> Sent:
        """Send a message. Raises the tree of `bot.gateway.errors`.

        `EndpointRefused` says that another endpoint is next: call again at once. It is not done in here because
        each request counts against the account's limits, and those are the caller's to keep.
        """
        if broken := violations(message):
            raise InvalidMessage("; ".join(broken))
        kind = wire.type_of(message)
        endpoint = self._endpoint(kind)
        headers = {**self._headers, "Idempotency-Key": key} if endpoint.keyed else self._headers
        try:
            response = self._http.post(endpoint.path, self._body(endpoint, to, kind, message), headers)
            return read_answer(response, endpoint.keyed)
        except NotSent as error:
            raise NotReached(str(error)) from error
        except Ambiguous as error:
            raise OutcomeUnknown(str(error), endpoint.keyed) from error
        except InvalidType as error:
            raise self._refused(kind, endpoint, error) from error

    def close(self) -> None:
        """Close idle connections."""
        self._http.close()

    def _endpoint(self, kind: str) -> Endpoint:
        return _endpoints(kind)[self._refusals.get(kind, 0)]

    def _refused(self, kind: str, endpoint: Endpoint, error: InvalidType) -> InvalidType:
        following = _endpoints(kind).index(endpoint) + 1
        if following == len(_endpoints(kind)):
            return error
        self._refusals[kind] = max(following, self._refusals.get(kind, 0))
        return EndpointRefused(error.message, error.details, error.rate)

    def _body(self, endpoint: Endpoint, to: str, kind: str, message: Message) -> bytes:
        common: dict[str, Any] = {"to": to, "type": kind}
        if self._channel_id is not None:
            common["channel_id"] = self._channel_id
        body = {name: common[name] for name in endpoint.fields if name in common}
        return json.dumps({**body, kind: wire.content(message)}, separators=(",", ":")).encode()


def _endpoints(kind: str) -> tuple[Endpoint, ...]:
    return ENDPOINTS.get(kind, (SEND_MESSAGE,))
