"""What comes back from outside the engine, and the events that it becomes."""

from dataclasses import dataclass, field

from bot.core.effects import Complete, Send, Tell
from bot.core.events import CallEnded, CallProgressed, SendEnded
from bot.runtime.addressing import learn_alias
from bot.runtime.batch import Batch
from bot.runtime.broadcasts import take_ended
from bot.runtime.operator import Request
from bot.runtime.performers import CallResult
from bot.runtime.send_result import SendResult
from bot.runtime.statuses import give_up_if_failed
from bot.store.rows import CAMPAIGN, PLAIN, REPLY, CallRow, OutboxRow


@dataclass(slots=True)
class Incoming:
    """What was reported or asked, and waits for the next pass. It is dropped only once it has been committed.

    A row among the requests is one that is to be claimed.
    """

    sent: list[SendResult] = field(default_factory=list)
    called: list[CallResult] = field(default_factory=list)
    requests: list[Request | OutboxRow | CallRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.sent) + len(self.called) + len(self.requests)

    def first(self, most: int) -> "Incoming":
        """The first of it, results before requests."""
        sent = self.sent[:most]
        called = self.called[: most - len(sent)]
        return Incoming(sent, called, self.requests[: most - len(sent) - len(called)])

    def drop(self, taken: "Incoming") -> None:
        """Take away what `first` gave."""
        del self.sent[: len(taken.sent)]
        del self.called[: len(taken.called)]
        del self.requests[: len(taken.requests)]


def take_sent(batch: Batch, result: SendResult) -> None:
    """Note what came of a message.

    The session hears of its own message where it asked to, or where it did not go as planned. One that was refused is
    no dead letter where the session puts a plain text in its place.
    """
    row = result.row
    if result.state in ("retry", "held"):
        batch.commit.send_again(row, result.attempts, result.due_at or batch.now, result.detail)
        return
    if row.priority == CAMPAIGN:
        take_ended(batch, result)
    else:
        state = _told(batch, result) or result.state
        batch.commit.send_ended(row, state, result.message_ids, result.attempts, result.detail, result.at)
    give_up_if_failed(batch, result.message_ids)
    if result.alias is not None:
        learn_alias(batch, result.alias, row.contact)


def _told(batch: Batch, result: SendResult) -> str | None:
    """Let the session hear of its own message, if it wants to. The outcome where it puts a plain text in its place."""
    row, effect, state = result.row, result.row.effect, result.state
    if row.priority != REPLY or not isinstance(effect, Send) or (state == "sent" and not effect.report):
        return None
    outcome, message = ("refused", effect.message) if result.refused else (state, None)
    turn = batch.take(SendEnded(f"sent:{row.ref}", row.contact, batch.now, row.ref, outcome, result.detail, message))
    return PLAIN if turn is not None and turn.in_plain_text else None


def take_called(batch: Batch, result: CallResult) -> None:
    """Note what came of a call, and let the session hear of its end."""
    row = result.row
    _add_usage(batch, result)
    if result.outcome == "said":
        batch.commit.call_said(row)
        said = f"call:{row.ref}:{result.said}"
        batch.take(CallProgressed(said, row.contact, batch.now, row.ref, result.value))
        return
    if result.outcome == "retry":
        batch.commit.call_again(row, result.attempts, result.due_at or batch.now, result.detail)
        return
    batch.commit.call_ended(row)
    if isinstance(row.effect, Tell):
        return
    ended = CallEnded(f"call:{row.ref}", row.contact, batch.now, row.ref, result.outcome, result.value, result.detail)
    batch.take(ended)


def take_late(batch: Batch, result: SendResult | CallResult) -> None:
    """Drop a second result of the same thing, with a line in the trace; without one where the contact was erased.

    What a model used up for it is counted all the same.
    """
    if batch.store.knows(result.row.contact):
        if isinstance(result, CallResult):
            _add_usage(batch, result)
        batch.commit.add_note(result.row.contact, result.row.ref, "{}", "late", "a second result was dropped")


def _add_usage(batch: Batch, result: CallResult) -> None:
    flow = result.row.effect.flow if isinstance(result.row.effect, Complete) else ""
    for usage in result.usage:
        batch.commit.add_usage(result.row, flow, usage)
