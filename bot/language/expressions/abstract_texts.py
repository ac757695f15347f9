"""Abstract evaluation of texts and conditions: their values, whether null leaves a hole, whether they may fail."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from jinja2 import nodes

from bot.core.immutable import immutable
from bot.language.expressions.abstract_evaluation import DAYS, LISTS, NONE, NUMBERS, Evaluator, takes
from bot.language.expressions.abstract_values import ANYTHING, AbstractValues, ValueKind, some, truths
from bot.language.expressions.filters import FILTERS, FUNCTIONS
from bot.language.expressions.filters import TEXT_FILTERS as OF_TEXTS
from bot.language.expressions.grammar import path_of
from bot.language.expressions.inlining import expression_of
from bot.language.expressions.templates import Definition, Expression, Template, is_plain


@immutable
class Evaluation:
    """The possible ``values`` of a text or an expression; none if it always fails.

    ``hole``: the text has a hole because the variable in question is null; ``fails``: it may fail for that reason;
    ``blank``: it is shown, and nothing is visible.
    """

    values: AbstractValues
    hole: bool = False
    fails: bool = False
    blank: bool = False

    @property
    def nothing(self) -> bool:
        """True if it may be null."""
        return any(found.kind is ValueKind.NULL for found in self.values)

    @property
    def only_nothing(self) -> bool:
        """True if it is null, if it is anything."""
        return all(found.kind is ValueKind.NULL for found in self.values)

    @property
    def truths(self) -> frozenset[bool]:
        """The truth values that it may have in a condition."""
        return truths(self.values)


class AbstractText:
    """One text or expression, to be evaluated many times."""

    def __init__(self, text: Template | Expression) -> None:
        self._wordings = text.wordings if isinstance(text, Template) else (text,)
        self._expression = isinstance(text, Expression)
        self._single = isinstance(text, Expression) or text.single

    @cached_property
    def _trees(self) -> list[nodes.Template]:
        return [each.tree for each in self._wordings]

    def evaluate(self, known: Mapping[str, AbstractValues], *, shown: bool = False) -> Evaluation:
        """Evaluate it, with these values for some names. ``shown``: as a text, even if it is nothing but one value."""
        found = [self._read(tree, known, shown=shown or not self._single) for tree in self._trees]
        if len(found) == 1:
            return found[0]
        every = frozenset().union(*(each.values for each in found))
        hole, fails = any(each.hole for each in found), any(each.fails for each in found)
        return Evaluation(every, hole, fails, all(each.blank for each in found))

    def never_fails(self, known: Mapping[str, AbstractValues]) -> bool:
        """True if it is evaluated without a failure whatever its variables are, null aside."""
        plain = all(is_plain(each) for each in self._wordings if isinstance(each, Template))
        return (plain and not self._expression) or _Safety(known).all_of(self._trees)

    def _read(self, tree: nodes.Template, known: Mapping[str, AbstractValues], *, shown: bool) -> Evaluation:
        evaluator = Evaluator(known)
        if not shown:
            return Evaluation(evaluator.there(evaluator.of(expression_of(tree))), evaluator.hole, evaluator.fails)
        showing = _Showing(evaluator)
        return Evaluation(showing.text(tree), evaluator.hole, evaluator.fails, showing.blank)


def failing_definition(text: Template | Expression, known: Mapping[str, AbstractValues]) -> Definition | None:
    """The innermost definition in a text that always fails, with these values for some names. None: all may work."""
    failing = [each for each in text.definitions if not AbstractText(each.expression).evaluate(known).values]
    return next((each for each in failing if not {*failing}.intersection(each.expression.definitions)), None)


def iterated(text: Template) -> set[tuple[str, ...]]:
    """The paths of the lists that the loops of a text go through: ``order.rows`` as its parts."""
    loops = () if text.constant else text.tree.find_all(nodes.For)
    found = {path_of(_before_filters(loop.iter)) for loop in loops}
    return {path for path in found if len(path) > 1}


def _before_filters(node: nodes.Node) -> nodes.Node:
    while isinstance(node, nodes.Filter) and node.node is not None:
        node = node.node
    return node


class _Showing:
    """Evaluates a text part by part. ``blank``: no part showed anything."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self.blank = True

    def text(self, tree: nodes.Template) -> AbstractValues:
        """All of it as a text."""
        return some(ValueKind.TEXT) if self.goes_through(tree.body) else NONE

    def goes_through(self, body: Iterable[nodes.Node]) -> bool:
        """Evaluate the parts in order. False: one of them always fails."""
        return all(self._passes(node) for node in body)

    def _passes(self, node: nodes.Node) -> bool:
        match node:
            case nodes.Output(nodes=parts):
                return all(self._shows(part) for part in parts)
            case nodes.If():
                return self._if(node)
            case nodes.For():
                return self._for(node)
        return True

    def _shows(self, part: nodes.Node) -> bool:
        if isinstance(part, nodes.TemplateData):
            self.blank = self.blank and not part.data.strip()
            return True
        value = self._evaluator.of(part)
        self.blank = self.blank and all(found.kind is ValueKind.NULL for found in value)
        return self._evaluator.shows(value)

    def _if(self, node: nodes.If) -> bool:
        """True if some branch does not fail."""
        passes, left = False, True
        for test, body in ((node.test, node.body), *((each.test, each.body) for each in node.elif_)):
            if left:
                found = truths(self._evaluator.there(self._evaluator.of(test)))
                passes = (True in found and self.goes_through(body)) or passes
                left = False in found
        return (left and self.goes_through(node.else_)) or passes

    def _for(self, node: nodes.For) -> bool:
        elements = self._evaluator.there(self._evaluator.of(node.iter))
        names = {name.name for name in (node.target, *node.target.find_all(nodes.Name)) if isinstance(name, nodes.Name)}
        outer, passes = self._evaluator.known, False
        if any(found.kind is not ValueKind.NULL for found in elements):
            self._evaluator.known = {**outer, **dict.fromkeys((*names, "loop"), ANYTHING)}
            passes = node.test is None or bool(self._evaluator.there(self._evaluator.of(node.test)))
            passes = self.goes_through(node.body) and passes
            self._evaluator.known = outer
        return (self.goes_through(node.else_) and bool(elements)) or passes


