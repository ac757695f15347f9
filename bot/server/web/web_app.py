"""The Flask app of the web process: its routes, and as much of Flask as they need."""

from collections.abc import Callable, Iterable
from functools import cached_property, lru_cache
from typing import Any, Protocol

from flask import Flask, Request, Response, request
from flask.sessions import NullSession, SessionInterface
from werkzeug.exceptions import HTTPException
from werkzeug.routing import Map, MapAdapter, Rule

from bot.core.defects import found
from bot.server.web.web_endpoints import (
    INBOX,
    RETRY_AFTER,
    WebhookEndpoint,
    json_answer,
    refused_answer,
)


class _Rule(Rule):
    """A route from which no address is built: the code for that is most of what an app costs."""

    def _compile_builder(self, append_unknown: bool = True) -> Callable[..., Any]:
        return _builds_nothing


def _builds_nothing(*_: object) -> None:
    """Build no address: see `_Rule`."""


class _App(Flask):
    """Flask without hosts, sessions, coroutines, signals, blueprints and functions that run after a view.

    No view here needs them, and they take two thirds of its time.
    """

    url_rule_class = _Rule

    def __init__(self) -> None:
        super().__init__("bot.server.web", static_folder=None)
        self.session_interface = _NoSessions()
        self.request_class = _Request

    def create_url_adapter(self, request: Request | None) -> MapAdapter | None:
        """Return what finds the route of a request."""
        return None if request is None else _routes(self.url_map, request.path, request.method)

    def full_dispatch_request(self) -> Response:
        """Return the answer to the request."""
        answer: Any = None
        try:
            for function in self.before_request_funcs[None]:
                answer = answer or function()
            answer = answer or self.dispatch_request()
        except Exception as error:
            answer = self.handle_user_exception(error)
        return self.make_response(answer)

    def do_teardown_request(self, exc: BaseException | None = None) -> None:
        """Do nothing."""

    def log_exception(self, exc_info: Any) -> None:
        """Note a defect in a view, which costs its request alone. Flask would log the address, and in it perhaps a
        signal's.
        """
        found(exc_info[1], "web", ends_process=False)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        """Return a view as it is."""
        return func


class _Request(Request):
    """A request without files, which would be closed."""

    def close(self) -> None:
        """Do nothing."""


class _Routes(MapAdapter):
    """Finds the route of the requests with one address and method."""

    @cached_property
    def _found(self) -> Any:
        return super().match(return_rule=True)

    def match(self, *arguments: Any, **options: Any) -> Any:
        return self._found


@lru_cache(64)
def _routes(routes: Map, path: str, method: str) -> _Routes:
    return _Routes(routes, "localhost", "/", "", "http", path, method)


class _NoSessions(SessionInterface):
    """Gives every request the same empty session."""

    _none = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:
        return self._none


class Endpoints(Protocol):
    """Endpoints beside the webhook."""

    def add_to(self, app: Flask) -> None:
        """Add their routes."""


def create_app(
    webhook: WebhookEndpoint,
    others: Iterable[Endpoints],
    begun: Callable[[], bool],
    path: str = "/webhook",
) -> Flask:
    """The Flask app of the web process: the webhook, at ``path`` too, and the ``others``.

    ``begun``: the engine has begun on these files, at some time. Before, nothing that comes in is accepted: it might
    never be taken. A proxy that asks gets 503, too.
    """

    def not_begun() -> Response | None:
        if begun() or (request.method == "GET" and request.path != INBOX):
            return None
        return json_answer(503, "the bot has not begun yet: send it again", RETRY_AFTER)

    app = _App()
    app.before_request(not_begun)
    for address in {"/webhook", path}:
        app.add_url_rule(address, address.replace(".", "_"), webhook.receive, methods=["POST"])
    for endpoints in others:
        endpoints.add_to(app)
    app.register_error_handler(HTTPException, refused_answer)
    return app
