"""The pages of the playground: what there is to see as HTML, changes as server-sent events, and what a person does as
JSON.
"""

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from time import monotonic
from typing import Any

from flask import Flask, Response, abort, jsonify, redirect, render_template, request, stream_with_context, url_for
from werkzeug.wrappers import Response as AnyResponse

from bot.checker.drawing.svg import STYLE
from bot.core.effects import AskModel, Send
from bot.core.errors import BotError
from bot.core.filetypes import FILE_TYPES
from bot.core.own_addresses import EXAMPLE, EXAMPLE_BASE
from bot.core.session import Session
from bot.core.turn import ENTERED, JUDGED
from bot.language.flow.library import Library
from bot.language.source import wall_clock
from bot.pages.playground.edit_views import add_edit_views
from bot.pages.playground.editing import TextEditor
from bot.pages.playground.flow_map import OVERVIEW, FlowMap, UnreadableTests
from bot.pages.playground.kept_test import kept_test
from bot.pages.playground.playground import MOST_FILE, Playground, values_in
from bot.pages.playground.questions import acts_at
from bot.pages.playground.refused import Refused
from bot.pages.playground.replaying import replay
from bot.pages.playground.service_faults import SERVICE_FAULTS, cause_of
from bot.pages.playground.written_values import declared_in, read_value, written_value
from bot.pages.shared import contact_view
from bot.pages.shared.contact_view import Bubble, PhoneView, ShownBubble, Unsent
from bot.pages.shared.page_server import ALIVE, ALIVE_SECONDS, page_app
from bot.store.dead_letter_rows import DeadLetter
from bot.store.store_reader import StoreReader
from bot.testing.conversations.stub_reader import MODEL_FAILURES
from bot.testing.simulation.gateway_events import GATEWAY_EVENTS
from bot.testing.simulation.store_view import EVERY_TURN
from bot.testing.simulation.turn_words import shown_message

LOOK_SECONDS = 0.03  # between two looks at what there is to see, while somebody looks
MOST_OPENERS = 6  # first messages that an empty phone offers
EVER = datetime.min.replace(tzinfo=UTC)
TYPES = {found.suffix: found.name for found in FILE_TYPES}

FORMS = f"{EXAMPLE_BASE}/forms/"
TIMES = {"clock": "%H:%M", "moment": "%-d %b, %H:%M", "date": "%A %-d %B", "day": "%a %-d %b, %H:%M"}
"""The formats of times until the page's script writes them in the form of the reader's browser."""

Asked = Mapping[str, Any]


def playground_app(
    playground: Playground,
    maps: Callable[[], FlowMap],
    stopping: threading.Event,
    port: int,
    editor: TextEditor | None,
) -> Flask:
    """The pages of a playground, on a port of this machine.

    ``maps`` returns the newest map; streams end once ``stopping`` is set. Without an ``editor`` no text can be edited.

    Only a browser on this machine that has loaded the page gets anything: a request for another host (a name that leads
    here) or from another page is refused.
    """
    app = page_app(__name__, forms=False)
    app.config["MAX_CONTENT_LENGTH"] = MOST_FILE + 1024
    pages = _Pages(playground, maps, stopping)
    hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}

    @app.before_request
    def refuse_strangers() -> None:
        origin = request.headers.get("Origin")
        if request.host not in hosts or (origin is not None and origin not in {f"http://{host}" for host in hosts}):
            abort(403, "this page is only for browsers on this machine")

    @app.errorhandler(BotError)
    def say(error: BotError) -> AnyResponse:
        return Response(json.dumps({"error": str(error)}), 409, content_type="application/json")

    app.add_url_rule("/", "home", pages.home)
    app.add_url_rule("/contact/<contact>", "page", pages.page)
    app.add_url_rule("/contact/<contact>/live", "live", pages.live)
    app.add_url_rule("/contact/<contact>/do", "do", pages.do, methods=["POST"])
    app.add_url_rule("/contact/<contact>/file", "file", pages.file, methods=["POST"])
    app.add_url_rule("/contact/<contact>/variable", "variable", pages.variable)
    app.add_url_rule("/map", "map", pages.map)
    app.add_url_rule("/step", "step", pages.step)
    app.add_url_rule("/media/<name>", "media", pages.media)
    app.add_url_rule("/contact/<contact>/made/<name>", "made", pages.made)
    app.add_url_rule("/files/<path:path>", "own", pages.own)
    app.add_url_rule("/drawing.css", "drawing", pages.drawing_style)
    if editor is not None:
        add_edit_views(app, playground, editor)
    app.jinja_env.filters["here"] = partial(_here, playground)
    for name, form in TIMES.items():
        app.jinja_env.filters[name] = partial(_local, playground, form)
    return app


