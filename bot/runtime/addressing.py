"""Whom an event concerns, where it does not say so itself (decisions: "Identity", "Hand-over")."""

from dataclasses import replace

from bot.core.events import ConversationAssigned, ConversationOpened, Event, HandoffClosed
from bot.runtime.batch import Batch


def addressed(batch: Batch, event: Event) -> Event | None:
    """The event with its contact; None where that cannot be known.

    An event of a conversation may name nothing but that; and a contact may write from another number than the one
    that the bot writes to.
    """
    if event.contact:
        contact = None if batch.knows(event.contact) else batch.contact_of_alias(event.contact)
    elif isinstance(event, ConversationOpened | ConversationAssigned | HandoffClosed):
        contact = None if event.conversation is None else batch.contact_in(event.conversation)
    else:
        return event
    if contact is None:
        return event if event.contact else None
    return replace(event, contact=contact)


def learn_alias(batch: Batch, alias: str, contact: str) -> None:
    """The gateway calls the contact by another number: its events are this contact's, unless that one is somebody."""
    if not batch.knows(alias):
        batch.commit.set_alias(alias, contact)
