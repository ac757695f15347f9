"""Broadcasts that start a flow: each contact once, whatever is killed; `busy` decides; replies go first; all is counted."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import Send
from bot.core.engine_answers import BroadcastResumed, BroadcastStopped, RecipientsAdded
from bot.core.engine_requests import AddRecipients, BeginCorrection, CorrectRecipients, EndCorrection, RetryDeadLetters
from bot.core.messages import TemplateMessage
from bot.engine.advance import advance
from bot.language.flow.library import Library
from bot.language.python.decorators import handler
from bot.runtime.batch import RequestRefused
from bot.runtime.broadcasting import CANARY_WAITS, NOT_STARTED, STARTING
from bot.store.broadcast_rows import FINISHED, PAUSED, RUNNING, TRYING
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.rows import CAMPAIGN, REPLY, OutboxRow
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.postgres import about_files
from tests.runtime.broadcasting import done, letters, people, resume, stop
from tests.runtime.engine_kit import START, Hands, World, loop_on
from tests.talk import BOT, library_of

FLOWS = """
flow: main
start: {otherwise: true}
steps: {q: {ask: Well?, then: end}}
---
flow: course
vars: {day: {type: integer, needed: true}}
steps:
  lesson: {say: "Day {{ day }}", window_closed: {template: {name: lesson, language: en, body: ["{{ day }}"]}}}
  asks: {ask: Done?, then: end}
