from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.process.serving import BOT, CONTACT, FLOW, SECRET, Serve, Serving


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


def made(folder: Path) -> Path:
    (folder / "bot.yml").write_text(BOT)
    (folder / "main.yml").write_text(FLOW)
    return folder


@contextmanager
def serves(folder: Path) -> Iterator[Serve]:
    """Start servers, end them, and look at what they have printed."""
    started: list[Serving] = []

    def start(**settings: str) -> Serving:
        started.append(Serving(folder, **settings))
        return started[-1]

    yield start
    for serving in started:
        serving.end()
        assert not any("is killed" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any("Traceback" in line for line in serving.seen), "\n".join(serving.seen)
        assert not any(secret in line for line in serving.seen for secret in (SECRET, "key-of-the-gateway", CONTACT))
