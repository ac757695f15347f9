import json
from contextlib import closing, nullcontext
from datetime import timedelta
from pathlib import Path

import pytest

from bot.server import doctor
from bot.store import postgres_requests
from bot.store.commit import Commit
from bot.store.engine_store import EngineStore
from bot.store.opening import engine_writer
from bot.testing.emulator import MessageTemplate
from bot.testing.emulator.emulator import CHANNELS
from tests.cli.keeping import CONTACT, START, kept
from tests.cli.terminal import call, make_bot
from tests.postgres import IN_USE, about_files, store_at

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
    assert advice == "  when you have corrected that: bot queue retry 1"
    assert shown.lines[-1] == "0 messages wait to be sent, 1 given up."


def test_json_has_both_queues(folder: Path) -> None:
    shown = json.loads(call("queue", "--bot", folder, "--json").out)
    assert shown["pending"] == []
    (letter,) = shown["dead"]
    assert (letter["id"], letter["what"], letter["contact"]) == (1, "send", CONTACT)
    assert letter["body"]["effect"]["message"]["name"] == "unheard_of"
    assert shown["counts"]["dead_letters"] == 1
    assert shown["broadcasts"] == {}


def test_a_retry_goes_through_the_running_server(folder: Path) -> None:
    with kept(folder, server=True) as bot:
        bot.emulator.templates.add(APPROVED)
        bot.emulator.open_window(CONTACT)
        retried = call("queue", "retry", "1", "--bot", folder)
        assert (retried.code, retried.out) == (0, "To be sent again: 1 message.\n")
        assert bot.engine.wait_settled(20)
        assert bot.sent == ["template"]
    assert call("queue", "--bot", folder).lines == ["0 messages wait to be sent, 0 given up."]


def test_a_retry_answers_programs_in_json(folder: Path) -> None:
    retried = json.loads(call("queue", "retry", "1", "--bot", folder, "--json").out)
    assert retried == {"done": [1], "missing": [], "held": [], "opted_out": [], "same_key": [], "may_double": []}


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


def test_a_server_that_runs_and_does_not_answer_keeps_its_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_requests, "ANSWERED_SECONDS", 0.1)
    with closing(engine_writer(folder / "bot.db")):
        refused = call("queue", "retry", "1", "--bot", folder)
    assert refused.code == 1
    assert ("no engine answered" if IN_USE else "is in use by another process") in refused.err


def test_a_bot_that_never_ran_has_no_store(tmp_path: Path) -> None:
    make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps:\n  a: {say: Hi}\n")
    refused = call("queue", "--bot", tmp_path)
    assert refused.code == 1
    assert refused.err.startswith(
        f"there is no store {'in' if IN_USE else 'at'} {store_at(tmp_path / 'bot.db')} yet: `bot serve` makes one"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        *(["retry"], ["retry", "x"], ["retry", "0"], ["drop"], ["forget", "1"], ["--all"], ["--code", "132012"]),
        *(["retry", "1", "--all"], ["drop", "1", "--code", "132012"], ["-n", "0"]),
    ],
)
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    assert call("queue", "--bot", folder, *arguments).code == 2


def test_the_store_is_found_by_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".env").write_text(f"BOT_STORE={folder / 'other.db'}\n")
    monkeypatch.setenv("BOT_STORE", "")  # so that what .env sets is undone after this test
    monkeypatch.delenv("BOT_STORE")
    assert str(store_at(folder / "other.db")) in call("queue", "--bot", folder).err


@about_files
def test_a_relative_path_in_env_is_the_same_store_in_each_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".env").write_text("BOT_STORE=other.db\n")
    for here in (tmp_path_factory.mktemp("here"), folder):
        monkeypatch.setenv("BOT_STORE", "")
        monkeypatch.delenv("BOT_STORE")
        monkeypatch.chdir(here)
        assert str(folder / "other.db") in call("queue", "--bot", folder).err


