"""Requests to the chat-completion service, and their validation (spec: "Chat request", "Endpoints")."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.testing.emulator.completion.model_answers import CompletionBehaviour, refuse

ROLES = ("system", "user", "assistant", "developer", "tool", "tool_result")
MAX_TOKENS = 1024
MAX_TOKENS_MAX = 100_000

FIELDS: Mapping[str, frozenset[str]] = {
    "chat/completions": frozenset(
        {"model", "messages", "max_tokens", "temperature", "stream", "tools", "tool_choice", "reasoning_split"}
    ),
    "models": frozenset(),
    "plugin/check": frozenset({"domain", "version"}),
    "plugin/chat": frozenset({"messages", "model", "domain"}),
    "plugin/update": frozenset(),
}
"""The endpoints and the fields of their bodies; each also takes ``apiKey``."""

_IN_MESSAGE = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})


@dataclass(frozen=True, slots=True)
class RawCompletionRequest:
    """A request as it came. ``endpoint`` is its path below the base address; header names are in small letters."""

    method: str
    endpoint: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    raw: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """A request that was answered. ``endpoint`` is its path below the base address, header names are in small
    letters.

    ``key_in`` says where the key was: ``authorization``, ``x-api-key``, ``query``, ``body`` or None. ``unknown`` are
    the fields and query parameters that the specification does not have. ``status`` is its HTTP status, 0 if it got
    none; ``error`` is the name of the error.
    """

    endpoint: str
    method: str
    headers: Mapping[str, str]
    query: Mapping[str, str]
    body: dict[str, Any] = field(default_factory=dict)
    key_in: str | None = None
    unknown: tuple[str, ...] = ()
    status: int = 0
    error: str | None = None


def find_key(incoming: RawCompletionRequest, body: Mapping[str, Any]) -> tuple[str | None, Any]:
    """The place of a request's key, and the key (spec: "Authentication")."""
    if "authorization" in incoming.headers:
        scheme, _, key = incoming.headers["authorization"].partition(" ")
        return "authorization", key if scheme.lower() == "bearer" else ""
    if "x-api-key" in incoming.headers:
        return "x-api-key", incoming.headers["x-api-key"]
    for place, fields in (("query", incoming.query), ("body", body)):
        if "apiKey" in fields:
            return place, fields["apiKey"]
    return None, None


def unknown(incoming: RawCompletionRequest, body: Mapping[str, Any]) -> Iterator[str]:
    """The fields and query parameters of a request that the specification does not have.

    It shows no shape for tools and content parts, so no field in them is unknown.
    """
    yield from (f"?{name}" for name in incoming.query if name != "apiKey")
    yield from body.keys() - FIELDS.get(incoming.endpoint, frozenset()) - {"apiKey"}
    messages = body.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict):
            yield from (f"messages[].{name}" for name in message.keys() - _IN_MESSAGE)


def check_chat(body: Mapping[str, Any], behaviour: CompletionBehaviour) -> None:
    """Check a chat request against the table of its fields. Raises `CompletionRefusal`."""
    check_model(body, required=True)
    check_messages(body.get("messages"))
    _optional(body, "max_tokens", lambda v: _is_number(v, int) and 1 <= v <= MAX_TOKENS_MAX, "an integer, 1 to 100000")
    _optional(body, "temperature", lambda v: _is_number(v, int | float) and 0 <= v <= 2, "a number, 0 to 2")
    for name in ("stream", "reasoning_split"):
        _optional(body, name, lambda v: isinstance(v, bool), "true or false")
    _optional(body, "tools", lambda v: isinstance(v, list), "an array")
    allowed = {"any": (str, dict, list), "string": (str, dict), "array": (list,)}[behaviour.tool_choice]
    _optional(body, "tool_choice", lambda v: isinstance(v, allowed), f"of another type ({behaviour.tool_choice})")


def check_model(body: Mapping[str, Any], *, required: bool) -> None:
    """A model's slug. Raises `CompletionRefusal`."""
    model = body.get("model")
    if (required or model is not None) and not (isinstance(model, str) and model):
        refuse("invalid_request_error", "model must be a slug <provider>/<model>")


def check_messages(messages: Any) -> None:
    """Check that there is a message, and that each has a known role and text. Raises `CompletionRefusal`."""
    if not isinstance(messages, list) or not messages:
        refuse("invalid_request_error", "messages must have at least 1 item")
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            refuse("invalid_request_error", f"{where}.role must be one of {', '.join(ROLES)}")
        only_calls = message.get("content") is None and message.get("tool_calls")
        if not (isinstance(message.get("content"), str | list) or only_calls):
            refuse("invalid_request_error", f"{where}.content must carry text")


def with_tools(body: Mapping[str, Any]) -> bool:
    """True if a chat request needs a model that can call tools."""
    return bool(body.get("tools")) or any(
        message["role"] in ("tool", "tool_result") or message.get("tool_calls") for message in body["messages"]
    )


def text_of(body: Mapping[str, Any]) -> str:
    """All text that the model has to read."""
    tools = json.dumps(body["tools"]) if body.get("tools") else ""
    return "".join(_text(message) for message in body["messages"]) + tools


def asked(body: Mapping[str, Any]) -> str:
    """The last message of the user."""
    return next((_text(message) for message in reversed(body["messages"]) if message["role"] == "user"), "")


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    texts = (part.get("text") for part in content if isinstance(part, dict))
    return "".join(text for text in texts if isinstance(text, str))


def _optional(body: Mapping[str, Any], name: str, fits: Callable[[Any], bool], must_be: str) -> None:
    if body.get(name) is not None and not fits(body[name]):
        refuse("invalid_request_error", f"{name} must be {must_be}")


def _is_number(value: Any, kind: Any) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)
