"""Chance: random numbers that come in with the event, and shares of contacts that stay the same.

A turn that is done again draws the same numbers, so that it comes out the same.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context

from bot.lang.failures import TemplateFailed, kind_of
from bot.lang.hidden import DRAW
from bot.lang.list_filters import elements

Draw = Callable[[str], float]
"""The random number, from 0 up to 1, that belongs to a key."""

_BITS = 53  # as many as a float has


def drawn(key: str) -> float:
    """A number that nobody can guess from the key's look, and that is always the same for it."""
    digest = hashlib.sha256(key.encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> (64 - _BITS)) / float(1 << _BITS)


@pass_context
def _random(context: Context) -> float:
    """``{{ random() }}``: a number from 0 up to 1."""
    number: float = context.parent[DRAW]()
    return number


@pass_context
def _pick(context: Context, value: Any) -> Any:
    """``{{ ["Hi", "Hello"] | pick }}``: one of them by chance; null where there is none."""
    items = elements(context, value)
    return items[int(context.parent[DRAW]() * len(items))] if items else None


@pass_context
def _share(context: Context, name: Any) -> int:
    """``{{ share("new_greeting") }}``: 0 to 99, always the same for one contact and one name: `share("x") < 20`
    is true for every fifth contact.
    """
    if not isinstance(name, str):
        raise TemplateFailed(f"share() takes a name, not {kind_of(name)}")
    contact = context.parent["contact"]
    number = contact["id"] if isinstance(contact, Mapping) else ""
    return int(drawn(f"{name}/{number}") * 100)


@pass_context
def _shuffle(context: Context, value: Any) -> list[Any]:
    """``{{ questions | shuffle }}``: all of them, in an order by chance."""
    return sorted(elements(context, value), key=lambda _: context.parent[DRAW]())


FILTERS: dict[str, Callable[..., Any]] = {"pick": _pick, "shuffle": _shuffle}
FUNCTIONS: dict[str, Callable[..., Any]] = {"random": _random, "share": _share}
