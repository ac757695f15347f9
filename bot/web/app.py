"""The webhook and the two questions of health."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from flask import Flask, Response, request

from bot.clock import Clock
from bot.gateway import webhook
from bot.store.inbox import InboxBusy, InboxWriter
from bot.web.server import BODY_BYTES

RETRY_AFTER = 5  # seconds
log = logging.getLogger("bot.web")


@dataclass(frozen=True, slots=True)
class Door:
    """What the webhook needs: where events go, who may send them, and whom to wake."""

    inbox: InboxWriter
    secrets: Sequence[str]
    tolerance: timedelta
    clock: Clock
    wake: Callable[[], None]  # must not block
    engine_is_up: Callable[[], bool]
    path: str = "/webhook"


def create_app(door: Door) -> Flask:
    """The Flask app of the web process."""
    app = Flask("bot.web", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_BYTES
    for number, path in enumerate({"/webhook", door.path}):
        app.add_url_rule(path, f"webhook{number}", lambda: receive(door), methods=["POST"])
    app.add_url_rule("/healthz", "healthz", lambda: _say(200, "alive"))
    app.add_url_rule("/readyz", "readyz", lambda: _ready(door))
    app.register_error_handler(404, lambda _: _say(404, f"nothing is here: events go to POST {door.path}"))
    app.register_error_handler(405, lambda _: _say(405, f"events go to POST {door.path}"))
    app.register_error_handler(413, lambda _: _say(413, f"an event has at most {BODY_BYTES} bytes"))
    return app
