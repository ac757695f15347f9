"""The view of all contacts: where each is, with a search."""

from urllib.parse import urlencode

from flask import render_template, request, url_for

from bot.console.page_formats import page_asked, reads
from bot.console.routes import Console, Route
from bot.console.users import VIEWER, User
from bot.store.store_reader import CONTACT_STATES, ContactSearch

PAGE = 50


def contacts(console: Console, user: User) -> str:
    """The contacts that fit a search, those with the newest turn first."""
    asked = {name: request.args.get(name, "").strip()[:100] for name in ("find", "flow", "step", "state")}
    page = page_asked()
    if not reads():
        asked["find"] = ""  # digit by digit a search would tell the number
    found = console.reader.find_contacts(ContactSearch(**asked), (page - 1) * PAGE, PAGE + 1)
    waiting = console.reader.waiting_at()
    return render_template(
        "contacts.html",
        contacts=found[:PAGE],
        asked=asked,
        page=page,
        earlier=page_address(asked, page - 1) if page > 1 else "",
        later=page_address(asked, page + 1) if len(found) > PAGE else "",
        total=console.reader.counts()["sessions"],
        flows=sorted({flow for flow, _ in waiting}),
        steps=sorted({step for flow, step in waiting if asked["flow"] in ("", flow)}),
        states=CONTACT_STATES,
    )


def page_address(asked: dict[str, str], page: int) -> str:
    """The address of another page of the same search."""
    query = {name: value for name, value in asked.items() if value} | {"page": str(page)}
    return f"{url_for('contacts')}?{urlencode(query)}"


ROUTES = (Route("/", contacts, VIEWER, title="Contacts"),)
