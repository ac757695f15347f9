"""The contacts in the engine's tables: the session of each, its numbers, and its entry in the gateway's list while the
contact waits for that or has not taken it yet.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import field
from datetime import datetime
from itertools import islice
from time import monotonic
from typing import Any

from bot.core import values
from bot.core.events import ContactChanged
from bot.core.immutable import immutable, mutable
from bot.core.lazy_patterns import lazy_pattern
from bot.core.messages import Message
from bot.core.session import Session, UnreadableSession, read_session
from bot.core.text import other_form
from bot.core.values import json_text, optional_storable, optional_time_text, read_time, storable, time_text
from bot.store.database import CommitRows, Database, Queries, Row, Rows
from bot.store.files import reads_rows
from bot.store.rows import LAST_ID, SEARCH_SECONDS, SEARCHED_AT_ONCE, DueRow

_LATEST = 2000  # sessions that are remembered
_LATEST_CHARACTERS = 4000  # of JSON; a longer session is not remembered
_NO_WAKE = ("~", "")  # behind every time
_AT_ONCE = 500  # sessions

WRITE_SESSION = """
    INSERT INTO sessions (contact, flow, step, visit, wake_at, last_inbound, conversation, opted_out, state, handed_over_at, updated_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (contact) DO UPDATE SET flow = excluded.flow, step = excluded.step, visit = excluded.visit,
        wake_at = excluded.wake_at, last_inbound = excluded.last_inbound,
        conversation = excluded.conversation, opted_out = excluded.opted_out, state = excluded.state,
        handed_over_at = excluded.handed_over_at, updated_at = excluded.updated_at
"""
UPDATE_SESSION = """
    UPDATE sessions SET flow = ?2, step = ?3, visit = ?4, wake_at = ?5, last_inbound = ?6, opted_out = ?7, state = ?8,
        handed_over_at = ?9, updated_at = ?10
    WHERE contact = ?1
"""
"""Updates a session whose conversation is the same. SQLite would write the index of each named column anew."""
_KEEP_LISTED = """
    INSERT INTO listed_contacts (contact, state) VALUES (?, ?) ON CONFLICT (contact) DO UPDATE SET state = excluded.state
"""
_DROP_LISTED = "DELETE FROM listed_contacts WHERE contact = ?"
_NOTE_READ = "UPDATE meta SET listed_at = ?"
ADD_ALIAS = """
    INSERT INTO aliases (alias, contact) VALUES (?, ?) ON CONFLICT (alias) DO UPDATE SET contact = excluded.contact
"""
STATEMENTS = (WRITE_SESSION, UPDATE_SESSION, ADD_ALIAS, _KEEP_LISTED, _DROP_LISTED, _NOTE_READ)
"""The statements of a commit, in order."""

_STATE = "SELECT state FROM sessions WHERE contact = ?"
_KNOWN = """
    SELECT (SELECT state FROM sessions WHERE contact = value), (SELECT contact FROM aliases WHERE alias = value)
    FROM json_each(?)
"""
_CONTACT_IN_CONVERSATION = "SELECT contact FROM sessions WHERE conversation = ? ORDER BY updated_at DESC LIMIT 1"
_DUE = "SELECT contact, wake_at FROM sessions WHERE wake_at <= ? ORDER BY wake_at LIMIT ?"
_NEXT_WAKE = "SELECT wake_at, contact FROM sessions WHERE wake_at IS NOT NULL ORDER BY wake_at LIMIT 1"
_OPTED_OUT = "SELECT opted_out FROM sessions WHERE contact = ?"
_LAST_INBOUND = "SELECT last_inbound FROM sessions WHERE contact = ?"
SESSION_SUMMARIES = """
    SELECT contact, flow, step, wake_at, updated_at, opted_out FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?
"""
HANDED_OVER = (
    "SELECT handed_over_at, state FROM sessions WHERE handed_over_at IS NOT NULL ORDER BY handed_over_at LIMIT ?"
)
_COUNT_HANDED_OVER = "SELECT count(*) FROM sessions WHERE handed_over_at IS NOT NULL"
_COUNT_WAITING = """
    SELECT count(*) FROM sessions WHERE handed_over_at IS NOT NULL AND state ->> '$."$Session".agent' IS NULL
"""
_LATE = """SELECT state FROM sessions WHERE instr(state, '"late_messages":') > 0 ORDER BY contact LIMIT ?"""
_COUNT_LATE = """SELECT count(*) FROM sessions WHERE instr(state, '"late_messages":') > 0"""
ALL_SESSION_STATES = "SELECT contact, state FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?"
_WAITING_AT = "SELECT flow, step, count(*) FROM sessions WHERE flow IS NOT NULL GROUP BY flow, step"
_OF_ALIASES = "SELECT (SELECT contact FROM aliases WHERE alias = value) FROM json_each(?)"
_LISTED = "SELECT state FROM listed_contacts WHERE contact = ?"
_WANTED = "SELECT contact FROM listed_contacts WHERE state IS NULL ORDER BY contact"
_READ_AT = "SELECT listed_at FROM meta"
_NEXT_PAGE = "SELECT id FROM outbox WHERE contact = ''"
_FITS = """
    (?1 = '' OR instr(sessions.contact, ?1) > 0 OR instr(lower(state ->> '$."$Session".name'), ?2) > 0)
        AND (?3 = '' OR flow = ?3) AND (?4 = '' OR step = ?4)
        AND CASE ?5
            WHEN 'in a flow' THEN flow IS NOT NULL
            WHEN 'in no flow' THEN flow IS NULL
            WHEN 'with a person' THEN state ->> '$."$Session".agent' IS NOT NULL
            WHEN 'opted out' THEN opted_out <> 0
            ELSE 1 = 1 END
"""
_FOUND = """
    sessions.contact, flow, step, sessions.wake_at, updated_at, opted_out, state ->> '$."$Session".name', state ->> '$."$Session".agent'
"""
_BY_TURN = f"""
    SELECT 't' || turns.id, {_FOUND} FROM turns CROSS JOIN sessions
    WHERE sessions.contact = turns.contact AND turns.id < ?6 AND turns.id >= ?8 AND turns.at = updated_at
        AND NOT EXISTS (
            SELECT 1 FROM turns AS later WHERE later.contact = turns.contact AND later.id > turns.id AND later.at = turns.at
        )
        AND {_FITS}
    ORDER BY turns.id DESC LIMIT ?7
"""
_WITHOUT_TURN = f"""
    SELECT 's' || sessions.contact, {_FOUND} FROM sessions
    WHERE sessions.contact > ?6 AND sessions.contact <= ?8 AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.contact = sessions.contact AND at = updated_at) AND {_FITS}
    ORDER BY sessions.contact LIMIT ?7
