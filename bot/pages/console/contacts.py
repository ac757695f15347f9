"""The view of all contacts: where each is, with a search."""

from urllib.parse import urlencode

from flask import redirect, render_template, request, url_for
from werkzeug.wrappers import Response

from bot.pages.console.page_formats import address_of, reads, sealed, unsealed
from bot.pages.console.routes import Console, Route
from bot.pages.console.users import VIEWER, User
from bot.store.session_rows import CONTACT_STATES, ContactSearch

PAGE = 50
_LONG_NUMBER = 7
"""From so many digits on, a searched number may be complete, also that of a contact without a session."""


def contacts(console: Console, user: User) -> str | Response:
    """The contacts that fit a search, those with the newest turn first. A whole number leads to its contact."""
    asked = {name: request.args.get(name, "").strip()[:100] for name in ("find", "flow", "step", "state")}
    after = unsealed(request.args.get("after", "")) or ""
    if not reads():
        asked["find"] = ""  # digit by digit a search would tell the number
    search, reader = ContactSearch(**asked), console.reader
    if len(search.number) >= _LONG_NUMBER and reader.keeps(search.number):
        return redirect(address_of(search.number))
    found, further = reader.sessions.find(search, PAGE + 1, after, by_number=reads())
    if more_found := len(found) > PAGE:
        further = found[PAGE - 1].place
    waiting = console.cached("waiting_at", reader.sessions.waiting_at)
    more = {name: value for name, value in asked.items() if value}
    return render_template(
        "contacts.html",
        contacts=found[:PAGE],
        asked=asked,
        searched=bool(more),
        newest=f"{url_for('contacts')}?{urlencode(more)}" if after else "",
        later=f"{url_for('contacts')}?{urlencode(more | {'after': sealed(further)})}" if further else "",
        cut=bool(further) and not more_found,
        total=console.cached("sessions", lambda: reader.counts()["sessions"]),
        flows=sorted({flow for flow, _ in waiting}),
        steps=sorted({step for flow, step in waiting if asked["flow"] in ("", flow)}),
        states=CONTACT_STATES,
    )


ROUTES = (Route("/", contacts, VIEWER, title="Contacts"),)
