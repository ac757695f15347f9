"""Broadcasts on each contact's own clock: once, at its time; late after an outage within a bound, and else missed."""

import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_answers import BroadcastResumed, BroadcastStopped, EngineAnswer, RecipientsAdded
from bot.core.engine_requests import (
    AddRecipients,
    BeginCorrection,
    CorrectRecipients,
    EndCorrection,
    as_json,
    read_request,
)
from bot.runtime import engine_loop
from bot.runtime.batch import RequestRefused
from bot.store.broadcast_rows import FINISHED, RUNNING, SCHEDULED
from tests.patience import PATIENCE
from tests.postgres import about_files
from tests.runtime.broadcasting import SALE, begun, continued, done, people, resume, stop
from tests.runtime.engine_kit import START, World, open_world

HOUR = timedelta(hours=1)
ANN, BO, CY = people(3)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = open_world(tmp_path / "bot.db", prepare=lambda store: begun(store, "summer"))
    yield made
    made.close()


def ask(world: World, times: dict[str, int], **more: Any) -> EngineAnswer:
    """Contacts whose clocks show the time in so many minutes."""
    request = AddRecipients("spring", recipients(world, times), SALE, at="10:00", late=3600)
    answer = world.turns.operate(read_request({**as_json(request), **more}))
    world.settle()
    return answer


def recipients(world: World, times: dict[str, int]) -> list[dict[str, str]]:
    now = world.clock.now()
    return [{"contact": each, "at": (now + timedelta(minutes=by)).isoformat()} for each, by in times.items()]


def wait(world: World, **by: float) -> None:
    until = world.clock.now() + timedelta(**by)
    while (due := world.turns.next_wake()) is not None and due <= until:
        world.clock.move_to(due)
        world.settle()
    world.clock.move_to(until)
    world.settle()


def send(world: World) -> list[str]:
    """Send what is in the outbox; to whom."""
    contacts = list[str]()
    while world.delivery.rows:
        contacts += [row.contact for row in world.delivery.rows]
        done(world, list(world.delivery.rows))
    return contacts


def state(world: World) -> str:
    found = world.reader.broadcasts.get("spring")
    assert found is not None
    return found.state


def test_each_contact_gets_it_at_its_own_time_and_the_report_says_who_is_still_to_come(world: World) -> None:
    ask(world, {ANN: 60, BO: 120, CY: 60})
    assert world.reader.broadcasts.outcomes("spring") == {"scheduled": 3}
    assert world.reader.broadcasts.to_come("spring") == {START + HOUR: 2, START + 2 * HOUR: 1}
    assert (state(world), world.turns.next_wake()) == (SCHEDULED, START + HOUR)
    wait(world, minutes=59)
    assert send(world) == []
    wait(world, minutes=1)
    assert send(world) == [ANN, CY]
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 2, "scheduled": 1}
    assert (state(world), world.turns.next_wake()) == (RUNNING, START + 2 * HOUR)
    wait(world, minutes=60)
    assert send(world) == [BO]
    assert (state(world), world.reader.broadcasts.to_come("spring"), world.turns.next_wake()) == (FINISHED, {}, None)


@about_files
def test_a_server_that_was_down_at_the_time_sends_late_within_the_bound_and_else_counts_it_as_missed(
    world: World, tmp_path: Path
) -> None:
    ask(world, {ANN: 60, BO: 90, CY: 300})
    down = shutil.copytree(tmp_path, tmp_path / "down")
    world.clock.move(timedelta(minutes=121))  # an hour and a minute after the first, half an hour after the second
    with continued(down, world) as restarted:
        restarted.settle()
        assert send(restarted) == [BO]
        assert restarted.reader.broadcasts.outcomes("spring") == {"missed": 1, "sent": 1, "scheduled": 1}
        wait(restarted, hours=3)
        assert send(restarted) == [CY]
        assert state(restarted) == FINISHED
        assert restarted.reader.broadcasts.outcomes("spring") == {"missed": 1, "sent": 2}


@about_files
def test_one_that_all_have_missed_is_finished_and_the_log_and_the_list_say_so(
    world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ask(world, {ANN: 60, BO: 60})
    down = shutil.copytree(tmp_path, tmp_path / "down")
    world.clock.move(timedelta(days=1))
    with continued(down, world) as restarted:
        restarted.settle()
        assert (send(restarted), state(restarted)) == ([], FINISHED)
        assert restarted.reader.broadcasts.outcomes("spring") == {"missed": 2}
        assert 'no server ran when the broadcast "spring" was due for 2 contacts: they get nothing' in caplog.text
        assert [each.missed for each in restarted.reader.broadcasts.all() if each.name == "spring"] == [2]
        assert ask(restarted, {ANN: 60}) == RecipientsAdded(0, 1, 0, 0)


def test_what_waits_for_the_gateways_limits_is_not_missed(world: World) -> None:
    ask(world, dict.fromkeys(people(150), 60))
    wait(world, hours=1)
    done(world, list(world.delivery.rows))  # the first one alone, and a hundred come
    wait(world, hours=5)
    assert len(send(world)) == 149
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 150}


