"""The webhook, starts by programs, and the questions of monitors."""

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from bot.clock import Clock
from bot.gateway.webhook import Verdict, envelope, verify
from bot.metrics import WebMetrics
from bot.store.files import StoreUnavailable
from bot.store.group_commit import InboxBusy, InboxRefused
from bot.store.inbox import InboxReader, InboxWriter
from bot.web.answers import RETRY_AFTER, refused, say
from bot.web.health import Health
from bot.web.server import BODY_BYTES
from bot.web.starts import ADDRESS, Starts

DELIVERY_ID = 200  # characters; a longer one is none
log = logging.getLogger("bot.web")


class Webhook:
    """Takes the gateway's events: verified, appended, committed, and only then acknowledged (spec: Events).

    ``log`` is the inbox as a reader, to tell a replay from an event that would be lost. ``wake`` tells the
    engine that there is something to read; it must not block. ``metrics`` counts the answers.
    """

    def __init__(
        self,
        inbox: InboxWriter,
        log: InboxReader,
        secrets: Sequence[str],
        tolerance: timedelta,
        clock: Clock,
        wake: Callable[[], None],
        metrics: WebMetrics,
    ) -> None:
        self._inbox = inbox
        self._log = log
        self._secrets = secrets
        self._tolerance = tolerance
        self._clock = clock
        self._wake = wake
        self._metrics = metrics
        self._counting = threading.Lock()
        self.refused_as_stale = 0
        self.refused_as_forged = 0

    def receive(self) -> Response:
        """Answer one delivery."""
        began = self._clock.elapsed()
        what, response = self._received()
        self._metrics.delivery(what, self._clock.elapsed() - began)
        return response

    def _received(self) -> tuple[str, Response]:
        """What became of a delivery, by `bot.metrics.WebMetrics.delivery`, and its answer."""
        raw = request.get_data(cache=False)
        headers = request.headers
        now = self._clock.now()
        timestamp, signature = headers.get("X-Service-Timestamp"), headers.get("X-Service-Signature")
        match verify(self._secrets, timestamp, signature, raw, now, self._tolerance):
            case Verdict.GENUINE:
                return self._accept(raw, now)
            case Verdict.STALE:
                self._note_stale(raw)
                return "stale", say(
                    401, f"the timestamp is more than {self._tolerance.total_seconds():.0f} seconds off"
                )
            case Verdict.FORGED:
                self._note_forged()
                return "forged", say(401, "the signature does not fit the body and the timestamp")
            case Verdict.MALFORMED:
                return "malformed", say(401, "X-Service-Timestamp (Unix seconds) and X-Service-Signature are needed")

    def _accept(self, raw: bytes, now: datetime) -> tuple[str, Response]:
        event = envelope(raw)
        delivery = request.headers.get("X-Service-Delivery-Id", "")
        known_as = delivery if 0 < len(delivery) <= DELIVERY_ID else None
        try:
            appended = self._inbox.append(known_as, event.id, event.event, event.contact, now, raw, event.readable)
        except InboxBusy:
            return "busy", say(503, "the event cannot be kept now: send it again", RETRY_AFTER)
        except InboxRefused as error:
            log.error("an event was refused: %s", error)
            return "refused", say(400, "the event cannot be kept")
        if appended.duplicate:
            return "duplicate", say(200, "kept already")
        self._wake()
        return "kept", say(200, "kept")

    def _note_forged(self) -> None:
        """With a wrong secret every event is lost; but anybody can send such a request, so the log tells of few."""
        with self._counting:
            self.refused_as_forged += 1
            count = self.refused_as_forged
        if str(count).strip("0") == "1":  # 1, 10, 100, ...
            log.warning(
                "refused so far for a signature that fits no secret: %d. If these are the gateway's events, set "
                "BOT_WEBHOOK_SECRET to what `bot webhook register` showed, and start again: it is read at the start",
                count,
            )

    def _note_stale(self, raw: bytes) -> None:
        """A rightly signed event that nobody has seen is lost if its sender does not stamp each try anew."""
        event = envelope(raw)
        try:
            if self._log.has(event.id):
                return
        except StoreUnavailable:
            pass  # better one warning too many than a loss that nobody hears of
        with self._counting:
            self.refused_as_stale += 1
        try:
            self._inbox.note_stale()
        except InboxBusy:
            pass  # the log line below says it
        log.warning(
            "refused event %s (%s): it is rightly signed and new, but its timestamp is more than %d seconds off; "
            "%d such since the start. If the gateway's retries carry the first try's timestamp, or a clock is wrong, "
            "events are being lost: set this machine's clock, or raise BOT_WEBHOOK_TOLERANCE (up to 10800 seconds)",
            event.id,
            event.event or "unreadable",
            self._tolerance.total_seconds(),
            self.refused_as_stale,
        )


def create_app(
    webhook: Webhook, starts: Starts, health: Health, begun: Callable[[], bool], path: str = "/webhook"
) -> Flask:
    """The Flask app of the web process. ``path`` is a further address of the webhook.

    ``begun``: the engine has begun on these files, at some time. Before, nothing that comes in is accepted: it might
    never be taken.
    """

    def not_begun() -> Response | None:
        if begun() or request.method == "GET":
            return None
        return say(503, "the bot has not begun yet: send it again", RETRY_AFTER)

    app = Flask("bot.web", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES
    app.before_request(not_begun)
    for address in {"/webhook", path}:
        app.add_url_rule(address, address.replace(".", "_"), webhook.receive, methods=["POST"])
    app.add_url_rule(ADDRESS, "start", starts.receive, methods=["POST"])
    health.add_to(app)
    app.register_error_handler(HTTPException, refused)
    return app
