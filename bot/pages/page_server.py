"""Serves pages: the parts that they share, the headers that bind browsers, and a server with a thread for each connection."""

import logging
import socket
import threading
from types import TracebackType
from typing import Self

from flask import Blueprint, Flask, Response
from werkzeug.serving import WSGIRequestHandler, make_server

from bot.pages.contact_view import formatted

IDLE_SECONDS = 60  # in which a connection must say something
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


def page_app(name: str, *, forms: bool) -> Flask:
    """An application for pages, with the shared templates, and under ``/pages`` the shared styles and scripts.

    Its headers allow nothing inline, no other host and no frame; ``forms`` may be sent to it, or not.
    """
    app = Flask(name)
    app.register_blueprint(
        Blueprint("pages", __name__, static_folder="static", template_folder="templates", static_url_path="/pages")
    )
    app.jinja_env.trim_blocks = app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["formatted"] = formatted
    headers = HEADERS | {"Content-Security-Policy": _POLICY.format(forms="'self'" if forms else "'none'")}

    @app.after_request
    def add_headers(response: Response) -> Response:
        response.headers.extend(headers)
        return response

    return app


class _Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS

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
            self._server = make_server(host, port, app, threaded=True, request_handler=_Quiet, fd=listener.fileno())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), name="pages", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
