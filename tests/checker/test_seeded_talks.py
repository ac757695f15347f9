"""Each mistake that a rule finds in a bot is told as a talk, and the test of the talk shows it by the real path."""

import pytest

from bot.checker import prove
from bot.checker.faults import FAULTS
from bot.checker.stories import Teller
from bot.lang.nodes import Map
from bot.lang.problems import Problems
from bot.lang.source import read
from bot.testing.hinting import hints_of
from bot.testing.known import Known
from bot.testing.loading import load_with_tests
from bot.testing.reading import read_transcript
from bot.testing.run import run
from tests.checker.test_seeded import MISTAKES, Mistake, with_mistake

TOLD = {name: mistake for name, mistake in MISTAKES.items() if mistake.code in FAULTS}


@pytest.mark.parametrize("mistake", TOLD.values(), ids=TOLD.keys())
def test_a_mistake_is_told_as_a_talk_whose_test_fails_by_it(mistake: Mistake) -> None:
    folder, path, line = with_mistake(mistake)
    loaded = load_with_tests(folder)
    program = loaded.program
    assert program is not None
    found = [each for each in prove(program.library, folder.sources) if (each.path, each.line) == (path, line)]
    teller = Teller(program.library, hints_of(program.extensions, loaded.transcripts))
    for finding in found:
        talk, _ = teller.tell(finding)
        assert talk is not None, finding
        problems = Problems()
        (node,) = read("found.yml", talk.test, problems)
        assert isinstance(node, Map)
        known = Known(program.library.flows, program.extensions.calls, program.library.bot.languages, folder.path)
        transcript = read_transcript(node, known, problems)
        assert not problems, [str(problem) for problem in problems.sorted()]
        failure = run(transcript, program, folder)
        assert failure is not None, talk.test
        assert failure.mark.line >= transcript.talk[-1].mark.line - len(failure.expected), "it fails before its end"
