import errno
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_answers import EngineAnswer, EngineRefused, GatewayItems, MayBeDone, Status
from bot.core.engine_requests import AnyRequest, AskStatus, ListTemplates, Reload, StopBroadcast, as_json
from bot.core.errors import BotError, OutcomeLost
from bot.server import local_socket
from bot.store.database import PostgresAddress, StoreAddress, shards_of
from tests.patience import PATIENCE

HEARD = Status(alarms=[{"do": "status"}], silent=[])


def answer(request: AnyRequest) -> EngineAnswer:
    match request:
        case StopBroadcast(name="refuse"):
            raise BotError("not like this")
        case StopBroadcast(name="lose"):
            raise OutcomeLost("it stopped")
        case StopBroadcast(name="fail"):
            raise RuntimeError("a defect")
    return Status(alarms=[as_json(request)])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    server = local_socket.LocalServer(tmp_path / "bot.db", answer)
    server.start()
    yield tmp_path / "bot.db"
    server.stop()


def raw(store: StoreAddress, data: bytes) -> bytes:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(local_socket.socket_of(store)))
        client.sendall(data)
        with client.makefile("rb") as reply:
            return reply.readline()


def test_a_request_is_answered(store: Path) -> None:
    assert local_socket.ask(store, AskStatus()) == HEARD


def test_it_goes_on_when_files_can_be_opened_again(tmp_path: Path) -> None:
    server = local_socket.LocalServer(tmp_path / "bot.db", answer)
    server._listener = FullOnce(socket.AF_UNIX)
    server.start()
    assert local_socket.ask(tmp_path / "bot.db", AskStatus()) == HEARD
    assert server._listener.was_full
    server.stop()


class FullOnce(socket.socket):
    """A listener for whose first connection no file can be opened."""

    was_full = False

    def accept(self) -> tuple[socket.socket, Any]:
        if not self.was_full:
            self.was_full = True
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


def test_only_the_owner_may_ask(store: Path) -> None:
    assert local_socket.socket_of(store).stat().st_mode & 0o777 == 0o600


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_refusal_comes_back_in_words_and_a_defect_without_details(store: Path) -> None:
    with pytest.raises(EngineRefused, match=r"^not like this$"):
        local_socket.ask(store, StopBroadcast("refuse"))
    with pytest.raises(MayBeDone, match=r"^it stopped$"):
        local_socket.ask(store, StopBroadcast("lose"))
    with pytest.raises(EngineRefused, match=r"^the server could not do this: its log says why$"):
        local_socket.ask(store, StopBroadcast("fail"))


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"no json\n",
        b'{"do": "dance"}\n',
        b'{"do": "reset"}\n',
        b"{}\n",
        b"[]\n",
        b"[" * 60_000 + b"\n",
        b'{"do": "status"' + b" " * 70_000,
    ],
)
def test_a_malformed_request_is_answered_too(store: Path, line: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_socket, "REQUEST_BYTES", 65_536)  # one that is too long is cut off
    assert b"error" in raw(store, line)
    assert local_socket.answers(store)


def test_clients_that_hang_keep_nobody_waiting(store: Path) -> None:
    hanging = [socket.socket(socket.AF_UNIX) for _ in range(local_socket.CLIENTS - 1)]
    for client in hanging:
        client.connect(str(local_socket.socket_of(store)))
    assert local_socket.answers(store)
    for client in hanging:
        client.close()


def test_no_server_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(local_socket.NotRunning, match=r"no server answers for bot\.db: is `bot serve` running\?"):
        local_socket.ask(tmp_path / "bot.db", AskStatus())
    assert not local_socket.answers(tmp_path / "bot.db")


@pytest.mark.parametrize(("request_", "known"), [(Reload(), "it may have done this"), (AskStatus(), "see its log")])
def test_of_a_server_that_ended_before_it_answered_only_what_it_may_have_done_is_said(
    request_: AnyRequest, known: str, tmp_path: Path
) -> None:
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor() as threads:
        listener.bind(str(local_socket.socket_of(tmp_path / "bot.db")))
        listener.listen()
        listener.settimeout(PATIENCE)
        asked = threads.submit(local_socket.ask, tmp_path / "bot.db", request_, PATIENCE)
        listener.accept()[0].close()
        with pytest.raises(local_socket.NotAnswered, match=f"before it answered: {known}$"):
            asked.result(PATIENCE)


def test_an_engine_that_stands_still_holds_up_what_another_one_answers_for_as_long_as_a_status_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_socket, "TELL_SECONDS", 0.3)  # the other one, too, answers in this time
    address = PostgresAddress("postgresql://db/bot", tmp_path / "bot", tmp_path / "files", shards=2)
    silent, other = shards_of(address)
    server = local_socket.LocalServer(
        other, lambda request: Status() if isinstance(request, AskStatus) else GatewayItems([], False)
    )
    server.start()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(local_socket.socket_of(silent)))
        listener.listen()
        assert local_socket.ask(address, ListTemplates(), 3600.0) == GatewayItems([], False)
    server.stop()


def test_a_dead_servers_socket_is_replaced(tmp_path: Path) -> None:
    store = tmp_path / "bot.db"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(local_socket.socket_of(store)))
    server = local_socket.LocalServer(store, answer)
    server.start()
    assert local_socket.answers(store)
    server.stop()
    assert not local_socket.socket_of(store).exists()


def test_a_path_longer_than_a_socket_address_works(tmp_path: Path) -> None:
    folder = tmp_path / ("a" * 100) / ("b" * 100)
    folder.mkdir(parents=True)
    server = local_socket.LocalServer(folder / "bot.db", answer)
    server.start()
    assert local_socket.answers(folder / "bot.db")
    server.stop()


def test_stopping_ends_its_thread(tmp_path: Path) -> None:
    server = local_socket.LocalServer(tmp_path / "bot.db", answer)
    before = set(threading.enumerate())
    server.start()
    (thread,) = set(threading.enumerate()) - before
    server.stop()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def test_a_client_for_whom_no_thread_can_be_started_keeps_no_place(
    store: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_thread(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", no_thread)
        for _ in range(local_socket.CLIENTS + 1):
            with pytest.raises(local_socket.NotRunning):
                local_socket.ask(store, AskStatus())
    assert "no more threads" in caplog.text
    assert local_socket.ask(store, AskStatus()) == HEARD
