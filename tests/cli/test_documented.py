"""Each command explains itself, and stands in the docs."""

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from bot.cli import COMMANDS, bot

DOCS = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()


def command(name: str) -> click.Command:
    found = bot.get_command(click.Context(bot), name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_with_an_example_or_its_settings(name: str) -> None:
    text = command(name).help or ""
    assert len(text.split()) > 20
    assert f"$ bot {name}" in text or "BOT_GATEWAY_URL" in text
    options = [option for option in command(name).params if isinstance(option, click.Option)]
    assert all(option.help for option in options)


def every_help() -> Iterator[tuple[str, ...]]:
    yield ()
    for name in COMMANDS:
        yield (name,)
        if isinstance(group := command(name), click.Group):
            yield from ((name, below) for below in group.commands)


@pytest.mark.parametrize("words", list(every_help()), ids=" ".join)
def test_a_help_fits_a_terminal_of_80_columns(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(bot, [*words, "--help"], terminal_width=80).output
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert not re.search(r"\w\.\.\.$", shown, re.MULTILINE), "a summary is cut"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_stands_in_the_docs(name: str) -> None:
    assert re.search(rf"^\| `bot {name}\b", DOCS, re.MULTILINE)


def test_every_line_of_the_chat_stands_in_the_docs() -> None:
    from bot.cli.chat import COMMANDS as LINES

    assert all(f"`{line.usage}`" in DOCS for line in LINES.values())
