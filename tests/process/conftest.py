from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.serving import Serve, Serving, made, serves


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return made(tmp_path)


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
    with serves(folder) as serve:
        yield serve


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One server for all tests of a module, which leave it as it was but for its log."""
    with serves(made(tmp_path_factory.mktemp("shared"))) as serve:
        yield serve(BOT_GATEWAY_PER_MINUTE="1000").up()
