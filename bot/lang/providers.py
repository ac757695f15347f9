"""What a provider is: Python that makes what handlers need, such as a database's connection or a client."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.lang.declarations import BadDeclaration, declare, named, signature_of

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class ProviderSpec:
    """A function that makes something. ``closes``: it yields it, and closes it when it is gone on with."""

    name: str
    function: Callable[[], Any]
    closes: bool


def provider(name: str) -> Callable[[F], F]:
    """Declare what handlers and hooks are given for a parameter of this name.

    It is made when it is needed first, once in a process, and used by many threads. A function that yields it is
    gone on with at the end, to close it. Raises `BadDeclaration`.
    """
    named(name, "provider")

    def of(function: F) -> F:
        if signature_of(function, f'provider "{name}"').parameters:
            raise BadDeclaration(f'provider "{name}" has a parameter, and nothing gives it a value', function)
        return declare(function, ProviderSpec(name, function, inspect.isgeneratorfunction(function)))

    return of
