"""What the documentation says is so."""

import re
from pathlib import Path

import pytest

from bot.language.flow.documents import Source
from bot.language.flow.library import LoadResult, load
from bot.language.python.gathered import Extensions, extensions_in
from tests.cli.terminal import call

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_THE_LANGUAGE = sorted((ROOT / "docs" / "language").glob("*.md"))
BOT = """
name: Pages
defaults: {retry: {max: 3, else: end}, timeout: {after: 20h, then: end}, errors: {else: end}}
"""
HANDLER = """
from bot import handler

@handler("shop.find", errors=[KeyError])
def find(number: str) -> dict:
    return {}
"""


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    return [text for name, text in found if name == language]


def named_blocks(page: Path, language: str) -> list[tuple[str, str]]:
    """Blocks that are a file: ``md facts.md``, ``yaml locales/id.yml``."""
    return re.findall(rf"^```{language} (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


def load_page(page: Path) -> LoadResult:
    """The bot that the blocks of a page make up. A page without a `bot.yml` has one whose defaults lead somewhere."""
    bots, flows = blocks(page, "yaml bot"), blocks(page, "yaml")
    assert len(bots) <= 1 and flows
    namespace: dict[str, object] = {}
    for code in (HANDLER, *blocks(page, "python")):
        exec(code, namespace)
    sources = [Source("bot.yml", (*bots, BOT)[0].encode())]
    sources += [Source(f"{n}.yml", text.encode()) for n, text in enumerate(flows)]
    sources += [Source(name, text.encode()) for name, text in named_blocks(page, "yaml") if name.startswith("locales/")]
    documents = [
        Source(name, text.encode()) for kind in ("md", "txt", "json") for name, text in named_blocks(page, kind)
    ]
    return load(sources, extensions_in([namespace]), documents)


@pytest.mark.parametrize("page", OF_THE_LANGUAGE, ids=lambda page: page.stem)
def test_every_flow_in_a_page_of_the_language_loads(page: Path) -> None:
    assert [str(problem) for problem in load_page(page).problems] == []


def test_the_flows_in_the_readme_load_as_they_are() -> None:
    flows = [Source(f"{n}.yml", text.encode()) for n, text in enumerate(blocks(ROOT / "README.md", "yaml"))]
    assert len(flows) == 1
    assert load([Source("bot.yml", b"name: T\n"), *flows], Extensions()).problems == []


def test_the_conversation_in_the_readme_is_real(tmp_path: Path) -> None:
    (flow,), (talk,) = blocks(ROOT / "README.md", "yaml"), blocks(ROOT / "README.md", "")
    (tmp_path / "bot.yml").write_text("name: Cups\n")
    (tmp_path / "cups.yml").write_text(flow)
    said = [line.removeprefix("you: ") for line in talk.splitlines() if line.startswith("you: ")]
    chat = call("chat", tmp_path, stdin="".join(f"{line}\n" for line in said))
    assert talk.strip() in chat.out, chat.out + chat.err


def test_the_readme_is_read_in_half_a_minute_and_names_every_page_by_one_link() -> None:
    readme, entry = (ROOT / "README.md").read_text(), (ROOT / "docs" / "README.md").read_text()
    assert len(readme.splitlines()) < 90 and "(docs/README.md" in readme
    examples = {path.parent.name for path in (ROOT / "examples").glob("*/bot.yml")}
    assert {name for name in examples if f"(../examples/{name})" not in entry} == set()
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert {page for page in pages - {"README.md", "index.md"} if f"]({page})" not in entry} == set()


def test_the_readmes_commands_are_those_of_the_makefile_and_of_the_program() -> None:
    from bot.cli import COMMANDS

    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    assert {line.split()[1] for line in lines if line.startswith("make ")} == {"dev", "test"} <= made
    assert {line.split()[1] for line in lines if line.startswith("bot ")} <= COMMANDS.keys()


def anchors(page: Path) -> set[str]:
    """What can stand behind `#` in a link to a page: its headings, as they are shown on the web."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in re.findall(r"\]\(([^)#]*)#?([^)#]*)\)", page.read_text()):
        if not target.startswith("http"):
            there = page.parent / target if target else page
            assert there.exists(), target
            assert not anchor or anchor in anchors(there), f"{target}#{anchor}"


def test_the_language_has_an_entry_from_which_all_its_pages_are_reached() -> None:
    entry = (ROOT / "docs" / "language" / "README.md").read_text()
    assert [page.name for page in OF_THE_LANGUAGE if page.stem != "README" and f"]({page.name})" not in entry] == []
