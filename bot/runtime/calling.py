"""Calling Python handlers: arguments checked, results made storable, errors made outcomes."""

import copy
import inspect
import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import PydanticUserError, TypeAdapter, ValidationError

from bot.core import codec
from bot.core.effects import Call
from bot.core.errors import BotError
from bot.core.values import plain
from bot.lang.handlers import KEY_PARAMETER, HandlerSpec
from bot.runtime.performers import Ended, Say
from bot.store.rows import CallRow

_DETAIL = 300  # characters

log = logging.getLogger(__name__)


class Calling:
    """Performs `Call`: the handlers by name, as they are now. Safe to use from many threads."""

    def __init__(self, handlers: Mapping[str, HandlerSpec]) -> None:
        self._handlers = handlers
        self._callers: dict[str, Caller] = {}

    def __call__(self, row: CallRow, say: Say) -> Ended:
        """Call the row's handler. Raises nothing."""
        assert isinstance(row.effect, Call)
        caller = self.caller(row.effect.handler)
        if caller is None:
            return Ended("error", detail=f'there is no handler "{row.effect.handler}"', again=True)
        return caller.call(row.effect.arguments, row.key)

    def caller(self, name: str) -> "Caller | None":
        """A handler made ready to be called."""
        spec = self._handlers.get(name)
        if spec is None:
            return None
        caller = self._callers.get(name)
        if caller is None or caller.spec is not spec:
            caller = self._callers[name] = Caller(spec)
        return caller


class Caller:
    """A handler made ready to be called. Safe to use from many threads."""

    def __init__(self, spec: HandlerSpec) -> None:
        self.spec = spec
        self._adapters = {p.name: _adapter(p.annotation) for p in spec.parameters.values()}
        self._wants_key = KEY_PARAMETER in inspect.signature(spec.function).parameters

    def call(self, given: Mapping[str, Any], key: str) -> Ended:
        """Call the handler. Raises nothing, whatever it raises."""
        try:
            arguments = self._arguments(given)
        except _Unfit as error:
            return Ended("mismatch", detail=_line(str(error)))
        if self._wants_key:
            arguments[KEY_PARAMETER] = key
        try:
            result = self.spec.function(**arguments)
        except BaseException as error:  # SystemExit too: a handler must not end a thread of ours
            return self._failed(error)
        return _kept(result)

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if unknown := given.keys() - self._adapters.keys():
            raise _Unfit(f"no such argument: {', '.join(sorted(unknown))}")
        for parameter in self.spec.parameters.values():
            if parameter.required and parameter.name not in given:
                raise _Unfit(f"the argument {parameter.name} is missing")
        return {name: self._adapters[name](name, value) for name, value in given.items()}

    def _failed(self, error: BaseException) -> Ended:
        detail = _line(f"{type(error).__name__}: {error}")
        declared = {cls: name for name, cls in self.spec.errors.items()}
        for cls in type(error).__mro__:
            if cls in declared:
                return Ended(declared[cls], detail=detail)
        # Its own text may quote the contact: that goes to the trace, not into the log.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error('handler "%s" raised %s\n%s', self.spec.name, type(error).__name__, frames)
        return Ended("error", detail=detail, again=True)


class _Unfit(BotError):
    """Arguments that the handler's annotations do not take."""


def _adapter(annotation: Any) -> Callable[[str, Any], Any]:
    """A function that makes a flow's value fit an annotation. The value itself is never handed out: it is kept."""
    if annotation is Any:
        return lambda name, value: copy.deepcopy(value)
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
        value = plain(result)
        codec.dumps(value).encode()
    except (BotError, ValueError, TypeError, RecursionError) as error:
        return Ended("mismatch", detail=_line(f"the result cannot be kept: {error}"))
    return Ended("done", value)


def _line(text: str) -> str:
    return " ".join(text.split())[:_DETAIL]
