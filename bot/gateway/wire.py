"""Messages as the gateway's JSON: the documented fields, and no others (spec: POST send-message)."""

from itertools import count
from typing import Any

from bot.core.messages import (
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    TemplateMessage,
    TextMessage,
)

Json = dict[str, Any]


def type_of(message: Message) -> str:
    """The gateway's name for the message's type: also the name of the field that holds its content."""
    match message:
        case TextMessage():
            return "text"
        case MediaMessage(kind):
            return kind
        case LocationMessage():
            return "location"
        case TemplateMessage():
            return "template"
    return "interactive"


def content(message: Message) -> Json:
    """What stands in the field of the message's type."""
    match message:
        case TextMessage(body, preview_url):
            return {"body": body, **_given(preview_url=preview_url or None)}
        case MediaMessage(_, link, caption, filename):
            return {"link": link, **_given(caption=caption, filename=filename)}
        case LocationMessage(latitude, longitude, name, address):
            return {"latitude": latitude, "longitude": longitude, **_given(name=name, address=address)}
        case TemplateMessage():
            return _template(message)
    return _interactive(message)


def _interactive(message: Buttons | LinkButton | ListMessage) -> Json:
    body = {"text": message.body}
    match message:
        case Buttons(_, buttons, header):
            replies = [{"type": "reply", "reply": {"id": item.id, "title": item.title}} for item in buttons]
            return {"type": "button", **_header(header), "body": body, "action": {"buttons": replies}}
        case LinkButton(_, title, url, header, footer):
            action: Json = {"display_text": title, "url": url}
            return {"type": "cta_url", **_header(header), "body": body, **_footer(footer), "action": action}
        case ListMessage(_, button, sections, footer):
            listed = [{"title": section.title, "rows": [_row(row) for row in section.rows]} for section in sections]
            action = {"button": button, "sections": listed}
            return {"type": "list", "body": body, **_footer(footer), "action": action}


def _header(text: str | None) -> Json:
    return {"header": {"type": "text", "text": text}} if text else {}


def _footer(text: str | None) -> Json:
    return {"footer": {"text": text}} if text else {}


def _row(row: Choice) -> Json:
    return {"id": row.id, "title": row.title, **_given(description=row.description)}


def _template(message: TemplateMessage) -> Json:
    components: list[Json] = []
    if message.header is not None:
        components.append({"type": "header", "parameters": [message.header] if message.header else []})
    if message.body:
        components.append({"type": "body", "parameters": list(message.body)})
    taken = {index for index, _ in message.url_buttons}
    places = (index for index in count() if index not in taken)
    for index, payload in zip(places, message.replies, strict=False):
        components.append(_button("quick_reply", index, {"type": "payload", "payload": payload}))
    for index, text in message.url_buttons:
        components.append(_button("url", index, {"type": "text", "text": text}))
    template = {"name": message.name, "language": {"code": message.language}}
    return {**template, **({"components": components} if components else {})}


def _button(sub_type: str, index: int, parameter: Json) -> Json:
    return {"type": "button", "sub_type": sub_type, "index": index, "parameters": [parameter]}


def _given(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
