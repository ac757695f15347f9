"""Reads a store for commands and for the web process, also while a server runs; it never writes."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from time import monotonic
from typing import Any

from bot.core import values
from bot.core.effects import Effect
from bot.core.immutable import immutable
from bot.core.session import Session, UnreadableSession, read_session
from bot.core.turn import Conversation
from bot.core.values import read_time, storable, time_text
from bot.store import broadcast_rows, engine_tables, trace_rows
from bot.store.contact_data import ERASING
from bot.store.database import Database, StoreAddress, engine_schema, shard_number, shards_of
from bot.store.engine_tables import ResultCount, UsageSum
from bot.store.files import reads_rows
from bot.store.opening import engine_reader
from bot.store.rows import LAST_ID, STATUSES, MessageStatus
from bot.store.trace_rows import GATEWAY_COMMAND, OPERATOR, TurnTraced

_AT_ONCE = 500  # sessions
_FEW_MESSAGES = 5000  # they are looked through
_EVER = datetime.min.replace(tzinfo=UTC)
_SENT_AGAIN = ("send", engine_tables.EVENT_OUT)
_ADVICE = {  # by how the store's text of an event begins
    '{"$StartRequested"': "correct the flow or the program that requested it, and start it again (`bot start`)",
    '{"$SignalReceived"': "correct the program or the step that sent it, and send it again (`bot signal`)",
}
_TURN_ADVICE = "correct the flow or the handler, then see the contact with `bot trace`"
_LAST_REPLACED = "SELECT max(at) FROM sent WHERE contact = ? AND outcome = 'replaced'"
_IN_OUTBOX = "SELECT 1 FROM outbox WHERE id = ?"
_SENT = "SELECT outcome, detail FROM sent WHERE id = ?"
_GIVEN_UP = "SELECT body ->> 'outcome', reason FROM dead_letters WHERE send_id = ? ORDER BY id DESC LIMIT 1"
_PENDING = "SELECT id, contact, effect, created_at, attempts, due_at, detail, key FROM outbox ORDER BY id LIMIT ?"
_EVENTS = "SELECT id, contact, effect, created_at, attempts, coalesce(due_at, created_at), detail, key FROM events_out ORDER BY id LIMIT ?"
_LETTER_FITS = """
    (?1 = '' OR contact = ?1) AND (?2 = '' OR what = ?2) AND (?3 = '' OR instr(lower(reason), lower(?3)) > 0)
        AND (CAST(?4 AS TEXT) IS NULL OR at >= ?4) AND (CAST(?5 AS TEXT) IS NULL OR at < ?5)
        AND (?6 = '' OR instr(' ' || reason || ':', ' ' || ?6 || ':') > 0)
        AND (?7 = '' OR EXISTS (SELECT 1 FROM recipients WHERE recipients.send_id = dead_letters.send_id AND broadcast = ?7))
        AND (?8 = 0 OR what IN ('send', 'event_out')) AND id >= ?9 AND id < ?10
"""
_DEAD = f"SELECT id, what, contact, reason, body, at FROM dead_letters WHERE {_LETTER_FITS} ORDER BY id DESC LIMIT ?11"
_LETTERS = f"SELECT id FROM dead_letters WHERE {_LETTER_FITS} ORDER BY id DESC"
_COUNT_LETTERS = f"SELECT count(*) FROM dead_letters WHERE {_LETTER_FITS}"
_LETTER_IDS = "SELECT (SELECT min(id) FROM dead_letters), (SELECT max(id) FROM dead_letters)"
MOST_COUNTED = 10_000
_STATUSES = """
    SELECT ref, message_id, status, statuses.detail FROM {0}sent AS sent, json_each(sent.message_ids) JOIN {0}statuses AS statuses ON message_id = value
    WHERE sent.contact = ?
"""
_STATUSES_AMONG = """
    SELECT ref, status, statuses.detail FROM {0}messages AS messages, json_each(message_ids) AS named JOIN {0}statuses AS statuses ON message_id = named.value
    WHERE messages.contact = ? AND messages.id BETWEEN ? AND ?
