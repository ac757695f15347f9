"""The Jinja2 environment of templates: values only, no methods, decimal numbers, bounded work.

Safe by construction: attributes are items of records or the few fields listed here, and the only things that can
be called are `FUNCTIONS`. Jinja2's own sandbox stands behind that.
"""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, NoReturn

from jinja2 import StrictUndefined, nodes, pass_context
from jinja2.nativetypes import NativeCodeGenerator
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from bot.core.values import Location, Media
from bot.lang.failures import TemplateFailed, kind_of
from bot.lang.filters import FILTERS, FUNCTIONS, MAX_TEXT, TESTS, shown
from bot.lang.problems import did_you_mean

MAX_ITERATIONS = 10_000  # of all loops of one rendering together
MAX_NUMBER_BITS = 256
EACH = " each"  # the filter around every loop's list; no template can spell this name
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
    """One rendering's names, and the work it has done."""

    spent = 0

    def resolve_or_missing(self, key: str) -> Any:
        """The value of a name; the functions are there beside the scope's own."""
        value = self.parent.get(key, missing)
        return FUNCTIONS.get(key, missing) if value is missing else value


@pass_context
def _each(context: Scope, value: Any) -> list[Any]:
    """The elements of a loop; null has none."""
    if not isinstance(value, list | tuple | None):
        raise TemplateFailed(f"a loop goes over a list, not over {kind_of(value)}")
    items = list(value or ())
    context.spent += len(items)
    if context.spent > MAX_ITERATIONS:
        raise TemplateFailed(f"loops go round more than {MAX_ITERATIONS} times")
    return items


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

    def visit_Concat(self, node: nodes.Concat, frame: Any) -> None:
        self.write("environment.joined((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")


class Sandbox(ImmutableSandboxedEnvironment):
    """Reads fields of values, calculates within bounds, calls nothing but `FUNCTIONS`."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "-", "*", "/", "//", "%", "**"})
    decimal = Decimal

    def __init__(self) -> None:
        super().__init__(
            undefined=Missing,
            optimized=False,
            cache_size=0,
            keep_trailing_newline=True,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self.filters: dict[str, Callable[..., Any]] = {**FILTERS, EACH: _each}
        self.globals = {}
        self.tests = {name: self.tests[name] for name in TESTS}

    def getattr(self, obj: Any, attribute: str) -> Any:
        """``order.state``: an item of a record, or a listed field."""
        if isinstance(obj, Mapping):
            return obj[attribute] if attribute in obj else self.undefined(obj=obj, name=attribute)
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
                return obj[argument]
            except LookupError:
                pass
        return self.undefined(obj=obj)

    def is_safe_callable(self, obj: Any) -> bool:
        """Nothing in a scope can be called."""
        return any(obj is function for function in FUNCTIONS.values())

    def joined(self, parts: tuple[Any, ...]) -> str:
        """``a ~ b``."""
        text = "".join([shown(_there(part)) for part in parts])
        return text if len(text) <= MAX_TEXT else _too_long()

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Calculate: decimals where a number has a point, sizes bounded."""
        left, right = _exact(_there(left)), _exact(_there(right))
        if operator in ("*", "%", "**") and not (_is_number(left) and _is_number(right)):
            raise TemplateFailed(f'"{operator}" calculates with numbers, not {kind_of(left)} and {kind_of(right)}')
        if operator == "**" and not (_is_number(right) and abs(right) <= MAX_NUMBER_BITS):
            raise TemplateFailed("a power that is too large")
        if operator == "/" and isinstance(left, int) and isinstance(right, int):
            left = Decimal(left)
        return _bounded(super().call_binop(context, operator, left, right))


def _there(value: Any) -> Any:
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    return value


def _exact(value: Any) -> Any:
    return Decimal(repr(value)) if type(value) is float else value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal)


def _bounded(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_TEXT:
        _too_long()
    if isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS:
        raise TemplateFailed("a number that is too large")
    return value


def _too_long() -> NoReturn:
    raise TemplateFailed(f"a text longer than {MAX_TEXT} characters")
