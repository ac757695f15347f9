"""``bot schema``."""

import json
from pathlib import Path

import click

from bot.cli.shared.operate import bot_argument, own_python
from bot.loading.folder import find_bot, read_folder


@click.command("schema")
@bot_argument
def command(folder: Path | None) -> None:
    """Print a JSON Schema with which editors complete, explain and check the YAML files of the bot in DIR.

    It covers flows, tests and bot.yml, and the verbs that the bot's own Python declares. docs/editors.md says how to
    use it in editors; for VS Code write it where `bot new` does:

    \b
      $ bot schema > .vscode/bot.schema.json

    Write it again after you install another version, or change a verb in handlers.py.

    Exit code 0: success. 1: the bot's own Python cannot be loaded.
    """
    from bot.testing.conversations.documents_schema import documents_schema

    extensions = own_python(read_folder(find_bot(folder)))
    click.echo(json.dumps(documents_schema(extensions.verbs), ensure_ascii=False))
