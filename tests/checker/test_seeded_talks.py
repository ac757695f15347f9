"""Each mistake that a rule finds has a counterexample, and its test fails with all parts of the bot."""

from bot.checker.counterexamples.counterexample import CounterexampleFinder
from bot.checker.counterexamples.fault_tests import FAULT_TESTS
from bot.checker.run_rules import run_rules
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.transcript_reader import load_with_tests
from tests.checker.played import why_not_shown
from tests.checker.test_seeded import MISTAKES, with_mistake
from tests.searches import over

NO_COUNTEREXAMPLE = {
    "E": "a bot that has problems does not run",
    "W001": "a comment does nothing",
    "W003": "the bot says what is written: only the author knows that it is wrong",
    "W004": "the bot says what is written: only the author knows that it is wrong",
    "W101": "no conversation reaches the step",
}
"""The codes without a counterexample, or their beginnings, each with the reason."""

SHOWN = {name: mistake for name, mistake in MISTAKES.items() if not mistake.code.startswith((*NO_COUNTEREXAMPLE,))}


@over(4, "name", SHOWN)
def test_a_mistake_has_a_counterexample_whose_test_fails_by_it(name: str) -> None:
    mistake = SHOWN[name]
    folder, path, line = with_mistake(mistake)
    loaded = load_with_tests(folder)
    program = loaded.program
    assert program is not None
    found = [each for each in run_rules(program.library, folder.sources) if (each.path, each.line) == (path, line)]
    assert mistake.code in {finding.code for finding in found}
    finder = CounterexampleFinder(program.library, examples_from(program.extensions, loaded.transcripts))
    for finding in found:
        example, _ = finder.search(finding)
        assert example is not None, finding
        assert why_not_shown(example, program, folder) == "", example.test


def test_each_code_has_a_fault_test_or_a_reason_for_none() -> None:
    assert not FAULT_TESTS.keys() & NO_COUNTEREXAMPLE.keys()
    assert {mistake.code for mistake in SHOWN.values()} <= FAULT_TESTS.keys()
