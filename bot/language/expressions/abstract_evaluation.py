"""Abstract evaluation: what an expression can evaluate to, by what its variables may be.

    {{ size or "S" }}     with size null or one of M, L   -> one of M, L, S
    {{ total + 1 }}       with total null                 -> no value: it fails

The result has more values than can occur, never fewer: what is unknown may be anything.
"""

import inspect
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from jinja2 import nodes

from bot.core.events import MESSAGE_KINDS
from bot.language.expressions import date_filters, filters, formats, list_filters, opening_hours
from bot.language.expressions.abstract_values import (
    ANYTHING,
    FALSE,
    GONE,
    LOST,
    NULL,
    TRUE,
    AbstractValue,
    AbstractValues,
    ValueKind,
    bounded,
    elements_of,
    equal,
    inside,
    just,
    kind_of_type,
    ordered,
    some,
    that_are,
    truths,
    yes_or_no,
)
from bot.language.expressions.filters import FILTERS, FUNCTIONS, TITLE_OF
from bot.language.expressions.grammar import HISTORY, WINDOW_OPEN
from bot.language.expressions.list_filters import PLACE, of_each
from bot.language.expressions.sandbox import FIELDS

DAYS = frozenset({ValueKind.DATE, ValueKind.DATETIME})
NUMBERS = frozenset({ValueKind.NUMBER})
LISTS = frozenset({ValueKind.LIST})
_RECORDS = frozenset({ValueKind.RECORD})
_TAKES: dict[str, frozenset[ValueKind]] = {  # a filter that does not stand here shows its value, and so takes any
    **dict.fromkeys(list_filters.LIST_FILTERS, LISTS),
    **dict.fromkeys(filters.CHANCE_FILTERS, LISTS),
    **dict.fromkeys(date_filters.DATE_FILTERS, DAYS),
    "utc": frozenset({ValueKind.DATETIME}),
    **dict.fromkeys(("keys", "merge", "put", "values"), _RECORDS),
    **dict.fromkeys(("first", "last"), LISTS | {ValueKind.TEXT}),
    "length": LISTS | _RECORDS | {ValueKind.TEXT},
    **dict.fromkeys(("as_date", "as_datetime"), DAYS | {ValueKind.TEXT}),
    "date": DAYS,
    "time": frozenset({ValueKind.DATETIME, ValueKind.TIME}),
    **dict.fromkeys(("currency", "number", "round"), NUMBERS),
    "abs": NUMBERS | {ValueKind.BOOLEAN, ValueKind.DURATION},
    "as_number": NUMBERS | {ValueKind.TEXT},
}
_FAILING = frozenset({*date_filters.DATE_FILTERS, *formats.NUMBER_FILTERS, *formats.FORMAT_FILTERS})  # with null
_NOTHING = frozenset({"find", "first", "last", "max", "min", "pick"})  # of an empty list, which null is
_ELEMENT = frozenset({"find", "first", "last", "pick"})  # one of the list, or null
_SOME_ELEMENTS = frozenset({"reject", "reverse", "shuffle", "sort", "unique", "where"})  # a list of some of them
_SPARED: dict[str, range] = {  # which arguments may be null, counted from the first in the brackets
    **dict.fromkeys(("append", "default", "map", "max", "merge", "min", "number", "sort", "split", "sum", "unique",
                     "without"), range(1)),
    **dict.fromkeys(("find", "reject", "where"), range(1, 2)),
    "put": range(1, 2), "update": range(1, 2),
    **dict.fromkeys(opening_hours.HOURS_FUNCTIONS, range(1, 2)),
}  # fmt: skip
_ARGUMENTS: dict[str, tuple[frozenset[ValueKind], ...]] = {  # of functions that fail with other kinds of values
    "open": (frozenset({ValueKind.TEXT}), DAYS | {ValueKind.NULL}),
    "opens": (frozenset({ValueKind.TEXT}),),
    **dict.fromkeys(date_filters.DATE_FUNCTIONS, (NUMBERS,)),
}
_ALL = frozenset(ValueKind)
_ANNOTATIONS = {
    name: inspect.signature(function).return_annotation for name, function in {**FILTERS, **FUNCTIONS}.items()
}
_RETURNS = {name: some(kind_of_type(given), whole=given is int) for name, given in _ANNOTATIONS.items()}


