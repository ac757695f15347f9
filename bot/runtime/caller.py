"""Calling Python by name: arguments checked, results made storable, errors made outcomes."""

import copy
import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from bot.core import codec
from bot.core.errors import BotError
from bot.core.values import UnstorableValue
from bot.lang.handlers import KEY_PARAMETER, HandlerSpec
from bot.runtime.performers import Ended
from bot.runtime.providers import Providers

_DETAIL = 300  # characters

log = logging.getLogger(__name__)


class Caller:
    """A handler made ready to be called; ``what`` it is says the log. Safe to use from many threads."""

    def __init__(self, spec: HandlerSpec, providers: Providers, what: str) -> None:
        self._spec = spec
        self._providers = providers
        self._what = what
        self._adapters = {p.name: _adapter(p.annotation) for p in spec.parameters.values()}

    def call(self, given: Mapping[str, Any], key: str) -> Ended:
        """Call the handler. Raises nothing, whatever it raises."""
        try:
            arguments = self._arguments(given)
        except _Unfit as error:
            return Ended("mismatch", detail=_line(str(error)))
        if self._spec.takes_key:
            arguments[KEY_PARAMETER] = key
        try:
            arguments |= self._providers.given(self._spec.providers)
            result = self._spec.function(**arguments)
        except BaseException as error:  # SystemExit too: a handler must not end a thread of ours
            return self._failed(error)
        return _kept(result)

    def tell(self, told: Mapping[str, Any], key: str) -> Ended:
        """Call it with those of the values that it names. What comes of it is for the log only."""
        ended = self.call({name: value for name, value in told.items() if name in self._adapters}, key)
        if ended.outcome == "mismatch":
            log.error("%s: %s", self._what, ended.detail)
        return ended

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := given.keys() - self._adapters.keys():
            raise _Unfit(f"no such argument: {', '.join(sorted(unknown))}")
        for parameter in self._spec.parameters.values():
            if parameter.required and parameter.name not in given:
                raise _Unfit(f"the argument {parameter.name} is missing")
        return {name: self._adapters[name](name, value) for name, value in given.items()}

    def _failed(self, error: BaseException) -> Ended:
        detail = _line(f"{type(error).__name__}: {error}")
        declared = {cls: name for name, cls in self._spec.errors.items()}
        for cls in type(error).__mro__:
            if cls in declared:
                return Ended(declared[cls], detail=detail)
        # Its own text may quote the contact: that goes to the trace, not into the log.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s raised %s\n%s", self._what, type(error).__name__, frames)
        return Ended("error", detail=detail, again=True)


class _Unfit(BotError):
    """Arguments that the handler's annotations do not take."""


def _adapter(annotation: Any) -> Callable[[str, Any], Any]:
    """A function that makes a flow's value fit an annotation. The value itself is never handed out: it is kept."""
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
            raise _Unfit(f"the argument {place}: {first['msg']}") from error

    return fit


def _instance(name: str, value: Any, annotation: Any) -> Any:
    if isinstance(annotation, type) and isinstance(value, annotation):
        return copy.deepcopy(value)
    raise _Unfit(f"the argument {name}: {type(value).__name__} is no {annotation}")


def _bare(value: Any) -> Any:
    """A copy with each record as a dict, which is what a dataclass is made from."""
    if isinstance(value, Mapping):
        return {key: _bare(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


def _kept(result: Any) -> Ended:
    try:
        return Ended("done", codec.keepable(result))
    except UnstorableValue as error:
        return Ended("mismatch", detail=_line(f"the result cannot be kept: {error}"))


def _line(text: str) -> str:
    return " ".join(text.split())[:_DETAIL]
