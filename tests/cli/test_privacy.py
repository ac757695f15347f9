"""What a person may ask for: all that is kept of it, and that it is kept no longer."""

import json
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.store import postgres_requests
from bot.store.contact_data import export_contact
from bot.store.engine_store import EngineStore
from bot.store.kept_files import contact_path
from bot.store.opening import engine_writer
from bot.store.store_reader import StoreReader
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE
from tests.postgres import IN_USE, Postgres, new_database, store_at
from tests.s3_store import BUCKET, s3_store
from tests.store.store_kit import contact_files, holding

BOB = "6289876543210"


def test_all_that_is_kept_of_a_contact_is_printed_with_its_files(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi", "3")
        bot.user("hello", contact=BOB)
    photo = contact_files(tmp_path / "bot.db", CONTACT) / "photo.jpg"
    photo.parent.mkdir(parents=True)
    photo.write_bytes(b"a photo")
    shown = call("contacts", "export", f"+{CONTACT}", "--bot", tmp_path)
    assert shown.code == 0 and BOB not in shown.out
    kept_of = json.loads(shown.out)
    assert kept_of["contact"] == CONTACT
    assert [row["body"]["data"]["body"] for row in kept_of["log"]] == ["hi", "3"]
    assert kept_of["sessions"][0]["state"]["contact"] == CONTACT
    assert {"turns", "messages", "sessions", "log"} <= kept_of.keys()
    assert kept_of["files"] == [str(photo)]


def test_of_a_contact_that_never_wrote_there_is_nothing_to_show_or_to_erase(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    for command in ("export", "erase"):
        refused = call("contacts", command, BOB, "--bot", tmp_path)
        assert (refused.code, refused.out) == (1, "")
        assert refused.err.startswith(f"nothing is kept of {BOB}")


@pytest.mark.parametrize("server", [True, False])
def test_an_erased_contact_is_in_no_file_and_starts_anew(tmp_path: Path, server: bool) -> None:
    with kept(tmp_path, server=server) as bot:
        bot.user("hi")
        bot.user("hi", "2", contact=BOB)
        if server:
            erased = call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes")
            assert holding(store_at(tmp_path / "bot.db"), CONTACT) == []
    if not server:
        erased = call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes")
    assert erased.code == 0, erased.err
    assert f"of {CONTACT} are erased. The gateway's own contact and your backups are not touched." in erased.out
    assert holding(store_at(tmp_path / "bot.db"), CONTACT) == []
    assert call("contacts", "export", CONTACT, "--bot", tmp_path).code == 1
    assert call("contacts", "export", BOB, "--bot", tmp_path).code == 0
    with kept(tmp_path) as bot:
        bot.user("hi")
        assert bot.sent == ["text", "text"]


def test_a_contact_is_erased_while_the_store_of_its_files_is_away_and_the_files_once_it_is_back(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.cli.contacts.PATIENCE", 0.0)
    (tmp_path / "bot.yml").write_text("name: Photos\n")
    with new_database(postgres, tmp_path) as store:
        with closing(EngineStore(store)) as engine, engine.database.transaction() as execute:
            execute("INSERT INTO aliases (alias, contact) VALUES ('1', ?)", (CONTACT,))
        for name, value in {"BOT_STORE": store.url, "BOT_FILES": f"s3://{BUCKET}"}.items():
            monkeypatch.setenv(name, value)
        photo = tmp_path / "objects" / BUCKET / contact_path(CONTACT) / "photo.jpg"
        with s3_store(tmp_path / "objects") as variables:
            photo.parent.mkdir(parents=True)
            photo.touch()
            for name, value in variables.items():
                monkeypatch.setenv(name, value)
        begun = call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes")
        assert (begun.code, begun.out) == (1, "")
        assert "its files are erased once they can be reached" in begun.err and "there is no connection" in begun.err
        with closing(StoreReader(store)) as reader:
            assert export_contact(store, CONTACT) == {} and (CONTACT, 0) in reader.erasures()
        monkeypatch.setattr("bot.cli.contacts.PATIENCE", PATIENCE)
        with s3_store(tmp_path / "objects") as variables:
            monkeypatch.setenv("AWS_ENDPOINT_URL", variables["AWS_ENDPOINT_URL"])
            done = call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes")
        assert (done.code, photo.exists()) == (0, False), done.err


def test_what_waits_to_be_sent_to_an_erased_contact_is_not_sent(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as bot:
        bot.emulator.faults.add("unauthorized", count=1)
        bot.user("hi")
        assert bot.sent == []
        assert call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes").code == 0
        assert call("queue", "--bot", tmp_path).lines[-1] == "0 messages wait to be sent, 0 given up."
        bot.user("hi", contact=BOB)
        assert isinstance(bot.emulator.clock, MovableClock)
        bot.emulator.clock.move(timedelta(minutes=2))
        assert bot.engine.wait_settled(20)
        assert {sent.to for sent in bot.emulator.sent} == {BOB}


def test_notes_about_a_contact_are_erased_with_it(tmp_path: Path) -> None:
    notes = "{type: list, max: 3, keep: true, fields: {text: text, day: date}}"
    flow = f"""
flow: main
start: {{otherwise: true}}
vars: {{notes: {notes}}}
steps: {{a: {{set: {{notes: '{{{{ [{{"text": message.text, "day": today}}] }}}}'}}, then: end}}}}
"""
    make_bot(tmp_path, flow)
    with kept(tmp_path) as bot:
        bot.user("allergic to nuts")
    assert "allergic to nuts" in call("contacts", "export", CONTACT, "--bot", tmp_path).out
    assert call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes").code == 0
    assert holding(store_at(tmp_path / "bot.db"), "allergic to nuts") == []


def test_it_asks_first(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    asked = call("contacts", "erase", CONTACT, "--bot", tmp_path, stdin="n\n")
    assert asked.code == 1 and f"of {CONTACT} for good?" in asked.out
    assert call("contacts", "export", CONTACT, "--bot", tmp_path).code == 0


def test_a_server_that_runs_and_does_not_answer_keeps_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    monkeypatch.setattr(postgres_requests, "ANSWERED_SECONDS", 0.1)
    with closing(engine_writer(tmp_path / "bot.db")):
        refused = call("contacts", "erase", CONTACT, "--bot", tmp_path, "--yes")
    assert refused.code == 1
    assert ("no engine answered" if IN_USE else "is in use by another process") in refused.err


@pytest.mark.parametrize("words", ["", "Ann Lee", "*"])
def test_what_is_no_number_is_refused(tmp_path: Path, words: str) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    for command in ("export", "erase"):
        refused = call("contacts", command, "--bot", tmp_path, "--", words)
        assert refused.code == 1 and "is no number" in refused.err
