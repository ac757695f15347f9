"""One try of one message: may it go, how did it go, and what follows from that (decisions: "Sending", "Window")."""

import logging
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from bot.clock import Clock
from bot.core.messages import Message, Template
from bot.gateway.client import Gateway
from bot.gateway.errors import (
    ChannelNotFound,
    EndpointRefused,
    GatewayError,
    NotReached,
    OutcomeUnknown,
    RateLimited,
    TemplateRequired,
    Unauthorized,
)
from bot.gateway.rate import Rate
from bot.store.rows import WINDOW, OutboxRow

LONGEST_BACKOFF = 60.0  # seconds
SHUT = "the 24-hour window is shut"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Silence:
    """A window that is shut: the contact's newest message, and whether a template went in place of one since."""

    newest: datetime | None
    replaced: bool


@dataclass(slots=True)
class Lane:
    """A contact's messages in order, and what is known of the first one, which is the only one that is tried."""

    contact: str
    rows: deque[OutboxRow] = field(default_factory=deque)
    silence: Silence | None = None
    attempts: int = 0
    tried_since: datetime | None = None
    unclear: bool = False  # a try may have been sent

    def begin(self) -> None:
        """The first row is a new one."""
        self.attempts = self.rows[0].attempts
        self.tried_since = None
        self.unclear = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a try came to. ``again``: the next try may be made at once, and nobody need hear of this one.

    ``requested`` tells whether a request reached the gateway, and so counts against its limits; until
    ``pause_until`` nobody's does.
    """

    state: str
    detail: str = ""
    message_ids: tuple[str, ...] = ()
    due_at: datetime | None = None
    requested: bool = False
    rate: Rate | None = None
    pause_until: datetime | None = None


class Sender:
    """Makes tries, from any thread, one at a time for each contact. See `bot.runtime.delivery.Delivery`."""

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        window: Callable[[str], datetime | None],
        replaced: Callable[[str], datetime | None],
        claim: Callable[[OutboxRow], None],
        random: Random,
        repeat_unclear: bool,
    ) -> None:
        self._gateway = gateway
        self._clock = clock
        self._window = window
        self._replaced = replaced
        self._claim = claim
        self._random = random
        self._repeat_unclear = repeat_unclear

    def send(self, lane: Lane) -> Outcome:
        """Try the lane's first message once."""
        row, now = lane.rows[0], self._clock.now()
        if isinstance(row.message, Template) or self._is_open(lane, now):
            message: Message = row.message
        elif (blocked := _blocked(lane)) is not None:
            return blocked
        else:
            assert row.instead is not None
            message = row.instead
        lane.tried_since = lane.tried_since or now
        lane.attempts += 1
        try:
            return self._request(lane, message)
        except GatewayError as error:
            return self._failed(lane, message, error)
        except Exception as defect:  # of ours: it must cost no other message, and its text may quote this one
            frames = "".join(traceback.format_tb(defect.__traceback__))
            log.error("a defect while a message was sent: %s\n%s", type(defect).__name__, frames)
            return Outcome("unknown", f"a defect of the bot's: {type(defect).__name__}", requested=True)

    def _request(self, lane: Lane, message: Message) -> Outcome:
        row = lane.rows[0]
        if not self._gateway.keyed(message):
            self._claim(row)
        if message is row.message:
            sent = self._gateway.send(row.contact, message, row.key)
            return Outcome("sent", "", sent.message_ids, requested=True, rate=sent.rate)
        sent = self._gateway.send(row.contact, message, f"{row.key}-instead")
        assert lane.silence is not None
        lane.silence.replaced = True
        return Outcome("replaced", SHUT, sent.message_ids, requested=True, rate=sent.rate)

    def _is_open(self, lane: Lane, now: datetime) -> bool:
        until = lane.rows[0].window_until
        if lane.silence is None and until is not None and now < until:
            return True
        newest = self._window(lane.contact)
        if lane.silence is not None and lane.silence.newest == newest:
            return False
        if newest is not None and now < newest + WINDOW:
            lane.silence = None
            return True
        self._shut(lane, newest)
        return False

    def _shut(self, lane: Lane, newest: datetime | None) -> None:
        replaced = self._replaced(lane.contact)
        lane.silence = Silence(newest, replaced is not None and (newest is None or replaced > newest))

    def _failed(self, lane: Lane, message: Message, error: GatewayError) -> Outcome:
        match error:
            case EndpointRefused():
                lane.attempts -= 1
                return Outcome("again", requested=True, rate=error.rate)
            case TemplateRequired() if not isinstance(message, Template):
                self._shut(lane, self._window(lane.contact))
                return _blocked(lane, requested=True, rate=error.rate) or Outcome(
                    "again", requested=True, rate=error.rate
                )
            case Unauthorized() | ChannelNotFound():
                lane.attempts -= 1
                lane.tried_since = None
                return Outcome("held", str(error), due_at=self._clock.now(), requested=True, rate=error.rate)
            case RateLimited():
                until = error.rate.retry_at(self._clock.now()) or self._backoff(lane.attempts)
                return self._retry(lane, error, until, pause_until=until)
            case OutcomeUnknown() if not error.keyed and (lane.unclear or not self._repeat_unclear):
                return Outcome("unknown", str(error), requested=True, rate=error.rate)
            case _ if error.retry:
                lane.unclear = lane.unclear or isinstance(error, OutcomeUnknown)
                return self._retry(lane, error, self._backoff(lane.attempts))
        return Outcome("failed", str(error), requested=True, rate=error.rate)

    def _retry(
        self, lane: Lane, error: GatewayError, due_at: datetime, pause_until: datetime | None = None
    ) -> Outcome:
        row = lane.rows[0]
        state, detail = "retry", str(error)
        assert lane.tried_since is not None
        if due_at > lane.tried_since + (row.expires_at - row.created_at):
            state = "unknown" if lane.unclear else "failed"
            detail = f"given up after {lane.attempts} tries: {detail}"
        requested = not isinstance(error, NotReached)
        return Outcome(state, detail, (), due_at, requested, error.rate, pause_until)

    def _backoff(self, attempts: int) -> datetime:
        seconds = min(2.0 ** min(attempts - 1, 10), LONGEST_BACKOFF)
        return self._clock.now() + timedelta(seconds=seconds * self._random.uniform(1.0, 1.25))


def _blocked(lane: Lane, requested: bool = False, rate: Rate | None = None) -> Outcome | None:
    """What becomes of a message behind a shut window; None when its template is to go in its place."""
    assert lane.silence is not None
    if lane.silence.replaced:
        return Outcome("covered", f"{SHUT}, and a template went since", requested=requested, rate=rate)
    if lane.rows[0].instead is None:
        return Outcome("failed", f"{SHUT}, and no window_closed template is declared", requested=requested, rate=rate)
    return None
