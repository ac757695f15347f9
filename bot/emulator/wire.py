"""The API on the wire: a WSGI application, with the faults that happen there.

Not by way of Flask: as a benchmark's peer, the emulator has to cost less than what it measures.
"""

import socket
import struct
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

from waitress.channel import ClientDisconnected
from werkzeug.wsgi import ClosingIterator

from bot.emulator.account import Sent
from bot.emulator.api import Api, Incoming, Reply
from bot.emulator.server import status_line

Environ = dict[str, Any]

_GARBAGE = b'{"success": tru\x00\xff not json'
_NO_LINGER = struct.pack("ii", 1, 0)
_POLL = 0.05


class Wire:
    """Puts replies on the wire. ``stopping`` ends every wait; ``before`` and ``after`` frame an accepted message."""

    def __init__(
        self, api: Api, stopping: threading.Event, before: Callable[[Sent], None], after: Callable[[Sent], None]
    ) -> None:
        self._api = api
        self._stopping = stopping
        self._before = before
        self._after = after

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer a request."""
        reply = self._api.respond(_incoming(environ))
        if reply.slow:
            self._stopping.wait(reply.slow)
        sent = reply.sent
        if sent is not None:
            self._before(sent)
        self._break(reply, environ)
        body = [self._start(reply, start_response)]
        return body if sent is None else ClosingIterator(body, lambda: self._after(sent))

    def _start(self, reply: Reply, start_response: Callable[..., Any]) -> bytes:
        answer = reply.answer
        body = _GARBAGE if reply.fault == "garbage" else answer.body
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.headers}
        start_response(status_line(answer.status), list(headers.items()))
        return body[: len(body) // 2] if reply.fault == "truncated" else body

    def _break(self, reply: Reply, environ: Environ) -> None:
        if reply.fault not in ("timeout", "reset_before", "reset_after"):
            return
        if reply.fault == "timeout":
            self._hold(reply.held, environ)
        if reply.sent is not None:
            self._after(reply.sent)
        # waitress has no public way to a connection but this method of it.
        connection: socket.socket | None = environ["waitress.client_disconnected"].__self__.socket
        if connection is not None:  # else the client has gone by itself
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
        raise ClientDisconnected

    def _hold(self, seconds: float, environ: Environ) -> None:
        waited = 0.0
        while waited < seconds and not self._stopping.is_set() and not environ["waitress.client_disconnected"]():
            self._stopping.wait(_POLL)
            waited += _POLL


def _incoming(environ: Environ) -> Incoming:
    query = environ["QUERY_STRING"]
    return Incoming(
        environ["REQUEST_METHOD"],
        environ["PATH_INFO"],
        environ.get("HTTP_AUTHORIZATION", ""),
        environ.get("CONTENT_TYPE", ""),
        environ.get("HTTP_IDEMPOTENCY_KEY"),
        dict(parse_qsl(query, keep_blank_values=True)) if query else {},
        environ["wsgi.input"].read(),
    )
