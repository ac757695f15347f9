"""Step options that are written short, like ``timeout: 12h``: the problem says how that is written in full."""

import re
from collections.abc import Callable, Mapping

from bot.keys.fields import Fields
from bot.lang import wall_clock
from bot.lang.nodes import Map, Node, Scalar
from bot.lang.writing import flow_style

Value = str | int
_EXAMPLES: Mapping[str, Value] = {"duration": "20h", "number": 3, "target": "end", "text": "Please try again."}
"""The sorts of what is written short, each with one such value."""
_FORMS: Mapping[str, Mapping[str, Callable[[Value], Mapping[str, Value]]]] = {
    "retry": {
        "text": lambda it: {"say": it},
        "target": lambda it: {"then": it},
        "number": lambda it: {"max": it, "else": "end"},
    },
    "remind": {
        "duration": lambda it: {"after": it},
        "text": lambda it: {"after": "2h", "say": it},
    },
    "timeout": {
        "duration": lambda it: {"after": it, "then": "end"},
        "target": lambda it: {"after": "20h", "then": it},
        "text": lambda it: {"after": "20h", "say": it, "then": "end"},
    },
    "visits": {
        "number": lambda it: {"max": it, "else": "end"},
        "target": lambda it: {"max": 3, "else": it},
    },
    "errors": {"target": lambda it: {"else": it}},
}
"""What a value of each sort means to an option, in full. What is none of these is meant like the first."""
_LIKE_A_TARGET = re.compile(r"/?[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")


def fields_in_full(fields: Fields, key: str) -> Fields | None:
    """The map under an option's key. What is no map is a problem, and is read as what the problem says to write."""
    node = fields.raw(key)
    if node is None or isinstance(node, Map):
        return fields.fields(key)
    full = _in_full(node, _FORMS[key])
    what = f"{fields.what}: {key}: a map of keys is expected"
    fields.problems.add("E106", node.mark, what, f"write {flow_style({key: full})}")
    entries = tuple((_scalar(node, name), _scalar(node, value)) for name, value in full.items())
    return Fields(Map(node.mark, entries), fields.problems, f"{fields.what}: {key}")


def _in_full(node: Node, forms: Mapping[str, Callable[[Value], Mapping[str, Value]]]) -> Mapping[str, Value]:
    sort = _sort_of(node) if isinstance(node, Scalar) else ""
    if isinstance(node, Scalar) and sort in forms:
        return forms[sort](node.value if isinstance(node.value, int) else node.text)
    usual, form = next(iter(forms.items()))
    return form(_EXAMPLES[usual])


def _sort_of(node: Scalar) -> str:
    if wall_clock.parse_duration(node.text) is not None:
        return "duration"
    if isinstance(node.value, int):
        return "number"
    if _LIKE_A_TARGET.fullmatch(node.text):
        return "target"
    return "text" if node.text[:1].isalpha() else ""


def _scalar(node: Node, value: Value) -> Scalar:
    return Scalar(node.mark, value, str(value))