def takes(name: str) -> frozenset[ValueKind]:
    """The kinds of values that a filter works with, null aside; of all others it fails."""
    return _TAKES.get(name, _ALL)


def takes_null(name: str, argument: int) -> bool:
    """True if an argument of a filter or a function may be null, counted from the first in its brackets."""
    return argument in _SPARED.get(name, ())


def of_null(name: str) -> AbstractValues:
    """The value of a filter for null; no value if it fails. A text that is empty because of null is `lost`."""
    if name in _FAILING:
        return frozenset()
    if name in filters.TEXT_FILTERS:
        empty = frozenset({AbstractValue(ValueKind.TEXT, "", lost=True)})
        return returned(name) if name in ("matches", "split") else empty
    if name in _NOTHING:
        return frozenset({LOST})
    match name:
        case "length" | "sum":
            return frozenset({just(0)})
        case "csv" | "join":
            return frozenset({just("")})
    return returned(name)


def returned(name: str) -> AbstractValues:
    """The values that a filter or a function can return."""
    return _RETURNS[name]


_KNOWN = {
    "now": some(ValueKind.DATETIME),
    "today": some(ValueKind.DATE),
    HISTORY: some(ValueKind.LIST),
    WINDOW_OPEN: frozenset({TRUE, FALSE}),
}
_MESSAGE = {
    "text": some(ValueKind.TEXT) | {NULL},
    "kind": bounded(map(just, (*MESSAGE_KINDS, "other", None))),
    "tapped": bounded(map(just, (True, False))),
    "file": some(ValueKind.FILE) | {NULL},
}
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "lt": operator.lt, "lteq": operator.le, "gt": operator.gt, "gteq": operator.ge,
}  # fmt: skip
_TESTED = {"none": ValueKind.NULL, "null": ValueKind.NULL, "number": ValueKind.NUMBER, "text": ValueKind.TEXT}
_SAME_KIND = (nodes.Add, nodes.Sub)
_MOMENTS = {ValueKind.DATE, ValueKind.DATETIME}
_NUMERIC = (nodes.Mul, nodes.Div, nodes.FloorDiv, nodes.Mod, nodes.Pow)
_DIVIDES = (nodes.Div, nodes.FloorDiv)
_COUNTS = frozenset({ValueKind.NUMBER, ValueKind.BOOLEAN})
_STAYS_WHOLE = (nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.Mod)  # of whole numbers
NONE: AbstractValues = frozenset()
"""The abstract values of an expression that always fails."""


