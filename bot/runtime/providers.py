"""What a bot's providers have made: each when it is needed first, once, and closed in the end."""

import logging
import threading
from collections.abc import Generator, Iterable, Mapping
from typing import Any

from bot.lang.providers import ProviderSpec

log = logging.getLogger(__name__)


class Providers:
    """Gives handlers what they need by name. Safe to use from many threads."""

    def __init__(self, specs: Mapping[str, ProviderSpec]) -> None:
        self._made = {name: _Made(spec) for name, spec in specs.items()}

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """What these providers have made. Raises what they raise; then they are asked again the next time."""
        return {name: self._made[name].get() for name in names}

    def close(self) -> None:
        """Close all that was made, the newest declared first. What raises then is a line in the log."""
        for made in reversed(self._made.values()):
            made.close()


class _Made:
    """What one provider makes."""

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec
        self._lock = threading.Lock()
        self._value: tuple[Any] | None = None
        self._rest: Generator[Any, None, None] | None = None  # what is to be gone on with

    def get(self) -> Any:
        """The value, made now if it is the first time."""
        with self._lock:
            if self._value is None:
                self._value = (self._make(),)
            return self._value[0]

    def _make(self) -> Any:
        made = self._spec.function()
        if not self._spec.closes:
            return made
        value = next(made)
        self._rest = made
        return value

    def close(self) -> None:
        """Go on with what yielded the value, to its end."""
        with self._lock:
            rest, self._rest, self._value = self._rest, None, None
        try:
            if rest is not None:
                next(rest, None)
        except BaseException as error:  # SystemExit too: the others are closed all the same
            log.error('provider "%s" raised %s when it was closed', self._spec.name, type(error).__name__)
