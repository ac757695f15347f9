"""SIGKILL between any two steps: every acknowledged event is taken exactly once, and no healthy one is given up."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.searches import search, tries

ANN = "491701"
BOB = "491702"
ROOT = Path(__file__).parents[2]


def outcomes(folder: Path, said: list[tuple[str, str]], how: str, every: int = 1) -> list[dict[str, Any]]:
    run = subprocess.run(
        [sys.executable, "-m", "tests.runtime.killed_engine_loop", str(folder), json.dumps(said), how, str(every)],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@search
def test_wherever_it_is_killed_each_event_is_taken_once_in_order_and_each_effect_has_one_key(tmp_path: Path) -> None:
    said = [(ANN, "hi"), (BOB, "call"), (ANN, "wait"), (BOB, "hi"), (BOB, "report"), (ANN, "bye")]
    found = outcomes(tmp_path, said, "kill", tries(15, 1))
    assert len(found) > tries(3, 40)
    assert found[0]["kills"] == 2 and found[-1]["kills"] == 0  # from the first statement to behind the last
    for place, one in enumerate(found, start=1):
        bobs = ["evt_1", "call:evt_1#0", "evt_3", "evt_4", "sent:evt_4#0"]
        assert one["taken"] == {ANN: ["evt_0", "evt_2", "evt_5"], BOB: bobs}, place
        refs = ["evt_0#0", "evt_0#1", "evt_3#0", "evt_3#1", "evt_4#0", "evt_5#0", "evt_5#1", "call:evt_1#0#0"]
        assert sorted(one["sent"]) == sorted(refs), place
        performed = [line.split() for line in one["performed"]]
        assert len(performed) == len({ref for ref, _ in performed}) == len(refs) + 1, (
            place
        )  # one key each, and the call
        assert one["dead"] == [], place
        assert one["counts"] == {
            "sessions": 2,
            "parked": 0,
            "outbox": 0,
            "calls": 0,
            "events_out": 0,
            "dead_letters": 0,
        }, place


@search
def test_wherever_it_is_killed_each_event_out_is_delivered_under_one_key_in_order(tmp_path: Path) -> None:
    said = [(ANN, "publish"), (BOB, "publish"), (ANN, "publish")]
    found = outcomes(tmp_path, said, "kill", tries(15, 1))
    assert len(found) > tries(1, 20) and found[-1]["kills"] == 0
    for place, one in enumerate(found, start=1):
        refs = [line.split()[0] for line in one["performed"]]  # each with its key
        assert refs == ["evt_0#0", "evt_0#1", "evt_1#0", "evt_1#1", "evt_2#0", "evt_2#1"], place
        anns = [ref for ref in one["order"] if not ref.startswith("evt_1")]
        assert anns == ["evt_0#0", "evt_0#1", "evt_2#0", "evt_2#1"], place
        assert (one["dead"], one["counts"]["events_out"]) == ([], 0), place


@pytest.mark.parametrize(
    "text, event, before",
    [
        ("die", "evt_1", []),
        ("call, then die", "call:evt_1#0", ["evt_1"]),
        ("wait, then die", "time:", ["evt_1"]),
    ],
)
def test_an_event_that_kills_the_process_is_given_up_and_all_others_are_taken(
    tmp_path: Path, text: str, event: str, before: list[str]
) -> None:
    (one,) = outcomes(tmp_path, [(BOB, "hi"), (ANN, text), (BOB, "hi"), (BOB, "call")], "poison")
    ((what, reason, body),) = one["dead"]
    assert (what, reason) == ("turn", "the engine crashed twice while it took this event")
    assert event in body
    *taken, poison = one["taken"][ANN]
    assert taken == before
    assert poison.startswith(event)
    assert one["taken"][BOB] == ["evt_0", "evt_2", "evt_3", "call:evt_3#0"]
    assert one["kills"] == 4  # two before the quarantine, two in it


def test_a_call_that_kills_the_process_is_given_up_and_all_others_are_made(tmp_path: Path) -> None:
    (one,) = outcomes(tmp_path, [(ANN, "call"), (BOB, "call"), (BOB, "hi"), (ANN, "bye")], "call")
    assert one["kills"] == 4  # two before the quarantine, two in it
    assert one["taken"] == {ANN: ["evt_0", "call:evt_0#0", "evt_3"], BOB: ["evt_1", "call:evt_1#0", "evt_2"]}
    assert one["said"] == {ANN: ["called: error", "1: bye", "2: bye"], BOB: ["called: done", "1: hi", "2: hi"]}
    assert one["dead"] == []
