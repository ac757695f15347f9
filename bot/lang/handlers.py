"""The Python side of a ``call`` step: what a handler is, as a value that flows are checked against."""

import inspect
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from bot.core.errors import BotError

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__bot_handler__"
KEY_PARAMETER = "idempotency_key"


class BadHandler(BotError):
    """A function that cannot be a handler. ``function`` is the one, where it is known."""

    def __init__(self, message: str, function: Callable[..., Any] | None = None) -> None:
        super().__init__(message)
        self.function = function


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a handler. ``annotation`` is `typing.Any` where the function says nothing."""

    name: str
    annotation: Any
    required: bool


@dataclass(frozen=True, slots=True)
class HandlerSpec:
    """A handler as flows see it: its arguments by name, its result, and the errors that are outcomes.

    A parameter called ``idempotency_key`` is not an argument of the flow: it is given the call's stable
    key, the same at every repeat of the same call.
    """

    name: str
    function: Callable[..., Any]
    parameters: Mapping[str, Parameter]
    errors: Mapping[str, type[BaseException]]
    returns: Any
    doc: str


def handler(name: str, *, errors: Iterable[type[BaseException]] = ()) -> Callable[[F], F]:
    """Declare a function as the handler ``name``; each class in ``errors`` is an outcome of that name.

    Calls are made at least once: a handler that changes something outside should take a parameter
    ``idempotency_key`` and use it. Raises `BadHandler` at once for a function that cannot be called by name.
    """
    if not isinstance(name, str):
        raise BadHandler('a handler has a name: write @handler("name")', name)
    declared = {error.__name__: error for error in errors}

    def declare(function: F) -> F:
        setattr(function, _MARK, _spec(name, function, declared))
        return function

    return declare


def _spec(name: str, function: Callable[..., Any], errors: Mapping[str, type[BaseException]]) -> HandlerSpec:
    if inspect.iscoroutinefunction(function):
        raise BadHandler(f'handler "{name}" is async: write a plain function, it runs on a worker thread')
    hints = typing.get_type_hints(function)
    parameters = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise BadHandler(f'handler "{name}": parameter "{parameter.name}" cannot be given by name')
        if parameter.name != KEY_PARAMETER:
            annotation = hints.get(parameter.name, Any)
            required = parameter.default is parameter.empty
            parameters[parameter.name] = Parameter(parameter.name, annotation, required)
    doc = inspect.getdoc(function) or ""
    return HandlerSpec(name, function, parameters, errors, hints.get("return", Any), doc)


def handlers_in(namespaces: Iterable[Mapping[str, Any]]) -> dict[str, HandlerSpec]:
    """All handlers declared in some modules' namespaces, by name. Raises `BadHandler` when two share one."""
    found: dict[str, HandlerSpec] = {}
    for namespace in namespaces:
        for value in namespace.values():
            spec = getattr(value, _MARK, None)
            if not isinstance(spec, HandlerSpec):
                continue
            if spec.name in found and found[spec.name].function is not spec.function:
                raise BadHandler(f'two functions are declared as handler "{spec.name}"', spec.function)
            found[spec.name] = spec
    return found
