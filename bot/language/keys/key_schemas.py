"""The values and descriptions of the keys of a bot's files, in the terms of JSON Schema (draft-07).

Readers declare their keys beside them. Editors complete, explain and check files by that (docs/editors.md). A reader
knows more than a schema can say, and has the last word; what a schema refuses, it refuses too.
"""

from collections.abc import Iterable, Mapping
from typing import Any

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]

_DEFINES = "defines"  # beside a `$ref`: what stands there; `whole` puts it under the definitions


def takes(value: Schema, about: str) -> Schema:
    """The schema of a key: the values that it takes, and one sentence about them that names the default."""
    return {**value, "description": about}


def not_suggested(value: Schema) -> Schema:
    """The same, which editors know and do not offer."""
    return {**value.get(_DEFINES, value), "doNotSuggest": True}


def shared(name: str, schema: Schema) -> Schema:
    """A reference to a schema that is used in many places and defined once."""
    return {"$ref": f"#/definitions/{name}", _DEFINES: schema}


def pattern(expression: str, fix: str) -> Schema:
    """A text that matches an expression in full. ``fix`` is what to write instead of one that does not."""
    return {"type": "string", "pattern": f"^(?:{expression})$", "patternErrorMessage": fix}


def list_of(item: Schema) -> Schema:
    """A list."""
    return {"type": "array", "items": item}


def map_of(value: Schema, known: Schemas | None = None) -> Schema:
    """A map of any names. Those that are ``known`` are completed and explained."""
    return {"type": "object", **({"properties": known} if known else {}), "additionalProperties": value}


def record(keys: Schemas, *needed: str, most: int | None = None) -> Schema:
    """A map of these keys: what must be written of them, and how many there are at most."""
    more: dict[str, Any] = {"required": list(needed)} if needed else {}
    if most is not None:
        more["maxProperties"] = most
    return {"type": "object", "properties": keys, **more, "additionalProperties": False}


def either(*members: Schema) -> Schema:
    """Any of these schemas, with at most one list and one map among them.

    The contents of a list or a map are checked against that member alone, so that an editor reports the mistake itself.
    """
    forms: list[Schema] = []
    inside: list[Schema] = []
    for member in members:
        meant = member.get(_DEFINES, member)
        if "anyOf" in meant:
            forms += meant["anyOf"]
            inside += meant.get("allOf", ())
        elif meant.get("type") in ("array", "object"):
            forms.append({"type": meant["type"]})
            inside.append({"if": {"type": meant["type"]}, "then": member})
        else:
            forms.append(member)
    return {"anyOf": forms, **({"allOf": inside} if inside else {})}


def one_or_several(item: Schema) -> Schema:
    """A list, or one item alone."""
    return either(item, list_of(item))


def with_key(name: str, then: Schema, otherwise: Schema) -> Schema:
    """A map: one where this key is written, and another where it is not."""
    return {"type": "object", "if": {"required": [name]}, "then": then, "else": otherwise}


def by_key(records: Mapping[str, Schema], complaint: str) -> Schema:
    """The first of these whose key is written, and no other. Where none is, the keys to choose from are offered."""
    others = dict.fromkeys((name for each in records.values() for name in each["properties"]), not_suggested(ANY))
    chosen = {name: each["properties"][name] for name, each in records.items()}
    one_of_them = [{"required": [name], "errorMessage": complaint} for name in records]
    rest = {**record({**others, **chosen}), "anyOf": one_of_them}
    return _chain((({"required": [name]}, each) for name, each in records.items()), rest)


def by_value(name: str, records: Mapping[str, Schema], any_other: Schema) -> Schema:
    """The schema among these that the value of a key names; ``any_other`` for every other value."""
    others = dict.fromkeys((key for each in records.values() for key in each["properties"]), not_suggested(ANY))
    about = next(iter(records.values()))["properties"][name]
    rest = {"type": "object", "properties": {**others, name: about}, "required": [name]}
    written: Schema = {"required": [name]}
    named = (({**written, "properties": {name: {"const": value}}}, record) for value, record in records.items())
    return _chain((*named, (written, any_other)), rest)


def whole(schema: Schema) -> dict[str, Any]:
    """A schema that stands alone: what is shared in it stands under its definitions."""
    definitions: dict[str, Any] = {}

    def of(node: Any) -> Any:
        if isinstance(node, Mapping):
            if _DEFINES in node:
                name = node["$ref"].rpartition("/")[2]
                if name not in definitions:
                    definitions[name] = of(node[_DEFINES])
            return {name: of(value) for name, value in node.items() if name != _DEFINES}
        return [of(item) for item in node] if isinstance(node, list | tuple) else node

    found = of(schema)
    return {"$schema": "http://json-schema.org/draft-07/schema#", **found, "definitions": definitions}


def _chain(pairs: Iterable[tuple[Schema, Schema]], rest: Schema) -> Schema:
    """The schema of the first condition that holds: what an editor completes and complains of is that of this one."""
    for condition, then in reversed(list(pairs)):
        rest = {"type": "object", "if": condition, "then": then, "else": rest}
    return rest


ANY: Schema = {}
NEVER: Any = False
"""No value at all: the key may not be written here, although it has a meaning beside other keys."""
EMPTY: Schema = {"not": {"type": ["string", "number", "boolean", "array", "object"]}}
"""Nothing behind the colon. Said by what it is not: else editors would offer to write null."""
STRING: Schema = {"type": "string"}
"""A text where a number, true or false is itself."""
_TEXT_TOO: Schema = {"not": {"type": ["string", "array", "object", "null"]}}
ANY_TEXT = shared("text", {"anyOf": [STRING, _TEXT_TOO]})
"""A text; numbers, true and false are texts as well. These are not named: else editors would offer them."""
WRITTEN_OUT = shared(
    "written-out", {"anyOf": [pattern(r"([^{]|\{[^{])*\{?", "write it out: no values can stand here"), _TEXT_TOO]}
)
"""A text without ``{{``."""
