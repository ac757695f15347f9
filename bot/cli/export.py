"""``bot export``."""

from pathlib import Path
from typing import Any

import click

from bot import __version__
from bot.cli.shared.operate import bot_argument, own_python
from bot.cli.shared.output import echo_json
from bot.language.flow.documents import read_documents
from bot.language.source.problems import Problems
from bot.language.source.yaml_tree import as_written
from bot.loading.folder import Folder, find_bot, read_folder
from bot.loading.program import FaultyBot


@click.command("export")
@bot_argument
def command(folder: Path | None) -> None:
    """Print the bot in DIR as one JSON document, for another program to read.

    It holds each document of the bot's YAML files with its file and its kind (bot, flow, test, evaluation or locale),
    in the order of the files, and the JSON Schema of a document of the first four kinds. handlers.py is Python already.

    \b
      $ bot export my-shop > my-shop.json

    Exit code 0: success. 1: a file cannot be read, or the bot's own Python cannot be loaded.
    """
    from bot.testing.conversations.documents_schema import documents_schema

    bot = read_folder(find_bot(folder))
    made_by, schema = f"bot-flows {__version__}", documents_schema(own_python(bot).verbs)
    echo_json({"made_by": made_by, "documents": exported(bot), "schema": schema})


def exported(bot: Folder) -> list[dict[str, Any]]:
    """The documents of a bot as plain values. Raises `FaultyBot` if one cannot be read."""
    problems = Problems()
    documents = read_documents(bot.sources, problems)
    if problems:
        raise FaultyBot(problems.sorted())
    nodes = [
        *((node, "bot") for node in documents.bots),
        *((node, _KINDS[node.entries[0][0].text]) for node in (*documents.flows, *documents.tests)),
        *((node, "locale") for node in documents.locales.values()),
    ]
    return [{"file": node.mark.path, "kind": kind, "content": as_written(node)} for node, kind in nodes]


_KINDS = {"flow": "flow", "test": "test", "evaluate": "evaluation"}