class _Pages:
    def __init__(self, playground: Playground, maps: Callable[[], FlowMap], stopping: threading.Event) -> None:
        self._playground = playground
        self._maps = maps
        self._stopping = stopping

    @property
    def _library(self) -> Library:
        return self._playground.simulation.running.program.library

    @property
    def _reader(self) -> StoreReader:
        return self._playground.simulation.stored.reader

    def _session(self, contact: str) -> Session:
        return self._reader.sessions.get(contact) or Session(contact)

    def home(self) -> AnyResponse:
        return redirect(url_for("page", contact=self._playground.chats.contacts[0]))

    def page(self, contact: str) -> str | AnyResponse:
        playground = self._playground
        if contact not in playground.chats.contacts:
            return redirect(url_for("home"))
        library = self._library
        return render_template(
            "page.html",
            contact=contact,
            bot=library.bot,
            flows=list(library.flows),
            signals=list(library.bot.signals),
            events=list(GATEWAY_EVENTS),
            faults=SERVICE_FAULTS,
            zone=library.bot.timezone,
            **self._parts(contact, everything="all" in request.args),
        )

    def live(self, contact: str) -> AnyResponse:
        """The parts of the page that have changed, as server-sent events."""
        self._playground.chats.bubbles(contact)
        changes = self._changes(contact)
        return Response(stream_with_context(changes), content_type="text/event-stream; charset=utf-8")

    def _changes(self, contact: str) -> Iterator[str]:
        shown: dict[str, Any] = {}
        version: Any = None
        spoken = monotonic()
        while not self._stopping.is_set():
            minute = self._playground.simulation.clock.now().replace(second=0, microsecond=0)
            now = (self._playground.version(), self._map_version(), minute)
            if now != version:
                version = now
                parts = self._parts(contact)
                new = {name: part for name, part in parts.items() if shown.get(name) != part}
                shown = parts
                if new:
                    spoken = monotonic()
                    yield f"data: {json.dumps(new)}\n\n"
            elif monotonic() - spoken > ALIVE_SECONDS:
                spoken = monotonic()
                yield ALIVE
            self._stopping.wait(LOOK_SECONDS)

    def _map_version(self) -> str:
        flow_map = self._maps()
        return f"{flow_map.number}.{flow_map.checked.is_set():d}{flow_map.tested.is_set():d}"

    def _parts(self, contact: str, *, everything: bool = False) -> dict[str, Any]:
        """The parts of the page that change, by their ids in it; `state` is for the map."""
        playground = self._playground
        now, session = playground.simulation.clock.now(), self._session(contact)
        most = EVERY_TURN if everything else contact_view.NEWEST_TURNS
        turns = contact_view.turns_of(self._reader, contact, most)
        turns = [replace(turn, detail=cause_of(turn.detail)) for turn in turns]
        phone = phone_view(playground, session, everything=everything)
        return {
            "contacts": render_template("contacts.html", names=playground.chats.names, contact=contact),
            "clock": render_template("clock.html", now=now, zone=self._library.bot.timezone),
            "problems": render_template("problems.html", trouble=playground.trouble),
            "conversation": render_template("conversation.html", phone=phone, acts=True, openers=self._openers()),
            "travel": self._travel(contact),
            "asked": self._asked(session),
            "colleague": render_template("colleague.html", asked=session.team_question),
            "turns": render_template(
                "turns.html", acts=True, turns=turns, all=everything or len(turns) < contact_view.NEWEST_TURNS
            ),
            "values": render_template(
                "values.html",
                acts=True,
                session=contact_view.session_view(session, now),
                settable=declared_in(self._library),
            ),
            "state": self._state(session, turns),
        }

    def _openers(self) -> list[str]:
        """First messages that the bot understands: the first word of each flow that words start, and
        first of the flow that any message starts.
        """
        library = self._library
        starts = [flow.trigger for flow in library.flows.values() if flow.trigger and flow.trigger.words]
        words = [start.words[0][0] for start in sorted(starts, key=lambda start: not start.otherwise)]
        return words[:MOST_OPENERS] or ["Hello"]

    def _travel(self, contact: str) -> str:
        """The buttons that hold the conversation again, and how much time that skips."""
        acts = [bubble for bubble in self._playground.chats.bubbles(contact) if bubble.message is None]
        passed = sum((bubble.until - bubble.at for bubble in acts if bubble.kind == "wait"), timedelta())
        words = contact_view.spelled(passed) if passed else ""
        return render_template("travel.html", held=bool(acts), passed=words)

    def _asked(self, session: Session) -> str:
        """The question to a model that waits for a person's answer."""
        questions = self._playground.questions
        row = None if questions is None else questions.of(session.contact)
        if row is None or not isinstance(row.effect, AskModel):
            return ""
        effect, library = row.effect, self._library
        return render_template(
            "asked.html",
            key=row.key,
            effect=effect,
            asked=contact_view.prompt_of(effect),
            acts=acts_at(library, session, effect),
            failures=MODEL_FAILURES,
        )

    def _state(self, session: Session, turns: list[contact_view.ShownTurn]) -> dict[str, Any]:
        """The contact's place and way, for the map, and which faults are on."""
        entered = (each for each in self._reader.results(EVER) if each.way == ENTERED)
        return {
            "here": [f"{frame.flow}/{frame.step}" for frame in session.frames],
            "way": contact_view.newest_way(session, turns)[-200:],
            "tried": sorted({f"{each.flow}/{each.step}" for each in entered}),
            "map": self._map_version(),
            "flows": self._maps().flows,
            "faults": self._playground.faults.names,
        }

    def do(self, contact: str) -> AnyResponse:
        """Do something, as JSON says: ``{"do": "write", "text": "hi"}``.

        Anything wrong with it is answered with a sentence.
        """
        try:
            asked = request.get_json()
            act = ACTS.get(str(asked.get("do"))) if isinstance(asked, dict) else None
            if act is None:
                raise Refused(f"unknown act: the acts are {', '.join(ACTS)}")
            return jsonify(act(self._playground, contact, asked) or {})
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise Refused(f"this cannot be done: {error}") from None
        except RecursionError:
            raise Refused("this cannot be done: it is nested too deeply") from None

    def file(self, contact: str) -> AnyResponse:
        """A contact sends the file that is the body."""
        name, caption = request.args.get("name", "file"), request.args.get("caption", "")
        self._playground.send_file(contact, name, request.get_data(), caption)
        return jsonify({})

    def variable(self, contact: str) -> str:
        """A form that sets a variable."""
        flow, name = request.args.get("flow", ""), request.args.get("name", "")
        found = written_value(self._library, self._session(contact), flow, name)
        return render_template("variable.html", written=found)

    def map(self) -> AnyResponse:
        """The drawing of a flow, or of all."""
        flow_map, flow = self._maps(), request.args.get("flow", OVERVIEW)
        if flow and flow not in flow_map.flows:
            abort(404, f"there is no flow {flow}")
        return Response(flow_map.drawing(flow), content_type="text/html; charset=utf-8")

    def step(self) -> str:
        """A step: its lines, its findings, who waits there, and how many left it by which outcome."""
        flow, step = request.args.get("flow", ""), request.args.get("step", "")
        flow_map, reader = self._maps(), self._reader
        try:
            written = flow_map.written(flow, step)
        except KeyError:
            abort(404, f"there is no step {flow}/{step}")
        try:
            tests, trouble = flow_map.tests_at(flow, step), ""
        except UnreadableTests as error:
            tests, trouble = (), str(error)
        counted: Counter[str] = Counter()
        visits = 0
        for result in reader.results(EVER):
            if (result.flow, result.step) != (flow, step) or result.way == JUDGED:
                continue
            if result.way == ENTERED:
                visits += result.count
            else:
                counted[result.outcome or result.way] += result.count
        return render_template(
            "step.html",
            flow=flow,
            step=step,
            written=written,
            findings=flow_map.findings(flow, step),
            waiting=reader.sessions.waiting_at().get((flow, step), 0),
            visits=visits,
            ways=counted.most_common(),
            tests=tests,
            trouble=trouble,
        )

    def media(self, name: str) -> AnyResponse:
        """A file that a contact has sent, with the type that its content has."""
        return _file(self._playground.simulation.emulator.media.get(name), name)

    def made(self, contact: str, name: str) -> AnyResponse:
        """A file that a handler has made for a contact."""
        return _file(self._playground.simulation.stored.made_file(contact, name), name)

    def own(self, path: str) -> AnyResponse:
        """A file of the bot's own."""
        return _file(self._library.files.get(path), path)

    def drawing_style(self) -> AnyResponse:
        """The style sheet of drawings."""
        return Response(STYLE, content_type="text/css; charset=utf-8")


