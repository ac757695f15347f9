"""A contact, whole: everything that is kept of one can be shown and erased, and nobody else's."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from bot.core.clock import MovableClock
from bot.core.values import time_text
from bot.store.contact_data import OF_CONTACT, export_as_json, export_contact
from bot.store.database import Execute
from bot.store.engine_store import EngineStore
from bot.store.files import files_folder, inbox_path
from bot.store.inbox import InboxReader, InboxWriter
from bot.store.kept_files import kept_files
from bot.store.store_reader import StoreReader
from bot.store.store_schema import ENGINE_TABLES
from tests.postgres import about_files
from tests.store.store_kit import START, beside_the_store, contact_files

ANN, BOB, ALIAS = "6281234567890", "6289876543210", "6281111111111"
NOT_OF_CONTACTS = {"meta", "broadcasts", "erasures", "results", "versions", "sqlite_sequence", "_sqlite_migrations"}
OTHER = f'{{"data": {{"who": "{ANN}9", "and": 1{ANN}}}}}'
LETTER = f'{{"data": {{"conversation": 7, "who": "{ANN}"}}}}'
AT = START.isoformat()


def fill(path: Path, contact: str) -> None:
    """A row in every table that can hold one, written by nobody's code: each column that must have a value gets one."""
    with beside_the_store(path) as execute:
        for table in OF_CONTACT:
            columns = columns_of(table)
            row: dict[str, object] = {
                name: 1 if kind == "INTEGER" else f"{name} {contact}" for name, kind in columns.items()
            }
            row |= {name: AT for name in row if name.endswith("_at") or name == "at"}
            fixed = {
                "contact": contact,
                "what": "event",
                "status": "read",
                "message_ids": f'["m {contact}"]',
                "message_id": f"m {contact}",
                "send_id": None,
                "alias": ALIAS if contact == ANN else "6282222222222",
                "event_id": f"time:{contact}:1:2",
                "state": '{"$tuple": []}',
            }
            row |= {name: value for name, value in fixed.items() if name in row}
            if table == "usage":  # it stays, without the contact: these are names of the bot's
                row |= {"flow": "main", "model": "acme/swift"}
            if table == "message_ids":
                row["sent_id"] = execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()[0]
            if table == "messages":
                row["id"] = execute("SELECT coalesce(max(id), 0) + 1 FROM messages").fetchone()[0]
            marks = ", ".join("?" * len(row))
            insert = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks}) ON CONFLICT DO NOTHING"
            execute(insert, list(row.values()))


def columns_of(table: str) -> dict[str, str]:
    """The columns of a table that need a value, with their types."""
    (columns,) = re.findall(rf"CREATE TABLE {table} \((.*?)\n    \)", ENGINE_TABLES, re.DOTALL)
    found = dict(re.findall(r"(?m)^        ([a-z_]+) ([A-Z]+)", columns))
    return {name: kind for name, kind in found.items() if name != "id"}


def rows_in(path: Path) -> dict[str, int]:
    with beside_the_store(path) as execute:
        return {table: execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in OF_CONTACT}


def write_log(inbox: InboxWriter) -> None:
    for number, (contact, body) in enumerate(((ANN, "hi, I am Ann"), (BOB, "hi"), (None, LETTER), (ALIAS, "me again"))):
        inbox.append(inbox.event(f"d{number}", f"evt_{number}", "message.inbound", contact, START, body.encode(), True))


