"""The log and the times that are due are taken in the order in which they happened, however late the engine is."""

import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.events import Event, TimeReached
from bot.core.session import Session
from bot.core.turn import Turn
from bot.engine.advance import advance
from bot.runtime.batch import Advance
from bot.runtime.engine_cycle import AT_ONCE
from bot.store.inbox import InboxWriter
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime import engine_kit
from tests.runtime.engine_kit import START, begin
from tests.talk import BOT, library_of

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
ANN, BOB = "6281234567890", "6281234567891"
FLOWS = """
flow: main
start: {words: [hi]}
vars: {name: {type: text}, day: {type: text}}
steps:
  name: {ask: Your name?, save: name, remind: {after: 30m, say: Still there?}, timeout: {after: 12h, say: Until later., then: pause}}
  hello: {ask: "Which day, {{ name }}?", save: day, timeout: {after: 36h, then: end}}
  thanks: {say: "{{ day }} it is.", then: end}
  pause: {wait: 2h}
  back_again: {ask: Shall we go on?, save: day, timeout: {after: 20h, then: end}}
  on: {say: "So {{ day }}.", then: end}
---
flow: lesson
start: {words: [lesson]}
steps:
  on: {say: Every morning., schedule: {flow: tip, every: day at 9:00, busy: skip}, then: end}
---
flow: tip
steps: {tip: {say: A tip., then: end}}
"""
FLOWS_AS_THEY_ARE = partial(advance, library_of(FLOWS, BOT))


class Life:
    """A store whose engine runs only when the test says so. The log keeps what was said at each time."""

    def __init__(self, path: Path, advance: Advance) -> None:
        migrate(path)
        self.path, self.clock, self.advance = path, MovableClock(START), advance
        self.inbox = InboxWriter(path, self.clock, patience=PATIENCE)
        self.reader = StoreReader(path)
        self._said = 0

    def say(self, text: str, after: timedelta = timedelta(), contact: str = ANN) -> None:
        self.clock.move_to(START + after)  # never back, also if the time that the log has is an earlier one
        self._said += 1
        id = f"evt_{self._said}"
        body = json.dumps({"id": id, "contact": contact, "text": text}).encode()
        self.inbox.append(self.inbox.event(None, id, "message.inbound", contact, START + after, body, True))

    def report(self, text: str, after: timedelta) -> None:
        """The gateway reports that a message with this text was sent."""
        self.clock.move_to(START + after)
        data = {"message_id": "m1", "to": ANN, "text": text}
        at = (START + after).isoformat()
        body = json.dumps({"id": "evt_sent", "event": "message.sent", "timestamp": at, "data": data}).encode()
        self.inbox.append(self.inbox.event(None, "evt_sent", "message.sent", None, START + after, body, True))

    def catch_up(self, after: timedelta | None = None) -> None:
        """Let an engine run at a time, until it has nothing to do."""
        if after is not None:
            self.clock.move_to(START + after)
        world = begin(self.path, self.clock, self.inbox, advance=self.advance)
        world.settle()
        world.stop()

    def turns(self, contact: str = ANN) -> list[tuple[str, timedelta]]:
        """What was taken, and when it happened."""
        found = []
        for turn in self.reader.trace.turns(contact, 1000):
            assert isinstance(turn.event, Event)
            found.append((turn.event_id, turn.event.at - START))
        return found

    def said(self) -> list[str]:
        rows = self.reader.database.all("SELECT effect FROM messages ORDER BY id")
        return [json.loads(effect)["$Send"]["message"]["$TextMessage"]["body"] for (effect,) in rows]

    def close(self) -> None:
        self.inbox.close()
        self.reader.close()


NewLife = Callable[[Advance], Life]


@pytest.fixture
def new_life(tmp_path: Path) -> Iterator[NewLife]:
    lives: list[Life] = []

    def make(advance: Advance = FLOWS_AS_THEY_ARE) -> Life:
        folder = tmp_path / str(len(lives))
        folder.mkdir()
        lives.append(Life(folder / "bot.db", advance))
        return lives[-1]

    yield make
    for life in lives:
        life.close()


def kinds(life: Life, contact: str = ANN) -> str:
    return "".join("t" if id.startswith("time:") else "m" for id, _ in life.turns(contact))


