"""`bot mcp`: a real client uses each tool, in this process, and some over the standard streams and over HTTP."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import httpx2
import pytest

from bot.cli.assistant.workbench import Workbench
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE

if TYPE_CHECKING:  # large: each worker collects all tests
    from mcp import Client

FLOW = """\
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}}
steps:
  cups: {ask: How many cups?, save: cups}
  price: {call: price, with: {cups: "{{ cups }}"}, then: end}
"""
HANDLERS = """\
from bot import handler

print("loaded")

@handler("price")
def price(cups: int) -> int:
    print("priced")
    return cups * 2
"""
USES: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("read_page", {"page": "language/README"}, "# The flow language"),
    ("search_docs", {"words": "remind after an hour"}, " § "),
    ("explain", {"code": "W501"}, "# W501"),
    ("list_flows", {}, "main (flows/main.yml:1)"),
    ("read_file", {"path": "flows/main.yml"}, "1 flow: main"),
    ("check", {}, "no problems in 1 flow"),
    ("graph", {"flow": "main"}, "flowchart"),
    ("talk", {"lines": "[{user: hi}, {user: 3}]"}, "- bot: How many cups?"),
    ("trace", {"turns": 2}, "main/price"),
    ("keep_test", {"path": "tests/kept.yml", "name": "counts cups"}, "1 test: all passed"),
    ("write_file", {"path": "tests/more.yml", "content": "test: asks\ntalk: [{user: hi}]\n"}, "2 tests"),
    ("run_tests", {}, "1 failed"),
    ("replay", {}, "there is no store"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_bot(tmp_path / "shop", FLOW, HANDLERS)


@pytest.fixture
def bench(folder: Path) -> Iterator[Workbench]:
    bench = Workbench(folder)
    yield bench
    bench.close()


@asynccontextmanager
async def over_streams(folder: Path) -> AsyncIterator["Client"]:
    from mcp import Client, StdioServerParameters

    server = StdioServerParameters(command=sys.executable, args=["-m", "bot", "mcp", str(folder)])
    async with Client(server, read_timeout_seconds=PATIENCE) as client:
        yield client


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, str]]:
    """The command with --http: its address, and the line with its token."""
    command = [sys.executable, "-u", "-m", "bot", "mcp", str(folder), "--http", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().removeprefix("The tools are at ").partition(". ")[0]
            yield address, server.stdout.readline().strip().partition(": ")[2]
        finally:
            server.terminate()
            assert server.wait(PATIENCE) == 0


@asynccontextmanager
async def over_http(address: str, token: str) -> AsyncIterator["Client"]:
    """A client of an older version of the protocol, as most editors have."""
    from mcp import Client
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers={"Authorization": token}, timeout=PATIENCE) as http:
        async with Client(streamable_http_client(address, http_client=http), mode="legacy") as client:
            yield client


def client_of(bench: Workbench) -> "Client":
    """A client of the tools in this process."""
    from mcp import Client

    from bot.cli.assistant.tool_server import tool_server

    return Client(tool_server(bench))


async def told(client: "Client", tool: str, **arguments: object) -> str:
    (answer,) = (await client.call_tool(tool, arguments)).content
    assert answer.type == "text"
    return answer.text


def test_a_client_uses_each_tool(bench: Workbench) -> None:
    async def use() -> None:
        async with client_of(bench) as client:
            assert {tool.name for tool in (await client.list_tools()).tools} == {name for name, _, _ in USES}
            for name, arguments, expected in USES:
                assert expected in await told(client, name, **arguments)

    asyncio.run(use())


def test_over_the_standard_streams_the_bots_own_python_may_print(folder: Path) -> None:
    async def use() -> None:
        async with over_streams(folder) as client:
            assert "- bot: How many cups?" in await told(client, "talk", lines="[{user: hi}, {user: 3}]")
            assert "main/price" in await told(client, "trace", turns=1)

    asyncio.run(use())


def test_over_http_each_request_needs_the_token(folder: Path) -> None:
    async def use(address: str, token: str) -> None:
        async with over_http(address, token) as client:
            assert "- bot: How many cups?" in await told(client, "talk", lines="[{user: hi}, {user: 3}]")

    with served(folder) as (address, token):
        for given, status in (({}, 401), ({"Authorization": "Bearer x"}, 401), ({"Authorization": token}, 400)):
            assert httpx2.post(address, json={}, headers=given).status_code == status
        elsewhere = {"Authorization": token, "Host": "bot.example"}
        assert httpx2.post(address, json={}, headers=elsewhere).status_code == 421
        asyncio.run(use(address, token))


PLANTED = """\
flow: order
start: {words: [order]}
vars: {drink: {type: choice, of: [Coffee, Tea]}}
steps:
  drink: {ask: What would you like?, buttons: [Coffee, Tea], save: drink, then: conirm}
  confirm: {say: "One {{ drink }}, please wait.", then: end}
