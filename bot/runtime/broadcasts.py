"""Broadcasts: one template to many contacts, in the time that replies leave (decisions: "Sending").

They wait in the store and come to the outbox a few at a time, so that replies never stand behind them.
"""

from collections.abc import Callable, Set
from typing import Any

from bot.core.effects import Send, effect_ref
from bot.core.fitting import violations
from bot.core.messages import Template
from bot.runtime.batch import Batch, RequestRefused
from bot.store.rows import CAMPAIGN, OPTED_OUT, json_of

AHEAD = 100
"""How many messages of broadcasts are in the outbox at most."""

TakeBack = Callable[[Set[int]], Set[int]]
"""Keeps messages, by their ids, from those who send; returns those that nobody sends or may have sent."""


def add_recipients(batch: Batch, name: str, template: Template, recipients: list[Any]) -> dict[str, Any]:
    """Add recipients, ``{"contact", "body": [...]}`` each, to the broadcast of this name; make it with the first.

    Answers how many were added, how many it had already, and how many have opted out. Raises `RequestRefused`.
    """
    known = batch.commit.broadcasts.get(name) or batch.store.broadcast(name)
    if known is not None and known != template:
        raise RequestRefused(f'the broadcast "{name}" sends another template or language: choose another name')
    if name in batch.commit.stopped or batch.store.stopped_of(name):
        raise RequestRefused(f'the broadcast "{name}" was stopped: `bot broadcast --resume "{name}"` goes on with it')
    rows = [_read(recipient) for recipient in recipients]
    if known is None:
        batch.commit.add_broadcast(name, template)
    added = opted_out = 0
    for contact, body in rows:
        if (name, contact) in batch.commit.recipients or batch.store.is_recipient(name, contact):
            continue
        if OPTED_OUT in batch.session(contact).tags:
            opted_out += 1
            continue
        batch.commit.add_recipient(name, contact, body)
        added += 1
    return {"added": added, "known": len(rows) - added - opted_out, "opted_out": opted_out}


def stop(batch: Batch, name: str, event_id: str, take_back: TakeBack) -> dict[str, int]:
    """Take back all of a broadcast but what is being sent, or may have been: that ends as it ends.

    Answers how many contacts do not get it (``stopped``), and how many may still (``in_flight``). Twice is once.
    Raises `RequestRefused`.
    """
    _known(batch, name)
    in_outbox = {m.id: m for m in batch.store.broadcast_in_outbox(name) if m.id not in batch.commit.sends_ended}
    asked = json_of({"do": "stop", "name": name})
    back = take_back({message.id for message in in_outbox.values() if not message.claimed})
    for id in sorted(back):
        batch.commit.take_back(id)
        batch.commit.add_note(in_outbox[id].contact, event_id, asked, "broadcast", f"message {id} was taken back")
    just_added = sum(broadcast == name for broadcast, _ in batch.commit.recipients)
    stopped, in_flight = batch.store.waiting_of(name) + just_added + len(back), len(in_outbox) - len(back)
    batch.commit.stop_broadcast(name)
    batch.commit.add_note(None, event_id, asked, "operator", f"{stopped} stopped, {in_flight} in flight")
    return {"stopped": stopped, "in_flight": in_flight}


def resume(batch: Batch, name: str, event_id: str) -> dict[str, int]:
    """Go on with a broadcast that was stopped. Answers how many contacts wait for it again. Raises `RequestRefused`."""
    _known(batch, name)
    resumed = batch.store.stopped_of(name)
    batch.commit.resume_broadcast(name)
    batch.commit.add_note(None, event_id, json_of({"do": "resume", "name": name}), "operator", f"{resumed} wait again")
    return {"resumed": resumed}


def _known(batch: Batch, name: str) -> None:
    if name not in batch.commit.broadcasts and batch.store.broadcast(name) is None:
        raise RequestRefused(f'there is no broadcast "{name}" (`bot queue` lists those that are not done)')


def fill_outbox(batch: Batch) -> None:
    """Move recipients that wait into the outbox, as far as there is room for them."""
    room = AHEAD - batch.store.recipients_in_outbox()
    for recipient in batch.store.waiting_recipients(room):
        if recipient.broadcast in batch.commit.stopped:
            continue
        ref = effect_ref(f"broadcast:{recipient.broadcast}:{recipient.contact}", recipient.retries)
        row = batch.send_row(ref, Send(recipient.message), batch.session(recipient.contact), CAMPAIGN)
        batch.commit.add_campaign_send(recipient.id, row)
        asked = json_of({"do": "broadcast", "name": recipient.broadcast})
        batch.commit.add_note(recipient.contact, ref, asked, "broadcast", f"message {row.id}")


def read_template(fields: dict[str, Any]) -> Template:
    """The template of a request: ``name``, ``language``, ``header`` (a parameter), ``body`` (texts).

    Raises `RequestRefused`.
    """
    match fields:
        case {"name": str(name), "language": str(language)}:
            header, body = fields.get("header"), _texts(fields.get("body", []))
            if header is None or _is_parameter(header):
                template = Template(name, language, header, tuple({"type": "text", "text": text} for text in body))
                if broken := violations(template):
                    raise RequestRefused("; ".join(broken))
                return template
    raise RequestRefused("a template has a name, a language, and perhaps a header and texts for its body")


def _is_parameter(value: Any) -> bool:
    match value:
        case {"type": "text", "text": str()}:
            return True
        case {"type": str(kind)}:
            return isinstance(value.get(kind), dict)
    return False


def _read(recipient: Any) -> tuple[str, list[str]]:
    match recipient:
        case {"contact": str(contact)} if contact.isdecimal():
            return contact, _texts(recipient.get("body", []))
    raise RequestRefused("a recipient has a contact, in digits, and perhaps texts for the template's body")


def _texts(texts: Any) -> list[str]:
    if isinstance(texts, list) and all(isinstance(text, str) for text in texts):
        return texts
    raise RequestRefused("the body's parameters are a list of texts")
