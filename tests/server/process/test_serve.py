"""`bot serve`: it starts, serves, comes back and ends."""

import os
import signal
import socket
import threading
from pathlib import Path

import pytest

import bot
from bot.core.engine_answers import FilesLoaded
from bot.core.engine_requests import Reload
from bot.server import local_socket
from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE
from tests.server.process.serving import CONTACT, FLOW, SECRET, Serve, until
from tests.store.store_kit import log_locked


def test_it_says_where_it_answers_acknowledges_and_is_ready(serve: Serve) -> None:
    serving = serve(BOT_PROT="8000").up()
    assert serving.seen[-1].startswith("Test Bot answers at ")
    assert any("there is no setting BOT_PROT (did you mean" in line for line in serving.seen)
    assert serving.post("evt-1") == 200
    assert serving.get("/healthz") == 200
    assert serving.get("/readyz") == 200
    until(lambda: serving.status()["cursor"] == 1)
    assert serving.end() == 0


def test_a_contact_who_writes_gets_the_answer(serve: Serve) -> None:
    with Emulator() as gateway:
        serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key).up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        gateway.receive(CONTACT, "hi")
        assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
        assert gateway.sent[0].body["text"]["body"] == "Hello"


def test_ctrl_c_ends_it_too_and_what_it_leaves_is_private(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert local_socket.socket_of(serving.store).exists()
    assert serving.end(signal.SIGINT) == 0
    assert not local_socket.socket_of(serving.store).exists()
    left = [path for path in folder.iterdir() if path.name.startswith("bot.") and path.name != "bot.yml"]
    assert left
    assert all(path.stat().st_mode & 0o077 == 0 for path in left)


def test_all_that_is_wrong_is_listed_before_it_starts(serve: Serve, folder: Path) -> None:
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving = serve(BOT_GATEWAY_URL="", BOT_WEBHOOK_SECRET="", BOT_PORT="many")
    assert serving.process.wait(PATIENCE) == 1
    serving.end()
    starts = [line.split()[0] for line in serving.seen if line != "<end>"]
    assert starts[:3] == ["BOT_GATEWAY_URL", "BOT_WEBHOOK_SECRET", "BOT_PORT"]
    assert starts[3].startswith("main.yml:5:")


def test_a_bot_with_faulty_flows_does_not_start(serve: Serve, folder: Path) -> None:
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving = serve()
    assert serving.process.wait(PATIENCE) == 1
    serving.end()
    assert any(line.startswith("main.yml:5:") for line in serving.seen)


def test_a_second_server_on_the_same_store_is_refused_in_words(serve: Serve) -> None:
    first = serve().up()
    second = serve()
    assert second.process.wait(PATIENCE) == 1
    second.end()
    assert "a server runs on" in second.seen[0]
    assert first.get("/readyz") == 200


def test_a_port_that_is_taken_is_said_in_words(serve: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        serving = serve(BOT_PORT=str(taken.getsockname()[1]))
        assert serving.process.wait(PATIENCE) == 1
    serving.end()
    assert "cannot be listened on" in serving.seen[0]


def test_a_killed_web_process_comes_back_and_connections_wait_for_it(serve: Serve) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == 200
    os.kill(serving.child("web"), signal.SIGKILL)
    serving.line_with("the web process was killed by signal 9: it is started again")
    assert serving.post("evt-2") == 200
    assert serving.kept() == ["evt-1", "evt-2"]


def test_while_the_engine_is_away_events_are_taken_and_it_comes_back(serve: Serve) -> None:
    serving = serve().up()
    os.kill(serving.child("engine"), signal.SIGKILL)
    serving.line_with("the engine process was killed by signal 9: it is started again")
    assert serving.post("evt-1") == 200
    until(lambda: serving.get("/readyz") == 200)
    until(lambda: serving.status()["cursor"] == 1)


def test_the_supervisor_has_one_thread_so_that_it_can_be_forked_at_any_time(serve: Serve) -> None:
    serving = serve().up()
    assert len([*Path(f"/proc/{serving.process.pid}/task").iterdir()]) == 1


def test_after_a_killed_supervisor_the_children_end_and_the_next_one_starts(serve: Serve) -> None:
    first = serve().up()
    assert first.post("evt-1") == 200
    first.end(signal.SIGKILL)
    second = serve().up()
    assert second.post("evt-1") == 200
    assert second.post("evt-2") == 200
    assert second.kept() == ["evt-1", "evt-2"]


def test_everything_killed_at_once_loses_nothing(serve: Serve) -> None:
    first = serve().up()
    assert first.post("evt-1") == 200
    for pid in (first.child("web"), first.child("engine"), first.process.pid):
        os.kill(pid, signal.SIGKILL)
    first.end()
    second = serve().up()
    until(lambda: second.status()["cursor"] == 1)


def test_a_stop_answers_every_request_that_it_has_taken(serve: Serve) -> None:
    serving = serve().up()
    acknowledged: list[str] = []

    def send(sender: int) -> None:
        for number in range(1000):
            try:
                if serving.post(f"{sender}-{number}") == 200:
                    acknowledged.append(f"{sender}-{number}")
            except OSError:
                return  # the door is shut: nothing was taken from us

    senders = [threading.Thread(target=send, args=(n,)) for n in range(8)]
    for sender in senders:
        sender.start()
    until(lambda: len(acknowledged) > 100)
    assert serving.end() == 0
    for sender in senders:
        sender.join()
    assert set(acknowledged) == set(serving.kept())


def test_an_inbox_that_cannot_commit_is_a_503_in_time_and_recovers(serve: Serve) -> None:
    serving = serve().up()
    with log_locked(serving.store):
        assert serving.post("evt-1") == 503
        assert serving.get("/readyz") == 503
        assert serving.get("/healthz") == 200
    until(lambda: serving.post("evt-1") == 200)


def test_saved_files_are_loaded_and_faulty_ones_leave_the_old_flows_serving(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    (folder / "main.yml").write_text(FLOW.replace("Hello", "Hi"))
    serving.line_with("the flows are loaded again")
    (folder / "main.yml").write_text(FLOW + "  pay: {say: Bye, then: nowhere}\n")
    serving.line_with("main.yml:5:")
    serving.line_with("the flows loaded before go on")
    assert serving.get("/readyz") == 200
    os.kill(serving.child("engine"), signal.SIGKILL)
    serving.line_with("the files from before the last change are used")
    until(lambda: serving.get("/readyz") == 200)
    serving.process.send_signal(signal.SIGHUP)
    serving.line_with("the flows loaded before go on")


def test_modules_of_the_folder_it_runs_in_are_not_taken_for_pythons_own(
    serve: Serve, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("select", "sqlite3", "flask", "json"):
        (elsewhere / f"{name}.py").write_text("raise RuntimeError('imported by mistake')")
    monkeypatch.setenv("PYTHONPATH", str(Path(bot.__file__).parent.parent))
    monkeypatch.setenv("PYTHONSAFEPATH", "1")  # the installed command does not look there either
    monkeypatch.chdir(elsewhere)
    assert serve().up().get("/readyz") == 200


def test_a_local_request_reloads(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert local_socket.ask(serving.store, Reload()) == FilesLoaded(True)
    (folder / "main.yml").write_text("flow: [")
    assert local_socket.ask(serving.store, Reload()) == FilesLoaded(False)
