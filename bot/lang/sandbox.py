"""The Jinja2 environment of templates: values only, no methods, decimal numbers, bounded work.

Safe by construction: attributes are items of records or the few fields listed here, and the only things that can
be called are `FUNCTIONS` and the bot's own. Jinja2's own sandbox stands behind that.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from jinja2 import StrictUndefined, pass_context
from jinja2.runtime import Context, LoopContext, Undefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import missing

from bot.core.values import Location, Media
from bot.lang.codegen import Generator
from bot.lang.effort import SHORT, SIZED, WRITTEN, Effort
from bot.lang.failures import TemplateFailed, kind_of
from bot.lang.filters import FILTERS, FUNCTIONS, TESTS, strict, there
from bot.lang.hidden import EFFORT, OWN
from bot.lang.list_filters import elements
from bot.lang.number_filters import MOST_DIGITS, exact
from bot.lang.own import OwnCall
from bot.lang.problems import did_you_mean
from bot.lang.shown import MAX_TEXT, bounded, too_long, written
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
    """One rendering's names, and the work it has done: how many elements it has gone over, and its turn's effort."""

    spent = 0
    _effort: Effort | None = None

    @property
    def effort(self) -> Effort:
        """What may still be done in this turn."""
        if self._effort is None:
            self._effort = self.parent.get(EFFORT) or Effort()
        return self._effort

    def counted(self, value: Any, times: int = 1) -> Any:
        """The value itself, which is gone through. Raises `TemplateFailed` where that is too much."""
        kind = type(value)
        if kind in SIZED and (kind is not str or len(value) > SHORT):
            self.effort.count(value, times)
        return value

    def joined(self, parts: tuple[Any, ...]) -> str:
        """``a ~ b``."""
        text = bounded(part if type(part) is str else written(self.counted(there(part), WRITTEN)) for part in parts)
        self.counted(text)
        return text

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


class Sandbox(ImmutableSandboxedEnvironment):
    """Reads fields of values, calculates within bounds, calls nothing but `FUNCTIONS` and the bot's own."""

    code_generator_class = Generator
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
        return _bounded(context, super().call_binop(context, operator, left, right))


def _moved(context: Context, operator: str, moment: datetime, other: Any) -> Any:
    """A time that is later or earlier, or how long it is after another one."""
    if isinstance(other, timedelta):
        return later(moment, other if operator == "+" else -other, context.parent["now"].tzinfo)
    if isinstance(other, datetime) and operator == "-":
        return moment.astimezone(UTC) - other.astimezone(UTC)
    raise TemplateFailed(f'"{operator}" does not go with {kind_of(moment)} and {kind_of(other)}')


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal)


def _bounded(context: Any, value: Any) -> Any:
    if isinstance(value, str | list | tuple):
        if len(value) > MAX_TEXT:
            too_long()
        context.effort.spend(len(value))
    whole = isinstance(value, int) and value.bit_length() > MAX_NUMBER_BITS
    if whole or (isinstance(value, Decimal) and value.adjusted() > MOST_DIGITS):
        raise TemplateFailed("a number that is too large")
    return value
