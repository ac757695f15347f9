"""A bot's own Python in service, from its start hooks to the closing of its providers."""

import logging
import threading
from collections.abc import Callable

from bot.lang.extensions import Extensions
from bot.lang.hooks import START, STOP, HookSpec
from bot.runtime.caller import Caller
from bot.runtime.providers import Providers

START_SECONDS = 10.0  # for each hook
STOP_SECONDS = 2.0  # for all together: what stops a server waits no longer
log = logging.getLogger(__name__)


class Python:
    """What one version of the bot's files declares, to be called by name. Safe to use from many threads."""

    def __init__(self, extensions: Extensions) -> None:
        self.users = 0  # the calls that are being made; `Calling` counts them
        self._hooks = extensions.hooks
        self._calls = extensions.calls
        self._providers = Providers(extensions.providers)
        self._callers: dict[str, Caller] = {}

    def caller(self, name: str) -> Caller | None:
        """A handler, a hook or the work of a verb by its name."""
        if name not in self._callers and name in self._calls:
            what = f'{"hook" if name in self._hooks else "handler"} "{name}"'
            self._callers[name] = Caller(self._calls[name], self._providers, what)
        return self._callers.get(name)

    def hooks(self, event: str) -> tuple[HookSpec, ...]:
        """Those who hear of an event."""
        return tuple(hook for hook in self._hooks.values() if hook.event == event)

    def start(self) -> None:
        """Run the start hooks, one after another. One that raises or hangs is a line in the log."""
        for hook in self.hooks(START):
            _bounded(f'hook "{hook.name}"', self._runs(hook), START_SECONDS)

    def stop(self) -> None:
        """Run the stop hooks, then close what the providers have made. What hangs is left alone."""
        jobs = [(f'hook "{hook.name}"', self._runs(hook)) for hook in self.hooks(STOP)]
        jobs.append(("the closing of the providers", self._providers.close))
        for what, job in jobs:
            _bounded(what, job, STOP_SECONDS / len(jobs))

    def _runs(self, hook: HookSpec) -> Callable[[], object]:
        caller = self.caller(hook.name)
        assert caller is not None
        return lambda: caller.call({}, "")


def _bounded(what: str, job: Callable[[], object], seconds: float) -> None:
    thread = threading.Thread(target=job, name=what, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        log.error("%s hangs: it is left alone after %g s", what, seconds)
