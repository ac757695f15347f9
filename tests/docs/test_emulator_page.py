"""The page of the emulators shows the JSON of each control request, and the emulator takes what is shown."""

import re
from datetime import UTC, datetime

import requests

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from bot.testing.emulator.emulator import _Control, _routes
from tests.docs.test_docs import ROOT

ROWS = re.findall(
    r"^\| `(GET|POST|DELETE) ([a-z-]+)` \| (?:`([^`]*)`)?.*\|$", (ROOT / "docs" / "emulator.md").read_text(), re.M
)
OF_WHAT_WAS_SENT = {"tap": "", "statuses": "no message has the id '...'"}
"""What needs a message of the bot first, and what is answered without."""


def test_the_emulator_takes_every_request_as_it_is_shown() -> None:
    refused = {}
    with Emulator(MovableClock(datetime(2030, 5, 6, 10, tzinfo=UTC))) as gateway:
        assert {(verb, f"/{path}") for verb, path, _ in ROWS} == _routes(gateway, _Control(gateway)).keys()
        for verb, path, shown in ROWS:
            url = f"{gateway.url}/emulator/{path}"
            answer = requests.request(verb, url, data=shown, headers={"Content-Type": "application/json"}, timeout=10)
            if answer.status_code != 200:
                refused[path] = answer.json()["error"]
    assert refused.keys() == OF_WHAT_WAS_SENT.keys()
    assert refused["statuses"] == OF_WHAT_WAS_SENT["statuses"] and "argument" not in refused["tap"]
