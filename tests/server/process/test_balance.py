"""Which shards move between machines, and who takes one that is free: what every engine works out for itself."""

import os
import random
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.server.process import engine_process
from bot.server.process.balance import shard_to_move, should_yield
from bot.server.process.engine_process import LEFT_SECONDS, MOVE_SECONDS, ShardWatch
from bot.store.database import PostgresAddress, ServingMachine, shards_of


def machine(
    works: set[int], shards: int, lately: tuple[int, ...] = (), *, waits: bool = True, is_this: bool = False
) -> ServingMachine:
    """A machine whose engines work on these of so many shards, and wait for the others."""
    rest = {*range(shards)} - works if waits else set()
    engine = "works" if works else "waits" if rest else "none"
    return ServingMachine("m", engine, tuple(sorted(works)), tuple(sorted(rest)), lately, is_this)  # type: ignore[arg-type]


def test_a_shard_moves_from_a_machine_that_works_on_two_more_to_one_that_waits_for_it() -> None:
    assert shard_to_move([machine({0, 1, 2, 3}, 4), machine(set(), 4)], 4) == 3
    assert shard_to_move([machine({0, 1, 2}, 4), machine({3}, 4)], 4) == 2
    assert shard_to_move([machine({0, 1}, 4), machine({2, 3}, 4)], 4) is None
    assert shard_to_move([machine({0, 1}, 3), machine({2}, 3)], 3) is None
    assert shard_to_move([machine({0, 1, 2, 3}, 4), machine(set(), 4, waits=False)], 4) is None
    assert shard_to_move([machine({0, 1, 2, 3}, 4)], 4) is None
    assert shard_to_move([], 4) is None


def test_no_shard_moves_while_another_has_no_engine_and_none_that_has_just_moved() -> None:
    assert shard_to_move([machine({0, 1, 2}, 4), machine(set(), 4)], 4) is None
    assert shard_to_move([machine({0, 1, 2, 3}, 4, lately=(2, 3)), machine(set(), 4)], 4) == 1
    assert shard_to_move([machine({0, 1}, 2, lately=(0, 1)), machine(set(), 2)], 2) is None


def test_a_free_shard_is_left_to_a_machine_that_works_on_fewer_and_waits_for_it() -> None:
    this, other = machine({0, 1}, 4, is_this=True), machine({3}, 4)
    assert should_yield([this, other], 2)
    assert not should_yield([machine({0, 1}, 4), machine({3}, 4, is_this=True)], 2)
    assert not should_yield([this, machine({3}, 4, waits=False)], 2)
    assert not should_yield([this], 2)
    assert not should_yield([], 2), "its first session is only to come"


def test_of_machines_that_work_on_as_many_one_takes_a_free_shard_and_each_takes_some() -> None:
    takes = [
        [
            not should_yield([machine(set(), 4, is_this=place == this) for place in range(3)], shard)
            for this in range(3)
        ].index(True)
        for shard in range(4)
    ]
    assert takes == [0, 1, 2, 0]


def test_from_any_beginning_the_shares_become_even_and_stay_so() -> None:
    dice = random.Random(1)
    for _ in range(200):
        shards, count = dice.randrange(1, 17), dice.randrange(1, 5)
        at = [dice.randrange(count) for _ in range(shards)]
        for _ in range(shards):
            machines = [machine({s for s in range(shards) if at[s] == place}, shards) for place in range(count)]
            if (moved := shard_to_move(machines, shards)) is None:
                break
            views = [
                [
                    machine({s for s in range(shards) if at[s] == place and s != moved}, shards, is_this=place == this)
                    for place in range(count)
                ]
                for this in range(count)
            ]
            (at[moved],) = [this for this, view in enumerate(views) if not should_yield(view, moved)]
        works = [at.count(place) for place in range(count)]
        assert max(works) - min(works) <= 1, works


def test_a_shard_moves_when_its_engine_makes_no_call_or_after_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, calling = 100.0, True
    monkeypatch.setattr("bot.server.process.engine_process.monotonic", lambda: now)
    engine: Any = SimpleNamespace(is_calling=lambda: calling)
    loader: Any = SimpleNamespace(is_newest=lambda: True)
    machines = [machine({0, 1}, 2), machine(set(), 2)]
    database: Any = SimpleNamespace(machines=lambda: machines)
    stays, moves = (
        ShardWatch(shard, engine, loader, database)
        for shard in shards_of(PostgresAddress("postgresql://db/bot", Path("bot"), Path(), 2))
    )
    assert not moves.ends()
    calling = False
    assert moves.ends() and not stays.ends()
    calling = True
    now += MOVE_SECONDS - 1
    assert not moves.ends()
    machines.pop()
    now += 1
    assert not moves.ends(), "the other machine has gone"
    machines.append(machine(set(), 2))
    assert not moves.ends(), "it is asked anew"
    now += MOVE_SECONDS
    assert moves.ends()


@pytest.mark.parametrize("others_stay", [True, False])
def test_an_engine_leaves_its_shard_to_another_machine_for_a_moment_once_it_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others_stay: bool
) -> None:
    _, shard = shards_of(PostgresAddress("postgresql://db/bot", tmp_path / "bot", tmp_path, 2))
    engine: Any = object()
    asked = looks = 0

    def others_run() -> bool:
        nonlocal asked
        asked += 1
        return asked <= 8

    def machines() -> list[ServingMachine]:
        nonlocal looks
        looks += 1
        this, other = machine({0}, 2, is_this=True), machine(set(), 2)
        return [this, other] if others_stay or looks < 4 else [this]

    for name, stands_in in {
        "monotonic": lambda: LEFT_SECONDS / 4 * asked,
        "other_engines": lambda store, able: nullcontext(others_run),
        "WakePipe": lambda file: None,
        "_composed": lambda *_: engine,
        "TAKE_OVER_SECONDS": 0,
    }.items():
        monkeypatch.setattr(engine_process, name, stands_in)
    read, write = os.pipe()
    settings: Any = SimpleNamespace(store=shard)
    loader: Any = SimpleNamespace(refusal=None, newest=lambda: None)
    database: Any = SimpleNamespace(machines=machines)
    assert engine_process._composed_in_turn(settings, loader, database, {"news": write, "woken": read}, read) is engine
    assert (asked, looks) == ((13, 5) if others_stay else (11, 4))
    os.close(read)
    os.close(write)