@about_files
def test_killed_before_or_after_the_time_is_noted_nobody_gets_it_twice(world: World, tmp_path: Path) -> None:
    ask(world, dict.fromkeys(people(30), 60))
    before = shutil.copytree(tmp_path, tmp_path / "before")
    wait(world, hours=1)
    first = world.delivery.rows[0]
    with continued(before, world) as restarted:
        restarted.settle()
        assert restarted.delivery.rows[0].key == first.key
        assert sorted(send(restarted)) == people(30)
    assert sorted(send(world)) == people(30)


def test_who_is_resumed_after_its_time_gets_it_then_and_the_others_at_their_time(world: World) -> None:
    ask(world, {ANN: 60, BO: 600})
    assert stop(world) == BroadcastStopped(2, 0)
    assert (world.reader.broadcasts.outcomes("spring"), world.turns.next_wake()) == ({"stopped": 2}, None)
    wait(world, hours=5)
    assert resume(world) == BroadcastResumed(1, 1)
    assert send(world) == [ANN]
    wait(world, hours=5)
    assert send(world) == [BO]


@about_files
def test_a_correction_moves_the_time_or_leaves_it_and_has_those_who_missed_it_get_it(
    world: World, tmp_path: Path
) -> None:
    ask(world, {ANN: 60, BO: 300, CY: 300})
    down = shutil.copytree(tmp_path, tmp_path / "down")
    world.clock.move(timedelta(hours=3))
    with continued(down, world) as restarted:
        restarted.settle()
        assert restarted.reader.broadcasts.outcomes("spring") == {"missed": 1, "scheduled": 2}
        correct(restarted, {ANN: 0, BO: 0}, moved=False)
        assert resume(restarted) == BroadcastResumed(1, 1)
        assert send(restarted) == [ANN]
        assert restarted.reader.broadcasts.to_come("spring") == {START + 5 * HOUR: 1}
        correct(restarted, {BO: 24 * 60}, moved=True, at="11:00")
        assert resume(restarted) == BroadcastResumed(0, 1)
        assert restarted.reader.broadcasts.to_come("spring") == {START + 27 * HOUR: 1}
        wait(restarted, hours=24)
        assert send(restarted) == [BO]
        assert restarted.reader.broadcasts.outcomes("spring") == {"sent": 2, "left_out": 1}


def correct(world: World, times: dict[str, int], moved: bool, **more: Any) -> None:
    edit = world.turns.operate(BeginCorrection("spring", SALE, **more)).edit
    request = CorrectRecipients("spring", edit, recipients(world, times), moved)
    world.turns.operate(request)
    world.turns.operate(EndCorrection("spring", edit))
    world.settle()


def test_a_clock_that_is_set_back_sends_it_once(world: World) -> None:
    ask(world, {ANN: 60, BO: 61})
    wait(world, hours=1)
    assert send(world) == [ANN]
    world.clock.step(timedelta(hours=-2))
    world.settle()
    assert send(world) == []
    wait(world, hours=4)
    assert send(world) == [BO]


@pytest.mark.parametrize(
    "wrong",
    [
        {"late": 59},
        {"late": 10**30},
        {"late": float("inf")},
        {"recipients": [{"contact": ANN, "at": "10:00"}]},
        {"recipients": [{"contact": ANN, "at": datetime.max.isoformat() + "-01:00"}]},
    ],
)
def test_a_request_whose_times_make_no_sense_is_refused_whole(world: World, wrong: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused, match=r"number of seconds|a recipient's at is a time with its offset"):
        ask(world, {ANN: 60}, **wrong)
    assert world.reader.broadcasts.get("spring") is None


def test_a_time_with_half_a_character_is_kept_as_the_store_can(world: World) -> None:
    ask(world, {ANN: 60}, at="10:00\ud800")
    found = world.reader.broadcasts.get("spring")
    assert found is not None and found.at == "10:00\\ud800"


def test_another_time_under_the_same_name_is_refused(world: World) -> None:
    ask(world, {ANN: 60})
    with pytest.raises(RequestRefused, match='the broadcast "spring" was requested for another time'):
        ask(world, {BO: 60}, at="11:00")


def test_of_very_many_whose_time_has_come_some_wait_at_a_time_and_all_get_it(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_loop, "_ANSWERED_WITHIN", PATIENCE)
    ask(world, dict.fromkeys(people(2500), 60))
    wait(world, hours=1)
    assert world.reader.broadcasts.to_come("spring") == {}
    assert sorted(send(world)) == people(2500)
    assert state(world) == FINISHED
