import json
from pathlib import Path

import pytest

from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call, make_bot
from tests.postgres import about_files

OTHER = "6281234567891"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two contacts: one is asked whether it is sure, the other how many."""
    with kept(tmp_path) as bot:
        bot.user("hi", "2")
        bot.user("hi", contact=OTHER)
    return tmp_path


def test_the_list_tells_where_everybody_is(folder: Path) -> None:
    listed = call("sessions", "--bot", folder)
    assert listed.code == 0
    assert [line.split()[:2] for line in listed.lines[:2]] == [[CONTACT, "main/sure"], [OTHER, "main/cups"]]
    assert "wakes at" in listed.lines[0]
    assert listed.lines[2] == "2 contacts."


def test_a_long_list_comes_in_pieces(folder: Path) -> None:
    assert call("sessions", "--bot", folder, "-n", "1").lines[-1] == "2 contacts. 1 are shown."
    assert call("sessions", "--bot", folder, "--after", CONTACT).lines[0].startswith(OTHER)


def test_before_anybody_has_written_the_list_says_so(tmp_path: Path) -> None:
    with kept(tmp_path):
        pass
    assert call("sessions", "--bot", tmp_path).out == "Nobody has written to the bot yet.\n"


@pytest.mark.parametrize("contact", [CONTACT, f"+{CONTACT}", "+62 812-3456-7890"])
def test_one_contact_is_shown_with_its_variables(folder: Path, contact: str) -> None:
    shown = call("sessions", contact, "--bot", folder)
    assert shown.code == 0
    assert shown.lines[0] == CONTACT
    assert shown.lines[1].startswith("in main/sure since ")
    assert shown.lines[2:4] == ["  cups   2", "  price  3"]
    assert shown.lines[4].startswith("last message at ")


DRAFT = """
flow: claim
start: {words: [claim]}
vars: {item: text}
steps:
  item: {ask: What is broken?, save: item}
  day: {ask: Since when?, words: {later: later}}
  later: {draft: "{{ item }}", keep: 14d, then: end}
"""


def test_a_draft_is_shown_with_its_place_its_title_and_its_variables(tmp_path: Path) -> None:
    make_bot(tmp_path, DRAFT)
    with kept(tmp_path) as bot:
        bot.user("claim", "the window", "later")
    shown = call("sessions", CONTACT, "--bot", tmp_path)
    assert shown.lines[1] == "in no flow"
    assert shown.lines[2].startswith("draft at claim/day (the window) is kept until ")
    assert shown.lines[3] == "  item  the window"


def test_json_is_for_programs(folder: Path) -> None:
    listed = json.loads(call("sessions", "--bot", folder, "--json").out)
    assert [(session["contact"], session["step"]) for session in listed] == [(CONTACT, "sure"), (OTHER, "cups")]
    shown = json.loads(call("sessions", CONTACT, "--bot", folder, "--json").out)
    assert shown["frames"][0]["vars"] == {"cups": 2, "price": "3.00"}


def test_a_reset_ends_the_conversation_at_once_where_no_server_runs(folder: Path) -> None:
    reset = call("sessions", "reset", CONTACT, "--bot", folder)
    assert (reset.code, reset.out) == (0, f"{CONTACT} is in no flow now.\n")
    assert call("sessions", CONTACT, "--bot", folder).lines[1] == "in no flow"
    assert "reset by bot sessions" in call("trace", CONTACT, "--bot", folder, "-n", "1").out


def test_a_reset_answers_programs_in_json(folder: Path) -> None:
    assert json.loads(call("sessions", "reset", CONTACT, "--bot", folder, "--json").out) == {"contact": CONTACT}


@about_files
@pytest.mark.parametrize("arguments", [[], [CONTACT], ["reset", CONTACT]])
def test_a_store_that_is_none_is_said_in_words(folder: Path, arguments: list[str]) -> None:
    (folder / "bot.db").write_text("This is no database. " * 100)
    refused = call("sessions", "--bot", folder, *arguments)
    assert (refused.code, refused.out) == (1, "")
    assert (
        refused.err
        == f"{folder / 'bot.db'} is damaged (file is not a database): stop the bot, then `bot restore BACKUP --keep-inbox` (docs/going-live.md, Restore); if this is over by itself, restore nothing: the disk is failing, see the system's log\n"
    )


def test_a_reset_goes_through_the_running_server(folder: Path) -> None:
    with kept(folder, server=True) as bot:
        assert call("sessions", "reset", f"+{CONTACT}", "--bot", folder).code == 0
        bot.user("again")
    assert call("sessions", CONTACT, "--bot", folder).lines[1].startswith("in main/cups ")


def test_a_contact_that_is_nowhere_is_refused_in_words(folder: Path) -> None:
    refused = call("sessions", "reset", "123", "--bot", folder)
    assert (refused.code, refused.err) == (1, "123 is in no conversation\n")
    unknown = call("sessions", "123", "--bot", folder)
    assert (unknown.code, unknown.out) == (1, "")
    assert unknown.err.startswith("123 has never written to this bot")


@pytest.mark.parametrize("arguments", [["reset"], ["reset", "1", "2"], ["1", "2"]])
def test_wrong_usage(folder: Path, arguments: list[str]) -> None:
    assert call("sessions", "--bot", folder, *arguments).code == 2
