"""Documents made of a JSON Schema, by chance: whatever it allows."""

import re
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from tests.schemas import Schema, resolved

TEXTS = ("x", "1 + 1", "Hello!", "{{ 1 }}", "100 %", "2", "a: b", "")
OF_A_PATTERN = (
    "a",
    "next",
    "/a",
    "/a/b",
    "3s",
    "90s",
    "2m 30s",
    "500KB",
    "80%",
    "2 MB",
    "ID",
    "CRM_KEY",
    "en",
    "pt-BR",
    "2030-12-24",
    "2030-12-24T18:00",
    "now",
    "today",
)
OF_A_FORM: Mapping[str, tuple[str, ...]] = {
    "2030-12-25": ("10:00-14:00",),
    "at": ("2030-12-24 18:00",),
    "contact": ("6281234567890", "+62 812 3456 7890"),
    "every": ("day at 9:00", "mon-fri at 9:00", "0 9 1 * *"),
    "fri": ("9:00-18:00",),
    "holidays": ("2030-12-25",),
    "max": ("18:00",),
    "min": ("9:00",),
    "mon-wed": ("9:00-12:00",),
    "now": ("2030-05-06T09:00",),
    "until": ("2030-12-24",),
    "wait": ("2h", "2030-12-24 18:00", "{{ soon }}"),
}
"""Texts below keys that take only some: the schema says no more than that they are texts."""
DAYS = ("fri", "mon-wed")
NAMES = {**dict.fromkeys(("hours", *DAYS), DAYS), "holidays": ("2030-12-25",)}
"""The names in maps that take only some."""
ANY_NAMES = ("a", "b", "done", "Ünïcode title", "9")


@st.composite
def documents(draw: st.DrawFn, root: Schema) -> Any:
    """Documents of any kind."""
    return _Made(draw, root).of(root, "")


class _Made:
    def __init__(self, draw: st.DrawFn, root: Schema) -> None:
        self._draw = draw
        self._root = root

    def of(self, schema: Schema, key: str) -> Any:
        """A value that a schema allows under a key."""
        schema = resolved(self._root, schema)
        if "anyOf" in schema:
            inside = {part["if"]["type"]: part["then"] for part in schema.get("allOf", ())}
            form = self._one_of(schema["anyOf"])
            return self.of(inside.get(form.get("type"), form), key)
        return self.of(self._one_of(_branches(schema)), key) if "if" in schema else self._plain(schema, key)

    def _one_of(self, values: Any) -> Any:
        return self._draw(st.sampled_from(values))

    def _plain(self, schema: Schema, key: str) -> Any:
        least = schema.get("minimum", -3)
        match schema.get("type"):
            case "object":
                return self._map(schema, key)
            case "array":
                length = self._draw(st.integers(0, schema.get("maxItems", 3)))
                return [self.of(schema["items"], key) for _ in range(length)]
            case "string":
                return self._one_of(_texts(schema, key))
            case "integer":
                return self._draw(st.integers(least, min(schema.get("maximum", least + 9), least + 9)))
            case "number":
                return self._one_of([least, least + 0.25])
            case "boolean":
                return self._draw(st.booleans())
            case "null":
                return None
        if "not" in schema:  # a number, true or false as a text; or nothing
            return self._one_of(OF_A_FORM.get(key, (7, 2.5, True))) if "null" in schema["not"]["type"] else None
        return self._one_of([None, 5, "x", [1, "y"], {"a": {"b": True}}])

    def _map(self, schema: Schema, key: str) -> dict[str, Any]:
        known = {name: of for name, of in schema.get("properties", {}).items() if of is not False}
        rest: Any = schema.get("additionalProperties", False)
        needed = schema.get("required", [])
        free = [name for name in known if name not in needed]
        free += NAMES.get(key, ANY_NAMES) if rest is not False else ()
        least, most = (1, 1) if "maxProperties" in schema else (0, 5)
        some = st.lists(st.sampled_from(free), unique=True, min_size=least, max_size=most) if free else st.just([])
        names = [*needed, *self._draw(some)]
        return {
            name: self.of(known.get(name, rest), name if name in known or name in OF_A_FORM else key) for name in names
        }


def _branches(schema: Schema) -> list[Schema]:
    """Every way through a chain of conditions; the last only where it is clear what is meant there."""
    found, asked = list[Schema](), set[str]()
    while "if" in schema:
        condition, then = schema["if"], schema["then"]
        asked |= {*condition["required"]}
        values = {
            name: {"type": "string", "enum": [of["const"]]} for name, of in condition.get("properties", {}).items()
        }
        found.append({**then, "properties": {**then["properties"], **values}})
        schema = schema["else"]
    known = schema.get("properties", {})
    if any("doNotSuggest" in each for each in known.values()):
        return found
    return [*found, {**schema, "properties": {name: of for name, of in known.items() if name not in asked}}]


def _texts(schema: Schema, key: str) -> tuple[str, ...]:
    if "pattern" in schema:
        return tuple(text for text in OF_A_PATTERN if re.search(schema["pattern"], text))
    return tuple(schema.get("enum", OF_A_FORM.get(key, TEXTS)))