class Evaluator:
    """Evaluates the expressions of one text, and notes what happens to values that are `lost`.

    ``hole``: such a value is shown, and the text has a hole; ``fails``: something fails because of one.
    """

    def __init__(self, known: Mapping[str, AbstractValues]) -> None:
        self.known = known
        self.hole = False
        self.fails = False

    def of(self, node: nodes.Node) -> AbstractValues:
        """The abstract values of an expression; none where it always fails."""
        work = _WORK.get(type(node))
        return ANYTHING if work is None else bounded(work(self, node))

    def shows(self, value: AbstractValues) -> bool:
        """Note that a value is shown. Returns False if it never exists."""
        there = self.there(value)
        self.hole = self.hole or any(found.lost for found in there)
        return bool(there)

    def there(self, value: AbstractValues) -> AbstractValues:
        """The values that exist: an expression that uses a missing one fails."""
        return self._without(value, lambda found: found.kind is ValueKind.GONE)

    def _not_null(self, value: AbstractValues) -> AbstractValues:
        """The values that exist and are not null."""
        return self._without(value, lambda found: found.kind in (ValueKind.GONE, ValueKind.NULL))

    def _without(self, value: AbstractValues, failing: Callable[[AbstractValue], bool]) -> AbstractValues:
        gone = [found for found in value if failing(found)]
        self.fails = self.fails or any(found.lost for found in gone)
        return value - frozenset(gone) if gone else value

    def _name(self, node: nodes.Name) -> AbstractValues:
        found = self.known.get(node.name)
        return _KNOWN.get(node.name, ANYTHING) if found is None else found

    def _field(self, node: nodes.Getattr | nodes.Getitem) -> Iterator[AbstractValue]:
        match node:
            case nodes.Getattr(node=nodes.Name(name="message"), attr=attribute) if attribute in _MESSAGE:
                yield from _MESSAGE[attribute]
                return
        for found in self.of(node.node):
            if found.kind in (ValueKind.NULL, ValueKind.GONE):
                yield AbstractValue(ValueKind.GONE, lost=found.lost)
            elif _may_have(found.kind, node):
                yield from _inside(found, node)
            else:
                yield from GONE

    def _filter(self, node: nodes.Filter) -> Iterator[AbstractValue]:
        assert node.node is not None
        each = of_each(node)
        value = self.of(node.node)
        arguments = [self._of_each(arg) if any(arg is one for one in each) else self.of(arg) for arg in node.args]
        arguments += [self.of(each.value) for each in node.kwargs]
        if node.name == "default":
            yield from self._default(value, arguments[0] if arguments else frozenset({just("")}))
            return
        if node.name not in FILTERS:
            yield from self._own([value, *arguments])
            return
        there = self.there(value)
        if not self._taken(node.name, arguments):
            return
        wanted = takes(node.name) | {ValueKind.ANY, ValueKind.NULL}
        for found in (found for found in there if found.kind in wanted):
            made = returned(node.name) if found.kind is not ValueKind.NULL else of_null(node.name)
            if found.holds is not None and node.name in _ELEMENT:
                made = elements_of(frozenset({found})) | {NULL}
            elif found.holds is not None and node.name in _SOME_ELEMENTS:
                made = frozenset({found})
            if node.name == "round" and not arguments:
                made = frozenset(replace(each, whole=True) for each in made)
            self.fails = self.fails or (found.lost and not made)
            yield from made if found.lost else (replace(each, lost=False) for each in made)

    def _of_each(self, argument: nodes.Expr) -> AbstractValues:
        """An argument that is evaluated for each element, of which nothing is known."""
        known, self.known = self.known, {**self.known, **dict.fromkeys(PLACE, ANYTHING)}
        self.there(self.of(argument))
        self.known = known
        return ANYTHING

    def _taken(self, name: str, arguments: Iterable[AbstractValues]) -> bool:
        """True if a filter or a function accepts some of these arguments."""
        kinds = dict(enumerate(_ARGUMENTS.get(name, ())))
        found = (
            (self.there(argument) if takes_null(name, number) else self._not_null(argument), kinds.get(number, _ALL))
            for number, argument in enumerate(arguments)
        )
        return all(any(each.kind in taken or each.kind is ValueKind.ANY for each in there) for there, taken in found)

    def _own(self, arguments: Iterable[AbstractValues]) -> AbstractValues:
        """The bot's own Python may take null, and give anything."""
        return ANYTHING if all(bool(self.there(each)) for each in arguments) else NONE

    def _default(self, value: AbstractValues, instead: AbstractValues) -> Iterator[AbstractValue]:
        for found in value:
            perhaps_empty = found.kind is ValueKind.TEXT and not found.full
            if perhaps_empty or found.kind in (ValueKind.NULL, ValueKind.GONE, ValueKind.ANY):
                yield from instead
            if found.kind not in (ValueKind.NULL, ValueKind.GONE) and found.value != "":
                yield found

    def _test(self, node: nodes.Test) -> Iterator[AbstractValue]:
        for found in self.of(node.node):
            if node.name in _TESTED:
                is_it = found.kind is _TESTED[node.name]
                yield from yes_or_no((True, False) if found.kind is ValueKind.ANY else (is_it,))
            else:
                there = (True, False) if found.kind is ValueKind.ANY else (found.kind is not ValueKind.GONE,)
                yield from yes_or_no(each == (node.name == "defined") for each in there)

    def _call(self, node: nodes.Call) -> AbstractValues:
        arguments = [self.of(each) for each in (*node.args, *(each.value for each in node.kwargs))]
        if not isinstance(node.node, nodes.Name) or node.node.name not in FUNCTIONS:
            return self._own(arguments)
        if node.node.name == TITLE_OF:
            return frozenset(title for value in arguments for found in self.there(value) for title in _title(found))
        return returned(node.node.name) if self._taken(node.node.name, arguments) else NONE

    def _and(self, node: nodes.And) -> Iterator[AbstractValue]:
        left = self.there(self.of(node.left))
        yield from that_are(False, left)
        if True in truths(left):
            yield from self.of(node.right)

    def _or(self, node: nodes.Or) -> Iterator[AbstractValue]:
        left = self.there(self.of(node.left))
        yield from that_are(True, left)
        if False in truths(left):
            yield from self.of(node.right)

    def _not(self, node: nodes.Not) -> AbstractValues:
        return yes_or_no(not found for found in truths(self.there(self.of(node.node))))

    def _either(self, node: nodes.CondExpr) -> Iterator[AbstractValue]:
        found = truths(self.there(self.of(node.test)))
        if True in found:
            yield from self.of(node.expr1)
        if False in found:
            yield from GONE if node.expr2 is None else self.of(node.expr2)

    def _compare(self, node: nodes.Compare) -> AbstractValues:
        left, found = self.of(node.expr), frozenset({True})
        for operand in node.ops:
            step = self._compared(left, operand)
            found = frozenset(both and each for both in found for each in step)
            left = NONE if operand.op in ("in", "notin") else self.of(operand.expr)
        return yes_or_no(found)

    def _compared(self, left: AbstractValues, operand: nodes.Operand) -> frozenset[bool]:
        if operand.op in ("in", "notin"):
            return frozenset(found == (operand.op == "in") for found in self._contained(left, operand.expr))
        if operand.op in ("eq", "ne"):
            both = product(self.there(left), self.there(self.of(operand.expr)))
            return frozenset(same == (operand.op == "eq") for pair in both for same in equal(*pair))
        both = product(self._not_null(left), self._not_null(self.of(operand.expr)))
        return frozenset(found for pair in both for found in ordered(*pair, _ORDER[operand.op]))

    def _contained(self, left: AbstractValues, right: nodes.Node) -> Iterator[bool]:
        sought = self.there(left)
        if not isinstance(right, nodes.List | nodes.Tuple):
            within = self._not_null(self.of(right))
            texts = all(found.kind is ValueKind.TEXT for found in within)
            yield from (True, False) if within and (self._not_null(sought) if texts else sought) else ()
            return
        elements = [self.there(self.of(item)) for item in right.items]
        for found in sought:
            same = [frozenset(each for e in element for each in equal(found, e)) for element in elements]
            if any(True in each for each in same):
                yield True
            if all(False in each for each in same):
                yield False

    def _sign(self, node: nodes.UnaryExpr) -> AbstractValues:
        there = self._not_null(self.of(node.node))
        return some(ValueKind.NUMBER, whole=_are_whole(*there)) if there else NONE

    def _calculate(self, node: nodes.BinExpr) -> Iterator[AbstractValue]:
        left, right = self._not_null(self.of(node.left)), self._not_null(self.of(node.right))
        for one, other in product(left, right):
            whole = isinstance(node, _STAYS_WHOLE) and _are_whole(one, other)
            kinds = {one.kind, other.kind}
            if isinstance(node, _DIVIDES) and one.kind in (ValueKind.DURATION, ValueKind.ANY):
                yield from _divided(other.kind, whole=isinstance(node, nodes.FloorDiv))
            if isinstance(node, nodes.Mod) and kinds <= {ValueKind.DURATION, ValueKind.ANY}:
                yield from some(ValueKind.DURATION)
            if ValueKind.ANY in kinds:
                yield from some(ValueKind.NUMBER) if isinstance(node, _NUMERIC) else ANYTHING
            elif isinstance(node, _SAME_KIND):
                yield from _added(one.kind, other.kind, adds=isinstance(node, nodes.Add), whole=whole)
            elif kinds <= _COUNTS:
                yield from some(ValueKind.NUMBER, whole=whole)

    def _join(self, node: nodes.Concat) -> AbstractValues:
        return some(ValueKind.TEXT) if all(self.shows(self.of(part)) for part in node.nodes) else NONE

    def _several(self, node: nodes.List | nodes.Tuple) -> AbstractValues:
        return some(ValueKind.LIST) if all(bool(self.there(self.of(item))) for item in node.items) else NONE

    def _record(self, node: nodes.Dict) -> AbstractValues:
        there = [bool(self.there(self.of(pair.value))) for pair in node.items]
        return some(ValueKind.RECORD) if all(there) else NONE


