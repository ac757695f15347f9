"""The predicates of CALM flows: their grammar, how they are written here, and what they evaluate to."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from bot.cli.importing.imported import tokens_in
from bot.core.errors import BotError
from bot.core.lazy_patterns import lazy_pattern


class PredicateError(BotError):
    """A predicate that cannot be read, or that has no counterpart here."""


@dataclass(frozen=True)
class SlotValue:
    """The value of a slot."""

    name: str


@dataclass(frozen=True)
class LiteralValue:
    """A value that is written out; None: null, undefined."""

    value: str | int | float | bool | None
    is_empty: bool = False


@dataclass(frozen=True)
class LiteralSet:
    """`{"a" "b"}`."""

    values: tuple[LiteralValue, ...]


@dataclass(frozen=True)
class PredicateTest:
    """A comparison: ``operator`` is one of ``= != < > <= >= contains matches``."""

    operator: str
    left: "Predicate"
    right: "Predicate"


@dataclass(frozen=True)
class PredicateNot:
    """`not ...`."""

    inner: "Predicate"


@dataclass(frozen=True)
class PredicateJoin:
    """`... and ...`, `... or ...`."""

    word: str
    left: "Predicate"
    right: "Predicate"


Predicate: TypeAlias = SlotValue | LiteralValue | LiteralSet | PredicateTest | PredicateNot | PredicateJoin

_TOKEN = lazy_pattern(
    r"""\s*(?:(?P<text>"[^"]*"|'[^']*')|(?P<pattern>/(?:[^/\\]|\\.)+/)|(?P<number>-?\d+(?:\.\d+)?)(?![\w.])"""
    r"""|(?P<word>[A-Za-z_][\w.]*)|(?P<sign>!=|==|<=|>=|[=<>(){},]))"""
)
_WORDS: Mapping[str, LiteralValue] = {
    "true": LiteralValue(True),
    "false": LiteralValue(False),
    "null": LiteralValue(None),
    "none": LiteralValue(None),
    "undefined": LiteralValue(None),
    "empty": LiteralValue("", is_empty=True),
}
_SIGNS = ("=", "==", "!=", "<", ">", "<=", ">=")


def parse_predicate(text: str) -> Predicate:
    """The tree of a predicate: `parse_predicate("not paid")  -> PredicateNot(SlotValue("paid"))`."""
    return _PredicateReader(text).read()


def slots_in(node: Predicate) -> Iterator[str]:
    """The names of all slots that a predicate reads."""
    return (each.name for each in _leaves(node) if isinstance(each, SlotValue))


def literals_in(node: Predicate) -> Iterator[Any]:
    """The values that a predicate compares with."""
    return (each.value for each in _leaves(node) if isinstance(each, LiteralValue))


def _leaves(node: Predicate) -> Iterator[SlotValue | LiteralValue]:
    match node:
        case LiteralSet(values):
            yield from values
        case PredicateNot(inner):
            yield from _leaves(inner)
        case PredicateTest() | PredicateJoin():
            yield from (*_leaves(node.left), *_leaves(node.right))
        case _:
            yield node


class _PredicateReader:
    def __init__(self, text: str) -> None:
        self.text = text.strip()
        self.tokens = tokens_in(text, _TOKEN, lambda rest: self._unreadable(rest.strip()[:20]))
        self.at = 0

    def _unreadable(self, there: str) -> PredicateError:
        return PredicateError(f'"{self.text}" cannot be read at "{there}"')

    def read(self) -> Predicate:
        node = self._or()
        if self.at < len(self.tokens):
            raise self._unreadable(self.tokens[self.at][1])
        return node

    def _or(self) -> Predicate:
        node = self._and()
        while self._word("or"):
            node = PredicateJoin("or", node, self._and())
        return node

    def _and(self) -> Predicate:
        node = self._not()
        while self._word("and"):
            node = PredicateJoin("and", node, self._not())
        return node

    def _not(self) -> Predicate:
        return PredicateNot(self._not()) if self._word("not") else self._test()

    def _test(self) -> Predicate:
        left = self._value()
        kind, text = self._peek()
        if kind == "sign" and text in _SIGNS:
            self.at += 1
            return PredicateTest(text.replace("==", "="), left, self._value())
        if self._word("is"):
            return PredicateTest("!=" if self._word("not") else "=", left, self._value())
        if self._word("contains"):
            return PredicateTest("contains", left, self._value())
        if self._word("matches"):
            kind, text = self._next()
            if kind not in ("text", "pattern"):
                raise PredicateError(f'"{self.text}": matches needs a pattern')
            return PredicateTest("matches", left, LiteralValue(text[1:-1]))
        return left

    def _value(self) -> Predicate:
        kind, text = self._next()
        if kind == "text":
            return LiteralValue(text[1:-1])
        if kind == "number":
            return LiteralValue(float(text) if "." in text else int(text))
        if text == "(":
            node = self._or()
            if self._next()[1] != ")":
                raise PredicateError(f'"{self.text}": a ) is missing')
            return node
        if text == "{":
            values: list[LiteralValue] = []
            while self._peek()[1] != "}":
                value = self._value()
                if not isinstance(value, LiteralValue):
                    raise PredicateError(f'"{self.text}": a set of slots has no counterpart here')
                values.append(value)
                if self._peek()[1] == ",":
                    self.at += 1
            self.at += 1
            return LiteralSet(tuple(values))
        if kind != "word":
            raise self._unreadable(text)
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        if text.startswith("context."):
            raise PredicateError(f'"{text}" has no counterpart here')
        return SlotValue(text.removeprefix("slots."))

    def _word(self, word: str) -> bool:
        kind, text = self._peek()
        if kind != "word" or text.lower() != word:
            return False
        self.at += 1
        return True

    def _peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def _next(self) -> tuple[str, str]:
        token = self._peek()
        if token[0] == "end":
            raise PredicateError(f'"{self.text}" ends too early')
        self.at += 1
        return token


