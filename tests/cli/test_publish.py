"""``bot publish`` where no server runs; `tests/server/process/test_publish.py` has those that do."""

import io
from pathlib import Path

import pytest

from tests.cli.keeping import FLOWS, HANDLERS, kept
from tests.cli.terminal import BOT, Outcome, call, make_bot

GONE = FLOWS.replace("  sure: {ask", "  agreed: {ask").replace("else: sure", "else: agreed")
NEW = "flow: new\nstart: {words: [new]}\nsteps:\n  s: {say: New., then: end}\n"


class Terminal(io.StringIO):
    """An input that is a terminal's."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A bot: one contact waits at the step `sure`."""
    with kept(tmp_path) as bot:
        bot.user("hi", "2")
    return tmp_path


def edited(folder: Path, flows: str) -> Path:
    (folder / "flows" / "main.yml").write_text(flows)
    return folder


def test_the_version_is_stored_and_commands_take_the_flows_that_are_served(folder: Path) -> None:
    edited(folder, FLOWS + "---\n" + NEW)
    assert call("publish", folder).lines[-1] == "Version 1 is published: the next `bot serve` serves it."
    edited(folder, FLOWS)
    assert call("start", "new", "6281234567891", "--bot", folder).out == "new was started for 6281234567891.\n"


def test_what_is_served_already_is_not_published_again(folder: Path) -> None:
    assert call("publish", folder, "--follow-files").out == (
        "Nothing is published: the files in the folder are followed already.\n"
    )
    call("publish", folder)
    again = call("publish", folder)
    assert (again.code, again.out) == (
        0,
        "Nothing is published: version 1 has the same files, and is served already.\n",
    )


@pytest.mark.parametrize("target", ["../secret.txt", "/etc/passwd", ".env", "../gone", "via/secret.txt"])
def test_a_link_out_of_the_folder_is_refused_in_words_and_one_within_is_published(folder: Path, target: str) -> None:
    (folder.parent / "secret.txt").write_text("secret")
    (folder / ".env").write_text("BOT_GATEWAY_KEY=secret\n")
    (folder / "via").symlink_to(folder.parent)
    (folder / "facts.md").symlink_to(target)
    refused = call("publish", folder)
    assert refused.code == 1 and "Version" not in refused.out
    if "gone" not in target:
        assert (
            "nothing is published: facts.md is a link to " in refused.err
            and "copy it in the link's place" in refused.err
        )
    (folder / "facts.md").unlink()
    (folder / "..data").mkdir()  # as an orchestrator mounts files
    (folder / "..data" / "facts.md").write_text("Open on Mondays.")
    (folder / "facts.md").symlink_to("..data/facts.md")
    assert call("publish", folder).lines[-1].startswith("Version 1 is published")


def test_without_a_store_there_is_nothing_to_publish_to(tmp_path: Path) -> None:
    refused = call("publish", make_bot(tmp_path, FLOWS, HANDLERS))
    assert (refused.code, refused.out) == (1, "") and "`bot serve` makes one" in refused.err


def test_it_asks_before_a_conversation_ends_and_refuses_without_a_terminal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = call("publish", edited(folder, GONE))
    assert refused.code == 1 and "there is no terminal to ask at; --yes publishes it" in refused.err
    assert "1 would be dropped" in refused.out
    with monkeypatch.context() as at_terminal:
        at_terminal.setattr(io, "StringIO", Terminal)
        assert call("publish", folder, stdin="n\n").code == 1
        assert call("versions", "--bot", folder, "--json").out == "[]\n"
        assert call("publish", folder, stdin="y\n").code == 0
    assert call("publish", edited(folder, FLOWS), "--yes").lines[-1].startswith("Version 2 is published")


@pytest.mark.parametrize(
    ("flows", "why"),
    [
        (FLOWS.replace("then: offer", "then: nowhere"), "E102 no step"),
        (FLOWS + "---\ntest: greets\ntalk:\n- user: hi\n- bot: Goodbye\n", "FAIL  greets"),
    ],
)
def test_a_bot_with_problems_or_a_failing_test_is_not_published(folder: Path, flows: str, why: str) -> None:
    refused = call("publish", edited(folder, flows))
    assert (refused.code, refused.err) == (1, "Nothing is published.\n")
    assert why in refused.out
    assert call("publish", folder, "--no-tests").code == int("test:" not in flows)


TOWNS = """
flow: main
start: {otherwise: true}
vars: {town: {type: text, keep: true}, day: {type: integer}}
steps:
  town: {ask: Where are you?, save: town}
  offer: {template: {name: offer, language: en, body: [a]}, errors: {else: end}, then: end}
"""
OTHERS = TOWNS.replace("main", "other").replace("town", "city").replace("body: [a]", "body: [a, b]")


@pytest.fixture
def differing(tmp_path: Path) -> Path:
    """A bot whose version 1 is served; the files in its folder have another flow, another variable, another time zone."""
    with kept(make_bot(tmp_path, TOWNS, bot=f"{BOT}timezone: Asia/Jakarta\n")) as bot:
        bot.user("hi", "Rome")
    call("publish", tmp_path)
    make_bot(tmp_path, OTHERS, bot=f"{BOT}timezone: Europe/Rome\n")
    (tmp_path / "people.csv").write_text("phone,1\n6281234567890,x\n")
    return tmp_path


def broadcast(folder: Path, *arguments: str) -> Outcome:
    return call("broadcast", *arguments, "--bot", folder, "--yes", "--no-wait")


def test_a_broadcast_chooses_contacts_and_starts_flows_by_what_is_served_and_says_so(differing: Path) -> None:
    began = broadcast(differing, "start", "main", "--with", "day=3", "--where", "town == 'Rome'")
    assert (began.code, began.lines[0]) == (0, "1 of 1 contact who have written match.")
    (said, *_) = began.err.splitlines()
    assert said.startswith("version 1 is served, which ")
    assert said.endswith(f"; the files in {differing} differ: this command uses what is served")
    refused = broadcast(differing, "start", "other", "--where", "True")
    assert refused.code == 1 and 'there is no flow "other" to start' in refused.err
    refused = broadcast(differing, "send", "offer", "--where", "city == 'Rome'")
    assert refused.code == 1 and 'no variable "city"' in refused.err


def test_a_broadcasts_times_are_those_of_the_time_zone_that_is_served(differing: Path) -> None:
    began = broadcast(differing, "send", "offer", str(differing / "people.csv"), "--at", "2050-12-24 9:00")
    assert "At 2050-12-24 09:00 on each contact's clock: 1 contact at 2050-12-24 09:00 (WIB)." in began.lines
    assert "1 contact at 2050-12-24 09:00 (WIB)" in call("broadcast", "show", "offer: people", "--bot", differing).out
    assert "next at 2050-12-24 09:00" in call("broadcast", "list", "--bot", differing).out


def test_a_report_has_the_flows_that_are_served(differing: Path) -> None:
    shown = call("report", "main", "--bot", differing)
    assert shown.code == 0 and shown.err.endswith("differ: this command uses what is served\n")
    assert call("report", "other", "--bot", differing).code == 1


def test_nothing_is_said_where_the_files_are_those_that_are_served(folder: Path) -> None:
    call("publish", folder)
    assert call("report", "main", "--bot", folder).err == ""