def _file(content: bytes | None, name: str) -> AnyResponse:
    type_ = TYPES.get(name.rpartition(".")[2].lower().replace("jpeg", "jpg"))
    if content is None or type_ is None:
        abort(404)
    kind = type_.partition("/")[0]
    how = "inline" if kind in ("image", "audio", "video") else "attachment"
    return Response(content, content_type=type_, headers={"Content-Disposition": how})


def _here(playground: Playground, address: str) -> str | None:
    """The address at which this machine has a form, or this page a file: one that the emulator has, or one of the bot's
    own by its path.
    """
    simulation, name = playground.simulation, address.rpartition("/")[2]
    if address.startswith(f"{simulation.emulator.url}/media/") and name in simulation.emulator.media:
        return url_for("media", name=name)
    made = EXAMPLE.file_at(address)
    if made is not None and made.kept_as:
        return url_for("made", contact=made.made_for, name=made.kept_as)
    if address.startswith(FORMS):  # which the simulated bot serves itself
        return simulation.running.url + address.removeprefix(EXAMPLE_BASE)
    return url_for("own", path=address) if address in simulation.running.program.library.files else None


def _local(playground: Playground, form: str, at: datetime) -> str:
    return at.astimezone(playground.simulation.running.program.library.bot.timezone).strftime(form)


