"""Broadcasts in the engine's file: which template, to whom, and what became of each message.

A recipient waits until its message is in the outbox, and has an outcome once that is done, or once the broadcast was
stopped. It is never deleted, so that nobody gets a broadcast twice, however often it is asked for.
"""

from dataclasses import dataclass, replace

from bot.core import codec
from bot.core.messages import Template

BROADCAST = "SELECT template FROM broadcasts WHERE name = ?"
IS_RECIPIENT = "SELECT 1 FROM recipients WHERE broadcast = ? AND contact = ?"

# Every pass asks these two: the index of `send_id`, which SQLite would take, holds all who ever got a broadcast.
WAITING = """
    SELECT recipients.id, broadcast, contact, body, template, retries
    FROM recipients INDEXED BY recipients_waiting JOIN broadcasts ON broadcasts.name = recipients.broadcast
    WHERE send_id IS NULL AND outcome IS NULL ORDER BY recipients.id LIMIT ?
"""
IN_OUTBOX = """
    SELECT count(*) FROM recipients INDEXED BY recipients_in_outbox WHERE send_id IS NOT NULL AND outcome IS NULL
"""

WAITING_OF = "SELECT count(*) FROM recipients WHERE broadcast = ? AND send_id IS NULL AND outcome IS NULL"
STOPPED_OF = "SELECT count(*) FROM recipients WHERE broadcast = ? AND outcome = 'stopped'"
STOPPED = "SELECT count(*) FROM recipients WHERE outcome = 'stopped'"
OF_SEND = "SELECT 1 FROM recipients WHERE send_id = ?"
IN_OUTBOX_OF = """
    SELECT outbox.id, outbox.contact, claimed_at IS NOT NULL FROM recipients JOIN outbox ON outbox.id = send_id
    WHERE broadcast = ? AND outcome IS NULL ORDER BY outbox.id
"""
OUTCOMES = """
    SELECT coalesce(outcome, 'waiting'), count(*) FROM recipients WHERE broadcast = ? GROUP BY 1
"""
UNFINISHED = """
    SELECT broadcast, coalesce(outcome, 'waiting'), count(*) FROM recipients
    WHERE outcome IS NULL OR outcome = 'stopped' GROUP BY 1, 2 ORDER BY 1, 2
"""
ADD_BROADCAST = "INSERT INTO broadcasts (name, template, created_at) VALUES (?, ?, ?)"
ADD_RECIPIENT = "INSERT INTO recipients (broadcast, contact, body, added_at) VALUES (?, ?, ?, ?)"
TO_OUTBOX = "UPDATE recipients SET send_id = ? WHERE id = ?"
ENDED = "UPDATE recipients SET outcome = ? WHERE send_id = ?"
WAIT_AGAIN = "UPDATE recipients SET send_id = NULL, outcome = NULL, retries = retries + ? WHERE send_id = ?"
RESUME = "UPDATE recipients SET outcome = NULL WHERE broadcast = ? AND outcome = 'stopped'"
STOP = "UPDATE recipients SET outcome = 'stopped' WHERE broadcast = ? AND send_id IS NULL AND outcome IS NULL"
TAKE_BACK = "UPDATE recipients SET send_id = NULL, outcome = 'stopped' WHERE send_id = ?"


@dataclass(frozen=True, slots=True)
class Recipient:
    """A contact that waits for its message of a broadcast: the template as it is filled in for it.

    ``retries`` is how often an operator had it sent once more after it had failed: each under a key of its own.
    """

    id: int
    broadcast: str
    contact: str
    message: Template
    retries: int


@dataclass(frozen=True, slots=True)
class InOutbox:
    """A message of a broadcast that is in the outbox. ``claimed``: it is being sent, and after a crash is unknown."""

    id: int
    contact: str
    claimed: bool


def recipient(id: int, broadcast: str, contact: str, body: str, template: str, retries: int) -> Recipient:
    """A recipient from its row."""
    parameters = tuple({"type": "text", "text": text} for text in codec.loads(body))
    return Recipient(id, broadcast, contact, replace(codec.loads(template), body=parameters), retries)
