"""The line that each turn has in the log where it is asked for."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.telemetry import TURNS, redact
from bot.runtime.metrics import EngineMetrics
from tests.runtime.engine_kit import World, open_world

CONTACT = "6281234567890"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = open_world(tmp_path / "bot.db")
    yield world
    world.close()


def fields(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [vars(record)["fields"] for record in caplog.records if record.name == TURNS]


def test_a_wake_up_has_the_contacts_name_and_nothing_of_its_number(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, TURNS)
    world.say(CONTACT, "wait")
    world.clock.move(timedelta(hours=1))
    world.settle()
    first, second = fields(caplog)
    assert second["event_id"].startswith(f"time:{first['contact']}:")
    assert CONTACT not in caplog.text


def test_a_contacts_name_is_never_taken_for_a_number(world: World, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, TURNS)
    for n in range(50):
        world.say(str(6281234567800 + n), "hi", settle=False)
    world.settle()
    names = {line["contact"] for line in fields(caplog)}
    assert len(names) == 50
    assert {redact(name) for name in names} == names


def test_a_call_is_counted_once_it_has_ended(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[tuple[str, str]] = []
    monkeypatch.setattr(EngineMetrics, "called", lambda self, kind, outcome: ended.append((kind, outcome)))
    world.say(CONTACT, "call")
    row = world.performers.pop()
    world.call_ends(row, "said", "a paragraph")
    assert ended == []
    world.call_ends(row)
    assert ended == [("call", "done")]


def test_each_question_to_a_model_that_failed_is_counted_and_each_failed_try_is_traced_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[tuple[str, str]] = []
    monkeypatch.setattr(EngineMetrics, "model_failed", lambda self, model, outcome: failed.append((model, outcome)))
    world.say(CONTACT, "call")
    row = world.performers.pop()
    for attempt in (1, 2):
        world.call_ends(row, "retry", attempts=attempt, detail=f"failure {attempt}", failures=(("acme/one", "down"),))
        row = replace(row, attempts=attempt)
    world.call_ends(row, failures=(("acme/one", "quota"), ("acme/two", "down")))
    assert failed == [("acme/one", "down"), ("acme/one", "down"), ("acme/one", "quota"), ("acme/two", "down")]
    tries = [turn for turn in world.reader.trace.turns(CONTACT, 10) if turn.rule == "retry"]
    assert [(turn.event, turn.notes) for turn in tries] == [
        ({"call": 'handler "look_up"', "try": attempt}, [f"failure {attempt}"]) for attempt in (1, 2)
    ]


def test_a_commits_time_is_counted_from_the_begin_of_its_pass(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    took: list[float] = []
    monkeypatch.setattr(EngineMetrics, "committed", lambda self, *counted: took.append(counted[-1]))
    world.clock.move(timedelta(hours=1))
    world.say(CONTACT, "hi")
    took.clear()  # the pass may have begun before the clock was moved
    world.say(CONTACT, "hi")
    assert set(took) == {0.0}
