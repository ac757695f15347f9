"""How a bot's own Python says what it is: decorators leave specs on functions and classes, loading gathers them."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from bot.core.errors import BotError

T = TypeVar("T")
_MARK = "__bot_declares__"


class BadDeclaration(BotError):
    """A function or class that cannot be what it is declared as. ``target`` is the one, where it is known."""

    def __init__(self, message: str, target: object = None) -> None:
        super().__init__(message)
        self.target = target


def declare(target: T, spec: object) -> T:
    """Leave a spec on a function or class, which may have several."""
    setattr(target, _MARK, (*_declared(target), spec))
    return target


def declared_in(namespaces: Iterable[Mapping[str, Any]]) -> list[Any]:
    """The specs of everything in some modules' namespaces, each once, in the order of the modules."""
    found = {id(spec): spec for names in namespaces for value in names.values() for spec in _declared(value)}
    return list(found.values())


def named(name: object, what: str) -> str:
    """The name that a decorator was given. Raises `BadDeclaration` where it was put on without one."""
    if isinstance(name, str) and name:
        return name
    raise BadDeclaration(f'a {what.replace("_", " ")} has a name: write @{what}("name")', name)


def signature_of(function: Callable[..., Any], what: str) -> inspect.Signature:
    """The signature of a plain function. Raises `BadDeclaration` for an async one."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise BadDeclaration(f"{what} is async: write a plain function, it runs on a thread", function)
    return inspect.signature(function)


def _declared(value: object) -> tuple[Any, ...]:
    """The specs of a function or class itself; a subclass does not inherit them."""
    own = getattr(value, "__dict__", None)
    specs = own.get(_MARK, ()) if isinstance(own, Mapping) else ()
    return specs if isinstance(specs, tuple) else ()
