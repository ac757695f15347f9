"""The view of the bot's state: alarms, queues, limits, and why messages wait."""

from datetime import datetime
from typing import Any

from flask import render_template

from bot.core.engine_answers import Status
from bot.core.engine_requests import AskStatus
from bot.pages.console.page_formats import called
from bot.pages.console.routes import ActionRefused, Console, Route
from bot.pages.console.users import VIEWER, User
from bot.server.local_socket import NotRunning
from bot.server.shard_requests import why_it_waits
from bot.store.database import StoreAddress
from bot.store.rows import PendingSend
from bot.testing.simulation.turn_words import effect_in_words

SHOWN = 50
QUEUES = {
    "outbox": ("message to send", "messages to send"),
    "calls": ("call under way", "calls under way"),
    "events_out": ("event to deliver", "events to deliver"),
    "parked": ("message of a contact that waits for a call", "messages of contacts that wait for a call"),
}


def state(console: Console, user: User) -> str:
    """The page of what is not sent or not accepted now, and why."""
    pending = console.reader.messages.pending(SHOWN)
    status = Status()
    trouble = ""
    try:
        status = console.ask(AskStatus([send.id for send in pending]))
    except (ActionRefused, NotRunning) as error:
        trouble = str(error)
    counts, oldest = console.reader.queue_counts(), console.reader.oldest()
    return render_template(
        "state.html",
        trouble=trouble,
        alarms=[_shown(alarm) for alarm in status.alarms],
        queues=[
            (one if counts[name] == 1 else more, counts[name], oldest.get(name)) for name, (one, more) in QUEUES.items()
        ],
        left=status.left,
        pending=[(send, effect_in_words(send.effect), _why(console.store, send, status)) for send in pending],
        running=not trouble,
        machines=console.reader.database.machines(),
    )


def _shown(alarm: dict[str, str]) -> dict[str, Any]:
    """An alarm as this user sees it: it may name a broadcast."""
    words = {name: called(alarm[name]) for name in ("what", "advice")}
    return {**words, "since": datetime.fromisoformat(alarm["since"])}


def _why(store: StoreAddress, send: PendingSend, status: Status) -> tuple[str, datetime | None]:
    """The reason why a message waits, and until when, if that is known."""
    wait = status.waits.get(str(send.id))
    if wait is None:
        return why_it_waits(store, send.contact, status.silent) or "it waits for earlier messages", None
    until = wait["until"]
    return str(wait["why"]), None if until is None else datetime.fromisoformat(until)


ROUTES = (Route("/state", state, VIEWER, title="State"),)
