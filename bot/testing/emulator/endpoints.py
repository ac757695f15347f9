"""The API's endpoints: each checks a request and returns a result, or raises `Refusal` (spec: "Endpoints")."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from bot.testing.emulator import interactive, request_rules
from bot.testing.emulator.emulated_account import AcceptedMessage, EmulatedAccount
from bot.testing.emulator.event_payloads import CHANNEL, EVENTS
from bot.testing.emulator.injected_faults import Request
from bot.testing.emulator.interactive import InteractiveChoice
from bot.testing.emulator.request_rules import EndpointResult, refuse

TYPES = ("text", "image", "audio", "video", "document", "location", "template", "interactive")
TEXT_MAX = 4096
CAPTION_MAX = 1024
_SUFFIXES = {
    "image": {".jpg", ".jpeg", ".png"},
    "audio": {".mp3", ".ogg", ".amr"},
    "video": {".mp4"},
    "document": {".pdf", ".docx", ".xlsx", ".txt"},
}
_OTHER_FILES = {
    *(".gif", ".webp", ".svg", ".bmp", ".tiff", ".heic", ".wav", ".m4a", ".aac", ".flac", ".opus", ".mov", ".avi"),
    *(".mkv", ".webm", ".3gp", ".doc", ".xls", ".ppt", ".pptx", ".csv", ".rtf", ".odt", ".zip", ".gz", ".html"),
}
_KNOWN = _OTHER_FILES.union(*_SUFFIXES.values())
_MEGABYTE = 1024 * 1024
SIZES = {"image": 5 * _MEGABYTE, "audio": 16 * _MEGABYTE, "video": 16 * _MEGABYTE, "document": 100 * _MEGABYTE}

Files = Mapping[str, int | None]
"""The known media addresses: their size in bytes, or None for one that cannot be reached."""


def check_text(body: Mapping[str, Any], files: Files) -> None:
    """``text.body`` and ``text.preview_url``."""
    value = request_rules.required_object(body, "text")
    request_rules.text(value.get("body"), "text.body", TEXT_MAX)
    if not isinstance(value.get("preview_url", False), bool):
        request_rules.invalid("text.preview_url", "text.preview_url must be a boolean")


def check_location(body: Mapping[str, Any], files: Files) -> None:
    """``location``: latitude, longitude, name, address."""
    value = request_rules.required_object(body, "location")
    request_rules.number(value.get("latitude"), "location.latitude", -90, 90)
    request_rules.number(value.get("longitude"), "location.longitude", -180, 180)
    request_rules.optional_text(value.get("name"), "location.name")
    request_rules.optional_text(value.get("address"), "location.address")


def _check_media(kind: str) -> Callable[[Mapping[str, Any], Files], None]:
    def check(body: Mapping[str, Any], files: Files) -> None:
        value = request_rules.required_object(body, kind)
        _check_link(kind, value.get("link"), files)
        if kind != "audio":
            request_rules.optional_text(value.get("caption"), f"{kind}.caption", CAPTION_MAX)
        if kind == "document":
            request_rules.optional_text(value.get("filename"), "document.filename")

    return check


def _check_link(kind: str, link: Any, files: Files) -> None:
    field = f"{kind}.link"
    if link is None or link == "":
        request_rules.missing(field)
    parts = request_rules.web_address(link)
    if parts is None or not request_rules.is_public(parts.hostname or ""):
        refuse("VALIDATION_INVALID_URL", f"{field} is no public address", field=field)
    suffix = PurePosixPath(parts.path).suffix.lower()
    if suffix in _KNOWN and suffix not in _SUFFIXES[kind]:
        hint = f"one of {', '.join(sorted(_SUFFIXES[kind]))}"
        refuse("VALIDATION_INVALID_URL", f"{field} is no {kind}", field=field, received=suffix, hint=hint)
    size = files.get(link, 0)
    if size is None:
        refuse("VALIDATION_INVALID_URL", f"{field} cannot be reached", field=field)
    if size > SIZES[kind]:
        refuse("VALIDATION_FILE_TOO_LARGE", f"{field} is too large", field=field, max=SIZES[kind], received=size)


CHECKS: dict[str, Callable[[Mapping[str, Any], Files], None]] = {
    "text": check_text,
    "location": check_location,
    **{kind: _check_media(kind) for kind in SIZES},
}
"""The check of each plain type; it raises `bot.testing.emulator.request_rules.Refusal`."""


Shape = None | Mapping[str, Any] | list[Any]
"""The shape of a value.