"""
_MESSAGES = """
    SELECT messages.id, ref, effect, created_at, attempts, due_at, coalesce(outcome, 'waiting'), messages.detail,
        status, statuses.detail
    FROM {0}messages AS messages LEFT JOIN json_each(message_ids) AS named ON 1 = 1 LEFT JOIN {0}statuses AS statuses ON message_id = named.value
"""
_MESSAGES_AMONG = f"{_MESSAGES} WHERE messages.contact = ? AND messages.id BETWEEN ? AND ?"
_MESSAGES_THAT_WAIT = f"{_MESSAGES} WHERE messages.id IN (SELECT id FROM {{0}}outbox WHERE contact = ?)"
_GIVEN_UP_TO = """
    SELECT send_id, body, at, reason FROM dead_letters WHERE what = 'send' AND contact = ? AND at >= ? ORDER BY id
"""
_MESSAGES_BETWEEN = "SELECT (SELECT min(id) FROM {0}messages), (SELECT max(id) FROM {0}messages)"
_MESSAGE_MADE = "SELECT created_at FROM {0}messages WHERE id >= ? ORDER BY id LIMIT 1"
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
SEARCH_SECONDS, _SEARCHED_AT_ONCE = 3.0, 10_000  # rows, after which others may read
_PLACE = re.compile(r"t-?\d{1,18}|s\d{0,18}")
_IS_KEPT = """
    SELECT EXISTS (SELECT 1 FROM sessions WHERE contact = ?1) OR EXISTS (SELECT 1 FROM turns WHERE contact = ?1)
        OR EXISTS (SELECT 1 FROM recipients WHERE contact = ?1) OR EXISTS (SELECT 1 FROM dead_letters WHERE contact = ?1)
        OR EXISTS (SELECT 1 FROM messages WHERE contact = ?1)
"""
CONTACT_STATES = ("in a flow", "in no flow", "with a person", "opted out")
"""The states by which contacts can be searched, besides the flow and step where they are."""
_CURSOR = "SELECT cursor FROM meta"
_CLEAN = "SELECT clean FROM meta"
_WRITTEN_AT = "SELECT written_at FROM meta"
_A_DAY = timedelta(days=1)  # the gateway's limits count no longer time
_REQUESTS = f"""
    SELECT max(at), sum(attempts) FROM (
        SELECT at, attempts FROM sent WHERE at > ?1
        UNION ALL SELECT CASE WHEN due_at < ?2 THEN due_at ELSE ?2 END, attempts FROM outbox WHERE attempts > 0
        UNION ALL SELECT at, CAST(body ->> 'attempts' AS BIGINT) FROM dead_letters WHERE what = 'send' AND at > ?1
        UNION ALL SELECT at, 1 FROM turns WHERE contact IS NULL AND rule = '{GATEWAY_COMMAND}' AND at > ?1
        UNION ALL SELECT at, CAST(event ->> 'attempts' AS BIGINT) FROM turns WHERE rule = '{OPERATOR}' AND at > ?1
    ) AS made GROUP BY substr(at, 1, 19) HAVING sum(attempts) > 0 ORDER BY 1
"""
_REQUESTS_FOR = """
    SELECT max(at), contact, sum(attempts) FROM (
        SELECT at, contact, attempts FROM sent WHERE at > ?1 AND attempts > 0
        UNION ALL SELECT CASE WHEN due_at < ?2 THEN due_at ELSE ?2 END, contact, attempts FROM outbox WHERE attempts > 0
        UNION ALL SELECT at, contact, CAST(body ->> 'attempts' AS BIGINT) FROM dead_letters WHERE what = 'send' AND at > ?1
    ) AS made GROUP BY contact, substr(at, 1, 15) HAVING sum(attempts) > 0
"""


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
    """A conversation that a person has, or that waits for one. ``agent`` has taken it, at ``taken_at``; None: nobody.

    ``since`` is when the flow handed it over, or else when it was taken. ``flow`` and ``step`` are None outside of
    flows, ``team`` and ``note`` are those of a ``handoff`` step.
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


