"""What a bot's own functions and filters are: pure Python that expressions and templates may call within a turn."""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.lang.declarations import BadDeclaration, declare, named, signature_of

F = TypeVar("F", bound=Callable[..., Any])
NOW_PARAMETER = "now"
FUNCTION, FILTER = "function", "filter"


@dataclass(frozen=True, slots=True)
class FunctionSpec:
    """A function or a filter as templates see it: ``kind`` says which.

    A parameter called ``now`` is given the turn's time, in the bot's time zone; templates do not see it.
    """

    name: str
    kind: str
    function: Callable[..., Any]
    signature: inspect.Signature
    takes_now: bool

    def objection(self, positional: int, keywords: Collection[str]) -> str | None:
        """Why it cannot be called with so many arguments, and with these by name; None where it can be."""
        given = positional + (self.kind == FILTER)
        try:
            self.signature.bind(*[None] * given, **dict.fromkeys(keywords))
        except TypeError as error:
            return str(error)
        return None


def function(name: str) -> Callable[[F], F]:
    """Declare a function that conditions, checks and texts may call: ``if: is_free(slot)``.

    It runs within a turn, so it must be pure and quick: no I/O, no clock, nothing changed. A parameter ``now`` is
    given the turn's time. Whatever it raises makes the expression fail. Raises `BadDeclaration`.
    """
    return _declaring(named(name, "function"), FUNCTION)


def template_filter(name: str) -> Callable[[F], F]:
    """Declare a function as a filter: ``{{ slot | spoken }}``. Its first parameter is the value; the rest is as in
    `function`.
    """
    return _declaring(named(name, "template_filter"), FILTER)


def _declaring(name: str, kind: str) -> Callable[[F], F]:
    what = f'{kind} "{name}"'
    if not name.isidentifier():
        raise BadDeclaration(f"{what} cannot be written in a template: use letters, digits and _", name)

    def of(function: F) -> F:
        signature = signature_of(function, what)
        seen = [parameter for parameter in signature.parameters.values() if parameter.name != NOW_PARAMETER]
        takes_now = len(seen) < len(signature.parameters)
        return declare(function, FunctionSpec(name, kind, function, signature.replace(parameters=seen), takes_now))

    return of
