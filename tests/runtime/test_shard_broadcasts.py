"""A broadcast in a store that is divided: it is one to who asks about it, although each shard has its own recipients of it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.core.engine_answers import (
    BroadcastResumed,
    BroadcastStopped,
    CorrectionEnded,
    EngineAnswer,
    EngineRefused,
    RecipientsAdded,
    RecipientsCorrected,
    Status,
)
from bot.core.engine_requests import AnyRequest, AskStatus, read_request
from bot.runtime.batch import Batch, RequestRefused
from bot.runtime.broadcasting import finish_done
from bot.runtime.operator_requests import operate
from bot.server.shard_requests import ask_shards
from bot.store.broadcast_rows import EDITING, FINISHED, STOPPED, TRYING
from bot.store.crash_quarantine import ORDINARY
from bot.store.database import PostgresAddress, StoreAddress, shard_number, shards_of
from bot.store.engine_store import EngineStore
from tests.postgres import Postgres, divided_database
from tests.runtime.broadcasting import SALE, people
from tests.runtime.engine_kit import START, advance

SHARDS = 3
OF_FIRST = [contact for contact in people(20) if shard_number(contact, SHARDS) == 0]
OF_LAST = [contact for contact in people(20) if shard_number(contact, SHARDS) == 2]


@pytest.fixture
def store(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with divided_database(postgres, tmp_path, SHARDS) as divided:
        yield divided


def done(shard: StoreAddress, request: AnyRequest) -> EngineAnswer:
    """What the engine of a shard does with a request, and after it."""
    with closing(EngineStore(shard)) as own:
        batch = Batch(own, advance, ORDINARY, START)
        try:
            return operate(batch, request)
        except RequestRefused as refusal:
            raise EngineRefused(str(refusal)) from None
        finally:
            own.write(batch.commit)
            after = Batch(own, advance, ORDINARY, START)
            finish_done(after)
            own.write(after.commit)


def ask(store: StoreAddress, do: str, contacts: list[str] | None = None, **more: Any) -> Any:
    request = {"do": do, "name": "spring", **more}
    if contacts is not None:
        request["recipients"] = [{"contact": contact, "body": []} for contact in contacts]
    return ask_shards(
        store,
        read_request(request),
        lambda shard, part: Status() if isinstance(part, AskStatus) else done(shard, part),
    )


def refusal(store: StoreAddress, do: str, contacts: list[str] | None = None, **more: Any) -> str:
    with pytest.raises(EngineRefused) as refused:
        ask(store, do, contacts, **more)
    return str(refused.value)


def states(store: StoreAddress) -> list[str | None]:
    found: list[str | None] = []
    for shard in shards_of(store):
        with closing(EngineStore(shard)) as own:
            broadcast = own.broadcasts.get("spring")
            found.append(None if broadcast is None else broadcast.state)
    return found


def test_only_shards_with_recipients_have_it_at_first(store: PostgresAddress) -> None:
    assert ask(store, "broadcast", OF_FIRST, template=SALE) == RecipientsAdded(len(OF_FIRST), 0, 0, 0)
    assert states(store) == [TRYING, None, None]


def test_what_one_shard_would_refuse_all_refuse(store: PostgresAddress) -> None:
    ask(store, "broadcast", OF_FIRST, template=SALE)
    other = {"name": "other", "language": "en"}
    refused = refusal(store, "broadcast", OF_LAST, template=other)
    assert refused.startswith('the broadcast "spring" sends another template')
    assert refusal(store, "broadcast", OF_LAST + OF_FIRST, template=other) == refused
    assert states(store) == [TRYING, None, None], "what is refused adds nothing"
    ask(store, "stop")
    assert refusal(store, "broadcast", OF_LAST, template=SALE).startswith('the broadcast "spring" was stopped')


def test_more_recipients_begin_it_in_their_shard(store: PostgresAddress) -> None:
    ask(store, "broadcast", OF_FIRST, template=SALE)
    assert ask(store, "broadcast", OF_FIRST + OF_LAST, template=SALE) == RecipientsAdded(
        len(OF_LAST), len(OF_FIRST), 0, 0
    )
    assert states(store) == [TRYING, None, TRYING]


def test_it_is_stopped_and_resumed_in_all_shards(store: PostgresAddress) -> None:
    ask(store, "broadcast", OF_FIRST + OF_LAST, template=SALE)
    assert ask(store, "stop") == BroadcastStopped(len(OF_FIRST + OF_LAST), 0)
    assert states(store) == [STOPPED] * 3
    assert ask(store, "resume") == BroadcastResumed(len(OF_FIRST + OF_LAST), 0)
    assert states(store) == [TRYING, FINISHED, TRYING]


def test_a_correction_reaches_contacts_of_every_shard(store: PostgresAddress) -> None:
    ask(store, "broadcast", OF_FIRST, template=SALE)
    ask(store, "edit", template=SALE)  # it is broken off: in this shard it has another number than in the others now
    begun = ask(store, "edit", template={**SALE, "name": "corrected"})
    assert begun.in_flight == 0 and states(store) == [EDITING] * 3
    assert refusal(store, "broadcast", OF_LAST, template=SALE).startswith('the broadcast "spring" sends another')
    corrected = ask(store, "correct", [*OF_LAST, *OF_FIRST[1:]], edit=begun.edit)
    assert corrected == RecipientsCorrected(len(OF_FIRST) - 1, len(OF_LAST), 0, 0, 0)
    assert ask(store, "end_edit", edit=begun.edit) == CorrectionEnded(1)
    assert states(store) == [STOPPED] * 3


def test_of_two_corrections_at_once_the_first_is_refused(store: PostgresAddress) -> None:
    ask(store, "broadcast", OF_FIRST, template=SALE)
    first = ask(store, "edit", template=SALE)
    second = ask(store, "edit", template=SALE)
    assert "somebody else" in refusal(store, "correct", OF_LAST, edit=first.edit)
    assert ask(store, "end_edit", edit=second.edit) == CorrectionEnded(len(OF_FIRST))


def test_a_broadcast_that_no_shard_has_is_unknown(store: PostgresAddress) -> None:
    assert refusal(store, "stop") == 'there is no broadcast "spring" (`bot broadcast list` lists them)'