@immutable
class ContactSearch:
    """A search for contacts: part of a number or name, flow and step, one of `CONTACT_STATES`. Empty texts fit all."""

    find: str = ""
    flow: str = ""
    step: str = ""
    state: str = ""

    @property
    def number(self) -> str:
        """The digits that are looked for, of a number however it is written; an empty text where it is a name."""
        return "".join(filter(str.isdecimal, self.find)) if self.find.strip("+0123456789 ()-/") == "" else ""


@immutable
class FoundContact(SessionSummary):
    """A contact that fits a search. ``agent`` has taken the conversation over; the next page begins after ``place``."""

    name: str | None
    agent: str | None
    place: str


@immutable
class MessageTo:
    """A message to a contact. ``status`` is one of `bot.store.rows.STATUSES` or ``waiting``, or why it was not sent:
    ``covered``, ``opted_out``, ``over_share``; ``replaced`` says that its template went instead.
    """

    ref: str
    effect: Effect
    at: datetime
    status: str
    detail: str = ""
    attempts: int = 0
    due_at: datetime | None = None
    replaced: bool = False


@immutable
class PendingSend:
    """A message to send, or an event to deliver. ``detail`` is the last try's error; every try has the same ``key``."""

    id: int
    contact: str
    effect: Effect
    created_at: datetime
    attempts: int
    due_at: datetime
    detail: str
    key: str


@immutable
class LetterSearch:
    """Which dead letters are looked for: of a contact, of one kind (``what``), with a part of the reason, from
    ``since`` on and before ``until``, with a code of the gateway's, of a broadcast; ``retried``: those that can be
    tried again. Empty texts fit all.
    """

    contact: str = ""
    what: str = ""
    reason: str = ""
    since: datetime | None = None
    until: datetime | None = None
    code: str = ""
    broadcast: str = ""
    retried: bool = False

    @property
    def asked(self) -> tuple[object, ...]:
        """As a query takes it."""
        times = (None if at is None else time_text(at) for at in (self.since, self.until))
        texts = self.contact, self.what, self.reason
        return *map(storable, texts), *times, storable(self.code), storable(self.broadcast), int(self.retried)


ALL_LETTERS = LetterSearch()


@immutable
class DeadLetter:
    """Something that was given up. ``what``: event, send, turn or event_out; only a send and an event_out can be tried
    again.

    ``body`` of these is a value: its key, ref and effect, and the outcome of a send. Otherwise it is the event's raw
    body.
    """

    id: int
    what: str
    contact: str | None
    reason: str
    body: str | dict[str, Any]
    at: datetime

    @property
    def can_be_retried(self) -> bool:
        """True if it is of a message or of an event out."""
        return self.what in _SENT_AGAIN

    @property
    def advice(self) -> str:
        """Advice for the operator: a command, or why none is needed."""
        if isinstance(self.body, dict) and self.body.get("outcome") == "unknown":
            return f"look whether it arrived; to send it again all the same: bot queue retry {self.id}"
        if self.can_be_retried:
            return f"when you have corrected that: bot queue retry {self.id}"
        if self.what != "turn":
            return "the event is kept in the inbox; only its turn is lost"
        return next((advice for of, advice in _ADVICE.items() if str(self.body).startswith(of)), _TURN_ADVICE)


class EngineRows:
    """Queries on the engine's file that the engine and read-only processes share."""

    database: Database

    def close(self) -> None:
        """Close the file."""
        self.database.close()

    def session(self, contact: str) -> Session | None:
        """A contact's session with all its variables, if there is one. Raises `bot.core.session.UnreadableSession`."""
        row = self.database.one(engine_tables.SESSION_STATE, storable(contact))
        return None if row is None else read_session(row[0])

    def opted_out(self, contact: str) -> bool:
        """True if a contact has opted out, also if its session cannot be read."""
        row = self.database.one(engine_tables.SESSION_OPTED_OUT, storable(contact))
        return row is not None and bool(row[0])

    @reads_rows
    def broadcast(self, name: str) -> broadcast_rows.Broadcast | None:
        """The broadcast with this name, if there is one."""
        row = self.database.one(broadcast_rows.BROADCAST, storable(name))
        return None if row is None else broadcast_rows.broadcast(*row)

    @reads_rows
    def to_come(self, broadcast: str) -> dict[datetime, int]:
        """How many recipients of a broadcast wait for each time that has not come, in order."""
        return {_time(at): count for at, count in self.database.all(broadcast_rows.TO_COME, storable(broadcast))}


