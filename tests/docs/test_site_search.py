"""The search of the docs' site finds sections, also in pages that are opened as files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browsing import Opens, browser, opens_page  # noqa: F401
from tests.docs.test_docs import ROOT

SECTIONS = [
    (
        "The commands",
        "bot trace",
        "commands.html#trace",
        "Shows also whether a reminder was sent. " + "Other words. " * 90,
        "",
    ),
    (
        "Time",
        "Silence",
        "language/time.html#silence",
        "A step can have reminders and a time-out.",
        "remind: {after: 2h}",
    ),
    ("W901: nothing said", "What is reported", "checks/W901.html#reported", "A reminder, a reminder, a reminder.", ""),
    ("Time", "Reminders", "language/time.html#reminders", "How to write again later.", "remind: {say: Hello?}"),
    ("Time", "Opening hours", "language/time.html#hours", "hours names them.", "hours: {shop: {mon-fri: 8:00-18:00}}"),
]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Search</title><input name="q" aria-label="Search">
<div id="search-results"></div><script src="sections.js"></script><script src="search.js"></script></html>"""
Search = Callable[[str], list[tuple[str, str]]]


@pytest.fixture
def search(opens_page: Opens, tmp_path: Path) -> Search:  # noqa: F811
    (tmp_path / "search.html").write_text(PAGE)
    (tmp_path / "sections.js").write_text(f"const SECTIONS = {json.dumps(SECTIONS)};")
    (tmp_path / "search.js").write_text((ROOT / "docs/theme/search.js").read_text())

    def found(query: str) -> list[tuple[str, str]]:
        page = opens_page(f"{(tmp_path / 'search.html').as_uri()}?q={query}")
        return [(item.locator("a").inner_text(), item.locator("p").inner_text()) for item in page.locator("li").all()]

    return found


def test_the_section_about_the_word_is_first_and_mistakes_are_behind_what_is_right(search: Search) -> None:
    assert [heading for heading, _ in search("reminder")] == ["Reminders", "Silence", "What is reported", "bot trace"]


def test_all_words_of_a_query_are_in_what_is_found(search: Search) -> None:
    assert search("reminder+silence") == [("Silence", "A step can have reminders and a time-out.")]
    assert search("reminder+zebra") == []


def test_an_excerpt_is_prose_around_the_word_and_code_only_where_no_prose_has_it(search: Search) -> None:
    assert search("time-out") == [("Silence", "A step can have reminders and a time-out.")]
    assert search("mon-fri") == [("Opening hours", "hours: {shop: {mon-fri: 8:00-18:00}}")]
    ((_, excerpt),) = search("trace")
    assert excerpt.startswith("Shows also whether") and excerpt.endswith(" …") and len(excerpt) < 250


def test_a_query_is_text_and_nothing_else(search: Search) -> None:
    assert search("%3Cimg src=x%3E") == []
    assert search("(.*") == []
    assert search("") == []