def has_field(kind: ValueKind, name: str) -> bool:
    """True if a value of a kind can have a field of this name: a day has a ``year``, and a text has no field."""
    known = (names for type_, names in FIELDS.items() if kind_of_type(type_) is kind)
    return kind in (ValueKind.RECORD, ValueKind.ANY) or any(name in names for names in known)


def _title(found: AbstractValue) -> AbstractValues:
    """The title of a choice with this value, or of each in a list."""
    if found.kind in (ValueKind.NULL, ValueKind.LIST):
        return frozenset({found})
    return ANYTHING if found.kind is ValueKind.ANY else some(ValueKind.TEXT)


def _may_have(kind: ValueKind, node: nodes.Getattr | nodes.Getitem) -> bool:
    match node:
        case nodes.Getattr(attr=name):
            return has_field(kind, name)
        case nodes.Getitem(arg=nodes.Const(value=str())):
            return kind in (ValueKind.RECORD, ValueKind.ANY)
    return True


def _inside(found: AbstractValue, node: nodes.Getattr | nodes.Getitem) -> AbstractValues:
    """The values of a field, an element or a slice."""
    match node:
        case nodes.Getattr(attr=name) | nodes.Getitem(arg=nodes.Const(value=str(name))) if (
            found.kind is ValueKind.RECORD
        ):
            return inside(found, name)
        case nodes.Getitem(arg=nodes.Const()) if found.kind is ValueKind.LIST:
            return elements_of(frozenset({found}))
    return ANYTHING