"""


def test_an_assistant_learns_writes_mends_and_tests_within_its_budget(bench: Workbench) -> None:
    """At most 20 calls, and 30,000 tokens of four characters, with what the tools say of themselves."""
    answers: list[str] = []

    async def session() -> None:
        async with client_of(bench) as client:
            tools = (await client.list_tools()).tools
            answers.append("".join(tool.model_dump_json(exclude_none=True) for tool in tools))

            async def ask(tool: str, **arguments: object) -> str:
                answers.append(await told(client, tool, **arguments))
                return answers[-1]

            await ask("read_page")
            for section in ("", "A flow", "Targets and transitions", "Verbs", "Step options"):
                await ask("read_page", page="language/README", section=section)
            await ask("read_page", page="language/questions", section="Choices")
            await ask("search_docs", words="write a test with buttons")
            await ask("read_page", page="testing", section="A test")
            await ask("list_flows")
            assert 'E102 no step "conirm"' in await ask("write_file", path="flows/order.yml", content=PLANTED)
            await ask("explain", code="E102")
            mended = PLANTED.replace("conirm", "confirm")
            assert "no problems" in await ask("write_file", path="flows/order.yml", content=mended)
            await ask("talk", lines="[{user: order}]")
            assert '- bot: "One Coffee, please wait."' in await ask("talk", lines="[{tap: Coffee}]")
            await ask("trace", turns=1)
            assert "all passed" in await ask("keep_test", path="tests/order.yml", name="orders a coffee")
            assert "all passed" in await ask("run_tests")

    asyncio.run(session())
    assert len(answers) - 1 <= 20 and sum(map(len, answers)) / 4 <= 30_000, (len(answers), sum(map(len, answers)))


def test_twenty_answers_of_any_length_fit_into_the_budget(folder: Path, bench: Workbench) -> None:
    (folder / "flows" / "long.yml").write_text("# long\n" * 3000)

    async def read() -> str:
        async with client_of(bench) as client:
            return await told(client, "read_file", path="flows/long.yml")

    from bot.cli.assistant.tool_server import MOST

    text = asyncio.run(read())
    assert len(text) <= MOST and 20 * MOST / 4 <= 30_000 and "more characters)" in text


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("graph", {"flow": "mian"}, 'there is no flow "mian" (did you mean "main"?)'),
        ("talk", {}, "Field required"),
        ("write_file", {"path": "handlers.py", "content": "x"}, "handlers.py cannot be written here"),
        ("publish", {}, "Unknown tool: publish"),
    ],
)
def test_what_goes_wrong_is_a_text_for_the_assistant(
    bench: Workbench, tool: str, arguments: dict[str, str], why: str
) -> None:
    async def ask() -> None:
        async with client_of(bench) as client:
            result = await client.call_tool(tool, arguments)
            assert result.is_error and why in str(result.content[0])

    asyncio.run(ask())


def test_a_defect_ends_one_call_alone(bench: Workbench) -> None:
    async def ask() -> None:
        with patch.object(Workbench, "check", side_effect=ZeroDivisionError("inside")):
            broken = client_of(bench)
        async with broken as client:
            assert (await client.call_tool("check", {})).is_error
            assert "main" in await told(client, "list_flows")

    asyncio.run(ask())


def test_without_its_library_the_command_says_what_to_install(folder: Path) -> None:
    with patch("bot.cli.mcp.find_spec", return_value=None):
        told = call("mcp", folder)
    assert (told.code, told.err) == (1, "bot mcp needs a library that is not installed: pip install 'bot-flows[mcp]'\n")


def test_a_bot_is_needed(tmp_path: Path) -> None:
    assert "there is no bot.yml in" in call("mcp", tmp_path).err
