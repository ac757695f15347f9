"""What the tests of broadcasts share."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_answers import BroadcastResumed, BroadcastStopped, RecipientsAdded
from bot.core.engine_requests import AddRecipients, ResumeBroadcast, StopBroadcast
from bot.core.messages import TemplateMessage
from bot.store.broadcast_rows import RUNNING, Broadcast
from bot.store.commit import Commit
from bot.store.dead_letter_rows import ALL_LETTERS
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.rows import OutboxRow
from tests import postgres
from tests.patience import PATIENCE
from tests.runtime.engine_kit import START, World, begin, sent

SALE = {"name": "sale", "language": "en"}


def begun(store: EngineStore, *names: str) -> None:
    """Broadcasts whose first message, to somebody else, the gateway has taken."""
    commit = Commit(store.cursor, START)
    for name in names:
        commit.broadcasts.set(None, Broadcast(name, TemplateMessage("sale", "en"), RUNNING, recent=("",)))
    store.write(commit)


def ask(world: World, *contacts: str, name: str = "spring", template: dict[str, Any] = SALE) -> RecipientsAdded:
    recipients = [{"contact": contact, "body": [f"for {contact}"]} for contact in contacts]
    answer = world.turns.operate(AddRecipients(name, recipients, template))
    world.settle()
    return answer


def people(number: int, start: int = 0) -> list[str]:
    return [str(6280000000000 + n) for n in range(start, start + number)]


def done(world: World, rows: list[OutboxRow]) -> None:
    for row in rows:
        world.delivery.rows.remove(row)
        world.turns.sent(sent(row))
    world.settle()


def stop(world: World, name: str = "spring") -> BroadcastStopped:
    answer = world.turns.operate(StopBroadcast(name))
    world.settle()
    return answer


def resume(world: World, name: str = "spring") -> BroadcastResumed:
    answer = world.turns.operate(ResumeBroadcast(name))
    world.settle()
    return answer


def letters(world: World) -> list[int]:
    return world.reader.dead_letters.ids(ALL_LETTERS)


def copied(world: World) -> Path:
    """The files as a kill would leave them. (Of PostgreSQL, see tests/server/test_kill.py.)"""
    if postgres.IN_USE:
        pytest.skip("this copies files of SQLite")
    return shutil.copytree(world.path.parent, world.path.parent / "copy")


@contextmanager
def continued(folder: Path, world: World) -> Iterator[World]:
    """What the next run makes of the files that a kill has left."""
    restarted = begin(folder / "bot.db", world.clock, InboxWriter(folder / "bot.db", world.clock, patience=PATIENCE))
    try:
        yield restarted
    finally:
        restarted.close()
