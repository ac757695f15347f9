"""The clinic's sample: refused for what comes later and for nothing else; without that, its own tests pass."""

from pathlib import Path
from shutil import copytree

from bot.folder import read_folder
from bot.testing.loading import load_with_tests
from bot.testing.run import run

CLINIC = Path(__file__).parent.parent / "samples" / "clinic"
LATER = [
    'flows/book.yml:80:5: E199 step "booked": "schedule" is not available yet (for scheduled flows)',
]
CUTS = [("    schedule: ", "    # ")]


def without_what_comes_later(folder: Path) -> Path:
    bot = copytree(CLINIC, folder / "clinic", ignore=lambda *_: ["__pycache__"])
    text = (bot / "flows/book.yml").read_text()
    for old, new in CUTS:
        assert old in text
        text = text.replace(old, new)
    (bot / "flows/book.yml").write_text(text)
    return bot


def test_it_is_refused_for_what_comes_later_and_for_nothing_else() -> None:
    assert [str(problem) for problem in load_with_tests(read_folder(CLINIC)).problems] == LATER


def test_it_works_as_its_tests_say_up_to_the_scheduled_reminder(tmp_path: Path) -> None:
    bot = read_folder(without_what_comes_later(tmp_path))
    loaded = load_with_tests(bot)
    assert loaded.program is not None, loaded.problems
    failures = {transcript.name: run(transcript, loaded.program, bot) for transcript in loaded.transcripts}
    assert {name: f"{failed.mark.line}: {failed.what}" if failed else None for name, failed in failures.items()} == {
        "a visit is booked, and its reminder comes on the day before": "18: the bot says nothing here",
        "a silent booker gets the template, not a message that can't be delivered": None,
    }
