"""One attempt to send one message: may it go, what came of it, and what follows from that (decisions: "Sending",
"Window").

`Sender.begin` decides what goes, and begins the request; nobody waits for its answer, which ends the attempt. All that
is known between attempts stands in the contact's queue.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import field, replace
from datetime import datetime, timedelta
from enum import Enum
from functools import partial
from random import Random
from typing import Any, Self

from bot.core.clock import Clock, ExpiryTime, backoff
from bot.core.defects import found
from bot.core.effects import REPLY_TRIED_FOR, ListContacts, PutContact
from bot.core.errors import BotError
from bot.core.immutable import immutable, mutable
from bot.core.messages import Message, TemplateMessage
from bot.core.session import HAS_OPTED_OUT, window_until
from bot.services.gateway.gateway_account import ContactInfo, ContactPut, Page
from bot.services.gateway.gateway_answers import (
    BY_CODE,
    ChannelNotFound,
    EndpointRefused,
    EndpointUnavailable,
    GatewayError,
    GatewayRateLimited,
    GatewayRefused,
    GatewayUnauthorized,
    KeyUsed,
    NotTheGateway,
    OutcomeUnknown,
    Rate,
    Sent,
    TemplateRequired,
)
from bot.services.gateway.gateway_client import Gateway
from bot.store.rows import REPLY, OutboxRow

OLDEST = timedelta(days=3)
"""The greatest age at which a message is tried, even if nothing could be sent until then. A restored store may have
older ones.
"""

LONGEST_RETRY_AFTER = REPLY_TRIED_FOR.total_seconds()
"""The longest ``Retry-After`` that is obeyed, in seconds: as long as a reply is tried. A longer one may be a mistake.
"""

ADDRESS, ACCOUNT, LIMITS, CHANNEL = "address", "account", "limits", "channel"
"""The causes of a refusal that concern more than one message: address (or what the account may do there), key, limits,
channel.
"""

_FAULTS: dict[type[GatewayError], str] = {
    NotTheGateway: ADDRESS,
    EndpointUnavailable: ADDRESS,
    GatewayUnauthorized: ACCOUNT,
    GatewayRateLimited: LIMITS,
    ChannelNotFound: CHANNEL,
}

WINDOW_CLOSED = "the 24-hour window is closed"
NEWER = "something newer about the contact follows"
REFUSED, UNCLEAR, WINDOW_CLOSED_CODE = "refused", "unclear", "window_closed"


class OtherRoute(Enum):
    """Routes that are no channels."""

    CONTACTS = "contact changes"
    COMMANDS = "commands"


Route = str | OtherRoute
"""The route of a request: a channel, by its id (empty: the account's own one), or one of `OtherRoute`."""

QueueName = tuple[str, int, Route]
"""A contact, a priority and a route."""


def route_name(route: Route) -> str:
    """The name of a route within a sentence."""
    if isinstance(route, OtherRoute):
        return route.value
    return f"the channel {route}" if route else "the account's own channel"


@mutable
class ClosedWindow:
    """A closed window: when the contact wrote last, and whether a template went in place of a message since then."""

    last_inbound: datetime | None
    replaced: bool


@immutable
class ContactLimitReached:
    """The contact's share of ``a_day`` requests is used up, and no request is free before the message expires.

    The ``first`` such message of a contact becomes a dead letter. Later ones do not: a flood would hide all other
    letters.
    """

    a_day: int
    first: bool

    def attempt(self) -> "SendAttempt":
        """The attempt that ends the message: failed for the contact's first one, ``contact_limit`` for the others."""
        words = f"CONTACT_LIMIT: the contact's {self.a_day} requests of 24 hours (BOT_GATEWAY_PER_CONTACT) are used up"
        if self.first:
            return SendAttempt(
                "failed", f"{words}; `bot trace` shows what else is not sent to it until some are free again"
            )
        return SendAttempt("contact_limit", words)


@mutable
class ContactQueue:
    """A contact's rows of one priority and one route, in order. Only the first row is tried; the other fields are about
    it.

    ``limited_by_itself`` is the fault for which the gateway refuses this contact's row, while it takes those of others.
    ``lost`` are the idempotency keys of requests that may have been carried out, because their answers were lost. Times
    are those of `bot.core.clock.Clock.elapsed`.
    """

    contact: str
    priority: int
    route: Route
    rows: deque[OutboxRow]
    closed_window: ClosedWindow | None = None
    attempts: int = 0
    tried_since: float | None = None
    unclear: bool = False  # an attempt may have sent the message
    lost: set[str] = field(default_factory=set)
    in_flight: bool = False
    keyed: bool = False  # whether the request in flight has a key
    ended: bool = False  # the first row is done with, and that is not stored yet
    permit: int = 0  # of the request in flight
    probe: bool = False  # whether that one finds out whether the route is open again
    due_at: float = 0.0
    unreported: bool = False  # the last attempt only led to another endpoint or to a template
    contact_limit: ContactLimitReached | None = None
    limited_by_itself: str = ""
    kept_back: tuple[str, int] = "", 0  # the first row's last fault, and how often its route had been closed then

    @property
    def name(self) -> QueueName:
        """The queue's name among all queues."""
        return self.contact, self.priority, self.route

    def begin(self) -> None:
        """Begin with a new first row."""
        self.attempts = self.rows[0].attempts
        self.tried_since = None
        self.unclear = self.rows[0].unclear
        self.lost = {self.rows[0].key} if self.unclear or self.rows[0].repeated else set()
        self.ended = False
        self.unreported = False
        self.contact_limit = None
        self.limited_by_itself = ""
        self.kept_back = "", 0


@immutable
class SendAttempt:
    """The result of an attempt, by its ``state``: as in `SendResult`; or ``again``: the next attempt may be made at
    once, and this one is not reported.

    A next attempt comes after ``wait`` seconds. ``requested``: a request reached the gateway, and so counts against its
    limits. ``refused``: the gateway does not take the message itself. It stays False if the template in its place was
    refused. ``fault`` is the cause if it concerns others, too: `ADDRESS`, `ACCOUNT`, `LIMITS` or `CHANNEL`.
    ``retry_after`` are the seconds that the gateway asks to wait. ``advice`` is the text for the log: the gateway's
    words may quote a contact. ``code`` is the gateway's code for its refusal, or `REFUSED` if it named no code;
    `UNCLEAR` if nobody can tell whether the message was sent; `WINDOW_CLOSED_CODE` if the window was closed.
    ``key_helps``: the outcome is unknown, but the gateway may still recognise the message by its key. ``page`` is the
    page of contacts that was asked for.
    """

    state: str
    detail: str = ""
    message_ids: tuple[str, ...] = ()
    wait: float | None = None
    requested: bool = False
    refused: bool = False
    rate: Rate | None = None
    fault: str = ""
    retry_after: float | None = None
    alias: str | None = None
    advice: str = ""
    code: str = ""
    key_helps: bool = False
    page: Page[ContactInfo] | None = None

    @property
    def must_be_stored(self) -> bool:
        """True if the contact's next message waits until this end is durable.

        Otherwise, after a crash, this message would be tried again and could arrive after the next one. A message that
        was sent is recognised by its key, and a contact without a share gets nothing anyway: for these nobody waits.
        """
        return self.state not in ("sent", "contact_limit")


@immutable
class SendResult:
    """The result of a message, or of an attempt, as delivery reports it.

    ``state``: ``sent``; ``replaced`` (the window was closed, its template went); ``superseded`` (the window was closed,
    and a template went since the contact's newest message; or something newer about the contact follows); ``opted_out``
    (a campaign's, to a contact who wants none); ``contact_limit`` (the contact's share is used up, and an earlier
    message has failed for it); ``failed``; ``unknown`` (nobody can tell). Or it will be tried again: ``retry`` at
    ``due_at``; ``held`` (nothing can be sent at all, see `Delivery.status`). ``refused``: the message failed because
    the gateway does not accept it as it is. ``alias`` is as in `bot.services.gateway.gateway_answers.Sent`, ``code``,
    ``key_helps`` and ``page`` as in `SendAttempt`; ``unclear`` says that an attempt may have been sent.
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
    unclear: bool = False
    key_helps: bool = False
    page: Page[ContactInfo] | None = None

    @classmethod
    def of(cls, queue: ContactQueue, attempt: SendAttempt, at: datetime) -> Self:
        """The result of an attempt for a queue's first message."""
        return cls(
            queue.rows[0],
            attempt.state,
            queue.attempts,
            None if attempt.wait is None else at + timedelta(seconds=attempt.wait),
            attempt.message_ids,
            attempt.detail,
            at,
            attempt.alias,
            attempt.code,
            attempt.refused,
            queue.unclear,
            attempt.key_helps,
            attempt.page,
        )


Content = Message | PutContact | ListContacts
"""The content of one request."""


Ended = Callable[[ContactQueue, SendAttempt], None]
"""Takes the result of an attempt to send a queue's first message, on any thread."""

Claim = Callable[[OutboxRow, Callable[[BotError | None], None]], None]
"""Makes durable that a row is about to be sent, then calls back: with None, or with the error that prevented it."""


class Sender:
    """Makes attempts, from any thread, one at a time for each contact. See `bot.runtime.delivery.Delivery`."""

    def __init__(
        self,
        gateway: Gateway,
        clock: Clock,
        ended: Ended,
        last_inbound: Callable[[str], datetime | None],
        replaced: Callable[[str], datetime | None],
        opted_out: Callable[[str], bool],
        claim: Claim,
        random: Random,
        repeat_unclear: bool,
    ) -> None:
        self._gateway = gateway
        self._clock = clock
        self._time = ExpiryTime(clock)
        self._ended = ended
        self._last_inbound = last_inbound
        self._replaced = replaced
        self._opted_out = opted_out
        self._claim = claim
        self._random = random
        self._repeat_unclear = repeat_unclear

    def begin(self, queues: Iterable[ContactQueue]) -> None:
        """Begin to try the first message of each queue once. Raises nothing, and waits for nobody but the store.

        ``ended`` may be called before this returns.
        """
        now = self._time.now()
        for queue in queues:
            self._guarded(queue, self._begin, now)

    def _guarded(self, queue: ContactQueue, do: Callable[..., SendAttempt | None], *given: Any) -> None:
        """Do a part of an attempt. The attempt ends with what the part returns; None: an answer will end it."""
        try:
            attempt = do(queue, *given)
        except BotError as error:  # of the store's: nothing was sent
            attempt = SendAttempt("retry", str(error), wait=self._backoff(queue))
        except Exception as defect:  # of ours: it must cost no other message
            found(defect, "delivery", ends_process=False)
            attempt = SendAttempt("unknown", f"a defect of the bot's: {type(defect).__name__}", requested=True)
        if attempt is None:
            return
        try:
            self._ended(queue, attempt)
        except Exception as defect:  # the attempt has ended all the same: who called must not end it once more
            found(defect, "delivery")

    # Before the request

    def _begin(self, queue: ContactQueue, now: datetime) -> SendAttempt | None:
        content = self._content(queue, now)
        if isinstance(content, SendAttempt):
            return content
        queue.keyed = isinstance(content, PutContact | ListContacts) or self._gateway.keyed(content)
        if queue.keyed:
            self._request(queue, content)
        elif queue.unclear and not self._repeats(queue.rows[0]):  # another endpoint took it before
            return SendAttempt(
                "unknown", "it may have been sent, and now no key keeps it from being sent twice", code=UNCLEAR
            )
        else:
            self._claim(queue.rows[0], partial(self._guarded, queue, self._claimed, content))
        return None

    def _claimed(self, queue: ContactQueue, content: Message, error: BotError | None) -> None:
        if error is not None:
            raise error
        self._request(queue, content)

    def _content(self, queue: ContactQueue, now: datetime) -> Content | SendAttempt:
        row = queue.rows[0]
        if now > row.created_at + OLDEST:
            text = f"it is older than {OLDEST.days} days"
            return SendAttempt("unknown", text, key_helps=True) if queue.unclear else SendAttempt("failed", text)
        if queue.contact_limit is not None:
            return queue.contact_limit.attempt()
        if isinstance(row.effect, ListContacts):
            return row.effect
        if isinstance(row.effect, PutContact):
            return SendAttempt("superseded", NEWER) if len(queue.rows) > 1 else row.effect
        if row.priority != REPLY and self._opted_out(row.contact):
            return SendAttempt("opted_out", HAS_OPTED_OUT)
        message, instead = row.effect.message, row.effect.instead
        if isinstance(message, TemplateMessage) or self._is_open(queue, now):
            return message
        return _blocked(queue) if instead is None or _replaced(queue) else instead

    def _is_open(self, queue: ContactQueue, now: datetime) -> bool:
        until = queue.rows[0].window_until
        if queue.closed_window is None and until is not None and now < until:
            return True
        last = self._last_inbound(queue.contact)
        if queue.closed_window is not None and queue.closed_window.last_inbound == last:
            return False
        until = window_until(last)
        if until is not None and now < until:
            queue.closed_window = None
            return True
        self._note_closed(queue, last)
        return False

    def _note_closed(self, queue: ContactQueue, last: datetime | None) -> None:
        replaced = self._replaced(queue.contact)
        queue.closed_window = ClosedWindow(last, replaced is not None and (last is None or replaced > last))

    # The request

    def _request(self, queue: ContactQueue, content: Content) -> None:
        if queue.tried_since is None:
            queue.tried_since = self._clock.elapsed()
        queue.attempts += 1
        row, done = queue.rows[0], partial(self._guarded, queue, self._result, content)
        if isinstance(content, PutContact):
            self._gateway.begin_put_contact(row.contact, content.name, content.email, content.tags, done)
        elif isinstance(content, ListContacts):
            self._gateway.begin_contacts_page(content.page, done)
        else:
            key = self._key(queue, content)
            self._gateway.begin_send(row.contact, content, key, row.channel, done, repeated=key in queue.lost)

    def _key(self, queue: ContactQueue, content: Content) -> str:
        """The idempotency key: the message has another one than what goes in its place."""
        key = queue.rows[0].key
        return key if self._is_message(queue, content) else f"{key}-instead"

    def _is_message(self, queue: ContactQueue, content: Content) -> bool:
        """True if this is the message itself, and not what goes in its place."""
        return content is getattr(queue.rows[0].effect, "message", None)

    def _result(
        self, queue: ContactQueue, content: Content, result: Sent | ContactPut | Page[ContactInfo] | GatewayError
    ) -> SendAttempt:
        match result:
            case Sent() if self._is_message(queue, content):
                return _taken("sent", "", result)
            case ContactPut():
                return SendAttempt("sent", requested=True, rate=result.rate)
            case Page():
                return SendAttempt("sent", requested=True, rate=result.rate, page=result)
            case Sent():
                assert queue.closed_window is not None
                queue.closed_window.replaced = True
                return _taken("replaced", WINDOW_CLOSED, result)
        return self._failed(queue, content, result)

    # After a request that failed

    def _failed(self, queue: ContactQueue, content: Content, error: GatewayError) -> SendAttempt:
        """Decide about the queue's first message, whose request failed: the first case that fits.

        `bot.services.gateway.gateway_answers.FailedAnswer.meaning` tells what an answer means.
        """
        match error:
            case EndpointRefused():
                return _attempt("again", error)
            case TemplateRequired() if not isinstance(content, TemplateMessage):
                self._note_closed(queue, self._last_inbound(queue.contact))
                return _attempt("again", error)
            case NotTheGateway() | EndpointUnavailable() if queue.limited_by_itself != ADDRESS:
                queue.tried_since = None
                return replace(refused("held", error, self._clock.now()), wait=self._backoff(queue))
            case GatewayUnauthorized() | ChannelNotFound():
                if isinstance(error, GatewayUnauthorized):
                    queue.attempts -= 1  # it is nobody's request, and counts against no limit
                queue.tried_since = None
                return replace(refused("held", error, self._clock.now()), wait=0.0)
            case GatewayRateLimited() if queue.limited_by_itself != LIMITS:
                queue.tried_since = None  # waiting for the limits uses up no message's time
                return replace(refused("retry", error, self._clock.now()), wait=self._backoff(queue, error))
            case OutcomeUnknown() if isinstance(content, PutContact | ListContacts):
                pass  # it can be done twice
            case OutcomeUnknown() if not error.keyed and (queue.unclear or not self._repeats(queue.rows[0])):
                return _attempt("unknown", error)
            case OutcomeUnknown():
                queue.unclear = True
                if not error.conflict:
                    queue.lost.add(self._key(queue, content))
            case KeyUsed():
                return _attempt("unknown", error)
            case GatewayRefused() if error.code not in BY_CODE and self._key(queue, content) in queue.lost:
                return _attempt("unknown", error)  # it may be the repetition that is refused
        if error.retry:
            return self._retry(queue, error)
        return replace(_attempt("failed", error), refused=self._is_message(queue, content))

    def _repeats(self, row: OutboxRow) -> bool:
        return self._repeat_unclear and row.priority == REPLY

    def _retry(self, queue: ContactQueue, error: GatewayError) -> SendAttempt:
        row, wait = queue.rows[0], self._backoff(queue, error)
        assert queue.tried_since is not None
        left = queue.tried_since + (row.expires_at - row.created_at).total_seconds() - self._clock.elapsed()
        if self._backoff(queue) <= left:
            return replace(_attempt("retry", error), wait=min(wait, left))
        attempt = _attempt("unknown" if queue.unclear else "failed", error)
        return replace(attempt, detail=f"given up after {queue.attempts} tries: {error}", key_helps=queue.keyed)

    def _backoff(self, queue: ContactQueue, error: GatewayError | None = None) -> float:
        """The seconds until the next attempt: no fewer than the answer asks for, up to `LONGEST_RETRY_AFTER`."""
        said = (error and error.rate.wait(self._clock.now())) or 0.0
        return max(backoff(queue.attempts, self._random), min(said, LONGEST_RETRY_AFTER))


def refused(state: str, error: GatewayError, now: datetime) -> SendAttempt:
    """An attempt that the gateway refused for its key, its limits or its channel."""
    advice = f"{error.asked or error.code}: {error.advice}"
    return replace(_attempt(state, error), fault=_FAULTS[type(error)], retry_after=error.rate.wait(now), advice=advice)


def _taken(state: str, detail: str, sent: Sent) -> SendAttempt:
    return SendAttempt(state, detail, sent.message_ids, requested=True, rate=sent.rate, alias=sent.alias)


def _attempt(state: str, error: GatewayError) -> SendAttempt:
    return SendAttempt(state, str(error), requested=error.requested, rate=error.rate, code=_code(state, error))


def _code(state: str, error: GatewayError) -> str:
    if state == "unknown" or isinstance(error, OutcomeUnknown):
        return UNCLEAR
    return error.code or (REFUSED if isinstance(error, GatewayRefused) else "")


def _replaced(queue: ContactQueue) -> bool:
    return queue.closed_window is not None and queue.closed_window.replaced


def _blocked(queue: ContactQueue) -> SendAttempt:
    """The attempt that ends a message whose window is closed, and for which no template is sent."""
    if _replaced(queue):
        return SendAttempt("superseded", f"{WINDOW_CLOSED}, and a template went since")
    return SendAttempt("failed", f"{WINDOW_CLOSED}, and no window_closed template is declared", code=WINDOW_CLOSED_CODE)