"""
_TURN_IDS = "SELECT (SELECT min(id) FROM turns), (SELECT max(id) FROM turns)"
_LAST_OF_NEXT = (
    "SELECT max(contact) FROM (SELECT contact FROM sessions WHERE contact > ? ORDER BY contact LIMIT ?) AS next"
)
_PLACE = lazy_pattern(r"t-?\d{1,18}|s\d{0,18}")
CONTACT_STATES = ("in a flow", "in no flow", "with a person", "opted out")
"""The states by which contacts can be searched, besides the flow and step where they are."""


@immutable
class SessionSummary:
    """Where a contact is. ``flow`` and ``step`` are None outside of flows."""

    contact: str
    flow: str | None
    step: str | None
    wake_at: datetime | None
    updated_at: datetime
    opted_out: bool


@immutable
class HandedOver:
    """A conversation that an agent has, or that waits for one. ``agent`` took it at ``taken_at``; None if nobody did.

    ``since`` is when the flow handed it over, or else when it was taken. ``flow`` and ``step`` are None outside of
    flows, ``team`` and ``note`` are those of a ``handoff`` step. ``silent_until`` is set if the agent has only answered
    at the gateway: the bot goes on at that time. ``asks``: the bot has the conversation, and asks the ``team`` the
    ``note``, since that time.
    """

    contact: str
    name: str | None
    flow: str | None
    step: str | None
    team: str | None
    note: str | None
    since: datetime
    agent: str | None
    taken_at: datetime | None
    last_inbound: datetime | None
    opted_out: bool
    silent_until: datetime | None = None
    asks: bool = False


@immutable
class ContactSearch:
    """A search for contacts: part of a number or name, flow and step, one of `CONTACT_STATES`. Empty texts fit all."""

    find: str = ""
    flow: str = ""
    step: str = ""
    state: str = ""

    @property
    def number(self) -> str:
        """The digits of the number that is searched for, however it was written; empty if the search is for a name."""
        return "".join(filter(str.isdecimal, self.find)) if self.find.strip("+0123456789 ()-/") == "" else ""


@immutable
class FoundContact(SessionSummary):
    """A contact that fits a search. ``agent`` has taken the conversation over; the next page begins after ``place``."""

    name: str | None
    agent: str | None
    place: str


class SessionRows(Queries):
    """The queries about sessions that the engine and read-only processes share."""

    def get(self, contact: str) -> Session | None:
        """A contact's session with all its variables, if there is one. Raises `bot.core.session.UnreadableSession`."""
        row = self.database.one(_STATE, storable(contact))
        return None if row is None else read_session(row[0])

    def known_as(self, number: str) -> str:
        """The number by which the store knows a contact, found by this number, an alias or another form of it.

        Returns the given number if the store does not know it.
        """
        other = other_form(number)
        for found in (number, self.contacts_of_aliases((number,))[number], other):
            if found is not None and self.database.one(_STATE, storable(found)) is not None:
                return found
        return number

    def contacts_of_aliases(self, aliases: Iterable[str]) -> dict[str, str | None]:
        """For each of these numbers the contact who writes from it but gets messages at another number; else None."""
        aliases = [*aliases]
        rows = self.database.all(_OF_ALIASES, json_text([*map(storable, aliases)]))
        return {alias: contact for alias, (contact,) in zip(aliases, rows, strict=True)}

    def opted_out(self, contact: str) -> bool:
        """True if a contact has opted out, also if its session cannot be read."""
        row = self.database.one(_OPTED_OUT, storable(contact))
        return row is not None and bool(row[0])


