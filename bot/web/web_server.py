"""Serving the web app with waitress: on an inherited socket, within limits, with a stop that drops no request.

waitress, because it takes a listening socket that somebody else opened (connections wait in it while this
process restarts), collects a slow body without holding a thread, and runs inside our own process. Four
things it leaves open are closed here: an oversized body is read to its end and thrown away, so that its
sender gets the 413 and not a reset; a request whose length can be read in two ways is refused, and its connection
closed, so that no second request hides in it; senders that drip their requests cannot take all places; and a stop
answers what has arrived before it closes.
"""

import logging
import re
import select
import socket
from contextlib import suppress
from io import BytesIO
from time import monotonic
from typing import Any

from flask import Flask
from waitress import create_server, wasyncore
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser, ParsingError
from waitress.utilities import RequestEntityTooLarge

THREADS = 64  # so many requests can share one commit
CONNECTIONS = 480  # each may need a second file for its body, and a process usually has 1024
BODY_BYTES = 1 << 20  # the largest event is a few kilobytes
DISCARDED_BYTES = 16 << 20  # of an oversized body; then its connection is simply closed
HEADER_BYTES = 32 << 10
REQUEST_SECONDS = 30.0  # for a whole request to arrive, from connecting or from the last answer on
DRAIN_SECONDS = 8.0  # a sender gives up after 5
QUIET_SECONDS = 0.2  # how long a connection that is kept alive may use for a request that is on its way
_CODINGS = re.compile(rb"^transfer-encoding:", re.IGNORECASE | re.MULTILINE)


class WebServer:
    """Serves an app on a listening socket until `stop` is called, by a signal handler or another thread."""

    def __init__(self, app: Flask, listener: socket.socket, threads: int = THREADS) -> None:
        # it warns of every request that waits for a thread: that is no trouble, and a line each would be some
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._sockets: dict[int, Any] = {}
        self._look_at = 0.0
        self._server = create_server(
            app,
            map=self._sockets,
            sockets=[listener],
            threads=threads,
            connection_limit=2 * CONNECTIONS,  # never reached: at half of it one goes for each that comes
            max_request_body_size=BODY_BYTES + 1,  # waitress refuses what is not below its limit
            max_request_header_size=HEADER_BYTES,
            recv_bytes=65536,
            log_socket_errors=False,
            ident=None,
        )
        self._server.channel_class = _Channel
        self._server.stopping = False

    def run(self) -> None:
        """Serve; after `stop`, answer what has arrived, close, and return."""
        while not self._server.stopping:
            self._turn(1.0)
        self._accept_waiting()
        self._finish_open()
        self._server.task_dispatcher.shutdown()
        wasyncore.close_all(self._sockets, ignore_all=True)

    def stop(self) -> None:
        """Ask `run` to end. Connections end with the answers that are given from now on."""
        if not self._server.stopping:
            self._server.stopping = True
            with suppress(OSError):  # `run` may have seen it already, and closed the trigger
                self._server.pull_trigger()

    def _turn(self, timeout: float) -> None:
        self._close_the_slowest()
        # poll, since select() ends at 1024 files
        wasyncore.loop(timeout=timeout, use_poll=True, map=self._sockets, count=1)

    def _close_the_slowest(self) -> None:
        """End what has waited too long for its request; when all places are taken, also what has waited longest."""
        now = monotonic()
        full = len(self._server.active_channels) > CONNECTIONS
        if now < self._look_at and not full:
            return
        self._look_at = now + 1.0
        waiting = [channel for channel in self._server.active_channels.values() if channel.waits()]
        slow = [channel for channel in waiting if now - channel.waiting_since > REQUEST_SECONDS]
        if full and not slow:
            slow = sorted(waiting, key=lambda channel: channel.waiting_since)[:1]
        for channel in slow:
            channel.will_close = True

    def _accept_waiting(self) -> None:
        """Take the connections that the system has completed already: closing the socket would reset them."""
        until = monotonic() + QUIET_SECONDS
        while select.select([self._server.socket], [], [], 0)[0] and monotonic() < until:
            self._turn(0)
        wasyncore.dispatcher.close(self._server)

    def _finish_open(self) -> None:
        until = monotonic() + DRAIN_SECONDS
        while self._server.active_channels and monotonic() < until:
            self._turn(0.05)
            for channel in list(self._server.active_channels.values()):
                channel.close_if_quiet()


class _NoBuffer:
    """Where the bytes of an oversized body go."""

    def append(self, data: bytes) -> None: ...

    def __len__(self) -> int:
        return 0

    def getfile(self) -> BytesIO:
        return BytesIO()

    def close(self) -> None: ...


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Reads an oversized body on, keeping nothing of it, so that its sender gets to read the answer."""

    completed: bool

    def received(self, data: bytes) -> int:
        consumed: int = super().received(data)
        if self.completed and isinstance(self.error, RequestEntityTooLarge):
            if not isinstance(self.body_rcv.buf, _NoBuffer):
                self.body_rcv.buf.close()
                self.body_rcv.buf = _NoBuffer()
            self.completed = self.body_rcv.completed or self.body_bytes_received > DISCARDED_BYTES
        return consumed

    def parse_header(self, header_plus: bytes) -> None:
        try:
            super().parse_header(header_plus)
        except ValueError:  # a length of thousands of digits, an address that is none
            raise ParsingError("this is no HTTP request") from None
        codings = _CODINGS.findall(header_plus)
        if len(codings) > 1 or (codings and ("CONTENT_LENGTH" in self.headers or not self.chunked)):
            raise ParsingError("it says in two ways how long its body is")  # a proxy before us may take the other


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection. It ends after its answer once the server stops."""

    parser_class = _Parser

    def __init__(self, *args: Any, **options: Any) -> None:
        self.waiting_since = monotonic()
        super().__init__(*args, **options)

    def waits(self) -> bool:
        """Whether nothing is done for it now: its next request has not wholly come."""
        return not (self.requests or self.total_outbufs_len or self.will_close)

    def service(self) -> None:
        self.waiting_since = monotonic()
        if self.server.stopping:
            self.requests[0].headers["CONNECTION"] = "close"
        super().service()

    def close_if_quiet(self) -> None:
        if self.waits() and self.request is None and monotonic() - self.waiting_since > QUIET_SECONDS:
            self.will_close = True
