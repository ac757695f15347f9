"""The console's application: its views, and the checks before each request."""

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from hmac import compare_digest
from ipaddress import IPv6Address, IPv6Network, ip_address
from math import ceil
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit

from flask import Flask, Response, abort, g, redirect, render_template, request, url_for
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.wrappers import Response as AnyResponse

from bot.core.errors import BotError
from bot.pages.console import (
    agent_inbox,
    broadcasts,
    contact,
    contacts,
    dead_letters,
    edits,
    model_usage,
    state,
    step_results,
    versions,
)
from bot.pages.console.login import UNKNOWN, Login, Logins, LoginTries, known_browser, new_browser
from bot.pages.console.masking import masked_words
from bot.pages.console.page_formats import add_formats
from bot.pages.console.passwords import Passwords, TooManyLogins
from bot.pages.console.routes import REFRESH, Console, Route, current_login
from bot.pages.console.uploads import MOST_SENT
from bot.pages.console.users import AGENT, VIEWER, User
from bot.pages.shared.page_server import ALIVE, ALIVE_SECONDS, STATIC, page_app
from bot.store.files import StoreUnavailable

VIEWS = (
    agent_inbox,
    contacts,
    contact,
    broadcasts,
    step_results,
    model_usage,
    dead_letters,
    state,
    edits,
    versions,
)
"""The files of the views, in the order of the navigation."""
OPEN = ("log_in", *STATIC)
"""The routes that need no login."""
BY_ITSELF = (*OPEN, "changes")
"""The routes that a page requests by itself, while its user may be away."""
COOKIE, BROWSER_COOKIE = "bot_console", "bot_console_browser"
BROWSER_KNOWN = timedelta(days=180)
"""The time for which a browser is known in which a user has logged in."""
MOST_FORM = 1 << 20  # bytes
MOST_STREAMS = 64
"""How many pages get changes at once.

With one more, the oldest stream ends: its page begins another when somebody looks at it.
"""
LOOK_SECONDS, MINUTE = 0.5, 60.0  # between two looks at whether something has changed; until times are shown anew
log = logging.getLogger("bot.pages.console")


def console_app(console: Console, users: Mapping[str, User], address: str, stopping: threading.Event) -> Flask:
    """The console at an address in browsers, which may have a path. Streams end once ``stopping`` is set.

    Requests for another host and forms of another page are refused; headers that a proxy adds are ignored.
    """
    app = page_app(__name__, forms=True)
    app.config["MAX_CONTENT_LENGTH"] = MOST_FORM
    gate = _Gate(console, users, address, stopping)
    routes = [route for view in VIEWS for route in view.ROUTES]
    routes += [Route("/log-out", gate.log_out, VIEWER, posts=True), Route("/changes", gate.changes, VIEWER)]
    for route in routes:
        methods = ["POST"] if route.posts else ["GET"]
        app.add_url_rule(route.address, route.name, _bound(route, console), methods=methods)
    app.add_url_rule("/log-in", "log_in", gate.log_in, methods=["GET", "POST"])
    app.before_request(gate.refuse_strangers)
    app.before_request(partial(gate.require_login, {route.name: route for route in routes}))
    app.register_error_handler(HTTPException, _say_http_error)
    app.register_error_handler(BotError, lambda error: _say_trouble(str(error), 409))
    app.register_error_handler(StoreUnavailable, lambda error: _say_trouble(str(error), 503))
    app.register_error_handler(Exception, _say_failure)
    app.context_processor(lambda: {"bot": console.name, "zone": console.zone})
    app.jinja_env.globals["navigation"] = [route for route in routes if route.title]
    app.jinja_env.globals["waiting_for_person"] = partial(agent_inbox.waiting, console)
    add_formats(app, console)
    app.wsgi_app = _below(urlsplit(address).path, app.wsgi_app)  # type: ignore[method-assign]
    return app


def _bound(route: Route, console: Console) -> Callable[..., str | AnyResponse]:
    def answer(**named: str) -> str | AnyResponse:
        g.changes = console.changes()  # before the view reads: what is committed meanwhile is a change
        return route.view(console, current_login().user, **named)

    return answer


