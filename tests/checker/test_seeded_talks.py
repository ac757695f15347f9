"""Each mistake that a rule finds has a counterexample, and its test fails with all parts of the bot."""

import pytest

from bot.checker.counterexamples.counterexample import CounterexampleFinder
from bot.checker.counterexamples.fault_tests import FAULT_TESTS
from bot.checker.run_rules import run_rules
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.transcript_reader import load_with_tests
from tests.checker.played import why_not_shown
from tests.checker.test_seeded import MISTAKES, Mistake, with_mistake

NO_TALK = {
    "E": "a bot that has problems does not run",
    "W001": "a comment does nothing",
    "W003": "what the bot says is what stands there: that it was meant otherwise, nobody but its author knows",
    "W004": "what the bot says is what stands there: that it was meant otherwise, nobody but its author knows",
    "W101": "no talk comes to the step",
}
"""The seeded mistakes without a talk, by their codes or what these begin with, and why they have none."""

TOLD = {name: mistake for name, mistake in MISTAKES.items() if not mistake.code.startswith((*NO_TALK,))}


@pytest.mark.parametrize("mistake", TOLD.values(), ids=TOLD.keys())
def test_a_mistake_is_told_as_a_talk_whose_test_fails_by_it(mistake: Mistake) -> None:
    folder, path, line = with_mistake(mistake)
    loaded = load_with_tests(folder)
    program = loaded.program
    assert program is not None
    found = [each for each in run_rules(program.library, folder.sources) if (each.path, each.line) == (path, line)]
    assert mistake.code in {finding.code for finding in found}
    finder = CounterexampleFinder(program.library, examples_from(program.extensions, loaded.transcripts))
    for finding in found:
        talk, _ = finder.search(finding)
        assert talk is not None, finding
        assert why_not_shown(talk, program, folder) == "", talk.test


def test_a_code_has_no_talk_or_a_fault_that_shows_in_one() -> None:
    assert not FAULT_TESTS.keys() & NO_TALK.keys()
    assert {mistake.code for mistake in TOLD.values()} <= FAULT_TESTS.keys()
