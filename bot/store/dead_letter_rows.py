"""Dead letters in the engine's tables: what was given up, kept for the operator."""

from collections.abc import Iterator
from dataclasses import field
from datetime import datetime
from time import monotonic
from typing import Any

from bot.core import values
from bot.core.effects import Publish, ToSend
from bot.core.immutable import immutable, mutable
from bot.core.values import optional_storable, storable, time_text
from bot.store.database import CommitRows, Queries
from bot.store.files import reads_rows
from bot.store.rows import LAST_ID, SEARCH_SECONDS, SEARCHED_AT_ONCE

EVENT_OUT = "event_out"
"""The kind of a dead letter for an event that could not be delivered."""
_SENT_AGAIN = ("send", EVENT_OUT)
MOST_COUNTED = 10_000
_ADVICE = {  # by how the store's text of an event begins
    '{"$SharedRunRequested"': "correct the flow; the contact's step has gone on by its `errors`",
    '{"$StartRequested"': "correct the flow or the program that requested it, and start it again (`bot start`)",
    '{"$SignalReceived"': "correct the program or the step that sent it, and send it again (`bot signal`)",
}
_TURN_ADVICE = "correct the flow or the handler, then see the contact with `bot trace`"

_ADD = "INSERT INTO dead_letters (what, contact, reason, body, at, send_id) VALUES (?, ?, ?, ?, ?, ?)"
_DELETE = "DELETE FROM dead_letters WHERE id = ?"
STATEMENTS = (_DELETE, _ADD)
"""The statements of a commit, in order."""

_LETTER = "SELECT what, contact, body, send_id FROM dead_letters WHERE id = ?"
_LETTER_FITS = """
    (?1 = '' OR contact = ?1) AND (?2 = '' OR what = ?2) AND (?3 = '' OR instr(lower(reason), lower(?3)) > 0)
        AND (CAST(?4 AS TEXT) IS NULL OR at >= ?4) AND (CAST(?5 AS TEXT) IS NULL OR at < ?5)
        AND (?6 = '' OR instr(' ' || reason || ':', ' ' || ?6 || ':') > 0)
        AND (?7 = '' OR EXISTS (SELECT 1 FROM recipients WHERE recipients.send_id = dead_letters.send_id AND broadcast = ?7))
        AND (?8 = 0 OR what IN ('send', 'event_out')) AND id >= ?9 AND id < ?10
"""
_FIND = f"SELECT id, what, contact, reason, body, at FROM dead_letters WHERE {_LETTER_FITS} ORDER BY id DESC LIMIT ?11"
_FIND_IDS = f"SELECT id FROM dead_letters WHERE {_LETTER_FITS} ORDER BY id DESC"
_COUNT = f"SELECT count(*) FROM dead_letters WHERE {_LETTER_FITS}"
_FIRST_AND_LAST = "SELECT (SELECT min(id) FROM dead_letters), (SELECT max(id) FROM dead_letters)"


@immutable
class DeadSend:
    """A message that was given up after ``attempts`` tries, as its dead letter has it. ``send_id`` was its id in the
    outbox.

    ``key_helps``, if it may have been sent: the gateway may recognise it by its key, and not send it twice.
    """

    contact: str
    ref: str
    key: str
    outcome: str
    effect: ToSend
    send_id: int | None
    attempts: int
    key_helps: bool

    @property
    def may_be_sent(self) -> bool:
        """True if nobody can tell whether it was sent."""
        return self.outcome == "unknown"


@immutable
class DeadEvent:
    """An event that could not be delivered, as its dead letter has it."""

    contact: str
    ref: str
    key: str
    effect: Publish


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
        """The parameters of a query."""
        times = (None if at is None else time_text(at) for at in (self.since, self.until))
        texts = self.contact, self.what, self.reason
        return *map(storable, texts), *times, storable(self.code), storable(self.broadcast), int(self.retried)


ALL_LETTERS = LetterSearch()


@immutable
class DeadLetter:
    """Something that was given up. ``what``: event, send, turn or event_out; only a send and an event_out can be tried
    again.

    ``body`` of a send or an event_out is a value: its key, ref and effect, and the outcome of a send. Otherwise it is
    the raw body of the event.
    """

    id: int
    what: str
    contact: str | None
    reason: str
    body: str | dict[str, Any]
    at: datetime

    @property
    def can_be_retried(self) -> bool:
        """True for a message and for an event out."""
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


