"""The view of one contact: the phone, the turns with their details, the values; and what an operator does with it."""

from itertools import count
from operator import itemgetter

from flask import Response, abort, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from bot.core.effects import Send
from bot.core.engine_requests import EraseContact, ResetContact
from bot.core.events import (
    ColleagueDecided,
    ConversationAssigned,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SignalReceived,
    StartRequested,
    Tapped,
)
from bot.core.messages import TextMessage
from bot.core.session import Session
from bot.core.text import digits
from bot.pages.console.masking import masked_number, masked_phone, masked_session, masked_turn
from bot.pages.console.page_formats import address_of, number_at, reads, unsealed
from bot.pages.console.routes import Console, Route, current_login, note_action, say
from bot.pages.console.template_choice import chosen, ready_replies, template_list
from bot.pages.console.uploads import ACCEPTED
from bot.pages.console.users import AGENT, OPERATOR, VIEWER, User
from bot.pages.shared.contact_view import (
    NEWEST_BUBBLES,
    NEWEST_TURNS,
    Bubble,
    PhoneView,
    ShownBubble,
    Unsent,
    session_view,
    turns_of,
)
from bot.store.contact_data import export_as_json
from bot.store.message_rows import MessageTo
from bot.store.rows import STATUSES
from bot.store.store_reader import StoreReader
from bot.store.trace_rows import TurnTraced
from bot.testing.simulation.turn_words import event_in_words, shown_message

MOST = 1000
"""The most turns and messages on a page that shows all."""


def contact(console: Console, user: User, who: str) -> str:
    """One contact."""
    number = unsealed(who)
    session = None if number is None else console.reader.sessions.get(number)
    if number is not None and session is None and console.reader.keeps(number):
        session = Session(number)
    if number is None or session is None:
        abort(404, "there is no such contact, or its address was of an earlier login: look for it among the contacts")
    everything = "all" in request.args
    turns = turns_of(console.reader, number, MOST if everything else NEWEST_TURNS)
    phone = recorded_phone(console.reader, session, MOST if everything else NEWEST_BUBBLES)
    now, person = console.clock.now(), session
    values = session_view(session, now)
    if not reads():
        turns, phone, values = [masked_turn(turn) for turn in turns], masked_phone(phone), masked_session(values)
        session = Session(number)
    draft = current_login().drafts.get(number, {})
    can_answer = person.agent == user.name and person.silent_until is None and user.may(AGENT) and not person.opted_out
    templates = template_list(console) if can_answer else None
    replies = ready_replies(console) if can_answer else {}
    return render_template(
        "contact.html",
        contact=number,
        name=session.name,
        turns=turns,
        all=everything or len(turns) < NEWEST_TURNS,
        phone=phone,
        session=values,
        person=person,
        now=now,
        newest=turns[0].id if turns else "",
        upkeep=user.may(OPERATOR),
        draft=draft,
        templates=templates,
        replies=replies,
        uploads=None if console.addresses is None else ACCEPTED,
        chosen=None if templates is None else chosen(templates, draft.get("template", {})),
    )


_BESIDES = (StartRequested, SignalReceived, ConversationAssigned, HandoffClosed, ColleagueDecided, ResetRequested)


def recorded_phone(reader: StoreReader, session: Session, limit: int) -> PhoneView:
    """The phone of a session's contact: the newest ``limit`` of what is recorded."""
    turns = reader.trace.turns(session.contact, limit)
    messages = reader.messages.to(session.contact, [turn.at for turn in turns])
    sends = [each for each in messages if isinstance(each.effect, Send)]
    numbers = count(1)
    order = {turn.event_id: place for place, turn in enumerate(turns)}
    people = {turn.event_id: str(turn.event.get("by", "")) for turn in turns if isinstance(turn.event, dict)}
    moments = {turn.event_id: turn.at for turn in turns}
    shown = [((turn.at, order[turn.event_id], 0), _came(turn, next(numbers))) for turn in turns]
    for each in (each for each in sends if each.status != "waiting"):
        of, _, ordinal = each.ref.rpartition("#")  # what a turn has sent follows it, and all else comes at its time
        place = moments.get(of, each.at), order.get(of, len(turns)), 1 + int(ordinal if ordinal.isdecimal() else 0)
        shown.append((place, _went(each, next(numbers), people.get(of, ""))))
    bubbles = [bubble for _, bubble in sorted(shown, key=itemgetter(0)) if bubble is not None]
    unsent = (
        Unsent("", shown_message(each.effect.message), each.status, each.detail, each.attempts, each.due_at)
        for each in sends
        if each.status == "waiting" and isinstance(each.effect, Send)
    )
    earlier = max(len(bubbles) - limit, int(len(turns) == limit))
    return PhoneView(tuple(bubbles[-limit:]), tuple(unsent), earlier, session.waits_for_effect)


def _came(turn: TurnTraced, number: int) -> ShownBubble | None:
    """The bubble of the event that began a turn; None if a phone does not show it."""
    match turn.event:
        case MessageReceived(kind=kind, text=text, media=media, location=place):
            where = "" if place is None else f"{place.latitude}, {place.longitude}"
            file = "" if media is None else media.url
            return ShownBubble(Bubble(number, turn.at, text=text or where, kind=kind, file=file))
        case Tapped(title=title):
            return ShownBubble(Bubble(number, turn.at, text=title, kind="choice"))
        case ConversationAssigned(answered=True, agent=agent, text=text):
            said = shown_message(TextMessage(text or "…"))
            return ShownBubble(Bubble(number, turn.at, said, by=f"{agent or 'An agent'}, at the gateway"), "sent")
        case {"do": "note", "by": by, "text": text}:
            return ShownBubble(Bubble(number, turn.at, text=str(text), kind="note", by=str(by)))
        case event if isinstance(event, _BESIDES):
            return ShownBubble(Bubble(number, turn.at, text=event_in_words(event), kind="event"))
    return None


def _went(sent: MessageTo, number: int, by: str) -> ShownBubble:
    """A message of the bot's or of a person, or the template that went instead."""
    effect = sent.effect
    assert isinstance(effect, Send)
    message = effect.instead if sent.replaced and effect.instead is not None else effect.message
    bubble = Bubble(number, sent.at, shown_message(message), by=by)
    return ShownBubble(bubble, sent.status if sent.status in STATUSES else "failed", sent.detail)


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
    console.act(EraseContact(contact))
    say(f"All data of {contact} is erased; events that wait in the log follow within moments.")
    return redirect(url_for("contacts"))


def reset_contact(console: Console, user: User, who: str) -> AnyResponse:
    """End the contact's flows: the next message begins anew."""
    contact = number_at(who)
    if console.tried(ResetContact(contact)):
        say("The conversation is ended: the next message begins a new one.")
    return redirect(address_of(contact))


ROUTES = (
    Route("/contact/<who>", contact, VIEWER),
    Route("/contact/<who>/export", export_contact, OPERATOR),
    Route("/contact/<who>/erase", ask_erase, OPERATOR),
    Route("/contact/<who>/erase", erase_contact, OPERATOR, posts=True),
    Route("/contact/<who>/reset", reset_contact, OPERATOR, posts=True),
)
