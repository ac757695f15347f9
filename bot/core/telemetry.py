"""Logging: one line a record, to stderr, with no secret, phone number or text of a message in it."""

import hashlib
import json
import logging
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from bot.core.contact_masks import mask_answers, mask_emails, mask_numbers
from bot.core.defects import error_location
from bot.core.effects import Send
from bot.core.events import Event
from bot.core.text import in_letters, without_secret
from bot.core.turn import Turn

_QUIET = ("requests", "transitions", "werkzeug")  # they name addresses and paths
MASKED = "…"
TURNS = "bot.turns"
"""The logger of the engine's turns, one record each. It is silent unless it is configured."""

turn_log = logging.getLogger(TURNS)


def set_up(process: str, secrets: Iterable[str] = (), format: str = "text", *, turns: bool = False) -> None:
    """Send every log record of this process to stderr. ``secrets`` are blotted out wherever they appear.

    ``format`` is ``text`` or ``json``, an object a line; ``turns``: each of the engine's turns is logged, too.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter((_Json if format == "json" else _OneLine)(process, secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.INFO)
    logging.raiseExceptions = False  # it would print a record's raw arguments when stderr is gone
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.ERROR)
    turn_log.setLevel(logging.INFO if turns else logging.WARNING)


def hide(secrets: Iterable[str]) -> None:
    """Blot out these secrets, too, in every record that this process logs from now on."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, _OneLine):
            handler.formatter.hide(secrets)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """The text without secrets and e-mail addresses, and with the last two digits of phone numbers only."""
    for secret in secrets:
        text = without_secret(text, secret, "[secret]")
    return mask_emails(mask_numbers(text, MASKED, 2), MASKED)


def log_turns(turns: Sequence[tuple[Event, Turn, int]], store_id: str) -> None:
    """Log turns with the microseconds of each. ``store_id`` makes the names of contacts, which are no numbers."""
    for event, turn, micros in turns:
        name = in_letters(hashlib.sha256(f"{store_id} {event.contact}".encode()).hexdigest())
        fields = _turn_fields(event, turn, name) | {"microseconds": micros}
        text = " ".join(f"{key}={_value_text(value)}" for key, value in fields.items())
        turn_log.info("turn %s", text, extra={"fields": fields})


def _turn_fields(event: Event, turn: Turn, name: str) -> dict[str, Any]:
    """``name`` is the contact's here, also within the ids that the bot itself gives to events."""
    sends = sum(isinstance(effect, Send) for effect in turn.effects)
    return {
        "contact": name,
        "event": type(event).__name__,
        "event_id": event.id.replace(event.contact, name),
        "rule": mask_answers(turn.trace.rule, MASKED),
        "steps": [
            f"{step.flow}.{step.step}" + ("" if step.outcome is None else f":{step.outcome}")
            for step in turn.trace.steps
        ],
        "sends": sends,
        "calls": len(turn.effects) - sends,
        "wake_at": None if turn.wake_at is None else turn.wake_at.isoformat(timespec="seconds"),
        "failed": turn.failure is not None,
    }


def _value_text(value: Any) -> str:
    text = ">".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text else text or "-"


class _OneLine(logging.Formatter):
    """Time, level, process, text. An exception is its type and where it went through: its words may be a contact's."""

    def __init__(self, process: str, secrets: Iterable[str]) -> None:
        super().__init__()
        self._process = process
        self._secrets: Sequence[str] = ()
        self.hide(secrets)

    def hide(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({*self._secrets, *secrets} - {""}, key=len, reverse=True)  # one may begin with another

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(sep=" ", timespec="milliseconds")[:23]
        return f"{time} {record.levelname.lower():7} {self._process:6} {self._text(record)}"

    def _text(self, record: logging.LogRecord) -> str:
        text = " ".join(record.getMessage().splitlines())
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {error_location(record.exc_info[1])}"
        return redact(text, self._secrets)


class _Json(_OneLine):
    """An object a line: time, level, process, logger and message; or, in its place, the fields that a record brings."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": time, "level": record.levelname.lower(), "process": self._process, "logger": record.name}
        fields = getattr(record, "fields", None)
        fields_or_message = (
            {"message": self._text(record)} if fields is None else {name: self._safe(fields[name]) for name in fields}
        )
        return json.dumps(line | fields_or_message, ensure_ascii=False)

    def _safe(self, value: object) -> object:
        if isinstance(value, list):
            return [self._safe(item) for item in value]
        return redact(value, self._secrets) if isinstance(value, str) else value
