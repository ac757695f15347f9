from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.process.serving import BOT, CONTACT, FLOW, SECRET, Serve, Serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    return tmp_path


@pytest.fixture
def serve(folder: Path) -> Iterator[Serve]:
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
