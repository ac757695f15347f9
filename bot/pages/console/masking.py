"""Hides from viewers: numbers but for the last three digits, names, values, and texts of messages."""

from dataclasses import replace

from bot.core.contact_masks import mask_answers, mask_emails, mask_numbers
from bot.pages.shared.contact_view import (
    Bubble,
    DecidedEffect,
    OpenFlow,
    PhoneView,
    SessionView,
    ShownBubble,
    ShownTurn,
    TakenStep,
)
from bot.testing.simulation.phone import ListRow, ShownMessage
from bot.testing.simulation.turn_words import CONTACT_CHANGES, SEND_ENDS

HIDDEN = "•••"
_HAPPENED = (  # how the words of events begin, up to what may say more than that it happened
    *("wrote", "sent", "tapped", "the time came", "the call ended", "the call returned"),
    *(*SEND_ENDS.values(), *CONTACT_CHANGES.values(), "the model said", "a message was", "the broadcast"),
    *("an agent answered at the gateway", "the conversation was opened", "the conversation was assigned"),
    *("the conversation was resolved", "the conversation was given back", "a colleague agreed", "a colleague refused"),
    *("reset", "start", "signal"),
)
_SHOWN_FACTS = ("window", "language", "timezone", "agent")


def masked_number(contact: str) -> str:
    """``6281234567890`` -> ``•••890``"""
    return HIDDEN + contact[-3:]


def masked_words(words: str) -> str:
    """Words of the operator's or the bot's, without who they are about: ``sale: vip +62 812-3456-7890`` -> ``sale: vip
    •••890``
    """
    return mask_emails(mask_numbers(words, HIDDEN, 3), HIDDEN)


def masked_phone(phone: PhoneView) -> PhoneView:
    """A phone without its texts: only who wrote when, and how far the bot's messages have got."""
    bubbles = tuple(ShownBubble(_masked_bubble(shown.bubble), shown.status) for shown in phone.bubbles)
    unsent = tuple(replace(each, message=_masked_message(each.message), detail="") for each in phone.unsent)
    return replace(phone, bubbles=bubbles, unsent=unsent)


def _masked_bubble(bubble: Bubble) -> Bubble:
    message = None if bubble.message is None else _masked_message(bubble.message)
    text = _happened(bubble.text) if bubble.besides else HIDDEN
    return Bubble(bubble.number, bubble.at, message, text=text, kind=bubble.kind, by=masked_words(bubble.by))


def _masked_message(message: ShownMessage) -> ShownMessage:
    rows = tuple(ListRow(HIDDEN) for _ in message.rows)
    buttons = tuple(HIDDEN for _ in message.buttons)
    opens = None if message.opens is None else HIDDEN
    return ShownMessage(
        HIDDEN, buttons=buttons, rows=rows, opens=opens, template=message.template, language=message.language
    )


def masked_turn(turn: ShownTurn) -> ShownTurn:
    """A turn without its texts: only the kind of event, the rule that took it, and the steps."""
    steps = tuple(TakenStep(step.place, (), "", step.target) for step in turn.steps)
    effects = tuple(DecidedEffect(effect.words.partition(" ")[0], effect.status) for effect in turn.effects)
    rule = masked_words(mask_answers(turn.rule, HIDDEN))
    words = _happened(turn.words)
    return replace(turn, words=words, rule=rule, steps=steps, effects=effects, notes=(), problems=(), detail="")


def _happened(words: str) -> str:
    return next((known for known in _HAPPENED if words.startswith(known)), HIDDEN)


def masked_session(session: SessionView) -> SessionView:
    """A session without its values: only the contact's place, and which values there are."""
    flows = tuple(OpenFlow(flow.place, flow.since, flow.waits, _masked(flow.values)) for flow in session.flows)
    facts = tuple((name, masked_words(value) if name in _SHOWN_FACTS else HIDDEN) for name, value in session.facts)
    plans = tuple((what.partition(" (")[0], at) for what, at in session.plans)
    return SessionView(flows, _masked(session.kept), plans, facts)


def _masked(values: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    return tuple((name, HIDDEN) for name, _ in values)
