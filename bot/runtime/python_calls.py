"""Calls of a bot's own Python, from its start hooks to the closing of its providers."""

import logging
import threading
import traceback
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

from bot.core import values
from bot.core.defects import guard
from bot.core.effects import Call, RunHook
from bot.core.text import head
from bot.core.values import Media, UnstorableValue
from bot.language.python.annotations import Arguments, BadArgument
from bot.language.python.decorators import (
    DEAD_LETTER,
    KEY_PARAMETER,
    START,
    STOP,
    HandlerSpec,
    HookSpec,
    ProviderSpec,
    raised_at,
)
from bot.language.python.gathered import Extensions
from bot.language.steps.tools import cut
from bot.runtime.file_calls import keep_made
from bot.runtime.performers import CallAttempt, Say
from bot.store.kept_files import FilesUnavailable, KeptFiles
from bot.store.rows import CallRow


class Providers:
    """Gives handlers the values of providers by name. Safe to use from many threads."""

    def __init__(self, specs: Mapping[str, ProviderSpec]) -> None:
        self._made = {name: _Made(spec) for name, spec in specs.items()}

    def given(self, names: Iterable[str]) -> dict[str, Any]:
        """The values of these providers. Raises their errors; a provider that failed is tried again the next time."""
        return {name: self._made[name].get() for name in names}

    def close(self) -> None:
        """Close all values, the newest declared first. An error is only logged."""
        for made in reversed(self._made.values()):
            made.close()


class _Made:
    """The value of one provider."""

    def __init__(self, spec: ProviderSpec) -> None:
        self._spec = spec
        self._lock = threading.Lock()
        self._value: tuple[Any] | None = None
        self._rest: Generator[Any, None, None] | None = None  # to be resumed when it is closed

    def get(self) -> Any:
        """The value. It is made at the first call."""
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
        """Resume the generator that yielded the value, until it ends."""
        with self._lock:
            rest, self._rest, self._value = self._rest, None, None
        try:
            if rest is not None:
                next(rest, None)
        except BaseException as error:  # SystemExit too: the other providers are closed all the same
            log.error('provider "%s" raised %s when it was closed', self._spec.name, type(error).__name__)


_DETAIL = 300  # characters
Keep = Callable[[bytes], Media]
"""Keeps a file that a handler has made. Raises `UnstorableValue` if the gateway does not take it, and `OSError`."""


def _keeps_no_file(content: bytes) -> Media:
    raise UnstorableValue("only a step's call can make a file")


class Caller:
    """Calls one handler. ``what`` is its name in the log. Safe to use from many threads."""

    def __init__(self, spec: HandlerSpec, providers: Providers, what: str) -> None:
        self._spec = spec
        self._providers = providers
        self._what = what
        self._arguments = Arguments(spec)

    def call(self, given: Mapping[str, Any], key: str, keep: Keep = _keeps_no_file) -> CallAttempt:
        """Call the handler; ``keep`` keeps a file that it makes. Raises nothing, whatever the handler raises."""
        try:
            arguments = self._arguments.fitted(given)
        except BadArgument as error:
            return CallAttempt("mismatch", detail=_line(error.detail))
        if self._spec.takes_key:
            arguments[KEY_PARAMETER] = key
        try:
            arguments |= self._providers.given(self._spec.providers)
            result = self._spec.function(**arguments)
        except BaseException as error:  # SystemExit too: a handler must not end a thread of ours
            return self._failed(error)
        return _kept(result, keep)

    def tell(self, told: Mapping[str, Any], key: str) -> CallAttempt:
        """Call a hook with the values that its parameters name. Its result is only logged."""
        ended = self.call({name: value for name, value in told.items() if name in self._spec.parameters}, key)
        if ended.outcome == "mismatch":
            log.error("%s: %s", self._what, ended.detail)
        return ended

    def _failed(self, error: BaseException) -> CallAttempt:
        detail = _line(f"{type(error).__name__}: {error}")
        declared = {cls: name for name, cls in self._spec.errors.items()}
        for cls in type(error).__mro__:
            if cls in declared:
                return CallAttempt(declared[cls], detail=detail)
        # Its own text may quote the contact: that goes to the trace, not into the log.
        frames = "".join(traceback.format_tb(error.__traceback__))
        log.error("%s raised %s\n%s", self._what, type(error).__name__, frames)
        return CallAttempt("error", detail=f"{detail}{raised_at(self._spec.function, error)}", again=True)


