"""Which texts and expressions never fail, whatever their variables are: a failure of the others may lead somewhere."""

from collections.abc import Iterable, Mapping

from jinja2 import nodes

from bot.lang.cases import Cases, Kind
from bot.lang.filter_kinds import takes
from bot.lang.filters import FILTERS, FUNCTIONS
from bot.lang.text_filters import FILTERS as OF_TEXTS
from bot.lang.worth import Worth

_PLAIN = (
    nodes.Template, nodes.Output, nodes.TemplateData, nodes.Const, nodes.Name, nodes.If, nodes.And, nodes.Or, nodes.Not,
    nodes.Concat, nodes.List, nodes.Tuple, nodes.Dict, nodes.Pair, nodes.Operand, nodes.Keyword,
)  # fmt: skip
_NUMBERS = frozenset({Kind.NUMBER})
_DAYS = frozenset({Kind.DATE, Kind.DATETIME})
_DURATIONS = frozenset({Kind.DURATION})
_LISTS = frozenset({Kind.LIST})
_SAFE = frozenset({
    "abs", "age", "date", "days_until", "first", "join", "last", "length", "number", "pick", "reverse", "round", "shuffle",
    "time", "weekday",
})  # fmt: skip
"""The filters that never fail with what they take, where their arguments are written out."""
_ADDED = (_NUMBERS, frozenset({Kind.TEXT}), _LISTS)


def is_safe(tree: nodes.Node, known: Mapping[str, Cases]) -> bool:
    """Whether a text can be worked out whatever its variables are, where they are of these kinds."""
    return _Safety(known).all_of([tree])


class _Safety:
    """Looks at each node of a tree."""

    def __init__(self, known: Mapping[str, Cases]) -> None:
        self._worth = Worth(known)

    def all_of(self, trees: Iterable[nodes.Node]) -> bool:
        """Whether none of these ever fails."""
        waiting = list(trees)
        while waiting:
            node = waiting.pop()
            if not self._is_safe(node):
                return False
            waiting += _below(node)
        return True

    def _is_safe(self, node: nodes.Node) -> bool:
        if isinstance(node, _PLAIN):  # as most are
            return True
        match node:
            case nodes.Filter(name=name):
                return self._filters(node, name)
            case nodes.Test(node=nodes.Getattr() | nodes.Name()):
                return True
            case nodes.Getattr(node=nodes.Name(name="contact")):
                return True
            case nodes.CondExpr():
                return node.expr2 is not None
            case nodes.Compare(expr=left, ops=ops):
                return all(self._compares(left, operand) for operand in ops)
            case nodes.Add(left=left, right=right) | nodes.Sub(left=left, right=right) if self._are(_DAYS, left):
                return self._are(_DURATIONS, right)
            case nodes.Add(left=left, right=right):
                return any(self._are(kinds, left, right) for kinds in _ADDED)
            case nodes.Sub(left=left, right=right) | nodes.Mul(left=left, right=right):
                return self._are(_NUMBERS, left, right)
            case nodes.Call(node=nodes.Name(name=name)):
                return name in FUNCTIONS and _written(node)
        return False

    def _filters(self, node: nodes.Filter, name: str) -> bool:
        if name == "default":
            return True
        if name in OF_TEXTS:
            return name in FILTERS and _written(node)
        return name in _SAFE and _written(node) and self._are(takes(name), node.node)

    def _compares(self, left: nodes.Node, operand: nodes.Operand) -> bool:
        if operand.op in ("eq", "ne"):
            return True
        if operand.op in ("in", "notin"):
            return isinstance(operand.expr, nodes.List | nodes.Tuple) or self._are(_LISTS, operand.expr)
        return any(self._are(frozenset({kind}), left, operand.expr) for kind in (Kind.NUMBER, Kind.DATE, Kind.TEXT))

    def _are(self, kinds: frozenset[Kind], *parts: nodes.Node | None) -> bool:
        return all(part is not None and {found.kind for found in self._worth.of(part)} <= kinds for part in parts)


def _below(node: nodes.Node) -> Iterable[nodes.Node]:
    """The children that can fail: what `default` and a test look at need not be there, nor is a function's name a value."""
    match node:
        case nodes.Filter(name="default", node=nodes.Getattr() | nodes.Name(), args=arguments):
            return arguments
        case nodes.Test(node=nodes.Getattr() | nodes.Name()) | nodes.Getattr():
            return ()
        case nodes.Call(args=arguments):
            return arguments
    return node.iter_child_nodes()


def _written(node: nodes.Filter | nodes.Call) -> bool:
    """Whether its arguments are written out."""
    return all(isinstance(argument, nodes.Const) for argument in node.args) and not node.kwargs
