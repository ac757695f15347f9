"""Counts each durable commit in the metrics, and writes its turns into the log where `BOT_LOG=turns` asks for it."""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from bot.core.effects import Send
from bot.core.events import Event
from bot.core.text import in_letters
from bot.core.turn import StepTaken, Turn
from bot.metrics import EngineMetrics
from bot.runtime.engine_input import EngineInput
from bot.store.commit import Commit
from bot.store.rows import LogRow
from bot.telemetry import TURNS

_TRIES = ("retry", "held")
log = logging.getLogger(TURNS)


class CommitMetrics:
    """Counts and logs commits. ``store_id`` makes the names of contacts in the log, which are no numbers."""

    def __init__(self, metrics: EngineMetrics, store_id: str) -> None:
        self._metrics = metrics
        self._store_id = store_id

    def committed(
        self, commit: Commit, results: EngineInput, rows: Sequence[LogRow], at: datetime, seconds: float
    ) -> None:
        """A pass has committed: the results and the log's ``rows`` that it took, ``at`` its time, in ``seconds``."""
        metrics = self._metrics
        metrics.committed(len(rows) + len(results), seconds)
        for row in rows:
            metrics.waited(max((at - row.received_at).total_seconds(), 0.0) + seconds)
        for sent in results.sent:
            took = None if sent.state in _TRIES else max((sent.at - sent.row.created_at).total_seconds(), 0.0)
            metrics.sent(sent.row.priority, sent.state, took)
        for called in results.called:
            if called.outcome != "said":
                metrics.called(type(called.row.effect).__name__.lower(), called.outcome)
            for used in called.usage:
                metrics.used(used.model, used.prompt_tokens, used.completion_tokens)
        for what, _, _ in commit.letters:
            metrics.dead_letter(what)
        logs = log.isEnabledFor(logging.INFO)
        for event, turn, micros in commit.turns:
            metrics.turn(type(event).__name__, micros / 1e6)
            if logs:
                _log(self._name_of(event.contact), event, turn, micros)

    def _name_of(self, contact: str) -> str:
        return in_letters(hashlib.sha256(f"{self._store_id} {contact}".encode()).hexdigest())


def _log(name: str, event: Event, turn: Turn, micros: int) -> None:
    """``name`` is the contact's here, also within the ids that the bot itself gives to events."""
    sends = sum(isinstance(effect, Send) for effect in turn.effects)
    fields: dict[str, Any] = {
        "contact": name,
        "event": type(event).__name__,
        "event_id": event.id.replace(event.contact, name),
        "rule": turn.trace.rule,
        "steps": list(_path(turn.trace.steps)),
        "sends": sends,
        "calls": len(turn.effects) - sends,
        "wake_at": None if turn.wake_at is None else turn.wake_at.isoformat(timespec="seconds"),
        "failed": turn.failure is not None,
        "microseconds": micros,
    }
    log.info("turn %s", " ".join(f"{name}={_shown(value)}" for name, value in fields.items()), extra={"fields": fields})


def _path(steps: Sequence[StepTaken]) -> Iterator[str]:
    """Each step by its flow and name, with the outcome by which it was left: ``order.size:answer``."""
    for step in steps:
        yield f"{step.flow}.{step.step}" + ("" if step.outcome is None else f":{step.outcome}")


def _shown(value: Any) -> str:
    text = ">".join(value) if isinstance(value, list) else "" if value is None else str(value)
    return json.dumps(text, ensure_ascii=False) if " " in text else text or "-"
