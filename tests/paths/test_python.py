"""A bot's own Python on the whole path: functions, verbs, providers and hooks, with a real engine."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
BOT = "name: T\ndefaults: {timeout: {after: 1h, then: end}}\n"
FLOWS = """
flow: main
start: {otherwise: true}
vars: {town: text, place: object}
steps:
  town: {ask: "Where are you?", save: town}
  find: {geocode: "{{ town }}", abroad: abroad, save: place, errors: {NoSuchPlace: town, else: broken}}
  near: {branch: [{if: is_near(place), then: home}], then: far}
  home: {say: "{{ town | loud }} is near.", then: end}
  far: {say: "{{ town | loud }} is {{ place.km }} km away.", then: end}
  abroad: {handoff: {team: world, note: "{{ town }}", say: Wait.}, closed: end}
  broken: {say: Something broke., then: end}
"""
CODE = """
from pathlib import Path
from bot import Leave, function, on, provider, step_kind, template_filter

LOG = Path(__file__).parent / "log"

def note(*words):
    with LOG.open("a") as log:
        print(*words, file=log)

class NoSuchPlace(LookupError): ...

@provider("places")
def places():
    note("opened")
    yield {"Bogor": 60, "Depok": 8, "Paris": 11000}
    note("closed")

@step_kind("geocode", outside=True, outcomes=["abroad"], errors=[NoSuchPlace])
class Geocode:
    geocode: str

    def run(self, places, idempotency_key):
        if self.geocode == "Bug":
            raise RuntimeError(self.geocode)
        if self.geocode not in places:
            raise NoSuchPlace(self.geocode)
        place = {"km": places[self.geocode]}
        return Leave("abroad", value=place) if place["km"] > 5000 else place

@function("is_near")
def is_near(place, now):
    return place["km"] < 10

@template_filter("loud")
def loud(text):
    return text.upper()

@on("start")
def start(): note("start")

@on("stop")
def stop(places): note("stop", len(places))

@on("end")
def end(contact, flow, expired, vars): note("end", flow, expired, vars["town"])

@on("error")
def error(flow, step, reason): note("error", flow, step, reason)

@on("handoff")
def handoff(team, note): globals()["note"]("handoff", team, note)
"""


def begun(folder: Path) -> Simulation:
    for name, text in {"bot.yml": BOT, "main.yml": FLOWS, "handlers.py": CODE}.items():
        (folder / name).write_text(text)
    return Simulation(load_program(read_folder(folder)), MovableClock(START))


@pytest.fixture
def simulation(tmp_path: Path) -> Iterator[Simulation]:
    with begun(tmp_path) as started:
        yield started


def said(simulation: Simulation) -> list[str]:
    return [message.text for message in simulation.phones.heard()]


def log(tmp_path: Path) -> list[str]:
    return (tmp_path / "log").read_text().splitlines()


def answered(simulation: Simulation, town: str) -> list[str]:
    simulation.user("hi")
    said(simulation)
    simulation.user(town)
    return said(simulation)


@pytest.mark.parametrize(
    ("town", "texts", "told"),
    [
        ("Depok", ["DEPOK is near."], ["end main False Depok"]),
        ("Bogor", ["BOGOR is 60 km away."], ["end main False Bogor"]),
        ("Atlantis", ["Where are you?"], []),
        ("Paris", ["Wait."], ["handoff world Paris"]),
        ("Bug", ["Something broke."], ["error main find RuntimeError: Bug at handlers.py:25", "end main False Bug"]),
    ],
)
def test_functions_filters_verbs_providers_and_hooks_work_together(
    simulation: Simulation, tmp_path: Path, town: str, texts: list[str], told: list[str]
) -> None:
    assert answered(simulation, town) == texts
    assert sorted(log(tmp_path)[2:]) == sorted(told)
    assert log(tmp_path)[:2] == ["start", "opened"]


def test_a_conversation_that_nobody_ends_has_expired(simulation: Simulation, tmp_path: Path) -> None:
    simulation.user("hi")
    simulation.wait(timedelta(hours=1))
    assert log(tmp_path) == ["start", "end main True None"]


def test_what_was_made_is_closed_after_the_stop_hooks(tmp_path: Path) -> None:
    with begun(tmp_path) as simulation:
        answered(simulation, "Atlantis")
    assert log(tmp_path)[-2:] == ["stop 3", "closed"]


def test_a_reload_takes_new_functions_verbs_and_hooks(simulation: Simulation, tmp_path: Path) -> None:
    answered(simulation, "Atlantis")
    changed = CODE.replace("text.upper()", "text + '!'").replace('note("end", ', 'note("over", ')
    (tmp_path / "handlers.py").write_text(changed)
    simulation.swap(load_program(read_folder(tmp_path)))
    simulation.user("Depok")
    assert said(simulation) == ["Depok! is near."]
    lines = log(tmp_path)
    assert lines[:5] == ["start", "opened", "start", "stop 3", "closed"]
    assert lines[5:] == ["opened", "over main False Depok"]
