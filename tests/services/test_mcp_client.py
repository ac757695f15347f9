"""The client of MCP servers, as bytes: what it sends to servers of both eras, and what it makes of their answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from bot.language.steps.attempts import Attempts
from bot.language.steps.mcp_servers import ServerTimedOut, ServerTool, ServerUnreachable, ToolError
from bot.services.mcp_client import McpClient
from tests.services.gateway.peer import Answer, Peer, answer, peer
from tests.talk import BOT, library_of

TOOL = ServerTool("crm", "find", "", {"properties": {}, "required": []})
TEXT = {"content": [{"type": "text", "text": "One."}, {"type": "image", "data": "x"}, {"type": "text", "text": "Two."}]}
FLOW = "flow: f\nstart: {otherwise: true}\nsteps: {s: {say: Hello.}}\n"


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


def client(server: Peer, protocol: str = "2026-07-28", within: float = 10.0, private: str = "true") -> McpClient:
    bot = f"""{BOT}secrets: [URL, KEY]
mcp: {{crm: {{url: "{{{{ secret.URL }}}}/mcp", allow_private: {private},
    headers: {{Authorization: "Bearer {{{{ secret.KEY }}}}"}}}}}}
"""
    servers = library_of(FLOW, bot).bot.mcp
    service = replace(servers["crm"].service, attempts=Attempts(within))
    return McpClient(
        {"crm": replace(servers["crm"], service=service, protocol=protocol)}, {"KEY": "s3cret", "URL": server.url}
    )


def call(asked: McpClient, tool: ServerTool = TOOL, **given: Any) -> Any:
    return asked.call(tool, idempotency_key="k1", **given)


def result(of: Any, number: int = 1, headers: dict[str, str] | None = None) -> Answer:
    return answer(
        200, {"jsonrpc": "2.0", "id": number, "result": of}, {"Content-Type": "application/json"} | (headers or {})
    )


def stream(*messages: Any) -> Answer:
    events = "".join(f"event: message\r\ndata: {json.dumps(each)}\r\n\r\n" for each in messages)
    return answer(200, f": hello\r\n\r\n{events}".encode(), {"Content-Type": "text/event-stream; charset=utf-8"})


def test_a_server_without_sessions_gets_one_request_with_its_headers_and_the_key_of_the_call(server: Peer) -> None:
    server.answers(result(TEXT))
    assert call(client(server), number="A1") == "One.\n(image)\nTwo."
    (request,) = server.requests
    sent = {name.lower(): value for name, value in request.headers.items()}
    assert request.method == "POST" and request.path == "/mcp"
    assert sent["mcp-protocol-version"] == "2026-07-28"
    assert sent["mcp-method"] == "tools/call" and sent["mcp-name"] == "find"
    assert sent["accept"] == "application/json, text/event-stream"
    assert sent["authorization"] == "Bearer s3cret" and sent["idempotency-key"] == "k1"
    assert request.body["method"] == "tools/call"
    assert request.body["params"]["arguments"] == {"number": "A1"}
    assert request.body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"


def test_an_answer_can_be_a_stream_with_other_messages_before_it(server: Peer) -> None:
    progress = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
    server.answers(stream(progress, {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": {"a": 1}, **TEXT}}))
    assert call(client(server)) == {"a": 1}


def test_a_server_with_sessions_is_greeted_once(server: Peer) -> None:
    greeting = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
    server.answers(result(greeting, 1, {"Mcp-Session-Id": "s1"}), answer(202, b""), result(TEXT, 3), result(TEXT, 4))
    asked = client(server, "2025-11-25")
    call(asked), call(asked)
    assert [each.body["method"] for each in server.requests] == [
        "initialize", "notifications/initialized", "tools/call", "tools/call",
    ]  # fmt: skip
    for each in server.requests[1:]:
        sent = {name.lower(): value for name, value in each.headers.items()}
        assert (sent["mcp-session-id"], sent["mcp-protocol-version"]) == ("s1", "2025-06-18")
    keys = [
        {name.lower(): value for name, value in each.headers.items()}["idempotency-key"] for each in server.requests
    ]
    assert keys == ["k1-initialize", "k1-initialized", "k1", "k1"]  # no request passes for another


def test_a_session_that_the_server_has_forgotten_begins_anew(server: Peer) -> None:
    greeting = {"protocolVersion": "2025-06-18"}
    asked = client(server, "2025-11-25")
    server.answers(result(greeting, 1, {"Mcp-Session-Id": "s1"}), answer(202, b""), result(TEXT, 3))
    call(asked)
    server.answers(answer(404, {}), result(greeting, 5, {"Mcp-Session-Id": "s2"}), answer(202, b""), result(TEXT, 7))
    assert call(asked).startswith("One.")


@pytest.mark.parametrize(
    ("answered", "error", "says"),
    [
        (result({"isError": True, "content": [{"type": "text", "text": "no order"}]}), ToolError, "no order"),
        (answer(400, {"id": 1, "error": {"code": -32602, "message": "unknown tool"}}), ToolError, "unknown tool"),
        (result({"resultType": "input_required", "inputRequests": {}}), ServerUnreachable, "further input"),
        (result({}), ServerUnreachable, "no content"),
        (answer(200, b"<html>"), ServerUnreachable, "no result of JSON-RPC"),
        (result(TEXT, 99), ServerUnreachable, "no result of JSON-RPC"),
        (answer(401, b""), ServerUnreachable, "it answers 401"),
        (answer(302, b"", {"Location": "https://elsewhere.example"}), ServerUnreachable, "it answers 302"),
        (answer(200, b"x" * ((1 << 20) + 1)), ServerUnreachable, "more than"),
    ],
)
def test_what_is_no_result_is_a_failure(server: Peer, answered: Answer, error: type[Exception], says: str) -> None:
    server.answers(answered)
    with pytest.raises(error, match=says):
        call(client(server))


def test_a_server_that_is_silent_or_in_a_private_network_is_a_failure(server: Peer) -> None:
    with pytest.raises(ServerUnreachable, match="private"):
        call(client(server, private="false"))
    assert server.requests == []
    server.answers(lambda connection: connection.recv(1) == b"never")
    with pytest.raises(ServerTimedOut):
        call(client(server, within=0.3))


def test_arguments_that_the_server_wants_in_headers_stand_there_too(server: Peer) -> None:
    headers = {("region",): "Region", ("to", "name"): "Name", ("gone",): "Gone", ("n",): "N"}
    server.answers(result(TEXT))
    call(client(server), replace(TOOL, headers=headers), region="us-west1", to={"name": "Hello, 世界"}, n=42)
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["mcp-param-region"] == "us-west1" and sent["mcp-param-n"] == "42"
    assert sent["mcp-param-name"] == "=?base64?SGVsbG8sIOS4lueVjA==?="
    assert "mcp-param-gone" not in sent


def test_the_list_has_all_pages_and_says_which_version_the_server_speaks(server: Peer) -> None:
    server.answers(result({"tools": [{"name": "a"}], "nextCursor": "2"}), result({"tools": [{"name": "b"}]}, 2))
    assert client(server).list_tools("crm") == ("2026-07-28", [{"name": "a"}, {"name": "b"}])
    assert server.requests[1].body["params"]["cursor"] == "2"


def test_a_server_that_refuses_the_new_version_is_asked_in_a_session(server: Peer) -> None:
    refusal = answer(400, {"jsonrpc": "2.0", "error": {"code": -32600, "message": "Missing session ID"}})
    greeting = result({"protocolVersion": "2025-03-26"}, 2)
    server.answers(refusal, greeting, answer(202, b""), result({"tools": [{"name": "a"}]}, 4))
    assert client(server).list_tools("crm") == ("2025-03-26", [{"name": "a"}])


def test_the_result_of_a_tool_and_the_secret_are_in_no_error(server: Peer) -> None:
    server.answers(answer(500, {"leak": "s3cret"}))
    with pytest.raises(ServerUnreachable) as raised:
        call(client(server))
    assert "s3cret" not in str(raised.value)