None: a plain value; a mapping: an object by its fields; a list of one: an array of such values.
"""

_PARAMETER = {
    "type": None,
    "text": None,
    "payload": None,
    "currency": {"fallback_value": None, "code": None, "amount_1000": None},
    "date_time": {"fallback_value": None},
    "image": {"link": None, "id": None},
    "video": {"link": None},
    "document": {"link": None},
    "location": {"latitude": None, "longitude": None, "name": None, "address": None},
}
TEMPLATE = {
    "name": None,
    "language": {"code": None},
    "components": [{"type": None, "sub_type": None, "index": None, "parameters": [_PARAMETER]}],
}
INTERACTIVE = {
    "type": None,
    "header": {"type": None, "text": None},
    "body": {"text": None},
    "footer": {"text": None},
    "action": {
        "buttons": [{"type": None, "reply": {"id": None, "title": None}}],
        "display_text": None,
        "url": None,
        "button": None,
        "sections": [{"title": None, "rows": [{"id": None, "title": None, "description": None}]}],
    },
}
OF_TYPE: dict[str, Mapping[str, Any]] = {
    "text": {"body": None, "preview_url": None},
    "image": {"link": None, "caption": None},
    "audio": {"link": None},
    "video": {"link": None, "caption": None},
    "document": {"link": None, "caption": None, "filename": None},
    "location": {"latitude": None, "longitude": None, "name": None, "address": None},
    "template": TEMPLATE,
    "interactive": INTERACTIVE,
}
_COMMON = {"to": None, "type": None, "channel_id": None}
_MESSAGE = {each: {**_COMMON, each: shape} for each, shape in OF_TYPE.items()}
OF_ENDPOINT: dict[str, Mapping[str, Any]] = {
    "send-template-message": {"to": None, "template": TEMPLATE, "channel_id": None},
    "interactive": _MESSAGE["interactive"],
    "upsert-contact": {"name": None, "phone": None, "email": None, "tags": [None]},
    "webhooks": {"name": None, "url": None, "events": [None], "secret": None},
}


def unknown(endpoint: str, body: Mapping[str, Any]) -> Iterator[str]:
    """The paths of all fields that the specification does not have, or has with another type."""
    kind = body.get("type")
    shape: Mapping[str, Any] | None = OF_ENDPOINT.get(endpoint) or (
        _MESSAGE.get(kind) if isinstance(kind, str) else None
    )
    return _unknown(body, _COMMON if shape is None else shape, "")


def _unknown(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if isinstance(shape, list):
        for item in value if isinstance(value, list) else ():
            yield from _unknown(item, shape[0], f"{path}[]")
    elif shape is not None and isinstance(value, dict):
        for name, part in value.items():
            where = f"{path}.{name}" if path else name
            if name not in shape:
                yield where
            elif shape[name] is not None:
                yield from _unknown(part, shape[name], where)


PER_PAGE = 20
PER_PAGE_MAX = 100
MESSAGE = "Message sent"

Answered = tuple[EndpointResult, AcceptedMessage | None]
"""The result of a request, and the message that it had accepted."""
Endpoint = Callable[[EmulatedAccount, Request], Answered]


def send_message(account: EmulatedAccount, request: Request) -> Answered:
    """POST inbox/send-message."""
    return _send(account, request, account.behaviour.send_message_refuses)


def chat_messages(account: EmulatedAccount, request: Request) -> Answered:
    """POST chat/messages: a result with ``messageId``. The specification shows no more of it."""
    result, sent = _send(account, request, account.behaviour.chat_messages_refuses)
    known = {name: result.data[name] for name in ("messageId", "to", "type", "status") if name in result.data}
    return EndpointResult(known), sent


def send_interactive(account: EmulatedAccount, request: Request) -> Answered:
    """POST v1/chat/interactive."""
    everything_else = frozenset(TYPES) - {"interactive"}
    return _send(account, request, everything_else)


def send_template(account: EmulatedAccount, request: Request) -> Answered:
    """POST inbox/send-template-message."""
    phone = _recipient(account, request)
    template = request_rules.required_object(request.body, "template")
    channel = account.channel(request.body.get("channel_id"))
    shown = account.templates.check(template, account.behaviour)
    sent = account.accept(request, phone, "template", channel, shown)
    message: dict[str, Any] = {"message_status": account.behaviour.template_status}
    if account.behaviour.ids_in_results:
        message = {"id": sent.chat_message_id, **message}
    chat_id = account.behaviour.aliases.get(phone, phone)
    contact = {"input": request.body["to"], "chat_id": chat_id}
    return EndpointResult({"messaging_product": CHANNEL, "contacts": [contact], "messages": [message]}), sent


def template_list(account: EmulatedAccount, request: Request) -> Answered:
    """GET inbox/template-list."""
    return EndpointResult([template.listed() for template in account.templates]), None


def templates_page(account: EmulatedAccount, request: Request) -> Answered:
    """GET chat/templates."""
    return _page(account, request, [template.listed() for template in account.templates]), None


def contacts_page(account: EmulatedAccount, request: Request) -> Answered:
    """GET contacts."""
    return _page(account, request, [contact.record() for contact in account.contacts.values()]), None


def upsert_contact(account: EmulatedAccount, request: Request) -> Answered:
    """POST contacts."""
    body = request.body
    phone = request_rules.phone(body.get("phone"), "phone")
    needed = account.behaviour.contact_name == "required"
    name = (
        request_rules.text(body.get("name"), "name")
        if needed
        else request_rules.optional_text(body.get("name"), "name")
    )
    email = request_rules.optional_text(body.get("email"), "email")
    tags = None if body.get("tags") is None else request_rules.texts(body["tags"], "tags")
    return EndpointResult(account.upsert(phone, name, email, tags).record()), None


def create_webhook(account: EmulatedAccount, request: Request) -> Answered:
    """POST v1/webhooks: the only answer that shows the secret."""
    body = request.body
    name = request_rules.text(body.get("name"), "name")
    parts = request_rules.web_address(request_rules.text(body.get("url"), "url"))
    if parts is None or parts.scheme != "https":
        refuse("VALIDATION_INVALID_URL", "url must be an HTTPS address", field="url")
    if body.get("events") is None or body["events"] == []:
        request_rules.missing("events")
    events = request_rules.texts(body["events"], "events")
    if strange := [event for event in events if event not in EVENTS]:
        request_rules.invalid("events", "there is no such event", received=strange, hint=f"one of {', '.join(EVENTS)}")
    secret = request_rules.optional_text(body.get("secret"), "secret")
    webhook = account.webhooks.register(name, body["url"], events, secret)
    return EndpointResult({**webhook.record(), "secret": webhook.secret}, "Webhook created"), None


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
"""Method and path under ``/external-api``, and the emulator's name of each endpoint."""

