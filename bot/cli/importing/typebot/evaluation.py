"""JavaScript and conditions as Typebot evaluates them."""

import json
import math
import operator
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import product
from typing import Any

from bot.cli.importing.typebot.expressions import JavaScript, NoJavaScript, UnknownJavaScript

Value = str | list[str | None] | None
"""The value of a variable: Typebot keeps texts and lists of texts."""


def shown(value: Value) -> str:
    """A value in a text."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value or ""


def stored(value: Any) -> Value:
    """A result of JavaScript as a variable keeps it."""
    if isinstance(value, list):
        return [each if isinstance(each := stored(part), str | None) else shown(each) for part in value]
    if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
        return "null"
    if isinstance(value, bool | int | float):
        return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)
    if isinstance(value, str | None):
        return value or None
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def guessed(value: Value) -> Any:
    """A variable's value as code sees it: texts of numbers are numbers."""
    if not isinstance(value, str) or value.startswith("+") or re.match(r"0[^.]", value):
        return value
    known = {"true": True, "false": False, "null": None, "undefined": None}
    if value in known:
        return known[value]
    number = number_of(value)
    return value if math.isnan(number) else number


def number_of(text: str) -> float:
    """JavaScript's `Number()` of a text."""
    if not text.strip():
        return 0
    if not re.fullmatch(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*", text, re.IGNORECASE):
        return math.nan
    return float(text) if re.search(r"[.eE]", text) else int(text)


def leading_number(text: str) -> float | None:
    """JavaScript's `parseFloat()` of a text; None where it has no number at its beginning."""
    found = re.match(r"\s*[-+]?(\d+\.?\d*|\.\d+)", text)
    return None if found is None else number_of(found[0])


def compared(how: str | None, left: Value, right: Value) -> bool:
    """The result of a comparison of a condition."""
    if how in _ORDERS:
        return left is not None and right is not None and bool(_ORDERS[how](*_measures(left, right)))
    if how in ("Is set", "Is empty"):
        return bool(left) == (how == "Is set")
    is_list = isinstance(left, list)
    pairs = list(product(*(each if isinstance(each, list) else [each] for each in (left, right))))
    match how:
        case "Equal to":
            return all(_same(a, b) for a, b in pairs)
        case "Not equal":
            return all(not _same(a, b) for a, b in pairs)
        case "Contains":
            if is_list:
                return any(_same(a, b) or None in (a, b) for a, b in pairs)
            return any(bool(a and b) and _plain(b) in _plain(a) for a, b in pairs)
        case "Does not contain":
            return all(not _same(a, b) if is_list else not (a and b) or _plain(b) not in _plain(a) for a, b in pairs)
        case "Starts with":
            return all(bool(a and b) and _plain(a).startswith(_plain(b)) for a, b in pairs)
        case "Ends with":
            return all(bool(a and b) and _plain(a).endswith(_plain(b)) for a, b in pairs)
        case "Matches regex":
            return any(bool(a and b) and _matches(b, a) for a, b in pairs)
        case "Does not match regex":
            return all(bool(a and b) and not _matches(b, a) for a, b in pairs)
        case _:
            return False


_ORDERS: Mapping[str | None, Callable[[float, float], Any]] = {
    "Greater than": operator.gt, "Less than": operator.lt, "Greater or equal to": operator.ge,
    "Less or equal to": operator.le,
}  # fmt: skip


def _same(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return one == other
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def _plain(text: str | None) -> str:
    return unicodedata.normalize("NFC", (text or "").lower().strip())


def _matches(pattern: str | None, text: str | None) -> bool:
    written = python_pattern(pattern or "")
    return written is not None and re.search(written, text or "") is not None


def python_pattern(pattern: str) -> str | None:
    """A pattern of JavaScript, perhaps `/pattern/flags`, for Python; None if Python cannot read it."""
    flagged = re.search(r"/(.+)/([gimuy]*)$", pattern)
    body, flags = (flagged[1], "".join(flag for flag in flagged[2] if flag in "im")) if flagged else (pattern, "")
    written = (f"(?{flags})" if flags else "") + re.sub(r"\(\?<(?![=!])", "(?P<", body)
    try:
        re.compile(written)
    except re.error:
        return None
    return written


def _measures(left: str | list[str | None], right: str | list[str | None]) -> tuple[float, float]:
    of_text = measure if isinstance(left, str) and isinstance(right, str) else number_of
    one, other = (of_text(each) if isinstance(each, str) else len(each) for each in (left, right))
    return one, other


def measure(text: str) -> float:
    """The number by which a text is compared: itself, its moment, or its length."""
    number = math.nan if text.startswith("+") else number_of(text)
    if not math.isnan(number):
        return number
    try:
        return datetime.fromisoformat(text).timestamp() * 1000
    except ValueError:
        return len(text)


def evaluate(tree: JavaScript, scope: Mapping[str, Any]) -> Any:
    """The value of JavaScript. Raises `UnknownJavaScript` for what is not simple, `NoJavaScript` where it throws."""
    match tree.kind:
        case "literal":
            return tree.value
        case "variable" | "name":
            return scope.get(tree.value)
        case "list":
            return [evaluate(part, scope) for part in tree.parts]
        case "template":
            return "".join(_string(evaluate(part, scope)) for part in tree.parts)
        case "unary":
            value = evaluate(tree.parts[0], scope)
            return not value if tree.value == "!" else _as_number(value) * (-1 if tree.value == "-" else 1)
        case "choice":
            return evaluate(tree.parts[1 if evaluate(tree.parts[0], scope) else 2], scope)
        case "binary":
            return _binary(tree.value, *(evaluate(part, scope) for part in tree.parts))
        case "index":
            owner, at = (evaluate(part, scope) for part in tree.parts)
            return _at(owner, at)
        case "member":
            return _member(evaluate(tree.parts[0], scope), tree.value)
        case "call":
            return _called(tree, scope)
        case _:
            raise UnknownJavaScript(tree.kind)


def _binary(sign: str, left: Any, right: Any) -> Any:
    if sign in ("&&", "||", "??"):
        return (right if left else left) if sign == "&&" else (left or right)
    if sign in ("===", "=="):
        return left == right or (sign == "==" and _string(left) == _string(right))
    if sign in ("!==", "!="):
        return not _binary(sign[:1].replace("!", "=") * (len(sign)), left, right)
    if sign == "+" and isinstance(left, str | list) | isinstance(right, str | list):
        return _string(left) + _string(right)
    one, other = _as_number(left), _as_number(right)
    if sign in ("/", "%") and other == 0:
        return math.nan if sign == "%" or one == 0 or math.isnan(one) else math.copysign(math.inf, one)
    return _SIGNS[sign](one, other)


_SIGNS: Mapping[str, Callable[[float, float], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": math.fmod, "**": operator.pow,
    "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge,
}  # fmt: skip


def _as_number(value: Any) -> float:
    if value is None or isinstance(value, dict):
        return math.nan
    return number_of(_string(value)) if isinstance(value, str | list) else value


def _string(value: Any) -> str:
    if isinstance(value, list):
        return ",".join("" if part is None else _string(part) for part in value)
    if value is None:
        return "undefined"
    return value if isinstance(value, str) else shown(stored(value)).replace("null", "NaN")


def _at(owner: Any, at: Any) -> Any:
    if isinstance(owner, dict):
        return owner.get(at)
    if isinstance(owner, str | list) and isinstance(at, int | float) and 0 <= at < len(owner):
        return owner[int(at)]
    return None


def _member(owner: Any, name: str) -> Any:
    if owner is None:
        raise NoJavaScript(f"there is no .{name} of undefined")
    if name == "length" and isinstance(owner, str | list):
        return len(owner)
    return owner.get(name) if isinstance(owner, dict) else None


def _called(tree: JavaScript, scope: Mapping[str, Any]) -> Any:
    called, arrows = tree.parts[0], [part for part in tree.parts[1:] if part.kind == "arrow"]
    if called.value == "random" and "Math.random" in scope:
        return scope["Math.random"]()
    if called.kind == "name" or (called.kind == "member" and called.parts[0].value == "Math"):
        return _function(called.value, [evaluate(part, scope) for part in tree.parts[1:]])
    if called.kind != "member":
        raise UnknownJavaScript("a call")
    if called.parts[0].kind == "new":
        return _date_part(called.value, scope.get("Date"))
    owner = evaluate(called.parts[0], scope)
    if arrows and isinstance(owner, list):
        results = [evaluate(arrows[0].parts[0], {**scope, arrows[0].value[0]: each}) for each in owner]
        kept = [each for each, keeps in zip(owner, results, strict=True) if keeps]
        made = {"map": results, "filter": kept, "find": kept[0] if kept else None}
        flat = [part for each in results for part in (each if isinstance(each, list) else [each])]
        return flat if called.value == "flatMap" else made.get(called.value)
    return _method(called.value, owner, [evaluate(part, scope) for part in tree.parts[1:]])


def _function(name: str, values: Sequence[Any]) -> Any:
    if name == "String":
        return _string(values[0])
    if name not in (*_OF_NUMBERS, "Number", "parseFloat"):
        raise UnknownJavaScript(name)
    numbers = [_as_number(value) for value in values]
    if name in ("Number", "parseFloat"):
        return numbers[0]
    used = numbers[:1] if name == "parseInt" else numbers
    return math.nan if any(map(math.isnan, used)) else _OF_NUMBERS[name](used)


_OF_NUMBERS: Mapping[str, Callable[[Sequence[float]], Any]] = {
    "round": lambda given: math.floor(given[0] + 0.5), "floor": lambda given: math.floor(given[0]),
    "ceil": lambda given: math.ceil(given[0]), "abs": lambda given: abs(given[0]), "min": min, "max": max,
    "pow": lambda given: given[0] ** given[1], "parseInt": lambda given: math.trunc(given[0]),
}  # fmt: skip


def _method(name: str, owner: Any, values: Sequence[Any]) -> Any:
    if owner is None:
        raise NoJavaScript(f"there is no .{name}() of undefined")
    text = _string(owner)
    first = values[0] if values else None
    match name:
        case "toUpperCase":
            return text.upper()
        case "toLowerCase":
            return text.lower()
        case "trim":
            return text.strip()
        case "toString":
            return text
        case "toFixed":
            return f"{_as_number(owner):.{int(first or 0)}f}"
        case "includes":
            return first in owner if isinstance(owner, list) else _string(first) in text
        case "startsWith":
            return text.startswith(_string(first))
        case "endsWith":
            return text.endswith(_string(first))
        case "replaceAll":
            return text.replace(_string(first), _string(values[1]))
        case "split":
            return text.split(_string(first))
        case "join":
            return ("," if first is None else _string(first)).join(_string(part) for part in owner)
        case "concat" if isinstance(owner, list):
            return [*owner, *(first if isinstance(first, list) else [first])]
        case "slice" | "substring":
            return owner[int(first or 0) : int(values[1]) if len(values) > 1 else None]
        case "at":
            return owner[int(first or 0)] if owner else None
        case _:
            raise UnknownJavaScript(name)


def _date_part(name: str, moment: Any) -> Any:
    if not isinstance(moment, datetime):
        raise UnknownJavaScript("a day")
    parts = {
        "getFullYear": moment.year, "getMonth": moment.month - 1, "getDate": moment.day, "getHours": moment.hour,
        "getMinutes": moment.minute, "toISOString": f"{moment:%Y-%m-%dT%H:%M:%S}.000Z",
    }  # fmt: skip
    if name not in parts:
        raise UnknownJavaScript(name)
    return parts[name]