def written_predicate(node: Predicate, name_of_slot: Callable[[str], str], inner: bool = False) -> str:
    """A predicate in this language: `amount > 100` becomes `amount is not null and amount > 100`."""
    match node:
        case SlotValue(name):
            return name_of_slot(name)
        case LiteralValue(value):
            return _written(value)
        case LiteralSet(values):
            return f"[{', '.join(_written(each.value) for each in values)}]"
        case PredicateNot(inner_node):
            return f"not {written_predicate(inner_node, name_of_slot, True)}"
        case PredicateJoin(word, left, right):
            text = f" {word} ".join(written_predicate(side, name_of_slot, True) for side in (left, right))
        case PredicateTest():
            text = _written_test(node, name_of_slot)
    return f"({text})" if inner else text


def _written_test(node: PredicateTest, name_of_slot: Callable[[str], str]) -> str:
    left, right = (written_predicate(side, name_of_slot, True) for side in (node.left, node.right))
    if isinstance(node.right, LiteralValue) and node.right.is_empty:
        return f'({left} | default("")) {"==" if node.operator == "=" else "!="} ""'
    if node.right == LiteralValue(None):
        return f"{left} is {'' if node.operator == '=' else 'not '}null"
    if node.operator in ("=", "!="):
        return f"{left} {'==' if node.operator == '=' else '!='} {right}"
    if node.operator == "contains":
        return f"{right} in {left}" if isinstance(node.left, LiteralSet) else f'{right} in ({left} or "")'
    if node.operator == "matches":
        pattern = str(node.right.value) if isinstance(node.right, LiteralValue) else ""
        try:
            re.compile(pattern)
        except re.error:
            raise PredicateError(f'the pattern "{pattern}" cannot be read') from None
        return f'({left} or "") | matches({_written(f"(?s).*(?:{pattern}).*")})'
    known = [side for side, tree in ((left, node.left), (right, node.right)) if isinstance(tree, SlotValue)]
    return " and ".join([*(f"{each} is not null" for each in known), f"{left} {node.operator} {right}"])


def _written(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    return str(value)


def evaluated(node: Predicate, slots: Mapping[str, Any]) -> Any:
    """The value of a predicate in Rasa, with these slots."""
    match node:
        case SlotValue(name):
            return slots.get(name)
        case LiteralValue(value):
            return value
        case LiteralSet(values):
            return [each.value for each in values]
        case PredicateNot(inner):
            return not evaluated(inner, slots)
        case PredicateJoin(word, left, right):
            sides = (bool(evaluated(side, slots)) for side in (left, right))
            return all(sides) if word == "and" else any(sides)
        case PredicateTest():
            return _compared(node, slots)


def _compared(node: PredicateTest, slots: Mapping[str, Any]) -> bool:
    left, right = evaluated(node.left, slots), evaluated(node.right, slots)
    if isinstance(node.right, LiteralValue) and node.right.is_empty:
        return (not left) == (node.operator == "=")
    if node.operator in ("=", "!="):
        return bool(left == right) == (node.operator == "=")
    if node.operator == "contains":
        return left is not None and right in left
    if node.operator == "matches":
        return re.search(str(right), str(left or "")) is not None
    if left is None or right is None or isinstance(left, str) != isinstance(right, str):
        return False
    orders: dict[str, bool] = {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}
    return orders[node.operator]
