"""The page on Python: its blocks run, with emulators as the two services."""

import re
from pathlib import Path
from typing import Any

import pytest

from bot.emulator import Emulator, MessageTemplate
from bot.emulator.completion import CompletionService
from bot.lang.handlers import handlers_in

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_its_blocks_run_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    with Emulator() as gateway, CompletionService() as models:
        gateway.templates.add(MessageTemplate("parcel", "en", body="Order {{1}} is on its way."))
        names: dict[str, Any] = {
            "GATEWAY_URL": gateway.url, "GATEWAY_KEY": gateway.api_key, "AI_URL": models.url, "AI_KEY": models.key,
        }  # fmt: skip
        for block in BLOCKS:
            exec(block, names)
        said = capsys.readouterr().out
        assert len(BLOCKS) == 4
        assert list(handlers_in([names])) == ["orders.find"]
        assert [(sent.to, sent.type) for sent in gateway.sent] == [("6281234567890", "template")]
        assert "parcel en APPROVED" in said
        assert "forged hi" in said
        assert said.count("You asked: When are you open?") == 2
        assert "acme/wise" in said
