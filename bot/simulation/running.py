"""The bot of a simulation while it runs: both halves in this process, to be stopped and started again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Self

from bot.app import Bot, Engine
from bot.clock import Clock
from bot.emulator import Emulator
from bot.outgoing import Requester
from bot.program import Program
from bot.settings import ModelService

LIMIT = 1_000_000  # requests: nobody waits for the gateway's limits


class RunningBot:
    """A bot behind an emulated gateway that has been started. Use it as a context manager."""

    def __init__(
        self,
        program: Program,
        store: Path,
        clock: Clock,
        emulator: Emulator,
        models: ModelService,
        requester: Requester | None,
        secrets: Mapping[str, str] | None,
    ) -> None:
        self.program = program
        self._store = store
        self._clock = clock
        self._emulator = emulator
        self._models = models
        self._requester = requester
        self._secrets = secrets

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    def restart(self) -> None:
        """Stop the bot and start it again, with its store."""
        self._stop()
        self._start()

    def swap(self, program: Program) -> None:
        """Take the next event with these flows and handlers."""
        self.program = program
        self.engine.swap(program)

    def _start(self) -> None:
        self.engine = Engine(
            self.program,
            self._store,
            self._clock,
            gateway_url=self._emulator.url,
            gateway_key=self._emulator.api_key,
            per_minute=LIMIT,
            per_day=LIMIT,
            models=self._models,
            requester=self._requester,
            secrets=self._secrets,
            gathering=0.0,  # one contact writes, so nothing comes together
        )
        self._bot = Bot(self.engine, self._store, self._clock, self._emulator.secret)
        self._bot.start()
        self._webhook = self._emulator.subscribe(self._bot.url)

    def _stop(self) -> None:
        self._emulator.unsubscribe(self._webhook)
        self._bot.stop()
