"""Random bots as people write them, and make mistakes: too late, not asked before, never led to, never the case.

A step leads to those behind it, or back to the first; texts show what is asked for, here or in another flow.
"""

from typing import Any

from tests.random_bots import Author

SIZES = ("S", "M", "L")
KNOWN: dict[str, dict[str, Any]] = {
    "name": {"type": "text", "max": 60},
    "size": {"type": "choice", "of": list(SIZES)},
    "count": {"type": "integer", "min": 1, "max": 9},
    "paid": {"type": "boolean"},
    "order": {"type": "object"},
    "note": {"type": "text", "max": 20},
}
TEXTS = {
    "name": ("Thank you, {{ name }}.", "{{ name }}, one moment.", "{{ name or 'You' }} again!"),
    "size": ("Size {{ size }} it is.", "{{ size }}, then."),
    "count": ("That makes {{ count * 3 }} euros.", "{{ count }} of them."),
    "paid": ("{% if paid %}It is paid.{% else %}Pay when it comes.{% endif %}",),
    "order": ("It is {{ order.state }}.",),
    "note": ("You wrote: {{ note | default('nothing') }}.", "A note: {{ note }}"),
}
CONDITIONS = (
    "size == 'S'", "size == 'L'", "size == 'XL'", "size in ['M', 'L']", "count > 3", "count > 9", "paid", "not name",
    "note", "name and count > 1",
)  # fmt: skip
SHORT, LONG = ("10m", "1h", "3h"), ("8h", "20h", "26h", "2d")


class Plausible(Author):
    """Writes bots that mostly work."""

    def text(self) -> str:
        return str(self.one("Good.", "Just a moment.", *self.one(*TEXTS.values())))

    def later(self) -> str:
        """A target behind the step, or another that people write."""
        behind = self._steps[self._steps.index(self._step) + 1 :]
        return str(self.one(*behind, *behind, "next", "end", self._steps[0]))

    def bot(self) -> dict[str, Any]:
        template = {"window_closed": {"template": {"name": "late", "language": "en"}}}
        return {
            "name": "T",
            "words": {"menu": "/main", "stop": {"say": "Bye.", "then": "end"}},
            "defaults": {
                "retry": {"say": "Sorry?", "max": 2, "else": "end"},
                "timeout": {"after": self.one("20h", "23h"), "then": "end"},
                "errors": {"else": {"say": "That did not work.", "then": "end"}},
                **self.one(template, {}),
            },
        }

    def flow(self, name: str) -> dict[str, Any]:
        self._steps = tuple(f"s{number}" for number in range(self.one(3, 4, 5, 6, 7)))
        starts = {"main": {"otherwise": True}, "two": {"words": ["order"]}, "three": {"words": ["news"]}}
        steps = {name: self.step(name) for name in self._steps}
        return {
            "flow": name,
            "start": starts[name],
            **self.some(interrupted=lambda: "resume"),
            "vars": KNOWN,
            "steps": steps,
        }

    def step(self, name: str = "") -> dict[str, Any]:
        self._step = name
        write = self.one(
            self.ask_text, self.ask_size, self.ask_size, self.ask_count, self.ask_paid, self.say, self.say, self.branch,
            self.call, self.http, self.wait, self.handoff, self.run, self.ai,
        )  # fmt: skip
        return dict(write())

    def silent(self) -> dict[str, Any]:
        """The outcomes of a step when nobody answers."""
        remind = {"after": self.one(*SHORT, *LONG), "say": "Are you there?"}
        timeout = {"after": self.one(*SHORT, *LONG), **self.some(say=self.text), "then": self.later()}
        return self.some(remind=lambda: remind, timeout=lambda: timeout)

    def ask_text(self) -> dict[str, Any]:
        asked = self.one(
            {"ask": "Your name?", "save": "name"}, {"ask": "Anything else?", "save": "note", "skip": ["no"]}
        )
        return {**asked, **self.silent()}

    def ask_size(self) -> dict[str, Any]:
        leads = {size: self.one("next", self.later()) for size in SIZES if self.one(True, True, False)} or {"M": "next"}
        options = {size: {"value": size, "then": target} for size, target in leads.items()}
        return {"ask": "Which size?", "buttons": options, "save": "size", **self.silent()}

    def ask_count(self) -> dict[str, Any]:
        return {"ask": "How many?", "save": "count", **self.some(skip=lambda: ["some"]), **self.silent()}

    def ask_paid(self) -> dict[str, Any]:
        return {"ask": "Have you paid?", "save": "paid", **self.silent()}

    def say(self) -> dict[str, Any]:
        plan = {"flow": "three", "after": self.one(*SHORT, *LONG), "with": self.passed()}
        options = self.some(
            schedule=lambda: plan, tag=lambda: self.one("vip", "{{ size }}"), set=lambda: {"note": "{{ name }}"}
        )
        return {"say": self.text(), **options, **self.some(then=self.later)}

    def branch(self) -> dict[str, Any]:
        ways = [{"if": self.one(*CONDITIONS), "then": self.later()} for _ in range(self.one(1, 2))]
        return {"branch": [*ways, *self.one([], [{"else": self.later()}])]}

    def call(self) -> dict[str, Any]:
        return {
            "call": "find",
            "with": {"number": "{{ count }}"},
            "save": "order",
            "errors": {"NotFound": self.later()},
        }

    def http(self) -> dict[str, Any]:
        address = "GET https://shop.example/orders/{{ count or 1 }}"
        saved = self.one({"note": "answer.text"}, {"count": "answer.count"})
        return {"http": address, "save": saved, "errors": {"404": self.later()}}

    def wait(self) -> dict[str, Any]:
        return {"wait": self.one(*SHORT, *LONG)}

    def handoff(self) -> dict[str, Any]:
        timeout = {"after": self.one(*LONG), "say": "Nobody is here.", "then": "end"}
        return {
            "handoff": {"team": "x", "say": "One moment."},
            "closed": self.later(),
            **self.some(timeout=lambda: timeout),
        }

    def run(self) -> dict[str, Any]:
        return {
            "run": "/three",
            "with": self.passed(),
            **self.some(save=lambda: {"count": "count"}, expired=self.later),
        }

    def passed(self) -> dict[str, Any]:
        """The values for another flow."""
        name = self.one("name", "size", "count")
        return {name: f"{{{{ {name} }}}}"}

    def ai(self) -> dict[str, Any]:
        exits = {
            "sold": {"when": "they want it", **self.one({}, {"needs": ["count"]}), "then": self.later()},
            "left": "end",
        }
        return {"ai": "Sell shoes.", "fill": {"count": "how many"}, "exits": exits}
