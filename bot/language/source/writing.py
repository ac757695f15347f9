"""Writing YAML that reads as a person would write it."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, Scalar, read

INDENT = "  "
_PLAIN = lazy_pattern(r"/?[^\W\d_](?:[\w .!?'()+/%-]*[\w.!?')%])?")
_DURATION = lazy_pattern(r"\d+[dhms](?: \d+[dhms])*")
_MEANS_SOMETHING = lazy_pattern(r"true|false|null|[-+.]?(?:inf|nan)", re.IGNORECASE)
_LONGEST = 200  # characters of a text without quotes, between others


def flow_style(value: Any) -> str:
    """A value on one line. An outermost map with one key has no braces."""
    if isinstance(value, Mapping) and len(value) == 1:
        ((key, inner),) = value.items()
        return f"{inline(key)}: {inline(inner)}"
    return inline(value)


def block_style(key: str, value: Any) -> Iterator[str]:
    """The lines of a key with its value: maps and texts of several lines take a line for each; null is left empty."""
    name = _on_its_own(key, "{}: k")
    match value:
        case None:
            yield f"{name}:"
        case str() if _is_block(value):
            lines = value.split("\n")
            yield f"{name}: {'|-' if lines[-1] else '|'}"
            yield from (f"{INDENT}{line}" if line else "" for line in (lines if lines[-1] else lines[:-1]))
        case Mapping():
            yield f"{name}:"
            yield from (f"{INDENT}{line}" for inner, item in value.items() for line in block_style(str(inner), item))
        case str():
            yield f"{name}: {_on_its_own(value)}"
        case _:
            yield f"{name}: {inline(value)}"


def _is_block(text: str) -> bool:
    """True if a text has several lines and can stand in them as it is."""
    lines = text.split("\n")
    own = all(line.isprintable() and not line.startswith(" ") for line in lines)
    return len(lines) > 1 and own and bool(lines[0]) and not text.endswith("\n\n")


def inline(value: Any) -> str:
    """A value as it can stand between others on one line."""
    match value:
        case Mapping():
            return "{" + ", ".join(f"{inline(str(key))}: {inline(item)}" for key, item in value.items()) + "}"
        case str():
            return _text(value)
        case Sequence():
            return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, default=str)


def _text(text: str) -> str:
    """Plain where YAML cannot read it as anything else; otherwise in double quotes."""
    plain = _PLAIN.fullmatch(text) or _DURATION.fullmatch(text)
    means_more = _MEANS_SOMETHING.fullmatch(text) or " #" in text
    return text if plain and not means_more and len(text) < _LONGEST else quoted(text)


def _on_its_own(text: str, line: str = "k: {}") -> str:
    """The value of a key, or by ``line`` a key: plain where it is read as the same text, else in double quotes."""
    problems = Problems()
    found = () if "\n" in text else read("", line.format(text), problems)
    scalars = [each for node in found if isinstance(node, Map) for entry in node.entries for each in entry]
    same = any(isinstance(each, Scalar) and each.value == text and not each.quoted for each in scalars)
    return text if same and len(scalars) == 2 and not problems else quoted(text)


def quoted(text: str) -> str:
    """A text in double quotes, on one line: with unprintable characters escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else _escaped(char) for char in quoted)


def _escaped(char: str) -> str:
    return f"\\U{ord(char):08X}" if ord(char) > 0xFFFF else f"\\u{ord(char):04X}"
