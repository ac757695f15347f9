"""What became of a message, as delivery reports it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self

from bot.runtime.sending import Lane, Outcome
from bot.store.rows import OutboxRow


@dataclass(frozen=True, slots=True)
class SendResult:
    """What became of a message, or of a try.

    ``state``: ``sent``; ``replaced`` (the window was shut, its template went); ``covered`` (the window was shut,
    and a template went since the contact's newest message; or something newer about the contact follows);
    ``opted_out`` (a campaign's, to a contact who wants none); ``over_share`` (like one before it that has failed, since the
    contact's share is used up); ``failed``; ``unknown`` (nobody can tell). Or it is
    to be tried still: ``retry`` at ``due_at``; ``held`` (nothing can be sent at all, see `Delivery.status`).
    ``refused``, of one that failed: the gateway does not take it as it is. ``alias`` is as in
    `bot.gateway.answers.Sent`, ``code`` as in `bot.runtime.sending.Outcome`.
    """

    row: OutboxRow
    state: str
    attempts: int
    due_at: datetime | None
    message_ids: tuple[str, ...]
    detail: str
    at: datetime
    alias: str | None = None
    code: str = ""
    refused: bool = False

    @classmethod
    def of(cls, lane: Lane, outcome: Outcome, at: datetime) -> Self:
        """What a try of a lane's first message came to."""
        return cls(
            lane.rows[0],
            outcome.state,
            lane.attempts,
            None if outcome.wait is None else at + timedelta(seconds=outcome.wait),
            outcome.message_ids,
            outcome.detail,
            at,
            outcome.alias,
            outcome.code,
            outcome.refused,
        )
