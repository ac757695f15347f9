"""The parts of a JSON Schema that apply to a value."""

from collections.abc import Iterator, Mapping
from typing import Any

Schema = Mapping[str, Any]


def resolved(root: Schema, schema: Schema) -> Schema:
    """The schema that a reference stands for."""
    while "$ref" in schema:
        schema = root["definitions"][schema["$ref"].removeprefix("#/definitions/")]
    return schema


def parts(root: Schema, schema: Schema, value: Any) -> Iterator[Schema]:
    """The schema and all that it holds a value against by its conditions."""
    schema = resolved(root, schema)
    yield schema
    if "if" in schema:
        yield from parts(root, schema.get("then" if _holds(schema["if"], value) else "else", {}), value)
    for each in schema.get("allOf", ()):
        yield from parts(root, each, value)


def _holds(condition: Schema, value: Any) -> bool:
    """The conditions that there are: of a type, or of keys that are written, perhaps with a certain value."""
    if "type" in condition:
        return isinstance(value, {"object": dict, "array": list}[condition["type"]])
    values = condition.get("properties", {}).items()
    written = all(name in value for name in condition["required"])
    return written and all(value[name] == wanted["const"] for name, wanted in values)


def record_in(root: Schema, schema: Schema, value: Any) -> Schema | None:
    """The keys that the map ``value`` may have, where it may not have any others."""
    found = [part for part in parts(root, schema, value) if part.get("additionalProperties") is False]
    assert len(found) < 2
    return found[0] if found else None


def below(root: Schema, schema: Schema, value: Any, key: str | int) -> Schema:
    """The schema of what stands under a key, or of an item."""
    found: list[Schema] = []
    for part in parts(root, schema, value):
        known, rest = part.get("properties", {}), part.get("additionalProperties")
        if isinstance(key, int):
            found += [part["items"]] if "items" in part else []
        elif key in known:
            found.append(known[key])
        elif isinstance(rest, Mapping):
            found.append(rest)
    return found[0] if found else {}


def records(schema: Any) -> Iterator[Schema]:
    """Every map of known keys in a schema, but for those that are offered where it is not clear yet what is meant."""
    if isinstance(schema, Mapping):
        if schema.get("additionalProperties") is False and "anyOf" not in schema:
            yield schema
        for each in schema.values():
            yield from records(each)
    elif isinstance(schema, list):
        for each in schema:
            yield from records(each)
