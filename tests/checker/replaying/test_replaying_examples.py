"""The conversations of the examples' tests run with all parts of the bot, are read from the store, and are replayed."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.checker.replaying.conversation_replay import replay
from bot.checker.replaying.differences import DifferenceKind, ReplayDifference
from bot.core.turn import Conversation
from bot.language.flow.library import Library
from bot.loading.folder import Folder, read_folder
from bot.loading.program import Program, load_program
from bot.testing.conversations.transcript import Transcript
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import isolated_simulation
from tests.searches import over

ROOT = Path(__file__).parents[3]
BOTS = sorted(path.parent for path in (*ROOT.glob("examples/*/bot.yml"), *ROOT.glob("flows/bot.yml")))


def conversations(transcript: Transcript, program: Program, folder: Folder) -> list[Conversation]:
    """A test's conversation as the store keeps it."""
    with isolated_simulation(program, folder, transcript.now, transcript.stub_definitions, transcript.contact) as (
        simulation,
        player,
    ):
        for number, line in enumerate(transcript.conversation, start=1):
            player.take(line, transcript.conversation[number:])
        return simulation.stored.reader.trace.conversations(simulation.contact)


def in_its_world(transcript: Transcript, library: Library) -> Library:
    """The library, with the test's chance in place of the bot's."""
    standing = transcript.stub_definitions.random
    return library if standing is None else library.with_draw(lambda key: standing.each[0])


@over(4, "path", BOTS)
def test_unedited_flows_do_as_they_did(path: Path) -> None:
    folder = read_folder(path)
    loaded = load_with_tests(folder)
    assert loaded.program is not None
    told = (
        test
        for test in loaded.transcripts
        if test.stub_definitions.random is None or not test.stub_definitions.random.first
    )
    longest = max(told, key=lambda test: len(test.conversation))
    recorded = conversations(longest, loaded.program, folder)
    assert recorded
    library = in_its_world(longest, loaded.program.library)
    assert [(found.difference, found.stopped) for found in (replay(library, each) for each in recorded)] == [
        (None, None)
    ] * len(recorded)


@pytest.fixture(scope="module")
def order() -> Conversation:
    """Somebody orders two coffees in the café."""
    folder = read_folder(ROOT / "flows")
    loaded = load_with_tests(folder)
    assert loaded.program is not None
    (found,) = conversations(loaded.transcripts[0], loaded.program, folder)
    return found


def with_edit(conversation: Conversation, before: str, after: str) -> ReplayDifference | None:
    """The first difference with one edit of the café's flows."""
    folder = read_folder(ROOT / "flows")
    sources = [replace(each, text=each.text.replace(before.encode(), after.encode())) for each in folder.sources]
    assert sources != list(folder.sources)
    library = load_program(replace(folder, sources=tuple(sources))).library
    return replay(library, conversation).difference


def test_an_edited_text_is_all_that_is_found(order: Conversation) -> None:
    found = with_edit(order, "See you in a minute!", "See you soon!")
    assert found is not None
    assert (found.kind, found.before[0], found.after[0]) == (
        DifferenceKind.SAYS,
        "See you in a minute!",
        "See you soon!",
    )
    assert found.before[1:] == found.after[1:]
    assert found.number == len(order.turns)


def test_an_edit_where_the_talk_did_not_come_is_no_difference(order: Conversation) -> None:
    assert with_edit(order, "How many of you will come?", "How many are you?") is None


def test_an_option_that_is_gone_is_found_where_it_was_offered(order: Conversation) -> None:
    found = with_edit(order, "          Espresso: {value: espresso, about: Short and strong, words: [expresso]}\n", "")
    assert found is not None and found.kind is DifferenceKind.OFFERS
    assert [line for line in found.before if line not in found.after] == ["[Espresso] Short and strong"]