class StoredSessions(SessionRows):
    """The sessions as the engine reads them. It remembers the newest, and the earliest wake-up time."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.latest: dict[str, Session] = {}  # nobody changes a session that was written: it need not be read
        self._first_wake: tuple[str, str] | None = None  # the earliest wake-up time, and its contact; None: not known

    def known(self, numbers: Collection[str]) -> tuple[dict[str, str | None], dict[str, str | None]]:
        """For each number the stored text of its session, for `bot.core.session.read_session`, and the contact who
        writes from it (`contacts_of_aliases`); else None. It is one query, with a row for each number in their order.
        """
        rows = self.database.all(_KNOWN, json_text([*map(storable, numbers)]))
        states, contacts = dict[str, str | None](), dict[str, str | None]()
        for number, (state, contact) in zip(numbers, rows, strict=True):
            states[number], contacts[number] = state, contact
        return states, contacts

    def knows(self, contact: str) -> bool:
        """True if a contact has a session."""
        return self.database.one(_STATE, storable(contact)) is not None

    def contact_in(self, conversation: str) -> str | None:
        """The contact of one of the gateway's conversations, if a session has its id."""
        row = self.database.one(_CONTACT_IN_CONVERSATION, storable(conversation))
        return None if row is None else row[0]

    def due(self, now: datetime, limit: int) -> list[DueRow]:
        """The sessions with something due, the oldest first."""
        first = self.next_wake()
        return [] if first is None or first > now else self._read_due(now, limit)

    @reads_rows
    def _read_due(self, now: datetime, limit: int) -> list[DueRow]:
        return [
            DueRow(contact, datetime.fromisoformat(wake_at))
            for contact, wake_at in self.database.all(_DUE, time_text(now), limit)
        ]

    def next_wake(self) -> datetime | None:
        """When something of a session is due next."""
        if self._first_wake is None:
            return self._read_next_wake()
        return None if self._first_wake is _NO_WAKE else datetime.fromisoformat(self._first_wake[0])

    @reads_rows
    def _read_next_wake(self) -> datetime | None:
        first = self.database.one(_NEXT_WAKE)
        at = None if first is None else datetime.fromisoformat(first[0])
        self._first_wake = first or _NO_WAKE
        return at

    def committed(self, changes: "SessionChanges") -> None:
        """Remember the sessions of a commit, so that reading them needs no query; the next wake-up time mostly needs
        none either.
        """
        for session, row in changes.written.values():
            contact, wake_at, state = row[0], row[4], row[8]
            self.latest.pop(session.contact, None)
            if len(state) <= _LATEST_CHARACTERS:
                self.latest[session.contact] = session
            if self._first_wake is not None:
                if wake_at is not None and wake_at <= self._first_wake[0]:
                    self._first_wake = wake_at, contact
                elif contact == self._first_wake[1]:
                    self._first_wake = None
        for contact in list(islice(self.latest, max(0, len(self.latest) - _LATEST))):
            del self.latest[contact]

    def forget(self) -> None:
        """Forget all, because rows were changed otherwise than by a commit."""
        self.latest.clear()
        self._first_wake = None


