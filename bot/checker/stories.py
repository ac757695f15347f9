"""Findings told as conversations: what somebody does, what the bot does, and where it goes wrong; and as tests.

A finding says that something may happen. Here it is made to happen, with the real engine: what is told, is so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from bot.checker.case import Case, Shown
from bot.checker.explorer import Explorer
from bot.checker.faults import FAULTS
from bot.checker.findings import Finding
from bot.checker.graph import Edge, Graph, Place
from bot.checker.hints import NO_HINTS, Hints
from bot.checker.passing import Passing
from bot.checker.proposals import Proposals
from bot.checker.search import Search
from bot.checker.state import State
from bot.checker.told import said
from bot.checker.written import CONTACT, document, happened, heading, talk
from bot.flow.library import Library
from bot.lang.nodes import Mark

BEGINS = datetime(2030, 5, 6, 10, 0)
"""When the talks begin, on the bot's own clock: a Monday."""

MOST_TURNS = 2000
"""That are spent on one finding: a second."""


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation that shows a fault: sentences for people, and a test that fails for this reason alone."""

    sentences: tuple[str, ...]
    test: str


def tell(library: Library, finding: Finding, hints: Hints = NO_HINTS) -> Talk | None:
    """The conversation that shows a finding; None where none was found, or the code has none.

    ``hints`` are what tests of the bot know of its world.
    """
    return Teller(library, hints).tell(finding)[0]


class Teller:
    """Tells the findings of one bot."""

    def __init__(self, library: Library, hints: Hints = NO_HINTS) -> None:
        self._library = library
        self._graph = Graph(library)
        self._passing = Passing(self._graph)
        self._hints = hints

    def tell(self, finding: Finding, turns: int = MOST_TURNS) -> tuple[Talk | None, int]:
        """The conversation that shows a finding, and how many turns it took to find it.

        None where so many turns have found none, or the code has none.
        """
        fault = FAULTS.get(finding.code)
        if fault is None:
            return None, 0
        explorer = Explorer(self._library, self._hints.extensions)
        place = self.place_of(finding)
        case = Case(explorer.library, finding, place, None if place is None else self._graph.steps[place])
        begins = [explorer.begin(CONTACT, BEGINS.replace(tzinfo=self._library.bot.timezone))]
        search = Search(explorer, Proposals(self._graph, self._hints, large=finding.code.startswith(_LARGE)))
        state = search.find(begins, self._story(finding, place), lambda state: fault(state, case) is not None, turns)
        shown = None if state is None else fault(state, case)
        if state is None or shown is None:
            return None, explorer.taken
        test = self._test(state, finding, shown, drew=explorer.drew)
        return Talk(tuple(_sentences(state, shown)), test), explorer.taken

    def _story(self, finding: Finding, place: Place | None) -> tuple[Edge, ...]:
        """The edges of the finding; where it has none, a way to its step."""
        if finding.story or place is None or place not in self._passing.reached:
            return finding.story
        return self._passing.way_to(place)

    def place_of(self, finding: Finding) -> Place | None:
        """The step in whose lines a finding is; None for one in `bot.yml`, or above all steps."""
        flows = [flow for flow in self._library.flows.values() if _is_above(flow.mark, finding)]
        flow = max(flows, key=lambda flow: flow.mark.line, default=None)
        steps = [] if flow is None else [step for step in flow.steps.values() if _is_above(step.mark, finding)]
        step = max(steps, key=lambda step: step.mark.line, default=None)
        return None if flow is None or step is None else (flow.name, step.name)

    def _test(self, state: State, finding: Finding, shown: Shown, *, drew: bool) -> str:
        head = heading(state, f"{finding.code}: {finding.what}", drew=drew, zone=self._library.bot.timezone)
        assert state.before is not None
        until = list(talk(state.before)) if state.before.move is not None else []
        return f"# {finding}\n{document(head, [*until, *happened(state), *shown.expected])}"


def _is_above(mark: Mark, finding: Finding) -> bool:
    return mark.path == finding.path and mark.line <= finding.line


_LARGE = ("W4", "W6")
"""The codes that need large values."""


def _sentences(state: State, shown: Shown) -> Iterator[str]:
    """What happened, one thing after the other; what happens again and again is told once."""
    for beat, again in groupby(map(_beat, state.path())):
        times = len(list(again))
        yield from beat
        if times > 1:
            yield f"and so on, {'once' if times == 2 else f'{times - 1} times'} more"
    yield shown.sentence


def _beat(state: State) -> tuple[str, ...]:
    """What one move came to."""
    assert state.move is not None
    return state.move.sentence, *(f"the bot {said(sent.shown)}" for sent in state.sent if sent.shown is not None)
