"""``bot dev``."""

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.flow_reloader import BotFiles, FlowReloader, loaded_to_run, trouble_lines
from bot.cli.shared.operate import bot_argument
from bot.cli.shared.output import styled
from bot.settings import read_model_service

if TYPE_CHECKING:
    from bot.language.source.problems import Problem
    from bot.loading.program import Program


@click.command("dev")
@bot_argument
@click.option("--port", type=click.IntRange(0, 65535), help="0: any.  [default: 8700, or the next that is free]")
@click.option("--ai", is_flag=True, help="Let the models of BOT_AI_URL answer, not you.")
@click.option("--read-only", is_flag=True, help="Let nobody edit the bot's texts on the page.")
@click.option("--no-browser", is_flag=True, help="Open no browser.")
@click.pass_context
def command(
    ctx: click.Context, folder: Path | None, port: int | None, ai: bool, read_only: bool, no_browser: bool
) -> None:
    """Show the bot in DIR in a browser: a phone, a map of its flows, and why it did what it did.

    The bot runs as on a server, with an emulated gateway and a store that is deleted at the end; no account or key is
    needed. Only browsers on this machine get the page. Flows are loaded again when you save a file; while a file is
    wrong, the page shows the problem and the flows from before stay. A click on a message edits its texts in the files.
    Ctrl-C ends it.

    \b
      $ bot dev flows

    Exit code 0: it was ended. 1: the bot has problems, which are listed, or the port is taken.
    """
    program, files = loaded_to_run(ctx, folder)
    _serve(program, files, port, ai, not read_only, not no_browser and sys.stdout.isatty())


def _serve(program: "Program", files: BotFiles, port: int | None, ai: bool, edits: bool, opens: bool) -> None:
    from bot.core.clock import MovableClock
    from bot.pages.playground.playground import Playground
    from bot.pages.playground.playground_server import PORTS, PlaygroundServer

    models = read_model_service(os.environ, files.folder.settings()) if ai else None
    clock = MovableClock(datetime.now(UTC), running=True)
    with ExitStack() as parts:
        playground = parts.enter_context(Playground(program, clock, os.environ, models))
        server = parts.enter_context(
            PlaygroundServer(playground, program, files.folder, PORTS if port is None else [port], edits=edits)
        )

        def use(program: "Program") -> None:
            server.use(program, files.folder)
            click.echo(styled("The flows are loaded again.", dim=True))

        def complain(problems: Sequence["Problem"], trouble: str) -> None:
            playground.complain(problems, trouble)
            click.echo("\n".join(trouble_lines(files, problems, trouble)))

        parts.enter_context(FlowReloader(files, use, complain))
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a kill leaves no store behind
        try:
            click.echo(f"{program.library.bot.name} is at {styled(server.url, bold=True)}. Ctrl-C ends it.")
            if opens:
                webbrowser.open(server.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("The bot ends.")
