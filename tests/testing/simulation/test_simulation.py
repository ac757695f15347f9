"""A contact and a bot by the real path, on a clock that is moved."""

import os
import signal
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.events import MessageReceived
from bot.core.values import Location
from bot.language.flow.trigger_index import name_of_event
from bot.loading.folder import read_folder
from bot.loading.program import Program, load_program
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS, NothingYet
from bot.testing.simulation.phone import NotOnScreen, ShownMessage
from bot.testing.simulation.simulation import Simulation
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


def texts(bubbles: list[ShownMessage]) -> list[str]:
    return [message.template or message.text for message in bubbles]


def test_what_the_bot_says_is_heard_once(simulation: Simulation) -> None:
    simulation.user("hi")
    assert texts(simulation.phones.heard()) == ["Your name?"]
    assert simulation.phones.heard() == []


def test_buttons_and_a_templates_replies_are_tapped_by_title(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.user("Ann")
    simulation.tap("Yes")
    assert texts(simulation.phones.heard()) == ["Your name?", "Hello Ann, tea?", "tea"]
    simulation.tap("Thanks")
    assert simulation.stored.session().frames == ()


def test_nothing_can_be_tapped_that_was_not_shown(simulation: Simulation) -> None:
    simulation.user("hi")
    with pytest.raises(NotOnScreen, match='no button "Yes"'):
        simulation.tap("Yes")


def test_time_passes_from_one_thing_that_falls_due_to_the_next(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(hours=1, minutes=59))
    assert texts(simulation.phones.heard()) == ["Your name?"]
    simulation.wait(timedelta(minutes=1))
    assert texts(simulation.phones.heard()) == ["Still there?"]
    assert simulation.clock.now() == START + timedelta(hours=2)
    assert [turn.at for turn in simulation.stored.trace()] == [START, START + timedelta(hours=2)]


def test_a_message_outside_the_window_is_given_up_in_words(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(days=3))
    assert texts(simulation.phones.heard()) == ["Your name?", "Still there?"]
    (letter,) = simulation.stored.dead_letters()
    assert "window" in letter.reason


def test_templates_of_the_flows_count_as_approved(tmp_path: Path) -> None:
    with Simulation(program_of(tmp_path, bot=WITH_TEMPLATE), MovableClock(START)) as talk:
        talk.user("hi")
        talk.wait(timedelta(days=3))
        assert texts(talk.phones.heard()) == ["Your name?", "Still there?", "come_back"]


def test_the_contact_can_become_new_contact(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.become_new_contact()
    assert simulation.stored.session().frames == ()
    simulation.wait(timedelta(hours=2))
    assert simulation.phones.heard() == []
    simulation.user("hi")
    assert texts(simulation.phones.heard()) == ["Your name?"]


def test_what_happened_is_known_longer_than_the_store_keeps_it(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(days=30))
    simulation.user("hi")
    start = "start of main: otherwise"
    assert [turn.rule for turn in simulation.stored.trace(100)].count(start) == 1
    assert [turn.rule for turn in simulation.stored.all_turns()].count(start) == 2


def test_a_restart_is_noticed_by_nobody(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.restart()
    assert texts(simulation.phones.heard()) == ["Your name?"]
    simulation.user("Ann")
    simulation.tap("Yes")
    assert texts(simulation.phones.heard()) == ["Hello Ann, tea?", "tea"]
    assert simulation.stored.complaints() == []


def test_an_event_that_is_delivered_again_is_taken_once(simulation: Simulation) -> None:
    with pytest.raises(NothingYet):
        simulation.gateway.repeat()
    simulation.user("hi")
    simulation.gateway.repeat()
    assert texts(simulation.phones.heard()) == ["Your name?"]
    assert len(simulation.stored.trace()) == 1


@pytest.mark.parametrize("event", [event for event in GATEWAY_EVENTS if not event.startswith("message")])
def test_what_the_gateway_tells_of_a_contact_reaches_the_bot(simulation: Simulation, event: str) -> None:
    simulation.user("hi")
    simulation.gateway.happen(event, {})
    told = simulation.stored.trace()[-1].event
    assert not isinstance(told, dict) and name_of_event(told) == event


@pytest.mark.parametrize("event", [event for event in GATEWAY_EVENTS if event.startswith("message")])
def test_what_becomes_of_the_newest_message_reaches_the_bot(simulation: Simulation, event: str) -> None:
    with pytest.raises(NothingYet, match="no message has been sent"):
        simulation.gateway.happen(event, {})
    simulation.user("hi")
    simulation.gateway.happen(event, {})
    (status,) = simulation.stored.trace()[0].statuses
    assert status is not None and f"message.{status.name}" == event


def test_what_a_contact_sends_has_its_content(simulation: Simulation) -> None:
    simulation.send("image", "Me", b"a photo")
    event = simulation.stored.trace()[-1].event
    assert isinstance(event, MessageReceived) and event.media is not None and event.media.caption == "Me"
    assert simulation.emulator.media[event.media.url.rsplit("/", 1)[-1]] == b"a photo"
    simulation.send("location", location={"latitude": 1.5, "longitude": 2.5})
    event = simulation.stored.trace()[-1].event
    assert isinstance(event, MessageReceived) and event.location == Location(1.5, 2.5)


def test_what_is_late_keeps_the_time_when_it_was_sent(simulation: Simulation) -> None:
    simulation.user("hi", late=timedelta(minutes=2))
    event = simulation.stored.trace()[-1].event
    assert isinstance(event, MessageReceived)
    assert (event.sent_at, event.at) == (START - timedelta(minutes=2), START)


def test_a_swap_serves_the_next_event_by_the_new_flows_and_their_templates(
    simulation: Simulation, tmp_path: Path
) -> None:
    simulation.user("hi")
    simulation.swap(program_of(tmp_path, FLOWS.replace("name: tea,", "name: chai,")))
    simulation.user("Ann")
    simulation.tap("Yes")
    assert texts(simulation.phones.heard())[-1] == "chai"


def test_the_store_is_thrown_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with Simulation(program_of(tmp_path / "bot"), MovableClock(START)) as simulation:
        simulation.user("hi")
        assert len(list(tmp_path.iterdir())) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["bot"]


def test_a_ctrl_c_in_the_middle_of_a_wait_is_noticed_behind_it(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[str] = []

    def wait_until(condition: object, timeout: float) -> bool:
        waits.append("begun")
        os.kill(os.getpid(), signal.SIGINT)
        waits.append("ended")
        return False

    monkeypatch.setattr(simulation.emulator, "wait_until", wait_until)
    with pytest.raises(KeyboardInterrupt):
        simulation.settle()
    assert waits == ["begun", "ended"], "it could have left a lock held for ever"
