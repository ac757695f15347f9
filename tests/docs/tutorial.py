"""The tutorial's pages, followed word for word: what a page writes is written, what it runs is run."""

import re
from dataclasses import dataclass
from pathlib import Path

from tests.cli.terminal import call
from tests.docs.test_docs import ROOT

FOLDER = ROOT / "docs" / "tutorial"
PAGES = sorted(FOLDER.glob("[1-9]-*.md"))
_BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of a page: a file (``name``), commands (``sh``), what they print (``text``), or a chat (without a kind)."""

    kind: str
    name: str
    text: str


def blocks(page: Path) -> list[Block]:
    """The blocks of a page, in order."""
    found = []
    for match in _BLOCK.finditer(page.read_text(encoding="utf-8")):
        kind, _, name = match[1].partition(" ")
        found.append(Block(kind, name, match[2]))
    return found


def write(block: Block, folder: Path) -> None:
    """Write the block's file, as the reader does."""
    path = folder / block.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.text, encoding="utf-8")


def write_up_to(page: Path, folder: Path) -> None:
    """Write the files of all earlier pages, in their last version. A file that a page wants deleted is not there."""
    for earlier in PAGES[: PAGES.index(page)]:
        for block in blocks(earlier):
            if block.name:
                write(block, folder)
        for name in re.findall(r"Delete `([^`]+)`", earlier.read_text(encoding="utf-8")):
            (each,) = folder.rglob(name)
            each.unlink()


def printed(command: str) -> str:
    """What a command of ours prints, on both outputs."""
    outcome = call(*command.split()[1:])
    return outcome.out + outcome.err


def chat(bot: str, talk: str) -> str:
    """What `bot chat` shows when the customer's lines of a talk are written."""
    said = [line.removeprefix("you: ") for line in talk.splitlines() if line.startswith("you: ")]
    return call("chat", bot, stdin="".join(f"{line}\n" for line in said)).out
