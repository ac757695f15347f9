"""The client of MCP servers: their lists of tools, and calls of these, over streamable HTTP.

A server of the version `STATELESS` is asked by one request. An earlier one gets the handshake of a session first.

This is code of our own, because the SDK brings an HTTP stack of its own past our guards of private networks, sizes and
time.
"""

import itertools
import json
import threading
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import Any, NamedTuple

from bot import __version__
from bot.core.errors import BotError
from bot.core.values import json_default
from bot.language.python.decorators import KEY_PARAMETER
from bot.language.python.gathered import Extensions
from bot.language.steps.http_services import is_header
from bot.language.steps.mcp_servers import McpServer, ServerTimedOut, ServerTool, ServerUnreachable, ToolError
from bot.language.steps.output_guard import one_line
from bot.services.http_client import Response
from bot.services.outgoing import post
from bot.services.request_errors import RequestFailed, RequestTimedOut

STATELESS = "2026-07-28"  # the first version of the protocol without sessions
SESSIONS = "2025-11-25"  # the last one with them, which a server may answer with an earlier one
MOST_PAGES = 20  # of a list
_GONE = (400, 404)  # the statuses of a server that does not know the session any more
_ENCODED = "=?base64?"
_CLIENT = {"name": "bot-flows", "version": __version__}
_ACCEPTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class _Refused(BotError):
    """The server has answered with an error of the protocol."""


class _Session(NamedTuple):
    """A session with a server of an earlier version of the protocol."""

    protocol: str
    id: str | None

    @property
    def headers(self) -> dict[str, str]:
        """The headers of each request of the session."""
        own = {} if self.id is None else {"Mcp-Session-Id": self.id}
        return {"MCP-Protocol-Version": self.protocol, **own}


class McpClient:
    """Calls the tools of a bot's MCP servers. Safe to use from many threads.

    Only the names that a server needs are looked up in ``secrets``.
    """

    def __init__(self, servers: Mapping[str, McpServer], secrets: Mapping[str, str]) -> None:
        self._secrets = secrets
        self._lock = threading.Lock()
        self._sessions: dict[str, _Session] = {}
        self._ids = itertools.count(1)
        self.use(servers)

    def use(self, servers: Mapping[str, McpServer]) -> None:
        """Send the next request to these servers."""
        with self._lock:
            self._servers = dict(servers)
            self._sessions.clear()

    def bound(self, extensions: Extensions) -> Extensions:
        """The extensions whose tools of servers really call these. A test's stubs stay."""
        tools = {
            name: replace(spec, function=partial(self.call, spec.function))
            for name, spec in extensions.tools.items()
            if isinstance(spec.function, ServerTool)
        }
        return replace(extensions, tools={**extensions.tools, **tools})

    def call(self, tool: ServerTool, /, **given: Any) -> Any:
        """The result of a tool: its structured content, else its texts.

        Raises `bot.language.steps.mcp_servers.ToolError`, and `ServerUnreachable` and `ServerTimedOut` of that module.
        """
        key, arguments = str(given[KEY_PARAMETER]), dict(given)
        if not tool.takes_key:
            del arguments[KEY_PARAMETER]
        headers = {f"Mcp-Param-{name}": value for name, value in _repeated(tool, arguments)}
        with self._lock:
            server = self._servers.get(tool.server)
        if server is None:  # an edit removed it since
            raise ServerUnreachable(f'there is no server "{tool.server}"')
        requests = _Requests(self, server, key)
        try:
            return _outcome(requests.result("tools/call", {"name": tool.name, "arguments": arguments}, headers))
        except _Refused as error:
            raise ToolError(str(error)) from error

    def list_tools(self, name: str) -> tuple[str, list[Any]]:
        """The version of the protocol that a server speaks, and its tools. Raises as `call` does."""
        server = self._servers[name]
        try:
            try:
                return STATELESS, list(_Requests(self, replace(server, protocol=STATELESS), f"list-{name}").tools())
            except (_Refused, ServerUnreachable):
                protocol = _Requests(self, server, f"list-{name}").begin().protocol
                return protocol, list(_Requests(self, replace(server, protocol=protocol), f"list-{name}").tools())
        except _Refused as error:
            raise ServerUnreachable(f"it answers: {error}") from error


