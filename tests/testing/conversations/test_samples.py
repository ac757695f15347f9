"""The clinic's sample loads as it is, and its own tests pass."""

from pathlib import Path

from bot.loading.folder import read_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run

CLINIC = Path(__file__).parents[3] / "examples" / "clinic"


def test_it_has_no_problem_and_its_tests_pass() -> None:
    bot = read_folder(CLINIC)
    loaded = load_with_tests(bot)
    assert [str(problem) for problem in loaded.problems] == []
    assert loaded.program is not None
    failures = {transcript.name: run(transcript, loaded.program, bot) for transcript in loaded.transcripts}
    assert {name: f"{failed.mark.line}: {failed.what}" if failed else None for name, failed in failures.items()} == {
        "a visit is booked, and its reminder comes on the day before": None,
        "pain and complaints go to the front desk": None,
        "at night the front desk says when it answers": None,
        "nothing is booked on a Sunday, nor against the patient's will": None,
        "a silent booker gets the template, not a message that can't be delivered": None,
    }
