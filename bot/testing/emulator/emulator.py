"""The gateway's emulator: its Python interface, and the control API for other processes."""

import dataclasses
import secrets
import threading
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal

from flask import Flask, Response, request
from werkzeug.middleware.dispatcher import DispatcherMiddleware

from bot.core.clock import Clock, SystemClock
from bot.testing.emulator.emulated_account import AcceptedMessage, EmulatedAccount, NotShown
from bot.testing.emulator.emulated_templates import MessageTemplate, TemplateButton
from bot.testing.emulator.emulator_server import EmulatorServer
from bot.testing.emulator.event_payloads import EVENTS, SAMPLES, WITH_MEDIA, Inbound
from bot.testing.emulator.gateway_api import GatewayApi, GatewayWire
from bot.testing.emulator.gateway_behaviour import Behaviour
from bot.testing.emulator.injected_faults import Faults
from bot.testing.emulator.interactive import InteractiveChoice
from bot.testing.emulator.request_limits import RequestLimits
from bot.testing.emulator.request_rules import encode
from bot.testing.emulator.webhooks import Subscription, Webhooks

API_KEY = "emulator-key"
SECRET = "emulator-secret-of-32-characters"
CHANNELS = {"channel-1": "15550000001"}


class Emulator:
    """The messaging gateway, built from its specification, on the loopback interface of this machine.

    ``per_minute`` and ``per_day`` are the key's limits. ``channels`` maps channel ids to numbers. ``secret`` signs
    events for webhooks that have no secret of their own. ``latency`` (seconds) is added to every answer; ``threads``
    answer, ``delivery_threads`` deliver events. ``schedule_scale`` multiplies the waits between tries of an event;
    ``answer_within`` (real seconds) is how long a receiver may take. ``keep`` messages and acknowledged events are
    remembered; the counts are of all. ``tunnel`` maps the beginnings of public webhook addresses to local ones: an
    event never leaves this machine. ``seed`` decides on faults with a probability.

    `behaviour` has a switch for every point on which the specification is silent; `faults` are what goes wrong;
    `media` are the files that contacts send, by the last part of their addresses. `templates` are registered,
    `inactive_channels` exist and are switched off. `files` are the known media addresses: a size in bytes, or None for
    one that cannot be reached.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        per_minute: int = 60,
        per_day: int = 10_000,
        api_key: str = API_KEY,
        secret: str = SECRET,
        port: int = 0,
        channels: Mapping[str, str] = CHANNELS,
        schedule_scale: float = 1.0,
        answer_within: float = 5.0,
        latency: float = 0.0,
        threads: int = 16,
        delivery_threads: int = 4,
        keep: int | None = None,
        tunnel: Mapping[str, str] | None = None,
        seed: int = 0,
        behaviour: Behaviour | None = None,
    ) -> None:
        self.clock = clock or SystemClock()
        self.api_key = api_key
        self.secret = secret
        self.behaviour = behaviour or Behaviour()
        self.media: dict[str, bytes] = dict(SAMPLES)
        self._port = port
        self._threads = threads
        self._delivery_threads = delivery_threads
        self._lock = threading.RLock()
        self.faults = Faults(seed, self._lock)
        self._changed = threading.Condition(self._lock)
        self._stopping = threading.Event()
        self._server: EmulatorServer | None = None
        self.webhooks = Webhooks(
            self.clock,
            self._changed,
            self.behaviour,
            self.faults,
            lock=self._lock,
            schedule_scale=schedule_scale,
            answer_within=answer_within,
            keep=keep,
            tunnel=tunnel or {},
        )
        self._account = EmulatedAccount(
            self.clock,
            self.behaviour,
            self.webhooks,
            lock=self._lock,
            changed=self._changed,
            channels=channels,
            keep=keep,
        )
        self.templates, self.files = self._account.templates, self._account.files
        self.inactive_channels = self._account.inactive
        self._api = GatewayApi(
            self._account, RequestLimits(per_minute, per_day, self.behaviour), self.faults, api_key, latency
        )

    def start(self) -> "Emulator":
        """Take the port and begin to answer and to deliver. An emulator is started once."""
        wire = GatewayWire(self._api, self._stopping, self._before_answer, self._after_answer)
        app = DispatcherMiddleware(lambda *asked: self._control(*asked), {"/external-api": wire})
        self._server = EmulatorServer(app, self._port, self._threads)
        self._server.start()
        self.webhooks.start(self._delivery_threads)
        return self

    @cached_property
    def _control(self) -> Flask:
        """The control API. It is made for the first request: Python does not need it, and making it took half of the
        start.
        """
        return control_app(self)

    def stop(self) -> None:
        """Stop: answers that are held are interrupted, connections closed, threads ended."""
        if self._server is None or self._stopping.is_set():
            return
        self._stopping.set()
        self._server.stop()
        self.webhooks.stop()

    def __enter__(self) -> "Emulator":
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The gateway's base address, without ``/external-api``."""
        if self._server is None:
            raise RuntimeError("the emulator has not been started")
        return f"http://127.0.0.1:{self._server.port}"

    # Reading: messages, requests, counts, contacts

    @property
    def sent(self) -> list[AcceptedMessage]:
        """Every accepted message, in order (the last ``keep`` of them)."""
        with self._lock:
            return list(self._account.sent)

    @property
    def requests(self) -> int:
        """The number of requests that came in, whatever their answer."""
        return self._api.counts["requests"]

    @property
    def counts(self) -> dict[str, int]:
        """All counts by name: requests, answers, refusals, messages, events, tries, faults."""
        with self._lock:
            faults = {f"fault {kind}": hits for kind, hits in self.faults.hits.items()}
            return {**self._api.counts, **self._account.counts, **self.webhooks.counts, **faults}

    @property
    def unknown_fields(self) -> set[str]:
        """Fields that requests had and the specification does not, as ``endpoint: path.of.field``."""
        with self._lock:
            return set(self._api.unknown_fields)

    @property
    def reused_keys(self) -> list[str]:
        """Idempotency keys that came again with another body: a mistake of the client."""
        with self._lock:
            return list(self._api.keys.reused)

    @property
    def acknowledged(self) -> list[str]:
        """The ids of all events that a receiver has answered 2xx, in the order of the first such answer."""
        return list(self.webhooks.acknowledged)

    def contact(self, contact: str) -> dict[str, Any]:
        """The gateway's record of a contact. Raises `LookupError` for an unknown one."""
        with self._lock:
            known = self._account.find(contact)
            if known is None:
                raise LookupError("there is no such contact")
            return known.record()

    def shown(self, contact: str) -> list[InteractiveChoice]:
        """The choices that a contact can tap, oldest first."""
        with self._lock:
            known = self._account.find(contact)
            return list(known.shown.values()) if known is not None else []

    def on_sent(self, callback: Callable[[AcceptedMessage], None]) -> None:
        """Call a function for every accepted message, before it is answered, on the thread that answers."""
        self._api.listeners.append(callback)

    def idle(self) -> bool:
        """True if no event is being delivered, is due, or will follow a message."""
        with self._lock:
            return not self._account.without_status and self.webhooks.idle()

    def wait_until(self, condition: Callable[[], bool], timeout: float = 10.0) -> bool:
        """Wait until a condition on the state of this emulator holds; False after ``timeout`` real seconds."""
        with self._changed:
            return self._changed.wait_for(condition, timeout)

    # Acting: webhooks, contacts, agents, events

    def subscribe(self, url: str, *, secret: str | None = None, events: Iterable[str] = EVENTS) -> Subscription:
        """Register a webhook without the API's rule of HTTPS. Raises `ValueError` unless it is on this machine."""
        if self.webhooks.target(url) is None:
            raise ValueError(f"{url} is no http address on this machine: the emulator delivers only to those")
        return self.webhooks.register("emulator", url, events, secret or self.secret)

    def unsubscribe(self, webhook: Subscription) -> None:
        """Deliver nothing more to a webhook and close its connections, so that its server can end at once."""
        self.webhooks.retire(webhook)

    def receive(
        self,
        contact: str,
        text: str | None = None,
        *,
        kind: str = "text",
        media_url: str | None = None,
        content: bytes | None = None,
        location: dict[str, Any] | None = None,
        at: datetime | None = None,
        channel_id: str | None = None,
        event_id: str | None = None,
    ) -> str:
        """A contact writes. Returns the event's id. ``text`` is the caption of media; ``at``: when it was sent.

        Media are the file at ``media_url``, or one with this ``content``, or a small one of its kind.
        """
        if kind in WITH_MEDIA and media_url is None:
            name = kind if content is None else f"{len(self.media)}.{kind}"
            if content is not None:
                self.media[name] = content
            media_url = f"{self.url}/media/{int((at or self.clock.now()).timestamp())}/{name}"
        return self._account.receive(contact, Inbound(kind, text, media_url, location), at, channel_id, event_id)

    def tap(
        self,
        contact: str,
        reply_id: str | None = None,
        title: str | None = None,
        kind: Literal["button", "list", "template"] | None = None,
        *,
        at: datetime | None = None,
    ) -> str:
        """A contact taps the newest thing it was shown that fits. Returns the event's id.

        Raises `NotShown` if it was never shown such a thing.
        """
        return self._account.tap(contact, reply_id, title, kind, at)

    def show(self, contact: str, choice: InteractiveChoice) -> None:
        """Show a contact a choice that was not sent over this gateway's endpoints."""
        with self._lock:
            self._account.known(contact).show([choice])

    def assign(self, contact: str, agent: str = "Agent") -> str:
        """An agent takes the conversation over: ``conversation.assigned``."""
        with self._lock:
            known, now = self._account.known(contact), self.clock.now()
            data = self._account.payloads.assigned(known, now, agent)
            return self._account.emit("conversation.assigned", data, known.phone, now)

    def answer(self, contact: str, text: str = "I will look into it.", agent: str = "Agent") -> str:
        """An agent answers from the gateway's own inbox, without taking the conversation: ``message.sent``."""
        with self._lock:
            now, account = self.clock.now(), self._account
            data = account.payloads.answered(account.known(contact), f"msg_{secrets.token_hex(8)}", text, agent, now)
            return account.emit("message.sent", data, contact, now)

    def open(self, contact: str) -> str:
        """A conversation is opened: ``conversation.opened``."""
        with self._lock:
            known, now = self._account.known(contact), self.clock.now()
            known.conversation_open = True
            data = self._account.payloads.opened(known, now)
            return self._account.emit("conversation.opened", data, known.phone, now)

    def resolve(self, contact: str) -> str:
        """An agent has finished the conversation: ``conversation.resolved``."""
        with self._lock:
            known, now = self._account.known(contact), self.clock.now()
            known.conversation_open = False
            data = self._account.payloads.resolved(known, now)
            return self._account.emit("conversation.resolved", data, known.phone, now)

    def edit(
        self,
        contact: str,
        *,
        name: str | None = None,
        email: str | None = None,
        tags: Iterable[str] | None = None,
        new: bool = False,
        silent: bool = False,
    ) -> str:
        """An agent changes a contact: ``contact.updated``; values that are None do not change. Returns the event's
        id. ``new``: the contact is created, ``contact.created``. ``silent``: no event says so, and there is no id.
        """
        with self._lock:
            known = self._account.known(contact)
            known.name, known.email = name or known.name, email or known.email
            known.tags = known.tags if tags is None else tuple(tags)
            known.updated_at = self.clock.now()
            return "" if silent else self._account.emit_contact(known, new=new)

    def status(self, message_id: str, status: Literal["sent", "delivered", "read", "failed"]) -> str:
        """The status of a message changes. Returns the event's id.

        Raises `LookupError` for a message that was never accepted.
        """
        with self._lock:
            for sent in self._account.sent:
                if message_id in (sent.message_id, sent.chat_message_id):
                    return self._account.emit_status(sent, status)
        raise LookupError(f"no message has the id {message_id!r}")

    def emit(
        self,
        event: str,
        data: Any,
        *,
        contact: str | None = None,
        at: datetime | None = None,
        event_id: str | None = None,
    ) -> str:
        """Deliver an event of the list with any payload, also one that the real gateway would never send."""
        return self._account.emit(event, data, contact, at, event_id)

    def repeat(self) -> None:
        """Deliver the newest event once more, under another delivery id. Raises `LookupError` if there is none."""
        self.webhooks.repeat()

    def open_window(self, contact: str) -> None:
        """Open a contact's window, as if it had written, without an event."""
        with self._lock:
            self._account.known(contact).heard(self.clock.now())

    def _before_answer(self, sent: AcceptedMessage) -> None:
        if self.behaviour.statuses_first and self.behaviour.statuses:
            self._account.emit_statuses(sent)
            self.wait_until(lambda: self._stopping.is_set() or self.webhooks.idle(), timeout=5.0)

    def _after_answer(self, sent: AcceptedMessage) -> None:
        self._account.emit_statuses(sent)


Body = dict[str, Any]

MEDIA_LIFETIME = timedelta(hours=24)


def control_app(emulator: "Emulator") -> Flask:
    """The control routes, and the media that contacts send. An invalid request is answered 400."""
    app = Flask("bot.testing.emulator", static_folder=None)
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
        if "location" in body and self._emulator.behaviour.coordinates == "absent":
            raise ValueError("events have no coordinates: switch them on with the behaviour coordinates: object")
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
        """True if no event is being delivered or due. Waits ``within`` so many seconds for it."""
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
