"""A program for `test_engine_loop_killed`: takes events in forked processes that are killed between any two steps.

Each child works on a copy of a store and kills itself with SIGKILL right before its n-th SQL statement. It is
begun again until it comes to its end. What the store says then is printed, a JSON object a line.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence, Set
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import Send
from bot.core.events import CallEnded, Event, MessageReceived, TimeReached
from bot.core.messages import TextMessage
from bot.core.session import Session
from bot.core.turn import Turn
from bot.runtime.batch import EngineShare
from bot.runtime.engine_cycle import EngineCycle
from bot.runtime.engine_loop import EngineLoop
from bot.runtime.metrics import EngineMetrics
from bot.runtime.performers import CallAttempt, CrashQuarantine, Performers, Say
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.rows import CallRow
from bot.store.sqlite_schema import migrate
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, advance, called, read, sent
from tests.store.store_kit import sqlite

MOST_RUNS = 12
DIES = "491701"


class Eager:
    """Does every row at once, and writes down what it did."""

    def __init__(self, done: Callable[[Any], None], notes: Path) -> None:
        self._done = done
        self._notes = notes

    def offer(self, rows: Sequence[Any]) -> None:
        with self._notes.open("a") as notes:
            for row in rows:
                notes.write(f"{row.ref} {row.key}\n")
        for row in rows:
            self._done(row)

    def accepts(self, rows: Sequence[Any]) -> list[Any]:
        return list(rows)

    def accepts_again(self) -> bool:
        return False

    def withdraw(self, contact: str) -> None:
        raise AssertionError("nobody is erased here")

    def take_back(self, ids: Set[int]) -> set[int]:
        raise AssertionError("no broadcast is stopped here")

    def ends_stored(self, ids: Set[int]) -> None:
        pass

    def room(self) -> int:
        return 5

    def idle(self) -> bool:
        return True


def deadly(session: Session, event: Event) -> Turn:
    """A stub of the engine; some events kill the process."""
    match event:
        case MessageReceived(text="die"):
            os.kill(os.getpid(), signal.SIGKILL)
        case TimeReached() | CallEnded() if session.name == "die then":
            os.kill(os.getpid(), signal.SIGKILL)
        case MessageReceived(text="wait, then die" | "call, then die" as text):
            session.name = "die then"
            return advance(session, MessageReceived(event.id, event.contact, event.at, event.at, "text", text[:4]))
    return advance(session, event)


def deadly_call(row: CallRow, say: Say) -> CallAttempt:
    """A stub of a handler: the one that is called for the first contact kills the process."""
    if row.contact == DIES:
        os.kill(os.getpid(), signal.SIGKILL)
    return CallAttempt("done")


def take(path: Path, kill_at: int | None, deadly_calls: bool) -> None:
    """Take everything there is and end; or die before the statement number ``kill_at``."""
    store = EngineStore(path)
    left = [kill_at or 0]

    def step(statement: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite(store).set_trace_callback(step)
    clock = MovableClock(START + timedelta(hours=2))
    alarms = Alarms(clock)
    cycle = EngineCycle(
        store, InboxReader(path), clock, deadly, read, EngineMetrics(), alarms, share=EngineShare(clock)
    )
    loop = EngineLoop(cycle, clock, alarms)
    notes = path.with_name("notes")
    quarantine = CrashQuarantine(cycle.crashes.may_crash, loop.claim, is_suspect=cycle.crashes.is_suspect)
    performers = Performers(deadly_call, clock, loop.called, quarantine=quarantine)
    eager = Eager(lambda row: loop.called(called(row)), notes)
    loop.start(Eager(lambda row: loop.sent(sent(row)), notes), performers if deadly_calls else eager)
    performers.start()
    assert loop.wait_settled(PATIENCE)
    performers.stop(PATIENCE)
    assert loop.stop(PATIENCE)
    store.close()


def in_child(work: Callable[[], None]) -> bool:
    """True when the work came to its end, False when it was killed."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code == 0


def prepare(folder: Path, said: Sequence[tuple[str, str]]) -> Path:
    """A store whose inbox holds what contacts have said: (contact, text)."""
    folder.mkdir()
    path = folder / "bot.db"
    migrate(path)
    inbox = InboxWriter(path, MovableClock(START))
    for number, (contact, text) in enumerate(said):
        body = json.dumps({"id": f"evt_{number}", "contact": contact, "text": text}).encode()
        inbox.append(inbox.event(None, f"evt_{number}", "message.inbound", contact, START, body, True))
    inbox.close()
    return path


def outcome(path: Path, kills: int, contacts: Sequence[str]) -> dict[str, Any]:
    reader = StoreReader(path)
    notes = path.with_name("notes")
    return {
        "kills": kills,
        "taken": {contact: [turn.event_id for turn in reader.trace.turns(contact, 1000)] for contact in contacts},
        "said": {contact: _said(reader, contact) for contact in contacts},
        "sent": [row[0] for row in reader.database.all("SELECT ref FROM sent ORDER BY id")],
        "performed": sorted(set(notes.read_text().splitlines())) if notes.exists() else [],
        "order": list(dict.fromkeys(line.split()[0] for line in notes.read_text().splitlines()))
        if notes.exists()
        else [],
        "counts": reader.counts(),
        "dead": [(letter.what, letter.reason, letter.body) for letter in reader.dead_letters.newest()],
    }


def _said(reader: StoreReader, contact: str) -> list[str]:
    loop = sorted(reader.trace.turns(contact, 1000), key=lambda turn: turn.at)
    sends = [effect for turn in loop for effect in turn.effects if isinstance(effect, Send)]
    return [send.message.body for send in sends if isinstance(send.message, TextMessage)]


def main(folder: Path, said: Sequence[tuple[str, str]], how: str, every: int) -> None:
    """Print the outcome for each place where the process can be killed (twice), or of the one run without kills.

    With ``every`` 5 it is each fifth place.
    """
    original = prepare(folder / "original", said)
    contacts = sorted({contact for contact, _ in said})
    place = 1 - every
    while True:
        place += every
        path = folder / str(place) / "bot.db"
        shutil.copytree(original.parent, path.parent)
        kills = 0
        while not in_child(partial(take, path, place if how == "kill" and kills < 2 else None, how == "call")):
            kills += 1
            assert kills < MOST_RUNS
        print(json.dumps(outcome(path, kills, contacts)))
        if how != "kill" or kills == 0:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
