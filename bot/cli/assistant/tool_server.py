"""The tools of `bot mcp` as an MCP server: over the standard streams, or over HTTP on this machine."""

import functools
import hmac
import inspect
import socket
import threading
from collections.abc import Callable

import click
import uvicorn
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import AnyHttpUrl

from bot import __version__
from bot.cli.assistant.workbench import Workbench
from bot.core.errors import BotError
from bot.core.text import head

MOST = 6000
"""The characters of an answer: twenty answers have at most 30,000 tokens of four characters."""
HOST = "127.0.0.1"
INSTRUCTIONS = """\
A bot is a folder with bot.yml, flows in flows/*.yml and tests in tests/*.yml. Learn the language before you write:
read_page language/README, then its sections; search_docs finds the rest. After write_file read the check that it
returns: E is an error, W a finding that a contact would meet; explain CODE says more. Then talk to the bot, keep_test,
and run_tests. You cannot publish, and reach no contact. Other files (bot.yml, handlers.py, locales) you can propose."""
LOOKS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
RUNS = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
"""These run the bot's own handlers."""
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=False)


class OneToken:
    """Accepts requests with this token."""

    def __init__(self, token: str) -> None:
        self._token = token

    async def verify_token(self, token: str) -> AccessToken | None:
        """The token's rights; None for any other token."""
        right = hmac.compare_digest(token.encode(), self._token.encode())
        return AccessToken(token=token, client_id="assistant", scopes=[]) if right else None


def tool_server(bench: Workbench, token: str | None = None) -> MCPServer:
    """A server with the tools of a workbench. Over HTTP each request needs the token."""
    auth = None if token is None else AuthSettings(issuer_url=AnyHttpUrl(f"http://{HOST}"), resource_server_url=None)
    verifier = None if token is None else OneToken(token)
    server = MCPServer(
        "bot-flows",
        instructions=INSTRUCTIONS,
        version=__version__,
        log_level="ERROR",
        auth=auth,
        token_verifier=verifier,
    )
    one_at_a_time = threading.Lock()

    def add(notes: ToolAnnotations, *tools: Callable[..., str]) -> None:
        for tool in tools:
            about = inspect.getdoc(tool)
            server.add_tool(
                _answering(tool, one_at_a_time), description=about, annotations=notes, structured_output=False
            )

    add(LOOKS, bench.read_page, bench.search_docs, bench.explain, bench.list_flows, bench.read_file, bench.check)
    add(LOOKS, bench.graph, bench.replay)
    add(RUNS, bench.talk, bench.trace, bench.run_tests)
    add(WRITES, bench.write_file, bench.keep_test)
    return server


def serve_streams(bench: Workbench) -> None:
    """Serve on the standard streams, until the client closes them."""
    tool_server(bench).run("stdio")


def serve_http(bench: Workbench, port: int, token: str, announce: Callable[[str], None]) -> None:
    """Serve over HTTP on this machine, until Ctrl-C. ``announce`` gets the address once it accepts requests.

    Raises `OSError` if the port is taken.
    """
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen()
        announce(f"http://{HOST}:{listener.getsockname()[1]}/mcp")
        app = tool_server(bench, token).streamable_http_app(host=HOST)
        uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


def _answering(tool: Callable[..., str], one_at_a_time: threading.Lock) -> Callable[..., str]:
    """The tool, of bounded length; what goes wrong is a text for the assistant. Two calls never run at once."""

    @functools.wraps(tool)
    def answer(*arguments: object, **named: object) -> str:
        with one_at_a_time:
            try:
                return _bounded(tool(*arguments, **named))
            except click.ClickException as error:
                raise ToolError(error.format_message()) from error
            except (BotError, OSError) as error:
                raise ToolError(_bounded(str(error))) from error

    return answer


def _bounded(text: str) -> str:
    if len(text) <= MOST:
        return text
    shown = head(text, MOST - 60)
    return f"{shown}\n(cut: {len(text) - len(shown):,} more characters)"
