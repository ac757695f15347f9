"""What templates may use: all filters, functions and tests, by name. docs/language/data.md has an example of each."""

import functools
from collections.abc import Callable
from typing import Any

from jinja2 import Undefined

from bot.lang import date_filters, draws, formats, hours, list_filters, number_filters, text_filters


def _default(value: Any, instead: Any = "") -> Any:
    """``{{ name | default('there') }}``: instead of null, of an empty text and of what is not there."""
    return instead if value is None or isinstance(value, Undefined) or value == "" else value


def there(value: Any) -> Any:
    """The value itself. Raises jinja2's `UndefinedError` where it is not there."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    return value


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for values that are there."""

    @functools.wraps(function)
    def of(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()):
            there(value)
        return function(*arguments, **named)

    return of


_MODULES = (date_filters.FILTERS, draws.FILTERS, formats.FILTERS, list_filters.FILTERS, number_filters.FILTERS,
            text_filters.FILTERS)  # fmt: skip
FILTERS: dict[str, Callable[..., Any]] = {
    **{name: strict(function) for module in _MODULES for name, function in module.items()},
    "default": _default,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: strict(function)
    for module in (date_filters.FUNCTIONS, draws.FUNCTIONS, hours.FUNCTIONS)
    for name, function in module.items()
}
TESTS = ("defined", "undefined", "none")
