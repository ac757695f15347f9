"""Random bots with many faults: messages that come too late, or variables without a value."""

import json
from dataclasses import dataclass
from inspect import getsource
from pathlib import Path
from typing import Any

from bot.language.flow.documents import Source
from bot.language.flow.library import Library
from bot.loading.folder import Folder
from tests.random_bots import FACTS, FLOWS, VARS, Author, NotFound, find, find_order, library_of, written
from tests.talk import sources_of

GIVEN = {
    "s": ("a", "b"),
    "t": ("x", "{{ n }}", "{{ t }}", None),
    "n": (1, "{{ n + 1 }}", "{{ t }}", None),
    "o": ({"a": {"b": "c"}}, "{{ o }}", None),
}
FILLED: dict[str, dict[str, Any]] = {
    **VARS,
    "t": {"type": "text", "value": "x"},
    "s": {"type": "text", "value": "a"},
}
"""Variables that have a value from the beginning on; that of files alone has none."""


class Slow(Author):
    """Writes flows in which much time passes, and no template replaces late messages."""

    def bot(self) -> dict[str, Any]:
        bot = super().bot()
        bot["defaults"].pop("window_closed", None)
        return bot

    def timed(self) -> Any:
        return {**super().timed(), "after": self.one("1h", "5h", "9h", "20h", "30h")}

    def wait(self) -> dict[str, Any]:
        long = {"wait": self.one("3h", "10h", "20h", "2d")}
        return super().wait() if self.one(True, False) else long

    def options(self) -> dict[str, Any]:
        return {**super().options(), **self.some(then=self.target)}

    def waiting(self) -> dict[str, Any]:
        leads = {"after": self.one("2h", "8h", "20h"), "then": self.one("a", "b", "next", "again", "/main")}
        return {**super().waiting(), **self.one({}, {"timeout": leads})}

    def flow(self, name: str) -> dict[str, Any]:
        return {
            **super().flow(name),
            "vars": {**VARS, "t": FILLED["t"]},
        }  # a text that fails ends the conversation before it is late


class Forgetful(Author):
    """Writes flows in which variables are null more often than not. The fields of a record are never null."""

    def text(self) -> Any:
        return self.one(
            "Hi.", "{{ t }}", "Hi {{ t }}.", "{{ more }}", "{% if t %}{{ t }}{% else %}-{% endif %}", "{{ t or n }}"
        )

    def set(self) -> Any:
        name = self.one(*GIVEN)
        return {name: self.one(*GIVEN[name])}

    def branch(self) -> dict[str, Any]:
        asked = (
            "s == 'a'",
            "s == 'c'",
            "s in ['a', 'b']",
            "not s",
            "s",
            "n == 1",
            "n != 'x'",
            "t == 'x'",
            "much",
            "s < 'b'",
        )
        return {"branch": [{"if": self.one(*asked), "then": self.target()} for _ in range(3)]}

    def options(self) -> dict[str, Any]:
        options = super().options()
        for expected in ("failed", "mismatch"):
            options.get("errors", {}).pop(expected, None)
        return options

    def flow(self, name: str) -> dict[str, Any]:
        flow = super().flow(name)
        flow["vars"] = {
            name: variable if self.one(0, 1) else {"type": variable["type"]} for name, variable in FILLED.items()
        }
        flow["defaults"].pop("old_taps", None)  # a contact who reopens a question may be in no flow any more
        return flow


@dataclass(frozen=True)
class Written:
    """A bot that loads, and how it is written: its bot.yml and its flows, as one file each."""

    library: Library
    bot: str
    flows: str

    def __str__(self) -> str:
        return f"{self.bot}\n{self.flows}"

    @property
    def folder(self) -> Folder:
        """The bot with its handlers as if it lay in a folder."""
        parts = (getsource(each) for each in (NotFound, find, find_order))
        code = "\n\n".join(["from typing import Any", "from bot import handler", *parts])
        return Folder(
            Path("random"), tuple(sources_of(self.flows, self.bot)), (Source("handlers.py", code.encode()),), FACTS
        )


def written_by(author: Author) -> Written:
    """A bot of up to three flows."""
    bot = author.bot()
    flows = [author.flow(name) for name in ("main", *(name for name in FLOWS[1:] if author.one(0, 1)))]
    library = library_of(bot, flows)
    return Written(library, json.dumps(bot), written(flows)[0])
