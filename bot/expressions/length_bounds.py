"""Length bounds: how long a text can become, by what its variables can be.

    {{ name }}!                       with a name of at most 40 characters  -> 41
    {{ day | date("full") }}          -> the longest day of all, as the language writes it

Beside `abstract_evaluation`, which says what a value may be, because the values here stand for others: 168 moments for
all that are written in the same way. That tells lengths, and nothing of what is equal.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from itertools import product
from typing import Any

from jinja2 import nodes

from bot.core.immutable import immutable
from bot.expressions.filters import FILTERS
from bot.expressions.formats import MOST_PLACES, exact, written
from bot.expressions.grammar import WINDOW
from bot.expressions.sandbox import RenderContext
from bot.expressions.template_failures import TemplateFailed
from bot.expressions.templates import SANDBOX, Template, is_plain
from bot.lang.languages import CONTACT_LANGUAGE, ENGLISH

MOST_VALUES = 256  # values that are tried; of a value with more possibilities only the length is known
_OF_NUMBERS = frozenset({"abs", "currency", "number", "round"})
_OF_VALUES = _OF_NUMBERS | {"capitalize", "date", "lower", "replace", "time", "title", "trim", "truncate", "upper",
                            "urlencode", "weekday"}  # fmt: skip
_WITH_ZONE = frozenset("zZOvVxX")  # letters of a form that write the time zone, which has a name of any length
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@immutable
class LengthBound:
    """How long a value's text can be: ``most`` characters; more where it is ``open``, of which then ``most`` is known.

    ``values`` are all that it can be, or where it is ``spread`` numbers the ends between which it lies; none: not known.
    """

    most: int = 0
    open: bool = False
    values: tuple[Any, ...] = ()
    spread: bool = False

    @property
    def constant(self) -> bool:
        """Whether it is one value."""
        return len(self.values) == 1


UNKNOWN = LengthBound(open=True)


def among(values: Iterable[Any], *, spread: bool = False) -> LengthBound:
    """One of some values; where they are ``spread``, any number between the least and the greatest of them."""
    found = tuple(dict.fromkeys(values)) if spread else tuple(values)
    most = max((len(written(value)) for value in found), default=0)
    whole = all(isinstance(value, int) for value in found)
    return LengthBound(most, spread and not whole, found if len(found) <= MOST_VALUES else (), spread)


def text_up_to(most: int, *, open: bool = False) -> LengthBound:
    """A text of at most so many characters."""
    return LengthBound(most, open)


def either(bounds: Iterable[LengthBound]) -> LengthBound:
    """One of several."""
    found = list(bounds)
    known = all(bound.values for bound in found)
    values = tuple(value for bound in found for value in bound.values) if known else ()
    most, spread = max((bound.most for bound in found), default=0), any(bound.spread for bound in found)
    alike = not spread or all(map(_is_number, values))
    fit = alike and len(values) <= MOST_VALUES
    return LengthBound(most, any(bound.open for bound in found), values if fit else (), spread and fit)


def together(bounds: Iterable[LengthBound]) -> LengthBound:
    """The bound of several texts, one after another."""
    found = list(bounds)
    return LengthBound(sum(bound.most for bound in found), any(bound.open for bound in found))


def _days() -> list[date]:
    """For each month each weekday on days of two digits: the longest names of both, together."""
    return [date(2030, month, day) for month in range(1, 13) for day in range(20, 27)]


DAYS = among(_days())
MOMENTS = among(datetime(day.year, day.month, day.day, hour, 55, 55) for day in _days() for hour in (10, 22))
CLOCK = among(moment.time() for moment in (datetime(2030, 1, 1, hour, 55, 55) for hour in range(24)))


_VALUE = re.compile(r"\{\{ ?(\w+) ?\}\}")
_TRUTH = among((True, False))
_BUILT_IN = {"now": MOMENTS, "today": DAYS, WINDOW: _TRUTH}
_SIGNS = {nodes.Add: "+", nodes.Sub: "-", nodes.Mul: "*"}


class LengthBounds:
    """Evaluates how long texts in a language can be. ``variables`` says it of the names that they see."""

    def __init__(self, variables: Mapping[str, LengthBound], language: str | None = None) -> None:
        self.known: Mapping[str, LengthBound] = {**_BUILT_IN, **variables}
        self._language = language

    def of(self, text: Template) -> LengthBound:
        """How long a text can be, which has one wording."""
        if text.constant:
            return LengthBound(len(text.source))
        if is_plain(text):
            between = len(_VALUE.sub("", text.source))
            return together((LengthBound(between), *(self._named(name) for name in _VALUE.findall(text.source))))
        return self._body(text.tree.body)

    def _named(self, name: str) -> LengthBound:
        return self.known.get(name, UNKNOWN)

    def _body(self, body: Iterable[nodes.Node]) -> LengthBound:
        return together(self._part(node) for node in body)

    def _part(self, node: nodes.Node) -> LengthBound:
        match node:
            case nodes.Output(nodes=parts):
                return together(self._part(part) for part in parts)
            case nodes.TemplateData(data=data):
                return LengthBound(len(data))
            case nodes.If():
                bodies = (node.body, *(each.body for each in node.elif_), node.else_)
                return either(map(self._body, bodies))
            case nodes.For():
                return LengthBound(self._body(node.else_).most, open=True)
        return self._of(node)

    def _of(self, node: nodes.Node) -> LengthBound:
        """An expression's bound."""
        work = _WORK.get(type(node))
        return UNKNOWN if work is None else work(self, node)

    def _filter(self, node: nodes.Filter) -> LengthBound:
        match node:
            case nodes.Filter(name="join", node=nodes.List(items=items), args=[nodes.Const(value=str(between))]):
                gaps = LengthBound(len(between) * max(0, len(items) - 1))
                return together((gaps, *map(self._of, items)))
            case nodes.Filter(node=nodes.Node() as value, kwargs=[]):
                return filtered(node.name, self._of(value), [self._of(each) for each in node.args], self._language)
        return UNKNOWN

    def _binary(self, node: nodes.BinExpr) -> LengthBound:
        return calculated(_SIGNS[type(node)], self._of(node.left), self._of(node.right))

    def _choice(self, node: nodes.CondExpr) -> LengthBound:
        return either((self._of(node.expr1), LengthBound() if node.expr2 is None else self._of(node.expr2)))