def _below(prefix: str, app: Callable[..., Any]) -> Callable[..., Any]:
    """An application whose addresses begin with a path."""

    def answer(environ: dict[str, Any], start: Callable[..., Any]) -> Any:
        path = environ["PATH_INFO"]
        if path != prefix and not path.startswith(f"{prefix}/"):
            return Response("there is nothing here\n", 404, content_type="text/plain")(environ, start)
        if not path.removeprefix(prefix):
            return redirect(f"{prefix}/")(environ, start)
        return app(environ | {"SCRIPT_NAME": prefix, "PATH_INFO": path.removeprefix(prefix)}, start)

    return answer


class _Gate:
    """Checks each request: its host, its login, the role of its user, its form. Has the pages to log in and out."""

    def __init__(self, console: Console, users: Mapping[str, User], address: str, stopping: threading.Event) -> None:
        self._console = console
        self._users = users
        self._stopping = stopping
        self._lock = threading.Lock()
        self._streams: list[object] = []  # the oldest first
        self._passwords = Passwords()
        self._logins, self._tries = Logins(console.clock), LoginTries(console.clock)
        parts = urlsplit(address)
        self._secure = parts.scheme == "https"
        self._host = parts.netloc.lower().removesuffix(":443" if self._secure else ":80")  # as browsers write it
        self._address, self._path, self._origin = address, parts.path, f"{parts.scheme}://{self._host}"

    def refuse_strangers(self) -> None:
        """Refuse a request for another host (a name that leads here), and a form of another page."""
        if request.host != self._host:
            abort(403, f"this console is at {self._address} (BOT_CONSOLE_URL); a proxy must pass the host on")
        if request.method not in ("GET", "HEAD") and request.headers.get("Origin") != self._origin:
            abort(403, "this form comes from another page")

    def require_login(self, routes: Mapping[str, Route]) -> AnyResponse | None:
        """Refuse a user who is not logged in or lacks the role, and a form without the login's token."""
        endpoint = request.endpoint
        acts = endpoint not in BY_ITSELF and REFRESH not in request.headers
        g.login = login = self._logins.find(request.cookies.get(COOKIE, ""), seen=acts)
        if endpoint in OPEN:
            return None
        if login is None:
            here = request.full_path.removesuffix("?")
            return redirect(url_for("log_in", next=here if request.method == "GET" and here != "/" else None))
        if endpoint is None:
            return None  # flask says why
        route = routes[endpoint]
        if endpoint == agent_inbox.answer.__name__:
            request.max_content_length = MOST_SENT + MOST_FORM
        if not login.user.may(route.role):
            abort(403, f"this is for the role {route.role}, and yours is {login.user.role}")
        if route.posts and not compare_digest(request.form.get("token", "").encode(), login.token.encode()):
            abort(403, "this form has no token, or an old one: load its page again")
        return None

    def log_in(self) -> str | AnyResponse:
        """The form, and what it sends."""
        if request.method == "GET":
            return self._form("")
        name, password = request.form.get("name", "").strip()[:100], request.form.get("password", "")
        user, address = self._users.get(name), _client_address()
        browser = known_browser(user, request.cookies.get(BROWSER_COOKIE, ""))
        if wait := self._tries.wait(name, address, browser):
            return self._form(f"There were too many tries: wait {ceil(wait)} seconds.", 429)
        known = browser is not None or self._tries.knows(name, address)
        try:
            fits = self._passwords.fits(password, None if user is None else user.hash, browser or address, known=known)
        except TooManyLogins as error:
            return self._form(str(error), 503)
        if not fits or user is None:
            log.warning("somebody at %s tried to log in and wrote a wrong name or password", address)
            return self._form("The name or the password is wrong.", 401)
        self._tries.forget(name, address, browser)
        log.warning("%s (%s) has logged in", user.name, user.role)
        answer = redirect(url_for("contacts") + _below_here(request.form.get("next", "")))
        self._set_cookie(answer, BROWSER_COOKIE, new_browser(user), BROWSER_KNOWN)
        self._set_cookie(answer, COOKIE, self._logins.begin(user))
        return answer

    def _set_cookie(self, answer: AnyResponse, name: str, value: str, lasts: timedelta | None = None) -> None:
        answer.set_cookie(
            name, value, lasts, path=f"{self._path}/", secure=self._secure, httponly=True, samesite="Strict"
        )

    def _form(self, wrong: str, status: int = 200) -> AnyResponse:
        next = request.values.get("next", "")
        return Response(render_template("log_in.html", wrong=wrong, next=next), status)

    def log_out(self, console: Console, user: User) -> AnyResponse:
        """End the login."""
        self._logins.end(request.cookies.get(COOKIE, ""))
        log.warning("%s (%s) has logged out", user.name, user.role)
        return redirect(url_for("log_in"))

    def changes(self, console: Console, user: User) -> AnyResponse:
        """A line whenever something has changed since a page was made, and ``every`` so many seconds, else each minute,
        as server-sent events.

        A last line says that the login has ended: the page then leads to its form.
        """
        secret, since = request.cookies.get(COOKIE, ""), request.args.get("since", "")
        every = request.args.get("every", MINUTE, float)
        stream = object()
        with self._lock:
            self._streams[:] = [*self._streams[1 - MOST_STREAMS :], stream]
        return Response(
            self._changes(console, secret, since, every, stream), content_type="text/event-stream; charset=utf-8"
        )

    def _changes(self, console: Console, secret: str, shown: str, every: float, stream: object) -> Iterator[str]:
        at = spoken = monotonic()
        try:
            yield ALIVE
            while not self._stopping.wait(LOOK_SECONDS) and stream in self._streams:
                now = monotonic()
                if self._logins.find(secret, seen=False) is None:
                    yield "data: over\n\n"
                    return
                changes = console.changes()
                if changes != shown or now - at > every:
                    shown, at, spoken = changes, now, now
                    yield f"data: {changes}\n\n"
                elif now - spoken > ALIVE_SECONDS:
                    spoken = now
                    yield ALIVE
        finally:
            with self._lock:
                self._streams[:] = [each for each in self._streams if each is not stream]


