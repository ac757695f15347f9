"""Questions about a store: answered while its writer lives and when nobody does, by us and by sqlite-utils."""

import json
import subprocess
import sys
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from bot.core.effects import AskModel, Send
from bot.core.events import Event, ResetRequested, SignalReceived, StartRequested
from bot.core.messages import TextMessage
from bot.core.session import Frame, Session, UnreadableSession
from bot.core.values import Record, Usage, json_text
from bot.store import dead_letter_rows
from bot.store.commit import Commit
from bot.store.count_rows import USAGE_BY, UsageSum
from bot.store.dead_letter_rows import DeadLetter, LetterSearch
from bot.store.engine_store import EngineStore
from bot.store.files import StoreDamaged
from bot.store.rows import REPLY, CallRow, OutboxRow
from bot.store.session_rows import HANDED_OVER
from bot.store.store_reader import StoreReader
from tests.postgres import about_files
from tests.store.store_kit import START, sqlite

ANN = "491701"
BEN = "491702"
VARIABLES = {
    "day": date(2030, 5, 12),
    "price": Decimal("12.50"),
    "order": Record("Order", {"number": 4711, "at": START}),
    "names": ["Ann", "Zoë 🎈"],
    "$odd": None,
}


def in_a_flow(contact: str) -> Session:
    frame = Frame("shop", "menu", 3, START, START, vars=VARIABLES)
    return Session(contact, name="Ann", last_inbound=START, visit=3, frames=(frame,))


def write(store: EngineStore, *contacts: str) -> None:
    commit = Commit(0, START)
    for contact in contacts:
        commit.sessions.set(in_a_flow(contact), START + timedelta(hours=1))
    store.write(commit)


def test_a_commit_is_seen_at_once_and_every_value_comes_back_as_it_went(
    store: EngineStore, reader: StoreReader
) -> None:
    assert reader.sessions.get(ANN) is None
    write(store, ANN)
    assert reader.sessions.get(ANN) == in_a_flow(ANN) == store.sessions.get(ANN)
    assert reader.sessions.last_inbound(ANN) == START


def test_what_is_not_committed_is_not_seen(store: EngineStore, reader: StoreReader) -> None:
    sqlite(store).execute("BEGIN IMMEDIATE")
    sqlite(store).execute("INSERT INTO sessions (contact, visit, updated_at, state) VALUES ('1', 0, '', '')")
    assert reader.counts()["sessions"] == 0
    sqlite(store).execute("ROLLBACK")


def test_what_is_handed_over_is_found_without_reading_the_other_sessions(store: EngineStore) -> None:
    plan = [row[3] for row in sqlite(store).execute(f"EXPLAIN QUERY PLAN {HANDED_OVER}", (10,))]
    assert plan == ["SEARCH sessions USING INDEX sessions_handed_over (handed_over_at>?)"]


def test_the_sessions_are_listed_in_pages(store: EngineStore, reader: StoreReader) -> None:
    write(store, "3", "1", "2")
    first = reader.sessions.summaries(limit=2)
    assert [one.contact for one in first] == ["1", "2"]
    assert (first[0].flow, first[0].step, first[0].wake_at) == ("shop", "menu", START + timedelta(hours=1))
    assert [one.contact for one in reader.sessions.summaries(after="2")] == ["3"]


def test_the_queue_shows_what_waits_and_why(store: EngineStore, reader: StoreReader) -> None:
    expires = START + timedelta(minutes=15)
    row = OutboxRow(1, "evt_1#0", "key", ANN, Send(TextMessage("hi")), REPLY, None, START, 0, START, expires, None)
    commit = Commit(0, START)
    commit.messages.add(row)
    commit.messages.try_again(row, 2, START + timedelta(seconds=4), "503")
    store.write(commit)
    (pending,) = reader.messages.pending()
    assert (pending.id, pending.contact, pending.effect) == (1, ANN, Send(TextMessage("hi")))
    assert (pending.attempts, pending.due_at, pending.detail) == (2, START + timedelta(seconds=4), "503")


def test_a_session_of_another_version_is_refused_in_words(store: EngineStore, reader: StoreReader) -> None:
    write(store, ANN)
    sqlite(store).execute("""UPDATE sessions SET state = '{"$Session":{"colour":"red"}}'""")
    with pytest.raises(UnreadableSession, match="cannot be read by this version"):
        reader.sessions.get(ANN)


