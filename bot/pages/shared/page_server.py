"""Serves pages: the parts that they share, the headers that bind browsers, and a server with a thread for each
connection.
"""

import logging
import socket
import sys
import threading
from contextlib import suppress
from time import monotonic
from typing import Any, Self

from flask import Blueprint, Flask, Response, request
from werkzeug.serving import ThreadedWSGIServer, WSGIRequestHandler

from bot.core.defects import found, guard
from bot.pages.shared.contact_view import formatted

ALIVE, ALIVE_SECONDS = ": alive\n\n", 15.0
"""A line of a stream in which nothing happens, and how often it comes: proxies cut a stream that is silent, many after
60 seconds, and by writing to a browser that has gone a server notices it.
"""
IDLE_SECONDS = 60  # in which a connection must say something
MOST_CONNECTIONS = 256
SHORTEST_SECONDS = 1.0  # a connection that is younger is closed for no other
_BUSY = b"too many connections: try again in a few seconds\n"
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nRetry-After: 5\r\nConnection: close\r\n"
    b"Content-Length: %d\r\n\r\n%b" % (len(_BUSY), _BUSY)
)
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action {forms}; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with "no-referrer" browsers would not say where a form comes from
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STATIC = "static", "pages.static"
"""The endpoints of styles and scripts, which are the same for everybody."""
STATIC_CACHING = "no-cache"
"""A browser keeps styles and scripts, and asks whether they are still the same."""


def page_app(name: str, *, forms: bool) -> Flask:
    """An application for pages, with the shared templates, and under ``/pages`` the shared styles and scripts.

    Its headers allow nothing inline, no other host and no frame; ``forms`` may be sent to it, or not.
    """
    app = _App(name)
    app.register_blueprint(
        Blueprint("pages", __name__, static_folder="static", template_folder="templates", static_url_path="/pages")
    )
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["formatted"] = formatted
    headers = HEADERS | {"Content-Security-Policy": _POLICY.format(forms="'self'" if forms else "'none'")}

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.update(headers)
        if request.endpoint in STATIC:
            response.headers["Cache-Control"] = STATIC_CACHING
            response.direct_passthrough = False
            # of its content: flask's own is of the file's time, which an image can set
            response.add_etag(overwrite=True)
            response.make_conditional(request)
        return response

    return app


class _App(Flask):
    """An application that logs defects without the addresses of requests, because these have numbers of contacts."""

    def log_exception(self, exc_info: Any) -> None:
        """Note a defect in a view, which costs its request alone. Flask would log the address."""
        found(exc_info[1], "pages", ends_process=False)


class _Server(ThreadedWSGIServer):
    """A server with a limit on its connections.

    One more closes the oldest connection that streams nothing; if all stream, the new one gets a 503.
    """

    def __init__(self, host: str, port: int, app: Flask, fd: int) -> None:
        self._lock = threading.Lock()
        self._open: dict[socket.socket, float] = {}  # since when, the oldest first
        self._streams: set[socket.socket] = set()
        super().__init__(host, port, app, _Quiet, passthrough_errors=True, fd=fd)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer on a thread of its own."""
        now = monotonic()
        with self._lock:
            full = len(self._open) >= MOST_CONNECTIONS
            old = (each for each, since in self._open.items() if now - since > SHORTEST_SECONDS)
            if full and (oldest := next((each for each in old if each not in self._streams), None)) is not None:
                del self._open[oldest]
                with suppress(OSError):
                    oldest.shutdown(socket.SHUT_RDWR)  # its thread ends
                full = False
            if not full:
                self._open[request] = now
        if not full:
            super().process_request(request, client_address)
            return
        with suppress(OSError):
            request.setblocking(False)
            request.sendall(_FULL)
        self.shutdown_request(request)

    def begin_stream(self, connection: socket.socket) -> None:
        """From now on the connection streams."""
        with self._lock:
            self._streams.add(connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Note a defect in a connection; it ends this connection alone. A browser that has gone is no defect."""
        defect = sys.exception()
        if defect is not None and not isinstance(defect, OSError):
            found(defect, "pages", ends_process=False)

    def server_close(self) -> None:
        """Close the listener and connections that wait for a request; answers under way are sent."""
        super().server_close()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)  # its thread ends

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        with self._lock:
            self._open.pop(request, None)
            self._streams.discard(request)
        super().shutdown_request(request)


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request, nor for what strangers send in place of one."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def send_header(self, keyword: str, value: str) -> None:
        """Write a header; that of a stream says that it is one."""
        if keyword == "Content-Type" and value.startswith("text/event-stream"):
            self.server.begin_stream(self.connection)
        super().send_header(keyword, value)

    def log_error(self, format: str, *args: Any) -> None:
        """Write nothing."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write nothing."""


class PageServer:
    """Serves an application to those who connect to ``listener``. Use it as a context manager.

    ``stopping`` is set when it ends: what streams is to end then.
    """

    def __init__(self, app: Flask, listener: socket.socket, stopping: threading.Event) -> None:
        self._stopping = stopping
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        host, port = listener.getsockname()[:2]
        with listener:  # werkzeug makes a socket of its own of it
            self._server = _Server(host, port, app, listener.fileno())
        self._thread = threading.Thread(
            target=guard(self._server.serve_forever), args=(0.05,), name="pages", daemon=True
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
