"""The docs for an assistant: pages by section, and a search."""

from pathlib import Path

import pytest

from bot.cli.assistant.manual import MOST_SHOWN, Manual, NoPage
from bot.cli.shared.check_report import DOCS

PAGE = """\
# Tea

Tea is a drink.

## Kinds

Green, black.

```sh
# no heading, in a fence

boil
```

### Green

{green}

## Cups

Two.
"""


@pytest.fixture
def manual(tmp_path: Path) -> Manual:
    (tmp_path / "drinks").mkdir()
    (tmp_path / "drinks" / "tea.md").write_text(PAGE.format(green="Leaves. " * 622))
    (tmp_path / "architecture.md").write_text("# Inside\n")
    return Manual(tmp_path)


def test_pages_are_listed_without_those_about_the_project_itself(manual: Manual) -> None:
    assert manual.page("", "") == "drinks/tea: Tea"


def test_a_long_page_begins_and_names_its_further_sections(manual: Manual) -> None:
    page = manual.page("drinks/tea", "")
    assert page.startswith("# Tea\n\nTea is a drink.\n\n## Kinds") and "boil" in page
    assert page.splitlines()[-1] == "Further sections: Green; Cups"


def test_a_section_is_read_with_those_below_it(manual: Manual) -> None:
    assert manual.page("drinks/tea.md", "## cups") == "## Cups\n\nTwo."
    assert manual.page("drinks/tea", "Kinds").endswith("Further sections: Green")


def test_a_long_section_is_read_in_parts() -> None:
    manual = Manual(DOCS)
    parts = [manual.page("language/ai", f"ai: a conversation within limits{part}") for part in ("", " (2)")]
    assert parts[0] != parts[1] and all(len(part) < MOST_SHOWN + 1000 for part in parts)


@pytest.mark.parametrize(
    ("page", "section", "why"),
    [
        ("drinks/teas", "", 'there is no page "drinks/teas" (did you mean "drinks/tea"?)'),
        ("drinks/tea", "Cup", 'the page has no section "Cup" (did you mean "Cups"?)'),
    ],
)
def test_a_name_that_is_unknown_is_corrected(manual: Manual, page: str, section: str, why: str) -> None:
    with pytest.raises(NoPage) as found:
        manual.page(page, section)
    assert str(found.value) == why


def test_a_search_says_where_it_stands(manual: Manual) -> None:
    assert manual.search("how many cups") == "drinks/tea § Cups: Two."


def test_a_search_without_a_find_says_so(manual: Manual) -> None:
    with pytest.raises(NoPage, match="use other words"):
        manual.search("zzz")


def test_every_section_of_the_docs_fits_in_an_answer() -> None:
    manual = Manual(DOCS)
    names = [line.partition(":")[0] for line in manual.page("", "").splitlines()]
    assert len(names) > 40 and all(len(manual.page(name, "")) < MOST_SHOWN + 1000 for name in names)
