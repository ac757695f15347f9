"""A store that is copied into another number of shards answers as before to all that read the whole of it."""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from datetime import timedelta
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.values import time_text
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Engine, GatewayAccount
from bot.store.contact_data import export_contact
from bot.store.count_rows import USAGE_BY
from bot.store.database import PostgresAddress, StoreAddress, shard_number, shards_of
from bot.store.dead_letter_rows import ALL_LETTERS, LetterSearch
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxReader, InboxWriter, append_statement
from bot.store.integrity import check_pair, health
from bot.store.opening import engine_reader, engine_writer, log_reader
from bot.store.session_rows import ContactSearch
from bot.store.store_copy import CannotCopy, copy_store
from bot.store.store_reader import StoreReader
from bot.store.store_setup import prepare
from bot.testing.emulator import Emulator, MessageTemplate
from bot.testing.emulator.gateway_behaviour import Behaviour
from tests.cli.keeping import START, kept
from tests.cli.terminal import call
from tests.patience import wait_for
from tests.postgres import Postgres, new_database

SALE = MessageTemplate("sale", "en", body="Hello {{1}}")
CONTACTS = [f"62812345678{number:02}" for number in range(12)]
SHARDS = [3, 2]
LATER = START + timedelta(days=1)


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a bot that has had conversations and refused messages, and a broadcast that was stopped."""
    folder = tmp_path_factory.mktemp("original")
    with kept(folder, server=True, template=SALE) as bot:
        for number, contact in enumerate(CONTACTS):
            bot.user("hi", str(number), contact=contact)
        people = folder / "people.csv"
        people.write_text("phone,name\n" + "".join(f"{contact},Ann\n" for contact in CONTACTS[3:]))
        bot.emulator.faults.add("unauthorized")
        sent = call("broadcast", "send", "sale", people, "--body", "{{ name }}", "--yes", "--no-wait", "--bot", folder)
        assert sent.code == 0, sent.err
        bot.settle()
        stopped = call("broadcast", "stop", "sale: people", "--bot", folder)
        assert stopped.code == 0, stopped.err
    with closing(EngineStore(folder / "bot.db")) as engine:
        engine.database.write(
            ("INSERT INTO aliases (alias, contact) VALUES (?, ?)", [("491701", CONTACTS[0]), ("491702", CONTACTS[1])]),
            ("INSERT INTO results VALUES ('2030-05-06', 'main', ?, '', 'entered', '', 7)", [("one",), ("two",)]),
            (
                "INSERT INTO usage (at, contact, flow, model, prompt_tokens, completion_tokens, estimated) VALUES (?, ?, ?, ?, ?, 1, 0)",
                [(START.isoformat(), contact, "main", "a/one", n) for n, contact in enumerate([*CONTACTS, ""])],
            ),
            ("INSERT INTO erasures VALUES ('491799', 3, '2030')", [()]),
            ("INSERT INTO crashes VALUES (1, 'evt_1')", [()]),
        )
    with closing(InboxWriter(folder / "bot.db", bot.clock)) as inbox:
        for number, writer in enumerate([*CONTACTS, None]):
            inbox.append(inbox.event(None, f"new {number}", "x", writer, START, b"{}", True))  # which nobody took
        inbox.commit(inbox.stale_event("lost", CONTACTS[1]))
    return folder / "bot.db"


@pytest.fixture(scope="module")
def copies(
    original: Path, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[StoreAddress]]:
    """The original; a copy of it, one of that, and so on: in several shards, in other ones, and in files again."""
    folder = tmp_path_factory.mktemp("copies")
    with ExitStack() as databases:
        made = [
            replace(databases.enter_context(new_database(postgres, folder, "template0")), shards=shards)
            for shards in SHARDS
        ]
        stores: list[StoreAddress] = [original, *made, folder / "bot.db"]
        for source, target in pairwise(stores):
            unknown = replace(source, shards=1) if isinstance(source, PostgresAddress) else source
            copy_store(unknown, target)
        yield stores


def answers(store: StoreAddress) -> dict[str, Any]:
    """What a reader says of a whole store."""
    with closing(StoreReader(store)) as reader:
        without = {
            f"{type(part).__name__} {name}": [*found] if isinstance(found := ask(part), Iterator) else found
            for part in (reader, *(part for part in vars(reader).values() if type(part).__name__.endswith("Reader")))
            for name, ask in vars(type(part)).items()
            if name[0] != "_"
            and len(signature(ask).parameters) == 1
            and name not in ("close", "cursor", "commits", "erasures")
        }
        since = {"traced": reader.trace.contacts(START), "results": reader.results(START)}
        now = [sorted(reader.messages.requests(LATER)), sorted(reader.messages.requests_for(LATER))]
        sessions, sent, trace = reader.sessions, reader.messages, reader.trace
        of_contacts = {
            contact: [
                *(sessions.get(contact), sessions.opted_out(contact), sessions.last_inbound(contact)),
                *(reader.keeps(contact), trace.turns(contact), trace.conversations(contact)),
                *(sent.last_replaced(contact), sent.statuses(contact), sent.refs(contact)),
            ]
            for contact in CONTACTS
        }
        messages = {
            contact: reader.messages.to(contact, [line.at for line in reader.trace.turns(contact)])
            for contact in CONTACTS
        }
        pages, place = [], ""
        while page := reader.sessions.find(ContactSearch(), 3, place):
            pages += page[0]
            if not (place := page[1]):
                break
        return {
            **without,
            **since,
            "now": now,
            "of contacts": of_contacts,
            "messages": messages,
            "pages": pages,
            "broadcast": reader.broadcasts.get("sale: people"),
            "outcomes": reader.broadcasts.outcomes("sale: people"),
            "recipients": reader.broadcasts.recipients("sale: people"),
            "reached": reader.broadcasts.reached("sale: people"),
            "usage": [reader.usage.sums(START, by) for by in USAGE_BY],
            "used": [reader.usage.tokens(contact, START) for contact in (None, *CONTACTS)],
            "letters": [
                reader.dead_letters.newest(),
                reader.dead_letters.find(ALL_LETTERS, 3),
                reader.dead_letters.ids(ALL_LETTERS),
                reader.dead_letters.count(LetterSearch(broadcast="sale: people")),
                reader.dead_letters.find(LetterSearch(contact=CONTACTS[7]), 3),
            ],
            "ends": [reader.messages.outcome(id) for id in range(1, 60)],
            "queues": [
                reader.sessions.summaries("", 5),
                reader.messages.pending(),
                reader.events.pending(),
                reader.sessions.handed_over(),
            ],
            "erased": {contact for contact, _ in reader.erasures()},
            "health": replace(health(store), exposed=()),
        }


def test_the_whole_store_answers_as_the_one_that_was_not_divided(copies: list[StoreAddress]) -> None:
    expected = answers(copies[0])
    assert expected["outcomes"] and expected["letters"][0] and expected["reached"] is not None
    for store in copies[1:]:
        found = answers(store)
        assert found.keys() == expected.keys()
        for name, answer in expected.items():
            assert found[name] == answer, (store, name)


def test_an_export_has_all_rows_of_all_numbers(copies: list[StoreAddress]) -> None:
    def exported(store: StoreAddress) -> dict[str, list[Any]]:
        found = export_contact(store, CONTACTS[0])
        return {table: [{**row, "seq": 0, "id": 0} for row in rows] for table, rows in found.items()}

    assert "aliases" in exported(copies[0]) and "log" in exported(copies[0])
    assert all(exported(store) == exported(copies[0]) for store in copies[1:])


def test_each_row_is_in_the_shard_of_its_contact(copies: list[StoreAddress]) -> None:
    for store in copies[1:3]:
        shards = shards_of(store)
        seen = Counter[str]()
        for number, shard in enumerate(shards):
            with closing(engine_reader(shard)) as engine, closing(log_reader(shard)) as log:
                for database, table, column in (
                    *(
                        (engine, table, "contact")
                        for table in ("sessions", "turns", "messages", "recipients", "dead_letters", "usage")
                    ),
                    (engine, "aliases", "alias"),
                    (log, "log", "contact"),
                ):
                    found = [contact for (contact,) in database.all(f"SELECT {column} FROM {table}")]
                    seen[table] += len(found)
                    assert all(shard_number(contact, len(shards)) == number for contact in found), table
                assert engine.all("SELECT message_id FROM message_ids") == engine.all(
                    "SELECT message_id FROM message_ids JOIN messages ON id = sent_id"
                )
                assert (engine.all("SELECT name FROM broadcasts") != []) == (
                    engine.all("SELECT 1 FROM recipients") != []
                )
        assert all(seen.values())


def test_what_was_to_be_taken_is_to_be_taken_in_the_same_order(copies: list[StoreAddress]) -> None:
    for store in copies:
        left: list[str] = []
        for shard in shards_of(store):
            with closing(StoreReader(shard)) as engine, closing(InboxReader(shard)) as log:
                left += [row.event_id for row in log.after(engine.cursor(), 100)]
                assert all(row.seq <= engine.cursor() for row in log.after(0, 1000) if row.event_id[:4] != "new ")
        assert {*left} == {f"new {number}" for number in range(len(CONTACTS) + 1)}
        assert len(left) == len({*left})
    assert check_pair(copies[-1]).taken_again == 0


def test_ids_go_on_above_all_that_were_given(copies: list[StoreAddress]) -> None:
    with closing(engine_reader(copies[0])) as database:
        last = {
            table: database.one(f"SELECT max(id) FROM {table}")[0]
            for table in ("messages", "turns", "recipients", "usage")
        }
    for store in copies[1:]:
        for shard in shards_of(store):
            with closing(EngineStore(shard)) as engine:
                assert next(engine.ids.new("messages")) > last["messages"]
                assert next(engine.ids.new("turns")) > last["turns"]


def test_a_store_that_has_taken_nothing_has_taken_nothing_in_the_copy(postgres: Postgres, tmp_path: Path) -> None:
    with new_database(postgres, tmp_path, "template0") as made:
        new = replace(made, shards=3)
        prepare(new)
        with closing(InboxWriter(new, MovableClock(START))) as inbox:
            for contact in CONTACTS[:2]:
                inbox.append(inbox.event(None, contact, "x", contact, START, b"{}", True))
        copy_store(new, tmp_path / "copy.db")
    with closing(InboxReader(tmp_path / "copy.db")) as log:
        assert check_pair(tmp_path / "copy.db").cursor == 0 and len(log.after(0, 10)) == 2


@pytest.fixture
def forwarded(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    """A store in which an event was forwarded to all shards."""
    with new_database(postgres, tmp_path, "template0") as made:
        divided = replace(made, shards=3)
        prepare(divided)
        with closing(InboxWriter(divided, MovableClock(START))) as inbox:
            for contact in CONTACTS:
                inbox.append(inbox.event(None, contact, "x", contact, START, b"{}", True))
        for shard in shards_of(divided):
            with closing(engine_writer(shard)) as engine, closing(InboxReader(shard)) as log:
                engine.write(
                    (append_statement(shard), [(None, "moved:1", "moved", None, time_text(START), b"{}", 1, None)])
                )
                last = log.after(0, 100)[-1]
                engine.write(("UPDATE meta SET cursor = ?, last_event = ?", [(last.seq, last.event_id)]))
        yield divided


def test_an_event_that_was_forwarded_to_several_shards_is_copied_once_for_each(
    forwarded: PostgresAddress, tmp_path: Path
) -> None:
    copy_store(forwarded, tmp_path / "copy.db")
    with closing(InboxReader(tmp_path / "copy.db")) as log:
        rows = log.after(0, 100)
    assert len(rows) == len(CONTACTS) + 3
    assert check_pair(tmp_path / "copy.db").cursor == rows[-1].seq


def test_a_store_with_an_event_that_is_forwarded_and_not_taken_is_not_copied(
    forwarded: PostgresAddress, tmp_path: Path
) -> None:
    with closing(engine_writer(shards_of(forwarded)[2])) as engine:
        engine.write(("UPDATE meta SET cursor = cursor - 1", [()]))
    with pytest.raises(CannotCopy, match=r"shard 2 has still to do its part .*: run `bot serve --engine`"):
        copy_store(forwarded, tmp_path / "copy.db")


def test_a_store_in_which_a_shard_has_still_to_erase_a_contact_is_not_copied(
    forwarded: PostgresAddress, tmp_path: Path
) -> None:
    with closing(EngineStore(shards_of(forwarded)[1])) as engine:
        engine.erase(CONTACTS[0], engine.cursor, START)
    with pytest.raises(CannotCopy, match="shard 0 has still to do its part"):
        copy_store(forwarded, tmp_path / "copy.db")


def test_a_store_with_a_status_that_is_to_be_forwarded_is_not_copied(
    forwarded: PostgresAddress, tmp_path: Path
) -> None:
    status = "INSERT INTO statuses (message_id, status, at, detail) VALUES ('m', 'failed', ?, '')"
    with closing(engine_writer(shards_of(forwarded)[1])) as kept_by:
        kept_by.write((status, [(time_text(START),)]))
    copy_store(forwarded, tmp_path / "before.db")
    with closing(engine_writer(shards_of(forwarded)[2])) as sent_by:
        sent_by.write(("INSERT INTO message_ids VALUES ('m', 1)", [()]))
    with pytest.raises(CannotCopy, match="shard 1 has still to do its part"):
        copy_store(forwarded, tmp_path / "copy.db")


def test_conversations_go_on_in_the_shards(tmp_path: Path, postgres: Postgres) -> None:
    (tmp_path / "bot").mkdir()
    with kept(tmp_path / "bot") as bot:
        for contact in CONTACTS:
            bot.user("hi", contact=contact)
    clock = MovableClock(START + timedelta(minutes=10))
    program = load_program(read_folder(tmp_path / "bot"))
    with (
        new_database(postgres, tmp_path, "template0") as made,
        Emulator(clock, behaviour=Behaviour(window="open"), per_minute=6000) as gateway,
        ExitStack() as running,
    ):
        divided = replace(made, shards=3)
        copy_store(tmp_path / "bot" / "bot.db", divided)
        engines = [
            Engine(program, shard, clock, GatewayAccount(gateway.url, gateway.api_key, per_minute=6000))
            for shard in shards_of(divided)
        ]
        for engine in engines:
            engine.start()
            running.callback(engine.stop)
        clock.move(timedelta(hours=1))
        wait_for(lambda: len(gateway.sent) == len(CONTACTS))
        assert {sent.body["to"] for sent in gateway.sent} == {*CONTACTS}
        assert {sent.body["text"]["body"] for sent in gateway.sent} == {"Still there?"}
