"""``bot check --live``: what an edit does to those who are in the middle of something."""

import json
from pathlib import Path

import pytest

from tests.cli.keeping import CONTACT, FLOWS, copied, kept
from tests.cli.terminal import BOT, Outcome, call
from tests.store.store_kit import beside_the_store

OTHER = "6281234567891"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bot's folder: two contacts wait at a question, a third at another."""
    folder = tmp_path_factory.mktemp("running")
    with kept(folder) as bot:
        bot.user("hi", "2")
        bot.user("hi", contact=OTHER)
        bot.user("hi", contact="6281234567892")
    return folder


@pytest.fixture
def folder(running: Path, tmp_path: Path) -> Path:
    """A copy of it, to edit."""
    return copied(running, tmp_path / "bot")


def edited(folder: Path, *edits: tuple[str, str], bot: str = BOT) -> Path:
    text = FLOWS
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    (folder / "flows" / "main.yml").write_text(text)
    (folder / "bot.yml").write_text(bot)
    return folder


def live(folder: Path, *arguments: str | Path) -> Outcome:
    return call("check", folder, "--live", *arguments)


def test_without_an_edit_everybody_goes_on(folder: Path) -> None:
    outcome = live(folder)
    assert (outcome.code, outcome.out) == (0, "3 conversations under way: 3 go on unchanged, nobody is dropped.\n")


def test_an_edit_is_a_line_for_each_step_with_how_many_wait_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed = ("  sure: {ask", "  agreed: {renamed_from: sure, ask"), ("else: sure", "else: agreed")
    monkeypatch.chdir(edited(folder, ("ask: How many?", "ask: How many cups?"), *renamed))
    outcome = live(Path())
    assert outcome.code == 0
    assert outcome.lines == [
        "     1  flows/main.yml:10  main/sure -> main/agreed: the step has another name: goes on unchanged",
        "     2  flows/main.yml:7  main/cups: the question is put again, in its new form",
        "3 conversations under way: 1 goes on unchanged, nobody is dropped.",
    ]


def test_who_would_be_dropped_is_an_error_until_it_is_declared_where_they_go(folder: Path) -> None:
    gone = ("  sure: {ask", "  agreed: {ask"), ("else: sure", "else: agreed")
    outcome = live(edited(folder, *gone))
    assert outcome.code == 1
    assert outcome.lines[0].endswith("main/sure: the step is gone, and no `gone` is declared: dropped")
    assert outcome.lines[-1] == "3 conversations under way: 2 go on unchanged, 1 would be dropped."
    declared = live(edited(folder, *gone, bot=BOT.replace("defaults: {", "defaults: {gone: /main, ")))
    assert declared.code == 0
    assert declared.lines[0].endswith("main/sure -> /main: the step is gone: led as `gone` says")


def test_json_is_for_programs(folder: Path) -> None:
    outcome = live(edited(folder, ("ask: How many?", "ask: How many cups?")), "--json")
    found = json.loads(outcome.out)
    (change,) = found.pop("changes")
    assert found == {"conversations": 3, "unchanged": 1, "unreadable": 0, "dropped": 0}
    assert (change["count"], change["place"], change["becomes"], change["line"]) == (2, "main/cups", "asked", 7)
    assert CONTACT not in outcome.out


def test_a_session_of_another_version_would_be_dropped(folder: Path) -> None:
    with beside_the_store(folder / "bot.db") as execute:
        execute("UPDATE sessions SET state = '{\"$Odd\": 1' WHERE contact = ?", (OTHER,))
    outcome = live(folder)
    assert outcome.code == 1
    assert outcome.lines[0] == "     1  cannot be read by this version: their conversations start anew"


def test_another_store_can_be_named_and_a_server_may_run(folder: Path, tmp_path: Path) -> None:
    with kept(tmp_path / "other", server=True) as bot:
        bot.user("hi")
        outcome = live(folder, "--store", tmp_path / "other" / "bot.db")
    assert outcome.out.startswith("1 conversation under way: 1 goes on unchanged")
    assert "there is no store at" in live(folder, "--store", tmp_path / "none.db").err
    assert "is a directory" in live(folder, "--store", tmp_path).err


def test_mistakes_are_told(folder: Path) -> None:
    assert call("check", folder, "--store", folder / "bot.db").code == 2
    assert live(folder, "--watch").code == 2
    assert live(edited(folder, ("then: offer", "then: ofer"))).code == 1
