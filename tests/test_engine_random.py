"""Random small flows meet random events: no flow, however odd, makes the engine raise, get stuck or break a limit.

`Talk.take` itself holds every turn against a replay of it, and against the session that it was given.
"""

import json
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import given, note, settings
from hypothesis import strategies as st

from bot import handler
from bot.core.effects import Call, Complete, Fetch, HttpRequest, Send, effect_ref
from bot.core.events import (
    CallEnded,
    ContactChanged,
    ConversationAssigned,
    ConversationOpened,
    Event,
    HandoffClosed,
    MessageReceived,
    SendEnded,
    StatusReported,
    Tapped,
    TimeReached,
)
from bot.core.fitting import violations
from bot.core.session import BUSY, Session
from bot.core.tokens import estimate_messages
from bot.core.values import Location
from bot.flow.documents import Source
from bot.flow.library import Library, load
from bot.gateway.wire import content
from bot.lang.extensions import extensions_in
from bot.steps.ai import MOST_MERGED, MOST_ROUNDS
from tests.talk import CONTACT, START, Talk, sources_of


class NotFound(LookupError):
    pass


@handler("find", errors=[NotFound])
def find(number: object = None) -> dict[str, Any]:
    return {}


@handler("orders.find")
def find_order(number: str, contact: str, most: int = 3) -> str:
    """Find an order."""
    return number


HANDLERS = {"find": find, "find_order": find_order}
FLOWS = ("main", "two", "three")
STEPS = ("a", "b", "c", "d")
ROWS = [{"k": "One"}, {"k": "One"}, {"k": "x" * 90}, {"k": None}]
VARS = {
    "t": {"type": "text"},
    "n": {"type": "integer", "value": 2},
    "o": {"type": "object", "value": {"a": {"b": 1}}},
    "m": {"type": "media"},
    "l": {"type": "list", "value": ROWS},
}
# a text that works, and ones that fail or come out empty, too long or as source
TEXTS = ("Hi.", "{{ t }}", "{{ n + 1 }}", "{{ o.a.b }}", "{{ contact.name }}, {{ came_from }}", "{{ t }} " * 90)
LEAK = "You sell shoes to the contacts of a shop and never tell anybody anything else."
SAYINGS = (
    "Hello.", "One.\n\nTwo.\n\nThree.\n\nFour.", "", " \n", "x" * 9000, "See https://evil.example/x", LEAK, "{{ n }}",
    "Bye.\nLEAVE a", "NOTE n: 7\nNOTE t: x\nLEAVE b", "LEAVE nowhere", "a", "none", "A or b.", "See https://shop.example.",
)  # fmt: skip
ARGUMENTS = (
    "{}", '{"number": "AB"}', '{"number": "AB", "most": 2}', '{"contact": "6289999999999"}', "[1]", "nonsense", "",
    '{"number": NaN}', '{"number": "A", "most": -Infinity}', '{"n": 5}', '{"n": "x", "t": "y"}', '{"t": null, "o": 1}',
    '{"n": NaN}', '{"t": "\\ud800", "n": 1e999}', "[" * 5000, '{"number": {"$tuple": 5}}', '{"t": {"a": 1}}',
    '{"n": ' + "9" * 5000 + "}",
)  # fmt: skip
FAILURES = ("timeout", "down", "quota", "refused", "no_tools", "unsafe", "empty", "over_budget")
MOST_TURNS = 300  # in which all comes to rest that is due at one time
CONDITIONS = ("n > 1", "t == 'x'", "not m", "l | length > 9", "o.a.b > 3")
VALUES = {
    "t": ("x", "{{ n }}", "{{ t }}", "{{ o.a }}"),
    "n": (1, "{{ n + 1 }}", "{{ l | length }}", "{{ t }}"),
    "o": ({"a": "{{ t }}"}, "{{ o }}", None, "x"),
}
ANSWERS = (
    "x", "1", "2", "1, 2 and 3", "done", "A", "b", "yes", "skip", "go", "stop", "menu", "two", "why", "help", "more", "so three", " ", "", "{{ 7 }}",
    "9" * 65_536,
)  # fmt: skip
TAPS = ("a/b/99999999999/1/x", "main/a/٣/٣/12345678", "main/a/0/1/12345678", "////", "", "two/d/0/999/abcdefgh")


