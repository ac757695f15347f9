"""The search for a counterexample of a finding: a conversation in sentences, and a test that fails.

A finding says that something may happen. The real engine shows here that it does.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from bot.checker.analysis.reachability import Reachability
from bot.checker.counterexamples.fault_tests import FAULT_TESTS, ONLY_AFTER_ROUTE
from bot.checker.counterexamples.finding_case import FaultTest, FindingCase, VisibleFault
from bot.checker.counterexamples.transcript_writer import CONTACT, conversation_lines, document, heading, move_lines
from bot.checker.exploring.examples import NO_EXAMPLES, Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.message_view import message_sentence
from bot.checker.exploring.proposals import Proposals
from bot.checker.exploring.search import MoveSearch
from bot.checker.findings import Finding
from bot.checker.graph import Edge, Graph, Place
from bot.flow.library import Library
from bot.lang.problems import Mark

BEGINS = datetime(2030, 5, 6, 10, 0)
"""When counterexamples begin, on the bot's clock: a Monday."""

MOST_TURNS = 2000
"""That are spent on one finding: a second."""


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A conversation that shows a fault: sentences for people, and a test that fails for this reason alone."""

    sentences: tuple[str, ...]
    test: str


def find_counterexample(library: Library, finding: Finding, examples: Examples = NO_EXAMPLES) -> Counterexample | None:
    """The conversation that shows a finding; None where none was found, or the code has none.

    ``examples`` are inputs from the tests of the bot.
    """
    return CounterexampleFinder(library, examples).tell(finding)[0]


class CounterexampleFinder:
    """Tells the findings of one bot."""

    def __init__(self, library: Library, examples: Examples = NO_EXAMPLES) -> None:
        self._library = library
        self._graph = Graph(library)
        self._reachability = self._graph.analysis(Reachability)
        self._examples = examples

    def tell(self, finding: Finding, turns: int = MOST_TURNS) -> tuple[Counterexample | None, int]:
        """The conversation that shows a finding, and how many turns it took to find it.

        None where so many turns have found none, or the code has none.
        """
        fault = FAULT_TESTS.get(finding.code)
        if fault is None:
            return None, 0
        explorer = Explorer(self._library, self._examples.extensions)
        case = self._case(explorer.library, finding)
        state = self._find(explorer, case, fault, turns)
        shown = None if state is None else fault(state, case)
        if state is None or shown is None:
            return None, explorer.taken
        test = self._test(state, finding, shown, explorer)
        return Counterexample(tuple(_sentences(state, shown)), test), explorer.taken

    def _case(self, library: Library, finding: Finding) -> FindingCase:
        place = self.place_of(finding) or (finding.story[-1].source if finding.story else None)
        return FindingCase.of(library, finding, place, _way_on(finding, place))

    def _find(self, explorer: Explorer, case: FindingCase, fault: FaultTest, turns: int) -> ExploredState | None:
        """A state at which a fault shows: on the way of the finding, or where it has none, on one to its step."""
        finding = case.finding
        proposals = Proposals(self._graph, self._examples, large=finding.code.startswith(_LARGE))
        begins = [explorer.begin(CONTACT, BEGINS.replace(tzinfo=self._library.bot.timezone))]
        story = finding.story if case.way is None else finding.story[:-1]
        return MoveSearch(explorer, proposals).find(
            begins,
            story or self._way_to(case.place),
            lambda state: fault(state, case) is not None,
            turns,
            whole=finding.code in ONLY_AFTER_ROUTE,
        )

    def _way_to(self, place: Place | None) -> tuple[Edge, ...]:
        """The edges that lead to a step from a beginning."""
        return self._reachability.path_to(place) if place in self._reachability.reached else ()

    def place_of(self, finding: Finding) -> Place | None:
        """The step in whose lines a finding is; None for one in `bot.yml`, or above all steps."""
        flows = [flow for flow in self._library.flows.values() if _is_above(flow.mark, finding)]
        flow = max(flows, key=lambda flow: flow.mark.line, default=None)
        steps = [] if flow is None else [step for step in flow.steps.values() if _is_above(step.mark, finding)]
        step = max(steps, key=lambda step: step.mark.line, default=None)
        return None if flow is None or step is None else (flow.name, step.name)

    def _test(self, state: ExploredState, finding: Finding, shown: VisibleFault, explorer: Explorer) -> str:
        assert state.before is not None
        rested = self._rested(explorer, state)
        zone = self._library.bot.timezone
        head = heading(rested, f"{finding.code}: {finding.what}", drew=explorer.drew, zone=zone)
        until = list(conversation_lines(state.before)) if state.before.move is not None else []
        happens = [line for each in rested.path()[len(state.path()) - 1 :] for line in move_lines(each)]
        last = [*shown.expected, *happens] if shown.early else [*happens, *shown.expected]
        return f"# {finding}\n{document(head, [*until, *last])}"

    def _rested(self, explorer: Explorer, state: ExploredState) -> ExploredState:
        """The state when all effects have a result: a test has to say which."""
        proposals = Proposals(self._graph, self._examples)
        for _ in range(_MOST_ANSWERS):
            if state.awaited is not None:
                state = explorer.take(state, proposals.moves(state)[0])
        return state


def _way_on(finding: Finding, place: Place | None) -> Edge | None:
    """The way on from a step on which a finding is, where it may be what fails on it."""
    last = finding.story[-1] if finding.story and finding.code in _FAILING else None
    return last if last is not None and last.source == place else None


def _is_above(mark: Mark, finding: Finding) -> bool:
    return mark.path == finding.path and mark.line <= finding.line


_FAILING = ("W301", "W305", "W308")
"""The codes of what may fail."""

_MOST_ANSWERS = 10
"""Results of effects that a test adds after the last move."""

_MOST_MESSAGES = 6
"""Messages after one move that have a sentence each."""

_LARGE = ("W4", "W6")
"""The codes that need large values."""


def _sentences(state: ExploredState, shown: VisibleFault) -> Iterator[str]:
    """What happened, in order; a repetition is one sentence."""
    for sentences, again in groupby(map(_move_sentences, state.path())):
        times = len(list(again))
        yield from sentences
        if times > 1:
            yield f"and so on, {'once' if times == 2 else f'{times - 1} times'} more"
    yield shown.sentence


def _move_sentences(state: ExploredState) -> tuple[str, ...]:
    """The sentences of one move."""
    assert state.move is not None
    told = [f"the bot {message_sentence(sent.shown)}" for sent in state.sent if sent.shown is not None]
    if len(told) > _MOST_MESSAGES:
        told[_MOST_MESSAGES:] = [f"the bot sends {len(told) - _MOST_MESSAGES} more messages"]
    return state.move.sentence, *told
