"""What the documentation says is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bot.flow.documents import Source
from bot.flow.library import load
from bot.lang.handlers import handlers_in

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
    """Blocks that are a file: ``md facts.md``."""
    return re.findall(rf"^```{language} (\S+)\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "language").glob("*.md")), ids=lambda page: page.stem)
def test_every_flow_in_a_page_of_the_language_loads(page: Path) -> None:
    (bot,) = blocks(page, "yaml bot")
    flows = blocks(page, "yaml")
    namespace: dict[str, object] = {}
    for code in (HANDLER, *blocks(page, "python")):
        exec(code, namespace)
    sources = [Source("bot.yml", bot.encode()), *(Source(f"{n}.yml", text.encode()) for n, text in enumerate(flows))]
    documents = [Source(name, text.encode()) for name, text in named_blocks(page, "md")]
    assert flows
    assert [str(problem) for problem in load(sources, handlers_in([namespace]), documents).problems] == []


def test_the_flows_in_the_readme_load_as_they_are() -> None:
    flows = [Source(f"{n}.yml", text.encode()) for n, text in enumerate(blocks(ROOT / "README.md", "yaml"))]
    assert len(flows) == 2
    assert load([Source("bot.yml", b"name: T\n"), *flows], {}).problems == []


def test_the_handler_in_the_readme_is_one() -> None:
    (code,) = blocks(ROOT / "README.md", "python")
    namespace: dict[str, object] = {}
    exec(code, namespace)
    assert list(handlers_in([namespace])) == ["shop.find"]


def test_the_conversation_in_the_readme_is_real() -> None:
    (talk,) = blocks(ROOT / "README.md", "")
    said = [line.removeprefix("you: ") for line in talk.splitlines() if line.startswith("you: ")]
    chat = subprocess.run(
        [sys.executable, "-m", "bot", "chat", "flows"],
        input="".join(f"{line}\n" for line in said),
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=60,
    )
    assert talk.strip() in chat.stdout, chat.stdout + chat.stderr


def test_the_readmes_commands_are_those_of_the_makefile_and_of_the_program() -> None:
    from bot.cli import COMMANDS

    made = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    lines = [line for block in blocks(ROOT / "README.md", "sh") for line in block.splitlines()]
    assert {line.split()[1] for line in lines if line.startswith("make ")} == {"chat", "test"} <= made
    assert {line.split()[1] for line in lines if line.startswith("bot ")} <= COMMANDS.keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target
