"""A contact and a bot by the real path, on a clock that is moved."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.clock import MovableClock
from bot.folder import read_folder
from bot.program import Program, load_program
from bot.simulation.bubble import Bubble
from bot.simulation.simulation import NotOnScreen, Simulation
from tests.cli.terminal import BOT, make_bot

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {name: {type: text}}
steps:
  name: {ask: Your name?, save: name, remind: {after: 2h, say: Still there?}, timeout: {after: 30h, then: bye}}
  hello: {ask: "Hello {{ name }}, tea?", buttons: {"Yes": tea, "No": end}}
  tea: {template: {name: tea, language: en}, replies: {Thanks: end}}
  bye: {say: Bye}
"""
WITH_TEMPLATE = BOT.replace("defaults: {", "defaults: {window_closed: {template: {name: come_back, language: en}}, ")


def program_of(folder: Path, flows: str = FLOWS, bot: str = BOT) -> Program:
    return load_program(read_folder(make_bot(folder, flows, bot=bot)))


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    with Simulation(program_of(tmp_path), MovableClock(START)) as simulation:
        yield simulation


def texts(bubbles: list[Bubble]) -> list[str]:
    return [bubble.template or bubble.text for bubble in bubbles]


def test_what_the_bot_says_is_heard_once(simulation: Simulation) -> None:
    simulation.user("hi")
    assert texts(simulation.heard()) == ["Your name?"]
    assert simulation.heard() == []


def test_buttons_and_a_templates_replies_are_tapped_by_title(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.user("Ann")
    simulation.tap("Yes")
    assert texts(simulation.heard()) == ["Your name?", "Hello Ann, tea?", "tea"]
    simulation.tap("Thanks")
    assert simulation.session().frames == ()


def test_nothing_can_be_tapped_that_was_not_shown(simulation: Simulation) -> None:
    simulation.user("hi")
    with pytest.raises(NotOnScreen, match='no button "Yes"'):
        simulation.tap("Yes")


def test_time_passes_from_one_thing_that_falls_due_to_the_next(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(hours=1, minutes=59))
    assert texts(simulation.heard()) == ["Your name?"]
    simulation.wait(timedelta(minutes=1))
    assert texts(simulation.heard()) == ["Still there?"]
    assert simulation.clock.now() == START + timedelta(hours=2)
    assert [turn.at for turn in simulation.trace()] == [START, START + timedelta(hours=2)]


def test_a_message_outside_the_window_is_given_up_in_words(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(days=3))
    assert texts(simulation.heard()) == ["Your name?", "Still there?"]
    (letter,) = simulation.dead_letters()
    assert "window" in letter.reason


def test_templates_of_the_flows_count_as_approved(tmp_path: Path) -> None:
    with Simulation(program_of(tmp_path, bot=WITH_TEMPLATE), MovableClock(START)) as talk:
        talk.user("hi")
        talk.wait(timedelta(days=3))
        assert texts(talk.heard()) == ["Your name?", "Still there?", "come_back"]


def test_a_restart_makes_the_contact_somebody_new(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.restart()
    assert simulation.session().frames == ()
    simulation.wait(timedelta(hours=2))
    assert simulation.heard() == []
    simulation.user("hi")
    assert texts(simulation.heard()) == ["Your name?"]


def test_a_swap_serves_the_next_event_by_the_new_flows_and_their_templates(
    simulation: Simulation, tmp_path: Path
) -> None:
    simulation.user("hi")
    simulation.swap(program_of(tmp_path, FLOWS.replace("name: tea,", "name: chai,")))
    simulation.user("Ann")
    simulation.tap("Yes")
    assert texts(simulation.heard())[-1] == "chai"


def test_the_store_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Simulation(program_of(tmp_path / "bot"), MovableClock(START)) as simulation:
        simulation.user("hi")
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["bot"]
