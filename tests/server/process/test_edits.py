"""Edits while `bot serve` runs: whatever the files become, the flows loaded before go on."""

from pathlib import Path

from bot.core.engine_answers import FilesLoaded
from bot.core.engine_requests import AskStatus, Reload
from bot.server import local_socket
from tests.server.process.serving import Serve, Serving, until

EDITS = {
    "handlers that end the program": ("handlers.py", b"raise SystemExit(3)"),
    "handlers that end the process": ("handlers.py", b"import os\nos._exit(1)"),
    "handlers that are no Python": ("handlers.py", b"def ("),
    "handlers with a NUL": ("handlers.py", b"x = 1\0"),
    "a flow that is no text": ("main.yml", b"\xff\xfe\x00flow"),
    "a flow of brackets": ("main.yml", b"flow: " + b"[" * 50_000),
    "an empty flow": ("main.yml", b""),
    "a bot that is none": ("bot.yml", b"- a list"),
    "a bot that is gone": ("bot.yml", None),
}


def test_no_edit_takes_the_server_down(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    engine = serving.child("engine")
    for number, (edit, (name, content)) in enumerate(EDITS.items(), start=1):
        before = (folder / name).read_bytes() if (folder / name).exists() else None
        save(folder / name, content)
        assert local_socket.ask(serving.store, Reload()) == FilesLoaded(False), edit
        assert serving.post(f"evt-{number}") == 200, edit
        serving.settle(number)
        assert alarms(serving) == ["reload-refused"], edit
        save(folder / name, before)
        assert local_socket.ask(serving.store, Reload()) == FilesLoaded(True), edit
        assert alarms(serving) == [], edit
    assert serving.child("engine") == engine


def alarms(serving: Serving) -> list[str]:
    return [alarm["name"] for alarm in local_socket.ask(serving.store, AskStatus()).alarms]


def save(file: Path, content: bytes | None) -> None:
    file.unlink() if content is None else file.write_bytes(content)


def test_python_at_whose_import_the_process_ends_is_named_and_the_files_before_it_go_on(
    serve: Serve, folder: Path
) -> None:
    serving = serve().up()
    save(folder / "handlers.py", b"import os\nos.kill(os.getpid(), 9)")
    serving.line_with("handlers.py:1:1: E505 importing it ends the process")
    until(lambda: serving.get("/readyz") == 200)
    assert serving.post("evt-1") == 200
    serving.settle(1)
    assert alarms(serving) == ["reload-refused"]
    save(folder / "handlers.py", b"")
    until(lambda: local_socket.ask(serving.store, Reload()) == FilesLoaded(True))
    serving.settle(1)
