"""A started bot behind an emulated gateway."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Self

from bot.core.clock import Clock
from bot.loading.program import Program
from bot.server.app import Bot, Engine, GatewayAccount, StandIns
from bot.services.outgoing import Requester
from bot.settings import ModelService
from bot.testing.emulator import Emulator

LIMIT = 1_000_000  # requests: no message waits for the gateway's limits


class RunningBot:
    """A started bot behind an emulated gateway. Use it as a context manager."""

    def __init__(
        self,
        program: Program,
        store: Path,
        clock: Clock,
        emulator: Emulator,
        models: ModelService,
        requester: Requester | None,
        secrets: Mapping[str, str] | None,
        stand_ins: StandIns,
    ) -> None:
        self.program = program
        self.store = store
        self._emulator = emulator
        self._engine_of = partial(
            Engine,
            store=store,
            clock=clock,
            account=GatewayAccount(emulator.url, emulator.api_key, per_minute=LIMIT, per_day=LIMIT),
            models=models,
            requester=requester,
            secrets=secrets,
            stand_ins=stand_ins,
        )
        self._bot_of = partial(Bot, store=store, clock=clock, secret=emulator.secret)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop()

    @property
    def url(self) -> str:
        """The address of the bot's web server on this machine."""
        return self._bot.url.removesuffix("/webhook")

    def restart(self) -> None:
        """Stop the bot and start it again, with its store."""
        self._stop()
        self._start()

    def swap(self, program: Program) -> None:
        """Use these flows and handlers from the next event on."""
        self.program = program
        self.engine.swap(program)

    def _start(self) -> None:
        self.engine = self._engine_of(self.program)
        self._bot = self._bot_of(self.engine)
        self._bot.start()
        self._webhook = self._emulator.subscribe(self._bot.url)

    def _stop(self) -> None:
        self._emulator.unsubscribe(self._webhook)
        self._bot.stop()
