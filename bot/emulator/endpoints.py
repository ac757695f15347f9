"""The API's endpoints: each checks a request and hands back a result, or raises `Refusal` (spec: "Endpoints")."""

from collections.abc import Callable, Mapping
from typing import Any

from bot.emulator import interactive, messages, rules
from bot.emulator.account import Account, Sent
from bot.emulator.answers import Result, refuse
from bot.emulator.events import CHANNEL, EVENTS
from bot.emulator.faults import Request
from bot.emulator.interactive import Choice

PER_PAGE = 20
PER_PAGE_MAX = 100
MESSAGE = "Message sent"

Endpoint = Callable[[Account, Request], tuple[Result, Sent | None]]


def send_message(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST inbox/send-message."""
    return _send(account, request, account.behaviour.send_message_refuses)


def chat_messages(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST chat/messages: a result with ``messageId``, of which the specification shows no more."""
    result, sent = _send(account, request, account.behaviour.chat_messages_refuses)
    known = {name: result.data[name] for name in ("messageId", "to", "type", "status") if name in result.data}
    return Result(known), sent


def send_interactive(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST v1/chat/interactive."""
    everything_else = frozenset(messages.TYPES) - {"interactive"}
    return _send(account, request, everything_else)


def send_template(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST inbox/send-template-message."""
    phone = rules.phone(request.body.get("to"), "to")
    template = rules.required_object(request.body, "template")
    channel = account.channel(request.body.get("channel_id"))
    shown = account.templates.check(template, account.behaviour)
    sent = account.accept(request, phone, "template", channel, shown)
    message: dict[str, Any] = {"message_status": account.behaviour.template_status}
    if account.behaviour.ids_in_results:
        message = {"id": sent.chat_message_id, **message}
    chat_id = account.behaviour.aliases.get(phone, phone)
    contact = {"input": request.body["to"], "chat_id": chat_id}
    return Result({"messaging_product": CHANNEL, "contacts": [contact], "messages": [message]}), sent


def template_list(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """GET inbox/template-list."""
    return Result([template.listed() for template in account.templates]), None


def templates_page(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """GET chat/templates."""
    return _page(account, request, [template.listed() for template in account.templates]), None


def contacts_page(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """GET contacts."""
    return _page(account, request, [contact.record() for contact in account.contacts]), None


def upsert_contact(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST contacts."""
    body = request.body
    phone = rules.phone(body.get("phone"), "phone")
    needed = account.behaviour.contact_name == "required"
    name = rules.text(body.get("name"), "name") if needed else rules.optional_text(body.get("name"), "name")
    email = rules.optional_text(body.get("email"), "email")
    tags = None if body.get("tags") is None else rules.texts(body["tags"], "tags")
    return Result(account.upsert(phone, name, email, tags).record()), None


def create_webhook(account: Account, request: Request) -> tuple[Result, Sent | None]:
    """POST v1/webhooks: the one answer that shows the secret."""
    body = request.body
    name = rules.text(body.get("name"), "name")
    parts = rules.web_address(rules.text(body.get("url"), "url"))
    if parts is None or parts.scheme != "https":
        refuse("VALIDATION_INVALID_URL", "url must be an HTTPS address", field="url")
    if body.get("events") is None or body["events"] == []:
        rules.missing("events")
    events = rules.texts(body["events"], "events")
    if strange := [event for event in events if event not in EVENTS]:
        rules.invalid("events", "there is no such event", received=strange, hint=f"one of {', '.join(EVENTS)}")
    secret = rules.optional_text(body.get("secret"), "secret")
    webhook = account.webhooks.register(name, body["url"], events, secret)
    return Result({**webhook.record(), "secret": webhook.secret}, "Webhook created"), None


ENDPOINTS: Mapping[tuple[str, str], tuple[str, Endpoint]] = {
    ("POST", "/inbox/send-message"): ("send-message", send_message),
    ("POST", "/chat/messages"): ("chat/messages", chat_messages),
    ("POST", "/v1/chat/interactive"): ("interactive", send_interactive),
    ("POST", "/inbox/send-template-message"): ("send-template-message", send_template),
    ("GET", "/inbox/template-list"): ("template-list", template_list),
    ("GET", "/chat/templates"): ("chat/templates", templates_page),
    ("GET", "/contacts"): ("contacts", contacts_page),
    ("POST", "/contacts"): ("upsert-contact", upsert_contact),
    ("POST", "/v1/webhooks"): ("webhooks", create_webhook),
}
"""Method and path under ``/external-api``, and the name by which the emulator speaks of each endpoint."""

QUERY = {"chat/templates": {"page", "per_page"}, "contacts": {"page", "per_page"}}
"""The query parameters that an endpoint has."""

KEYED = ("send-message", "chat/messages")
"""The endpoints that take an ``Idempotency-Key``."""


def _send(account: Account, request: Request, refused: frozenset[str]) -> tuple[Result, Sent | None]:
    kind = request.body.get("type")
    if kind is None or kind == "":
        refuse("VALIDATION_MISSING_TYPE", "type is required", field="type")
    if not isinstance(kind, str) or kind not in messages.TYPES or kind in refused:
        allowed = ", ".join(known for known in messages.TYPES if known not in refused)
        refuse("VALIDATION_INVALID_TYPE", "this type cannot be sent here", field="type", received=kind, hint=allowed)
    phone = rules.phone(request.body.get("to"), "to")
    shown = _check(account, request, kind)
    channel = account.channel(request.body.get("channel_id"))
    if kind != "template":
        account.check_window(phone)
    sent = account.accept(request, phone, kind, channel, shown)
    return Result(_result(account, sent), MESSAGE), sent


def _check(account: Account, request: Request, kind: str) -> list[Choice]:
    if kind == "interactive":
        return interactive.check(rules.required_object(request.body, "interactive"), account.behaviour)
    if kind == "template":
        template = rules.required_object(request.body, "template")
        upper_case = account.behaviour.upper_case_components and request.endpoint == "chat/messages"
        return account.templates.check(template, account.behaviour, upper_case=upper_case)
    messages.CHECKS[kind](request.body, account.files)
    return []


def _result(account: Account, sent: Sent) -> dict[str, Any]:
    data = {"to": sent.to, "type": sent.type, "channelId": sent.channel_id, "status": "sent"}
    data["createdAt"] = sent.at.isoformat()
    if account.behaviour.ids_in_results:
        data |= {"messageId": sent.message_id, "chatMessageId": sent.chat_message_id}
    return data


def _page(account: Account, request: Request, items: list[dict[str, Any]]) -> Result:
    page = _whole(request.query.get("page", "1"), "page")
    per_page = _whole(request.query.get("per_page", str(PER_PAGE)), "per_page")
    if per_page > PER_PAGE_MAX:
        if account.behaviour.per_page_over_max == "refused":
            rules.invalid("per_page", "per_page is too large", max=PER_PAGE_MAX, received=per_page)
        per_page = PER_PAGE_MAX
    start = (page - 1) * per_page
    has_more = start + per_page < len(items)
    meta = {"page": page, "per_page": per_page, "total": len(items), "has_more": has_more}
    return Result(items[start : start + per_page], meta=meta)


def _whole(value: str, field: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0):
        rules.invalid(field, f"{field} must be an integer of at least 1", received=value)
    return int(value)