def test_damage_that_a_question_meets_names_the_file(store: EngineStore, reader: StoreReader) -> None:
    sqlite(store).execute("UPDATE meta SET written_at = 'yesterday'")
    with pytest.raises(StoreDamaged, match=r"bot\.db is damaged .*: stop the bot, then `bot restore"):
        reader.messages.requests_for(START)


def test_a_store_that_nobody_has_open_can_be_read(path: Path) -> None:
    store = EngineStore(path)
    write(store, ANN)
    store.close()
    reader = StoreReader(path)
    assert reader.sessions.get(ANN) == in_a_flow(ANN)
    assert reader.cursor() == 0
    reader.close()


@about_files
def test_sqlite_utils_can_query_a_live_store(path: Path, store: EngineStore) -> None:
    write(store, ANN)
    command = [sys.executable, "-m", "sqlite_utils", "rows", str(path), "sessions", "-c", "contact", "-c", "wake_at"]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert rows == [{"contact": ANN, "wake_at": "2030-05-06T10:00:00.000000+00:00"}]


def test_usage_is_summed_up_by_contact_flow_model_and_day(store: EngineStore, reader: StoreReader) -> None:
    used = [
        (START, ANN, "help", Usage("a/one", 100, 20)),
        (START + timedelta(hours=20), ANN, "help", Usage("b/two", 10, 2, estimated=True)),
        (START + timedelta(hours=20), BEN, "shop", Usage("a/one", 500, 5)),
    ]
    for at, contact, flow, usage in used:
        commit = Commit(0, at)
        commit.calls.add_usage(CallRow(1, "e#0", "key", contact, AskModel(()), 0, at), flow, usage)
        store.write(commit)
    assert reader.usage.sums(START, "contact") == [UsageSum(BEN, 1, 500, 5, 0), UsageSum(ANN, 2, 110, 22, 1)]
    assert [one.name for one in reader.usage.sums(START, "flow")] == ["shop", "help"]
    assert [one.name for one in reader.usage.sums(START, "model")] == ["a/one", "b/two"]
    assert [one.name for one in reader.usage.sums(START, "day")] == ["2030-05-06", "2030-05-07"]
    later = START + timedelta(seconds=1)
    assert [(one.name, one.answers) for one in reader.usage.sums(later, "contact")] == [(BEN, 1), (ANN, 1)]
    counted = reader.usage.tokens(ANN, START), reader.usage.tokens(ANN, later), reader.usage.tokens(None, START)
    assert counted == (400, 200, 905), "a request counts two hundred tokens at least against a budget"


def test_where_nothing_was_used_that_is_none(store: EngineStore, reader: StoreReader) -> None:
    assert (reader.usage.tokens(None, START), reader.usage.tokens(ANN, START)) == (0, 0)
    assert all(reader.usage.sums(START, by) == [] for by in USAGE_BY)


@pytest.mark.parametrize(
    ("event", "advice"),
    [
        (StartRequested("e", "628", START, "main", {}), "(`bot start`)"),
        (SignalReceived("e", "628", START, "paid", {}), "(`bot signal`)"),
        (ResetRequested("e", "628", START), "with `bot trace`"),
    ],
)
def test_a_turn_that_was_given_up_says_what_to_do_by_its_event(event: Event, advice: str) -> None:
    assert DeadLetter(1, "turn", "628", "it failed", json_text(event), START).advice.endswith(advice)


@pytest.mark.parametrize("at_once", [1, 2, 5, 6, 100])
def test_dead_letters_that_are_searched_in_pieces_are_the_same(
    store: EngineStore, reader: StoreReader, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    commit = Commit(store.cursor, START)
    for reason in ("this", "that") * 3:
        commit.dead_letters.add("turn", "628", reason, "{}")
    store.write(commit)
    monkeypatch.setattr(dead_letter_rows, "SEARCHED_AT_ONCE", at_once)
    that = LetterSearch(reason="that")
    assert reader.dead_letters.ids(that) == [2, 4, 6] and reader.dead_letters.ids(that, 6) == [2, 4]
    assert reader.dead_letters.count(that) == (3, True)
    found, further = reader.dead_letters.find(that, 2)
    assert ([letter.id for letter in found], further) == ([6, 4], 4)
    found, further = reader.dead_letters.find(that, 2, further)
    assert ([letter.id for letter in found], further) == ([2], 0)
    assert reader.dead_letters.find(LetterSearch(broadcast="spring"), 2) == ([], 0)
