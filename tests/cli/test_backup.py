"""``bot backup``, and a bot that goes on from what it made."""

import json
from pathlib import Path

from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call


def test_a_backup_of_a_running_bot_is_told_of_and_can_be_read_by_programs(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as bot:
        bot.user("hi")
        shown = call("backup", tmp_path / "monday", "--bot", tmp_path)
        again = json.loads(call("backup", tmp_path / "tuesday", "--bot", tmp_path, "--json").out)
    assert shown.code == 0
    assert shown.out.startswith(f"{tmp_path / 'monday'}: 1 contact, all events up to 1; ")
    assert (again["contacts"], again["cursor"]) == (1, 1)


def test_a_target_that_is_taken_is_refused(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    refused = call("backup", tmp_path, "--bot", tmp_path)
    assert refused.code == 1 and "is there already" in refused.err


def test_a_restored_bot_goes_on_where_the_backup_was(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
        assert call("backup", tmp_path / "copy", "--bot", tmp_path).code == 0
        bot.user("3")
    assert call("restore", tmp_path / "copy", "--bot", tmp_path).code == 0
    with kept(tmp_path) as bot:
        bot.user("2")
    session = json.loads(call("sessions", CONTACT, "--bot", tmp_path, "--json").out)
    assert session["frames"][0]["vars"]["cups"] == 2


def test_with_a_restored_engine_and_the_inbox_that_survived_nothing_is_sent_twice(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
        assert call("backup", tmp_path / "copy", "--bot", tmp_path).code == 0
        bot.user("3")
        keys = [sent.key for sent in bot.emulator.sent]
    (tmp_path / "bot.db").write_bytes(b"damaged")
    assert call("restore", tmp_path / "copy", "--keep-inbox", "--bot", tmp_path).code == 0
    with kept(tmp_path) as bot:
        assert bot.engine.wait_settled(20)
    given_up = json.loads(call("queue", "--bot", tmp_path, "--json").out)["dead"]  # a new gateway, and no window open
    again = [letter["body"]["key"] for letter in given_up]
    assert again and set(again) < set(keys), "the same events make the same keys, by which the gateway knows them"