class StoreReader(EngineRows):
    """Reads a store's engine file, from any thread.

    Raises `bot.store.files.StoreMissing` and `bot.store.files.StoreOutdated`; this and its methods raise
    `bot.store.files.StoreUnavailable`.
    """

    def __init__(self, address: StoreAddress) -> None:
        self.database = engine_reader(address)
        self._schemas = [engine_schema(shard) for shard in shards_of(address)]

    def cursor(self) -> int:
        """The place in the log up to which events have been taken. Events below it may be pruned from the inbox. It is
        asked of a shard: each has a log of its own.
        """
        assert len(self._schemas) == 1
        return int(self.database.one(_CURSOR)[0])

    def ended_clean(self) -> bool:
        """True if the last run of each engine ended properly; True if there was none, False while one runs."""
        return bool(self.database.one(_CLEAN)[0])

    def counts(self) -> dict[str, int]:
        """How many sessions and dead letters there are, and how many rows in each queue, by table."""
        return dict(self.database.all(engine_tables.COUNTS))

    def queue_counts(self) -> dict[str, int]:
        """How many rows each queue has, by table: without what takes longer to count."""
        return dict(self.database.all(engine_tables.QUEUE_COUNTS))

    @reads_rows
    def oldest(self) -> dict[str, datetime]:
        """Since when the oldest row of each queue waits; no entry for an empty queue."""
        rows = [row for schema in self._schemas for row in self.database.all(engine_tables.OLDEST.format(schema))]
        waits = [(queue, _time(at)) for queue, at in rows if at is not None]
        return {queue: min(at for of, at in waits if of == queue) for queue, _ in waits}

    @reads_rows
    def sessions(self, after: str = "", limit: int = 100) -> list[SessionSummary]:
        """The sessions in the order of their contacts, of those behind ``after``."""
        return [
            SessionSummary(contact, flow, step, read_time(wake_at), _time(updated_at), bool(opted_out))
            for contact, flow, step, wake_at, updated_at, opted_out in self.database.all(
                engine_tables.SESSION_SUMMARIES, after, limit
            )
        ]

    @reads_rows
    def handed_over(self, limit: int = 1000) -> list[HandedOver]:
        """The conversations that persons have, or are to take, the longest first."""
        found = []
        for since, state in self.database.all(engine_tables.HANDED_OVER, limit):
            with suppress(UnreadableSession):  # of another version: the conversation starts anew
                found.append(_handed_over(_time(since), read_session(state)))
        return found

    def count_handed_over(self) -> int:
        """How many conversations persons have, or are to take."""
        return int(self.database.one(engine_tables.COUNT_HANDED_OVER)[0])

    @reads_rows
    def find_contacts(
        self, search: ContactSearch, limit: int, after: str = "", *, by_number: bool = True
    ) -> tuple[list[FoundContact], str]:
        """The contacts that fit a search, those with the newest turn first, then those whose last turn is not kept any
        more, by number: unless their order would tell more of their numbers than somebody may know.

        Also returns the place where the search goes on: it ends early once it has found ``limit``, or after
        `SEARCH_SECONDS`. The place is empty where all was looked through. ``after`` is such a place, or that of a
        contact.
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
            FoundContact(contact, flow, step, read_time(wake_at), _time(updated_at), bool(opted_out), name, agent, at)
            for at, contact, flow, step, wake_at, updated_at, opted_out, name, agent in rows
        ]
        return contacts, contacts[-1].place if len(contacts) == limit else place

    def _next_contacts(self, asked: list[str], limit: int, place: str) -> tuple[list[Any], str]:
        """The rows of contacts among those behind a place, as many as are read at once, and the place behind these."""
        if place[0] == "s":
            (last,) = self.database.one(_LAST_OF_NEXT, place[1:], _SEARCHED_AT_ONCE)
            return (self.database.all(_WITHOUT_TURN, *asked, place[1:], limit, last), f"s{last}") if last else ([], "")
        first, last = self.database.one(_TURN_IDS)
        end = 0 if last is None else min(int(place[1:]), last + 1)
        if last is None or end <= first:
            return [], "s"
        begin = end - _SEARCHED_AT_ONCE
        return self.database.all(_BY_TURN, *asked, end, limit, begin), f"t{begin}"

    def keeps(self, contact: str) -> bool:
        """True if something is kept of a contact, who may have no session."""
        return bool(self.database.one(_IS_KEPT, storable(contact))[0])

    def all_sessions(self) -> Iterator[Session | None]:
        """Every session, by contact; None for one that this version cannot read. It reads in short pieces."""
        rows = self.database.all(engine_tables.ALL_SESSION_STATES, "", _AT_ONCE)
        while rows:
            for _, state in rows:
                try:
                    yield read_session(state)
                except UnreadableSession:
                    yield None
            rows = self.database.all(engine_tables.ALL_SESSION_STATES, rows[-1][0], _AT_ONCE)

    @reads_rows
    def last_inbound(self, contact: str) -> datetime | None:
        """The time of the contact's newest event, by the event itself: the window begins with it."""
        row = self.database.one(engine_tables.LAST_INBOUND, storable(contact))
        return None if row is None else read_time(row[0])

    @reads_rows
    def last_replaced(self, contact: str) -> datetime | None:
        """When a template last went to the contact in place of a message whose window was closed."""
        return read_time(self.database.one(_LAST_REPLACED, storable(contact))[0])

    @reads_rows
    def requests(self, now: datetime) -> list[tuple[float, int]]:
        """How many seconds ago requests went to the gateway, one day at most, and how many in each second.

        An unknown time counts as later rather than earlier. If the last commit is ahead of now, the clock was set
        back since; then the day ends with that commit, and later requests count as just made.
        """
        end = self._end(now)
        rows = self.database.all(_REQUESTS, time_text(end - _A_DAY), time_text(end))
        return [(_ago(at, end), count) for at, count in rows]

    @reads_rows
    def requests_for(self, now: datetime) -> list[tuple[float, str, int]]:
        """How many seconds ago, in steps of ten minutes, requests for each contact went to the gateway, and how many.
        See `requests`.
        """
        end = self._end(now)
        rows = self.database.all(_REQUESTS_FOR, time_text(end - _A_DAY), time_text(end))
        return [(_ago(at, end), contact, count) for at, contact, count in rows]

    @reads_rows
    def _end(self, now: datetime) -> datetime:
        last = read_time(self.database.one(_WRITTEN_AT)[0])
        return now if last is None else max(now, last)

    def outcomes(self, name: str) -> dict[str, int]:
        """How many recipients a broadcast has, by outcome, with the gateway's code of a refusal: ``failed (132000)``.

        ``waiting`` have no outcome yet, ``paused`` and ``stopped`` are held.
        """
        counts = Counter[str]()
        for schema, state in zip(self._schemas, self._states_of(name), strict=True):
            for outcome, code, count in self.database.all(broadcast_rows.OUTCOMES.format(schema), storable(name)):
                words = broadcast_rows.outcome_in_words(outcome, state)
                counts[f"{words} ({code})" if code else words] += count
        return dict(counts)

    def broadcasts(self) -> list[broadcast_rows.ListedBroadcast]:
        """All broadcasts, the newest first."""
        return [broadcast_rows.listed_broadcast(*row) for row in self.database.all(broadcast_rows.LISTED)]

    def unfinished_broadcasts(self) -> dict[str, dict[str, int]]:
        """The `outcomes` of each broadcast for which contacts wait, or that was stopped too early for some, by name."""
        return {name: self.outcomes(name) for (name,) in self.database.all(broadcast_rows.UNFINISHED)}

    def recipients(self, name: str) -> list[tuple[str, str, str]]:
        """The recipients of a broadcast in order: contact, outcome as in `outcomes`, and the code of a refusal."""
        states, rows = self._states_of(name), self.database.all(broadcast_rows.RECIPIENTS, storable(name))
        return [
            (contact, broadcast_rows.outcome_in_words(outcome, states[shard_number(contact, len(states))]), code)
            for contact, outcome, code in rows
        ]

    def reached(self, name: str) -> dict[str, broadcast_rows.Reached]:
        """How far the sent messages of a broadcast have got, by contact, without those that are pruned."""
        return {
            contact: broadcast_rows.Reached((furthest or 0) >= 1, (furthest or 0) >= 2, _answers(sent_at, answered_at))
            for schema in self._schemas
            for contact, furthest, sent_at, answered_at in self.database.all(
                broadcast_rows.REACHED.format(schema), storable(name)
            )
        }

    def _states_of(self, broadcast: str) -> list[str]:
        """The states of a broadcast in all shards."""
        rows = [self.database.one(broadcast_rows.STATE.format(schema), storable(broadcast)) for schema in self._schemas]
        return ["" if row is None else row[0] for row in rows]

    def send_outcome(self, id: int) -> tuple[str, str] | None:
        """The outcome of a message, by its id in the outbox, and why; None while it is in the outbox."""
        if self.database.one(_IN_OUTBOX, id):
            return None
        outcome: tuple[str, str] | None = self.database.one(_SENT, id) or self.database.one(_GIVEN_UP, id)
        return outcome

    @reads_rows
    def pending_sends(self, limit: int = 100) -> list[PendingSend]:
        """The messages to send, in order."""
        return [_pending(*row) for row in self.database.all(_PENDING, limit)]

    @reads_rows
    def pending_events(self, limit: int = 100) -> list[PendingSend]:
        """The events to deliver, in order."""
        return [_pending(*row) for row in self.database.all(_EVENTS, limit)]

    @reads_rows
    def dead_letters(self, limit: int = 100) -> list[DeadLetter]:
        """The newest dead letters, the newest first."""
        return [_letter(*row) for row in self.database.all(_DEAD, *ALL_LETTERS.asked, 0, LAST_ID, limit)]

    @reads_rows
    def find_dead_letters(
        self, search: LetterSearch, limit: int, before: int = LAST_ID
    ) -> tuple[list[DeadLetter], int]:
        """The dead letters that fit a search, the newest first, of those before an id.

        Also returns the id before which the search goes on, 0 where all was looked through: it ends early as
        `find_contacts` does.
        """
        rows: list[Any] = []
        until, begin = monotonic() + SEARCH_SECONDS, 0
        for begin, end in self._letter_pieces(before):
            rows += self.database.all(_DEAD, *search.asked, begin, end, limit - len(rows))
            if len(rows) == limit or monotonic() >= until:
                break
        found = [_letter(*row) for row in rows]
        return found, found[-1].id if len(found) == limit else begin

    def dead_letter_ids(self, search: LetterSearch, before: int = LAST_ID) -> list[int]:
        """The ids of the dead letters that fit a search, in order, of those before one. It reads in short pieces."""
        pieces = (self.database.all(_LETTERS, *search.asked, *ids) for ids in self._letter_pieces(before))
        return [id for piece in pieces for (id,) in piece][::-1]

    def count_dead_letters(self, search: LetterSearch) -> tuple[int, bool]:
        """How many dead letters fit, and False if there may be more: it stops at `MOST_COUNTED` or `SEARCH_SECONDS`."""
        count, until = 0, monotonic() + SEARCH_SECONDS
        for begin, end in self._letter_pieces(LAST_ID):
            count += self.database.one(_COUNT_LETTERS, *search.asked, begin, end)[0]
            if begin and (count >= MOST_COUNTED or monotonic() >= until):
                return min(count, MOST_COUNTED), False
        return count, True

    def _letter_pieces(self, before: int) -> Iterator[tuple[int, int]]:
        """The ids of dead letters before one, in pieces (from, before), the newest first; the last begins at 0."""
        first, last = self.database.one(_LETTER_IDS)
        end = 0 if last is None else min(before, last + 1)
        while first is not None and end > first:
            begin = end - _SEARCHED_AT_ONCE
            yield (begin if begin > first else 0), end
            end = begin

    @reads_rows
    def trace(self, contact: str, limit: int = 20) -> list[TurnTraced]:
        """A contact's last turns, in the order they were taken."""
        rows = self.database.all(trace_rows.LAST_TURNS, storable(contact), limit)[::-1]
        statuses = self._statuses(contact, [_time(at) for at, *_ in rows])
        return [trace_rows.turn_traced(statuses, *row) for row in rows]

    @reads_rows
    def messages_to(self, contact: str, times: Sequence[datetime]) -> list[MessageTo]:
        """The messages to a contact that wait, or were decided on at ``times`` (in order): the times of lines of its
        trace. Those that were given up come last.
        """
        found: dict[int, MessageTo] = {}
        schema = self._schema_of(contact)
        rows = self.database.all(_MESSAGES_THAT_WAIT.format(schema), storable(contact))
        for span in self._messages_made(contact, times):
            rows += self.database.all(_MESSAGES_AMONG.format(schema), storable(contact), *span)
        for id, ref, effect, at, attempts, due_at, outcome, detail, *reported in sorted(rows, key=itemgetter(0)):
            status = MessageStatus(*reported) if reported[0] is not None else None
            if id in found and (status is None or _rank(found[id].status) >= status.rank):
                continue
            name, why = (outcome, detail) if status is None else (status.name, status.detail)
            name, replaced = ("sent" if name == "replaced" else name), outcome == "replaced"
            due = read_time(due_at)
            found[id] = MessageTo(ref, values.loads(effect), _time(at), name, why, attempts, due, replaced)
        given_up = [
            MessageTo((given := values.loads(body))["ref"], given["effect"], _time(at), "failed", reason)
            for id, body, at, reason in self.database.all(
                _GIVEN_UP_TO, storable(contact), time_text(times[0] if times else _EVER)
            )
            if id not in found
        ]
        return [*found.values(), *given_up]

    def _messages_made(self, contact: str, times: Sequence[datetime]) -> list[tuple[int, int]]:
        """The ids among which a contact's messages are: the first and the last of each span.

        There is no index by contacts. But the ids of a shard follow the time, and a message is written with a line of
        its contact's trace, so the times of these lines lead to it.
        """
        made = _MESSAGE_MADE.format(schema := self._schema_of(contact))
        low, last = self.database.one(_MESSAGES_BETWEEN.format(schema))
        if not times or last is None:
            return []
        low = self._first_message(made, low, last + 1, time_text(times[0]))
        if last - low < _FEW_MESSAGES:
            return [(low, last)]
        spans = []
        for at in sorted({*times}):
            low = self._first_message(made, low, last + 1, time_text(at))
            after = self._first_message(made, low, last + 1, time_text(at + timedelta(microseconds=1)))
            spans.append((low, after - 1))
        return spans

    def _first_message(self, made: str, low: int, end: int, since: str) -> int:
        """The id of the first message that was decided on since a time, of those from ``low`` and before ``end``.
        ``made`` is the query for the time of the next one.
        """
        while low < end:
            middle = (low + end) // 2
            row = self.database.one(made, middle)  # nothing where it has gone meanwhile
            if row and row[0] < since:
                low = middle + 1
            else:
                end = middle
        return low

    def contacts_traced(self, since: datetime) -> list[str]:
        """The contacts with a line in the trace since a time, in order."""
        return [contact for (contact,) in self.database.all(trace_rows.CONTACTS_TRACED, time_text(since))]

    def conversations(self, contact: str) -> list[Conversation]:
        """The recorded conversations of a contact, in order. Raises `bot.store.trace_rows.UnreadableRecord`."""
        return list(trace_rows.conversations(contact, self.database.all(trace_rows.RECORDED_TURNS, storable(contact))))

    def erasures(self) -> list[tuple[str, int]]:
        """The contacts that are being erased, and the place in each one's log up to which events must be deleted."""
        return [(contact, upto) for contact, upto in self.database.all(ERASING)]

    def message_statuses(self, contact: str) -> dict[str, MessageStatus]:
        """The status of each message of a contact, by the gateway's id of it."""
        return {id: MessageStatus(*row) for _, id, *row in self._statuses_of(contact)}

    def message_refs(self, contact: str) -> dict[str, str]:
        """The name of the effect of each message of a contact, by the gateway's id, if the gateway has reported a
        status.
        """
        return {id: ref for ref, id, *_ in self._statuses_of(contact)}

    def _statuses_of(self, contact: str) -> list[Any]:
        return self.database.all(_STATUSES.format(self._schema_of(contact)), storable(contact))

    def _schema_of(self, contact: str) -> str:
        """The schema of the tables with a contact's rows, for queries in which the planner would otherwise join all
        shards.
        """
        return self._schemas[shard_number(contact, len(self._schemas))]

    def commits(self) -> int:
        """A number that is another one after each commit of the engine's."""
        return self.database.version()

    def _statuses(self, contact: str, times: Sequence[datetime]) -> dict[str, MessageStatus]:
        """The status of each message of a contact that was decided on at these times, by its effect's name."""
        furthest: dict[str, MessageStatus] = {}
        spans, among = self._messages_made(contact, times), _STATUSES_AMONG.format(self._schema_of(contact))
        for ref, *row in (row for span in spans for row in self.database.all(among, storable(contact), *span)):
            status = MessageStatus(*row)
            if ref not in furthest or furthest[ref].rank < status.rank:
                furthest[ref] = status
        return furthest

    def used(self, contact: str | None, since: datetime) -> int:
        """The tokens that models used since a time: for one contact, or (None) for all together."""
        if contact is None:
            return int(self.database.one(engine_tables.TOKENS_USED, time_text(since))[0])
        return int(self.database.one(engine_tables.TOKENS_USED_BY, time_text(since), storable(contact))[0])

    def usage(self, since: datetime, by: str) -> list[UsageSum]:
        """The tokens that models used since a time, the largest use first, but days in order. ``by``: one of
        `bot.store.engine_tables.USAGE_BY`.
        """
        return [UsageSum(*row) for row in self.database.all(engine_tables.USAGE_SUMS[by], time_text(since))]

    def results(self, since: datetime) -> list[ResultCount]:
        """The counts of the steps of flows since the day (UTC) of a time, the days of each count in order."""
        return [ResultCount(*row) for row in self.database.all(engine_tables.RESULTS, time_text(since)[:10])]

    def waiting_at(self) -> dict[tuple[str, str], int]:
        """How many contacts are at each step now, by flow and step."""
        return {(flow, step): count for flow, step, count in self.database.all(engine_tables.WAITING_AT)}


