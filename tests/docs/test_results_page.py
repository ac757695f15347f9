"""The page on results: its receiver takes what its bot delivers, and nothing else."""

import json
import threading
import urllib.request
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from bot.core.clock import SystemClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Bot, Engine, GatewayAccount
from bot.store.sqlite_schema import migrate
from bot.testing.emulator import Emulator
from tests.docs.test_docs import OF_THE_LANGUAGE, blocks
from tests.patience import PATIENCE

(PAGE,) = [page for page in OF_THE_LANGUAGE if page.stem == "results"]
CONTACT = "6281234567890"


def test_its_receiver_takes_the_events_of_its_bot_and_refuses_a_forged_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRM_SECRET", "s3cret")
    (code,), (bot,), (flow, _) = (blocks(PAGE, kind) for kind in ("python receiver", "yaml bot", "yaml"))
    names: dict[str, Any] = {"__name__": "receiver"}
    exec(code, names)
    server = ThreadingHTTPServer(("127.0.0.1", 0), names["Receiver"])
    monkeypatch.setattr(names["Receiver"], "log_message", lambda *_: None)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_address[1]}/hooks/bot"
    bot = bot.replace('"https://crm.example/hooks/bot"', f'"{url}", allow_private: true')
    (tmp_path / "bot.yml").write_text(bot)
    (tmp_path / "survey.yml").write_text(flow)
    store, clock = tmp_path / "bot.db", SystemClock()
    migrate(store)
    with Emulator(clock, threads=2, delivery_threads=1) as emulator:
        engine = Engine(
            load_program(read_folder(tmp_path)),
            store,
            clock,
            GatewayAccount(emulator.url, emulator.api_key),
            secrets={"CRM_SECRET": "s3cret"},
        )
        running = Bot(engine, store, clock, emulator.secret)
        running.start()
        emulator.subscribe(running.url)
        for text in ("survey", "Good", "The cakes"):
            emulator.receive(CONTACT, text)
            assert emulator.wait_until(emulator.idle, PATIENCE) and engine.wait_settled(PATIENCE)
        running.stop()
    got = list(names["events"].values())
    assert [event["event"] for event in got] == ["result", "result", "result", "result", "end"]
    assert got[-1]["data"]["vars"] == {"stars": 5, "why": "The cakes"}
    forged = urllib.request.Request(url, json.dumps(got[-1] | {"id": "forged"}).encode(), method="POST")
    with pytest.raises(HTTPError, match="401"):
        urllib.request.urlopen(forged)
    assert len(names["events"]) == 5
    server.shutdown()
    server.server_close()