def _kept(result: Any, keep: Keep) -> CallAttempt:
    try:
        return CallAttempt("done", keep(result) if isinstance(result, bytes) else values.keepable(result))
    except UnstorableValue as error:
        return CallAttempt("mismatch", detail=_line(f"the result cannot be kept: {error}"))
    except (FilesUnavailable, OSError) as error:
        what = error.strerror if isinstance(error, OSError) else error
        log.error("a file that a handler has made cannot be kept: %s", what)
        return CallAttempt("error", detail=f"the file cannot be kept: {what}", again=True)


def _line(text: str) -> str:
    return head(" ".join(text.split()), _DETAIL)


START_SECONDS = 10.0  # for each start hook
STOP_SECONDS = 2.0  # for all together: a server that stops waits no longer
log = logging.getLogger(__name__)


class PythonVersion:
    """The Python of one version of the bot's files, called by name. Safe to use from many threads."""

    def __init__(self, extensions: Extensions) -> None:
        self.users = 0  # the calls that are being made; `PythonCalls` counts them
        self._hooks = extensions.hooks
        self._calls = extensions.calls
        self._providers = Providers(extensions.providers)
        self._callers: dict[str, Caller] = {}

    def caller(self, name: str) -> Caller | None:
        """The handler, hook or verb's work with this name."""
        if name not in self._callers and name in self._calls:
            what = f'{"hook" if name in self._hooks else "handler"} "{name}"'
            self._callers[name] = Caller(self._calls[name], self._providers, what)
        return self._callers.get(name)

    def hooks(self, event: str) -> tuple[HookSpec, ...]:
        """The hooks for an event."""
        return tuple(hook for hook in self._hooks.values() if hook.event == event)

    def start(self) -> None:
        """Run the start hooks, one after another. A hook that raises or hangs is only logged."""
        for hook in self.hooks(START):
            _bounded(f'hook "{hook.name}"', self._runs(hook), START_SECONDS)

    def stop(self) -> None:
        """Run the stop hooks, then close the values of providers. A hook that hangs is left alone."""
        jobs = [(f'hook "{hook.name}"', self._runs(hook)) for hook in self.hooks(STOP)]
        jobs.append(("the closing of the providers", self._providers.close))
        for what, job in jobs:
            _bounded(what, job, STOP_SECONDS / len(jobs))

    def _runs(self, hook: HookSpec) -> Callable[[], object]:
        caller = self.caller(hook.name)
        assert caller is not None
        return lambda: caller.call({}, "")


def _bounded(what: str, job: Callable[[], object], seconds: float) -> None:
    thread = threading.Thread(target=guard(job, ends_process=False), name=what, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        log.error("%s hangs: it is left alone after %g s", what, seconds)


class PythonCalls:
    """Performs `Call` and `RunHook`: calls handlers and hooks by name, in their present version. Safe to use from many
    threads. ``files`` has those that handlers make.
    """

    def __init__(self, extensions: Extensions, files: KeptFiles) -> None:
        self._python = PythonVersion(extensions)
        self._files = files
        self._lock = threading.Lock()
        self._started = False

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Call the row's handler or hook. Raises nothing."""
        if isinstance(row.effect, RunHook):
            return self._tell(row.effect, row.key)
        assert isinstance(row.effect, Call)
        name = row.effect.handler
        missing = CallAttempt("error", detail=f'there is no handler "{name}"', again=True)
        ended = self.call(name, row.effect.arguments, row.key, partial(keep_made, self._files, row)) or missing
        most = row.effect.most
        return ended if most is None or ended.outcome != "done" else replace(ended, value=cut(ended.value, most))

    def call(
        self, name: str, arguments: Mapping[str, Any], key: str, keep: Keep = _keeps_no_file
    ) -> CallAttempt | None:
        """Call a handler by name; None if there is none."""
        with self._current() as python:
            caller = python.caller(name)
            return None if caller is None else caller.call(arguments, key, keep)

    def _tell(self, effect: RunHook, key: str) -> CallAttempt:
        """Call a hook; nothing happens if an edit has removed it."""
        with self._current() as python:
            caller = python.caller(effect.hook)
            return CallAttempt("done") if caller is None else caller.tell(effect.told, key)

    @property
    def dead_letter_hooks(self) -> tuple[str, ...]:
        """The names of the hooks for dead letters."""
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
        """Call the handlers and hooks of this version from now on. The earlier version stops after its last call."""
        new = PythonVersion(extensions)
        new.start()
        with self._lock:
            old, self._python = self._python, new
            over = old.users == 0
        if over:
            old.stop()

    @contextmanager
    def _current(self) -> Iterator[PythonVersion]:
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
