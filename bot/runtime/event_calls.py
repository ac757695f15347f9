"""Delivers events to the address under ``events_to``, signed as the gateway signs its own."""

import json
from collections.abc import Callable, Mapping

from bot.core.alarms import Alarms
from bot.core.clock import Clock
from bot.core.effects import Publish
from bot.core.values import json_default
from bot.language.flow.event_receiver import EventReceiver
from bot.runtime.performers import NO_RECEIVER, CallAttempt, Say
from bot.services.gateway.webhook_events import sign
from bot.services.http_client import ReachabilityAlarm
from bot.services.outgoing import post
from bot.services.request_errors import RequestFailed
from bot.store.rows import CallRow

SECONDS = 10.0
_RECEIVER = ("events-undelivered", "the receiver of events", "see what it answers, and check events_to in bot.yml")


class EventCalls:
    """Performs `Publish`: posts the event. Safe to use from many threads.

    ``receiver`` returns the present one. ``secrets`` has those that it needs.
    """

    def __init__(
        self, receiver: Callable[[], EventReceiver | None], secrets: Mapping[str, str], clock: Clock, alarms: Alarms
    ) -> None:
        self._receiver = receiver
        self._secrets = secrets
        self._clock = clock
        self._reach = ReachabilityAlarm(alarms, clock, *_RECEIVER, trouble="takes none")

    def __call__(self, row: CallRow, say: Say) -> CallAttempt:
        """Deliver the row's event, once. Raises nothing."""
        effect, receiver = row.effect, self._receiver()
        assert isinstance(effect, Publish)
        if receiver is None:
            return CallAttempt(NO_RECEIVER, detail="bot.yml has no events_to any more")
        body = body_of(effect, row.key, row.contact)
        timestamp = str(int(self._clock.now().timestamp()))
        secret = self._secrets.get(receiver.secret)
        if not secret:
            return self._failed("unsigned", f"{receiver.secret} is not set: set it, in the environment or in .env")
        headers = {
            "Content-Type": "application/json",
            "X-Service-Event": effect.name,
            "X-Service-Timestamp": timestamp,
            "X-Service-Delivery-Id": row.key,
            "X-Service-Signature": sign(secret, timestamp, body.encode()),
        }
        try:
            answer = post(receiver.service, self._secrets, body, headers, row.key, SECONDS)
        except RequestFailed as error:
            return self._failed(error.outcome, str(error))
        if not 200 <= answer.status < 300:
            return self._failed(str(answer.status), f"it answered {answer.status}")
        self._reach.answered()
        return CallAttempt("done")

    def _failed(self, outcome: str, detail: str) -> CallAttempt:
        self._reach.failed(detail, "")
        return CallAttempt(outcome, detail=detail)


def body_of(event: Publish, key: str, contact: str) -> str:
    """The JSON of an event, in the form of the gateway's: id, event, timestamp (of the event), data."""
    data = {"contact": contact, **event.data}
    envelope = {"id": key, "event": event.name, "timestamp": int(event.at.timestamp()), "data": data}
    return json.dumps(envelope, default=json_default)