class StoredDeadLetters(Queries):
    """Dead letters as the engine reads them."""

    @reads_rows
    def event(self, id: int) -> DeadEvent | None:
        """The event of the dead letter with this id; None if there is no such letter, or it is of another kind."""
        row = self.database.one(_LETTER, id)
        return None if row is None else _dead_event(*row)

    @reads_rows
    def send(self, id: int) -> DeadSend | None:
        """The message of the dead letter with this id; None if there is no such letter, or it is of another kind."""
        row = self.database.one(_LETTER, id)
        return None if row is None else _dead_send(*row)

    def about(self, id: int) -> tuple[str, str | None] | None:
        """The kind of a dead letter (event, send, turn or event_out), and its contact; None if the id is unknown."""
        row = self.database.one(_LETTER, id)
        return None if row is None else (row[0], row[1])


def _dead_event(what: str, contact: str, body: str, send_id: int | None) -> DeadEvent | None:
    """The event of a dead letter, from its row; None if the letter is of another kind."""
    return DeadEvent(contact=contact, **values.loads(body)) if what == EVENT_OUT else None


def _dead_send(what: str, contact: str, body: str, send_id: int | None) -> DeadSend | None:
    """The message of a dead letter, from its row; None if the letter is of another kind."""
    if what != "send":
        return None
    fields = values.loads(body)
    return DeadSend(
        contact,
        fields["ref"],
        fields["key"],
        fields["outcome"],
        fields["effect"],
        send_id,
        fields.get("attempts", 0),
        fields.get("key_helps", False),
    )


@mutable
class DeadLetterChanges:
    """The dead letters that a commit adds, ``added`` (what, the contact, and why), and those that it deletes.

    ``ended`` are the ids of the latter.
    """

    _rows: CommitRows
    added: list[tuple[str, str | None, str]] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)

    def add(self, what: str, contact: str | None, reason: str, body: str | bytes, send_id: int | None = None) -> None:
        """Add a dead letter. ``what``: event, send (with its id), turn or event_out."""
        self.added.append((what, contact, reason))
        whose = optional_storable(contact)
        body = body if isinstance(body, str) else body.decode("utf-8", "backslashreplace")
        self._rows[_ADD].append((what, whose, storable(reason), body, self._rows.at, send_id))

    def end(self, id: int) -> None:
        """Delete a dead letter, whose message or event is tried again now, or is dropped."""
        self._rows[_DELETE].append((id,))
        self.ended.add(id)


class DeadLetterReader(Queries):
    """Dead letters as commands and pages read them."""

    @reads_rows
    def newest(self, limit: int = 100) -> list[DeadLetter]:
        """The newest dead letters, the newest first."""
        return [_letter(*row) for row in self.database.all(_FIND, *ALL_LETTERS.asked, 0, LAST_ID, limit)]

    @reads_rows
    def find(self, search: LetterSearch, limit: int, before: int = LAST_ID) -> tuple[list[DeadLetter], int]:
        """The dead letters before an id that fit a search, the newest first.

        Also returns the id before which to continue, 0 if the search is complete: it ends early as
        `bot.store.session_rows.SessionReader.find` does.
        """
        rows: list[Any] = []
        until, begin = monotonic() + SEARCH_SECONDS, 0
        for begin, end in self._pieces(before):
            rows += self.database.all(_FIND, *search.asked, begin, end, limit - len(rows))
            if len(rows) == limit or monotonic() >= until:
                break
        found = [_letter(*row) for row in rows]
        return found, found[-1].id if len(found) == limit else begin

    def ids(self, search: LetterSearch, before: int = LAST_ID) -> list[int]:
        """The ids of the dead letters before an id that fit a search, in order. They are read in short pieces."""
        pieces = (self.database.all(_FIND_IDS, *search.asked, *ids) for ids in self._pieces(before))
        return [id for piece in pieces for (id,) in piece][::-1]

    def count(self, search: LetterSearch) -> tuple[int, bool]:
        """How many dead letters fit, and whether these are all: the count stops at `MOST_COUNTED` or after
        `SEARCH_SECONDS`.
        """
        count, until = 0, monotonic() + SEARCH_SECONDS
        for begin, end in self._pieces(LAST_ID):
            count += self.database.one(_COUNT, *search.asked, begin, end)[0]
            if begin and (count >= MOST_COUNTED or monotonic() >= until):
                return min(count, MOST_COUNTED), False
        return count, True

    def _pieces(self, before: int) -> Iterator[tuple[int, int]]:
        """Ranges (from, before) of the ids of dead letters before one, the newest first; the last begins at 0."""
        first, last = self.database.one(_FIRST_AND_LAST)
        end = 0 if last is None else min(before, last + 1)
        while first is not None and end > first:
            begin = end - SEARCHED_AT_ONCE
            yield (begin if begin > first else 0), end
            end = begin


def _letter(id: int, what: str, contact: str | None, reason: str, body: str, at: str) -> DeadLetter:
    return DeadLetter(
        id, what, contact, reason, values.loads(body) if what in _SENT_AGAIN else body, datetime.fromisoformat(at)
    )
