"""Random small bots: every verb with every option, whether or not that makes sense. The same seed writes the
same bot.
"""

import json
from random import Random
from typing import Any

from bot import handler
from bot.core.session import BUSY
from bot.language.flow.documents import Source
from bot.language.flow.event_receiver import EVENTS
from bot.language.flow.library import Library, load
from bot.language.python.gathered import extensions_in
from bot.language.source.problems import Problem
from bot.language.steps import KINDS
from tests.talk import sources_of


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
VARS: dict[str, dict[str, Any]] = {
    "t": {"type": "text"},
    "n": {"type": "integer", "value": 2},
    "o": {"type": "object", "value": {"a": {"b": 1}}},
    "m": {"type": "media"},
    "l": {"type": "list", "value": ROWS},
    "d": {"type": "date"},
    "g": {"type": "text", "keep": True},
    "f": {"type": "media", "keep": True, "max": "1MB"},
    "k": {"type": "list", "max": 2, "keep": True, "fields": {"text": "text", "day": "date"}},
    "w": {"type": "answer", "accepts": ["text", "image", "location"]},
}
# a text that works, and ones that fail or come out empty, too long or as source
TEXTS = ("Hi.", "{{ t }}", "{{ more }}", "{{ o.a.b }}", "{{ contact.name }}, {{ came_from }}", "{{ t }} " * 90,
         '{{ signal_url("paid") }}', "{{ history | length }}", "{{ message.kind }}: {{ message.text }}", "{{ g }}",
)  # fmt: skip
SIGNALS = {"paid": {"amount": "number", "who": {"type": "text"}}, "seen": {}}
DEFINE = {"more": "n + 1", "much": "n > 1"}
FACTS = (
    Source("flows/facts.md", b"Open daily. See https://facts.example/a"),
    Source("flows/policies/house.md", b"# Order\nOne is made at once.\n\n# Pets\nYes, two."),
)
LEAK = "You sell shoes to the contacts of a shop and never tell anybody anything else."
CONDITIONS = (
    "much",
    "t == 'x'",
    "not m",
    "l | length > 9",
    "o.a.b > 3",
    "message.tapped",
    "'opted_out' in contact.tags",
)
VALUES = {
    "t": ("x", "{{ n }}", "{{ t }}", "{{ o.a }}"),
    "n": (1, "{{ n + 1 }}", "{{ l | length }}", "{{ t }}"),
    "o": ({"a": "{{ t }}"}, "{{ o }}", None),
    "g": ("x", "{{ message.text }}"),
}


