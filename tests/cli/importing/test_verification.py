"""Conversations of another system, played on an imported bot: what is counted, what is named, what becomes a test."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from bot.checker.exploring.moves import HttpResult
from bot.cli.importing.conversations import SourceConversation, SourceMessage, SourceTurn
from bot.cli.importing.imported import ImportedBot, ImportedFunction
from bot.cli.importing.verification import Verification, verify
from bot.cli.importing.writing import REPORT, write_bot, write_proof
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from tests.cli.terminal import call

STEPS = {
    "drink": {
        "ask": "Tea or coffee?",
        "buttons": {"Tea": {"value": "tea"}, "Coffee": {"value": "coffee"}},
        "save": "drink",
    },
    "loud": {"call": "shop.loud", "with": {"text": "{{ drink }}"}, "save": "loud"},
    "cups": {"http": "POST https://shop.example/cups", "save": "cups"},
    "bye": {"say": "{{ loud }}: {{ cups.left }} left.", "image": "https://shop.example/cup.png", "then": "end"},
}
VARS = {"drink": {"type": "text"}, "loud": {"type": "text"}, "cups": {"type": "object"}}
ASKED = (SourceMessage("Tea or coffee?", place="Intro > text"), SourceMessage(choices=("Tea", "Coffee")))
SERVED = SourceMessage("TEA: 3 left.", media=("image https://shop.example/cup.png",), place="End > text")


@pytest.fixture
def bot() -> ImportedBot:
    imported = ImportedBot(
        "Typebot", "Café", {"defaults": {"errors": {"else": "end"}, "timeout": {"after": "20h", "then": "end"}}}
    )
    imported.flows["main"] = {"start": {"otherwise": True}, "vars": VARS, "steps": STEPS}
    imported.untranslatable("shop.other", 'return "a"', {"text": "str"})
    imported.functions["shop.loud"] = ImportedFunction(
        "shop.loud", "handler", {"text": "str"}, "str", "", ("return text.upper()",)
    )
    return imported


def conversation(*turns: SourceTurn) -> SourceConversation:
    answers = (HttpResult("POST https://shop.example/*", json={"left": 3}),)
    return SourceConversation("tea", "main", turns, http=answers)


def proved(bot: ImportedBot, folder: Path, turns: Sequence[SourceTurn]) -> Verification:
    bot.conversations.append(conversation(*turns))
    places = write_bot(bot, folder)
    proof = verify(bot.conversations, bot.nodes, load_program(read_folder(folder)))
    write_proof(bot, folder, places, proof)
    return proof


def test_a_conversation_that_is_the_same_becomes_a_test_that_passes(bot: ImportedBot, tmp_path: Path) -> None:
    proof = proved(bot, tmp_path, [SourceTurn("text", "hi", ASKED), SourceTurn("choice", "Tea", (SERVED,))])
    assert (proof.alike, proof.same, proof.messages, proof.differences) == (1, 4, 4, ())
    assert "1 test: all passed" in call("test", tmp_path).out


def test_a_difference_is_explained_by_a_node_that_the_turn_has_passed(bot: ImportedBot, tmp_path: Path) -> None:
    bot.nearly("End > text", "the number is another one", "main", "bye")
    other = SourceMessage("TEA: 4 left.", media=SERVED.media, place="End > text")
    proof = proved(bot, tmp_path, [SourceTurn("text", "hi", ASKED), SourceTurn("choice", "Tea", (other,))])
    assert (proof.alike, proof.same, proof.messages, proof.unexplained) == (0, 3, 4, 0)
    report = (tmp_path / REPORT).read_text()
    assert "| End > text | flows/main.yml:8 `bye` | the number is another one |" in report
    assert "Because of: End > text (nearly: the number is another one)" in report


def test_a_difference_after_a_node_that_differs_names_it_as_an_earlier_one(bot: ImportedBot, tmp_path: Path) -> None:
    bot.nearly("Intro > text", "another word", "main", "drink")
    other = SourceMessage("TEA: 4 left.", media=SERVED.media, place="End > text")
    proved(bot, tmp_path, [SourceTurn("text", "hi", ASKED), SourceTurn("choice", "Tea", (other,))])
    assert "Because of an earlier node: Intro > text (nearly: another word)" in (tmp_path / REPORT).read_text()


def test_a_difference_that_no_node_explains_is_named_too(bot: ImportedBot, tmp_path: Path) -> None:
    proof = proved(bot, tmp_path, [SourceTurn("text", "hi", (SourceMessage("Tea, or coffee?"),))])
    assert proof.unexplained == 1 and "1 difference NOT explained" in proof.summary
    assert "NOT EXPLAINED: no node above says why." in (tmp_path / REPORT).read_text()
    assert proof.tests == ()


def test_a_title_that_is_not_there_is_a_difference(bot: ImportedBot, tmp_path: Path) -> None:
    proof = proved(bot, tmp_path, [SourceTurn("text", "hi", ASKED), SourceTurn("choice", "Milk", (SERVED,))])
    assert [each.what for each in proof.differences] == ["there is nothing to tap with the title Milk"]
    assert (proof.same, proof.messages) == (2, 4)


def test_a_function_that_is_to_be_written_fails_in_the_test_too(bot: ImportedBot, tmp_path: Path) -> None:
    bot.functions["shop.loud"] = ImportedFunction("shop.loud", "handler", {"text": "str"})
    proof = proved(bot, tmp_path, [SourceTurn("text", "hi", ASKED), SourceTurn("choice", "Tea")])
    assert proof.alike == 1 and "1 test: all passed" in call("test", tmp_path).out


def test_a_program_can_start_the_flow(bot: ImportedBot, tmp_path: Path) -> None:
    proof = proved(bot, tmp_path, [SourceTurn("start", said=ASKED), SourceTurn("wait", "3600")])
    assert (proof.alike, proof.tests) == (1, ())


def test_the_original_of_what_cannot_be_translated_is_in_the_docstring(bot: ImportedBot, tmp_path: Path) -> None:
    write_bot(bot, tmp_path)
    program = load_program(read_folder(tmp_path))
    spec = program.extensions.handlers["shop.other"]
    assert 'return "a"' in (spec.function.__doc__ or "")
    with pytest.raises(NotImplementedError):
        spec.function("x")


def test_the_tests_are_in_as_many_files_as_it_takes(bot: ImportedBot, tmp_path: Path) -> None:
    write_proof(bot, tmp_path, {}, Verification(tests=("a" * 600_000, "b" * 600_000, "c" * 6)))
    sizes = {file.name: file.stat().st_size for file in (tmp_path / "tests").iterdir()}
    assert sizes == {"test_imported.yml": 600_000, "test_imported_2.yml": 600_010}
