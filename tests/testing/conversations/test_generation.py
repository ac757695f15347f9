"""Tests that nobody has to write: talks that take a bot's steps and outcomes, and walks by chance."""

from pathlib import Path

import pytest

from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import Explorer
from bot.checker.exploring.moves import WriteMove
from bot.checker.exploring.proposals import Proposals
from bot.checker.graph import Graph
from bot.cli.generate import transcript_of
from bot.loading.folder import read_folder
from bot.testing.conversations.coverage import Coverage
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.generation import ConversationGenerator, GeneratedTest, PathFinder
from bot.testing.conversations.transcript_reader import NOW, LoadedTests, load_with_tests
from bot.testing.conversations.transcript_run import run
from tests.searches import search, tries
from tests.talk import library_of

EXAMPLES = Path(__file__).parents[3] / "examples"
LEAST_PERCENT = 95


def loaded(name: str) -> LoadedTests:
    return load_with_tests(read_folder(EXAMPLES / name))


def generator(bot: LoadedTests) -> ConversationGenerator:
    assert bot.program is not None
    return ConversationGenerator(bot.program, examples_from(bot.program.extensions, bot.transcripts))


@search
@pytest.mark.parametrize("name", ["feedback", "survey", "helpline", "clinic"][: tries(1, 4)])
def test_the_talks_take_nearly_all_steps_and_outcomes(name: str) -> None:
    bot = loaded(name)
    assert bot.program is not None
    made = generator(bot)
    paths = PathFinder(made.explorer, made.proposals, Coverage(bot.program.library), made.begins())
    paths.explore()
    paths.aim()
    assert 100 * len(paths.taken) >= LEAST_PERCENT * Coverage(bot.program.library).total
    assert len(list(paths.fewest())) < len(paths.taken)


def test_walks_hold_by_the_real_path() -> None:
    bot = loaded("survey")
    assert bot.program is not None
    folder = read_folder(EXAMPLES / "survey")
    for walk in generator(bot).walks(4, 1):
        transcript = transcript_of(walk, bot.program, folder)
        assert transcript is not None, walk.text
        assert run(transcript, bot.program, folder) is None, walk.text


def test_what_is_made_is_the_same_each_time_and_another_seed_makes_other_walks() -> None:
    def made(seed: int) -> list[GeneratedTest]:
        making = generator(loaded("dispatch"))
        return [*making.covering(), *making.walks(2, seed)]

    first, again, other = made(1), made(1), made(2)
    assert again == first
    assert other[:-2] == first[:-2]
    assert [walk.text.replace("of seed 2", "of seed 1") for walk in other[-2:]] != [walk.text for walk in first[-2:]]


def test_each_test_says_what_it_is_about_and_stands_in_its_flows_file() -> None:
    made = list(generator(loaded("dispatch")).covering())
    assert len({each.name for each in made}) == len(made)
    assert {each.file for each in made} <= {
        "test_ride.yml",
        "test_offer.yml",
        "test_duty.yml",
        "test_wheels.yml",
        "test_prices.yml",
        "test_person.yml",
        "test-bot.yml",
    }
    assert all(each.name.removeprefix("generated: ") in each.text.replace('\\"', '"') for each in made)


def test_what_a_bots_tests_know_is_known() -> None:
    bot = loaded("form")
    assert bot.program is not None
    examples = examples_from(bot.program.extensions, bot.transcripts)
    assert "Form bin-12" in examples.texts
    assert {answer.status for answer in examples.responds("GET forms:/forms/BIN-13")} >= {404}
    assert next(answer.json for answer in examples.responds("GET forms:/forms/BIN-14")) == {"closed": "2030-04-30"}
    assert not examples.responds("GET other:/")


def test_a_talk_waits_where_messages_are_gathered() -> None:
    flow = """
flow: main
start: {words: [hi]}
vars: {what: {type: text}}
steps:
  ask: {ask: What happened?, save: what, gather: 3s, skip: [nothing], timeout: {after: 1h, then: end}}
  noted: {say: "{{ what | default('Nothing') }}!", then: end}
"""
    library = library_of(flow, "name: Test")
    graph = Graph(library)
    made = Explorer(library)
    begins = [made.begin("6281234567890", NOW.replace(tzinfo=library.bot.timezone))]
    paths = PathFinder(made, Proposals(graph, Examples()), Coverage(library), begins)
    paths.explore()
    assert len(paths.taken) == Coverage(library).total


def test_an_answer_is_spoken_where_a_flow_tells_voice_notes_from_texts() -> None:
    flow = """
flow: main
start: {words: [hi]}
vars: {what: {type: text}, song: {type: media, kinds: [audio]}}
steps:
  ask: {ask: What happened?, save: what, timeout: {after: 1h, then: end}}
  how: {branch: [{if: message.kind == "audio", then: heard}, {else: song}]}
  heard: {say: I have heard it.}
  song: {ask: And your song?, save: song, timeout: {after: 1h, then: end}}
"""
    told = 'name: Test\ntranscribe: {http: POST https://stt.example/v1, form: {file: "{{ voice }}"}}'
    for bot, spoken in ((told, ["ask"]), ("name: Test", [])):
        library = library_of(flow, bot)
        made = Explorer(library)
        proposals, state = (
            Proposals(Graph(library), Examples()),
            made.begin("6281234567890", NOW.replace(tzinfo=library.bot.timezone)),
        )
        said: list[str] = []
        for move in (WriteMove("hi"), WriteMove("A fire")):
            state = made.take(state, move)
            moves = proposals.moves(state)
            if state.frame is not None and any(isinstance(each, WriteMove) and each.voice for each in moves):
                said.append(state.frame.step)
        assert said == spoken
