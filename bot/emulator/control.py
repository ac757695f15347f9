"""The control API under ``/emulator``, by which another process drives the emulator. It is no part of the gateway."""

import dataclasses
from base64 import b64decode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from flask import Flask, Response, request

from bot.emulator.account import NotShown
from bot.emulator.answers import encode
from bot.emulator.templates import MessageTemplate, TemplateButton

if TYPE_CHECKING:
    from bot.emulator.emulator import Emulator

Body = dict[str, Any]

MEDIA_LIFETIME = timedelta(hours=24)


def control_app(emulator: "Emulator") -> Flask:
    """The control routes, and the media that contacts send. A request that makes no sense is answered 400."""
    app = Flask("bot.emulator", static_folder=None)
    control = _Control(emulator)
    routes = _routes(emulator, control)

    def view(path: str) -> Response:
        answer = routes.get((request.method, f"/{path}"))
        return Response("no such route", 404) if answer is None else _answered(answer)

    # one rule for all: to compile one for each took most of the time that an emulator needs to start
    app.add_url_rule("/emulator/<path:path>", "control", view, methods=["GET", "POST", "DELETE"])
    app.add_url_rule("/media/<int:sent_at>/<name>", "media", control.media)
    return app


def _routes(emulator: "Emulator", control: "_Control") -> dict[tuple[str, str], Callable[[Body], Any]]:
    return {
        ("GET", "/counts"): lambda body: emulator.counts,
        ("GET", "/sent"): control.sent,
        ("GET", "/acknowledged"): lambda body: emulator.acknowledged,
        ("GET", "/unknown-fields"): lambda body: sorted(emulator.unknown_fields),
        ("GET", "/idle"): control.idle,
        ("POST", "/receive"): control.receive,
        ("POST", "/tap"): lambda body: emulator.tap(**body),
        ("POST", "/assign"): lambda body: emulator.assign(**body),
        ("POST", "/resolve"): lambda body: emulator.resolve(**body),
        ("POST", "/contacts"): lambda body: emulator.edit(**body),
        ("POST", "/statuses"): lambda body: emulator.status(**body),
        ("POST", "/events"): lambda body: emulator.emit(**body),
        ("POST", "/webhooks"): lambda body: emulator.subscribe(**body).record(),
        ("POST", "/windows"): control.windows,
        ("POST", "/templates"): control.template,
        ("POST", "/behaviour"): emulator.behaviour.change,
        ("POST", "/faults"): control.fault,
        ("DELETE", "/faults"): lambda body: emulator.faults.clear(),
    }


def _answered(answer: Callable[[Body], Any]) -> Response:
    try:
        body: Body = request.args.to_dict() if request.method == "GET" else request.get_json(silent=True) or {}
        if "at" in body:
            body["at"] = datetime.fromisoformat(body["at"])
        return Response(encode(answer(body)), 200, content_type="application/json")
    except (TypeError, ValueError, LookupError, NotShown) as problem:
        return Response(encode({"error": str(problem)}), 400, content_type="application/json")


class _Control:
    def __init__(self, emulator: "Emulator") -> None:
        self._emulator = emulator

    def receive(self, body: Body) -> str:
        """A contact writes. The ``content`` of a file comes in base64."""
        if "content" in body:
            body["content"] = b64decode(body["content"], validate=True)
        return self._emulator.receive(**body)

    def media(self, sent_at: int, name: str) -> Response:
        """A file that a contact sent; its address expires."""
        if self._emulator.clock.now() - datetime.fromtimestamp(sent_at, UTC) > MEDIA_LIFETIME:
            return Response("expired", 404)
        content = self._emulator.media.get(name)
        if content is None:
            return Response("no such file", 404)
        return Response(content, 200, content_type="application/octet-stream")

    def sent(self, body: Body) -> Any:
        """The messages kept, from the one numbered ``after`` on."""
        messages = self._emulator.sent[int(body.get("after", 0)) :]
        return [{**dataclasses.asdict(message), "at": message.at.isoformat()} for message in messages]

    def idle(self, body: Body) -> bool:
        """Whether no event is being delivered or due; waits for it ``within`` so many seconds."""
        return self._emulator.wait_until(self._emulator.idle, float(body.get("within", 0)))

    def windows(self, body: Body) -> None:
        """Open the windows of ``contacts``."""
        for contact in body["contacts"]:
            self._emulator.open_window(contact)

    def template(self, body: Body) -> None:
        """Register a template."""
        buttons = tuple(TemplateButton(**button) for button in body.pop("buttons", ()))
        self._emulator.templates.add(MessageTemplate(**body, buttons=buttons))

    def fault(self, body: Body) -> None:
        """Switch a fault on; ``when`` names what the request's ``endpoint``, ``to``, ``type`` or ``key`` must be."""
        when = body.pop("when", None)
        self._emulator.faults.add(**body, when=_predicate(when) if when else None)


def _predicate(wanted: Mapping[str, Any]) -> Callable[[Any], bool]:
    return lambda subject: all(getattr(subject, name, None) == value for name, value in wanted.items())