_WORK: dict[type[nodes.Node], Callable[[LengthBounds, Any], LengthBound]] = {
    nodes.Const: lambda bounds, node: constant(node.value),
    nodes.TemplateData: lambda bounds, node: LengthBound(len(node.data)),
    nodes.Name: lambda bounds, node: bounds._named(node.name),
    nodes.Filter: LengthBounds._filter,
    **dict.fromkeys(_SIGNS, LengthBounds._binary),
    nodes.Div: lambda bounds, node: divided(bounds._of(node.left), bounds._of(node.right)),
    nodes.Concat: lambda bounds, node: together(map(bounds._of, node.nodes)),
    nodes.CondExpr: LengthBounds._choice,
    nodes.And: lambda bounds, node: either((bounds._of(node.left), bounds._of(node.right))),
    nodes.Or: lambda bounds, node: either((bounds._of(node.left), bounds._of(node.right))),
    **dict.fromkeys((nodes.Compare, nodes.Test, nodes.Not), lambda bounds, node: _TRUTH),
}


def calculated(sign: str, left: LengthBound, right: LengthBound) -> LengthBound:
    """The bound of `+`, `-` and `*`."""
    if sign == "+" and _moments(left):
        return left  # a day that is some days later is one all the same
    if _numbers(left) and _numbers(right):
        work = _ARITHMETIC[sign]
        return among((work(one, other) for one, other in product(left.values, right.values)),
                     spread=left.spread or right.spread)  # fmt: skip
    return together((left, right)) if sign == "+" else UNKNOWN


def divided(left: LengthBound, right: LengthBound) -> LengthBound:
    """The bound of `/`, by one number that is written out."""
    if not (_numbers(left) and right.constant and _numbers(right) and right.values[0]):
        return UNKNOWN
    return among((Decimal(value) / Decimal(right.values[0]) for value in left.values), spread=True)


