"""A contact's phone as the store has it recorded: what the contact wrote, what happened besides, and what the bot sent."""

from itertools import count
from operator import itemgetter

from bot.core.effects import Send
from bot.core.events import (
    ConversationAssigned,
    HandoffClosed,
    MessageReceived,
    ResetRequested,
    SignalReceived,
    StartRequested,
    Tapped,
)
from bot.core.session import Session
from bot.gateway.gateway_client import content, type_of
from bot.pages.contact_view import Bubble, PhoneView, ShownBubble, Unsent, text_of
from bot.simulation.phone import message_from_request
from bot.simulation.turn_words import event_in_words
from bot.store.rows import STATUSES
from bot.store.store_reader import MessageTo, StoreReader
from bot.store.trace_rows import TurnTraced

_BESIDES = (StartRequested, SignalReceived, ConversationAssigned, HandoffClosed, ResetRequested)


def recorded_phone(reader: StoreReader, session: Session, limit: int) -> PhoneView:
    """The phone of a session's contact: the newest ``limit`` of what is recorded."""
    turns = reader.trace(session.contact, limit)
    messages = reader.messages_to(session.contact, [turn.at for turn in turns])
    sends = [each for each in messages if isinstance(each.effect, Send)]
    numbers = count(1)
    order = {turn.event_id: place for place, turn in enumerate(turns)}
    people = {turn.event_id: str(turn.event.get("by", "")) for turn in turns if isinstance(turn.event, dict)}
    moments = {turn.event_id: turn.at for turn in turns}
    shown = [((turn.at, order[turn.event_id], 0), _came(turn, next(numbers))) for turn in turns]
    for each in (each for each in sends if each.status != "waiting"):
        of = each.ref.rpartition("#")[0]  # what a turn has sent follows it, and all else comes at its time
        shown.append(
            ((moments.get(of, each.at), order.get(of, len(turns)), 1), _went(each, next(numbers), people.get(of, "")))
        )
    bubbles = [bubble for _, bubble in sorted(shown, key=itemgetter(0)) if bubble is not None]
    unsent = (each for each in sends if each.status == "waiting")
    return PhoneView(
        tuple(bubbles[-limit:]),
        tuple(
            Unsent("", text_of(each.effect), each.status, each.detail, each.attempts, each.due_at) for each in unsent
        ),
        max(len(bubbles) - limit, int(len(turns) == limit)),
        session.waits_for_effect,
    )


def _came(turn: TurnTraced, number: int) -> ShownBubble | None:
    """What the contact did, or what happened besides; None for what is not seen at a phone."""
    match turn.event:
        case MessageReceived(kind=kind, text=text, media=media, location=place):
            where = "" if place is None else f"{place.latitude}, {place.longitude}"
            file = "" if media is None else media.url
            return ShownBubble(Bubble(number, turn.at, text=text or where, kind=kind, file=file))
        case Tapped(title=title):
            return ShownBubble(Bubble(number, turn.at, text=title, kind="choice"))
        case event if isinstance(event, _BESIDES):
            return ShownBubble(Bubble(number, turn.at, text=event_in_words(event), kind="event"))
    return None


def _went(sent: MessageTo, number: int, by: str) -> ShownBubble:
    """A message of the bot's or of a person, or the template that went instead."""
    effect = sent.effect
    assert isinstance(effect, Send)
    message = effect.instead if sent.replaced and effect.instead is not None else effect.message
    kind = type_of(message)
    bubble = Bubble(number, sent.at, message_from_request(kind, {kind: content(message)}), by=by)
    return ShownBubble(bubble, sent.status if sent.status in STATUSES else "failed", sent.detail)
