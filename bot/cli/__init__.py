"""The command line: ``bot``. Each command is a module of this package, imported when it is called."""

import importlib
import sys

import click

from bot import __version__
from bot.core.errors import BotError

COMMANDS = {  # name: (module, what --help says of it)
    "new": ("new", "Make a new bot in a folder."),
    "check": ("check", "Check a bot's files and list every problem."),
    "chat": ("chat", "Talk to a bot in the terminal."),
    "test": ("test", "Run a bot's tests."),
    "serve": ("serve", "Run a bot behind the gateway's webhook."),
    "queue": ("queue", "Show what waits to be sent, and what was given up."),
    "sessions": ("sessions", "Show where the contacts are."),
    "trace": ("trace", "Show why a contact got what it got."),
}


class _Commands(click.Group):
    """Knows the commands by name; imports one only when it is called, so that ``bot --help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"bot.cli.{COMMANDS[name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bot")
def bot() -> None:
    """Chatbots with conversation flows. A bot is a folder with a bot.yml; without DIR it is this folder, or flows/."""


def main() -> None:
    """The command's entry point. Exit codes: 0 fine, 1 the input is at fault, 2 wrong usage."""
    try:
        bot(standalone_mode=True)
    except BotError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except OSError as error:  # a full disk, say; a reader that has gone is click's
        click.echo(f"{error.filename or 'bot'}: {error.strerror or error}", err=True)
        sys.exit(1)