@mutable
class SessionChanges:
    """The sessions that a commit writes, ``written``, by contact, each with its row."""

    _rows: CommitRows
    written: dict[str, tuple[Session, Row]] = field(default_factory=dict)

    def set(self, session: Session, wake_at: datetime | None) -> None:
        """Write a session that was not made by a turn."""
        self.written[session.contact] = session, (*session_row(session, wake_at), self._rows.at)

    def wakes_at(self, contact: str, wake_at: datetime) -> bool:
        """True unless this commit writes the contact's session with another time at which it is woken."""
        written = self.written.get(contact)
        return written is None or written[1][4] == time_text(wake_at)

    def rows(self, latest: Mapping[str, Session]) -> Rows:
        """The rows to write. ``latest`` are sessions in the store."""
        known, new = list[Row](), list[Row]()
        for contact, (session, row) in self.written.items():
            stored = latest.get(contact)
            if stored is None or stored.conversation != session.conversation:
                new.append(row)
            else:
                known.append((*row[:6], *row[7:]))
        return {WRITE_SESSION: new, UPDATE_SESSION: known}


def session_row(session: Session, wake_at: datetime | None) -> tuple[Any, ...]:
    """The row of a session, except the time at which it is written. Raises `bot.core.values.UnstorableValue`."""
    frame = session.frame
    return (
        storable(session.contact),
        storable(frame.flow) if frame else None,
        storable(frame.step) if frame else None,
        frame.visit if frame else session.visit,
        optional_time_text(wake_at),
        optional_time_text(session.last_inbound),
        optional_storable(session.conversation),
        int(session.opted_out),
        json_text(session),
        optional_time_text(session.handed_over_at),
    )


class SessionReader(SessionRows):
    """The sessions as commands and pages read them."""

    @reads_rows
    def summaries(self, after: str = "", limit: int = 100) -> list[SessionSummary]:
        """The sessions of the contacts behind ``after``, in the order of contacts."""
        return [
            SessionSummary(contact, flow, step, read_time(wake_at), datetime.fromisoformat(updated_at), bool(opted_out))
            for contact, flow, step, wake_at, updated_at, opted_out in self.database.all(
                SESSION_SUMMARIES, after, limit
            )
        ]

    def all(self) -> Iterator[Session | None]:
        """Every session, by contact; None for one that this version cannot read. It reads in short pieces."""
        rows = self.database.all(ALL_SESSION_STATES, "", _AT_ONCE)
        while rows:
            for _, state in rows:
                try:
                    yield read_session(state)
                except UnreadableSession:
                    yield None
            rows = self.database.all(ALL_SESSION_STATES, rows[-1][0], _AT_ONCE)

    @reads_rows
    def handed_over(self, limit: int = 1000) -> list[HandedOver]:
        """The conversations that persons have, are to take, or are to decide on, the oldest first."""
        found = []
        for since, state in self.database.all(HANDED_OVER, limit):
            with suppress(UnreadableSession):  # of another version: the conversation starts anew
                found.append(_handed_over(datetime.fromisoformat(since), read_session(state)))
        return found

    def count_handed_over(self) -> int:
        """How many conversations persons have, are to take, or are to decide on."""
        return int(self.database.one(_COUNT_HANDED_OVER)[0])

    def count_waiting(self) -> int:
        """How many conversations persons are to take, or to decide on."""
        return int(self.database.one(_COUNT_WAITING)[0])

    @reads_rows
    def late_messages(self, limit: int) -> dict[str, tuple[Message, ...]]:
        """The messages that wait until their contacts write, of so many contacts at most, by contact."""
        found = {}
        for (state,) in self.database.all(_LATE, limit):
            with suppress(UnreadableSession):
                session = read_session(state)
                found[session.contact] = session.late_messages
        return {contact: messages for contact, messages in found.items() if messages}

    def count_late(self) -> int:
        """How many contacts have messages that wait until the contact writes."""
        return int(self.database.one(_COUNT_LATE)[0])

    @reads_rows
    def find(
        self, search: ContactSearch, limit: int, after: str = "", *, by_number: bool = True
    ) -> tuple[list[FoundContact], str]:
        """The contacts that fit a search: those with the newest turn first, then, by number, those whose last turn is
        not kept any more. Without ``by_number`` the latter are left out, because their order would reveal their
        numbers.

        Also returns the place from which to continue, which is empty if the search is complete: it ends early after
        ``limit`` contacts or `SEARCH_SECONDS`. ``after`` is such a place, or that of a contact.
        """
        found = search.number or search.find, search.find.lower(), search.flow, search.step, search.state
        asked = [*map(storable, found)]
        rows: list[Any] = []
        place, until = after if _PLACE.fullmatch(after) else f"t{LAST_ID}", monotonic() + SEARCH_SECONDS
        while place and len(rows) < limit:
            more, place = self._next_contacts(asked, limit - len(rows), place)
            rows += more
            if place[:1] == "s" and not by_number:
                place = ""
            if monotonic() >= until:
                break
        contacts = [
            FoundContact(
                contact,
                flow,
                step,
                read_time(wake_at),
                datetime.fromisoformat(updated_at),
                bool(opted_out),
                name,
                agent,
                at,
            )
            for at, contact, flow, step, wake_at, updated_at, opted_out, name, agent in rows
        ]
        return contacts, contacts[-1].place if len(contacts) == limit else place

    def _next_contacts(self, asked: list[str], limit: int, place: str) -> tuple[list[Any], str]:
        """The rows of contacts among those behind a place, as many as are read at once, and the place behind these."""
        if place[0] == "s":
            (last,) = self.database.one(_LAST_OF_NEXT, place[1:], SEARCHED_AT_ONCE)
            return (self.database.all(_WITHOUT_TURN, *asked, place[1:], limit, last), f"s{last}") if last else ([], "")
        first, last = self.database.one(_TURN_IDS)
        end = 0 if last is None else min(int(place[1:]), last + 1)
        if last is None or end <= first:
            return [], "s"
        begin = end - SEARCHED_AT_ONCE
        return self.database.all(_BY_TURN, *asked, end, limit, begin), f"t{begin}"

    @reads_rows
    def last_inbound(self, contact: str) -> datetime | None:
        """The time of the contact's newest message or tap, by the event itself: the window begins with it."""
        row = self.database.one(_LAST_INBOUND, storable(contact))
        return None if row is None else read_time(row[0])

    def waiting_at(self) -> dict[tuple[str, str], int]:
        """How many contacts are at each step now, by flow and step."""
        return {(flow, step): count for flow, step, count in self.database.all(_WAITING_AT)}


