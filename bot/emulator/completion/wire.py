"""The API on the wire: a WSGI application that takes its time, and ends as it is told to."""

import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qsl

from waitress.channel import ClientDisconnected

from bot.clock import Clock, SystemClock, to_microseconds
from bot.emulator.completion.api import Api
from bot.emulator.completion.replies import EVENT_STREAM, Reply
from bot.emulator.completion.requests import Incoming
from bot.emulator.server import status_line

Environ = dict[str, Any]
Gone = Callable[[], bool]

BASE = "/api/v1"
_POLL = 0.05


class Wire:
    """Puts replies on the wire. `stop` breaks off whatever is held."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._stopping = False
        self._waiting = threading.Condition()

    def stop(self) -> None:
        """End every wait."""
        with self._waiting:
            self._stopping = True
            self._waiting.notify_all()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterator[bytes]:
        """Answer a request. How its answer ended is counted: ``ended``, ``cut``, or ``abandoned`` by the client."""
        reply = self._api.respond(_incoming(environ))
        gone: Gone = environ["waitress.client_disconnected"]
        how = "abandoned"
        try:
            if reply.status:
                _begin(reply, start_response)
            yield from self._pieces(reply, gone)
            if reply.ending == "stalled":
                self._hold(None, gone)
            if reply.ending != "whole":
                how = "abandoned" if gone() else "cut"
                raise ClientDisconnected  # waitress sends what it has, and closes the connection without an end
            how = "ended"
        finally:
            self._api.count(how)

    def _pieces(self, reply: Reply, gone: Gone) -> Iterator[bytes]:
        pace, steps = reply.pace, 0
        for piece in reply.pieces:
            steps += piece.steps
            if pace is not None and piece.steps:
                self._hold((pace.clock, to_microseconds(pace.since + pace.seconds * steps)), gone)
            if self._stopping or gone():
                raise ClientDisconnected
            yield piece.data

    def _hold(self, until: tuple[Clock, float] | None, gone: Gone) -> None:
        clock, due = until or (SystemClock(), None)
        with self._waiting:
            while not (self._stopping or gone() or (due is not None and clock.elapsed() >= due)):
                clock.wait(self._waiting, due, _POLL)


def _begin(reply: Reply, start_response: Callable[..., Any]) -> None:
    headers = [("Content-Type", reply.content_type)]
    if reply.length is not None:
        headers.append(("Content-Length", str(reply.length)))
    write = start_response(status_line(reply.status), headers)
    if reply.content_type == EVENT_STREAM:
        write(b"")  # the head of a stream does not wait for its first piece


def _incoming(environ: Environ) -> Incoming:
    query = dict(parse_qsl(environ["QUERY_STRING"], keep_blank_values=True))
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
    if environ.get("CONTENT_TYPE"):
        headers["content-type"] = environ["CONTENT_TYPE"]
    path = environ["PATH_INFO"]
    endpoint = path.removeprefix(BASE).strip("/") if path.startswith(f"{BASE}/") else path
    return Incoming(environ["REQUEST_METHOD"], endpoint, headers, query, environ["wsgi.input"].read())
