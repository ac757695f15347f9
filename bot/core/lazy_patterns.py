"""Regular expressions that are compiled at their first use: to compile those of all modules was a sixth of the start.

A module writes `lazy_pattern` where it would write `re.compile`; `tests/test_house.py` finds the others.
"""

import re
from collections.abc import Callable
from typing import Any, AnyStr, cast


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern as of `re.compile`, which is compiled at its first use."""
    return cast(re.Pattern[AnyStr], _LazyPattern(lambda: re.compile(pattern, flags)))


def unicode_pattern(pattern: str) -> Any:
    r"""A pattern of the library `regex`, which knows `\X` and `\p{...}`; importing that takes 10 ms."""

    def compiled() -> Any:
        import regex

        return regex.compile(pattern)

    return _LazyPattern(compiled)


class _LazyPattern:
    """Has the compiled pattern's methods as attributes of its own after the first use, so that none costs more."""

    def __init__(self, compiled: Callable[[], Any]) -> None:
        self._compiled = compiled

    def __getattr__(self, name: str) -> Any:
        compiled = self._compiled()
        vars(self).update({each: getattr(compiled, each) for each in dir(compiled) if not each.startswith("_")})
        return getattr(compiled, name)
