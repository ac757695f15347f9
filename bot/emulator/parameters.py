"""The parameters of a template that is sent, and what each type of them must be (spec: "Template parameter types")."""

from collections.abc import Callable
from typing import Any

from bot.emulator import rules

TEXTUAL = ("text", "currency", "date_time")
"""The types that stand for a placeholder in a text."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_media(value: Any) -> bool:
    return isinstance(value, dict) and rules.web_address(value.get("link")) is not None


def _is_image(value: Any) -> bool:
    return _is_media(value) or (isinstance(value, dict) and "link" not in value and _is_text(value.get("id")))


def _is_location(value: Any) -> bool:
    numbers = isinstance(value, dict) and _is_number(value.get("latitude")) and _is_number(value.get("longitude"))
    return numbers and _is_text(value.get("name")) and _is_text(value.get("address"))


def _is_currency(value: Any) -> bool:
    texts = isinstance(value, dict) and _is_text(value.get("fallback_value")) and _is_text(value.get("code"))
    return texts and _is_number(value.get("amount_1000"))


def _is_date_time(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("fallback_value"))


SHAPES: dict[str, Callable[[Any], bool]] = {
    "text": _is_text,
    "payload": _is_text,
    "currency": _is_currency,
    "date_time": _is_date_time,
    "image": _is_image,
    "video": _is_media,
    "document": _is_media,
    "location": _is_location,
}
"""Whether a value is one, for each type of parameter."""
