"""Calling a bot's own Python within a turn: what goes in is a copy, what comes out is a value, and a failure is one
of the template's.
"""

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jinja2.runtime import Context, Undefined
from jinja2.utils import pass_context

from bot.core import codec
from bot.core.errors import BotError
from bot.core.values import UnstorableValue
from bot.lang.failures import TemplateFailed
from bot.lang.functions import NOW_PARAMETER, FunctionSpec

OWN, COPIED = 5_000, 10  # units of effort: for each call, and for each value that goes in


class OutOfTime(BotError):
    """Python within a turn was stopped: it took too long."""


class OwnCall:
    """A function or a filter of the bot's own, as the sandbox calls it."""

    def __init__(self, spec: FunctionSpec) -> None:
        self._spec = spec

    @pass_context
    def __call__(self, context: Context, *args: Any, **kwargs: Any) -> Any:
        """Its value, which a conversation can keep. Raises `TemplateFailed`."""
        spec = self._spec
        for value in (*args, *kwargs.values()):
            if isinstance(value, Undefined):
                value._fail_with_undefined_error()
        if spec.takes_now:
            kwargs[NOW_PARAMETER] = context.parent["now"]
        context.effort.spend(OWN)  # type: ignore[attr-defined]  # the sandbox's
        context.effort.count([*args, *kwargs.values()], COPIED)  # type: ignore[attr-defined]
        what = f'{spec.kind} "{spec.name}"'
        return kept(what, call_own(what, spec.function, args, kwargs))


def own_calls(specs: Iterable[FunctionSpec]) -> Mapping[str, OwnCall]:
    """What a scope has under `bot.lang.hidden.OWN`."""
    return {spec.name: OwnCall(spec) for spec in specs}


def kept(what: str, result: Any) -> Any:
    """What a function of the bot's returned, as a value that a conversation can keep. Raises `TemplateFailed`."""
    try:
        return codec.keepable(result)
    except UnstorableValue as error:
        raise TemplateFailed(f"what {what} returns cannot be kept: {error}") from error


def call_own(what: str, function: Callable[..., Any], args: Iterable[Any] = (), kwargs: Any = None) -> Any:
    """Call a function of the bot's, with copies of its arguments. Raises `TemplateFailed` whatever it raises.

    The error says where it was raised, and nothing of its text, which may quote a contact.
    """
    try:
        return function(*copy.deepcopy(tuple(args)), **copy.deepcopy(kwargs or {}))
    except OutOfTime as error:
        raise TemplateFailed(f"{what} {error}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit and CancelledError too: no function ends the engine
        raise TemplateFailed(f"{what} raised {type(error).__name__}{_place(function, error)}") from error


def _place(function: Callable[..., Any], error: BaseException) -> str:
    """The line of the function's own file, as far down as the error came from."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    place, traceback = "", error.__traceback__
    while traceback is not None:
        if code is not None and traceback.tb_frame.f_code.co_filename == code.co_filename:
            place = f" at {code.co_filename.rpartition('/')[2]}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return place