class Author:
    """Writes flows at random, every verb with every option, without asking whether they make sense."""

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

    def clear(self) -> Any:
        return self.one("all", "n", [self.one(*VALUES), "d"])

    def saying(self) -> Any:
        return self.one(self.text(), self.text(), {"any": ["Hi.", "Hello {{ t }}.", self.text()]})

    def transition(self) -> Any:
        return self.target() if self.one(0, 1) else {**self.speech(), "then": self.target()}

    def staying(self) -> Any:
        """A transition of a step that waits: it may keep waiting, and count a wrong answer."""
        return self.one(self.transition, self.transition, lambda: {**self.speech(), "then": "stay"})()

    def speech(self) -> dict[str, Any]:
        return self.some(
            say=self.saying, ask=self.saying, clear=self.clear, set=self.set, tag=self.text, then=self.target
        )

    def timed(self) -> Any:
        return {
            "after": self.one("1h", "2h", "3h"),
            **self.speech(),
            "then": self.one(*self._steps, "/two", "next", "again", "back", "end"),
        }

    def retry(self) -> Any:
        return {**self.speech(), **({"max": self.one(0, 1, 2), "else": self.transition()} if self.one(0, 1) else {})}

    def waiting(self) -> dict[str, Any]:
        return self.some(
            remind=lambda: {"after": "1h", **self.speech(), "max": self.one(1, 2, 3)},
            timeout=lambda: self.one("never", *3 * [{**self.timed(), "fixed": self.one(True, False)}]),
            words=lambda: self.words("go", "more"),
            signals=self.signals,
            **({"other": self.transition} if self.one(0, 0, 1) else {"retry": self.retry}),
        )

    def words(self, *texts: str) -> dict[str, Any]:
        return {text: self.word() for text in texts if self.one(0, 1)}

    def signals(self) -> dict[str, Any]:
        """Transitions for some of `SIGNALS`."""
        condition = self.some(**{"if": lambda: self.one("event.amount > n", "event.who == t", "event.amount > 2")})
        taken = self.some(set=lambda: {"n": "{{ event.amount }}", "t": self.one("x", "{{ event.who }}")})
        paid = {**condition, **self.speech(), **taken, **self.some(then=self.target)} or self.target()
        if condition:
            paid = self.one(paid, [paid, self.target()], [paid, {"if": "event.amount > 5", "say": "More."}])
        return {"paid": paid, **self.some(seen=self.transition)}

    def other_contact(self) -> dict[str, Any]:
        """A flow or signal for another contact, which is often the same contact."""
        who = self.one("{{ contact.id }}", "{{ contact.id }}", "6289999999999", "{{ t }}", "{{ it.k }}")
        return {"contact": who, **self.some(each=lambda: self.one("l", "o"))}

    def start(self) -> dict[str, Any]:
        more = self.some(busy=lambda: self.one(*BUSY), **{"with": self.set})
        return {"start": f"/{self.one(*FLOWS)}", **self.other_contact(), **more}

    def signal(self) -> dict[str, Any]:
        data = {"amount": self.one(1, "{{ n }}", "{{ t }}"), "who": self.one("x", "{{ t }}", "{{ contact.name }}")}
        sent = self.one({"signal": "seen"}, {"signal": "paid", "with": data}, {"signal": "paid", "with": data})
        return {**sent, **self.other_contact()}

    def write(self) -> dict[str, Any]:
        instructions = self.one(LEAK, LEAK + " {{ t }}")
        failures = {"else": self.transition(), **self.some(mismatch=self.transition, unsafe=self.transition)}
        return {"write": instructions, "save": self.one("t", "n"), "errors": failures, **self.some(text=self.text)}

    def word(self) -> Any:
        heard = {"if": self.one(*CONDITIONS), **self.speech(), "then": self.target()}
        return self.one(self.transition(), heard, {"correct": self.one(*self._steps)})

    def options(self) -> dict[str, Any]:
        return self.some(
            then=self.transition,
            clear=self.clear,
            set=self.set,
            tag=self.text,
            errors=lambda: {"else": self.transition(), **self.some(mismatch=self.transition, failed=self.transition)},
            visits=lambda: {"max": self.one(1, 2), "else": self.transition()},
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
        return self.one(self.staying(), {**value, **condition})

    def gathering(self) -> dict[str, Any]:
        return self.some(gather=lambda: self.one("3s", "30s", "never"))

    def ask(self) -> dict[str, Any]:
        choices, saved = self.choices(), self.one(*VARS)
        optional = self.some(save=lambda: "l" if "many" in choices else saved, skip=lambda: ["skip"])
        failures = self.some(errors=lambda: {"else": self.transition(), **self.some(mismatch=self.staying)})
        free = {} if choices else self.gathering()
        return {"ask": self.text(), **choices, **optional, **free, **failures, **self.waiting()}

    def template(self) -> dict[str, Any]:
        stop = self.one(
            self.staying(), {"if": self.one(*CONDITIONS), "words": ["no"], **self.speech(), "then": self.target()}
        )
        valid = self.some(valid=lambda: self.one("1h", "3d"))
        waits = {"replies": {"Go": self.staying(), "Stop": stop}, **valid, **self.waiting()}
        return {"template": {"name": "nudge", "language": "en", "body": [self.text()]}, **self.one({}, waits)}

    def say(self) -> dict[str, Any]:
        link = {"title": self.one("Go", "{{ t }}"), "url": self.one("https://x.example", "{{ t }}")}
        place = {"latitude": self.one(1, "{{ n }}"), "longitude": 1}
        more = self.one({}, {"link": link}, {"image": self.one("https://x.example/a.png", "{{ t }}")}, None)
        said = {"say": None, "location": place} if more is None else {"say": self.text(), **more}
        waiting = {key: value for key, value in self.waiting().items() if key in ("remind", "timeout", "words")}
        template = {"name": "late", "language": "en", "body": [self.text()]}
        return {**said, **self.one({}, {}, {"window_closed": {"template": template, "wait": True}, **waiting})}

    def call(self) -> dict[str, Any]:
        return {
            "call": "find",
            "with": {"number": self.one(1, "{{ n }}", "{{ o }}")},
            **self.some(save=lambda: self.one(*VARS)),
        }

    def http(self) -> dict[str, Any]:
        parts = {"t": "answer.a", "n": "status"}
        failures = {
            "else": self.transition(),
            **self.some(**{"404": self.transition, "4xx": lambda: {"say": "{{ answer.a }}", "then": "end"}}),
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
        brings = self.some(
            save=lambda: {"t": "n", "o": "o"},
            expired=self.transition,
            signals=self.signals,
            words=lambda: self.words("go", "more"),
        )
        return {"run": f"/{self.one(*FLOWS)}", "with": self.set(), **brings, **self.one({}, {}, self.each())}

    def each(self) -> dict[str, Any]:
        return {"each": self.one("l", "o"), **self.some(**{"break": lambda: self.one(*CONDITIONS)}), "save": {}}

    def exits(self, *needs: dict[str, Any]) -> dict[str, Any]:
        ways = {name: {"when": "they said it", **self.speech(), "then": self.target()} for name in ("a", "b")}
        return {name: self.one(self.target(), {**way, **self.one({}, *needs)}) for name, way in ways.items()}

    def ai(self) -> dict[str, Any]:
        tools = ["orders.find", {"call": "orders.find", "with": {"number": "{{ t }}"}, "about": "Find it."}]
        request = {
            "http": "GET https://shop.example/{{ it.number }}", "name": "look", "about": "Look for an order.",
            "takes": {"number": "its number", "day": {"type": "date", "about": "its day"}}, **self.some(confirm=lambda: True),
        }  # fmt: skip
        by_team = {"by": "support", "within": "2h", **self.some(say=self.text, **{"else": self.transition})}
        careful = {"call": "orders.find", "confirm": self.one(True, "Shall I find {{ it.number }}?", by_team)}
        failures = {
            "else": self.transition(),
            **self.some(unsafe=self.transition, down=self.transition, confused=self.transition),
        }
        optional = (
            self.some(
                tools=lambda: self.one([self.one(*tools, careful, careful)], [request], [careful, request]),
                fill=lambda: {"n": "a number", **self.one({}, {"t": "what they want"})},
                remember=lambda: {"k": "what they like"},
                judge=lambda: {"share": "50%", "questions": ["Is it polite?"]},
                turns=lambda: {"max": self.one(1, 2), "else": self.transition()},
                budget=lambda: {"contact": 100, "else": self.transition()},
                while_busy=lambda: self.one("merge", "together"),
                messages=lambda: self.one(1, 2),
                thinking=lambda: {"after": "6s", "say": self.text()},
                history=lambda: self.one(0, 30),
                facts=lambda: "facts.md",
                greet=self.text,
                pictures=lambda: True,
                other=self.transition,
                hears=lambda: 100,
                calls=lambda: 1,
                knowledge=lambda: {"folder": "policies/", **self.some(cite=lambda: True, rewrite=lambda: True)},
            )
            | self.gathering()
        )
        waiting = {
            key: value for key, value in self.waiting().items() if key in ("remind", "timeout", "words", "signals")
        }
        instructions = self.one(LEAK, LEAK + " {{ t }} of {{ contact.name }}, {{ n }}")
        exits = self.exits({"needs": ["n"]}, {"needs": ["t", "n"]})
        return {"ai": instructions, "never": [LEAK], "exits": exits, "errors": failures, **optional, **waiting}

    def classify(self) -> dict[str, Any]:
        ways = {"exits": self.exits(), "other": self.transition(), "errors": {"else": self.transition()}}
        return {"classify": self.text(), **ways, **self.some(text=self.text)}

    def handoff(self) -> dict[str, Any]:
        closes = {
            "closed": self.transition(),
            **self.some(signals=self.signals, timeout=self.timed),
        }
        return {"handoff": {"team": "x", "say": self.text()}, **closes}

    def wait(self) -> dict[str, Any]:
        lasts = self.one("1h", "2h", {"until": "office"}, "{{ now + hours(n) }}", "{{ t }}", "2030-05-07")
        return {"wait": lasts, **self.some(signals=self.signals, other=self.transition)}

    def draft(self) -> dict[str, Any]:
        return {"draft": self.text(), "keep": self.one("1h", "2d")}

    def step(self) -> dict[str, Any]:
        write = self.one(
            self.ask, self.ask, self.template, self.say, self.call, self.http, self.branch, self.run, self.handoff, self.classify,
            self.ai, self.ai, lambda: {"set": self.set()}, lambda: {"clear": self.clear()}, self.wait, self.draft, self.write, self.start, self.signal,
        )  # fmt: skip
        options = self.options()
        if write in (self.ai, self.classify, self.handoff):
            options.pop("then", None)
        return {**options, **write()}

    def flow(self, name: str) -> dict[str, Any]:
        self._steps = tuple(step for step in STEPS if self.one(0, 1, 1) or (name, step) == ("three", "a")) or ("a",)
        flow = {
            "flow": name,
            "start": {
                "main": {"otherwise": True},
                "two": {
                    "words": ["two"],
                    "event": "contact.updated",
                    "match": self.one("whole", "anywhere", "close"),
                    **self.one({}, {"about": "They want two.", "examples": ["I want it"], "title": "Two"}),
                },
                "three": {
                    "pattern": ".*three",
                    "event": self.one("message.read", "conversation.opened"),
                    **self.who(),
                    **self.one({}, {}, {"about": "They want three."}),
                },
            }[name],
            **self.some(
                interrupted=lambda: self.one("resume", "ask", "drop", "wait"), words=lambda: self.words("help", "x")
            ),
            "vars": VARS,
            "define": DEFINE,
            "defaults": self.some(
                signals=self.signals,
                gather=lambda: self.one("2s", "9s"),
                errors=lambda: {"else": "end"},
                old_taps=lambda: self.one("ignore", "reopen"),
            ),
            "steps": {step: self.step() for step in self._steps},
        }
        if self.one(0, 0, 1):
            asked = {"n": {"ask": "How many?", "save": "n"}, "d": {"ask": "When?", "save": "d"}}
            named = {f"slot_{name}": {**self.waiting(), **step} for name, step in asked.items()}
            flow["steps"] = self.one({**flow["steps"], **named}, {**named, **flow["steps"]})
        counted = [name for name, step in flow["steps"].items() if "visits" in step]
        for step in (step for step in flow["steps"].values() if counted and "ask" in step):
            step |= self.some(reset=lambda: self.one(*counted))
        slots = [name for name, step in flow["steps"].items() if "ask" in step and step.get("save") in ("n", "d")]
        return {**flow, "slots": {"fill": slots, "model": self.one(True, False)}} if slots and self.one(0, 1) else flow

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
        spoken = self.some(
            transcribe=lambda: {"http": "POST https://a.example/x", "form": {"file": "{{ voice }}"}, "daily": 9}
        )
        quiet = self.some(
            opt_out=lambda: {"words": ["quit"], "say": self.one("Bye.", "{{ contact.name }}"), "back": ["why", "begin"]}
        )
        hours = {"office": {"mon-fri": "9:00-17:00", "holidays": ["2030-05-07"]}}
        return {
            "name": "T",
            "words": words,
            "hours": hours,
            "ai": {"never": [LEAK]},
            "signals": SIGNALS,
            **spoken,
            **quiet,
            "secrets": ["CRM"],
            "events_to": {"url": "https://crm.example/bot", "secret": "CRM", "on": [*EVENTS]},
            "defaults": {"timeout": {"after": "9h", "then": "end"}, **defaults},
        }


PLAIN = {"ask": "Plain?"}


def written(flows: list[dict[str, Any]]) -> tuple[str, dict[int, tuple[dict[str, Any], str | None]]]:
    """The flows as a file, and what stands in each of its lines: a flow's step, or its head."""
    lines: list[str] = []
    owners: dict[int, tuple[dict[str, Any], str | None]] = {}
    for flow in flows:
        head = {key: value for key, value in flow.items() if key != "steps"}
        lines += ["---", json.dumps(head)[:-1] + ', "steps": {']
        owners[len(lines)] = (flow, None)
        for name, step in flow["steps"].items():
            lines.append(f"{json.dumps(name)}: {json.dumps(step)},")
            owners[len(lines)] = (flow, name)
        lines.append("}}")
    return "\n".join(lines), owners


def _mended(step: dict[str, Any], name: str, problem: Problem) -> dict[str, Any]:
    """The step without the key in which there is a problem; what is plain where that is its verb."""
    if problem.code == "E130" and "errors" not in step:
        return {**step, "errors": {"else": "end"}}
    column = len(json.dumps(name)) + 4  # of the first key, counted from 1
    for key, value in step.items():
        column += len(json.dumps({key: value}))
        if column > problem.column:
            left = {other: step[other] for other in step if other != key}
            return left if left.keys() & KINDS and ("write" not in left or "save" in left) else PLAIN
    return PLAIN


def library_of(bot: dict[str, Any], flows: list[dict[str, Any]]) -> Library:
    """A bot that loads: whatever the checks refuse gives way to something plain."""
    for _ in range(40):
        text, owners = written(flows)
        loaded = load(sources_of(text, json.dumps(bot)), extensions_in([HANDLERS]), FACTS)
        if loaded.library is not None:
            return loaded.library
        for problem in loaded.problems:
            if problem.path == "bot.yml":
                bot["words"]["why"] = "again"
                continue
            flow, name = owners[problem.line]
            if name is None:
                flow |= {"defaults": {}, "words": {}}
            else:
                flow["steps"][name] = _mended(flow["steps"][name], name, problem)
            if name is None or flow["steps"][name] == PLAIN:
                slots = flow.pop("slots", {"fill": []})
                left = [slot for slot in slots["fill"] if slot != name]
                if left and name is not None:
                    flow["slots"] = {**slots, "fill": left}
    raise AssertionError("\n".join(map(str, loaded.problems)))