def _handed_over(since: datetime, session: Session) -> HandedOver:
    frame, hand_over, question = session.frame, session.hand_over, session.team_question
    team, note = (None, None) if question is None else (question.team, question.text)
    return HandedOver(
        contact=session.contact,
        name=session.name,
        flow=None if frame is None else frame.flow,
        step=None if frame is None else frame.step,
        team=team if hand_over is None else hand_over.team,
        note=note if hand_over is None else hand_over.note,
        since=since,
        agent=session.agent,
        taken_at=session.taken_at,
        last_inbound=session.last_inbound,
        opted_out=session.opted_out,
        silent_until=session.silent_until,
        asks=hand_over is None and question is not None,
    )


class StoredContactList(Queries):
    """The list as the engine reads it."""

    @reads_rows
    def get(self, contact: str) -> ContactChanged | None:
        """The contact's data from the gateway's list; None if it is not known, or the contact waits for the list."""
        row = self.database.one(_LISTED, storable(contact))
        event: ContactChanged | None = None if row is None or row[0] is None else values.loads(row[0])
        return event

    def wanted(self) -> list[str]:
        """The contacts that wait for the gateway's list."""
        return [contact for (contact,) in self.database.all(_WANTED)]

    def read_at(self) -> datetime | None:
        """When the gateway's list was last read to its end."""
        return read_time(self.database.one(_READ_AT)[0])

    def next_page(self) -> int | None:
        """The id of the message that reads the next page of the list, if that is in the outbox."""
        row = self.database.one(_NEXT_PAGE)
        return None if row is None else int(row[0])


@mutable
class ContactListChanges:
    """The changes of a commit to the list.

    ``listed`` are contacts as the gateway's list has them; None: they wait for it. ``unlisted`` are contacts whose data
    from the list is out of date, or is part of their session by now.
    """

    _rows: CommitRows
    listed: dict[str, ContactChanged | None] = field(default_factory=dict)
    unlisted: set[str] = field(default_factory=set)

    def keep(self, contact: str, event: ContactChanged | None) -> None:
        """Keep a contact's entry in the list. None: the contact waits for the list to be read."""
        self.listed[contact] = event
        self.unlisted.discard(contact)

    def drop(self, contact: str) -> None:
        """Stop waiting for the list for a contact, and delete what it had of the contact."""
        self.listed.pop(contact, None)
        self.unlisted.add(contact)

    def note_read(self) -> None:
        """Note that the list has been read to its end."""
        self._rows[_NOTE_READ].append((self._rows.at,))

    def rows(self) -> Rows:
        """The rows to write."""
        return {
            _KEEP_LISTED: [
                (storable(contact), None if event is None else json_text(event))
                for contact, event in self.listed.items()
            ],
            _DROP_LISTED: [(storable(contact),) for contact in self.unlisted],
        }
