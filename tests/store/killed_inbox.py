"""A program for `test_inbox_killed`: appends in forked processes that kill themselves between any two statements."""

import os
import shutil
import signal
import sys
import threading
from pathlib import Path

from bot.core.clock import MovableClock
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.sqlite_schema import migrate
from tests.store.store_kit import START, append, sqlite

SENDERS = 3
EVENTS = 4


def send_all(path: Path, kill_at: int | None) -> None:
    """Append everything from several threads; note each event that was acknowledged."""
    acknowledged = os.open(path.with_name("acknowledged"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    inbox = InboxWriter(path, MovableClock(START))
    left = [kill_at or 0]

    def step(statement: str) -> None:
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    sqlite(inbox).set_trace_callback(step)

    def send(sender: int) -> None:
        for number in range(EVENTS):
            append(inbox, f"evt_{sender}_{number}", f"delivery_{sender}_{number}")
            os.write(acknowledged, f"evt_{sender}_{number}\n".encode())

    senders = [threading.Thread(target=send, args=(sender,)) for sender in range(SENDERS)]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    inbox.close()


def in_child(path: Path, kill_at: int | None) -> bool:
    child = os.fork()
    if child == 0:
        status = 1
        try:
            send_all(path, kill_at)
            status = 0
        finally:
            os._exit(status)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    return code == 0


def events_in(path: Path) -> list[str]:
    reader = InboxReader(path)
    events = [row.event_id for row in reader.after(0, 1000)]
    reader.close()
    return events


def main(folder: Path) -> int:
    """Check every place; returns how many there were."""
    original = folder / "original" / "bot.db"
    original.parent.mkdir()
    migrate(original)
    place = 0
    while True:
        place += 1
        path = folder / str(place) / "bot.db"
        shutil.copytree(original.parent, path.parent)
        alive = in_child(path, place)
        notes = path.with_name("acknowledged")
        lost = set(notes.read_text().split()) - set(events_in(path))
        assert not lost, (place, lost)
        if alive:
            return place
        assert in_child(path, None)  # the senders try again: everything once
        assert sorted(events_in(path)) == sorted(f"evt_{s}_{n}" for s in range(SENDERS) for n in range(EVENTS)), place


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))
