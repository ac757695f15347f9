"""The rules for single fields: presence, type, length, phone numbers and addresses (spec: field tables)."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Any, NoReturn
from urllib.parse import SplitResult, urlsplit

from bot.emulator.answers import refuse

_NUMBER = re.compile(r"\+?([1-9][0-9]{6,14})")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+")


def missing(field: str) -> NoReturn:
    """Refuse for a field that is required and not there."""
    refuse("VALIDATION_MISSING_FIELD", f"{field} is required", field=field)


def invalid(field: str, message: str, **details: Any) -> NoReturn:
    """Refuse for a field whose value breaks a rule that has no code of its own."""
    refuse("VALIDATION_INVALID_FIELD", message, field=field, **details)


def phone(value: Any, field: str) -> str:
    """A number in E.164 digits; a leading ``+`` is removed (spec: "Phone number format")."""
    if value is None:
        missing(field)
    match = _NUMBER.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        hint = "digits only: country code, then number; no spaces, hyphens or leading zero"
        refuse("VALIDATION_INVALID_PHONE", f"{field} is no E.164 number", field=field, hint=hint)
    return match[1]


def required_object(body: Mapping[str, Any], field: str) -> dict[str, Any]:
    """A nested object that has to be there."""
    value = body.get(field)
    if value is None:
        missing(field)
    if not isinstance(value, dict):
        invalid(field, f"{field} must be an object")
    return dict(value)


def text(value: Any, field: str, maximum: int | None = None) -> str:
    """A text that has to be there, is not blank, and has a greatest length."""
    if value is None or value == "":
        missing(field)
    if not isinstance(value, str):
        invalid(field, f"{field} must be a string")
    if not value.strip():
        missing(field)
    if maximum is not None and len(value) > maximum:
        invalid(field, f"{field} is too long", max=maximum, received=len(value))
    return str(value)


def optional_text(value: Any, field: str, maximum: int | None = None) -> str | None:
    """A text that may be left out."""
    if value is None:
        return None
    if not isinstance(value, str):
        invalid(field, f"{field} must be a string")
    if maximum is not None and len(value) > maximum:
        invalid(field, f"{field} is too long", max=maximum, received=len(value))
    return str(value)


def number(value: Any, field: str, least: float, most: float) -> float:
    """A number between two bounds."""
    if value is None:
        missing(field)
    if isinstance(value, bool) or not isinstance(value, int | float):
        invalid(field, f"{field} must be a number")
    if not least <= value <= most:
        invalid(field, f"{field} must be between {least} and {most}", received=value)
    return float(value)


def texts(value: Any, field: str) -> tuple[str, ...]:
    """An array of strings."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        invalid(field, f"{field} must be an array of strings")
    return tuple(value)


def web_address(value: Any) -> SplitResult | None:
    """An absolute http or https address, taken apart; None when it is none."""
    if not isinstance(value, str) or any(character.isspace() or ord(character) < 32 for character in value):
        return None
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def is_public(host: str) -> bool:
    """Whether a host can be one that the service reaches: no loopback, no private address, no bare name."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return bool(_HOST.fullmatch(host)) and not host.endswith((".localhost", ".local"))
