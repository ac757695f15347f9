"""A clock that is set, on the whole path: reminders, time-outs, waits and schedules of a bot beside the gateway."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FLOWS = """
flow: main
start: {otherwise: true}
steps:
  ask: {ask: Your name?, remind: {after: 10m, say: Still there?, max: 3}, timeout: {after: 30m, say: Too late., then: end}}
  thanks: {say: Thanks., then: end}
---
flow: rest
start: {words: [rest]}
steps: {nap: {wait: 2h}, up: {say: I am back., then: end}}
---
flow: later
start: {words: [later]}
steps: {ok: {say: Fine., schedule: {flow: visit, after: 2h}, then: end}}
---
flow: date
start: {words: [date]}
steps: {ok: {say: Fine., schedule: {flow: visit, at: "2030-05-06T12:00Z"}, then: end}}
---
flow: visit
steps: {hello: {say: Here I am., then: end}}
"""


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    (tmp_path / "bot.yml").write_text("name: Test\n")
    (tmp_path / "flows.yml").write_text(FLOWS)
    with Simulation(load_program(read_folder(tmp_path)), MovableClock(START)) as running:
        yield running


def said(simulation: Simulation) -> list[str]:
    return [message.text for message in simulation.phones.heard()]


def running(simulation: Simulation, by: timedelta) -> None:
    simulation.clock.step(by)
    simulation.settle()


def down(simulation: Simulation, by: timedelta) -> None:
    simulation.running._stop()
    simulation.clock.step(by)
    simulation.running._start()
    simulation.settle()


HOW = pytest.mark.parametrize("step", [running, down])
BY = pytest.mark.parametrize("by", [-DAY, -MINUTE, -400 * DAY], ids=["a day", "a minute", "a year"])

Step = Callable[[Simulation, timedelta], None]


@HOW
@BY
def test_reminders_and_the_time_out_come_no_later_than_they_were_declared(
    simulation: Simulation, step: Step, by: timedelta
) -> None:
    simulation.user("hi")
    simulation.wait(5 * MINUTE)
    step(simulation, by)
    simulation.wait(10 * MINUTE)
    assert said(simulation) == ["Your name?", "Still there?"]
    simulation.wait(20 * MINUTE)
    assert said(simulation) == ["Still there?"] * 2
    simulation.wait(30 * MINUTE)
    assert said(simulation) == ["Too late."]


@HOW
@BY
def test_a_wait_and_a_scheduled_flow_take_no_longer_than_they_were_declared(
    simulation: Simulation, step: Step, by: timedelta
) -> None:
    simulation.user("later")
    simulation.user("rest")
    step(simulation, by)
    simulation.wait(2 * HOUR)
    assert sorted(said(simulation)) == ["Fine.", "Here I am.", "I am back."]


@HOW
def test_an_appointment_keeps_its_day_and_hour(simulation: Simulation, step: Step) -> None:
    simulation.user("date")
    step(simulation, -12 * HOUR)
    simulation.wait(13 * HOUR)
    assert said(simulation) == ["Fine."]
    simulation.wait(HOUR)
    assert said(simulation) == ["Here I am."]


def test_a_reminder_at_a_time_that_has_been_is_another_reminder(simulation: Simulation) -> None:
    simulation.user("hi")
    simulation.wait(10 * MINUTE)
    running(simulation, -10 * MINUTE)
    simulation.wait(10 * MINUTE)
    assert said(simulation) == ["Your name?", "Still there?", "Still there?"]


@HOW
@pytest.mark.parametrize("by", [-DAY, DAY], ids=["back", "forward"])
def test_the_conversation_goes_on_and_the_log_tells_of_it_once(
    simulation: Simulation, step: Step, by: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    simulation.user("hi")
    step(simulation, by)
    simulation.user("Ann")
    simulation.wait(HOUR)
    assert said(simulation)[-1] == "Thanks." if by < timedelta() else True
    told = [line for line in caplog.messages if "the machine's clock was set" in line]
    seen = by < timedelta() or step is running
    assert len(told) == int(seen)
    assert all(("back" if by < timedelta() else "forward") in line and "1 day" in line for line in told)
