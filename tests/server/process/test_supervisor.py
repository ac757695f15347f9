"""When the supervisor starts a process again that has ended, and when it ends itself."""

import errno
import os
import select
import socket
from contextlib import ExitStack
from pathlib import Path
from time import monotonic

import pytest

from bot.server.process.child import UNFIT
from bot.server.process.supervisor import Supervisor, _Child, _locks
from bot.settings import read_settings
from bot.store.files import children_lock

NEEDED = {
    "BOT_GATEWAY_URL": "https://gateway.example/",
    "BOT_GATEWAY_KEY": "key-of-the-gateway",
    "BOT_WEBHOOK_SECRET": "signing-secret-of-the-gateway-0123",
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

    monkeypatch.setattr("bot.server.process.supervisor.sleep", wait)
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
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_that_has_ended_is_started_again_unless_it_cannot_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str, was_up: bool, goes_on: bool
) -> None:
    monkeypatch.setattr("bot.server.process.supervisor.main", lambda *_: os.execvp("sh", ["sh", "-c", ends]))
    settings = read_settings(tmp_path, NEEDED, {})
    supervisor = Supervisor(settings, tmp_path, print)
    child = _Child("web", lambda: print, settings, tmp_path, {})
    child.start()
    has_ended(child)
    supervisor._children, supervisor._starting = [child], set() if was_up else {"web"}
    with socket.socket() as supervisor._listener:
        supervisor._look_after_children()
    assert (child.pid is not None, supervisor._exit_code) == ((True, 0) if goes_on else (False, 1))
    if child.pid is not None:
        has_ended(child)
        child.reap()


def test_web_accepts_events_once_the_engines_of_all_shards_are_up(tmp_path: Path) -> None:
    needed = {**NEEDED, "BOT_STORE": "postgresql://bot@db/bot", "BOT_SHARDS": "2"}
    announced: list[str | None] = []
    supervisor = Supervisor(read_settings(tmp_path, needed, {}), tmp_path, lambda url, _: announced.append(url))
    with (
        ExitStack() as held,
        socket.create_server(("127.0.0.1", 0)) as supervisor._listener,
        Path(os.devnull).open() as lock,
    ):
        supervisor._children_lock = lock.fileno()
        supervisor._open_pipes(held)
        web, *engines = supervisor._children
        assert [child.name for child in engines] == ["engine.0", "engine.1"]
        begun = web._files["begun"]
        for name, accepts in (("web", False), ("engine.1", False), ("engine.0", True)):
            supervisor._on_news([name])
            assert (bool(select.select([begun], [], [], 0)[0]), len(announced)) == (accepts, accepts)


def has_ended(child: _Child) -> None:
    """Wait for a child's end, and leave its exit code to be asked for."""
    assert child.pid is not None
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)


def test_a_process_that_cannot_be_forked_now_is_started_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full() -> int:
        raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "fork", full)
    child = _Child("web", lambda: print, read_settings(tmp_path, NEEDED, {}), tmp_path, {})
    child.start()
    assert child.pid is None
    assert monotonic() < child.due < monotonic() + 2
    assert "the web process cannot be started now: Resource temporarily unavailable" in caplog.text
