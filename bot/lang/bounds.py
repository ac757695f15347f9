"""How long the text of a template can be, by the declarations of the variables in it."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2 import nodes

from bot.lang.reach import (
    DAYS,
    MOMENTS,
    UNKNOWN,
    Reach,
    among,
    calculated,
    constant,
    divided,
    either,
    filtered,
    reach_of,
    together,
)
from bot.lang.templates import Template
from bot.lang.variable import Variable

_PLAIN = re.compile(r"(?:[^{]|\{(?![{%#])|\{\{ ?[a-z_]\w* ?\}\})*")  # nothing but values, which need not be parsed
_VALUE = re.compile(r"\{\{ ?(\w+) ?\}\}")
_BUILT_IN = {"now": MOMENTS, "today": DAYS}
_TRUTH = among((True, False))
_SIGNS = {nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*"}


def is_plain(source: str) -> bool:
    """Whether a text holds nothing but values of variables, as they are."""
    return _PLAIN.fullmatch(source) is not None


class Bounds:
    """The bounds of texts that see some variables, in a language."""

    def __init__(self, variables: Mapping[str, Variable], language: str | None = None) -> None:
        self.known: Mapping[str, Reach] = {**_BUILT_IN, **{name: reach_of(each) for name, each in variables.items()}}
        self._language = language

    def of(self, text: Template) -> Reach:
        """How long a text can be, which has one wording."""
        if text.constant:
            return Reach(len(text.source))
        if is_plain(text.source):
            between = len(_VALUE.sub("", text.source))
            return together((Reach(between), *(self._named(name) for name in _VALUE.findall(text.source))))
        return self._body(text.tree.body)

    def _named(self, name: str) -> Reach:
        return self.known.get(name, UNKNOWN)

    def _body(self, body: Iterable[nodes.Node]) -> Reach:
        return together(self._part(node) for node in body)

    def _part(self, node: nodes.Node) -> Reach:
        match node:
            case nodes.Output(nodes=parts):
                return together(self._part(part) for part in parts)
            case nodes.TemplateData(data=data):
                return Reach(len(data))
            case nodes.If():
                bodies = (node.body, *(each.body for each in node.elif_), node.else_)
                return either(map(self._body, bodies))
            case nodes.For():
                return Reach(self._body(node.else_).most, open=True)
        return self._of(node)

    def _of(self, node: nodes.Node) -> Reach:
        """An expression's reach."""
        work = _WORK.get(type(node))
        return UNKNOWN if work is None else work(self, node)

    def _filter(self, node: nodes.Filter) -> Reach:
        match node:
            case nodes.Filter(name="join", node=nodes.List(items=items), args=[nodes.Const(value=str(between))]):
                gaps = Reach(len(between) * max(0, len(items) - 1))
                return together((gaps, *map(self._of, items)))
            case nodes.Filter(node=nodes.Node() as value, kwargs=[]):
                return filtered(node.name, self._of(value), [self._of(each) for each in node.args], self._language)
        return UNKNOWN

    def _binary(self, node: nodes.BinExpr) -> Reach:
        return calculated(_SIGNS[type(node)], self._of(node.left), self._of(node.right))

    def _choice(self, node: nodes.CondExpr) -> Reach:
        return either((self._of(node.expr1), Reach() if node.expr2 is None else self._of(node.expr2)))


_WORK: dict[type[nodes.Node], Callable[[Bounds, Any], Reach]] = {
    nodes.Const: lambda bounds, node: constant(node.value),
    nodes.TemplateData: lambda bounds, node: Reach(len(node.data)),
    nodes.Name: lambda bounds, node: bounds._named(node.name),
    nodes.Filter: Bounds._filter,
    **dict.fromkeys(_SIGNS, Bounds._binary),
    nodes.Div: lambda bounds, node: divided(bounds._of(node.left), bounds._of(node.right)),
    nodes.Concat: lambda bounds, node: together(map(bounds._of, node.nodes)),
    nodes.CondExpr: Bounds._choice,
    nodes.And: lambda bounds, node: either((bounds._of(node.left), bounds._of(node.right))),
    nodes.Or: lambda bounds, node: either((bounds._of(node.left), bounds._of(node.right))),
    **dict.fromkeys((nodes.Compare, nodes.Test, nodes.Not), lambda bounds, node: _TRUTH),
}
