"""A bot with an account at an emulated gateway, for the commands that ask it something."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.core.clock import SystemClock
from bot.testing.emulator import Emulator
from tests.cli.terminal import make_bot

FLOWS = "flow: main\nstart: {otherwise: true}\nsteps:\n  a: {say: Hi}\n"
PER_MINUTE = "6000"


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(SystemClock(), threads=2, per_minute=6000, per_day=1_000_000) as emulator:
        yield emulator


@pytest.fixture
def bot(tmp_path: Path, gateway: Emulator, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The bot's folder; it has never run."""
    account = {"URL": gateway.url, "KEY": gateway.api_key, "PER_MINUTE": PER_MINUTE, "PER_DAY": "1000000"}
    for name, value in account.items():
        monkeypatch.setenv(f"BOT_GATEWAY_{name}", value)
    for name in ("BOT_WEBHOOK_SECRET", "BOT_WEBHOOK_PATH", "BOT_STORE"):
        monkeypatch.setenv(name, "")  # so that what .env sets is undone after the test
        monkeypatch.delenv(name)
    return make_bot(tmp_path / "bot", FLOWS)
