"""``bot replay``: what was recorded by a bot that ran, held against its edited flows."""

import json
from pathlib import Path

import pytest

from bot.checker.replaying.redaction import HIDDEN
from tests.cli.keeping import CONTACT, FLOWS, copied, kept
from tests.cli.terminal import Outcome, call
from tests.store.store_kit import beside_the_store

OTHERS = ("6281234567891", "6281234567892")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bot's folder: one contact wanted two cups, another seven, a third has only said hello."""
    folder = tmp_path_factory.mktemp("recorded")
    with kept(folder) as bot:
        bot.user("hi", "2", "yes")
        bot.user("hi", "7", contact=OTHERS[0])
        bot.user("hi", contact=OTHERS[1])
    return folder


@pytest.fixture
def folder(recorded: Path, tmp_path: Path) -> Path:
    """A copy of it, to edit."""
    return copied(recorded, tmp_path / "bot")


def edited(folder: Path, *edits: tuple[str, str]) -> Path:
    text = FLOWS
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    (folder / "flows" / "main.yml").write_text(text)
    return folder


def replayed(folder: Path, *arguments: str) -> Outcome:
    return call("replay", *arguments, "--bot", folder)


def test_unedited_flows_do_as_they_did(folder: Path) -> None:
    outcome = replayed(folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("3 conversations: all as they were. It took ")


def test_what_differs_is_counted_once_with_its_place_and_both_sides(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(edited(folder, ("€, sure?", "€. Is that fine?"), ("name: unheard_of", "name: offer")))
    outcome = replayed(Path())
    assert outcome.code == 1
    assert outcome.lines[0] == "    1  flows/main.yml:10  main/sure: says something else"
    assert [line.split() for line in outcome.lines[1:3]] == [
        ["before", "now"],
        [HIDDEN, "€,", "sure?", "≠", HIDDEN, "€.", "Is", "that", "fine?"],
    ]
    assert outcome.lines[3].startswith("       such as turn 3 at ")
    assert outcome.lines[5] == "    1  flows/main.yml:11  main/offer: says something else"
    assert outcome.lines[-1].startswith("2 of 3 conversations differ, in 2 ways; as they were: 1. It took ")


def test_the_same_of_several_is_one_and_the_most_frequent_comes_first(folder: Path) -> None:
    edited(folder, ("ask: How many?", "ask: How many cups?"))
    assert [line[:5] for line in replayed(folder).lines if " main/" in line] == ["    3"]
    edited(folder, ("if: cups > 5, then: offer}, {else: sure}", "if: cups > 5, then: cups}, {else: cups}"))
    assert [line[:5] for line in replayed(folder).lines if " main/" in line] == ["    1", "    1"]


def test_personal_data_shows_only_when_it_is_asked_for(folder: Path) -> None:
    edited(folder, ("€, sure?", "€?"))
    hidden, shown = replayed(folder), replayed(folder, CONTACT, "--show")
    assert CONTACT not in hidden.out and "3 €" not in hidden.out
    assert f"of {CONTACT} at " in shown.out and "3 €?" in shown.out


def test_json_is_for_programs(folder: Path) -> None:
    outcome = replayed(edited(folder, ("€, sure?", "€?")), "--json")
    found = json.loads(outcome.out)
    (difference,) = found.pop("differences")
    assert (outcome.code, found) == (1, {"conversations": 3, "alike": 2, "stopped": {}})
    assert difference["example"].keys() == {"turn", "at"}
    assert (difference["kind"], difference["at"], difference["line"]) == ("says", "main/sure", 10)
    assert (difference["before"], difference["after"]) == ([f"{HIDDEN} €, sure?"], [f"{HIDDEN} €?"])


def test_a_call_that_has_no_recorded_result_is_told_in_words(folder: Path) -> None:
    outcome = replayed(edited(folder, ('cups: "{{ cups }}"', 'cups: "{{ cups + 1 }}"')))
    assert "main/price: asks for something of which no result is recorded" in outcome.out


def test_one_contact_or_a_span_of_time_can_be_chosen(folder: Path) -> None:
    assert replayed(folder, f"+{CONTACT}").out.startswith("1 conversation: all as they were")
    assert replayed(folder, "--since", "1h").out.startswith("3 conversations: ")
    with beside_the_store(folder / "bot.db") as execute:
        execute("UPDATE turns SET at = '2020-01-01' WHERE contact = ?", (CONTACT,))
    assert replayed(folder, "--since", "1h").out.startswith("2 conversations: ")


def test_what_cannot_be_compared_is_said_in_words(folder: Path) -> None:
    with beside_the_store(folder / "bot.db") as execute:
        execute("DELETE FROM turns WHERE id = (SELECT min(id) FROM turns)")
        execute("UPDATE turns SET event = '{\"$Odd\": {' WHERE contact = ?", (OTHERS[0],))
    outcome = replayed(folder)
    assert outcome.code == 0
    assert "1 conversation could not be compared: it began before what is kept." in outcome.lines
    assert "1 conversation could not be compared: it cannot be read by this version." in outcome.lines


def test_it_works_beside_a_running_server(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as bot:
        bot.user("hi")
        assert replayed(tmp_path).code == 0


def test_mistakes_are_told_apart(folder: Path) -> None:
    unknown = replayed(folder, "6280000000000")
    assert (unknown.code, unknown.out) == (1, "") and "no conversation of 6280000000000 is recorded" in unknown.err
    assert replayed(folder, "--since", "soon").code == 2
    edited(folder, ("then: offer", "then: ofer"))
    assert replayed(folder).code == 1 and 'E102 no step "ofer"' in replayed(folder).err
