"""``bot schema``."""

import contextlib
import json
import sys
from pathlib import Path

import click

from bot.cli.operate import bot_argument
from bot.folder import find_bot, read_folder
from bot.program import FaultyBot, load_handlers


@click.command("schema")
@bot_argument
def command(folder: Path | None) -> None:
    """Print a JSON Schema by which editors complete, explain and check the YAML files of the bot in DIR.

    It knows flows, tests and bot.yml, and the verbs that the bot's own Python declares. How editors take it is in
    docs/editors.md; for VS Code it belongs where `bot new` writes it:

    \b
      $ bot schema > .vscode/bot.schema.json

    Write it again when you have installed another version, or changed a verb in handlers.py.

    Exit code 0: it is printed. 1: the bot's own Python cannot be read.
    """
    from bot.testing.transcript_schema import documents_schema

    bot = read_folder(find_bot(folder))
    with contextlib.redirect_stdout(sys.stderr):  # what the bot's own Python prints is no part of the schema
        extensions, problems = load_handlers(bot)
    if problems:
        raise FaultyBot(problems)
    click.echo(json.dumps(documents_schema(extensions.verbs), ensure_ascii=False))
