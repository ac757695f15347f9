"""What an operator does with one contact: export all that is kept, erase it, or end the conversation."""

from flask import Response, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from bot.console.masking import masked_number
from bot.console.page_formats import address_of, number_at
from bot.console.routes import Console, Route, note_action, say
from bot.console.users import OPERATOR, User
from bot.core.text import digits
from bot.store.contact_data import export_as_json


def export_contact(console: Console, user: User, who: str) -> Response:
    """All data about a contact, as the file of `bot contacts export`."""
    contact = number_at(who)
    exported = export_as_json(console.store, contact)
    if exported is None:
        abort(404, f"nothing is kept of {contact}")
    note_action("export", masked_number(contact))
    named = {"Content-Disposition": f'attachment; filename="{contact}.json"'}
    return Response(exported, content_type="application/json", headers=named)


def ask_erase(console: Console, user: User, who: str) -> str:
    """Ask for the number, so that nobody erases another contact's data."""
    return render_template("erase.html", contact=number_at(who), wrong="")


def erase_contact(console: Console, user: User, who: str) -> str | AnyResponse:
    """Erase all data about a contact whose number was typed."""
    contact = number_at(who)
    if digits(request.form.get("number", "")) != contact:
        return render_template(
            "erase.html", contact=contact, wrong="That is not the contact's number: nothing is erased."
        )
    console.act({"do": "erase", "contact": contact})
    say(f"What the bot keeps of {contact} is erased; events that wait in the log follow within moments.")
    return redirect(url_for("contacts"))


def reset_contact(console: Console, user: User, who: str) -> AnyResponse:
    """End the contact's flows: the next message begins anew."""
    contact = number_at(who)
    if console.tried({"do": "reset", "contact": contact}):
        say("The conversation is ended: the next message begins a new one.")
    return redirect(address_of(contact))


ROUTES = (
    Route("/contact/<who>/export", export_contact, OPERATOR),
    Route("/contact/<who>/erase", ask_erase, OPERATOR),
    Route("/contact/<who>/erase", erase_contact, OPERATOR, posts=True),
    Route("/contact/<who>/reset", reset_contact, OPERATOR, posts=True),
)