class Author:
    """Writes flows at random, every verb with every rider, without asking whether they make sense."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._steps: tuple[str, ...] = STEPS  # of the flow that is being written

    def one(self, *options: Any) -> Any:
        return self._random.choice(options)

    def some(self, **options: Any) -> dict[str, Any]:
        """Some of the keys, and for each what its function writes."""
        return {key: write() for key, write in options.items() if self.one(0, 0, 1)}

    def text(self) -> Any:
        return self.one(*["Hi."] * 10, *TEXTS)

    def target(self) -> Any:
        return self.one(*2 * self._steps, "/main", "/two", "/three/a", "next", "again", "back", "end", "route")

    def set(self) -> Any:
        name = self.one(*VALUES)
        return {name: self.one(*VALUES[name])}

    def door(self) -> Any:
        return self.target() if self.one(0, 1) else {**self.speech(), "then": self.target()}

    def speech(self) -> dict[str, Any]:
        return self.some(say=self.text, ask=self.text, set=self.set, tag=self.text, then=self.target)

    def timed(self) -> Any:
        return {"after": self.one("1h", "2h", "3h"), **self.speech()}

    def retry(self) -> Any:
        return {**self.speech(), **({"max": self.one(0, 1, 2), "else": self.door()} if self.one(0, 1) else {})}

    def waiting(self) -> dict[str, Any]:
        return self.some(
            remind=lambda: {**self.timed(), "max": self.one(1, 2, 3)},
            timeout=lambda: {**self.timed(), "then": self.target(), "fixed": self.one(True, False)},
            words=lambda: self.words("go", "more"),
            **({"other": self.door} if self.one(0, 0, 1) else {"retry": self.retry}),
        )

    def words(self, *texts: str) -> dict[str, Any]:
        return {text: self.word() for text in texts if self.one(0, 1)}

    def word(self) -> Any:
        heard = {"if": self.one(*CONDITIONS), **self.speech(), "then": self.target()}
        return self.one(self.door(), heard, {"correct": self.one(*self._steps)})

    def riders(self) -> dict[str, Any]:
        return self.some(
            then=self.door,
            set=self.set,
            tag=self.text,
            errors=lambda: {"else": self.door(), **self.some(mismatch=self.door, failed=self.door)},
            visits=lambda: {"max": self.one(1, 2), "else": self.door()},
            renamed_from=lambda: self.one(*STEPS),
            schedule=lambda: [self.schedule() for _ in range(self.one(1, 2))],
            cancel=lambda: [self.one("x", "{{ t }}")],
        )

    def schedule(self) -> dict[str, Any]:
        when = self.one(
            *({"after": after} for after in ("1s", "1h", "2d")),
            {"every": self.one("day at 9:00", "*/20 * * * *"), **self.some(until=lambda: "2030-05-08")},
            {"at": self.one("{{ now + hours(n) }}", "{{ today }}", "{{ t }}"), "past": self.one("now", "skip")},
        )
        optional = self.some(name=lambda: self.one("x", "{{ n }}", "{{ t }}"), **{"with": self.set})
        return {"flow": self.one(*FLOWS), "busy": self.one(*BUSY), **when, **optional}

    def choices(self) -> dict[str, Any]:
        named = {title: self.choice() for title in ("A", "B", "{{ t }}", "2") if self.one(0, 1)} or {"A": "end"}
        rows = {"from": self.one("l", "l + l", "l + l + l", "o"), "title": self.one("{{ it.k }}", "{{ it.x.y }}")}
        shown = self.one(named, named, ["Yes", "No", "{{ n + 1 }}"], rows)
        form = self.one("options", "buttons", "list", None)
        how = self.some(
            many=lambda: self.one(True, {"min": 0}, {"min": 2, "max": 3}), match=lambda: self.one("anywhere", "close")
        )
        if form is None:
            return {}
        if form == "list":
            return {"list": {"rows": shown, **self.some(extra=lambda: ["More", "Done"])}, **how}
        return {form: shown, **how, **(self.some(show=lambda: "numbers") if form == "options" else {})}

    def choice(self) -> Any:
        condition = self.some(**{"if": lambda: self.one(*CONDITIONS)})
        value = {"value": self.one(1, "x", "{{ n }}"), "words": [self.one("uno", "dos")]}
        return self.one(self.door(), {**value, **condition})

    def ask(self) -> dict[str, Any]:
        choices, saved = self.choices(), self.one(*VARS)
        optional = self.some(save=lambda: "l" if "many" in choices else saved, skip=lambda: ["skip"])
        return {"ask": self.text(), **choices, **optional, **self.waiting()}

    def template(self) -> dict[str, Any]:
        waits = {"replies": {"Go": self.door(), "Stop": self.door()}, **self.waiting()}
        return {"template": {"name": "nudge", "language": "en", "body": [self.text()]}, **self.one({}, waits)}

    def say(self) -> dict[str, Any]:
        link = {"title": self.one("Go", "{{ t }}"), "url": self.one("https://x.example", "{{ t }}")}
        place = {"latitude": self.one(1, "{{ n }}"), "longitude": 1}
        more = self.one({}, {"link": link}, {"image": self.one("https://x.example/a.png", "{{ t }}")}, None)
        return {"say": None, "location": place} if more is None else {"say": self.text(), **more}

    def call(self) -> dict[str, Any]:
        return {
            "call": "find",
            "with": {"number": self.one(1, "{{ n }}", "{{ o }}")},
            **self.some(save=lambda: self.one(*VARS)),
        }

    def http(self) -> dict[str, Any]:
        parts = {"t": "answer.a", "n": "status"}
        failures = {
            "else": self.door(),
            **self.some(**{"404": self.door, "4xx": lambda: {"say": "{{ answer.a }}", "then": "end"}}),
        }
        optional = self.some(
            query=lambda: {"q": self.text(), "n": "{{ n }}", "l": "{{ l }}"},
            headers=lambda: {"X-Own": self.text()},
            save=lambda: self.one(*VARS, parts),
        )
        address = self.one("GET https://shop.example/{{ t }}/x", "DELETE https://shop.example/{{ n }}?o={{ o.a }}")
        body = self.one(
            {"json": {"o": "{{ o }}", "l": ["{{ l }}", self.text()]}}, {"form": {"t": "{{ t }}", "o": "{{ o }}"}}
        )
        asked = self.one({"http": address}, {"http": "POST https://shop.example/", **body})
        return {**asked, "errors": failures, **optional}

    def branch(self) -> dict[str, Any]:
        ways = [{"if": self.one(*CONDITIONS), "then": self.target()}]
        return {"branch": [*ways, *self.one([], [{"else": self.target()}])]}

    def run(self) -> dict[str, Any]:
        brings = self.some(save=lambda: {"t": "n", "o": "o"}, expired=self.door)
        return {"run": f"/{self.one(*FLOWS)}", "with": self.set(), **brings}

    def exits(self, *needs: dict[str, Any]) -> dict[str, Any]:
        ways = {name: {"when": "they said it", **self.speech(), "then": self.target()} for name in ("a", "b")}
        return {name: self.one(self.target(), {**way, **self.one({}, *needs)}) for name, way in ways.items()}

    def ai(self) -> dict[str, Any]:
        tools = ["orders.find", {"call": "orders.find", "with": {"number": "{{ t }}"}, "about": "Find it."}]
        careful = {"call": "orders.find", "confirm": self.one(True, "Shall I find {{ it.number }}?")}
        failures = {"else": self.door(), **self.some(unsafe=self.door, down=self.door, confused=self.door)}
        optional = self.some(
            tools=lambda: [self.one(*tools, careful, careful)],
            fill=lambda: {"n": "a number", **self.one({}, {"t": "what they want"})},
            turns=lambda: {"max": self.one(1, 2), "else": self.door()},
            budget=lambda: {"contact": 100, "else": self.door()},
            while_busy=lambda: self.one("merge", "wait"),
            messages=lambda: self.one(1, 2),
            history=lambda: self.one(0, 30),
            facts=lambda: "facts.md",
        )
        waiting = {key: value for key, value in self.waiting().items() if key in ("remind", "timeout", "words")}
        instructions = self.one(LEAK, LEAK + " {{ t }} of {{ contact.name }}, {{ n }}")
        exits = self.exits({"needs": ["n"]}, {"needs": ["t", "n"]})
        return {"ai": instructions, "exits": exits, "errors": failures, **optional, **waiting}

    def classify(self) -> dict[str, Any]:
        ways = {"exits": self.exits(), "other": self.door(), "errors": {"else": self.door()}}
        return {"classify": self.text(), **ways, **self.some(text=self.text)}

    def handoff(self) -> dict[str, Any]:
        closes = {"closed": self.door(), **self.some(timeout=lambda: {**self.timed(), "then": "end"})}
        return {"handoff": {"team": "x", "say": self.text()}, **closes}

    def wait(self) -> dict[str, Any]:
        return {"wait": self.one("1h", "2h", {"until": "office"}, "{{ now + hours(n) }}", "{{ t }}", "2030-05-07")}

    def step(self) -> dict[str, Any]:
        write = self.one(
            self.ask, self.ask, self.template, self.say, self.call, self.http, self.branch, self.run, self.handoff, self.classify,
            self.ai, self.ai, lambda: {"set": self.set()}, self.wait,
        )  # fmt: skip
        riders = self.riders()
        if write in (self.ai, self.classify, self.handoff):
            riders.pop("then", None)
        return {**riders, **write()}

    def flow(self, name: str) -> dict[str, Any]:
        self._steps = tuple(step for step in STEPS if self.one(0, 1, 1)) or ("a",)
        return {
            "flow": name,
            "start": {
                "main": {"otherwise": True},
                "two": {"words": ["two"], "event": "contact.updated", "match": self.one("whole", "anywhere", "close")},
                "three": {"pattern": ".*three", "event": self.one("message.read", "conversation.opened"), **self.who()},
            }[name],
            **self.some(interrupted=lambda: self.one("resume", "ask", "drop"), words=lambda: self.words("help", "x")),
            "vars": VARS,
            "defaults": self.some(errors=lambda: {"else": "end"}, old_taps=lambda: self.one("ignore", "reopen")),
            "steps": {step: self.step() for step in self._steps},
        }

    def who(self) -> dict[str, Any]:
        return self.some(contact=lambda: self.one("first", "returning"))

    def edited(self, flow: dict[str, Any]) -> dict[str, Any]:
        """The flow after an edit: steps changed, removed, put in; sometimes its variables too."""
        self._steps = tuple(flow["steps"])
        steps = {name: self.one(step, step, None) or self.step() for name, step in flow["steps"].items()}
        gone = self.one(*STEPS, "none")
        steps = {name: step for name, step in steps.items() if name != gone} or {"d": self.step()}
        types = {"n": {"type": "text"}, "t": {"type": "integer", "value": 3}} if self.one(0, 0, 1) else {}
        return {**flow, "vars": {**VARS, **types}, "steps": steps}

    def bot(self) -> dict[str, Any]:
        words = {
            "menu": "/main",
            "stop": {"say": "Bye.", "then": "end"},
            "why": {**self.speech(), "then": self.target(), **self.one({}, {"if": "'vip' in contact.tags"})},
        }
        defaults = self.some(
            retry=lambda: {"say": self.one("Hm?", "Well?"), "max": 2, "else": "/main"},
            gone=lambda: self.one("end", "/main", {"say": "Moved.", "then": "/main"}),
            old_taps=lambda: self.one("explain", "message"),
            window_closed=lambda: {"template": {"name": "late", "language": "en"}},
        )
        hours = {"office": {"mon-fri": "9:00-17:00", "holidays": ["2030-05-07"]}}
        return {
            "name": "T",
            "words": words,
            "hours": hours,
            "defaults": {"timeout": {"after": "9h", "then": "end"}, **defaults},
        }


def written(flows: list[dict[str, Any]]) -> tuple[str, dict[int, tuple[dict[str, Any], str]]]:
    """The flows as a file, and what stands in each of its lines: a step of a flow, or its head."""
    lines: list[str] = []
    owners: dict[int, tuple[dict[str, Any], str]] = {}
    for flow in flows:
        head = {key: value for key, value in flow.items() if key != "steps"}
        lines += ["---", json.dumps(head)[:-1] + ', "steps": {']
        owners[len(lines)] = (flow, "defaults")
        for name, step in flow["steps"].items():
            lines.append(f"{json.dumps(name)}: {json.dumps(step)},")
            owners[len(lines)] = (flow["steps"], name)
        lines.append("}}")
    return "\n".join(lines), owners


def library_of(bot: dict[str, Any], flows: list[dict[str, Any]]) -> Library:
    """A bot that loads: whatever the checks refuse gives way to something plain."""
    for _ in range(20):
        text, owners = written(flows)
        facts = [Source("flows/facts.md", b"Open daily. See https://facts.example/a")]
        loaded = load(sources_of(text, json.dumps(bot)), extensions_in([HANDLERS]), facts)
        if loaded.library is not None:
            return loaded.library
        for problem in loaded.problems:
            if problem.path == "bot.yml":
                bot["words"]["why"] = "again"
                continue
            part, name = owners[problem.line]
            part[name] = {} if name == "defaults" else {"ask": "Plain?"}
            if name == "defaults":
                part["words"] = {}
    raise AssertionError("\n".join(map(str, loaded.problems)))


@st.composite
def bots(draw: st.DrawFn) -> tuple[Library, Library]:
    """A bot, and the same after an edit."""
    author = Author(draw(st.integers(0, 1 << 32)))
    bot = author.bot()
    flows = [author.flow(name) for name in ("main", *(name for name in FLOWS[1:] if author.one(0, 1)))]
    edited = [author.edited(flow) for flow in flows if flow["flow"] == "main" or author.one(1, 1, 1, 0)]
    before, after = library_of(bot, flows), library_of(bot, edited)
    note(f"{json.dumps(bot)}\n{written(flows)[0]}\n--- edited:\n{written(edited)[0]}")
    return before, after


EVENTS = st.one_of(
    st.tuples(st.just("text"), st.sampled_from(ANSWERS)),
    st.tuples(st.just("text"), st.sampled_from(ANSWERS)),
    st.tuples(st.just("tap"), st.integers(0, 2)),
    st.tuples(st.just("tap"), st.integers(0, 20)),
    st.tuples(st.just("strange tap"), st.sampled_from(TAPS)),
    st.tuples(st.just("time"), st.sampled_from(["due", "early", "late"])),
    st.tuples(st.just("call"), st.sampled_from(["done", "timeout", "mismatch", "NotFound", "error", "404", "503"])),
    st.tuples(st.just("send"), st.sampled_from(["sent", "failed", "unknown", "replaced", "covered"])),
    st.tuples(st.just("model"), st.integers(0, 1 << 16)),
    st.tuples(st.just("model"), st.integers(0, 1 << 16)),
    st.tuples(st.just("paragraph"), st.integers(0, len(SAYINGS) - 1)),
    st.tuples(st.sampled_from(["assigned", "closed", "contact", "opened", "read"]), st.none()),
    st.tuples(st.sampled_from(["photo", "place", "closed", "reset"]), st.none()),
    st.tuples(st.just("start"), st.tuples(st.sampled_from([*FLOWS, "none"]), st.sampled_from(BUSY))),
    st.tuples(st.just("edit"), st.none()),
)


class Contact(Talk):
    """Somebody who does anything at any time, with the same rules as the real store: one turn after another."""

    def __init__(self, library: Library, other: Library) -> None:
        self.library, self.other = library, other
        self.session = Session(CONTACT)
        self.now = START
        self.turn = None
        self.sent, self.shown, self.calls, self.asked, self.effects = [], [], [], [], []
        self.last_ref = ""
        self._events = 0
        self._open: set[str] = set()  # effects whose end is still to come

    def meet(self, kind: str, detail: Any) -> None:
        self.now += timedelta(minutes=7)
        match kind:
            case "edit":
                self.library, self.other = self.other, self.library
            case "reset":
                self.reset()
            case "closed":
                self.closed()
            case "assigned":
                self.take(ConversationAssigned(self.next_id(), CONTACT, self.now, "c", None, "Budi"))
            case "opened":
                self.take(ConversationOpened(self.next_id(), CONTACT, self.now, "c", "Ann"))
            case "contact":
                self.take(ContactChanged(self.next_id(), CONTACT, self.now, "contact.updated", "Ann", None, ("vip",)))
            case "start":
                flow, busy = detail
                data: list[dict[str, Any]] = [{}, {"n": 3}, {"n": "x"}, {"q": 1}]
                self.start(flow, busy, **data[self._events % 4])
            case "read":
                self.take(StatusReported(self.next_id(), CONTACT, self.now, "read", ("m",)))
            case "model" if self.asked:
                self._answer(Random(detail))
            case "paragraph" if self.asked:
                self.paragraph(SAYINGS[detail])
            case "time":
                self._pass_time(detail)
            case "call" if self.calls:
                value: Any = [{"a": {"b": 1}}, "x", None, 5][len(self.calls) % 4] if detail == "done" else None
                if isinstance(self.calls[-1][1], HttpRequest):
                    value = {"status": 200 if detail == "done" else detail, "answer": value}
                ref, _ = self.calls[-1]
                self.take(CallEnded(self.next_id(), CONTACT, self.now, ref, detail, value))
            case "send" if self.last_ref:
                self.take(SendEnded(self.next_id(), CONTACT, self.now, self.last_ref, detail))
            case _ if not self.session.busy:  # else the message is parked
                self._write(kind, detail)

    def _answer(self, dice: Random) -> None:
        """The end of the model's newest answer, or of an older one: any text, any calls, any failure."""
        nth = dice.choice([-1, -1, -1, -min(2, len(self.asked))])
        if dice.random() < 0.2:
            self.model_ends(dice.choice(FAILURES), nth=nth)
            return
        tools = [tool["function"]["name"] for tool in self.asked[nth][1].tools]
        called = [dice.choice([*tools, *tools, "delete_all", ""]) for _ in range(dice.choice([0, 0, 1, 2]))]
        calls = [{"id": f"c{n}", "name": name, "arguments": dice.choice(ARGUMENTS)} for n, name in enumerate(called)]
        finish = dice.choice(["stop", "length", "cut"])
        answer = {"text": dice.choice(SAYINGS), "calls": calls, "finish": finish, "said": 0, "model": "m"}
        self.model_ends("done", answer, nth)

    def _write(self, kind: str, detail: Any) -> None:
        match kind:
            case "text":
                self.user(detail)
            case "photo":
                self.photo()
            case "place":
                place = Location(1.0, 2.0)
                self.take(
                    MessageReceived(self.next_id(), CONTACT, self.now, self.now, "location", "Here", location=place)
                )
            case "strange tap":
                self.tap_id(detail, "A")
            case "tap" if self.shown:
                choice = self.shown[-1 - detail % len(self.shown)]
                self.take(Tapped(self.next_id(), CONTACT, self.now, self.now, choice.id, choice.title))

    def _pass_time(self, when: str) -> None:
        wake = None if self.turn is None else self.turn.wake_at
        if wake is None:
            return
        shift = {"due": timedelta(), "early": timedelta(seconds=-1), "late": timedelta(days=2)}[when]
        self.now = max(self.now, wake + shift)
        for _ in range(MOST_TURNS):
            self.take(TimeReached(self.next_id(), CONTACT, self.now))
            assert self.turn is not None
            if self.turn.wake_at is None or self.turn.wake_at > self.now:
                return
        raise AssertionError("a wake-up asks for itself again and again")

    def take(self, event: Event) -> list[Any]:
        silent = self.session.agent is not None and not isinstance(event, HandoffClosed)
        said = super().take(event)
        assert not (silent and said), "an agent has the conversation"
        if isinstance(event, CallEnded | SendEnded):
            self._open.discard(event.effect)
        for ordinal, effect in enumerate(self.effects):
            if isinstance(effect, Call | Fetch | Complete | HttpRequest) or (
                isinstance(effect, Send) and effect.report
            ):
                self._open.add(effect_ref(event.id, ordinal))
            if isinstance(effect, Send):
                assert violations(effect.message) == []
                assert "evil.example" not in json.dumps(content(effect.message))
                assert LEAK not in json.dumps(content(effect.message))
            if isinstance(effect, Complete):
                assert_asks_well(effect)
        self._check()
        return said

    def _check(self) -> None:
        turn, frame = self.turn, self.session.frame
        assert turn is not None
        left_out = {plan.at for plan in self.session.plans if plan.busy == "skip"}
        if f"ended: {turn.failure}" in turn.trace.notes:
            assert frame is None
            assert self.session.tags == tuple(tag for tag in self.session.tags if not tag.startswith("handoff:"))
        if frame is None:
            planned = left_out if self.session.agent is not None else {plan.at for plan in self.session.plans}
            assert turn.wake_at == min(planned, default=None)
            return
        if frame.held is not None:
            assert self.session.agent is not None
            assert frame.held.effect in (frame.awaits, frame.hold.get("question"))
        elif frame.awaits is not None:
            assert frame.awaits in self._open, "it waits for what has come already"
        if self.session.agent is not None or frame.awaits is not None:
            assert turn.wake_at is None or turn.wake_at in left_out
            return
        step = self.library.flows[frame.flow].steps[frame.step]
        if step.kind.deaf:
            assert left_out or (turn.wake_at is None) == (step.riders.defaults.timeout is None)
        else:
            assert step.kind.pauses, "it rests where nothing leads on"
            assert turn.wake_at is not None


def assert_asks_well(complete: Complete) -> None:
    """A request in the wire form: each call answered once, the instructions apart, and no bound broken."""
    first, *others = complete.messages
    assert first["role"] == "system"
    assert LEAK not in json.dumps(others), "what was sent or said never holds the instructions"
    assert all(message["content"] or message.get("tool_calls") for message in others)
    called = [call["id"] for message in others for call in message.get("tool_calls", ())]
    answered = [message["tool_call_id"] for message in others if message["role"] == "tool"]
    assert sorted(called) == sorted(answered)
    asked = [message for message in others if message["role"] == "assistant"]
    assert len(asked) <= MOST_ROUNDS + MOST_MERGED + 100
    assert estimate_messages([message for message in others if message["role"] == "system"]) < 10_000


# to load a bot takes as long as fifty events: few bots, and long talks
@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(bots(), st.lists(EVENTS, min_size=20, max_size=60))
def test_no_flow_and_no_event_makes_the_engine_raise_or_leaves_a_contact_stuck(
    bots: tuple[Library, Library], events: list[tuple[str, Any]]
) -> None:
    contact = Contact(*bots)
    contact.user("hi")
    for kind, detail in events:
        contact.meet(kind, detail)
