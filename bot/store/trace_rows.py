"""The trace in the engine's file: a line for each turn, and for each act of an operator."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, get_args

from bot.core import values
from bot.core.effects import Effect
from bot.core.errors import BotError
from bot.core.events import Event
from bot.core.immutable import immutable
from bot.core.session import Session, effect_ref
from bot.core.turn import Conversation, RecordedTurn, StepTaken, Trace
from bot.core.values import json_text, optional_storable, plain_json_text, read_time, storable, time_text
from bot.store.database import Database, Queries
from bot.store.files import reads_rows
from bot.store.rows import MessageStatus

ADD_TURN = """
    INSERT INTO turns (id, at, contact, event_id, event, rule, steps, effects, notes, problems, micros, session, wake_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_LAST = """
    SELECT at, event_id, event, rule, steps, effects, notes, problems, micros FROM turns
    WHERE contact = ? AND id > ? ORDER BY id DESC LIMIT ?
"""

_NEWEST = "SELECT coalesce(max(id), 0) FROM turns WHERE contact = ?"

_SAID = "SELECT at, event, effects FROM turns WHERE contact = ? ORDER BY id DESC LIMIT ?"

GATEWAY_COMMAND = "command"
"""The rule of a line about a gateway command."""

OPERATOR = "operator"
"""The rule of a line about an act of an operator."""

FAILED = "failed"
"""The rule of a line about an event whose turn failed: its note is a problem."""

JUDGED_NO = "judged: no"
"""The rule of a line about a model's answer that a judge has found wrong. These lines have an index."""

_JUDGED = f"SELECT contact, at, event, notes FROM turns WHERE rule = '{JUDGED_NO}' ORDER BY at DESC, id DESC LIMIT ?"

STEP_FIELDS = ("flow", "step", "outcome", "target", "conditions", "effects", "visit")


@immutable
class TurnTraced:
    """One line of a contact's trace. ``event`` is plain data if it was no event of a conversation.

    ``steps``: dicts of flow, step, outcome, target, conditions, effects, visit. ``statuses`` are the statuses of the
    effects, in order; None for an effect that is no message, and for a message without a status yet. ``problems`` are
    those of the ``notes`` that somebody should look into.
    """

    at: datetime
    event_id: str
    event: Event | dict[str, Any]
    rule: str
    steps: list[dict[str, Any]]
    effects: list[Effect]
    notes: list[str]
    problems: list[str]
    micros: int
    statuses: list[MessageStatus | None]


@immutable
class JudgedWrong:
    """An answer of a model's that a judge has found wrong by a question, with the judge's reason."""

    contact: str
    at: datetime
    flow: str
    step: str
    question: str
    reason: str


def turn_row(event: Event, trace: Trace, effects: Sequence[str], micros: int) -> tuple[Any, ...]:
    """The row of a turn, except its id, its time and its sessions. ``effects`` are JSON.

    Raises `bot.core.values.UnstorableValue`.
    """
    steps = plain_json_text([_step(step) for step in trace.steps])
    notes = plain_json_text(trace.notes) if trace.notes else "[]"
    what = storable(event.contact), storable(event.id), json_text(event), storable(trace.rule)
    problems = plain_json_text(trace.problems) if trace.problems else "[]"
    return (*what, steps, f"[{','.join(effects)}]", notes, problems, micros)


def _step(step: StepTaken) -> tuple[Any, ...]:
    """The values of a step's `STEP_FIELDS`, in order."""
    conditions = [[source, _shown(value)] for source, value in step.conditions] if step.conditions else []
    return step.flow, step.step, step.outcome, step.target, conditions, step.effects, step.visit


def _steps(written: str) -> list[dict[str, Any]]:
    """The steps of a line, each with `STEP_FIELDS`."""
    return [dict(zip(STEP_FIELDS, step, strict=True)) for step in values.loads(written)]


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def note_row(
    contact: str | None, event_id: str, event: str, rule: str, note: str, effects: str = "[]"
) -> tuple[Any, ...]:
    """The row of something that is not a turn, except its id and its time. ``event`` and ``effects`` are JSON."""
    return (
        optional_storable(contact),
        storable(event_id),
        event,
        rule,
        "[]",
        effects,
        json_text([note]),
        json_text([note] if rule == FAILED else []),
        0,
        None,
        None,
    )


def _turn_traced(
    statuses: Mapping[str, MessageStatus],
    at: str,
    event_id: str,
    event: str,
    rule: str,
    steps: str,
    effects: str,
    notes: str,
    problems: str,
    micros: int,
) -> TurnTraced:
    """A line from its row. ``statuses`` are those of the contact's messages, by the names of their effects."""
    decided = values.loads(effects)
    became = [statuses.get(effect_ref(event_id, ordinal)) for ordinal in range(len(decided))]
    read = (_steps(steps), decided, values.loads(notes), values.loads(problems))
    return TurnTraced(datetime.fromisoformat(at), event_id, values.loads(event), rule, *read, micros, became)


_CONTACTS = "SELECT DISTINCT contact FROM turns WHERE contact IS NOT NULL AND at >= ? ORDER BY contact"
_RECORDED = """
    SELECT id, event, rule, steps, effects, notes, session, wake_at FROM turns WHERE contact = ?1
    UNION ALL
    SELECT 9223372036854775807, NULL, NULL, NULL, NULL, NULL, CASE WHEN flow IS NULL THEN state END, NULL
    FROM sessions WHERE contact = ?1
    ORDER BY 1
"""
"""A contact's turns in order, and after them the session if the contact is in no flow now."""

_EVENTS = get_args(Event)


class UnreadableRecord(BotError):
    """A turn in the store that this version cannot read."""


def conversations(contact: str, rows: Iterable[tuple[Any, ...]]) -> Iterator[Conversation]:
    """A contact's conversations, from the rows of `_RECORDED`. Raises `UnreadableRecord`.

    A turn outside of flows that does nothing belongs to the conversation before it, or else to the first one.
    """
    turns: list[RecordedTurn] = []
    did_something = False
    for turn in _read(rows):
        if isinstance(turn, Session):
            if turns:
                yield Conversation(contact, tuple(turns), turn)
            return
        does_something = bool(turn.steps or turn.effects)
        if turn.session is not None and does_something and did_something:
            yield Conversation(contact, tuple(turns), turn.session)
            turns, did_something = [], False
        turns.append(turn)
        did_something = did_something or does_something
    if turns:
        yield Conversation(contact, tuple(turns), None)


def _read(rows: Iterable[tuple[Any, ...]]) -> Iterator[RecordedTurn | Session]:
    """The turns, without events outside conversations; then the session, if the contact is in no flow."""
    try:
        for _, event, rule, steps, effects, notes, session, wake_at in rows:
            met = None if session is None else values.loads(session)
            if event is None:
                if met is not None:
                    yield met
                continue
            happened = values.loads(event)
            if isinstance(happened, _EVENTS):
                decided = _steps(steps), values.loads(effects), values.loads(notes)
                yield RecordedTurn(happened, rule, *decided, met, read_time(wake_at))
    except (ValueError, TypeError, KeyError, ArithmeticError) as error:
        raise UnreadableRecord("what is recorded cannot be read by this version") from error


class TraceReader(Queries):
    """The trace as commands and pages read it. ``statuses_made_at`` returns the statuses of a contact's messages that
    were decided on at some times, by the names of their effects.
    """

    def __init__(
        self, database: Database, statuses_made_at: Callable[[str, Sequence[datetime]], Mapping[str, MessageStatus]]
    ) -> None:
        super().__init__(database)
        self._statuses_made_at = statuses_made_at

    @reads_rows
    def turns(self, contact: str, limit: int = 20, after: int = 0) -> list[TurnTraced]:
        """A contact's last turns, in the order they were taken. ``after``: only those after this `newest_turn`."""
        rows = self.database.all(_LAST, storable(contact), after, limit)[::-1]
        statuses = self._statuses_made_at(contact, [datetime.fromisoformat(at) for at, *_ in rows])
        return [_turn_traced(statuses, *row) for row in rows]

    def newest_turn(self, contact: str) -> int:
        """The number of a contact's last turn; 0 before the first."""
        (newest,) = self.database.one(_NEWEST, storable(contact))
        return int(newest)

    @reads_rows
    def newest(self, contact: str, limit: int) -> list[tuple[datetime, Event | dict[str, Any], list[Effect]]]:
        """The time, event and effects of a contact's last turns, the newest first."""
        rows = self.database.all(_SAID, storable(contact), limit)
        return [(datetime.fromisoformat(at), values.loads(event), values.loads(effects)) for at, event, effects in rows]

    @reads_rows
    def judged_wrong(self, limit: int) -> list[JudgedWrong]:
        """The last answers that a judge has found wrong, the newest first."""
        found = []
        for contact, at, written, notes in self.database.all(_JUDGED, limit):
            about, (note,) = values.loads(written), values.loads(notes)
            what = about["flow"], about["step"], about["judged"], note
            found.append(JudgedWrong(contact, datetime.fromisoformat(at), *what))
        return found

    def contacts(self, since: datetime) -> list[str]:
        """The contacts with a line in the trace since a time, in order."""
        return [contact for (contact,) in self.database.all(_CONTACTS, time_text(since))]

    def conversations(self, contact: str) -> list[Conversation]:
        """The recorded conversations of a contact, in order. Raises `UnreadableRecord`."""
        return list(conversations(contact, self.database.all(_RECORDED, storable(contact))))
