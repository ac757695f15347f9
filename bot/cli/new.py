"""``bot new``."""

import json
import re
import shlex
import shutil
from pathlib import Path

import click

from bot.cli.shared.new_folder import FILES, FolderInUse, refuse_used, write_common_files
from bot.cli.shared.output import styled
from bot.core.text import clean
from bot.language.flow.documents import BOT_FILE

STARTERS = ("menu", "form", "survey", "assistant")
STARTER_NAME = '"My bot"'


@click.command("new")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--starter", type=click.Choice(STARTERS), default="menu", show_default=True, help="The bot to start from."
)
def command(folder: Path, starter: str) -> None:
    """Create a small, complete bot in DIR, with tests, as a start for your own bot.

    \b
      menu       buttons, opening hours, and an order in one message
      form       questions, a summary with corrections, and a Python function
      survey     ratings, several answers, two versions to compare, an invitation
      assistant  a model that knows facts and calls Python functions

    An existing DIR must be empty: nothing is ever overwritten. The settings in .vscode let VS Code complete, explain
    and check the files (docs/editors.md describes other editors). With .env.example the bot goes live; .gitignore keeps
    secrets and conversations out of git. AGENTS.md tells coding assistants how a bot is laid out.

    \b
      $ bot new my-shop
      $ bot new my-shop --starter survey

    Exit code 0: the bot was created. 1: DIR is not empty or cannot be written.
    """
    refuse_used(folder)
    try:
        _copy(starter, folder)
    except OSError as error:
        raise FolderInUse(f"{folder} cannot be written: {error.strerror}") from error
    name = shlex.quote(str(folder))
    click.echo(f"A new bot is in {folder}. Next:\n")
    for line, about in (
        (f"bot dev {name}", "see it in your browser"),
        (f"bot chat {name}", "talk to it in the terminal"),
        (f"bot test {name}", "run its tests"),
        (f"bot check {name}", "check its files after each change"),
    ):
        click.echo(f"  {styled(f'{line:{len(name) + 12}}', bold=True)}{about}")


def _copy(starter: str, folder: Path) -> None:
    shutil.copytree(FILES / starter, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    file = folder / BOT_FILE
    title = re.sub(r"[-_\s]+", " ", clean(folder.resolve().name)).strip() or "My bot"
    name = json.dumps(title[:1].upper() + title[1:], ensure_ascii=False)
    file.write_text(file.read_text("utf-8").replace(STARTER_NAME, name), "utf-8")
    write_common_files(folder)
