"""The view of one contact: the phone, the turns with their inside, the values."""

from flask import abort, render_template, request

from bot.console.masking import masked_phone, masked_session, masked_turn
from bot.console.page_formats import contact_at, reads
from bot.console.recorded_phone import recorded_phone
from bot.console.routes import Console, Route, current_login
from bot.console.template_choice import chosen, template_list
from bot.console.users import AGENT, OPERATOR, VIEWER, User
from bot.core.session import Session
from bot.pages.contact_view import NEWEST_BUBBLES, NEWEST_TURNS, session_view, turns_of

MOST = 1000
"""How many turns and messages are shown where all are asked for."""


def contact(console: Console, user: User, who: str) -> str:
    """One contact."""
    number = contact_at(who)
    session = None if number is None else console.reader.session(number)
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
    can_answer = person.agent == user.name and user.may(AGENT) and not person.opted_out
    templates = template_list(console) if can_answer else None
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
        chosen=None if templates is None else chosen(templates, draft.get("template", {})),
    )


ROUTES = (Route("/contact/<who>", contact, VIEWER),)
