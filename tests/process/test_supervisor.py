"""When the supervisor starts a process again that has ended, and when it ends itself."""

import socket
from pathlib import Path

import pytest

from bot.process.child import UNFIT
from bot.process.supervisor import Supervisor, _Child, _locks
from bot.settings import read_settings
from bot.store.files import children_lock

NEEDED = {
    "BOT_GATEWAY_URL": "https://gateway.example/",
    "BOT_GATEWAY_KEY": "key-of-the-gateway",
    "BOT_WEBHOOK_SECRET": "signing-secret",
}


def test_a_server_waits_until_the_children_of_a_killed_one_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "bot.db"
    left = children_lock(store)
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        left.release()

    monkeypatch.setattr("bot.process.supervisor.sleep", wait)
    for lock in _locks(store):
        lock.release()
    assert len(waits) == 1


@pytest.mark.parametrize(
    ("ends", "was_up", "goes_on"),
    [
        ("exit 1", False, False),  # it has said why it cannot start
        ("exit 1", True, True),
        ("kill -9 $$", False, True),
        ("kill -9 $$", True, True),
        (f"exit {UNFIT}", True, False),
    ],
)
def test_a_process_that_has_ended_is_started_again_unless_it_cannot_serve(
    tmp_path: Path, ends: str, was_up: bool, goes_on: bool
) -> None:
    settings = read_settings(tmp_path, NEEDED, {})
    supervisor = Supervisor(settings, tmp_path, print)
    child = _Child("web", {}, settings)
    child._command = ["sh", "-c", ends]
    child.start()
    assert child.process is not None
    child.process.wait()
    supervisor._children, supervisor._starting = [child], set() if was_up else {"web"}
    with socket.socket() as supervisor._listener:
        supervisor._look_after_children()
    assert (child.process is not None, supervisor._exit_code) == ((True, 0) if goes_on else (False, 1))
    if child.process is not None:
        child.process.wait()