def _client_address() -> str:
    """The address whose tries to log in are counted together: an IPv4 address, or the network of an IPv6 one.

    For a connection from this machine it is the last address in ``X-Forwarded-For``, which a proxy here has written;
    `UNKNOWN` without this header. Local callers can forge it; for them only the limit per user name works.
    """
    try:
        address = ip_address(request.remote_addr or "")
        if address.is_loopback:
            address = ip_address(request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip())
    except ValueError:
        return UNKNOWN
    if isinstance(address, IPv6Address):
        return str(address.ipv4_mapped or IPv6Network((int(address) >> 64 << 64, 64)))
    return str(address)


def _below_here(path: str) -> str:
    """A path below the console's as it is put behind the address of its first page; an empty text for any other.

    Browsers read a backslash as a slash, and go up at each ``..``, also where it is written with ``%2e``.
    """
    way = unquote(path.partition("?")[0].partition("#")[0]).replace("\\", "/")
    is_below = way.startswith("/") and not way.startswith("//") and not {".", ".."} & {*way.split("/")}
    return path[1:] if is_below and path.isprintable() else ""


def _say_http_error(error: HTTPException) -> AnyResponse:
    if (redirection := error.get_response()).status_code < 400:
        return Response(headers=redirection.headers, status=redirection.status_code)
    sentence = error.description or error.name
    if sentence == NotFound.description:
        sentence = "There is no page at this address: choose one above."
    return _say_trouble(sentence, error.code or 500)


def _say_failure(error: Exception) -> AnyResponse:
    log.exception("a page could not be made")
    return _say_trouble("This page could not be made: the log of `bot serve` says why.", 500)


def _say_trouble(sentence: str, status: int) -> AnyResponse:
    login: Login | None = g.get("login")
    heading = {403: "Refused", 404: "Not found", 409: "This was not done", 503: "The store cannot be used now"}.get(
        status, "Trouble"
    )
    sentence = sentence if login and login.user.may(AGENT) else masked_words(sentence)
    template = "trouble.html" if login else "stranger.html"
    return Response(render_template(template, heading=heading, sentence=sentence), status)