def filtered(name: str, value: LengthBound, arguments: Sequence[LengthBound], language: str | None) -> LengthBound:
    """The bound of a value behind a filter."""
    if name == "default":
        return either((value, *(arguments or (among(("",)),))))
    if not all(argument.constant for argument in arguments):
        return UNKNOWN
    given = tuple(argument.values[0] for argument in arguments)
    if value.values and name in (_OF_NUMBERS if value.spread else _OF_VALUES):
        return _each(name, value, given, language or ENGLISH)
    return _of_text(name, value, given)


def _each(name: str, value: LengthBound, given: tuple[Any, ...], language: str) -> LengthBound:
    """The results for each value. A value for which it fails has no result."""
    if name == "time" and _names_zone(given):
        return UNKNOWN
    values = _with_inner(name, value.values, given) if value.spread else value.values
    made = _made(name, values, given, language)
    numbers = value.spread and name in ("abs", "round")
    plain = value.spread and value.open and name == "number" and not given  # as many places as there are
    bound = among(made, spread=numbers)
    if name == "round":
        return LengthBound(bound.most, False, bound.values, spread=True)
    return LengthBound(bound.most, bound.open or plain, bound.values, bound.spread)


def _made(name: str, values: tuple[Any, ...], given: tuple[Any, ...], language: str) -> tuple[Any, ...]:
    return _known(name, tuple((type(value), value) for value in values), given, language)


@lru_cache(maxsize=512)
def _known(name: str, values: tuple[tuple[type, Any], ...], given: tuple[Any, ...], language: str) -> tuple[Any, ...]:
    found = []
    context = RenderContext(SANDBOX, {CONTACT_LANGUAGE: language}, None, {})
    for _, value in values:
        taken = (context,) if hasattr(FILTERS[name], "jinja_pass_arg") else ()
        try:
            found.append(FILTERS[name](*taken, value, *given))
        except (TemplateFailed, ArithmeticError, TypeError, ValueError):
            continue
    return tuple(found)


def _with_inner(name: str, values: tuple[Any, ...], given: tuple[Any, ...]) -> tuple[Any, ...]:
    """The ends of what numbers lie between, and what lies there that is longer, or on the other side of null."""
    inner: list[Any] = [0] if min(values) < 0 < max(values) else []
    if name == "round" and all(isinstance(place, int) for place in given):
        step = Decimal(1).scaleb(-max(0, min(given[0] if given else 0, MOST_PLACES)))
        inner += [end for end in (max(values) - step, min(values) + step) if min(values) <= end <= max(values)]
    return (*values, *inner)


def _of_text(name: str, value: LengthBound, given: tuple[Any, ...]) -> LengthBound:
    """What a filter makes of an unknown text, or of a number as text."""
    match name, given:
        case "trim", ():
            return text_up_to(value.most, open=value.open)
        case "truncate", ((int() as most), *_):
            return text_up_to(max(1, most) if value.open else min(value.most, max(1, most)))
        case "truncate", ():
            return text_up_to(100 if value.open else min(value.most, 100))
        case "replace", (str() as old, str() as new) if old:
            more = max(0, len(new) - len(old)) * (value.most // len(old))
            return text_up_to(value.most + more, open=value.open)
        case (("upper" | "lower" | "title" | "capitalize"), ()):
            return text_up_to(value.most, open=True)  # some letters become two, as in STRASSE
    return UNKNOWN


def _names_zone(given: tuple[Any, ...]) -> bool:
    form = str(given[0]) if given else "short"
    return form in ("long", "full") or (form not in ("short", "medium") and not _WITH_ZONE.isdisjoint(form))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _numbers(bound: LengthBound) -> bool:
    return bool(bound.values) and all(map(_is_number, bound.values))


def _moments(bound: LengthBound) -> bool:
    return bool(bound.values) and all(isinstance(value, date) for value in bound.values)


def constant(value: Any) -> LengthBound:
    """A value that is written out in the text."""
    return among((exact(value),))


def longest_first(values: Iterable[Any], language: str | None) -> list[Any]:
    """Values by the length of their texts; days as the language writes them out."""

    def length(value: Any) -> int:
        if not isinstance(value, date):
            return len(written(value))
        (text,) = _made("date", (value,), ("full",), language or ENGLISH)
        return len(text)

    return sorted(values, key=length, reverse=True)
