"""`bot tools`: the lists of the tools of a bot's MCP servers, and what `bot doctor` says of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server import doctor
from tests.cli.terminal import BOT, call, make_bot
from tests.services.gateway.peer import Answer, Peer, answer, peer

FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk: {ai: You help., tools: {mcp: crm}, exits: {done: {when: they are done, then: end}}, errors: {else: end}}
"""
FIND = {
    "name": "find",
    "description": "Find it.",
    "inputSchema": {"type": "object", "properties": {"by": {"oneOf": []}}},
}
CANCEL = {"name": "cancel", "inputSchema": {"type": "object"}, "icons": ["..."]}


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


def listing(*tools: Any) -> Answer:
    return answer(200, {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}, {"Content-Type": "application/json"})


def bot_of(folder: Path, server: Peer) -> Path:
    return make_bot(folder, FLOW, bot=f'{BOT}mcp: {{crm: {{url: "{server.url}/mcp", allow_private: true}}}}\n')


def test_the_list_is_written_beside_the_flows_and_what_models_do_not_get_is_said(tmp_path: Path, server: Peer) -> None:
    folder = bot_of(tmp_path, server)
    server.answers(listing(FIND, CANCEL, {"name": "bare"}))
    told = call("tools", folder)
    assert (told.code, told.lines[0].partition("mcp/")[2]) == (0, "crm.json: 2 tools; new: cancel, find")
    assert told.lines[1:] == [
        "  bare is left out: it has no name, or its arguments are no object",
        "  find: only the server checks by",
    ]
    kept = json.loads((folder / "mcp" / "crm.json").read_text())
    assert kept == {"protocol": "2026-07-28", "tools": [FIND, {name: CANCEL[name] for name in ("name", "inputSchema")}]}
    assert load_program(read_folder(folder)).extensions.calls.keys() == {"crm.find", "crm.cancel"}


def test_a_character_that_nobody_sees_is_written_out(tmp_path: Path, server: Peer) -> None:
    folder = bot_of(tmp_path, server)
    server.answers(listing({**FIND, "description": "Grüße \u202e\U000e0041."}))
    call("tools", folder)
    assert '"Grüße \\u202e\\udb40\\udc41."' in (folder / "mcp" / "crm.json").read_text()


def test_a_list_that_is_there_is_compared(tmp_path: Path, server: Peer) -> None:
    folder = bot_of(tmp_path, server)
    server.answers(listing(FIND, CANCEL), listing({**FIND, "description": "Find all."}))
    call("tools", folder)
    assert "1 tool; changed: find; gone: cancel" in call("tools", folder).out


def test_a_server_that_does_not_answer_leaves_the_list_as_it_is(tmp_path: Path, server: Peer) -> None:
    folder = bot_of(tmp_path, server)
    server.answers(listing(FIND))
    call("tools", folder)
    before = (folder / "mcp" / "crm.json").read_bytes()
    server.answers(answer(500, b""), answer(500, b""))
    told = call("tools", folder)
    assert (told.code, told.err) == (1, "crm: it answers 500\n")
    assert (folder / "mcp" / "crm.json").read_bytes() == before


def test_a_bot_without_servers_is_told_how_to_name_one(tmp_path: Path) -> None:
    assert "write mcp: {crm: {url:" in call("tools", make_bot(tmp_path, FLOW)).err


def test_the_doctor_says_whether_the_list_is_what_the_server_has(tmp_path: Path, server: Peer) -> None:
    folder = bot_of(tmp_path, server)
    server.answers(listing(FIND))
    call("tools", folder)
    servers = load_program(read_folder(folder)).library.bot.mcp
    server.answers(listing(FIND), listing(FIND, CANCEL), answer(401, b""), answer(401, b""))
    found = [next(doctor.mcp_servers(servers, {})) for _ in range(3)]
    assert [(each.state, each.what) for each in found] == [
        ("ok", "crm answers; its tools are those of mcp/crm.json"),
        ("warn", "crm has other tools than mcp/crm.json: new: cancel"),
        ("fail", "crm: it answers 401"),
    ]
