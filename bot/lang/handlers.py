"""The Python side of a ``call`` step: what a handler is, as a value that flows are checked against."""

import inspect
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from bot.lang.declarations import BadDeclaration, declare, named, signature_of

F = TypeVar("F", bound=Callable[..., Any])
KEY_PARAMETER = "idempotency_key"


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a handler. ``annotation`` is `typing.Any` where the function says nothing."""

    name: str
    annotation: Any
    required: bool

    @property
    def takes_null(self) -> bool:
        """Whether null is a value of it."""
        return may_be_null(self.annotation)


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """A handler as flows see it: its arguments by name, its result, and the errors that are outcomes.

    Not all parameters are arguments of the flow: ``idempotency_key`` is given the call's stable key, the same at
    every repeat of the same call, and one that has the name of a provider is given what that has made.
    """

    name: str
    function: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    errors: Mapping[str, type[BaseException]]
    returns: Any
    doc: str
    takes_key: bool = False
    providers: tuple[str, ...] = ()

    @property
    def gives_null(self) -> bool:
        """Whether it says of itself that it may return null."""
        return self.returns is not Any and may_be_null(self.returns)

    @property
    def writes(self) -> bool:
        """Whether it says of itself that it changes something: it takes a key for that, or returns nothing."""
        return self.takes_key or self.returns is type(None)

    def provided_by(self, providers: Collection[str]) -> Self:
        """This handler, with what these providers give taken out of its arguments."""
        given = tuple(name for name in self.parameters if name in providers)
        left = {name: parameter for name, parameter in self.parameters.items() if name not in given}
        return replace(self, parameters=left, providers=given)


def may_be_null(annotation: Any) -> bool:
    """Whether null is a value of an annotation."""
    return annotation in (Any, object, None, type(None)) or type(None) in typing.get_args(annotation)


def handler(name: str, *, errors: Iterable[type[BaseException]] = ()) -> Callable[[F], F]:
    """Declare a function as the handler ``name``; each class in ``errors`` is an outcome of that name.

    Calls are made at least once: a handler that changes something outside should take a parameter
    ``idempotency_key`` and use it. Raises `BadDeclaration` at once for a function that cannot be called by name.
    """
    named(name, "handler")
    declared = {error.__name__: error for error in errors}
    return lambda function: declare(function, spec_of(name, function, f'handler "{name}"', declared))


def spec_of(
    name: str, function: Callable[..., Any], what: str, errors: Mapping[str, type[BaseException]] | None = None
) -> HandlerSpec:
    """What a function is as something that is called by name. Raises `BadDeclaration` where it cannot be."""
    signature = signature_of(function, what)
    hints = typing.get_type_hints(function)
    parameters = {}
    for parameter in signature.parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadDeclaration(f'{what}: parameter "{parameter.name}" cannot be given by name', function)
        annotation = hints.get(parameter.name, Any)
        parameters[parameter.name] = Parameter(parameter.name, annotation, parameter.default is parameter.empty)
    takes_key = parameters.pop(KEY_PARAMETER, None) is not None
    doc = inspect.getdoc(function) or ""
    return HandlerSpec(name, function, parameters, errors or {}, hints.get("return", Any), doc, takes_key)
