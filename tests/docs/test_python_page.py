"""The page on Python: its blocks run, with an emulator as the gateway, and its flow is talked with."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import bot
from bot.core.clock import MovableClock
from bot.language.python.gathered import extensions_in
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.emulator import Emulator, MessageTemplate
from bot.testing.simulation.simulation import Simulation

PAGE = Path(__file__).parent.parent.parent / "docs" / "python.md"
TEXT = PAGE.read_text()


def blocks(language: str, text: str = TEXT) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_its_blocks_run_one_after_another(capsys: pytest.CaptureFixture[str]) -> None:
    with Emulator() as gateway:
        gateway.templates.add(MessageTemplate("parcel", "en", body="Order {{1}} is on its way."))
        names: dict[str, Any] = {"GATEWAY_URL": gateway.url, "GATEWAY_KEY": gateway.api_key}
        for block in blocks("python"):
            exec(block, names)
        said = capsys.readouterr().out
        assert len(blocks("python")) == 6
        assert list(extensions_in([names]).handlers) == ["orders.find"]
        assert [(sent.to, sent.type) for sent in gateway.sent] == [("6281234567890", "template")]
        assert "parcel en APPROVED" in said


def test_it_names_all_that_a_bots_own_python_can_import() -> None:
    assert [name for name in bot.__all__ if name not in TEXT] == []


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    own = TEXT[: TEXT.index("## The gateway")]
    (tmp_path / "bot.yml").write_text("name: Shop\ndefaults: {timeout: {after: 1h, then: end}}\n")
    (tmp_path / "handlers.py").write_text("\n".join(blocks("python", own)))
    (flow,) = blocks("yaml")
    (tmp_path / "order.yml").write_text(flow)
    clock = MovableClock(datetime(2030, 5, 6, 10, 0, tzinfo=UTC))
    with Simulation(load_program(read_folder(tmp_path)), clock) as started:
        yield started


def said(simulation: Simulation, *texts: str) -> list[str]:
    for text in texts:
        simulation.user(text)
    return [message.text for message in simulation.phones.heard()]


def test_its_flow_can_be_talked_with(simulation: Simulation) -> None:
    assert said(simulation, "order", "4711") == ["Which order?", "Which order?"]
    assert said(simulation, "ZZ999999") == ["Which order?"]
    which_day = "It is in Bogor, and can be with you on 12 May 2030. Which day?"
    assert said(simulation, "AB123456", "12 May") == [
        which_day,
        f"A date, please, for example 5 May.\n\n{which_day}",
    ]
    assert said(simulation, "13 May") == ["We bring …456 on 13 May 2030.", "How do you like us?"]
    assert said(simulation, "many") == ["One to three stars."]
    simulation.tap("★★★")
    assert said(simulation) == ["Thank you for 3 stars."]
