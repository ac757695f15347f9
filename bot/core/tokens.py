"""How many tokens a text comes to, where nobody has counted."""

from collections.abc import Iterable, Mapping
from typing import Any

_EACH = 4  # tokens around a message
_ADDED = 1000  # by a service to a question, to explain its tools, for example


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


def most_tokens(prompt_tokens: int, max_tokens: int) -> int:
    """The most that a request is counted for: a letter is four tokens at worst, and a service may add a text of its own."""
    return 4 * prompt_tokens + _ADDED + max_tokens
