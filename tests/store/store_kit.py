"""What the tests of the store share."""

from datetime import UTC, datetime
from pathlib import Path

from bot.clock import MovableClock
from bot.store.inbox import Appended, InboxWriter

START = datetime(2030, 5, 6, 9, 0, tzinfo=UTC)


def append(inbox: InboxWriter, event_id: str, delivery: str | None = None, body: bytes = b"{}") -> Appended:
    return inbox.append(delivery, event_id, "message.inbound", "49170", START, body, True)


def clock() -> MovableClock:
    return MovableClock(START)


def files_of(path: Path) -> list[Path]:
    return sorted(path.parent.iterdir())
