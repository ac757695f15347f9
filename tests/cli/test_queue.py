import json
from pathlib import Path

import pytest

from bot.emulator import MessageTemplate
from bot.store.files import FileLock
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call, make_bot

APPROVED = MessageTemplate("unheard_of", body="{{1}}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bot that has given up a template which the gateway does not know."""
    with kept(tmp_path) as bot:
        bot.user("hi", "7")
    return tmp_path


def test_an_empty_queue_is_said_to_be_empty(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
    shown = call("queue", "--bot", tmp_path)
    assert (shown.code, shown.out) == (0, "0 messages wait to be sent, 0 given up.\n")


def test_what_was_given_up_is_shown_with_the_gateways_words_and_what_to_do(folder: Path) -> None:
    shown = call("queue", "--bot", folder)
    assert shown.code == 0
    first, message, reason, advice, *_ = shown.lines
    assert first.startswith(f"given up 1  send  to {CONTACT}  at ")
    assert message == '  send template unheard_of (en) "7"'
    assert "132012" in reason and "Template does not exist" in reason
    assert advice == "  when that is put right: bot queue retry 1"
    assert shown.lines[-1] == "0 messages wait to be sent, 1 given up."


def test_json_has_both_queues(folder: Path) -> None:
    shown = json.loads(call("queue", "--bot", folder, "--json").out)
    assert shown["pending"] == []
    (letter,) = shown["dead"]
    assert (letter["id"], letter["what"], letter["contact"]) == (1, "send", CONTACT)
    assert letter["body"]["effect"]["message"]["name"] == "unheard_of"
    assert shown["counts"]["dead_letters"] == 1


def test_a_retry_goes_through_the_running_server(folder: Path) -> None:
    with kept(folder, server=True) as bot:
        bot.emulator.templates.add(APPROVED)
        bot.emulator.open_window(CONTACT)
        retried = call("queue", "retry", "1", "--bot", folder)
        assert (retried.code, retried.out) == (0, f"The message to {CONTACT} waits to be sent again.\n")
        assert bot.engine.wait_settled(20)
        assert bot.sent == ["template"]
    assert call("queue", "--bot", folder).lines == ["0 messages wait to be sent, 0 given up."]


def test_a_retry_answers_programs_in_json(folder: Path) -> None:
    retried = json.loads(call("queue", "retry", "1", "--bot", folder, "--json").out)
    assert retried == {"id": 4, "contact": CONTACT}


def test_without_a_server_the_message_waits_for_the_next_start(folder: Path) -> None:
    assert call("queue", "--bot", folder, "retry", "1").code == 0
    waiting = call("queue", "--bot", folder)
    assert waiting.lines[0].startswith(f"waiting 4  to {CONTACT}  since ")
    assert waiting.lines[-1] == "1 message waits to be sent, 0 given up."


@pytest.mark.parametrize("server", [True, False])
def test_a_letter_that_is_not_there_is_refused_in_words(folder: Path, server: bool) -> None:
    if server:
        with kept(folder, server=True):
            refused = call("queue", "retry", "99", "--bot", folder)
    else:
        refused = call("queue", "retry", "99", "--bot", folder)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("there is no dead letter 99 of a message")


def test_a_server_that_runs_and_does_not_answer_keeps_its_store(folder: Path) -> None:
    lock = FileLock(folder / "bot.db")
    refused = call("queue", "retry", "1", "--bot", folder)
    lock.release()
    assert refused.code == 1
    assert "is in use by another process" in refused.err


def test_a_bot_that_never_ran_has_no_store(tmp_path: Path) -> None:
    make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps:\n  a: {say: Hi}\n")
    refused = call("queue", "--bot", tmp_path)
    assert refused.code == 1
    assert refused.err.startswith(f"there is no store at {tmp_path / 'bot.db'} yet: `bot serve` makes one")


@pytest.mark.parametrize("arguments", [["retry"], ["retry", "x"], ["drop", "1"], ["-n", "0"]])
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    assert call("queue", "--bot", folder, *arguments).code == 2


def test_the_store_is_found_by_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text(f"BOT_STORE={folder / 'other.db'}\n")
    monkeypatch.setenv("BOT_STORE", "")  # so that what .env sets is undone after this test
    monkeypatch.delenv("BOT_STORE")
    assert str(folder / "other.db") in call("queue", "--bot", folder).err


def test_what_is_held_says_why_in_the_gateways_words(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.emulator.faults.add("unauthorized")
        bot.user("hi")
        shown = call("queue", "--bot", tmp_path)
    assert "held: " in shown.out and "unauthorized" in shown.out
    assert shown.lines[-1] == "2 messages wait to be sent, 0 given up."