def phone_view(playground: Playground, session: Session, *, everything: bool = False) -> PhoneView:
    """The phone of a session's contact. Raises `bot.pages.playground.refused.Refused` for an unknown one."""
    contact, reader = session.contact, playground.simulation.stored.reader
    waiting, letters = list(_waiting(playground, contact)), list(_letters(playground, contact))
    bubbles = playground.chats.bubbles(contact)  # after what is not sent: what was accepted meanwhile is shown once
    accepted = {bubble.key for bubble in bubbles if bubble.key is not None}
    shown = bubbles if everything else bubbles[-contact_view.NEWEST_BUBBLES :]
    statuses = reader.messages.statuses(contact)
    seen = []
    for bubble in shown:
        status = statuses.get(bubble.id)
        name = "" if bubble.message is None else "sent" if status is None else status.name
        seen.append(ShownBubble(bubble, name, "" if status is None else cause_of(status.detail)))
    decided = {turn.event_id: turn.at for turn in reader.trace.turns(contact, EVERY_TURN)} if letters else {}
    unsent = [*(_given_up(letter, decided, bubbles) for letter in letters), *waiting]
    left = tuple(each for each in unsent if each.key not in accepted)
    return PhoneView(tuple(seen), left, len(bubbles) - len(shown), session.waits_for_effect)


