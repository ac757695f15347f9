"""The gateway's list of contacts: read page by page, once, for the contacts that no event has described (decisions:
"Contacts").

Each page is a row of the outbox, behind all replies. The contacts of each page are kept, because reading the list costs
an account with 100,000 contacts a thousand requests.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from bot.core.effects import ListContacts, PutContact
from bot.core.events import LISTED, ContactChanged
from bot.core.session import Session
from bot.runtime.batch import Batch
from bot.runtime.sending import SendResult
from bot.services.gateway.gateway_account import MOST_PAGES, ContactInfo, Page
from bot.store.rows import SYNC

READ_EVERY = timedelta(days=1)
"""How often the whole list is read at most."""

FEW_PAGES = 10
"""How many pages are read for a contact that the list did not have: all of a small list, the ends of a longer one."""

_UNREAD = (
    "nothing was sent: name and tags that the contact has at the gateway are not known, and would be overwritten "
    "(`bot queue retry` sends it all the same, without a name)"
)


def read_contacts(batch: Batch) -> None:
    """Describe the contacts of a batch that must be read: at once if they are known, else the list is read."""
    for event in batch.to_read:
        contact, id = event.contact, f"{LISTED}:{event.id}"
        known = _known(batch, contact)
        if known is not None and known.described:
            _describe(batch, replace(known, id=id, at=batch.now))
        elif known is not None and _was_read_today(batch):
            _give_up(batch, id, (contact,), _not_there(batch))
        else:
            batch.commit.contact_list.keep(contact, None)
    if not _is_being_read(batch) and (wanted := _wanted(batch)):
        began_by = batch.to_read[-1].id if batch.to_read else f"{min(wanted)}:{batch.now.isoformat()}"
        _read(batch, ListContacts(began_by))


def forget(batch: Batch, contact: str) -> None:
    """Forget what the gateway's list said about a contact: it is out of date."""
    if _known(batch, contact) is not None:
        batch.commit.contact_list.drop(contact)


def handle_page(batch: Batch, result: SendResult) -> None:
    """Note the contacts of a page, describe those that wait for it, and go on to the next page."""
    row, page = result.row, result.page
    assert isinstance(row.effect, ListContacts)
    batch.commit.messages.end(row, result.state if page else "given_up", (), result.attempts, result.detail, result.at)
    wanted = _wanted(batch)
    if page is None:
        _give_up(batch, row.ref, wanted, result.detail)
        return
    _note(batch, row.ref, page, wanted)
    is_last = not page.has_more and not row.effect.skips
    if is_last:
        batch.commit.contact_list.note_read()
        for contact in wanted:  # the gateway has nothing of them that could be overwritten
            _describe(batch, _event(batch, f"{row.ref}:{contact}", ContactInfo("", contact), contact))
    elif not _was_read_today(batch) or (wanted and row.effect.step < FEW_PAGES):
        _read_on(batch, row.effect, page, wanted)
    else:
        _give_up(batch, row.ref, wanted, _not_there(batch))
        for contact in wanted:
            batch.commit.contact_list.keep(contact, ContactChanged("", contact, batch.now, LISTED))


def _known(batch: Batch, contact: str) -> ContactChanged | None:
    """The contact as the gateway's list had it; not ``described`` if the list did not have it."""
    if contact in batch.commit.contact_list.listed or contact in batch.commit.contact_list.unlisted:
        return batch.commit.contact_list.listed.get(contact)
    return batch.store.contact_list.get(contact)


def _wanted(batch: Batch) -> set[str]:
    """The contacts that wait for the list."""
    wanted = {contact for contact, known in batch.commit.contact_list.listed.items() if known is None}
    return (
        wanted
        | {*batch.store.contact_list.wanted()}
        - batch.commit.contact_list.listed.keys()
        - batch.commit.contact_list.unlisted
    )


def _is_being_read(batch: Batch) -> bool:
    row = batch.store.contact_list.next_page()
    return (row is not None and row not in batch.commit.messages.ended) or any(
        isinstance(row.effect, ListContacts) for row in batch.commit.messages.added
    )


def _was_read_today(batch: Batch) -> bool:
    read_at = batch.store.contact_list.read_at()
    return read_at is not None and batch.now < read_at + READ_EVERY


def _not_there(batch: Batch) -> str:
    return f"the list did not have the contact, and is read again a day after {batch.store.contact_list.read_at():%Y-%m-%d %H:%M} UTC"


def _note(batch: Batch, ref: str, page: Page[ContactInfo], wanted: set[str]) -> None:
    """Describe the wanted contacts of a page, which then are not wanted any more; keep the others."""
    owners = batch.store.sessions.contacts_of_aliases(info.phone for info in page if info.phone not in wanted)
    for info in page:
        contact = owners.get(info.phone) or info.phone
        event = _event(batch, f"{ref}:{contact}", info, contact)
        if contact in wanted:
            wanted.remove(contact)
            _describe(batch, event)
        elif batch.store.shards.elsewhere(contact) is None:
            batch.commit.contact_list.keep(contact, event)


def _event(batch: Batch, id: str, info: ContactInfo, contact: str) -> ContactChanged:
    return ContactChanged(id, contact, batch.now, LISTED, info.name, info.email, info.tags, described=True)


def _describe(batch: Batch, event: ContactChanged) -> None:
    batch.commit.contact_list.drop(event.contact)
    batch.take(event)


def _read_on(batch: Batch, effect: ListContacts, page: Page[ContactInfo], wanted: set[str]) -> None:
    first = page.items[0].id if page.items else ""
    if effect.step >= MOST_PAGES or (first and first == effect.first and not effect.skips):
        _give_up(batch, f"{LISTED}:{effect.began_by}", wanted, "the list of contacts does not end")
    else:
        _read(
            batch,
            replace(effect, step=effect.step + 1, last=page.last if effect.step == 0 else effect.last, first=first),
        )


def _read(batch: Batch, effect: ListContacts) -> None:
    ref = f"{LISTED}:{effect.began_by}:{effect.step}"
    batch.commit.messages.add(batch.send_row(ref, effect, Session(""), SYNC))


def _give_up(batch: Batch, ref: str, wanted: Iterable[str], reason: str) -> None:
    """Note that the list does not describe these contacts: their changes for the gateway become dead letters."""
    for contact in wanted:
        batch.commit.contact_list.drop(contact)
        session = batch.session(contact)
        row = batch.send_row(f"{ref}:{contact}", PutContact(session.name, session.email, session.tags), session, SYNC)
        batch.commit.messages.give_up(row, "failed", f"{reason}: {_UNREAD}")
