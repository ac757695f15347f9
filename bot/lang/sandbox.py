"""The Jinja2 environment of templates: values only, no methods, decimal numbers, bounded work.

Safe by construction: attributes are items of records or the few fields listed here, and the only things that can
be called are `FUNCTIONS` and the bot's own. Jinja2's own sandbox stands behind that.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from bot.core.values import Location, Media
from bot.lang.failures import TemplateFailed, kind_of
from bot.lang.filters import FILTERS, FUNCTIONS, TESTS, strict, there
from bot.lang.hidden import OWN
from bot.lang.list_filters import elements
from bot.lang.number_filters import MOST_DIGITS, exact
from bot.lang.own import OwnCall
from bot.lang.problems import did_you_mean
from bot.lang.shown import MAX_TEXT, shown
from bot.lang.wall_clock import later

MAX_NUMBER_BITS = 256
EACH = " each"  # the filter around every loop's list; no template can spell this name
OWN_FILTER = " own"  # stands for every filter of the bot's own; the first argument is its name
_DAY = ("year", "month", "day")
_CLOCK = ("hour", "minute", "second")
_FIELDS: dict[type, tuple[str, ...]] = {
    date: _DAY,
    datetime: _DAY + _CLOCK,
    time: _CLOCK,
    timedelta: ("days",),
    Media: ("kind", "url", "caption", "file", "type"),
    Location: ("latitude", "longitude", "name", "address"),
    LoopContext: ("index", "first", "last", "length"),
}


class Missing(StrictUndefined):
    """A value that is not there: only `default` and `is defined` may touch it."""

    @property
    def _undefined_message(self) -> str:
        if self._undefined_obj is missing:
            return f'no variable "{self._undefined_name}"'
        if self._undefined_name is None:
            return f"no such element in {kind_of(self._undefined_obj)}"
        known = self._undefined_obj if isinstance(self._undefined_obj, Mapping) else ()
        meant = did_you_mean(str(self._undefined_name), [str(key) for key in known])
        return f'no "{self._undefined_name}" in {kind_of(self._undefined_obj)}{meant and ": " + meant}'


class Scope(Context):
    """One rendering's names, and the work it has done: how many elements it has gone over."""

    spent = 0

    def resolve_or_missing(self, key: str) -> Any:
        """The value of a name; the functions are there beside the scope's own."""
        value = self.parent.get(key, missing)
        if value is missing:
            value = FUNCTIONS.get(key, missing)
        return self.parent.get(OWN, {}).get(key, missing) if value is missing else value


@pass_context
def _own_filter(context: Scope, value: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """A filter of the bot's own."""
    return context.parent[OWN][name](context, value, *args, **kwargs)


class _Generator(NativeCodeGenerator):
    """Keeps values as they are until they are shown; numbers with a point are decimals."""

    def _output_child_to_const(self, node: nodes.Expr, frame: Any, finalize: Any) -> str:
        if isinstance(node, nodes.TemplateData):
            return node.data
        raise nodes.Impossible

    def visit_Const(self, node: nodes.Const, frame: Any) -> None:
        if isinstance(node.value, float):
            self.write(f"environment.decimal({str(node.value)!r})")
        else:
            super().visit_Const(node, frame)

    def visit_List(self, node: nodes.List, frame: Any) -> None:
        self._visit_items("[", node.items, "]", frame)

    def visit_Tuple(self, node: nodes.Tuple, frame: Any) -> None:
        if node.ctx == "load":
            self._visit_items("(", node.items, ")", frame)
        else:
            super().visit_Tuple(node, frame)

    def visit_Dict(self, node: nodes.Dict, frame: Any) -> None:
        self.write("dict(zip(")
        self._visit_items("(", [pair.key for pair in node.items], "), ", frame)
        self._visit_items("(", [pair.value for pair in node.items], ")))", frame)

    def _visit_items(self, opening: str, items: list[nodes.Expr], closing: str, frame: Any) -> None:
        """A list of values, each of which has to be there."""
        self.write(opening)
        for item in items:
            self.write("environment.there(")
            self.visit(item, frame)
            self.write("), ")
        self.write(closing)

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Sandbox(ImmutableSandboxedEnvironment):
    """Reads fields of values, calculates within bounds, calls nothing but `FUNCTIONS` and the bot's own."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    decimal = Decimal
    there = staticmethod(there)

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing,
            optimized=False,
            cache_size=0,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.filters: dict[str, Callable[..., Any]] = {**FILTERS, EACH: strict(elements), OWN_FILTER: _own_filter}
        self.globals = {}
        self.tests = {name: self.tests[name] for name in TESTS}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``order.state``: an item of a record, or a listed field."""
        if isinstance(obj, Mapping):
            return exact(obj[attribute]) if attribute in obj else self.undefined(obj=obj, name=attribute)
        if isinstance(obj, Undefined):
            return obj
        if attribute in _FIELDS.get(type(obj), ()):
            return getattr(obj, attribute)
        return self.undefined(obj=obj, name=attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        """``order["state"]``, ``items[0]``, ``text[:5]``. What was looked for may be a contact's: no error names it."""
        if isinstance(obj, Undefined):
            return obj
        indexed = isinstance(obj, list | tuple | str) and isinstance(argument, int | slice)
        if indexed or (isinstance(obj, Mapping) and isinstance(argument, str)):
            try:
                return exact(obj[argument])
            except LookupError:
                pass
        return self.undefined(obj=obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Nothing in a scope can be called."""
        return isinstance(obj, OwnCall) or any(obj is function for function in FUNCTIONS.values())

    def joined(self, parts: tuple[Any, ...]) -> str:
        """``a ~ b``."""
        text = "".join([shown(there(part)) for part in parts])
        return text if len(text) <= MAX_TEXT else _too_long()

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate: decimals where a number has a point, sizes bounded."""
        left, right = exact(there(left)), exact(there(right))
        if operator in ("*", "%", "**") and not (_is_number(left) and _is_number(right)):
            raise TemplateFailed(f'"{operator}" calculates with numbers, not {kind_of(left)} and {kind_of(right)}')
        if operator == "**" and not (_is_number(right) and abs(right) <= MAX_NUMBER_BITS):
            raise TemplateFailed("a power that is too large")
        if operator == "/" and isinstance(left, int) and isinstance(right, int):
            left = Decimal(left)
        if operator == "+" and isinstance(right, datetime):
            left, right = right, left
        if isinstance(left, datetime) and left.tzinfo is not None and operator in ("+", "-"):
            return _moved(context, operator, left, right)
        return _bounded(super().call_binop(context, operator, left, right))


def _moved(context: Context, operator: str, moment: datetime, other: Any) -> Any:
    """A time that is later or earlier, or how long it is after another one."""
    if isinstance(other, timedelta):
        return later(moment, other if operator == "+" else -other, context.parent["now"].tzinfo)
    if isinstance(other, datetime) and operator == "-":
        return moment.astimezone(UTC) - other.astimezone(UTC)
    raise TemplateFailed(f'"{operator}" does not go with {kind_of(moment)} and {kind_of(other)}')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal)


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_TEXT:
        _too_long()
    whole = isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS
    if whole or (isinstance(value, Decimal) and value.adjusted() > MOST_DIGITS):
        raise TemplateFailed("a number that is too large")
    return value


def _too_long() -> NoReturn:
    raise TemplateFailed(f"a text longer than {MAX_TEXT} characters")