def test_what_waits_says_why_below_the_servers_alarms(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as bot:
        bot.emulator.inactive_channels.update(CHANNELS)
        bot.user("hi")
        shown = call("queue", "--bot", tmp_path)
    assert shown.lines[0].startswith("the account's own channel is unknown or inactive: its messages wait, those of")
    assert shown.lines[1].startswith("  WHATSAPP_CHANNEL_NOT_FOUND: set channels in bot.yml, or BOT_CHANNEL_ID")
    held, behind = (line for line in shown.lines if "one message is tried: 2030-" in line)
    assert held.startswith("  the account's own channel is unknown or inactive; one message is tried: 2030-05-06")
    assert behind.startswith("  1 before it to this contact: the account's own channel")
    assert "it waits until a server runs: `bot serve`" in call("queue", "--bot", tmp_path).out


def test_what_is_held_says_why_in_the_gateways_words(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.emulator.faults.add("unauthorized")
        bot.user("hi")
        shown = call("queue", "--bot", tmp_path)
    assert "held: " in shown.out and "unauthorized" in shown.out
    assert shown.lines[-1] == "2 messages wait to be sent, 0 given up."


# -- what may have been sent


@pytest.fixture
def unclear(tmp_path: Path) -> Path:
    """A bot that has given up a message which the gateway took: the answer was lost, and the key is refused since."""
    with kept(tmp_path) as bot:
        bot.emulator.behaviour.repeated_key = "refused"
        bot.emulator.faults.add("error_after", count=1)
        bot.user("hi")
        bot.clock.move(timedelta(seconds=2))
        bot.settle()
        assert bot.sent == ["text", "text"]
    return tmp_path


def test_a_repetition_that_is_refused_since_its_key_is_used_may_have_been_sent(unclear: Path) -> None:
    shown = call("queue", "--bot", unclear)
    assert "IDEMPOTENCY_KEY_REUSED" in shown.out
    assert "  look whether it arrived; to send it again all the same: bot queue retry 1" in shown.lines


def test_a_retry_says_what_may_arrive_twice_and_asks(unclear: Path) -> None:
    told = call("queue", "retry", "1", "--bot", unclear, stdin="n\n")
    assert told.out == "To be sent again: 0 messages.\n"
    assert told.err.startswith("1 message may have been sent already, and the gateway cannot recognise a retry: the")
    assert letters(unclear) == [1]
    with kept(unclear, server=True) as bot:
        bot.emulator.open_window(CONTACT)
        told = call("queue", "retry", "1", "--yes", "--bot", unclear)
        assert told.out == "To be sent again: 1 message.\n"
        assert told.err.startswith("1 message may have been sent already")
        assert bot.engine.wait_settled(20)
        assert bot.sent == ["text"]
    assert letters(unclear) == []


# -- many at once


@pytest.fixture
def four(folder: Path) -> Path:
    """A bot that has given up two templates which the gateway does not know, and two messages for another reason."""
    with kept(folder) as bot:
        bot.user("hi", "7", contact="6289876543210")
        bot.emulator.faults.add("send_failed")
        bot.user("hi", contact="6285555555555")
    return folder


def letters(folder: Path) -> list[int]:
    return sorted(letter["id"] for letter in json.loads(call("queue", "--bot", folder, "--json").out)["dead"])


@pytest.mark.parametrize("server", [True, False])
def test_all_that_was_given_up_for_one_reason_is_sent_again(four: Path, server: bool) -> None:
    with kept(four, server=True) if server else nullcontext():
        told = call("queue", "retry", "--all", "--code", "132012", "--bot", four, stdin="y\n")
    assert (told.code, told.out) == (0, "To be sent again: 2 messages.\n")
    assert told.err.startswith("Send 2 messages again? [y/N]")
    if not server:
        assert letters(four) == [3, 4]


def test_nothing_is_done_without_a_yes(four: Path) -> None:
    for arguments in (("retry", "--all"), ("drop", "--all"), ("drop", "1")):
        assert call("queue", *arguments, "--bot", four, stdin="n\n").code == 1
    assert letters(four) == [1, 2, 3, 4]


def test_what_is_dropped_is_gone_and_the_trace_says_so(four: Path) -> None:
    assert call("queue", "drop", "1", "--yes", "--bot", four).out == "Deleted: 1 dead letter.\n"
    assert letters(four) == [2, 3, 4]
    assert "a dead letter was dropped: send" in call("trace", CONTACT, "--bot", four).out
    assert call("queue", "drop", "--all", "--yes", "--bot", four).out == "Deleted: 3 dead letters.\n"
    assert letters(four) == []
    assert call("queue", "drop", "--all", "--bot", four).out == "Deleted: 0 dead letters.\n"


def test_ids_that_are_not_there_are_said_and_the_others_are_done(four: Path) -> None:
    told = call("queue", "drop", "2", str(2**64), "--yes", "--bot", four)
    assert (told.code, told.out) == (1, "Deleted: 1 dead letter.\n")
    assert told.err == f"there is no dead letter {2**64} (`bot queue` lists them)\n"
    assert letters(four) == [1, 3, 4]


def test_many_go_in_pieces_that_the_server_takes(folder: Path) -> None:
    with closing(EngineStore(folder / "bot.db")) as store:
        commit = Commit(store.cursor, START)
        for number in range(1200):
            commit.dead_letters.add("event", None, "it could not be read", f"event {number}")
        store.write(commit)
    with kept(folder, server=True):
        told = call("queue", "drop", "--all", "--code", "it could not be read", "--yes", "--bot", folder)
    assert (told.code, told.out) == (0, "Deleted: 1,200 dead letters.\n")
    assert letters(folder) == [1]


def test_a_contacts_share_of_the_day_is_counted_from_the_store_and_a_flood_leaves_one_dead_letter(
    tmp_path: Path,
) -> None:
    with kept(tmp_path, per_contact=2) as bot:
        bot.user("hi")
        assert bot.sent == ["text", "text"]
    with kept(tmp_path, per_contact=2) as bot:
        bot.user("what?", "what?", "what?")
        bot.user("hi", contact="6281200000001")
        assert [sent.to for sent in bot.emulator.sent] == ["6281200000001"] * 2
        assert [alarm.name for alarm in bot.engine.alarms.current()] == ["contact-limit"]
    shown = call("queue", "--bot", tmp_path)
    assert f"given up 1  send  to {CONTACT}" in shown.out
    assert "CONTACT_LIMIT: the contact's 2 requests of 24 hours" in shown.out
    assert shown.lines[-1] == "0 messages wait to be sent, 1 given up."
    assert call("queue", "retry", "--all", "--code", "CONTACT_LIMIT", "--bot", tmp_path, "--yes").code == 0


NEWS = """
flow: main
start: {otherwise: true}
steps: {hello: {say: "Hello!", then: end}}
---
flow: note
vars: {text: {type: text}}
steps:
  note: {say: "{{ text }}", window_closed: {template: {name: news, language: en}}, then: end}
"""


def test_messages_whose_window_is_closed_wait_until_the_contact_writes(tmp_path: Path) -> None:
    make_bot(tmp_path, NEWS)
    with kept(tmp_path, template=MessageTemplate("news", body="News!")) as bot:
        bot.user("hi")
        bot.clock.move(timedelta(days=2))
        for number in range(1, 12):
            bot.start("note", text=f"Note {number}.")
        assert bot.sent == ["text", "template"]
    shown = call("queue", "--bot", tmp_path)
    first, *messages, why, _ = shown.lines[:13]
    assert first == f"waiting 10 messages  to {CONTACT}  until the contact writes"
    assert messages == [f"  Note {number}." for number in range(1, 11)]
    assert why == "  the 24-hour window was closed"
    assert "10 messages wait already for the contact to write" in shown.out
    assert shown.lines[-1] == "0 messages wait to be sent, 1 given up."
    assert "waits until the contact writes: Note 1." in call("sessions", CONTACT, "--bot", tmp_path).out
    assert "10 messages wait already" in call("trace", CONTACT, "--bot", tmp_path).out
    said = [result.what for result in doctor.store_state(store_at(tmp_path / "bot.db"), START)]
    assert any(what.startswith("messages wait until their contacts write") for what in said)
    (late,) = json.loads(call("queue", "--bot", tmp_path, "--json").out)["late"].values()
    assert [message["body"] for message in late] == [f"Note {number}." for number in range(1, 11)]
    with kept(tmp_path, start=START + timedelta(days=2, hours=1)) as bot:
        bot.user("hello")
        assert [sent.body["text"]["body"] for sent in bot.emulator.sent] == [
            *(f"Note {number}." for number in range(1, 11)),
            "Hello!",
        ]
    assert call("queue", "--bot", tmp_path).lines[-1] == "0 messages wait to be sent, 1 given up."
    assert "until the contact writes" not in call("queue", "--bot", tmp_path).out
