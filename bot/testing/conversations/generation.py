"""Generated tests of a bot: conversations that take its steps and outcomes, and random walks.

They are found with the real engine alone (`bot.checker.exploring.explorer`), so that a thousand are tried in a second.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from heapq import heappop, heappush
from itertools import count, islice
from random import Random

from bot.checker.analysis.reachability import Reachability
from bot.checker.exploring.conversation_yaml import CONTACT, conversation_lines, document, heading, place_line
from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.moves import RefusalMove, WaitMove
from bot.checker.exploring.proposals import LONG, Proposals
from bot.checker.exploring.search import MoveSearch, digest
from bot.checker.graph import Edge, Graph, StepId
from bot.checker.graph.edges import cycle_through
from bot.core.immutable import immutable
from bot.core.session import Frame
from bot.loading.program import Program
from bot.testing.conversations.coverage import Coverage, CoverageKey
from bot.testing.conversations.transcript_reader import NOW

BEGINS = (
    (NOW, CONTACT),
    (datetime(2030, 5, 11, 23, 0), "15555550101"),  # a Saturday, at night
    (datetime(2030, 5, 7, 15, 0), "15555550102"),
    (datetime(2030, 5, 8, 8, 0), "15555550103"),
)
"""The times and contacts with which conversations begin: opening hours and shares differ."""
WALKS, OF_BOT = "test-walks.yml", "test-bot.yml"
"""The files of tests that belong to no flow: no flow has such a name."""
_MOST_MOVES = 12  # of a walk


@immutable
class GeneratedTest:
    """A test as YAML: the file that it is written to, its name and its document."""

    file: str
    name: str
    text: str


@immutable
class ConversationPath:
    """A conversation, and the steps and outcomes that it takes."""

    state: ExploredState
    keys: frozenset[CoverageKey]

    @property
    def length(self) -> int:
        """The number of moves."""
        return len(self.state.path())


class ConversationGenerator:
    """Makes the tests of one bot. The same bot, examples and seed always give the same tests.

    ``explorer`` takes the turns, ``proposals`` propose what can happen next.
    """

    def __init__(self, program: Program, examples: Examples) -> None:
        self._library = program.library
        self.explorer = Explorer(program.library, program.extensions)
        self.proposals = Proposals(Graph(program.library), examples)
        self._coverage = Coverage(program.library)

    def covering(self) -> Iterator[GeneratedTest]:
        """A few short conversations that together take all steps and outcomes for which one was found."""
        paths = PathFinder(self.explorer, self.proposals, self._coverage, self.begins())
        paths.explore()
        paths.aim()
        for path in paths.fewest():
            first = min(path.keys, key=lambda key: key[1].position)
            name = self._coverage.name_of(first)
            flow = name.partition(":")[0].partition("/")[0]
            file = f"test_{flow}.yml" if flow in self._library.flows else OF_BOT
            yield self._written(path.state, file, f"generated: {name}")

    def walks(self, number: int, seed: int) -> Iterator[GeneratedTest]:
        """Conversations in which each move is drawn at random."""
        dice = Random(seed)
        for nth in range(1, number + 1):
            yield self._written(self._walk(dice), WALKS, f"generated: walk {nth} of seed {seed}")

    def begins(self) -> list[ExploredState]:
        """The states in which conversations begin."""
        zone = self._library.bot.timezone
        return [self.explorer.begin(contact, now.replace(tzinfo=zone)) for now, contact in BEGINS]

    def _walk(self, dice: Random) -> ExploredState:
        state = self.begins()[0]
        moves = dice.randint(_MOST_MOVES // 2, _MOST_MOVES)
        while len(state.path()) < moves or state.awaited is not None or state.next_send_refused:
            possible = [move for move in self.proposals.moves(state) if move not in (WaitMove(LONG), RefusalMove())]
            state = self.explorer.take(state, dice.choice(possible))
        return state

    def _written(self, state: ExploredState, file: str, name: str) -> GeneratedTest:
        head = heading(state, name, drew=self.explorer.drew, zone=self._library.bot.timezone)
        return GeneratedTest(file, name, document(head, [*conversation_lines(state), place_line(state.session)]))


VISITS_OVER = "visits.else"
_ALIKE = 4  # states at the same steps with similar variables from which the exploration continues
_IN_VAIN = 2500  # turns without anything new after which the exploration ends
_MET = 6  # states that are remembered at a step
_AIMS, _AIMED = 4, 600  # paths that are tried to something that was not taken yet, and the turns for each


class PathFinder:
    """Finds conversations. ``taken`` are the steps and outcomes that all of them take together."""

    def __init__(
        self, explorer: Explorer, proposals: Proposals, coverage: Coverage, begins: Sequence[ExploredState]
    ) -> None:
        self._explorer = explorer
        self._proposals = proposals
        self._coverage = coverage
        self._begins = begins
        self._found: list[ConversationPath] = []
        self._met: dict[StepId | None, list[ExploredState]] = {}  # by the step at which they rest, None: in no flow
        self.taken: set[CoverageKey] = set()

    def fewest(self) -> Iterator[ConversationPath]:
        """A few of the conversations that together take all of ``taken``, each with what it adds."""
        left = set(self.taken)
        while left:
            path = max(self._found, key=lambda path: (len(path.keys & left), -path.length))
            yield ConversationPath(path.state, path.keys & left)
            left -= path.keys

    def explore(self) -> None:
        """Try all that can happen, state by state. States that are unlike those met before come first.

        It ends when many turns have taken nothing new.
        """
        numbers, met, alike = count(), set[str](), Counter[str]()
        heap = [(0, next(numbers), ConversationPath(state, frozenset())) for state in self._begins]
        until = self._explorer.taken + _IN_VAIN
        while heap and self._explorer.taken < until and len(self.taken) < self._coverage.total:
            _, _, path = heappop(heap)
            for move in self._proposals.moves(path.state):
                state = self._explorer.take(path.state, move)
                after = ConversationPath(state, path.keys | self._taken_by(state))
                new = self._keep(after)
                until = self._explorer.taken + _IN_VAIN if new else until
                whose = state.session.contact
                if (key := f"{whose} {digest(state)}") in met:
                    continue
                met.add(key)
                sort = f"{whose} {_sort(state)}"
                alike[sort] += 1
                self._note(state)
                if new or alike[sort] <= _ALIKE:
                    heappush(heap, (0 if new else 8 * alike[sort] + after.length, next(numbers), after))

    def aim(self) -> None:
        """Search a path to each step and outcome that was not taken yet, by the graph, from a state that was met
        before.
        """
        graph = Graph(self._explorer.library)
        reachability = graph.analysis(Reachability)
        search = MoveSearch(self._explorer, self._proposals)
        for key, edges in self._left(graph, reachability).items():
            routes = (found for edge in edges for found in self._routes(edge, graph, reachability))
            for begins, route in islice(routes, _AIMS):
                if key in self.taken:
                    break
                state = search.find(begins, route, partial(self._takes, key), _AIMED, short=False)
                if state is not None:
                    self._keep(self._way(state))
                    for each in state.path():
                        self._note(each)

    def _left(self, graph: Graph, reachability: Reachability) -> dict[CoverageKey, list[Edge]]:
        """The keys that were not covered yet, each with the edges that cover it."""
        found: dict[CoverageKey, list[Edge]] = {}
        for edge in (edge for edges in graph.edges.values() for edge in edges if edge.source in reachability.reached):
            outcome = edge.outcome if edge.word is None else f'word "{edge.outcome.removeprefix("word ")}"'
            for key in self._coverage.taken_by("", [(*edge.source, outcome)]):
                if key not in self.taken and self._coverage.name_of(key):
                    found.setdefault(key, []).append(edge)
        return found

    def _routes(
        self, edge: Edge, graph: Graph, reachability: Reachability
    ) -> Iterator[tuple[list[ExploredState], tuple[Edge, ...]]]:
        """The paths that lead over an edge, the shortest first, each with the states from which it can begin."""
        path = reachability.path_to(edge.source)
        around = cycle_through(edge.source, graph.edges, reachability.reached) * _rounds(graph, edge)
        for start in range(len(path), -1, -1):
            route = (*path[start:], *around, edge)
            if route[0].source in self._met:
                yield self._met[route[0].source], route
        yield [*self._begins, *self._met.get(None, ())], (*path, *around, edge)

    def _note(self, state: ExploredState) -> None:
        """Remember some states at each step, as different as can be."""
        if _rests(state):
            met = self._met.setdefault(None if state.frame is None else (state.frame.flow, state.frame.step), [])
            if len(met) < _MET and all(_sort(state) != _sort(other) for other in met):
                met.append(state)

    def _takes(self, key: CoverageKey, state: ExploredState) -> bool:
        return _rests(state) and key in self._way(state).keys

    def _way(self, state: ExploredState) -> ConversationPath:
        return ConversationPath(state, frozenset(key for each in state.path() for key in self._taken_by(each)))

    def _keep(self, path: ConversationPath) -> bool:
        """Keep a conversation that takes something new and waits for no result. Returns whether it was kept."""
        new = _rests(path.state) and bool(path.keys - self.taken)
        if new:
            self._found.append(path)
            self.taken |= path.keys
        return new

    def _taken_by(self, state: ExploredState) -> frozenset[CoverageKey]:
        """The steps and outcomes that the last move has taken."""
        found: list[CoverageKey] = []
        for turn in state.turns:
            passed = [(step.flow, step.step, step.outcome) for step in turn.trace.steps]
            found += self._coverage.taken_by(turn.trace.rule, passed, turn.effects)
        return frozenset(key for key in found if self._coverage.name_of(key))


def _rounds(graph: Graph, edge: Edge) -> int:
    """The number of times that a step has to be entered again before an edge is taken."""
    visits = graph.steps[edge.source].options.visits
    return visits.most if visits is not None and edge.outcome == VISITS_OVER else 0


def _rests(state: ExploredState) -> bool:
    return state.awaited is None and not state.next_send_refused


def _sort(state: ExploredState) -> str:
    """A conversation's place and the variables with a value, as text; states with the same text are much alike."""
    session = state.session
    frames = [_sort_of(frame) for frame in session.frames]
    frames += [_sort_of(frame) for draft in session.drafts for frame in draft.frames]
    kept = [(name, _kind(value)) for name, value in session.kept_variables.items()]
    return repr((frames, kept, session.language, [plan.name for plan in session.plans], session.agent))


def _sort_of(frame: Frame) -> tuple[object, ...]:
    known = [(name, _kind(value)) for name, value in frame.vars.items()]
    counted = [(name, value) for name, value in frame.step_state.items() if isinstance(value, int)]
    return (
        frame.flow,
        frame.step,
        frame.question.retries,
        frame.visit_counts,
        frame.awaited_effect is None,
        *known,
        *counted,
    )


def _kind(value: object) -> str:
    return "" if not value else str(value) if isinstance(value, bool) else type(value).__name__
