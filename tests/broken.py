"""Functions of the bot's that raise what nobody foresaw, so that tests see what comes of that."""

import functools
import importlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

WORDS = "6281234567890 wrote it"
"""The exception's text: it must be in no log."""


class Unforeseen(Exception):
    """An exception that the bot has no reason to foresee."""


def _place(name: str) -> tuple[Any, str]:
    """An object or module that has a function or value, and its name there: ``bot.store.inbox:InboxWriter._run``."""
    module, _, path = name.partition(":")
    *owners, function = path.split(".")
    return functools.reduce(getattr, owners, importlib.import_module(module)), function


def _raising(real: Callable[..., Any], raises: Callable[[], bool]) -> Callable[..., Any]:
    @functools.wraps(real)
    def function(*given: Any, **named: Any) -> Any:
        if raises():
            raise Unforeseen(WORDS)
        return real(*given, **named)

    return function


@contextmanager
def raises_on(thread: str, name: str) -> Iterator[None]:
    """Have a function raise on the thread of this name, for as long as the block runs."""
    owner, function = _place(name)
    raising = _raising(getattr(owner, function), lambda: threading.current_thread().name == thread)
    with patch.object(owner, function, raising):
        yield


def break_for_good(flags: Mapping[str, str]) -> None:
    """Have functions raise, each once whenever the file of its flag is there. In a process that is there only
    for that.
    """
    for name, flag in flags.items():
        owner, function = _place(name)
        setattr(owner, function, _raising(getattr(owner, function), functools.partial(_took, Path(flag))))


def set_for_good(values: Mapping[str, Any]) -> None:
    """Set values of the bot, such as how long it waits. In a process that is there only for that."""
    for name, value in values.items():
        owner, attribute = _place(name)
        setattr(owner, attribute, tuple(value) if isinstance(value, list) else value)


def _took(flag: Path) -> bool:
    try:
        flag.unlink()
    except FileNotFoundError:
        return False
    return True
