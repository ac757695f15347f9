"""Edits while `bot serve` runs: whatever the files become, the flows loaded before go on."""

from pathlib import Path

import pytest

from tests.process.serving import Serve

EDITS = {
    "handlers that end the program": ("handlers.py", b"raise SystemExit(3)"),
    "handlers that are no Python": ("handlers.py", b"def ("),
    "handlers with a NUL": ("handlers.py", b"x = 1\0"),
    "a flow that is no text": ("main.yml", b"\xff\xfe\x00flow"),
    "a flow of brackets": ("main.yml", b"flow: " + b"[" * 50_000),
    "an empty flow": ("main.yml", b""),
    "a bot that is none": ("bot.yml", b"- a list"),
    "a bot that is gone": ("bot.yml", None),
}


@pytest.mark.parametrize("edit", EDITS)
def test_no_edit_takes_the_server_down(serve: Serve, folder: Path, edit: str) -> None:
    serving = serve().up()
    engine = serving.child("engine")
    name, content = EDITS[edit]
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    serving.line_with("the flows loaded before go on")
    assert serving.post("evt-1") == 200
    serving.settle(1)
    assert serving.child("engine") == engine
