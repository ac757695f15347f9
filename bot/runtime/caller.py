"""Calling Python by name: arguments checked, results made storable, errors made outcomes."""

import logging
import traceback
from collections.abc import Mapping
from typing import Any

from bot.core import codec
from bot.core.values import UnstorableValue
from bot.lang.arguments import Arguments, BadArgument
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
        self._arguments = Arguments(spec)

    def call(self, given: Mapping[str, Any], key: str) -> Ended:
        """Call the handler. Raises nothing, whatever it raises."""
        try:
            arguments = self._arguments.fitted(given)
        except BadArgument as error:
            return Ended("mismatch", detail=_line(error.detail))
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
        ended = self.call({name: value for name, value in told.items() if name in self._spec.parameters}, key)
        if ended.outcome == "mismatch":
            log.error("%s: %s", self._what, ended.detail)
        return ended

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


def _kept(result: Any) -> Ended:
    try:
        return Ended("done", codec.keepable(result))
    except UnstorableValue as error:
        return Ended("mismatch", detail=_line(f"the result cannot be kept: {error}"))


def _line(text: str) -> str:
    return " ".join(text.split())[:_DETAIL]