class _Requests:
    """The requests of one call of a tool, or for one list: they share its key and its time."""

    def __init__(self, client: McpClient, server: McpServer, key: str) -> None:
        self._client, self._server, self._key = client, server, key
        self._deadline = monotonic() + server.within

    def result(self, method: str, params: dict[str, Any], headers: Mapping[str, str]) -> Any:
        """Send a request, and return its result. Raises `_Refused`."""
        if self._server.protocol < STATELESS:
            return self._in_session(method, params)
        about = {
            "io.modelcontextprotocol/protocolVersion": self._server.protocol,
            "io.modelcontextprotocol/clientInfo": _CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        named = {"Mcp-Name": _header(params["name"])} if "name" in params else {}
        own = {"MCP-Protocol-Version": self._server.protocol, "Mcp-Method": method, **named, **headers}
        return _result(*self._send(method, {**params, "_meta": about}, own))

    def _in_session(self, method: str, params: dict[str, Any]) -> Any:
        known = self._client._sessions.get(self._server.service.name)
        session = known or self.begin()
        answer, asked = self._send(method, params, session.headers)
        if known is not None and answer.status in _GONE:  # then nothing was done
            answer, asked = self._send(method, params, self.begin().headers)
        return _result(answer, asked)

    def begin(self) -> _Session:
        """Begin a session. Raises `_Refused`."""
        params = {"protocolVersion": SESSIONS, "capabilities": {}, "clientInfo": _CLIENT}
        answer, asked = self._send("initialize", params, {}, "-initialize")
        result = _result(answer, asked)
        if not isinstance(result, dict) or not isinstance(result.get("protocolVersion"), str):
            raise ServerUnreachable("its answer to initialize names no version of the protocol")
        session = _Session(result["protocolVersion"], answer.headers.get("mcp-session-id"))
        self._send("notifications/initialized", None, session.headers, "-initialized")
        with self._client._lock:
            self._client._sessions[self._server.service.name] = session
        return session

    def tools(self) -> Iterator[Any]:
        """The tools of all pages of the list. Raises `_Refused`."""
        params: dict[str, Any] = {}
        for _ in range(MOST_PAGES):
            match self.result("tools/list", params, {}):
                case {"tools": list(tools), **more}:
                    yield from tools
                case _:
                    raise ServerUnreachable("its answer to tools/list has no tools")
            if not isinstance(more.get("nextCursor"), str):
                return
            params = {"cursor": more["nextCursor"]}
        raise ServerUnreachable(f"its list has more than {MOST_PAGES} pages")

    def _send(
        self, method: str, params: dict[str, Any] | None, headers: Mapping[str, str], part: str = ""
    ) -> tuple[Response, int]:
        """The answer to one request, with the number of that; without ``params`` it is a notification. ``part`` ends
        its key.
        """
        number = next(self._client._ids)
        body = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"id": number, "params": params})
        text, all_headers = json.dumps(body, default=json_default), {**_ACCEPTED, **headers}
        try:
            left = max(self._deadline - monotonic(), 0.0)
            service, secrets = self._server.service, self._client._secrets
            return post(service, secrets, text, all_headers, f"{self._key}{part}", left), number
        except RequestTimedOut as error:
            raise ServerTimedOut(str(error)) from error
        except RequestFailed as error:
            raise ServerUnreachable(str(error)) from error


def _repeated(tool: ServerTool, arguments: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The headers that repeat arguments, without their prefix."""
    for path, name in tool.headers.items():
        value: Any = arguments
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            yield name, _header(value if isinstance(value, str) else json.dumps(value))


def _header(value: str) -> str:
    """The text in a header: encoded if it cannot stand there, or could be taken for an encoded one."""
    if is_header(value) and value.strip() == value and not value.startswith(_ENCODED):
        return value
    return f"{_ENCODED}{b64encode(value.encode()).decode()}?="


def _result(answer: Response, asked: int) -> Any:
    """The result in an answer to the request of this number. Raises `_Refused` and `ServerUnreachable`."""
    messages = list(_messages(answer))
    match next(
        (each for each in messages if each.get("id") in (asked, None) and each.keys() & {"result", "error"}), {}
    ):
        case {"error": {"message": str(message)}}:
            raise _Refused(one_line(message))
        case {"result": result} if 200 <= answer.status < 300:
            return result
    if 200 <= answer.status < 300:
        raise ServerUnreachable("its answer is no result of JSON-RPC")
    raise ServerUnreachable(f"it answers {answer.status}")


def _messages(answer: Response) -> Iterator[dict[str, Any]]:
    """The messages of an answer, which is one as JSON, or a stream of events."""
    text = answer.body.decode("utf-8", "replace")
    texts = [text]
    if answer.headers.get("content-type", "").startswith("text/event-stream"):
        events = text.replace("\r\n", "\n").replace("\r", "\n").split("\n\n")
        lines = (
            [line[5:].removeprefix(" ") for line in event.split("\n") if line.startswith("data:")] for event in events
        )
        texts = ["\n".join(each) for each in lines if each]
    for each in texts:
        try:
            message = json.loads(each)
        except (ValueError, RecursionError):
            continue
        if isinstance(message, dict):
            yield message


def _outcome(result: Any) -> Any:
    """The value that a tool has returned. Raises `ToolError` and `ServerUnreachable`."""
    match result:
        case {"isError": True}:
            raise ToolError(_texts(result))
        case {"resultType": "input_required"}:
            raise ServerUnreachable("it asks for further input, which a bot does not give")
        case {"structuredContent": content} if content is not None:
            return content
        case {"content": list()}:
            return _texts(result)
    raise ServerUnreachable("its answer has no content")


def _texts(result: Mapping[str, Any]) -> str:
    """The texts of a result, one below the other; of everything else its kind."""
    texts = []
    for each in result.get("content") or ():
        match each:
            case {"type": "text", "text": str(text)} | {"resource": {"text": str(text)}}:
                texts.append(text)
            case {"type": str(kind)}:
                texts.append(f"({kind})")
    return "\n".join(texts)
