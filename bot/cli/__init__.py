"""The command ``bot``. Each file of this folder is the subcommand of its name, imported when it is called."""

import atexit
import gc
import importlib
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

import click

from bot import __version__
from bot.core.errors import BotError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

SECTIONS = {  # of --help: each command is the module of its name
    "Make a bot": {
        "new": "Create a new bot in a folder.",
        "import": "Import a bot of another system.",
        "check": "Check a bot's files and list every problem.",
        "explain": "Explain a code of bot check, such as W501.",
        "dev": "Show a bot in the browser while you write it.",
        "chat": "Talk to a bot in the terminal.",
        "test": "Run a bot's tests.",
        "generate": "Write tests that reach every step of a bot.",
        "graph": "Draw a bot or one of its flows.",
        "mcp": "Serve tools for a coding assistant.",
        "tools": "Fetch the tools of the bot's MCP servers.",
        "locales": "Translate a bot, and list missing translations.",
        "export": "Print a bot as one JSON document.",
        "schema": "Print the JSON Schema for editors.",
        "completion": "Print the completion script for a shell.",
    },
    "Go live": {
        "webhook": "Register the bot's webhook, and check that events arrive.",
        "serve": "Run a bot behind the gateway's webhook.",
        "publish": "Serve the bot's files as the next version, on all machines.",
        "versions": "List the versions that were published.",
        "rollback": "Publish an earlier version again.",
        "console": "Make users of the console (bot serve --console).",
        "doctor": "Check that everything is ready to go live.",
        "backup": "Copy the store while the bot runs.",
        "restore": "Replace the store with a backup.",
        "store": "Copy the store to another place, also to a database or back.",
    },
    "See what happens": {
        "sessions": "Show the step that each contact is at.",
        "trace": "Show why the bot answered a contact as it did.",
        "replay": "Show what the edited bot would have said in the past.",
        "queue": "Show waiting messages and dead letters; retry or drop them.",
        "report": "Show how contacts have gone through the flows.",
        "usage": "Show how many tokens the models have used.",
    },
    "Reach people": {
        "send": "Send one message.",
        "start": "Start a flow for a contact.",
        "signal": "Report a signal to a contact's conversation.",
        "broadcast": "Send a template to many contacts, or start a flow for each.",
        "templates": "List the gateway's templates, and check the flows against them.",
        "contacts": "List the gateway's contacts, as CSV too; export or erase one.",
    },
    "Ask models": {
        "evaluate": "Run a bot's evaluations with real models.",
        "judge": "Compare the judge of evaluations with a person.",
        "intents": "Show which flows a model confuses.",
        "attack": "Attack the steps that ask a model.",
        "models": "List the models of the service.",
        "ai": "Ask a model a question.",
    },
}
COMMANDS = {name: about for section in SECTIONS.values() for name, about in section.items()}
_WIDTH = max(map(len, COMMANDS))  # so that the sections align


class _Commands(click.Group):
    """Knows the commands by name; imports one only when it is called, so that ``bot --help`` is quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        path = f"bot.cli.{name}"
        if path not in sys.modules:
            gc.disable()  # imported modules stay: checking them again and again took a seventh of the start ...
            importlib.import_module(path)
            gc.freeze()  # ... and only once, behind the imports, a twentieth
            gc.enable()
        command: click.Command = sys.modules[path].command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in COMMANDS and not args[0].startswith("-"):
            from bot.language.source.problems import did_you_mean

            fix = did_you_mean(args[0], COMMANDS, "`bot --help` lists them")
            ctx.fail(f'there is no command "{args[0]}" ({fix})')
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # which nothing else needs

        names = (name for name in COMMANDS if name.startswith(incomplete))
        found = [CompletionItem(name, help=COMMANDS[name]) for name in names]  # click would import them all
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, section in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:{_WIDTH}}", about) for name, about in section.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="bot")
def bot() -> None:
    """Chatbots with conversation flows, behind a messaging gateway.

    A bot is a folder with a bot.yml. The default is the current folder, else flows/.
    """


def main() -> None:
    """The command's entry point. Exit codes: 0 success, 1 wrong input, 2 wrong usage."""
    for stream in (sys.stdin, sys.stdout):  # a line that is no Unicode, a file's name that the terminal cannot show
        if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="replace")
    atexit.register(gc.freeze)  # else Python goes through all objects once more at its end
    try:
        bot(standalone_mode=True)
    except BotError as error:
        click.echo(str(error), err=True)
        sys.exit(1)
    except OSError as error:  # a full disk, say; a reader that has gone is click's
        click.echo(f"{error.filename or 'bot'}: {error.strerror or error}", err=True)
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), 1
        )  # else Python's end tries once more to write what is left, and its code is 120
        sys.exit(1)