def _are_whole(*values: AbstractValue) -> bool:
    """True if these are whole numbers; true and false count as 1 and 0."""
    return all(value.whole or value.kind is ValueKind.BOOLEAN for value in values)


def _divided(by: ValueKind, *, whole: bool) -> Iterator[AbstractValue]:
    """The values of a duration that is divided: how often another duration fits into it, or a part of it."""
    if by in (ValueKind.DURATION, ValueKind.ANY):
        yield from some(ValueKind.NUMBER, whole=whole)
    if by in (*_COUNTS, ValueKind.ANY):
        yield from some(ValueKind.DURATION)


def _added(one: ValueKind, other: ValueKind, *, adds: bool, whole: bool) -> AbstractValues:
    """The values of `+` and `-` for two kinds; none if they cannot be combined."""
    kinds = {ValueKind.NUMBER if kind is ValueKind.BOOLEAN else kind for kind in (one, other)}
    if len(kinds) == 1 and kinds <= ({ValueKind.TEXT, ValueKind.LIST} if adds else _MOMENTS):
        return some(one if adds else ValueKind.DURATION)
    if kinds <= {ValueKind.NUMBER} or kinds <= {ValueKind.DURATION}:
        return frozenset(case for kind in kinds for case in some(kind, whole=whole))
    moments = kinds - {ValueKind.DURATION}
    return some(*moments) if len(moments) == 1 and moments <= _MOMENTS and len(kinds) == 2 else NONE


_WORK: dict[type[nodes.Node], Callable[[Evaluator, Any], Iterable[AbstractValue]]] = {
    nodes.Const: lambda evaluator, node: frozenset({just(node.value)}),
    nodes.TemplateData: lambda evaluator, node: frozenset({just(node.data)}),
    nodes.Name: Evaluator._name,
    nodes.Getattr: Evaluator._field,
    nodes.Getitem: Evaluator._field,
    nodes.Filter: Evaluator._filter,
    nodes.Test: Evaluator._test,
    nodes.Call: Evaluator._call,
    nodes.And: Evaluator._and,
    nodes.Or: Evaluator._or,
    nodes.Not: Evaluator._not,
    nodes.CondExpr: Evaluator._either,
    nodes.Compare: Evaluator._compare,
    nodes.Neg: Evaluator._sign,
    nodes.Pos: Evaluator._sign,
    **dict.fromkeys((*_SAME_KIND, *_NUMERIC), Evaluator._calculate),
    nodes.Concat: Evaluator._join,
    nodes.List: Evaluator._several,
    nodes.Tuple: Evaluator._several,
    nodes.Dict: Evaluator._record,
}
