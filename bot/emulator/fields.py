"""The fields that each request may have, to record any other (spec: "Unknown request fields are ignored")."""

from collections.abc import Iterator, Mapping
from typing import Any

Shape = None | Mapping[str, Any] | list[Any]
"""None: a plain value; a mapping: an object's fields; a list of one: an array of such."""

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
_MESSAGE = {kind: {**_COMMON, kind: shape} for kind, shape in OF_TYPE.items()}
OF_ENDPOINT: dict[str, Mapping[str, Any]] = {
    "send-template-message": {"to": None, "template": TEMPLATE, "channel_id": None},
    "interactive": _MESSAGE["interactive"],
    "upsert-contact": {"name": None, "phone": None, "email": None, "tags": [None]},
    "webhooks": {"name": None, "url": None, "events": [None], "secret": None},
}


def unknown(endpoint: str, body: Mapping[str, Any]) -> Iterator[str]:
    """The paths of all fields that the specification does not have; a field of another type counts as one."""
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
