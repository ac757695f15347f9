"""The envelope of an answer, every error code with its HTTP status, and the rules for single fields."""

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn
from urllib.parse import SplitResult, urlsplit

CODES = {
    "VALIDATION_INVALID_PHONE": 422,
    "VALIDATION_MISSING_TYPE": 422,
    "VALIDATION_MISSING_FIELD": 422,
    "VALIDATION_INVALID_TYPE": 422,
    "VALIDATION_INVALID_URL": 422,
    "VALIDATION_FILE_TOO_LARGE": 422,
    "WHATSAPP_TEMPLATE_REQUIRED": 400,
    "WHATSAPP_SEND_FAILED": 502,
    "WHATSAPP_CHANNEL_NOT_FOUND": 404,
    "RATE_LIMIT_EXCEEDED": 429,
    "unauthorized": 401,
    "INTERACTIVE_INVALID_TYPE": 400,
    "INTERACTIVE_INVALID_BUTTON": 400,
    "INTERACTIVE_INVALID_URL": 400,
    "INTERACTIVE_INVALID_LIST": 400,
    "INTERACTIVE_BODY_EMPTY": 400,
    "132000": 400,
    "132001": 400,
    "132005": 400,
    "132006": 400,
    "132007": 400,
    "132008": 400,
    "132012": 400,
    "132015": 400,
}
"""The specification's codes (tables "Send-message errors", "Template-send errors", "Interactive errors")."""

OWN_CODES = {
    "VALIDATION_INVALID_FIELD": 422,  # a rule of the field tables without a code of its own, such as a length
    "VALIDATION_INVALID_JSON": 400,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "IDEMPOTENCY_KEY_REUSED": 422,
}
"""Codes for refusals that the specification implies without a code. A client has to look at their HTTP status."""

_STATUS = CODES | OWN_CODES


class Refusal(Exception):
    """A request that is answered with an error envelope."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any], headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = dict(details)
        self.headers = dict(headers)


def refuse(code: str, message: str, *, headers: Mapping[str, str] | None = None, **details: Any) -> NoReturn:
    """Raise a `Refusal`; ``details`` are those of the specification: ``field``, ``max``, ``received``, ``hint``."""
    raise Refusal(code, message, details, headers or {})


@dataclass(frozen=True, slots=True)
class GatewayAnswer:
    """A response before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    code: str | None = None


@dataclass(frozen=True, slots=True)
class EndpointResult:
    """The result of an endpoint that refuses nothing."""

    data: Any
    message: str | None = None
    meta: dict[str, Any] | None = None


def success(result: EndpointResult, status: int) -> GatewayAnswer:
    """The envelope of a success."""
    envelope: dict[str, Any] = {"success": True}
    if result.message is not None:
        envelope["message"] = result.message
    envelope["data"] = result.data
    if result.meta is not None:
        envelope["meta"] = result.meta
    return GatewayAnswer(status, encode(envelope))


def failure(refusal: Refusal, status: int | None = None) -> GatewayAnswer:
    """The envelope of an error, with its code's HTTP status or a given one."""
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.details:
        error["details"] = refusal.details
    body = encode({"success": False, "error": error})
    return GatewayAnswer(status or _STATUS[refusal.code], body, refusal.headers, refusal.code)


def encode(value: Any) -> bytes:
    """JSON as the gateway writes it."""
    return json.dumps(value, separators=(",", ":")).encode()


_NUMBER = re.compile(r"\+?([1-9][0-9]{6,14})")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)+")


def missing(field: str) -> NoReturn:
    """Refuse because a required field is missing."""
    refuse("VALIDATION_MISSING_FIELD", f"{field} is required", field=field)


def invalid(field: str, message: str, **details: Any) -> NoReturn:
    """Refuse because a value breaks a rule without a code of its own."""
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
    """A nested object that is required."""
    value = body.get(field)
    if value is None:
        missing(field)
    if not isinstance(value, dict):
        invalid(field, f"{field} must be an object")
    return dict(value)


def text(value: Any, field: str, maximum: int | None = None) -> str:
    """A text that is required, not blank, and not too long."""
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
    """An absolute http or https address in its parts; None for anything else."""
    if not isinstance(value, str) or any(character.isspace() or ord(character) < 32 for character in value):
        return None
    try:
        parts = urlsplit(value)
        _ = parts.port
    except ValueError:
        return None
    return parts if parts.scheme in ("http", "https") and parts.hostname else None


def is_public(host: str) -> bool:
    """True if the service can reach a host: no loopback, no private address, no bare name."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return bool(_HOST.fullmatch(host)) and not host.endswith((".localhost", ".local"))