def _waiting(playground: Playground, contact: str) -> Iterator[Unsent]:
    """The messages to a contact that are still to be sent."""
    for send in playground.simulation.stored.reader.messages.pending():
        if send.contact == contact and isinstance(send.effect, Send):
            shown, why = shown_message(send.effect.message), cause_of(send.detail)
            yield Unsent(send.key, shown, "waiting", why, send.attempts, send.due_at)


def _letters(playground: Playground, contact: str) -> Iterator[DeadLetter]:
    """The messages to a contact that were given up, the oldest first."""
    for letter in reversed(playground.simulation.stored.reader.dead_letters.newest()):
        if letter.contact == contact and letter.what == "send" and isinstance(letter.body, dict):
            yield letter


def _given_up(letter: DeadLetter, decided: Mapping[str, datetime], bubbles: Sequence[Bubble]) -> Unsent:
    """A message that was given up, in its place: behind what the contact had done when its turn ``decided`` on it, and
    behind what the bot had sent when it was given up, because the bot's next message waits for that.
    """
    body: Any = letter.body
    at = decided.get(body["ref"].rpartition("#")[0], letter.at)
    before = (bubble.number for bubble in bubbles if bubble.at <= (at if bubble.message is None else letter.at))
    shown = shown_message(body["effect"].message)
    return Unsent(body["key"], shown, "failed", cause_of(letter.reason), after=max(before, default=0))


def _wait(playground: Playground, asked: Asked) -> None:
    duration = wall_clock.spoken_duration(str(asked["for"]))
    if duration is None:
        raise Refused("write how long, such as 30m, 2 hours or 1d")
    playground.wait(duration)


def _replay(playground: Playground, contact: str, asked: Asked) -> dict[str, str]:
    before = asked.get("before")
    replayed = replay(playground, contact, None if before is None else int(before))
    return {"contact": replayed.contact, "difference": replayed.difference, "replayed": "all" if before is None else ""}


def _set(playground: Playground, contact: str, asked: Asked) -> None:
    flow, name = str(asked["flow"]), str(asked["name"])
    value = read_value(playground.simulation.running.program.library, flow, name, str(asked["value"]))
    playground.set_values(contact, flow, {name: value})


def _values(asked: Asked) -> dict[str, Any]:
    return values_in(str(asked.get("values", "")).splitlines())


ACTS: dict[str, Callable[[Playground, str, Asked], Any]] = {
    "write": lambda playground, contact, asked: playground.write(contact, str(asked["text"])),
    "speak": lambda playground, contact, asked: playground.speak(contact, str(asked["text"])),
    "answer": lambda playground, contact, asked: playground.answer(
        contact, f"{asked['text']} {'FAIL ' + str(asked['fails']) if asked.get('fails') else ''}"
    ),
    "choose": lambda playground, contact, asked: playground.choose(contact, int(asked["bubble"]), int(asked["choice"])),
    "place": lambda playground, contact, asked: playground.send_place(
        contact, float(asked["latitude"]), float(asked["longitude"]), str(asked.get("name", ""))
    ),
    "start": lambda playground, contact, asked: playground.start(contact, str(asked["flow"]), _values(asked)),
    "signal": lambda playground, contact, asked: playground.signal(contact, str(asked["name"]), _values(asked)),
    "happen": lambda playground, contact, asked: playground.happen(contact, str(asked["event"])),
    "set": lambda playground, contact, asked: _set(playground, contact, asked),
    "decide": lambda playground, contact, asked: playground.decide(
        contact, asked["answer"] == "agrees", str(asked["note"]).strip()
    ),
    "restart": lambda playground, contact, _: playground.restart(contact),
    "wait": lambda playground, _, asked: _wait(playground, asked),
    "next": lambda playground, *_: playground.wait_for_next(),
    "past_window": lambda playground, contact, _: playground.skip_past_window(contact),
    "switch": lambda playground, _, asked: playground.faults.switch(str(asked["fault"]), bool(asked["on"])),
    "replay": lambda playground, contact, asked: _replay(playground, contact, asked),
    "keep": lambda playground, contact, _: {"test": kept_test(playground, contact)},
    "contact": lambda playground, *_: {"contact": playground.chats.add_contact()},
}
"""The acts of a person, by their names in JSON. Each may return data for the page."""
