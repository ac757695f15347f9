from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.testing.emulator.emulator import Emulator
from tests.postgres import Postgres, new_database
from tests.server.process.machines import Shared
from tests.server.process.serving import Serve, Serving, made, serves


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture
def machines_share(tmp_path: Path, postgres: Postgres) -> Iterator[Shared]:
    """A gateway and a database for the servers of several machines."""
    with (
        Emulator(per_minute=1_000_000, per_day=1_000_000, schedule_scale=0.001) as gateway,
        new_database(postgres, tmp_path) as store,
    ):
        share = Shared(tmp_path, gateway, store)
        try:
            yield share
        finally:
            for server in share.servers:
                server.stop()


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    with serves(folder) as serve:
        yield serve


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all tests of a module, which leave it as it was but for its log."""
    with serves(made(tmp_path_factory.mktemp("shared"))) as serve:
        yield serve(BOT_GATEWAY_PER_MINUTE="1000").up()
