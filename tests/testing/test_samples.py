"""The two sample bots: refused for what comes later and for nothing else; without that, their own tests pass."""

from pathlib import Path
from shutil import copytree

import pytest

from bot.folder import read_folder
from bot.testing.loading import load_with_tests
from bot.testing.run import run

SAMPLES = Path(__file__).parent.parent / "samples"
LATER = {
    "shop": [
        'bot.yml:5:1: E199 bot: "languages" is not available yet (for translations)',
        'flows/assistant.yml:9:5: E199 step "talk": "ai" is not available yet (AI turns)',
        'flows/track_order.yml:5:1: E199 flow "track_order": "interrupted" is not available yet (for interruptions)',
    ],
    "clinic": [
        'flows/book.yml:12:1: E199 flow "book": "interrupted" is not available yet (for interruptions)',
        'flows/book.yml:80:5: E199 step "booked": "schedule" is not available yet (for scheduled flows)',
    ],
}
CUTS = {
    "shop": [
        ("bot.yml", "languages: [en, id]", ""),
        ("flows/track_order.yml", "interrupted: resume ", "#"),
        ("flows/main.yml", "other: /assistant ", "other: /person #"),
        ("flows/track_order.yml", "/assistant", "/person"),
    ],
    "clinic": [
        ("flows/book.yml", "interrupted: ask ", "#"),
        ("flows/book.yml", "    schedule: ", "    # "),
    ],
}


def without_what_comes_later(name: str, folder: Path) -> Path:
    bot = copytree(SAMPLES / name, folder / name, ignore=lambda *_: ["__pycache__"])
    for file, old, new in CUTS[name]:
        text = (bot / file).read_text()
        assert old in text
        (bot / file).write_text(text.replace(old, new))
    if name == "shop":
        (_, person) = (bot / "flows/assistant.yml").read_text().split("---\n")
        (bot / "flows/assistant.yml").write_text(person)
    return bot


def outcomes(folder: Path) -> dict[str, str | None]:
    bot = read_folder(folder)
    loaded = load_with_tests(bot)
    assert loaded.program is not None, loaded.problems
    failures = {transcript.name: run(transcript, loaded.program, bot) for transcript in loaded.transcripts}
    return {name: f"{failed.mark.line}: {failed.what}" if failed else None for name, failed in failures.items()}


@pytest.mark.parametrize("name", LATER)
def test_a_sample_is_refused_for_what_comes_later_and_for_nothing_else(name: str) -> None:
    assert [str(problem) for problem in load_with_tests(read_folder(SAMPLES / name)).problems] == LATER[name]


def test_the_shop_works_as_its_tests_say(tmp_path: Path) -> None:
    assert outcomes(without_what_comes_later("shop", tmp_path)) == {
        "a customer finds a shipped order": None,
        "a silent customer is reminded once and then let go": None,
    }


def test_the_clinic_works_as_its_tests_say_up_to_the_scheduled_reminder(tmp_path: Path) -> None:
    assert outcomes(without_what_comes_later("clinic", tmp_path)) == {
        "a visit is booked, and its reminder comes on the day before": "18: the bot says nothing here",
        "a silent booker gets the template, not a message that can't be delivered": None,
    }
