"""A bot whose store is divided into three shards, and a contact of each. Tests say which shards have an engine."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.core.clock import SystemClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Engine, GatewayAccount
from bot.server.local_socket import LocalServer
from bot.store.database import PostgresAddress, shard_number, shards_of
from bot.testing.emulator import Emulator
from tests.cli.keeping import FLOWS, HANDLERS
from tests.cli.terminal import call, make_bot
from tests.postgres import Postgres, divided_database

SHARDS = 3
ANN, BEN, EVE = (
    next(str(number) for number in range(6281234567800, 6281234567900) if shard_number(str(number), SHARDS) == shard)
    for shard in range(SHARDS)
)
ALL = ANN, BEN, EVE


@dataclass
class Divided:
    """A bot in a folder, with its store."""

    folder: Path
    store: PostgresAddress

    def call(self, *arguments: str) -> tuple[int, str]:
        """A command: its exit code, and all that it prints."""
        found = call(*arguments, "--bot", self.folder)
        return found.code, found.out + found.err

    @contextmanager
    def engines(self, *shards: int) -> Iterator[Emulator]:
        """Engines that work on these shards, beside a gateway."""
        with ExitStack() as running, Emulator(SystemClock(), threads=2, per_minute=6000) as gateway:
            program = load_program(read_folder(self.folder))
            for shard in (shards_of(self.store)[number] for number in shards):
                engine = Engine(program, shard, SystemClock(), GatewayAccount(gateway.url, gateway.api_key))
                engine.start()
                running.callback(engine.stop)
                server = LocalServer(shard, engine.operate)
                server.start()
                running.callback(server.stop)
            yield gateway


@pytest.fixture(name="divided")
def divided_store(postgres: Postgres, tmp_path: Path) -> Iterator[Divided]:
    with divided_database(postgres, tmp_path.resolve(), SHARDS) as store:
        make_bot(tmp_path, FLOWS, HANDLERS)
        (tmp_path / ".env").write_text(f"BOT_STORE={store.url}\nBOT_SHARDS={SHARDS}\n")
        yield Divided(tmp_path, store)
