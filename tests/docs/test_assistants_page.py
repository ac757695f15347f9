"""The page on coding assistants: its tools are those that there are, and its conversation is real."""

import asyncio
import json
import re
from pathlib import Path

from bot.cli import COMMANDS
from bot.cli.assistant.workbench import Workbench
from tests.cli.terminal import call
from tests.docs.test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "assistants.md"


def test_its_table_has_the_tools_with_their_arguments(tmp_path: Path) -> None:
    from mcp import Client  # large: each worker collects all tests

    from bot.cli.assistant.tool_server import MOST, tool_server

    async def listed() -> dict[str, list[str]]:
        async with Client(tool_server(Workbench(tmp_path))) as client:
            tools = (await client.list_tools()).tools
        return {tool.name: [*tool.input_schema["properties"]] for tool in tools}

    rows = re.findall(r"^\| `(\w+)\((.*)\)` \|", PAGE.read_text(), re.MULTILINE)
    assert {name: arguments.split(", ") if arguments else [] for name, arguments in rows} == asyncio.run(listed())
    assert f"at most {MOST:,} characters" in PAGE.read_text()


def test_its_conversation_is_that_of_a_new_bot(tmp_path: Path) -> None:
    call("new", tmp_path / "shop")
    lines, answer = blocks(PAGE, "txt")
    bench = Workbench(tmp_path / "shop")
    assert bench.talk(lines) == answer.rstrip("\n")
    bench.close()


def test_its_settings_start_the_command() -> None:
    (settings,) = blocks(PAGE, "json")
    server = json.loads(settings)["mcpServers"]["bot"]
    assert server["command"] == "bot" and server["args"][0] in COMMANDS
