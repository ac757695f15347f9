"""A voice note whose transcription is under way when the engine is killed."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE
from tests.server.process.serving import CONTACT, SECRET, Serve, until

BOT = """\
name: Test Bot
defaults: {timeout: {after: 1h, then: end}, retry: {max: 3, else: end}}
transcribe: {call: speech.words}
"""
FLOW = """\
flow: main
start: {otherwise: true}
vars: {a: text, b: text}
steps:
  a: {ask: First?, save: a}
  b: {ask: "{{ a }}. Second?", save: b}
  both: {say: "{{ a }} and {{ b }}", then: end}
"""
HANDLERS = """
from pathlib import Path
from threading import Event
from bot import handler
from bot.core.values import Media

ASKED = Path(__file__).parent / "asked"


@handler("speech.words")
def words(voice: Media) -> str:
    \"\"\"The first time, it does not come back.\"\"\"
    with ASKED.open("a") as asked:
        asked.write(voice.file + "\\n")
    if len(ASKED.read_text().splitlines()) == 1:
        Event().wait()
    return "one"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {"bot.yml": BOT, "main.yml": FLOW, "handlers.py": HANDLERS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def gateway() -> Iterator[Emulator]:
    with Emulator(schedule_scale=0.01) as gateway:
        yield gateway


def test_the_engine_is_killed_while_it_is_transcribed(serve: Serve, folder: Path, gateway: Emulator) -> None:
    serving = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key).up()
    gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)

    def texts() -> list[str]:
        return [str(sent.body["text"]["body"]) for sent in list(gateway.sent) if sent.to == CONTACT]

    def said(*expected: str) -> None:
        assert gateway.wait_until(lambda: len(texts()) >= len(expected), PATIENCE), texts()
        assert texts() == list(expected)

    gateway.receive(CONTACT, "hi")
    said("First?")
    gateway.receive(CONTACT, kind="audio")
    until(lambda: (folder / "asked").exists() and (folder / "asked").read_text().endswith("\n"))
    gateway.receive(CONTACT, "two")
    os.kill(serving.child("engine"), signal.SIGKILL)
    said("First?", "one. Second?", "one and two")
    asked = (folder / "asked").read_text().splitlines()
    assert len(asked) == 2 and len({*asked}) == 1
    assert not Path(asked[0]).exists()
