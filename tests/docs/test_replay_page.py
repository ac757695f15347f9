"""The page on edits: its commands print what it says, and it tells of everything that they can say."""

import re
from pathlib import Path

import pytest

from bot.checker.replaying.conversation_replay import BEGUN_BEFORE, EDITED, FAILED
from bot.checker.replaying.differences import DifferenceKind
from bot.checker.replaying.migration_preview import MigrationKind
from bot.cli.replay import UNREADABLE
from tests.cli.keeping import kept
from tests.cli.terminal import call, make_bot
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "replay.md"
TEXT = PAGE.read_text()
PRINTED = dict(re.findall(r"^    \$ (bot .*)\n((?:    .*\n|\n(?=    ))*)", TEXT, re.MULTILINE))
HANDLERS = "from bot import handler\n\n\n@handler('price')\ndef price(cups: int) -> float:\n    return cups * 1.5\n"
BOT = "name: Cafe\ndefaults: {retry: {max: 3, else: end}, timeout: {after: 20h, then: end}, errors: {else: end}}\n"


@pytest.fixture(scope="module")
def cafe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's bot, after its talks and its edit."""
    folder = make_bot(tmp_path_factory.mktemp("cafe"), "", HANDLERS, bot=BOT)
    (folder / "flows" / "main.yml").unlink()
    (flow,) = blocks(PAGE, "yaml cafe")
    (folder / "flows" / "order.yml").write_text(flow)
    with kept(folder) as bot:
        bot.user("hi", contact="6281234567891")
        bot.user("hi", "2", contact="6281234567892")
        bot.user("hi", "3", "yes")
    (edit,) = blocks(PAGE, "diff")
    for gone, new in zip(*([line[1:] for line in edit.splitlines() if line[0] == sign] for sign in "-+"), strict=True):
        assert gone in flow
        flow = flow.replace(gone, new)
    (folder / "flows" / "order.yml").write_text(flow)
    return folder


@pytest.mark.parametrize("command", ["bot check --live", "bot replay"])
def test_a_command_prints_what_the_page_shows(cafe: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(cafe)
    printed = call(*command.split()[1:])
    assert printed.code == 1
    assert lines(printed.out) == lines(PRINTED[command])


def lines(text: str) -> list[str]:
    """Without what is never the same twice, nor in every zone; and as wide as it may be."""
    text = re.sub(r"\d\d:\d\d:\d\d|[\d.]+ s\b", "?", text)
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def test_the_page_tells_of_everything_that_the_commands_can_say() -> None:
    said = [*(kind.value for kind in DifferenceKind), BEGUN_BEFORE, EDITED, FAILED, UNREADABLE]
    said += [becomes.value for becomes in MigrationKind if becomes is not MigrationKind.UNCHANGED]
    assert [each for each in said if each not in TEXT] == []