def _handed_over(since: datetime, session: Session) -> HandedOver:
    frame, hand_over = session.frame, session.hand_over
    return HandedOver(
        contact=session.contact,
        name=session.name,
        flow=None if frame is None else frame.flow,
        step=None if frame is None else frame.step,
        team=None if hand_over is None else hand_over.team,
        note=None if hand_over is None else hand_over.note,
        since=since,
        agent=session.agent,
        taken_at=session.taken_at,
        last_inbound=session.last_inbound,
        opted_out=session.opted_out,
    )


def _pending(
    id: int, contact: str, effect: str, created_at: str, attempts: int, due_at: str, detail: str, key: str
) -> PendingSend:
    return PendingSend(id, contact, values.loads(effect), _time(created_at), attempts, _time(due_at), detail, key)


def _letter(id: int, what: str, contact: str | None, reason: str, body: str, at: str) -> DeadLetter:
    return DeadLetter(id, what, contact, reason, values.loads(body) if what in _SENT_AGAIN else body, _time(at))


def _answers(sent_at: str, answered_at: str | None) -> bool:
    return answered_at is not None and _time(answered_at) - _time(sent_at) < broadcast_rows.ANSWERED_WITHIN


def _rank(status: str) -> int:
    return STATUSES.index(status) if status in STATUSES else -1


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _ago(at: str, end: datetime) -> float:
    return max((end - _time(at)).total_seconds(), 0.0)
