"""Performing calls of a bot's own Python, which may be swapped for another version meanwhile."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from bot.core.effects import Call, Tell
from bot.lang.extensions import Extensions
from bot.lang.hooks import DEAD_LETTER
from bot.runtime.performers import Ended, Say
from bot.runtime.python import Python
from bot.steps.prompt import cut
from bot.store.rows import CallRow


class Calling:
    """Performs `Call` and `Tell`: handlers and hooks by name, as they are now. Safe to use from many threads."""

    def __init__(self, extensions: Extensions) -> None:
        self._python = Python(extensions)
        self._lock = threading.Lock()
        self._started = False

    def __call__(self, row: CallRow, say: Say) -> Ended:
        """Call the row's handler or hook. Raises nothing."""
        if isinstance(row.effect, Tell):
            return self._tell(row.effect, row.key)
        assert isinstance(row.effect, Call)
        name = row.effect.handler
        missing = Ended("error", detail=f'there is no handler "{name}"', again=True)
        ended = self.call(name, row.effect.arguments, row.key) or missing
        most = row.effect.most
        return ended if most is None or ended.outcome != "done" else replace(ended, value=cut(ended.value, most))

    def call(self, name: str, arguments: Mapping[str, Any], key: str) -> Ended | None:
        """Call a handler by name; None where there is none."""
        with self._current() as python:
            caller = python.caller(name)
            return None if caller is None else caller.call(arguments, key)

    def _tell(self, effect: Tell, key: str) -> Ended:
        """Tell a hook; nobody hears it where an edit took that away."""
        with self._current() as python:
            caller = python.caller(effect.hook)
            return Ended("done") if caller is None else caller.tell(effect.told, key)

    @property
    def dead_letter_hooks(self) -> tuple[str, ...]:
        """The names of the hooks that hear of dead letters."""
        return tuple(hook.name for hook in self._python.hooks(DEAD_LETTER))

    def start(self) -> None:
        """Run the start hooks."""
        self._started = True
        self._python.start()

    def stop(self) -> None:
        """Run the stop hooks, and close what the providers have made."""
        if self._started:
            self._python.stop()

    def swap(self, extensions: Extensions) -> None:
        """Call these from now on. Those before are stopped when their last call has ended."""
        new = Python(extensions)
        new.start()
        with self._lock:
            old, self._python = self._python, new
            over = old.users == 0
        if over:
            old.stop()

    @contextmanager
    def _current(self) -> Iterator[Python]:
        with self._lock:
            python = self._python
            python.users += 1
        try:
            yield python
        finally:
            with self._lock:
                python.users -= 1
                over = python.users == 0 and python is not self._python
            if over:
                python.stop()
