"""``bot tools``."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from bot.cli.shared.operate import CommandRefused, bot_argument, load_env
from bot.cli.shared.output import counted, path_from_here
from bot.core.errors import BotError
from bot.language.source.problems import Problems
from bot.language.steps.mcp_servers import MCP, SERVERS, McpServer, difference, list_path, offered, read_servers
from bot.loading.folder import Folder, find_bot, read_folder, replace_files

_KEPT = ("name", "description", "annotations", "inputSchema")


@click.command("tools")
@bot_argument
@click.pass_context
def command(ctx: click.Context, folder: Path | None) -> None:
    """Ask the MCP servers in bot.yml for their tools, and write these to mcp/NAME.json.

    Flows know a server's tools from this file, so read what has changed before you commit it. A tool that models
    cannot be offered is left out, with the reason. Secrets come from the environment or from .env.

    \b
      $ bot tools
      mcp/crm.json: 2 tools; new: cancel, find_order

    Exit code 1: bot.yml cannot be read, or a server could not be asked.
    """
    from bot.services.mcp_client import McpClient  # 40 ms, which --help need not spend

    bot = read_folder(find_bot(folder))
    load_env(bot.path)
    servers = _servers(bot)
    client = McpClient(servers, os.environ)
    failed = False
    for name, server in servers.items():
        try:
            protocol, listed = client.list_tools(name)
        except BotError as error:
            click.echo(f"{name}: {error}", err=True)
            failed = True
        else:
            _write(bot, name, server, protocol, listed)
    ctx.exit(1 if failed else 0)


def _servers(bot: Folder) -> Mapping[str, McpServer]:
    problems = Problems()
    texts = {source.path: source.text.decode("utf-8", "replace") for source in bot.documents}
    written = bot.written(MCP)
    entries = () if written is None else SERVERS.read(written, problems, MCP)
    servers = read_servers(entries, bot.secrets(), texts, problems)
    if problems:
        raise CommandRefused(f"{problems.sorted()[0]}: `bot check` lists all problems")
    if not servers:
        raise CommandRefused("bot.yml names no server: write mcp: {crm: {url: https://host/mcp}}")
    return servers


def _write(bot: Folder, name: str, server: McpServer, protocol: str, listed: list[Any]) -> None:
    tools, others = offered(name, listed)
    kept = [{key: each[key] for key in _KEPT if key in each} for each in listed if each.get("name") in tools]
    path = list_path(name)
    text = json.dumps({"protocol": protocol, "tools": kept}, indent=2, ensure_ascii=False)
    # all is seen
    text = "".join(each if each.isprintable() or each == "\n" else json.dumps(each)[1:-1] for each in text)
    file = bot.path / path
    replace_files(bot.path, {path: (file.read_bytes() if file.exists() else None, f"{text}\n".encode())})
    changes = difference(server.tools, tools)
    click.echo(f"{path_from_here(bot.path, path)}: {counted(len(tools), 'tool')}{f'; {changes}' if changes else ''}")
    for other, reason in others.items():
        click.echo(f"  {other} is left out: {reason}")
    for tool in tools.values():
        if tool.unchecked:
            click.echo(f"  {tool.name}: only the server checks {', '.join(tool.unchecked)}")
