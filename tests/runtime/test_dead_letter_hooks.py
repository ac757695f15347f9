"""Dead letters are told to the hooks that hear of them: durable in the commit that makes them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.core.effects import RunHook, Send
from tests.runtime.engine_kit import World, advance, begin, open_world

ANN = "6281234567890"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = open_world(tmp_path / "bot.db")
    made.turns.use(advance, ("dead_letter/a", "dead_letter/b"))
    yield made
    made.close()


def tells(world: World) -> list[RunHook]:
    return [row.effect for row in world.performers.rows if isinstance(row.effect, RunHook)]


def test_each_hook_is_told_of_a_turn_that_failed(world: World) -> None:
    world.say(ANN, "boom")
    (first, second) = tells(world)
    assert (first.hook, second.hook) == ("dead_letter/a", "dead_letter/b")
    assert first.told["at"] == world.clock.now()
    reason = world.reader.dead_letters.newest()[0].reason
    assert {name: first.told[name] for name in ("contact", "what", "reason")} == {
        "contact": ANN, "what": "turn", "reason": reason,
    }  # fmt: skip


def test_each_row_has_a_key_of_its_own(world: World) -> None:
    world.say(ANN, "boom")
    world.say(ANN, "boom")
    assert len({row.key for row in world.performers.rows}) == 4


def test_an_event_that_nobody_can_read_is_told_without_a_contact(world: World) -> None:
    world.inbox.append(world.inbox.event(None, "evt_x", "message.inbound", None, world.clock.now(), b"{", False))
    world.turns.wake()
    world.settle()
    assert [(tell.told["contact"], tell.told["what"]) for tell in tells(world)] == [(None, "event")] * 2


def test_a_message_that_cannot_be_sent_is_told(world: World) -> None:
    world.say(ANN, "hi")
    world.report(next(row for row in world.delivery.rows if isinstance(row.effect, Send)), "failed", "no such number")
    assert [tell.told["reason"] for tell in tells(world)] == ["no such number"] * 2


def test_after_a_restart_it_is_told_again_with_the_same_key_until_it_has_ended(world: World) -> None:
    world.say(ANN, "boom")
    keys = [row.key for row in world.performers.rows]
    world.stop()
    again = begin(world.path, world.clock, world.inbox)
    assert [row.key for row in again.performers.wait_for(2)] == keys
    for row in again.performers.rows:
        again.call_ends(row, "error")
    assert again.reader.dead_letters.newest(), "the letter is not gone by that"
    again.stop()
    last = begin(world.path, world.clock, world.inbox)
    last.settle()
    assert last.performers.rows == []
    world.turns, world.store = last.turns, last.store


def test_without_such_hooks_nothing_is_told(world: World) -> None:
    world.turns.use(advance)
    world.say(ANN, "boom")
    assert tells(world) == []
