"""The inbox: conversations that wait for a person, or that a person has, and what a person does with one."""

from typing import Any

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from bot.core.engine_requests import AnswerContact, GiveBack, TakeOver
from bot.pages.console.page_formats import address_of, number_at
from bot.pages.console.routes import Console, Route, current_login
from bot.pages.console.template_choice import message_of
from bot.pages.console.users import AGENT, VIEWER, User

MOST = 500
"""The most conversations that are listed: those that have waited the longest."""


def inbox(console: Console, user: User) -> str:
    """The conversations that wait for a person, and those that a person has, the longest wait first."""
    found = console.reader.sessions.handed_over(MOST)
    team = request.args.get("team", "").strip()[:100]
    shown = [each for each in found if team in ("", each.team)]
    return render_template(
        "inbox.html",
        waiting=[each for each in shown if each.agent is None],
        taken=[each for each in shown if each.agent is not None],
        left_out=console.reader.sessions.count_handed_over() - len(found),
        teams=sorted({each.team for each in found if each.team is not None}),
        team=team,
    )


def take(console: Console, user: User, who: str) -> Response:
    """Take a conversation over: from the bot, or from the person whom the form names."""
    contact, other = number_at(who), request.form.get("from", "")
    console.tried(TakeOver(contact, other or None, by=user.name))
    return redirect(address_of(contact))


def give_back(console: Console, user: User, who: str) -> Response:
    """Give the conversation back to the bot."""
    contact = number_at(who)
    console.tried(GiveBack(contact, by=user.name))
    return redirect(address_of(contact))


def answer(console: Console, user: User, who: str) -> Response:
    """Send the form's message, once if the form comes twice. A text that is refused stays in the form."""
    contact, login, message = number_at(who), current_login(), _message()
    form = contact, request.form.get("after", ""), repr(message)
    if login.is_new(form):
        if console.tried(AnswerContact(contact, **message, by=user.name)):
            login.drafts.pop(contact, None)
        else:
            login.forms.discard(form)
            login.drafts[contact] = message
    return redirect(address_of(contact))


def _message() -> dict[str, Any]:
    if request.form.get("template", "").strip():
        return {"template": message_of(request.form)}
    return {"text": request.form.get("text", "").replace("\r\n", "\n").strip()}


ROUTES = (
    Route("/inbox", inbox, VIEWER, title="Inbox"),
    Route("/contact/<who>/take", take, AGENT, posts=True),
    Route("/contact/<who>/answer", answer, AGENT, posts=True),
    Route("/contact/<who>/give-back", give_back, AGENT, posts=True),
)