QUERY = {"chat/templates": {"page", "per_page"}, "contacts": {"page", "per_page"}}
"""The query parameters of an endpoint."""

KEYED = ("send-message", "chat/messages")
"""The endpoints that take an ``Idempotency-Key``."""


def _send(account: EmulatedAccount, request: Request, refused: frozenset[str]) -> Answered:
    kind = request.body.get("type")
    if kind is None or kind == "":
        refuse("VALIDATION_MISSING_TYPE", "type is required", field="type")
    if not isinstance(kind, str) or kind not in TYPES or kind in refused:
        allowed = ", ".join(known for known in TYPES if known not in refused)
        refuse("VALIDATION_INVALID_TYPE", "this type cannot be sent here", field="type", received=kind, hint=allowed)
    phone = _recipient(account, request)
    shown = _check(account, request, kind)
    channel = account.channel(request.body.get("channel_id"))
    if kind != "template":
        account.check_window(phone)
    sent = account.accept(request, phone, kind, channel, shown)
    return EndpointResult(_result(account, sent), MESSAGE), sent


def _recipient(account: EmulatedAccount, request: Request) -> str:
    to = request.body.get("to")
    if account.behaviour.recipients == "any" and isinstance(to, str) and to:
        return to
    return request_rules.phone(to, "to")


def _check(account: EmulatedAccount, request: Request, kind: str) -> list[InteractiveChoice]:
    if kind == "interactive":
        return interactive.check(request_rules.required_object(request.body, "interactive"), account.behaviour)
    if kind == "template":
        template = request_rules.required_object(request.body, "template")
        upper_case = account.behaviour.upper_case_components and request.endpoint == "chat/messages"
        return account.templates.check(template, account.behaviour, upper_case=upper_case)
    CHECKS[kind](request.body, account.files)
    return []


def _result(account: EmulatedAccount, sent: AcceptedMessage) -> dict[str, Any]:
    data = {"to": sent.to, "type": sent.type, "channelId": sent.channel_id, "status": "sent"}
    data["createdAt"] = sent.at.isoformat()
    if account.behaviour.ids_in_results:
        data |= {"messageId": sent.message_id, "chatMessageId": sent.chat_message_id}
    return data


def _page(account: EmulatedAccount, request: Request, items: list[dict[str, Any]]) -> EndpointResult:
    page = _whole(request.query.get("page", "1"), "page")
    per_page = _whole(request.query.get("per_page", str(PER_PAGE)), "per_page")
    if per_page > PER_PAGE_MAX:
        if account.behaviour.per_page_over_max == "refused":
            request_rules.invalid("per_page", "per_page is too large", max=PER_PAGE_MAX, received=per_page)
        per_page = PER_PAGE_MAX
    start = (page - 1) * per_page
    has_more = start + per_page < len(items)
    meta = {"page": page, "per_page": per_page, "total": len(items), "has_more": has_more}
    return EndpointResult(items[start : start + per_page], meta=meta)


def _whole(value: str, field: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10 and int(value) > 0):
        request_rules.invalid(field, f"{field} must be an integer of at least 1", received=value)
    return int(value)
