"""What the gateway tells of besides messages, from its signed event to the bot, and what it is told, with all parts."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import PutContact
from bot.core.events import ContactChanged, SendEnded
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = "name: Test\ndefaults: {timeout: {after: 3d, then: end}}\n"
FLOW = """
flow: main
start: {otherwise: true}
steps:
  vip: {say: Welcome, tag: vip}
  more: {ask: More?}
"""


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    with Simulation(load_program(read_folder(tmp_path)), MovableClock(START)) as running:
        yield running


@pytest.mark.parametrize("name", ["required", "optional"])
@pytest.mark.parametrize("tags", ["replace", "merge"])
def test_a_tag_reaches_the_gateway_and_its_echo_starts_no_circle(simulation: Simulation, name: Any, tags: Any) -> None:
    emulator = simulation.emulator
    emulator.behaviour.contact_name, emulator.behaviour.contact_tags = name, tags
    emulator.behaviour.companion_events = True
    emulator.edit(simulation.contact, tags=["old"])
    simulation.settle()
    simulation.user("hi")
    contact = emulator.contact(simulation.contact)
    assert (contact["tags"], contact["name"]) == (["old", "vip"], simulation.contact)
    assert simulation.stored.session().tags == ("old", "vip")
    put = [effect for turn in simulation.stored.trace() for effect in turn.effects if isinstance(effect, PutContact)]
    assert [effect.tags for effect in put] == [("old", "vip")]
    echoes = [turn for turn in simulation.stored.trace() if isinstance(turn.event, ContactChanged)]
    assert len(echoes) == 2
    assert emulator.unknown_fields == set()
    assert emulator.counts.get("answered 422", 0) == 0, "a name is required, and the number is one"
    assert simulation.stored.dead_letters() == []


@pytest.mark.parametrize("first", [True, False], ids=["before the answer", "after it"])
@pytest.mark.parametrize("shape", ["flat", "nested", "bare"])
def test_a_message_that_fails_is_seen_whenever_and_however_it_is_told(
    simulation: Simulation, first: bool, shape: Any
) -> None:
    behaviour = simulation.emulator.behaviour
    behaviour.statuses, behaviour.statuses_first, behaviour.status_payload = ("sent", "failed"), first, shape
    simulation.user("hi")
    assert [letter.what for letter in simulation.stored.dead_letters()] == ["send", "send"]
    assert all("WHATSAPP_SEND_FAILED" in letter.reason for letter in simulation.stored.dead_letters())
    ended = [turn.event for turn in simulation.stored.trace() if isinstance(turn.event, SendEnded)]
    assert [event.outcome for event in ended] == ["refused", "refused"]
    statuses = [status.name for turn in simulation.stored.trace() for status in turn.statuses if status is not None]
    assert statuses == ["failed", "failed"]


def test_an_event_with_nothing_but_the_gateways_id_has_the_contact_read_again(simulation: Simulation) -> None:
    simulation.emulator.edit(simulation.contact, name="Ann", tags=["old"], new=True)
    simulation.settle()
    simulation.emulator.edit(simulation.contact, tags=["gold"], silent=True)
    simulation.emulator.emit("contact.updated", {"contact_id": 1})
    simulation.emulator.emit("contact.updated", {"contact_id": 99})
    simulation.settle()
    simulation.user("hi")
    contact = simulation.emulator.contact(simulation.contact)
    assert (contact["name"], contact["tags"]) == ("Ann", ["vip", "gold"])
    assert simulation.stored.dead_letters() == []
