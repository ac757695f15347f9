"""``bot store copy``, and a bot that goes on with what it made."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from bot.store.database import PostgresAddress
from tests.cli.keeping import START, Kept, kept
from tests.cli.terminal import call, make_bot
from tests.postgres import Postgres, new_database

ANN, BOB = "6281234567890", "6289876543210"
FLOWS = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, kinds: [image], keep: true}, size: {type: integer}, name: {type: text}}
steps:
  photo: {ask: Your photo?, save: photo}
  name: {ask: Your name?, save: name, remind: {after: 1h, say: Still there?}}
  size: {call: size_of, with: {photo: "{{ photo }}"}, save: size}
  thanks: {ask: "Thanks {{ name }}, {{ size }} bytes. More?", save: name, then: name}
"""
HANDLERS = """
from pathlib import Path

from bot import handler
from bot.core.values import Media

@handler("size_of")
def size_of(photo: Media) -> int:
    return len(Path(photo.file).read_bytes())
"""


def texts(bot: Kept) -> list[str]:
    return [f"{sent.body['to'][-2:]} {sent.body['text']['body']}" for sent in bot.emulator.sent]


def photo(bot: Kept, contact: str) -> None:
    bot.emulator.receive(contact, kind="image", event_id=f"photo of {contact}")
    bot.settle()


def test_a_bot_goes_on_in_a_database_and_then_in_a_file_again(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOT_FILES", raising=False)
    make_bot(tmp_path, FLOWS, HANDLERS)
    shared = tmp_path / "shared"
    shared.mkdir()
    with kept(tmp_path) as bot:
        size = len(bot.emulator.media["image"])
        for contact in (ANN, BOB):
            bot.user("hi", contact=contact)
        photo(bot, BOB)
        bot.emulator.faults.add("unauthorized")
        photo(bot, ANN)
        assert texts(bot) == ["90 Your photo?", "10 Your photo?", "10 Your name?"]

    with new_database(postgres, tmp_path, "template0") as made:
        database = PostgresAddress(made.url, made.beside, shared)
        monkeypatch.setenv("BOT_FILES", str(shared))
        copied = call("store", "copy", tmp_path / "bot.db", made.url, "--bot", tmp_path)
        assert copied.code == 0, copied.err
        assert f"{database} has everything: " in copied.out and "and 2 kept files." in copied.out
        assert f"  BOT_STORE={made.url}\n  BOT_FILES={shared}" in copied.out
        shutil.rmtree(tmp_path / "bot.files")
        with kept(tmp_path, at=database, start=START + timedelta(minutes=10)) as bot:
            bot.settle()
            photo(bot, ANN)  # it is known
            assert texts(bot) == ["90 Your name?"]
            bot.user("Bob", contact=BOB)
            bot.clock.move(timedelta(minutes=50))
            bot.settle()
            assert texts(bot)[1:] == [f"10 Thanks Bob, {size} bytes. More?", "90 Still there?"]
            bot.emulator.faults.add("unauthorized")
            bot.user("Ann", contact=ANN)

        copied = call("store", "copy", made.url, tmp_path / "back.db", "--bot", tmp_path, "--json")
        assert copied.code == 0, copied.err
        assert json.loads(copied.out)["files"] == 2
    shutil.rmtree(shared)
    with kept(tmp_path, at=tmp_path / "back.db", start=START + timedelta(hours=2)) as bot:
        bot.settle()
        photo(bot, ANN)
        assert texts(bot) == [f"90 Thanks Ann, {size} bytes. More?"]
        bot.user("again", contact=BOB)
        assert texts(bot)[1:] == ["10 Your name?"]


def test_a_copy_gets_another_number_of_shards(
    tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi", contact=ANN)
    with new_database(postgres, tmp_path, "template0") as made:
        monkeypatch.setenv("BOT_SHARDS", "3")
        divided = call("store", "copy", tmp_path / "bot.db", made.url, "--bot", tmp_path)
        assert divided.code == 0 and f"  BOT_STORE={made.url}\n  BOT_SHARDS=3\nand start" in divided.out, divided.err
        for shards in ("3", "2"):
            monkeypatch.setenv("BOT_SHARDS", shards)
            joined = call("store", "copy", made.url, tmp_path / f"{shards}.db", "--bot", tmp_path)
            assert joined.code == 0 and f"{shards}.db\n  BOT_SHARDS=1\nand start" in joined.out, joined.err


def test_a_refusal_is_in_words(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS, HANDLERS)
    with kept(tmp_path):
        pass
    refused = call("store", "copy", tmp_path / "bot.db", tmp_path / "bot.db", "--bot", tmp_path)
    assert refused.code == 1 and "is the same store twice" in refused.err
    refused = call("store", "copy", tmp_path / "bot.db", "host=db password=secret", "--bot", tmp_path)
    assert refused.code == 1 and refused.err.startswith("TO is not the address of a database: write postgresql://")
    assert "secret" not in refused.err
