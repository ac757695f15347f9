"""The page of a form, which a contact opens by a button in the chat. It has no script, no cookie and no other host.

A form that is sent becomes one event of the log, a signal to the run that made the address, under an id that the
address has: so it happens once, however often it is sent.
"""

import hashlib
from base64 import b64encode
from typing import Any

from flask import Flask, Response, render_template, request
from werkzeug.exceptions import RequestEntityTooLarge

from bot.core import values
from bot.core.clock import Clock
from bot.core.engine_answers import FormPage
from bot.core.engine_requests import OpenForm, answer_to
from bot.core.errors import BotError
from bot.core.events import SIGNALS, SignalReceived
from bot.core.own_addresses import OwnAddresses
from bot.core.values import json_text
from bot.language.source.languages import RIGHT_TO_LEFT
from bot.server.web.program_endpoints import MOST_BYTES, MinuteLimit
from bot.server.web.web_endpoints import Ask
from bot.store.inbox import InboxBusy, InboxRefused, InboxWriter

_STYLE = """
:root { color-scheme: light dark; --page: #f4f5f4; --panel: #fff; --ink: #1d2321; --faint: #5a6360; --line: #8a938f; --accent: #14664a; --on: #fff; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --page: #141816; --panel: #1e2421; --ink: #e8ecea; --faint: #a9b3af; --line: #6c7672; --accent: #7fd6b2; --on: #0d1f17; --bad: #ff9d94; } }
* { box-sizing: border-box; }
body { margin: 0; padding: 24px 16px; background: var(--page); color: var(--ink); font: 17px/1.5 system-ui, sans-serif; }
main { max-width: 480px; margin: 0 auto; padding: 24px; background: var(--panel); border-radius: 16px; overflow-wrap: anywhere; }
h1 { margin: 0 0 16px; font-size: 24px; line-height: 1.25; }
label { display: block; margin: 16px 0 4px; font-weight: 600; }
input, select, button { width: 100%; min-height: 48px; padding: 8px 12px; font: inherit; color: inherit; background: transparent; border: 1px solid var(--line); border-radius: 10px; }
select option { background: var(--panel); }
button { margin-top: 24px; background: var(--accent); color: var(--on); border: 0; font-weight: 600; cursor: pointer; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
[aria-invalid=true] { border: 2px solid var(--bad); }
.error { margin: 4px 0 0; color: var(--bad); }
h1:only-child { margin: 0; font-size: 20px; }
"""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()}'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}


class FormEndpoint:
    """Shows the page of a form while its question waits, and takes what is sent: checked, appended to the inbox,
    committed, and only then thanked for. ``ask`` asks the engine, which knows the questions.
    """

    def __init__(self, inbox: InboxWriter, addresses: OwnAddresses | None, ask: Ask, clock: Clock) -> None:
        self._inbox = inbox
        self._addresses = addresses
        self._ask = ask
        self._clock = clock
        self._limit = MinuteLimit(clock)

    def add_to(self, app: Flask) -> None:
        """Add the route."""
        app.add_url_rule("/forms/<name>/<token>", "form", self.form, methods=["GET", "POST"])

    def form(self, name: str, token: str) -> Response:
        """The form's page, or the response to what it sent. An unknown address gets 404."""
        found = None if self._addresses is None else self._addresses.read_form(name, token)
        if found is None:
            return _plain(404, "There is nothing here.")
        if not self._limit.has_room(token):
            return _plain(429, "Too many requests: please try again in a minute.")
        contact, first_visit, visit = found
        request.max_content_length = MOST_BYTES
        try:
            data = {key: request.form[key] for key in request.form} if request.method == "POST" else None
        except RequestEntityTooLarge:
            return _plain(413, f"These are more than the {MOST_BYTES:,} bytes that are allowed.")
        asked = OpenForm(contact, name, first_visit, visit, data)
        try:
            page = answer_to(asked, self._ask(asked))
        except BotError:
            return _plain(503, "This page cannot be shown now: please try again in a minute.")
        if not page.open:
            return self._page(page, 410, "closed")
        if page.values is None:
            return self._page(page, 200 if data is None else 422)
        return self._sent(page, contact, name, token, first_visit)

    def _sent(self, page: FormPage, contact: str, name: str, token: str, first_visit: int) -> Response:
        assert page.values is not None
        id = f"{SIGNALS}{hashlib.sha256(f'form {name} {token}'.encode()).hexdigest()[:40]}"
        filled: dict[str, Any] = values.loads(page.values)
        event = SignalReceived(id, contact, self._clock.now(), name, filled, "its form", first_visit)
        try:
            self._inbox.append(
                self._inbox.event(None, id, "signal", contact, event.at, json_text(event).encode(), True)
            )
        except InboxBusy:
            return _plain(503, "This form cannot be sent now: please go back, and send it again in a minute.")
        except InboxRefused:
            return _plain(400, "This form cannot be sent: please answer in the chat.")
        return self._page(page, 200, "sent")

    def _page(self, page: FormPage, status: int, says: str | None = None) -> Response:
        """The page with its fields, or with nothing but one of its messages."""
        text = None if says is None else page.words[says]
        direction = "rtl" if page.language.partition("-")[0] in RIGHT_TO_LEFT else "ltr"
        html = render_template("form.html", page=page, says=text, style=_STYLE, direction=direction)
        return Response(html, status, content_type="text/html; charset=utf-8", headers=_HEADERS)


def _plain(status: int, text: str) -> Response:
    """A text for a person whose language is not known."""
    return Response(f"{text}\n", status, content_type="text/plain; charset=utf-8", headers=_HEADERS)
