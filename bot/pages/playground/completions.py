"""Completions in the YAML of a step or of variables: the keys and values that the schema allows at a place."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bot.core.immutable import immutable
from bot.core.lazy_patterns import lazy_pattern
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import Map, plain, read

Schema = Mapping[str, Any]
_HERE = "completion_here"
"""A name that stands at the cursor while the text is read."""
_WORD = lazy_pattern(r"[\w/.-]*$")
_BRACKETS = {"{": "}", "[": "]"}
_TARGET = "#/definitions/target"


@immutable
class OfferedWord:
    """A word that may stand at the cursor: a key with its colon, or a value. ``about`` says what it means."""

    word: str
    insert: str
    about: str


def completions(
    schema: Schema, text: str, at: int, steps: Sequence[str], flows: Sequence[str], *, of_step: bool = True
) -> list[OfferedWord]:
    """The completions of the word that ends at the cursor, in the YAML of one step or, without ``of_step``, of the
    variables of a flow.

    ``schema`` is that of the whole document, ``steps`` and ``flows`` are what a target can name.
    """
    before = text[:at]
    match = _WORD.search(before)
    word = match[0] if match else ""
    head = before[: len(before) - len(word)]
    line = head.rpartition("\n")[2].rstrip()
    is_value = line.endswith(":")
    found: Iterable[tuple[str, str]] = ()
    for written in _readable(head, text[at:], is_key=not is_value):
        path = _path_to(written)
        if path is not None:
            keys = schema["then"]["properties"]
            part = keys["steps"]["additionalProperties"] if of_step else keys["vars"]
            here = _at(schema["definitions"], part, path, written)
            found = _values(here, steps, flows) if is_value else _keys(here)
            break
    offered: dict[str, OfferedWord] = {}
    for name, about in found:
        if name.startswith(word) and name != word:
            offered.setdefault(name, OfferedWord(name, name if is_value else f"{name}: ", about))
    return list(offered.values())


def _readable(head: str, tail: str, *, is_key: bool) -> Iterator[Any]:
    """The step as a value, with `_HERE` at the cursor: of the whole text, else without the rest of the line or of what
    comes before the cursor.
    """
    marker = f"{_HERE}: 0" if is_key else _HERE
    for end in (tail, "".join(tail.partition("\n")[1:]), _closing(head)):
        nodes = read("", head + marker + end, Problems())
        value = plain(nodes[0]) if nodes and isinstance(nodes[0], Map) else None
        if value:
            yield next(iter(value.values()))


def _closing(head: str) -> str:
    """The brackets that are open at the end of a text."""
    opened: list[str] = []
    quote = ""
    for char in head:
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'":
            quote = char
        elif char in _BRACKETS:
            opened.append(_BRACKETS[char])
        elif opened and char == opened[-1]:
            opened.pop()
    return "".join(reversed(opened))


def _path_to(value: Any) -> tuple[str, ...] | None:
    """The keys that lead to the map or the value where `_HERE` stands; None if it stands nowhere."""
    if value == _HERE:
        return ()
    if isinstance(value, Mapping):
        if _HERE in value:
            return ()
        for key, inner in value.items():
            if (found := _path_to(inner)) is not None:
                return str(key), *found
    if isinstance(value, list | tuple):
        for inner in value:
            if (found := _path_to(inner)) is not None:
                return "[]", *found
    return None


def _applying(definitions: Mapping[str, Schema], schema: Schema, value: Any) -> Iterator[Schema]:
    """All parts of a schema that apply to a value."""
    parts = [each for key in ("anyOf", "allOf", "oneOf") for each in schema.get(key, ())]
    if isinstance(reference := schema.get("$ref"), str):
        parts.insert(0, definitions[reference.rpartition("/")[2]])
    if "if" in schema:
        parts.append(schema.get("then" if _holds(schema["if"], value) else "else"))
    yield schema
    for part in parts:
        if isinstance(part, Mapping):
            yield from _applying(definitions, part, value)


def _holds(condition: Schema, value: Any) -> bool:
    """True if a value fits the condition of a schema: its type, its keys, and the values of these."""
    written = value if isinstance(value, Mapping) else {}
    kind = condition.get("type")
    is_of_kind = kind is None or isinstance(value, {"object": Mapping, "array": list}.get(kind, str))
    has_keys = all(name in written for name in condition.get("required", ()))
    values = (
        written[name] in each.get("enum", [each.get("const", written[name])])
        for name, each in condition.get("properties", {}).items()
        if name in written
    )
    return is_of_kind and has_keys and all(values)


def _at(definitions: Mapping[str, Schema], schema: Schema, path: Sequence[str], value: Any) -> list[tuple[Schema, Any]]:
    """The schemas that apply at the end of a path, each with the value there."""
    here = [(each, value) for each in _applying(definitions, schema, value)]
    for key in path:
        value = value[0] if key == "[]" and value else value.get(key) if isinstance(value, Mapping) else None
        inner = (_inner(each, key) for each, _ in here)
        here = [(part, value) for each in inner if each is not None for part in _applying(definitions, each, value)]
    return here


def _inner(schema: Schema, key: str) -> Schema | None:
    """The schema of what stands under a key."""
    if key == "[]":
        found = schema.get("items")
    else:
        found = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) else None


def _keys(here: Iterable[tuple[Schema, Any]]) -> Iterator[tuple[str, str]]:
    """The keys that are not written yet, each with what it means."""
    for schema, value in here:
        for name, each in schema.get("properties", {}).items():
            unwritten = not isinstance(value, Mapping) or name not in value
            if unwritten and not each.get("doNotSuggest"):
                yield name, str(each.get("description", ""))


def _values(
    here: Iterable[tuple[Schema, Any]], steps: Sequence[str], flows: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The values that may be written, each with what it means."""
    for schema, _ in here:
        for snippet in schema.get("defaultSnippets", ()):
            yield str(snippet.get("body", "")), str(snippet.get("description", ""))
        for value in schema.get("enum", ()):
            yield str(value).lower() if isinstance(value, bool) else str(value), ""
        if schema.get("type") == "boolean":
            yield from (("true", ""), ("false", ""))
        if schema.get("$ref") == _TARGET:
            yield from ((step, "a step of this flow") for step in steps)
            yield from ((f"/{flow}", "another flow") for flow in flows)