SAID = ((timedelta(), "hi"), (20 * HOUR, "tomorrow"))


def test_the_history_is_as_if_the_engine_had_never_stood_still(new_life: NewLife) -> None:
    """A reminder, a time-out and the end of a wait come before what was written after them, each at its time."""
    lived, stood_still = new_life(FLOWS_AS_THEY_ARE), new_life(FLOWS_AS_THEY_ARE)
    moments = sorted({after for after, _ in SAID} | {30 * MINUTE, 12 * HOUR + 30 * MINUTE, 14 * HOUR + 30 * MINUTE})
    for moment in moments:
        for text in (text for after, text in SAID if after == moment):
            lived.say(text, moment)
        lived.catch_up(moment)
    for after, text in SAID:
        stood_still.say(text, after)
    stood_still.catch_up()
    assert stood_still.said() == ["Your name?", "Still there?", "Until later.", "Shall we go on?", "So tomorrow."]
    assert stood_still.turns() == lived.turns()
    assert [after for _, after in lived.turns()] == moments


def test_a_time_that_the_engine_is_late_for_is_as_late_in_no_turn(new_life: NewLife) -> None:
    """So what follows comes when it would have, and a second life has the same ids."""
    in_time, late = new_life(FLOWS_AS_THEY_ARE), new_life(FLOWS_AS_THEY_ARE)
    for life, delay in ((in_time, timedelta()), (late, 4 * MINUTE)):
        life.say("hi")
        life.catch_up()
        life.catch_up(30 * MINUTE + delay)
        life.catch_up(12 * HOUR + 30 * MINUTE + 2 * delay)
    assert late.turns() == in_time.turns()
    assert len(in_time.turns()) == 3


def test_behind_the_last_event_nothing_piles_up_for_days(new_life: NewLife) -> None:
    life = new_life(FLOWS_AS_THEY_ARE)
    life.say("lesson")
    life.catch_up()
    life.catch_up(timedelta(days=30))
    assert life.said().count("A tip.") <= 2


def test_a_message_of_the_same_moment_comes_before_a_time(new_life: NewLife) -> None:
    life = new_life(FLOWS_AS_THEY_ARE)
    life.say("hi")
    life.say("Ann", 30 * MINUTE)
    life.catch_up()
    assert kinds(life) == "mm"


def test_a_report_of_the_same_moment_comes_behind_a_time_since_it_may_be_of_what_was_sent_then(
    new_life: NewLife,
) -> None:
    """Else an older copy of the store takes it for an agent's message, and is silent."""
    life = new_life(FLOWS_AS_THEY_ARE)
    life.say("hi")
    life.report("Still there?", 30 * MINUTE)
    life.catch_up()
    assert life.said() == ["Your name?", "Still there?"]


def test_a_time_waits_for_no_more_of_the_log_than_came_before_it(new_life: NewLife) -> None:
    """Not for the end of a long log: a time is as late as a message that came when it was due."""
    order: list[str] = []

    def noted(session: Session, event: Event) -> Turn:
        order.append("time" if isinstance(event, TimeReached) else "message")
        return engine_kit.advance(session, event)

    life = new_life(noted)
    life.say("wait")
    for n in range(4 * AT_ONCE):
        life.say("hi", HOUR + (n - AT_ONCE) * timedelta(seconds=1), contact=BOB)
    life.catch_up()
    assert order.index("time") == 1 + AT_ONCE + 1


def test_more_times_are_due_than_one_commit_takes(new_life: NewLife) -> None:
    life = new_life(engine_kit.advance)
    contacts = [str(int(ANN) + n) for n in range(AT_ONCE + 20)]
    for contact in contacts:
        life.say("wait", contact=contact)
    life.catch_up()
    for contact in contacts:
        life.say("hi", 2 * HOUR, contact=contact)
    life.catch_up()
    assert {kinds(life, contact) for contact in contacts} == {"mtm"}


def test_a_log_whose_times_step_back_keeps_its_order(new_life: NewLife) -> None:
    """The clock that noted them was set back: the order of the log decides, and what was due before is taken before."""
    life = new_life(engine_kit.advance)
    life.say("wait")
    life.say("hi", 2 * HOUR, contact=BOB)
    life.say("hi", 30 * MINUTE)
    life.catch_up(2 * HOUR)
    assert kinds(life) == "mtm"
