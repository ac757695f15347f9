"""Filters for texts. A value that is no text is taken as it would be shown."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from bot.lang.failures import TemplateFailed, kind_of
from bot.lang.shown import MAX_TEXT, too_long, written


def _on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    def of(value: Any) -> str:
        return change(written(value))

    return of


def _truncate(value: Any, most: int = 100) -> str:
    """``{{ note | truncate(20) }}``: at most so many characters, the last of them an ellipsis."""
    text = written(value)
    return text if len(text) <= most else text[: max(0, most - 1)].rstrip() + "…"


def _replace(value: Any, old: str, new: str) -> str:
    """``{{ number | replace(" ", "") }}``: every occurrence."""
    text, old, new = written(value), _text(old), _text(new)
    if old == "":
        return text
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_TEXT:
        too_long()
    return text.replace(old, new)


def _split(value: Any, separator: str | None = None) -> list[str]:
    """``{{ names | split(",") }}``: the parts between, without the spaces around them; the words where it is left out."""
    parts = written(value).split(None if separator is None else _text(separator))
    return [stripped for part in parts if (stripped := part.strip())]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TemplateFailed(f"{kind_of(value)} is no text")
    return value


def _urlencode(text: str) -> str:
    """``https://shop.example/?q={{ wish | urlencode }}``: as part of an address."""
    return quote(text, safe="")


FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": _on_text(str.capitalize),
    "lower": _on_text(str.lower),
    "replace": _replace,
    "split": _split,
    "title": _on_text(str.title),
    "trim": _on_text(str.strip),
    "truncate": _truncate,
    "upper": _on_text(str.upper),
    "urlencode": _on_text(_urlencode),
}
