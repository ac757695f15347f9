"""The questions of monitors: ``/healthz``, ``/readyz`` and ``/metrics``."""

import json
from collections.abc import Callable
from typing import Any

from flask import Flask, Response

from bot.alarms import Alarms
from bot.core.errors import BotError
from bot.metrics import CONTENT_TYPE, WebMetrics
from bot.store.group_commit import InboxBusy
from bot.store.inbox import InboxWriter
from bot.web.answers import RETRY_AFTER, say

Ask = Callable[[dict[str, Any]], dict[str, Any]]
"""Asks the engine what an operator may ask. Raises a `BotError` where it does not answer."""


class Health:
    """How the bot is. ``ask`` asks the engine, whose alarms and metrics are shown beside the web process's own."""

    def __init__(self, inbox: InboxWriter, ask: Ask, alarms: Alarms, metrics: WebMetrics) -> None:
        self._inbox = inbox
        self._ask = ask
        self._alarms = alarms
        self._metrics = metrics

    def add_to(self, app: Flask) -> None:
        """Answer at the three addresses."""
        app.add_url_rule("/healthz", "healthz", lambda: say(200, "alive"))
        app.add_url_rule("/readyz", "readyz", self.ready)
        app.add_url_rule("/metrics", "metrics", self.metrics)

    def ready(self) -> Response:
        """200 while an event can be kept and the engine answers; with the kinds of all alarms, whatever they are about."""
        try:
            self._inbox.check()
        except InboxBusy as error:
            return say(503, str(error), RETRY_AFTER)
        status = self._answer({"do": "status"})
        if status is None:
            return say(503, "the engine does not answer", RETRY_AFTER)
        kinds = {alarm.name for alarm in self._alarms.current()} | {alarm["name"] for alarm in status["alarms"]}
        body = {"ok": True, "message": "ready", "alarms": sorted(kinds)}
        return Response(json.dumps(body), 200, content_type="application/json")

    def metrics(self) -> Response:
        """What both processes count, in Prometheus' text format; the web process's alone while the engine is silent."""
        engine = self._answer({"do": "metrics"})
        own = self._metrics.text(self._alarms.current(), engine is not None)
        return Response(own + (engine["text"] if engine else ""), 200, content_type=CONTENT_TYPE)

    def _answer(self, request: dict[str, Any]) -> dict[str, Any] | None:
        try:
            answer = self._ask(request)
        except BotError:
            return None
        return None if "error" in answer else answer
