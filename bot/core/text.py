"""Text from outside, read tolerantly and made fit to be kept."""

import json
import re
from typing import Any

KEPT_CHARACTERS = 64 * 1024
_LETTERS = str.maketrans("0123456789", "ghijklmnop")
_NUMBER = re.compile(r"\+?([0-9]{1,15})")
_PHONE = re.compile(r"[1-9][0-9]{6,14}")
_SEPARATORS = str.maketrans("", "", " -().\u00a0")
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
"""Control characters, and those that turn the direction of writing: a name could look like another."""


def clean(text: str, limit: int = KEPT_CHARACTERS) -> str:
    """The text without NULs, with U+FFFD for halves of surrogate pairs, and cut at ``limit`` characters."""
    text = text[:limit].replace("\0", "")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def line(value: Any, limit: int) -> str | None:
    """A text in one line, without what cannot be seen; None for what is no text, or an empty one."""
    if not isinstance(value, str):
        return None
    return _UNSEEN.sub("", " ".join(clean(value, 4 * limit).split()))[:limit].strip() or None


def json_object(content: bytes | str) -> dict[str, Any]:
    """The JSON object in a text; an empty one where there is none, whatever stands there."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):  # no JSON, no UTF-8, a number of 5,000 digits, 100,000 brackets
        return {}
    return value if isinstance(value, dict) else {}


def is_phone(number: str) -> bool:
    """Whether a message can go to a number of digits only (spec: Phone number format)."""
    return _PHONE.fullmatch(number) is not None


def digits(value: Any) -> str | None:
    """A phone number as its digits, whatever stands between them; None for what is none (spec: Phone number format)."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    found = _NUMBER.fullmatch(value.translate(_SEPARATORS)) if isinstance(value, str) else None
    return found[1] if found else None


def in_letters(digest: str) -> str:
    """The begin of a digest in hexadecimal, as twelve letters: with digits, the log could take it for a phone number."""
    return digest[:12].translate(_LETTERS)
