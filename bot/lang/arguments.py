"""Checks a handler's arguments against its annotations: before the contact is asked to agree, and when it is called."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

from bot.core.errors import BotError
from bot.lang.handlers import HandlerSpec

Fit = Callable[[str, Any], Any]


class BadArgument(BotError):
    """An argument that a handler does not take.

    ``name`` is the argument. ``detail`` says more where the annotation's own Python has raised: that is for the trace.
    """

    def __init__(self, name: str, what: str, detail: str = "") -> None:
        super().__init__(what)
        self.name = name
        self.detail = detail or what


class Arguments:
    """The arguments of a handler. Safe to use from many threads."""

    def __init__(self, spec: HandlerSpec) -> None:
        self._parameters = spec.parameters
        self._fits = {each.name: _fit(each.annotation) for each in spec.parameters.values()}

    def fitted(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Copies of a flow's or a model's values, each as the handler's annotation has it. Raises `BadArgument`."""
        if unknown := sorted(given.keys() - self._fits.keys()):
            raise BadArgument(unknown[0], f"no such argument: {', '.join(unknown)}")
        for each in self._parameters.values():
            if each.required and each.name not in given:
                raise BadArgument(each.name, f"the argument {each.name} is missing")
        return {name: self._fits[name](name, value) for name, value in given.items()}


def _fit(annotation: Any) -> Fit:
    """A function that makes a value fit an annotation. The value itself is never handed out: it is kept."""
    if annotation is Any:
        return lambda name, value: copy.deepcopy(value)
    from pydantic import PydanticUserError, TypeAdapter, ValidationError  # slow to import: only where there are types

    try:
        adapter = TypeAdapter(annotation)
    except PydanticUserError:  # a class that nothing is known of, such as Record
        return lambda name, value: _instance(name, value, annotation)

    def fit(name: str, value: Any) -> Any:
        try:
            return adapter.validate_python(_bare(value))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, (name, *first["loc"])))
            if isinstance(first.get("ctx", {}).get("error"), Exception):
                raise _not_taken(name, place, first["msg"]) from error
            raise BadArgument(name, f"the argument {place}: {first['msg']}") from error
        except Exception as error:  # of a class of the bot's own, while it is made
            raise _not_taken(name, name, f"{type(error).__name__}: {error}") from error

    return fit


def _not_taken(name: str, place: str, why: str) -> BadArgument:
    return BadArgument(name, f"the argument {place}: it is not taken", f"the argument {place}: {why}")


def _instance(name: str, value: Any, annotation: Any) -> Any:
    if isinstance(annotation, type) and isinstance(value, annotation):
        return copy.deepcopy(value)
    raise BadArgument(name, f"the argument {name}: {type(value).__name__} is no {annotation}")


def _bare(value: Any) -> Any:
    """A copy with each record as a dict, which is what a dataclass is made from."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value
