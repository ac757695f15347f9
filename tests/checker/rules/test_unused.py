"""W307: values that go into a flow which never reads them."""

import pytest

from bot.checker.graph import Graph
from bot.checker.rules.misfits import find_unused
from bot.extensions.decorators import on
from tests.checker.proved import BOT, library
from tests.talk import library_of

CHILD = "flow: c\nvars: {x: text, y: text}\nsteps:\n  "


def told(step: str, child: str, *flows: str) -> list[str]:
    """What is found of what goes into a flow with this step."""
    parent = f"flow: a\nstart: {{words: [a]}}\nvars: {{mine: text}}\nsteps: {{r: {step}}}"
    return [finding.what for finding in find_unused(Graph(library(parent, CHILD + child, *flows)))]


def test_what_no_text_reads_is_found() -> None:
    unread = ['step "r": flow c never reads "x"']
    assert told("{run: /c, with: {x: X}}", 's: {say: "{{ y }}"}') == unread
    assert told("{say: R, schedule: {flow: c, after: 1h, with: {x: X}}}", "s: {say: S}") == unread


@pytest.mark.parametrize(
    "step",
    ['s: {say: "{{ x }}"}', "s: {branch: [{if: x, then: end}]}", "s: {ask: S, words: {w: {if: x, say: W}}}",
     "s: {set: {y: '{{ x }}'}}", "s: {ai: Talk., fill: {x: what it is}, exits: {a: end}}",
     "s: {ai: Talk., exits: {a: {needs: [x], then: end}}}", "s: {say: S, then: /d}"],
)  # fmt: skip
def test_what_is_read_somewhere_is_not(step: str) -> None:
    over = 'flow: d\nvars: {x: text}\nsteps: {t: {say: "{{ x }}"}}'
    assert told("{run: /c, with: {x: X}}", step, over) == []


def test_what_is_given_back_is_read() -> None:
    assert told("{run: /c, with: {x: X}, save: {mine: x}}", "s: {say: S}") == []


def test_a_bot_with_hooks_is_not_asked() -> None:
    @on("end")
    def ended(vars: dict[str, object]) -> None:
        """Hears of all variables."""

    flows = f"flow: a\nstart: {{words: [a]}}\nsteps: {{r: {{run: /c, with: {{x: X}}}}}}\n---\n{CHILD}s: {{say: S}}"
    assert list(find_unused(Graph(library_of(flows, BOT, {"ended": ended})))) == []
    assert list(find_unused(Graph(library_of(flows, BOT))))
