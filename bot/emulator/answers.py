"""What the gateway answers: the envelope, and every error code with its HTTP status."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

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
    "VALIDATION_INVALID_FIELD": 422,  # a rule of the field tables that no code is named for, such as a length
    "VALIDATION_INVALID_JSON": 400,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
}
"""Codes for refusals that the specification implies and gives no code; a client has to go by their HTTP status."""

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
class Answer:
    """A response before it is sent."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    code: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What an endpoint hands back when it has nothing to refuse."""

    data: Any
    message: str | None = None
    meta: dict[str, Any] | None = None


def success(result: Result, status: int) -> Answer:
    """The envelope of a success."""
    envelope: dict[str, Any] = {"success": True}
    if result.message is not None:
        envelope["message"] = result.message
    envelope["data"] = result.data
    if result.meta is not None:
        envelope["meta"] = result.meta
    return Answer(status, encode(envelope))


def failure(refusal: Refusal, status: int | None = None) -> Answer:
    """The envelope of an error, under its code's HTTP status or a given one."""
    error: dict[str, Any] = {"code": refusal.code, "message": refusal.message}
    if refusal.details:
        error["details"] = refusal.details
    body = encode({"success": False, "error": error})
    return Answer(status or _STATUS[refusal.code], body, refusal.headers, refusal.code)


def encode(value: Any) -> bytes:
    """JSON as the gateway writes it."""
    return json.dumps(value, separators=(",", ":")).encode()