---
flow: news
start: {busy: BUSY}
steps: {say: {say: News!, then: end}}
---
flow: looked_up
steps: {look: {call: look, errors: {else: say}}, say: {say: Found., then: end}}
---
flow: silent
vars: {n: {type: integer}}
steps: {count: {set: {n: 1}, then: end}}
"""
ANN, BO, *_ = people(2)


@handler("look")
def look() -> None: ...


def library(busy: str) -> Library:
    bot = BOT + "opt_out: {words: [stop], say: Bye., back: [start]}\n"
    return library_of(FLOWS.replace("BUSY", busy), bot, {"look": look})


def begin(path: Path, clock: MovableClock, inbox: InboxWriter, busy: str = "skip") -> World:
    store, alarms = EngineStore(path), Alarms(clock)
    turns = loop_on(store, clock, partial(advance, library(busy)), alarms)
    world = World(path, clock, inbox, Hands(), Hands(), turns, store, StoreReader(path), alarms)
    turns.start(world.delivery, world.performers)
    return world


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = opened(tmp_path)
    yield world
    world.close()


def opened(folder: Path, busy: str = "skip") -> World:
    path, clock = folder / "bot.db", MovableClock(START)
    migrate(path)
    return begin(path, clock, InboxWriter(path, clock, patience=PATIENCE), busy)


def ask(world: World, *contacts: str, flow: str = "course", name: str = "spring", **data: Any) -> RecipientsAdded:
    data = data or {"day": 3} if flow == "course" else data
    recipients = [{"contact": contact, "data": data} for contact in contacts]
    answer = world.turns.operate(AddRecipients(name, recipients, flow=flow))
    world.settle()
    return answer


def state(world: World, name: str = "spring") -> str:
    found = world.reader.broadcasts.get(name)
    assert found is not None
    return found.state


def rows(world: World) -> list[OutboxRow]:
    return list(world.delivery.rows)


def test_the_flow_starts_for_each_contact_with_its_values_the_first_one_alone(world: World) -> None:
    assert ask(world, *people(3)) == RecipientsAdded(3, 0, 0, 0)
    assert world.texts() == ["Day 3", "Done?"]
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (TRYING, {"waiting": 3})
    done(world, rows(world))
    assert [row.contact for row in rows(world)] == [each for each in people(3)[1:] for _ in range(2)]
    done(world, rows(world))
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (FINISHED, {"started": 3})
    assert world.rules(ANN) == ['start of course: by broadcast "spring"']


def test_a_flow_starts_at_each_contacts_own_time(world: World) -> None:
    times = {ANN: START + timedelta(hours=1), BO: START + timedelta(hours=7)}
    recipients = [{"contact": each, "at": at.isoformat()} for each, at in times.items()]
    request = AddRecipients("spring", recipients, flow="news", at="10:00")
    world.turns.operate(request)
    for contact, at in times.items():
        world.settle()
        assert world.turns.next_wake() == at
        world.clock.move_to(at)
        world.settle()
        assert [row.contact for row in rows(world)] == [contact]
        done(world, rows(world))
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (FINISHED, {"started": 2})


def test_what_it_sends_goes_behind_replies_until_the_contact_writes(world: World) -> None:
    ask(world, ANN)
    assert [row.priority for row in rows(world)] == [CAMPAIGN, CAMPAIGN]
    world.say(ANN, "yes")
    world.say(ANN, "hi")
    assert [row.priority for row in rows(world)] == [CAMPAIGN, CAMPAIGN, REPLY]


def test_only_some_are_started_ahead_of_what_was_sent(world: World) -> None:
    ask(world, *people(100))
    done(world, rows(world))
    started = {row.contact for row in rows(world)}
    assert len(started) == STARTING
    done(world, rows(world)[:2])
    assert len({row.contact for row in rows(world)} - started) == 1
    assert world.reader.broadcasts.outcomes("spring") == {"started": 2, "waiting": 98}


def test_calls_count_as_what_is_on_its_way_and_the_message_after_one_is_the_contacts(world: World) -> None:
    ask(world, *people(60), flow="looked_up")
    (call,) = world.performers.rows  # the first goes alone
    world.performers.rows.clear()
    world.call_ends(call, value={})
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 60}
    done(world, rows(world))
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (
        RUNNING,
        {"started": 1 + STARTING, "waiting": 39},
    )
    assert len(world.performers.rows) == STARTING


@pytest.mark.parametrize(
    ("busy", "outcome", "texts"),
    [
        ("skip", "skipped", []),
        ("after", "waits", []),
        ("notice", "started (notice)", ["News!"]),
        ("interrupt", "started (interrupt)", ["News!", "Well?"]),
        ("replace", "started (replace)", ["News!"]),
    ],
)
def test_the_flows_busy_decides_for_a_contact_in_a_conversation(
    tmp_path: Path, busy: str, outcome: str, texts: list[str]
) -> None:
    world = opened(tmp_path, busy)
    world.say(ANN, "hi")
    done(world, rows(world))
    ask(world, ANN, flow="news")
    assert world.texts() == texts
    done(world, rows(world))
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (FINISHED, {outcome: 1})
    world.close()


def test_a_start_that_waited_for_a_conversation_is_counted_as_started(tmp_path: Path) -> None:
    world = opened(tmp_path, "after")
    world.say(ANN, "hi")
    done(world, rows(world))
    ask(world, ANN, flow="news")
    world.say(ANN, "fine")
    assert world.texts() == ["News!"]
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 1}
    done(world, rows(world))
    assert world.reader.broadcasts.outcomes("spring") == {"started": 1}
    world.close()


def test_the_message_of_a_start_that_waited_is_a_dead_letter_if_it_is_refused(tmp_path: Path) -> None:
    world = opened(tmp_path, "after")
    world.say(ANN, "hi")
    done(world, rows(world))
    ask(world, ANN, flow="news")
    world.say(ANN, "fine")
    world.report(world.delivery.pop(), "failed", "no", code="WHATSAPP_SEND_FAILED")
    assert world.reader.broadcasts.outcomes("spring") == {"failed (WHATSAPP_SEND_FAILED)": 1}
    assert len(letters(world)) == 1
    assert rows(world) == []
    world.close()


def test_who_has_opted_out_gets_nothing_before_and_after_the_request(world: World) -> None:
    world.say(BO, "stop")
    done(world, rows(world))
    assert ask(world, *people(40)).opted_out == 1
    last = people(40)[-1]
    world.say(last, "stop")
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 38, "opted_out": 1}
    done(world, [row for row in rows(world) if row.priority == CAMPAIGN])
    while [row for row in rows(world) if row.priority == CAMPAIGN]:
        done(world, [row for row in rows(world) if row.priority == CAMPAIGN])
    assert world.reader.broadcasts.outcomes("spring") == {"started": 38, "opted_out": 1}


def test_a_flow_without_messages_goes_on_by_itself_to_the_end(world: World) -> None:
    ask(world, *people(50), flow="silent")
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (FINISHED, {"started": 50})


def test_values_that_do_not_fit_start_nothing_and_pause_it_soon(world: World) -> None:
    ask(world, *people(10), day="x")
    found = world.reader.broadcasts.get("spring")
    assert found is not None and (found.state, found.code) == (PAUSED, NOT_STARTED)
    assert world.reader.broadcasts.outcomes("spring") == {f"failed ({NOT_STARTED})": 3, "paused": 7}
    assert rows(world) == []
    assert [alarm.about for alarm in world.alarms.current()] == ["spring"]
    assert "its flow could not be started" in world.alarms.current()[0].what


def test_what_the_gateway_refuses_pauses_it_and_a_resumption_starts_the_flow_anew(world: World) -> None:
    ask(world, *people(3), flow="news")
    (first,) = rows(world)
    world.delivery.rows.clear()
    world.report(first, "failed", "no", code="132000")
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (PAUSED, {"failed (132000)": 1, "paused": 2})
    assert resume(world) == BroadcastResumed(3, 0)
    (again,) = rows(world)
    assert letters(world) == []
    done(world, [again])
    done(world, rows(world))
    assert (state(world), world.reader.broadcasts.outcomes("spring")) == (FINISHED, {"started": 3})


def test_closed_windows_are_counted_and_pause_it_when_nearly_all_are_closed(world: World) -> None:
    ask(world, *people(12), flow="news")
    for _ in range(10):
        if not rows(world):
            break
        row = rows(world)[0]
        world.delivery.rows.remove(row)
        world.report(row, "failed", "the 24-hour window is closed", code="window_closed")
    assert state(world) == PAUSED
    assert world.reader.broadcasts.outcomes("spring")["failed (window_closed)"] == 9


def test_a_template_in_the_place_of_a_message_counts_as_started(world: World) -> None:
    ask(world, ANN)
    first, second = rows(world)
    assert isinstance(first.effect, Send) and first.effect.instead == TemplateMessage(
        "lesson", "en", None, ({"type": "text", "text": "3"},)
    )
    world.delivery.rows.clear()
    world.report(first, "replaced")
    world.report(second, "superseded")
    assert world.reader.broadcasts.outcomes("spring") == {"started": 1}
    session = world.reader.sessions.get(ANN)
    assert session is not None and session.frame is not None and session.frame.question.undelivered


def test_a_stop_starts_no_more_and_leaves_those_who_are_in_the_flow(world: World) -> None:
    ask(world, *people(30))
    done(world, rows(world))
    assert stop(world) == BroadcastStopped(9, 20)
    done(world, rows(world))
    assert world.reader.broadcasts.outcomes("spring") == {"started": 21, "stopped": 9}
    assert resume(world) == BroadcastResumed(9, 0)
    done(world, rows(world))
    done(world, rows(world))
    assert world.reader.broadcasts.outcomes("spring") == {"started": 30}


def test_a_first_message_that_waits_for_long_holds_up_nobody(world: World) -> None:
    ask(world, *people(3), flow="news")
    assert len(rows(world)) == 1
    world.clock.move(CANARY_WAITS)
    world.say("49", "hi")
    assert [row.contact for row in rows(world) if row.priority == CAMPAIGN] == people(2)


def test_a_correction_has_those_who_were_not_started_begin_with_other_values(world: World) -> None:
    ask(world, *people(10), day="x")
    world.turns.operate(BeginCorrection("spring", flow="course"))
    recipients = [{"contact": contact, "data": {"day": 4}} for contact in people(10)]
    corrected = world.turns.operate(CorrectRecipients("spring", 1, recipients))
    assert corrected.corrected == 10
    world.turns.operate(EndCorrection("spring", 1))
    assert resume(world) == BroadcastResumed(10, 0)
    assert world.texts() == ["Day 4", "Done?"]
    with pytest.raises(RequestRefused, match='the broadcast "spring" starts a flow, and a correction does so too'):
        world.turns.operate(BeginCorrection("spring", {"name": "sale", "language": "en"}))


def test_a_dead_letter_of_its_message_is_sent_again_and_the_flow_is_not_started_again(world: World) -> None:
    ask(world, ANN)
    first, second = rows(world)
    world.delivery.rows.clear()
    world.report(first, "failed", "no", code="WHATSAPP_SEND_FAILED")
    world.report(second)
    assert world.reader.broadcasts.outcomes("spring") == {"failed (WHATSAPP_SEND_FAILED)": 1}
    world.turns.operate(RetryDeadLetters(letters(world)))
    world.settle()
    (again,) = rows(world)
    assert again.effect == first.effect
    done(world, [again])
    assert world.reader.broadcasts.outcomes("spring") == {"started": 1}
    assert len([rule for rule in world.rules(ANN) if rule.startswith("start of")]) == 1


@pytest.mark.parametrize("flow", ["course", "looked_up", "silent"])
@about_files
def test_killed_after_any_commit_it_goes_on_and_starts_the_flow_for_nobody_twice(tmp_path: Path, flow: str) -> None:
    (tmp_path / "0").mkdir()
    world, number, keys = opened(tmp_path / "0"), 0, dict[str, set[str]]()
    ask(world, *people(50), flow=flow)
    while world.reader.broadcasts.outcomes("spring").keys() - {"started"}:
        note_keys(world, keys)
        if world.performers.rows:
            world.call_ends(world.performers.pop(), value={})
        elif rows(world):
            done(world, rows(world)[:3])
        note_keys(world, keys)
        number += 1
        if number % 5 == 0:
            left = shutil.copytree(world.path.parent, tmp_path / str(number))  # as a kill leaves it
            world.close()
            world = begin(left / "bot.db", world.clock, InboxWriter(left / "bot.db", world.clock, patience=PATIENCE))
            world.settle()
        assert number < 500
    assert {len(each) for each in keys.values()} <= {2 if flow == "course" else 1}
    starts = [rule for each in people(50) for rule in world.rules(each) if rule.startswith("start of")]
    assert len(starts) == 50
    world.close()


def note_keys(world: World, keys: dict[str, set[str]]) -> None:
    for row in rows(world):
        keys.setdefault(row.contact, set()).add(row.key)


def test_the_same_name_with_another_flow_or_a_template_is_refused(world: World) -> None:
    ask(world, ANN)
    with pytest.raises(RequestRefused, match="starts another flow"):
        ask(world, BO, flow="news")
    with pytest.raises(RequestRefused, match="data is an object"):
        world.turns.operate(AddRecipients("n", [{"contact": ANN, "data": []}], flow="x"))
