import json
from pathlib import Path
from typing import Literal

import pytest

from bot.testing.emulator import AcceptedMessage
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with kept(tmp_path) as bot:
        bot.user("hi", "2")
    return tmp_path


def test_a_turn_is_its_event_rule_steps_conditions_and_effects(folder: Path) -> None:
    traced = call("trace", CONTACT, "--bot", folder)
    assert traced.code == 0
    assert 'wrote "hi"  by rule: start of main' in traced.lines[0]
    assert traced.lines[0].endswith(" µs")
    assert traced.lines[1:5] == [
        "  main/hello  then -> cups",
        "  main/cups  waits",
        '  send text "Hello"',
        '  send text "How many?"',
    ]
    assert "  call price(cups: 2)" in traced.lines
    assert "  main/many  if cups > 5: false" in traced.lines
    assert traced.lines[-1] == '  send interactive "3 €, sure?" [Yes] [No]'


def test_n_is_how_many_of_the_last_turns(folder: Path) -> None:
    assert "the call returned 3" in call("trace", f"+{CONTACT}", "--bot", folder, "-n", "1").lines[0]


def test_json_is_a_list_of_turns(folder: Path) -> None:
    turns = json.loads(call("trace", CONTACT, "--bot", folder, "--json").out)
    assert [turn["event"]["type"] for turn in turns] == ["MessageReceived", "MessageReceived", "CallEnded"]
    assert turns[2]["steps"][1]["conditions"] == [["cups > 5", False]]


def test_an_operators_retry_is_traced_too(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi", "7")
    call("queue", "retry", "1", "--bot", tmp_path)
    assert "  an operator retried dead letter 1\n" in call("trace", CONTACT, "--bot", tmp_path).out


def test_a_contact_of_whom_nothing_is_kept_is_refused_in_words(folder: Path) -> None:
    refused = call("trace", "123", "--bot", folder)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("no turn of 123 is kept")


def test_a_message_shows_how_far_it_has_got(tmp_path: Path) -> None:
    with kept(tmp_path) as bot:
        bot.user("hi")
        first, second = bot.emulator.sent
        told: tuple[tuple[AcceptedMessage, Literal["delivered", "read", "failed"]], ...]
        told = ((first, "delivered"), (first, "read"), (second, "failed"))
        for message, status in told:
            bot.emulator.status(message.message_id, status)
            bot.settle()
    lines = call("trace", CONTACT, "--bot", tmp_path).lines
    assert '  send text "Hello"  read' in lines
    failed = [line for line in lines if line.startswith('  send text "How many?"  failed: WHATSAPP_SEND_FAILED')]
    assert len(failed) == 1
    assert "the message was refused: WHATSAPP_SEND_FAILED" in "\n".join(lines)
    shown = call("queue", "--bot", tmp_path).out
    assert f"to {CONTACT}" in shown
    assert "WHATSAPP_SEND_FAILED: The message was not delivered (the gateway's message says why)" in shown
