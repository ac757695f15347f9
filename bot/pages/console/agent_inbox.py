"""The inbox: conversations that wait for a person, or that a person has, and what a person does with one."""

from contextlib import suppress
from datetime import datetime
from itertools import takewhile
from typing import Any

from flask import redirect, render_template, request
from werkzeug.wrappers import Response

from bot.core.effects import Send
from bot.core.engine_requests import AgreeToCall, AnswerContact, GiveBack, NoteContact, RefuseCall, TakeOver
from bot.core.events import ConversationAssigned, MessageReceived, Tapped
from bot.core.immutable import immutable
from bot.core.messages import in_words
from bot.pages.console.page_formats import address_of, number_at
from bot.pages.console.routes import ActionRefused, Console, Route, current_login, say
from bot.pages.console.template_choice import message_of
from bot.pages.console.uploads import keep_sent_file
from bot.pages.console.users import AGENT, VIEWER, User
from bot.store.files import StoreUnavailable
from bot.store.session_rows import HandedOver
from bot.testing.simulation.turn_words import event_in_words

MOST = 500
"""The most conversations that are listed: those that have waited the longest."""
LOOKED_AT = 12
"""How many of a conversation's newest turns are looked through for messages."""


@immutable
class NewestMessage:
    """The newest message of a conversation, ``by`` the contact (an empty text) or a person.

    ``unanswered`` counts the contact's messages since a person has answered, ``since`` is the time of the first.
    """

    text: str
    by: str
    unanswered: int
    since: datetime


def newest_message(console: Console, each: HandedOver) -> NewestMessage | None:
    """The newest message that the contact or a person has written.

    Messages from before the hand-over have their answer, and those at a question to the team are the bot's to answer.
    """
    found: list[tuple[datetime, str, str]] = []
    for at, event, effects in console.reader.trace.newest(each.contact, LOOKED_AT):
        if found and at < each.since:
            break
        match event:
            case MessageReceived(is_heard=True, kind="text", text=text):
                found.append((at, "", text or ""))
            case MessageReceived(is_heard=True) | Tapped():
                found.append((at, "", event_in_words(event)))
            case ConversationAssigned(answered=True, agent=agent, text=text):
                found.append((at, agent or "an agent", text or "…"))
            case {"do": "send", "by": by}:
                sends = (effect.message for effect in effects if isinstance(effect, Send))
                found.append((at, str(by), ", ".join(map(in_words, sends))))
    if not found:
        return None
    theirs = [] if each.asks else takewhile(lambda said: not said[1], found)
    unanswered = [at for at, *_ in theirs if at >= each.since]
    at, by, text = found[0]
    return NewestMessage(text, by, len(unanswered), unanswered[-1] if unanswered else at)


def waiting(console: Console) -> int:
    """How many conversations wait for a person, for the navigation; 0 if the store cannot be read now."""
    with suppress(StoreUnavailable):
        return console.reader.sessions.count_waiting()
    return 0


def inbox(console: Console, user: User) -> str:
    """The conversations that wait for a person, and those that a person has, the longest wait first."""
    found = console.reader.sessions.handed_over(MOST)
    teams = {*request.args.getlist("team")}
    shown = [each for each in found if not teams or each.team in teams]
    named = sorted({each.team for each in found if each.team is not None})
    mine = [("My teams", user.teams)] if user.teams else []
    filters = [("All teams", ()), *mine, *((each, (each,)) for each in named)]
    return render_template(
        "inbox.html",
        waiting=[each for each in shown if each.agent is None],
        taken=[each for each in shown if each.agent is not None],
        newest={each.contact: newest_message(console, each) for each in shown},
        left_out=console.reader.sessions.count_handed_over() - len(found),
        filters=[(title, of, teams == {*of}) for title, of in filters],
    )


def take(console: Console, user: User, who: str) -> Response:
    """Take a conversation over: from the bot, or from the person whom the form names."""
    contact, other = number_at(who), request.form.get("from", "")
    console.tried(TakeOver(contact, other or None, by=user.name))
    return redirect(address_of(contact))


def decide(console: Console, user: User, who: str) -> Response:
    """Agree to the call that the bot asks about, or refuse it, by the button of the form."""
    contact, agrees = number_at(who), request.form.get("agree") == "yes"
    kind = AgreeToCall if agrees else RefuseCall
    console.tried(kind(contact, request.form.get("question", ""), _text(), by=user.name))
    return redirect(address_of(contact))


def give_back(console: Console, user: User, who: str) -> Response:
    """Give the conversation back to the bot."""
    contact = number_at(who)
    console.tried(GiveBack(contact, by=user.name))
    return redirect(address_of(contact))


def answer(console: Console, user: User, who: str) -> Response:
    """Send the form's message, once if the form comes twice. A text that is refused stays in the form."""
    contact, login, message = number_at(who), current_login(), _message()
    upload = request.files.get("upload") if console.addresses is not None else None
    form = contact, request.form.get("after", ""), f"{message} {upload and upload.filename}"
    if login.is_new(form):
        if upload is not None and upload.filename:
            try:
                message["file"] = keep_sent_file(console, contact, upload)
            except (ActionRefused, StoreUnavailable) as error:
                say(str(error))
                login.forms.discard(form)
                return redirect(address_of(contact))
        if console.tried(AnswerContact(contact, **message, by=user.name)):
            login.drafts.pop(contact, None)
        else:
            login.forms.discard(form)
            login.drafts[contact] = message
    return redirect(address_of(contact))


def note(console: Console, user: User, who: str) -> Response:
    """Write something down about the conversation, once if the form comes twice."""
    contact, text = number_at(who), _text()
    if current_login().is_new((contact, request.form.get("after", ""), f"note {text}")):
        console.tried(NoteContact(contact, text=text, by=user.name))
    return redirect(address_of(contact))


def _text() -> str:
    return request.form.get("text", "").replace("\r\n", "\n").strip()


def _message() -> dict[str, Any]:
    if request.form.get("template", "").strip():
        return {"template": message_of(request.form)}
    return {"text": _text()} | ({"file": file} if (file := request.form.get("file", "").strip()) else {})


ROUTES = (
    Route("/inbox", inbox, VIEWER, title="Inbox"),
    Route("/contact/<who>/take", take, AGENT, posts=True),
    Route("/contact/<who>/answer", answer, AGENT, posts=True),
    Route("/contact/<who>/note", note, AGENT, posts=True),
    Route("/contact/<who>/decide", decide, AGENT, posts=True),
    Route("/contact/<who>/give-back", give_back, AGENT, posts=True),
)
