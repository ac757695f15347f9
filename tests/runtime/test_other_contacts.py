"""What a turn causes at other contacts: in the same commit, in order, and not without end. The real engine on a store."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.events import SignalReceived
from bot.core.values import json_text
from bot.engine.advance import advance
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.talk import BOT, CONTACT, library_of

OTHERS = ["6281234567891", "6281234567892"]
FLOWS = """
flow: main
start: {words: [taxi]}
vars: {drivers: {type: list, value: ["6281234567891", "6281234567892"]}}
steps:
  ask: {start: /offer, each: drivers, contact: "{{ it }}", with: {rider: "{{ contact.id }}"}, errors: {else: end}}
  who: {wait: 5m, signals: {taken: {say: "{{ event.by }} takes it.", then: end}}, then: end}
---
flow: offer
vars: {rider: phone}
steps:
  free: {ask: Free?}
  yes: {signal: taken, contact: "{{ rider }}", with: {by: "{{ contact.id }}"}, then: end, errors: {else: end}}
---
flow: round_and_round
start: {words: [again]}
vars: {here: phone, there: {type: phone, value: "6281234567891"}}
steps:
  on: {start: /round_and_round, contact: "{{ there }}", with: {here: "{{ there }}", there: "{{ contact.id }}"}, then: end, errors: {else: end}}
"""


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    path, clock = tmp_path / "bot.db", MovableClock(START)
    migrate(path)
    store, inbox = EngineStore(path), InboxWriter(path, clock, patience=PATIENCE)
    alarms, library = Alarms(clock), library_of(FLOWS, BOT + "signals: {taken: {by: phone}}\n")
    turn = partial(advance, library)
    turns = loop_on(store, clock, turn, alarms)
    opened = World(path, clock, inbox, Hands(), Hands(), turns, store, StoreReader(path), alarms)
    turns.start(opened.delivery, opened.performers)
    yield opened
    opened.close()


def test_flows_start_for_others_with_the_turn_that_starts_them(world: World) -> None:
    world.say(CONTACT, "taxi")
    assert [(row.contact, row.effect.message.body) for row in world.delivery.rows] == [
        (each, "Free?") for each in OTHERS
    ]
    (turn,) = world.reader.trace.turns(OTHERS[1], 5)
    assert turn.rule == "start of offer: by main/ask"


def test_a_signal_reaches_the_conversation_that_waits_and_only_the_first_counts(world: World) -> None:
    world.say(CONTACT, "taxi")
    world.say(OTHERS[1], "yes")
    world.say(OTHERS[0], "yes")
    assert [text for text in world.texts() if "takes" in text] == [f"{OTHERS[1]} takes it."]
    rules = [turn.rule for turn in world.reader.trace.turns(CONTACT, 5)]
    assert sorted(rules[-2:]) == ["signal taken", "signal taken: nobody waits for it"]


def test_what_would_go_round_for_ever_ends_with_a_dead_letter(world: World) -> None:
    world.say(CONTACT, "again")
    (letter,) = world.reader.dead_letters.newest()
    assert letter.reason.startswith("more than 10 starts and signals led here")
    assert world.texts() == []


def test_a_signal_that_the_web_process_has_kept_is_taken_once(world: World) -> None:
    world.say(CONTACT, "taxi")
    signal = SignalReceived("signal:1", CONTACT, START, "taken", {"by": OTHERS[0]}, "api")
    for _ in range(2):
        world.inbox.append(
            world.inbox.event(None, signal.id, "signal", CONTACT, START, json_text(signal).encode(), True)
        )
        world.turns.wake()
        world.settle()
    assert [text for text in world.texts() if "takes" in text] == [f"{OTHERS[0]} takes it."]
