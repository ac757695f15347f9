"""How many tokens a text comes to, where nobody has counted."""

from collections.abc import Iterable, Mapping
from typing import Any

_EACH = 4  # tokens around a message


def estimate(text: str) -> int:
    """A text's tokens: about four characters each in plain English, and one or two for each other character."""
    plain = len(text) if text.isascii() else sum(character < "\u0250" for character in text)
    return -(-plain // 4) + (len(text) - plain)


def estimate_messages(messages: Iterable[Mapping[str, Any]]) -> int:
    """The tokens of messages in the wire form, with the calls that stand in them."""
    return sum(map(_of_message, messages))


def _of_message(message: Mapping[str, Any]) -> int:
    called = [call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ())]
    return _EACH + estimate(str(message.get("content") or "")) + sum(_EACH + estimate(text) for text in called)
