"""The checker finds every null variable that leaves a hole or fails in a random conversation with a random bot;
and no condition has a value that a finding excludes.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from bot.checker.findings import Finding
from bot.checker.graph import Graph
from bot.checker.rules.constant_conditions import find_constants
from bot.checker.rules.uninitialised import find_uninitialised
from bot.core.effects import HttpRequest
from bot.language.expressions import templates
from bot.language.expressions.formats import written as shown_as
from bot.language.expressions.templates import Expression, Template, TemplateFailed
from bot.language.flow.library import Library
from bot.language.source.problems import Mark
from tests.checker.random_faults import FILLED, Forgetful, written_by
from tests.engine.test_random import EVENTS, Contact
from tests.searches import tries

ELSEWHERE = ("edit", "start", "strange tap")
"""Not the bot's doing: an edit, a start by a program, taps on what was never shown."""


@st.composite
def bots(draw: st.DrawFn) -> Library:
    """A bot of up to three flows."""
    written = written_by(Forgetful(draw(st.integers(0, 1 << 32))))
    note(str(written))
    return written.library


class Served(Contact):
    """A contact of a bot whose services always answer something."""

    def meet(self, kind: str, detail: Any) -> None:
        if kind != "call" or detail != "done" or not self.calls:
            super().meet(kind, detail)
            return
        answer: Any = {"a": {"b": "c"}}
        asked = isinstance(self.calls[-1][1], HttpRequest)
        self.returns({"status": 200, "answer": {"a": "x"}} if asked else answer)


class Nulls:
    """Notes where texts show null, or fail because of it, and which variables are null there."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.holes: list[tuple[Mark, str, frozenset[str]]] = []
        self.truths: set[tuple[Mark, bool]] = set()  # of conditions
        self._shown_null = False
        render, single = Template.render, templates._Program._single

        def noting_null(value: Any) -> str:
            self._shown_null = self._shown_null or value is None
            return shown_as(value)

        def rendering(text: Template, scope: Mapping[str, Any], *shown: Any) -> str:
            self._shown_null = False
            found = self._failing(lambda: render(text, scope, *shown), text, scope)
            if self._shown_null:
                self._note(text, scope)
            return str(found)

        def working_out(text: Template | Expression, scope: Mapping[str, Any]) -> Any:
            value = self._failing(lambda: single(text, scope), text, scope)
            self.truths.add((text.mark, bool(value)))
            return value

        monkeypatch.setattr("bot.language.expressions.templates.written", noting_null)
        monkeypatch.setattr(Template, "render", rendering)
        monkeypatch.setattr(templates._Program, "_single", working_out)

    def _failing(self, work: Any, text: Template | Expression, scope: Mapping[str, Any]) -> Any:
        try:
            return work()
        except TemplateFailed as failed:
            if "null" in str(failed):
                self._note(text, scope)
            raise

    def _note(self, text: Template | Expression, scope: Mapping[str, Any]) -> None:
        null = frozenset(name for name in text.names & FILLED.keys() if scope.get(name, 0) is None)
        if null:
            self.holes.append((text.mark, text.source, null))


def says(found: list[Finding], mark: Mark, null: frozenset[str]) -> bool:
    """True if a finding at the text's mark names one of these variables."""
    there = [each for each in found if (each.path, each.line, each.column) == (mark.path, mark.line, mark.column)]
    return any(f'"{name}"' in each.what for each in there for name in null)


@settings(max_examples=tries(6, 70))
@given(bots(), st.lists(EVENTS, min_size=10, max_size=40))
def test_what_happens_to_values_has_been_found_before(library: Library, events: list[tuple[str, Any]]) -> None:
    graph = Graph(library)
    found, constant = list(find_uninitialised(graph)), list(find_constants(graph))
    note("\n".join(map(str, (*found, *constant))))
    with pytest.MonkeyPatch.context() as monkeypatch:
        nulls = Nulls(monkeypatch)
        contact = Served(library, library)
        contact.user("hi")
        for kind, detail in events:
            if kind not in ELSEWHERE:
                contact.meet(kind, detail)
    for mark, source, null in nulls.holes:
        assert says(found, mark, null), f"{mark} {source!r}: {', '.join(null)}"
    for mark, truth in nulls.truths:
        code = "W303" if truth else "W302"
        assert not any(
            (each.path, each.line, each.column, each.code) == (mark.path, mark.line, mark.column, code)
            for each in constant
        )