def test_every_table_is_known_to_hold_something_of_contacts_or_not_to(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == OF_CONTACT.keys() | NOT_OF_CONTACTS


def test_an_export_has_every_row_of_the_contact_and_no_other(path: Path, inbox: InboxWriter) -> None:
    for contact in (ANN, BOB):
        fill(path, contact)
    write_log(inbox)
    shown = export_contact(path, ANN)
    assert shown.keys() == OF_CONTACT.keys() | {"log"}
    assert [row["event_id"] for row in shown["log"]] == ["evt_0", "evt_2", "evt_3"]
    assert shown["log"][1]["body"]["data"]["who"] == ANN
    assert BOB not in str(shown)


def test_an_export_with_half_a_surrogate_pair_can_be_written_to_a_file(path: Path, inbox: InboxWriter) -> None:
    inbox.append(inbox.event("d1", "evt_1", "message.inbound", ANN, START, rb'{"text": "a\ud83d"}', True))
    exported = export_as_json(path, ANN)
    assert exported is not None and rb"a\ud83d" in exported.encode()
    assert json.loads(exported)["log"][0]["body"] == {"text": "a\ud83d"}


def test_nothing_of_an_erased_contact_is_left_in_any_file_and_all_of_the_others(
    path: Path, store: EngineStore, inbox: InboxWriter, log: InboxReader
) -> None:
    for contact in (ANN, BOB):
        fill(path, contact)
        contact_files(path, contact).mkdir(parents=True)
        (contact_files(path, contact) / "photo.jpg").write_bytes(b"a photo")
    write_log(inbox)
    store.erase(ANN, log.last_seq(), START)
    assert store.erasures.finish(log.has_of), "the log has not forgotten yet"
    assert kept_files(path).of(ANN) != []
    for number in (ANN, ALIAS):
        inbox.erase(log.of_contact(number, log.last_seq()))
    assert not store.erasures.finish(log.has_of)
    assert {table: count for table, count in rows_in(path).items() if count != 1} == {"turns": 2, "usage": 2}
    assert export_contact(path, ANN) == {} and kept_files(path).of(ANN) == []
    assert export_contact(path, BOB).keys() == OF_CONTACT.keys() | {"log"} and len(kept_files(path).of(BOB)) == 1
    for file in (*path.parent.glob("bot.*"), *files_folder(path).rglob("*")):
        if file.is_file():
            assert not re.search(f"{ANN}|{ALIAS}|Ann".encode(), file.read_bytes()), file.name


NOBODYS: dict[str, dict[str, Any]] = {
    "statuses": {"message_id": "m 1", "status": "failed", "at": AT, "detail": f"131026: {ANN} is not reachable"},
    "dead_letters": {"what": "event", "reason": f"it could not be read: {ANN}", "body": "", "at": AT},
    "calls": {"ref": "r", "key": "k", "contact": "", "effect": f'{{"reason": "{ANN}"}}', "created_at": AT}
    | {"attempts": 0, "due_at": AT, "detail": f"{ALIAS} failed"},
    "crashes": {"run": 1, "work": f"call:time:{ANN}:1:2#0"},
}
"""Rows that name a contact and do not say whose they are."""


@about_files
def test_of_an_erased_contact_no_column_of_any_table_of_either_file_has_a_word(
    path: Path, store: EngineStore, inbox: InboxWriter, log: InboxReader
) -> None:
    fill(path, ANN)
    write_log(inbox)
    inbox.append(inbox.event(None, "evt_9", "", None, START, ANN.encode(), False))
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE meta SET taking = ?", [f"time:{ANN}:3:4"])
        db.execute(
            "UPDATE statuses SET message_id = 'm 2', contact = ?, detail = 'Ann is away'", [ANN]
        )  # no message of ours
        for table, row in NOBODYS.items():
            marks = ", ".join("?" * len(row))
            db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", list(row.values()))
    assert {table for table, _, _ in found_in(path)} == OF_CONTACT.keys() | {"meta", "log"}
    store.erase(ANN, log.last_seq(), START)
    for number in (ANN, ALIAS):
        inbox.erase(log.of_contact(number, log.last_seq()))
    assert not store.erasures.finish(log.has_of)
    assert found_in(path) == []


def found_in(path: Path) -> list[tuple[str, str, object]]:
    """Where something of the contact stands: number, other number or name."""
    found = []
    for file in (path, inbox_path(path)):
        with closing(sqlite3.connect(file)) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                rows = db.execute(f"SELECT * FROM {table}")
                names = [column[0] for column in rows.description]
                found += [(table, name, v) for row in rows for name, v in zip(names, row, strict=True) if is_of_ann(v)]
    return found


def is_of_ann(value: object) -> bool:
    text = value.decode() if isinstance(value, bytes) else str(value)
    return re.search(f"{ANN}|{ALIAS}|Ann", text) is not None


def insert(execute: Execute, table: str, **row: object) -> None:
    execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def test_what_an_erased_contact_used_up_counts_still(path: Path, store: EngineStore) -> None:
    message = {"ref": "r", "key": "k", "contact": ANN, "effect": "{}", "created_at": AT}
    with beside_the_store(path) as execute:
        for at, attempts in ((START - timedelta(hours=30), 4), (START, 2)):
            insert(
                execute,
                "messages",
                **message,
                outcome="sent",
                detail="",
                message_ids="[]",
                at=time_text(at),
                attempts=attempts,
            )
        insert(execute, "messages", **message, attempts=5, due_at=AT, expires_at=AT)
        used = {"prompt_tokens": 1000, "completion_tokens": 200, "estimated": 0}
        insert(execute, "usage", at=time_text(START), contact=ANN, flow="main", model="acme/swift", **used)
    store.erase(ANN, 0, START)
    with closing(StoreReader(path)) as reader:
        assert sum(count for _, count in reader.messages.requests(START)) == 2 + 5
        assert reader.messages.requests_for(START) == []
        assert reader.usage.tokens(None, START) == 1200 and reader.usage.tokens(ANN, START) == 0
        assert [each.name for each in reader.usage.sums(START, "contact")] == ["erased"]


def test_an_erased_event_is_not_taken_again_and_its_repetition_is_recognised(
    inbox: InboxWriter, log: InboxReader
) -> None:
    write_log(inbox)
    inbox.erase(log.of_contact(ANN, 4))
    assert [row.event_id for row in log.after(0, 10)] == ["evt_1", "evt_3"]
    assert inbox.append(inbox.event("d0", "evt_0", "message.inbound", ANN, START, b"hi", True)).duplicate
    assert not log.has_after(4)


def test_what_came_after_the_erasure_stays(inbox: InboxWriter, log: InboxReader) -> None:
    write_log(inbox)
    inbox.append(inbox.event(None, "evt_9", "message.inbound", ANN, START, b"hello again", True))
    inbox.erase(log.of_contact(ANN, 4))
    assert [row.event_id for row in log.after(0, 10)] == ["evt_1", "evt_3", "evt_9"]


@about_files
def test_an_erasure_that_was_cut_short_is_finished_by_the_next_run(path: Path, clock: MovableClock) -> None:
    fill(path, ANN)
    first = EngineStore(path)
    first.erase(ANN, 0, START)
    first.close()
    second = EngineStore(path)
    assert not second.erasures.finish(lambda contact, upto: False)
    with closing(sqlite3.connect(inbox_path(path))) as db:
        assert db.execute("SELECT count(*) FROM log").fetchone() == (0,)
    second.close()
    assert ANN.encode() not in path.read_bytes()


def test_a_longer_number_is_somebody_elses(inbox: InboxWriter, log: InboxReader) -> None:
    inbox.append(inbox.event(None, "evt_1", "conversation.opened", None, START, OTHER.encode(), True))
    assert log.of_contact(ANN, 1) == [] and log.of_contact(f"{ANN}9", 1) == [1]
