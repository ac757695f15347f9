"""``bot mcp``."""

import os
import secrets
import signal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import CommandRefused, bot_argument
from bot.cli.shared.output import quiet_log
from bot.loading.folder import find_bot

if TYPE_CHECKING:
    from bot.cli.assistant.workbench import Workbench

TOKEN = "MCP_TOKEN"


@click.command("mcp")
@bot_argument
@click.option("--http", "port", metavar="PORT", type=click.IntRange(0, 65535), help="Serve over HTTP on this machine.")
def command(folder: Path | None, port: int | None) -> None:
    """Serve tools for a coding assistant that works on the bot in DIR: read the docs, check, talk, test, write flows.

    The assistant's editor starts this command and speaks MCP on its standard streams. With --http it serves at a port
    of this machine (0: any), and each request needs a token: that of MCP_TOKEN, else a new one, which is printed.

    The tools write only flows/*.yml and tests/*.yml, and reach no contact, gateway, service or model. Handlers run as
    in `bot test`.

    \b
      $ bot mcp my-shop --http 8750

    Exit code 0: it was ended. 1: there is no bot, the port is taken, or the library mcp is missing.
    """
    if find_spec("mcp") is None:
        raise CommandRefused("bot mcp needs a library that is not installed: pip install 'bot-flows[mcp]'")
    from bot.cli.assistant.tool_server import serve_streams
    from bot.cli.assistant.workbench import Workbench

    quiet_log()
    bench = Workbench(find_bot(folder).resolve())
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that a kill leaves no store behind
    try:
        if port is None:
            serve_streams(bench)
        else:
            _over_http(bench, port)
    except KeyboardInterrupt:
        pass
    finally:
        bench.close()


def _over_http(bench: "Workbench", port: int) -> None:
    from bot.cli.assistant.tool_server import serve_http

    given = os.environ.get(TOKEN)
    token = given or secrets.token_urlsafe()

    def announce(url: str) -> None:
        click.echo(f"The tools are at {url}. Ctrl-C ends it.")
        if not given:
            click.echo(f"Authorization: Bearer {token}")

    try:
        serve_http(bench, port, token, announce)
    except OSError as error:
        raise CommandRefused(f"port {port} cannot be used: {error.strerror}: name another one, or 0 for any") from error
