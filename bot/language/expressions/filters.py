"""All filters, functions and tests of templates, by name; here those for texts, chance and signals
(docs/language/data.md).

The others stand by their subject: `formats` (numbers, dates as text), `date_filters`, `list_filters`, `opening_hours`.
"""

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from jinja2 import Undefined, pass_context
from jinja2.runtime import Context

from bot.core.text import head
from bot.language.expressions import date_filters, formats, list_filters, opening_hours
from bot.language.expressions.formats import MAX_TEXT, too_long, written
from bot.language.expressions.list_filters import elements
from bot.language.expressions.template_failures import TemplateFailed, kind_of
from bot.language.source.problems import did_you_mean
from bot.language.source.text_patterns import compiled, matches

Draw = Callable[[str], float]
"""The random number, from 0 up to 1, that belongs to a key."""

_BITS = 53  # as many as a float has


def drawn(key: str) -> float:
    """A number that is always the same for a key, and cannot be guessed from it."""
    digest = hashlib.sha256(key.encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / float(1 << _BITS)


@pass_context
def _random(context: Context) -> float:
    """``{{ random() }}``: a number from 0 up to 1."""
    number: float = context.parent[DRAW]()
    return number


@pass_context
def _pick(context: Context, value: Any) -> Any:
    """``{{ ["Hi", "Hello"] | pick }}``: a random element; null for an empty list."""
    items = elements(context, value)
    return items[int(context.parent[DRAW]() * len(items))] if items else None


@pass_context
def _share(context: Context, name: Any) -> int:
    """``{{ share("new_greeting") }}``: 0 to 99, for a contact and a name always the same number."""
    if not isinstance(name, str):
        raise TemplateFailed(f"share() takes a name, not {kind_of(name)}")
    contact = context.parent["contact"]
    number = contact["id"] if isinstance(contact, Mapping) else ""
    return int(drawn(f"{name}/{number}") * 100)


@pass_context
def _shuffle(context: Context, value: Any) -> list[Any]:
    """``{{ questions | shuffle }}``: all of them, in an order by chance."""
    return sorted(elements(context, value), key=lambda _: context.parent[DRAW]())


CHANCE_FILTERS: dict[str, Callable[..., Any]] = {"pick": _pick, "shuffle": _shuffle}
SHARE = "share"
CHANCE_FUNCTIONS: dict[str, Callable[..., Any]] = {"random": _random, SHARE: _share}


DRAW = " draw"  # a function without arguments: the turn's next random number, from 0 up to 1


@pass_context
def _signal_url(context: Context, name: Any) -> str:
    """``{{ signal_url("paid") }}``: an address by which a service reports this signal to this run of the flow."""
    known: Mapping[str, Any] = context.parent.get(SIGNALS, {})
    make: Callable[[str], str | None] = context.parent.get(SIGNAL_ADDRESS, lambda _: None)
    if name not in known:
        fix = did_you_mean(str(name), known, "declare it under `signals` in bot.yml")
        raise TemplateFailed(f'signal_url: there is no signal "{name}": {fix}')
    found = make(name)
    if found is None:
        raise TemplateFailed("signal_url: the bot has no public address (BOT_PUBLIC_URL), or no flow is running")
    return found


TITLE_OF = "title_of"
TITLES = " titles"  # a function of a variable's name, its value and the scope: the title of the choice with this value


@pass_context
def _title_of(context: Context, value: Any, name: str = "") -> Any:
    """``{{ title_of(size) }}``: a choice's title in the contact's language. The sandbox adds the variable's name."""
    find = context.parent.get(TITLES)
    return value if find is None or value is None else find(name, value, context.parent)


SIGNAL_FUNCTIONS: dict[str, Callable[..., Any]] = {"signal_url": _signal_url}
SIGNALS = " signals"  # the bot's signals, by name
SIGNAL_ADDRESS = " address"  # makes the address of a signal for the active run, by its name
FORM_ADDRESS = " form"  # makes the address of the form of a question, by its step and its visit
FILE_LINKS = " files"  # makes the addresses of files for the messages of a turn


def _on_text(change: Callable[[str], str]) -> Callable[[Any], str]:
    def of(value: Any) -> str:
        return change(written(value))

    return of


def _truncate(value: Any, most: int = 100) -> str:
    """``{{ note | truncate(20) }}``: at most so many characters, the last of them an ellipsis."""
    text = written(value)
    return text if len(text) <= most else head(text, max(0, most - 1)).rstrip() + "…"


def _replace(value: Any, old: str, new: str) -> str:
    """``{{ number | replace(" ", "") }}``: every occurrence."""
    text, old, new = written(value), _text(old), _text(new)
    if old == "":
        return text
    if len(text) + text.count(old) * (len(new) - len(old)) > MAX_TEXT:
        too_long()
    return text.replace(old, new)


def _split(value: Any, separator: str | None = None) -> list[str]:
    """``{{ names | split(",") }}``: the parts, without spaces around them; without an argument, the words."""
    parts = written(value).split(None if separator is None else _text(separator))
    return [stripped for part in parts if (stripped := part.strip())]


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TemplateFailed(f"{kind_of(value)} is no text")
    return value


_pattern = functools.lru_cache(maxsize=256)(compiled)


def _matches(value: Any, pattern: str) -> bool:
    """``{{ code | matches("[A-Z]{2}[0-9]{4}") }}``: whether a regular expression matches the whole text."""
    return matches(_pattern(pattern), written(value))


def _urlencode(text: str) -> str:
    """``https://shop.example/?q={{ wish | urlencode }}``: as part of an address."""
    return quote(text, safe="")


TEXT_FILTERS: dict[str, Callable[..., Any]] = {
    "capitalize": _on_text(str.capitalize),
    "lower": _on_text(str.lower),
    "matches": _matches,
    "replace": _replace,
    "split": _split,
    "title": _on_text(str.title),
    "trim": _on_text(str.strip),
    "truncate": _truncate,
    "upper": _on_text(str.upper),
    "urlencode": _on_text(_urlencode),
}


def _default(value: Any, instead: Any = "") -> Any:
    """``{{ name | default('there') }}``: a replacement for null, an empty text and a missing value."""
    return instead if value is None or isinstance(value, Undefined) or value == "" else value


def there(value: Any) -> Any:
    """The value itself. Raises jinja2's `UndefinedError` if it is missing."""
    if isinstance(value, Undefined):
        value._fail_with_undefined_error()
    return value


def strict(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, which fails if a value is missing."""

    @functools.wraps(function)
    def of(*arguments: Any, **named: Any) -> Any:
        for value in (*arguments, *named.values()):
            there(value)
        return function(*arguments, **named)

    return of


_MODULES = (date_filters.DATE_FILTERS, CHANCE_FILTERS, formats.FORMAT_FILTERS, list_filters.LIST_FILTERS, formats.NUMBER_FILTERS,
            TEXT_FILTERS)  # fmt: skip
FILTERS: dict[str, Callable[..., Any]] = {
    **{name: strict(function) for module in _MODULES for name, function in module.items()},
    "default": _default,
}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: strict(function)
    for module in (
        date_filters.DATE_FUNCTIONS,
        CHANCE_FUNCTIONS,
        opening_hours.HOURS_FUNCTIONS,
        SIGNAL_FUNCTIONS,
        {TITLE_OF: _title_of},
    )
    for name, function in module.items()
}
TESTS: dict[str, Callable[..., bool]] = {
    "defined": lambda value: not isinstance(value, Undefined),
    "undefined": lambda value: isinstance(value, Undefined),
    **dict.fromkeys(("none", "null"), lambda value: value is None),
    "number": formats.is_number,
    "text": lambda value: isinstance(value, str),
}
