"""The search for a counterexample of a finding: a conversation in sentences, and a test that fails.

A finding says that something may happen. A counterexample shows with the real engine that it does.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby

from bot.checker.analysis.reachability import Reachability
from bot.checker.counterexamples.fault_tests import FAULT_TESTS, ONLY_AFTER_ROUTE
from bot.checker.counterexamples.finding_case import FaultTest, FindingCase, VisibleFault
from bot.checker.exploring.conversation_yaml import CONTACT, conversation_lines, document, heading, move_lines
from bot.checker.exploring.examples import NO_EXAMPLES, Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.message_view import message_sentence
from bot.checker.exploring.moves import Move, move_sentence
from bot.checker.exploring.proposals import Proposals
from bot.checker.exploring.search import MoveSearch
from bot.checker.findings import Finding
from bot.checker.graph import Edge, Graph, StepId
from bot.core.immutable import immutable
from bot.language.flow.definition import MADE_FLOWS
from bot.language.flow.library import Library
from bot.language.source.problems import Mark

BEGINS = datetime(2030, 5, 6, 10, 0)
"""When the conversations of counterexamples begin, in the bot's time zone: a Monday."""

MOST_TURNS = 2000
"""The most turns that the search for one counterexample takes: about a second."""


@immutable
class Counterexample:
    """A conversation that shows a fault: sentences for people, a test that fails because of this fault alone, and the
    moves.
    """

    sentences: tuple[str, ...]
    test: str
    moves: tuple[Move, ...]


class CounterexampleFinder:
    """Finds counterexamples for the findings of one bot. ``examples`` are inputs from its tests."""

    def __init__(self, library: Library, examples: Examples = NO_EXAMPLES) -> None:
        self._library = library
        self._graph = Graph(library)
        self._examples = examples

    def search(
        self, finding: Finding, turns: int = MOST_TURNS, known: Sequence[Move] = ()
    ) -> tuple[Counterexample | None, int]:
        """The conversation that shows a finding, and the number of turns that the search took.

        None: no conversation was found in so many ``turns``, or the code has no fault test. ``known`` are moves that
        showed the finding before an edit of the bot, and are tried first.
        """
        fault = FAULT_TESTS.get(finding.code)
        if fault is None:
            return None, 0
        explorer = Explorer(self._library, self._examples.extensions)
        place = self.step_of(finding) or (finding.route[-1].source if finding.route else None)
        case = FindingCase.of(explorer.library, finding, place, _failing_edge(finding, place))
        state = self._find(explorer, case, fault, turns, known)
        shown = None if state is None else fault(state, case)
        if state is None or shown is None:
            return None, explorer.taken
        test = self._test(state, finding, shown, explorer)
        moves = tuple(each.move for each in state.path() if each.move is not None)
        return Counterexample(tuple(_sentences(state, shown)), test, moves), explorer.taken

    def _find(
        self, explorer: Explorer, case: FindingCase, fault: FaultTest, turns: int, known: Sequence[Move]
    ) -> ExploredState | None:
        """A state that shows the fault, on the finding's route; if it has no route, on a path to its step."""
        finding = case.finding
        proposals = Proposals(self._graph, self._examples, large=finding.code.startswith(_LARGE))
        begins = [explorer.begin(CONTACT, BEGINS.replace(tzinfo=self._library.bot.timezone))]
        route = finding.route if case.edge is None else finding.route[:-1]
        return MoveSearch(explorer, proposals).find(
            begins,
            route or self._graph.analysis(Reachability).path_to(case.place),
            lambda state: fault(state, case) is not None,
            turns,
            whole=finding.code in ONLY_AFTER_ROUTE,
            known=known,
        )

    def step_of(self, finding: Finding) -> StepId | None:
        """The step in whose lines a finding is; None for a finding in `bot.yml`, or before the first step."""
        written = (flow for flow in self._library.flows.values() if flow.name not in MADE_FLOWS)
        flows = [flow for flow in written if _is_above(flow.mark, finding)]
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
        """The state when no effect waits for a result any more: a test has to say which results there are."""
        proposals = Proposals(self._graph, self._examples)
        for _ in range(_MOST_ANSWERS):
            if state.awaited is not None:
                state = explorer.take(state, proposals.moves(state)[0])
        return state


def _failing_edge(finding: Finding, place: StepId | None) -> Edge | None:
    """The edge on which a finding is, if a text of that edge may fail."""
    last = finding.route[-1] if finding.route and finding.code in _FAILING else None
    return last if last is not None and last.source == place else None


def _is_above(mark: Mark, finding: Finding) -> bool:
    return mark.path == finding.path and mark.line <= finding.line


_FAILING = ("W301", "W305", "W308")
"""The codes of findings about texts and values that may fail."""

_MOST_ANSWERS = 10
"""The most results of effects that a test adds after the last move."""

_MOST_MESSAGES = 6
"""The most messages after one move that get a sentence each."""

_LARGE = ("W4", "W6")
"""The codes of findings that only large values show."""


def _sentences(state: ExploredState, shown: VisibleFault) -> Iterator[str]:
    """The sentences about a conversation. Equal sentences in a row become one, with their number."""
    for sentences, again in groupby(map(_move_sentences, state.path())):
        times = len(list(again))
        yield from sentences
        if times > 1:
            yield f"and so on, {'once' if times == 2 else f'{times - 1} times'} more"
    yield shown.sentence


def _move_sentences(state: ExploredState) -> tuple[str, ...]:
    """The sentences about one move and about the messages after it."""
    assert state.move is not None
    told = [f"the bot {message_sentence(sent.shown)}" for sent in state.sent if sent.shown is not None]
    if len(told) > _MOST_MESSAGES:
        told[_MOST_MESSAGES:] = [f"the bot sends {len(told) - _MOST_MESSAGES} more messages"]
    return move_sentence(state.move), *told