_NEVER_FAIL = frozenset({
    nodes.Template, nodes.Output, nodes.If, nodes.And, nodes.Or, nodes.Not, nodes.Concat, nodes.List, nodes.Tuple,
    nodes.Dict, nodes.Pair, nodes.Operand, nodes.Keyword,
})  # fmt: skip
_LEAVES = frozenset({nodes.TemplateData, nodes.Const, nodes.Name})  # which never fail, either
_DURATIONS = frozenset({ValueKind.DURATION})
_SAFE = frozenset({
    "abs", "age", "date", "days_until", "first", "join", "last", "length", "number", "pick", "reverse", "round", "shuffle",
    "time", "weekday",
})  # fmt: skip
"""The filters that never fail with values of the kinds that they take, if their arguments are literals."""
_ADDED = (NUMBERS, frozenset({ValueKind.TEXT}), LISTS)


class _Safety:
    """Finds the nodes of a tree that may fail."""

    def __init__(self, known: Mapping[str, AbstractValues]) -> None:
        self._evaluator = Evaluator(known)

    def all_of(self, trees: Iterable[nodes.Node]) -> bool:
        """True if none of these ever fails."""
        waiting = list(trees)
        while waiting:
            node = waiting.pop()
            kind = type(node)
            if kind in _NEVER_FAIL:
                waiting += node.iter_child_nodes()
            elif kind not in _LEAVES:
                if not self._is_safe(node):
                    return False
                waiting += _below(node)
        return True

    def _is_safe(self, node: nodes.Node) -> bool:
        match node:
            case nodes.Filter(name=name):
                return self._filters(node, name)
            case nodes.Test(node=nodes.Getattr() | nodes.Name()):
                return True
            case nodes.Getattr(node=nodes.Name(name="contact" | "message")):
                return True
            case nodes.CondExpr():
                return node.expr2 is not None
            case nodes.Compare(expr=left, ops=ops):
                return all(self._compares(left, operand) for operand in ops)
            case nodes.Add(left=left, right=right) | nodes.Sub(left=left, right=right) if self._are(DAYS, left):
                return self._are(_DURATIONS, right)
            case nodes.Add(left=left, right=right):
                return any(self._are(kinds, left, right) for kinds in _ADDED)
            case nodes.Sub(left=left, right=right) | nodes.Mul(left=left, right=right):
                return self._are(NUMBERS, left, right)
            case nodes.Neg(node=number):
                return self._are(NUMBERS, number)
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
            return isinstance(operand.expr, nodes.List | nodes.Tuple) or self._are(LISTS, operand.expr)
        return any(
            self._are(frozenset({kind}), left, operand.expr)
            for kind in (ValueKind.NUMBER, ValueKind.DATE, ValueKind.TEXT)
        )

    def _are(self, kinds: frozenset[ValueKind], *parts: nodes.Node | None) -> bool:
        return all(part is not None and {found.kind for found in self._evaluator.of(part)} <= kinds for part in parts)


def _below(node: nodes.Node) -> Iterable[nodes.Node]:
    """The children that can fail. A value before `default` or a test may be missing; a function's name is no value."""
    match node:
        case nodes.Filter(name="default", node=nodes.Getattr() | nodes.Name(), args=arguments):
            return arguments
        case nodes.Test(node=nodes.Getattr() | nodes.Name()) | nodes.Getattr():
            return ()
        case nodes.Call(args=arguments):
            return arguments
    return node.iter_child_nodes()


def _written(node: nodes.Filter | nodes.Call) -> bool:
    """True if its arguments are written out."""
    return all(isinstance(argument, nodes.Const) for argument in node.args) and not node.kwargs
