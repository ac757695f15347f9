"""Errands: what a command has the gateway do, one request each, within the limits that everything keeps together."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, TypeVar
from uuid import uuid4

from bot.core.errors import BotError
from bot.gateway.account import ContactPut, Page, Webhook
from bot.gateway.client import Gateway
from bot.gateway.errors import Refused
from bot.gateway.refusals import RateLimited, Unauthorized
from bot.runtime.loans import Permit
from bot.store.commit import Commit
from bot.store.rows import ERRAND, json_of

PATIENCE = 60.0
"""Seconds that an errand waits for room within the limits: in a minute there is some, unless a day's are used up."""

Request = dict[str, Any]
Answer = dict[str, Any]
T = TypeVar("T", bound=Page[Any] | ContactPut | Webhook)


class UnknownErrand(BotError):
    """The request is not of a form that is known here."""


def note_errand(commit: Commit, call: str) -> None:
    """Leave a trace of a request that is about to be made: it counts against the limits, also after a restart."""
    commit.add_note(None, f"errand:{uuid4().hex}", json_of({"do": "gateway", "call": call}), ERRAND, call)


class Errands:
    """Runs errands, from any thread. ``borrow`` gives leave for one request at the lowest priority.

    ``note`` is told the call before each request, and returns once that is durable.
    """

    def __init__(
        self,
        gateway: Gateway,
        borrow: Callable[[float], AbstractContextManager[Permit]],
        note: Callable[[str], object],
    ) -> None:
        self._gateway = gateway
        self._borrow = borrow
        self._note = note

    def run(self, request: Request) -> Answer:
        """Run one. Raises `UnknownErrand`, the tree of `bot.gateway.errors`, and what ``borrow`` raises.

        ``{"call": "templates"}``, ``{"call": "chat_templates", "page": 1}`` and ``{"call": "contacts", "page": 1}``
        are answered with ``items`` and ``has_more``; ``put_contact`` (phone, name, email, tags) with ``id``, or
        with ``refused``, in words, where that one contact is at fault; ``register_webhook`` (name, url, events,
        secret) with all of the registration.
        """
        gateway = self._gateway
        match request:
            case {"call": "templates"}:
                return _items(self._ask("templates", gateway.templates))
            case {"call": "chat_templates", "page": int(page)}:
                return _items(self._ask("chat_templates", lambda: gateway.chat_templates_page(page)))
            case {"call": "contacts", "page": int(page)}:
                return _items(self._ask("contacts", lambda: gateway.contacts_page(page)))
            case {"call": "put_contact", "phone": str(phone), "tags": list(tags)}:
                return self._put(phone, request.get("name"), request.get("email"), tags)
            case {"call": "register_webhook", "name": str(name), "url": str(url), "events": list(events)}:
                secret = request.get("secret")
                registered = self._ask("register_webhook", lambda: gateway.register_webhook(name, url, events, secret))
                return {key: value for key, value in asdict(registered).items() if key != "rate"}
        raise UnknownErrand(f'the gateway is never asked for "{request.get("call")}" in this form')

    def _put(self, phone: str, name: str | None, email: str | None, tags: list[str]) -> Answer:
        try:
            return {"id": self._ask("put_contact", lambda: self._gateway.put_contact(phone, name, email, tags)).id}
        except (Unauthorized, RateLimited):
            raise
        except Refused as error:
            return {"refused": str(error)}

    def _ask(self, name: str, call: Callable[[], T]) -> T:
        with self._borrow(PATIENCE) as permit:
            self._note(name)
            answer = call()
            permit.rate = answer.rate
            return answer


def _items(page: Page[Any]) -> Answer:
    return {"items": [asdict(item) for item in page], "has_more": page.has_more}
