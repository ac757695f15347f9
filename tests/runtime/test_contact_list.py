"""A contact that no event has described is read in the gateway's list before it is changed, from the turn to the gateway."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.engine_requests import RetryDeadLetters
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
  agent: {handoff: sales, closed: end}
"""
EVE = "6281230000009"


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    with Simulation(load_program(read_folder(tmp_path)), MovableClock(START)) as running:
        yield running


def have(simulation: Simulation, count: int) -> None:
    """The account has so many contacts of which no event has told."""
    for number in range(count):
        simulation.emulator.edit(f"62810000{number:05}", name=f"N{number}", tags=[f"t{number}"], silent=True)


def describe(simulation: Simulation) -> None:
    """Somebody has described the contact at the gateway, before the bot was there."""
    simulation.emulator.edit(
        simulation.contact, name="Ann", email="ann@mail.example", tags=["gold", "berlin"], silent=True
    )


def pages_read(simulation: Simulation) -> int:
    return simulation.emulator.counts.get("requests of contacts", 0)


def kept(simulation: Simulation, contact: str = "") -> tuple[str, set[str]]:
    found = simulation.emulator.contact(contact or simulation.contact)
    return found["name"], {*found["tags"]}


@pytest.mark.parametrize("name", ["required", "optional"])
@pytest.mark.parametrize("tags", ["replace", "merge"])
def test_name_and_tags_that_only_the_gateway_knows_survive_the_first_tag(
    simulation: Simulation, name: Any, tags: Any
) -> None:
    simulation.emulator.behaviour.contact_name, simulation.emulator.behaviour.contact_tags = name, tags
    describe(simulation)
    simulation.user("hi")
    assert kept(simulation) == ("Ann", {"gold", "berlin", "vip", "handoff:sales"})
    session = simulation.stored.session()
    assert (session.name, session.email) == ("Ann", "ann@mail.example")
    assert {*session.tags} == {"gold", "berlin", "vip", "handoff:sales"}
    assert "answered 422" not in simulation.emulator.counts
    assert simulation.stored.dead_letters() == []


def test_a_contact_that_an_event_has_described_is_not_read(simulation: Simulation) -> None:
    simulation.emulator.edit(simulation.contact, name="Ann", tags=["gold"])
    simulation.settle()
    simulation.user("hi")
    assert kept(simulation) == ("Ann", {"gold", "vip", "handoff:sales"})
    assert pages_read(simulation) == 0


def test_a_contact_that_the_list_does_not_have_is_made_with_its_number_as_its_name(simulation: Simulation) -> None:
    have(simulation, 120)
    simulation.become(EVE)
    simulation.operator.start("main", {}, None)
    assert kept(simulation, EVE) == (EVE, {"vip", "handoff:sales"})
    assert "answered 422" not in simulation.emulator.counts


def test_the_list_is_read_once_for_all_contacts(simulation: Simulation) -> None:
    have(simulation, 250)
    describe(simulation)
    simulation.user("hi")
    assert kept(simulation) == ("Ann", {"gold", "berlin", "vip", "handoff:sales"})
    assert pages_read(simulation) == 4, "the first, the last, and those between"
    for number in (3, 137, 249):
        simulation.become(f"62810000{number:05}")
        simulation.user("hi")
        assert kept(simulation) == (f"N{number}", {f"t{number}", "vip", "handoff:sales"})
    assert pages_read(simulation) == 4


def test_a_list_that_was_read_today_is_not_read_whole_again_for_a_contact_that_it_did_not_have(
    simulation: Simulation,
) -> None:
    have(simulation, 1_250)
    simulation.user("hi")
    assert pages_read(simulation) == 14, "the last page is read twice"
    simulation.emulator.edit(EVE, name="Eve", tags=["gold"], silent=True)  # the last one
    simulation.become(EVE)
    simulation.user("hi")
    assert kept(simulation) == ("Eve", {"gold", "vip", "handoff:sales"})
    assert pages_read(simulation) == 16, "both ends of the list"
    simulation.become("6281230000010")
    simulation.operator.start("main", {}, None)
    assert pages_read(simulation) == 16 + 11, "and only once"
    *_, letter = simulation.stored.dead_letters()
    assert letter.reason.startswith(
        "the list did not have the contact, and is read again a day after 2030-05-06 10:00 UTC: nothing was sent"
    )
    simulation.wait(timedelta(days=1))
    simulation.become("6281230000011")
    simulation.operator.start("main", {}, None)
    assert kept(simulation, "6281230000011") == ("6281230000011", {"vip", "handoff:sales"})


def test_what_an_event_says_meanwhile_counts_more_than_what_was_read(simulation: Simulation) -> None:
    have(simulation, 2)
    simulation.user("hi")
    simulation.emulator.edit("6281000000001", name="Ben", tags=["new"])
    simulation.settle()
    simulation.become("6281000000001")
    simulation.user("hi")
    assert kept(simulation) == ("Ben", {"new", "vip", "handoff:sales"})


def test_the_list_goes_on_where_it_was_after_a_failure_and_a_restart(simulation: Simulation) -> None:
    have(simulation, 250)
    describe(simulation)
    simulation.emulator.faults.add("error_before", count=2, when=lambda request: request.endpoint == "contacts")
    simulation.user("hi")
    assert kept(simulation) == ("Ann", {"gold", "berlin"})
    simulation.restart()
    simulation.wait(timedelta(minutes=5))
    assert kept(simulation) == ("Ann", {"gold", "berlin", "vip", "handoff:sales"})
    assert simulation.stored.dead_letters() == []


@pytest.mark.parametrize("name", ["required", "optional"])
def test_nothing_is_sent_if_the_list_cannot_be_read_and_an_operator_decides(simulation: Simulation, name: Any) -> None:
    describe(simulation)
    simulation.emulator.behaviour.contact_name = name
    simulation.emulator.behaviour.contact_tags = "merge"
    simulation.emulator.faults.add("send_failed", when=lambda request: request.endpoint == "contacts")
    simulation.user("hi")
    assert kept(simulation) == ("Ann", {"gold", "berlin"})
    *_, letter = simulation.stored.dead_letters()
    assert "nothing was sent: name and tags that the contact has at the gateway are not known" in letter.reason
    assert "`bot queue retry` sends it all the same, without a name" in letter.reason
    simulation.running.engine.operate(RetryDeadLetters([letter.id]))
    simulation.settle()
    if name == "optional":
        assert kept(simulation) == ("Ann", {"gold", "berlin", "vip", "handoff:sales"})
    else:
        assert any("name is required" in letter.reason for letter in simulation.stored.dead_letters())
        assert kept(simulation) == ("Ann", {"gold", "berlin"})
