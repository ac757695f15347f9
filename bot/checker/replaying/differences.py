"""What a recorded conversation comes to with other flows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from bot.checker.replaying.effects import differs_in_choices, has_result, lines_of, same
from bot.core.effects import Effect, Send
from bot.core.events import Event
from bot.core.session import Session
from bot.expressions.formats import shown
from bot.lang.nodes import Mark


class Kind(Enum):
    """How a bot does otherwise than it did."""

    SAYS = "says something else"
    OFFERS = "offers other choices"
    MORE = "says more"
    LESS = "says less"
    ASKS = "asks for something of which no result is recorded"
    ASKS_NOT = "does not ask for it any more"
    DOES = "does something else"
    BY_ITSELF = "does something at a time at which nothing happened"
    WAITS = "waits for a result where it took a message"
    FAILS = "fails"
    LEAVES = "leaves something else behind"


@dataclass(frozen=True, slots=True)
class Difference:
    """The first thing that is not as it was, in the turn ``number`` (from 1) of the conversation, at a time ``when``.

    ``was_at`` and ``at`` are the steps that did it (``flow/step``; empty where none did), ``mark`` is where that one
    stands now. ``why`` says what failed. ``sessions``, before and after the turn, and ``events`` are what was known then.
    """

    kind: Kind
    was_at: str
    at: str
    mark: Mark | None
    before: tuple[str, ...]
    after: tuple[str, ...]
    number: int
    when: datetime
    sessions: tuple[Session, ...]
    events: tuple[Event, ...]
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Replayed:
    """What a conversation came to: as it was, unless there is a ``difference``.

    ``stopped`` says why it could not be compared to its end.
    """

    difference: Difference | None = None
    stopped: str | None = None


def apart(theirs: Sequence[Effect], ours: Sequence[Effect], at: int) -> tuple[Effect | None, Effect | None]:
    """What stands beside each other at a place where two turns differ.

    Where something only came in between, or went, it stands beside nothing.
    """
    more = len(ours) - len(theirs)
    if more > 0 and _go_on_alike(theirs[at:], ours[at + more :]):
        return None, ours[at]
    if more < 0 and _go_on_alike(theirs[at - more :], ours[at:]):
        return theirs[at], None
    return (theirs[at] if at < len(theirs) else None), (ours[at] if at < len(ours) else None)


def kind_of(before: Effect | None, after: Effect | None) -> Kind:
    """How two effects differ that stand beside each other."""
    if has_result(after):
        return Kind.ASKS
    if has_result(before):
        return Kind.ASKS_NOT
    if isinstance(before, Send | None) and isinstance(after, Send | None):
        if before is None or after is None:
            return Kind.MORE if before is None else Kind.LESS
        return Kind.OFFERS if differs_in_choices(before, after) else Kind.SAYS
    return Kind.DOES


def remains_of(session: Session) -> tuple[str, ...]:
    """What stays when a conversation has ended, line by line."""
    lines = [f"is at {frame.flow}/{frame.step}" for frame in session.frames]
    lines += [f"tag {tag}" for tag in session.tags]
    lines += [f"{name}: {shown(value)}" for name, value in session.kept_variables.items() if value is not None]
    lines += [f"{plan.flow} is to start at {shown(plan.at)}" for plan in session.plans]
    return (*lines, *(() if session.language is None else (f"language {session.language}",)))


def lines_of_all(effects: Sequence[Effect]) -> tuple[str, ...]:
    """All of a turn's effects, line by line."""
    return tuple(line for effect in effects for line in lines_of(effect))


def _go_on_alike(theirs: Sequence[Effect], ours: Sequence[Effect]) -> bool:
    return len(theirs) == len(ours) and all(map(same, theirs, ours))
