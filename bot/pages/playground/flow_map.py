"""The map: the drawings of a program's flows, what the checks found in them, and where its steps are written."""

import threading
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from itertools import count

from bot.checker.drawing import FindingIndex, draw_bot, draw_flow, svg
from bot.checker.drawing.drawing_model import BoxFinding
from bot.checker.graph import Graph
from bot.core.defects import guard
from bot.core.errors import BotError
from bot.core.immutable import immutable
from bot.language.source.rewriting import block_of
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.pages.playground.shared_findings import SharedFindings

OVERVIEW = ""
_numbers = count(1)


@immutable
class Written:
    """The lines of a file in which a step is written; ``line`` is the first one's number."""

    path: str
    line: int
    text: str


@immutable
class ReachingTest:
    """A test that reaches a step, and where it is written."""

    name: str
    path: str
    line: int


Reaching = defaultdict[tuple[str, str], list[ReachingTest]]


class UnreadableTests(BotError):
    """The tests have problems."""


class FlowMap:
    """The drawings of one program. The checks take a while, so they run on a thread of their own; until they are done
    nothing is marked.
    """

    def __init__(self, program: Program, folder: Folder, findings: SharedFindings) -> None:
        self.number = next(_numbers)
        """Another one for each map."""
        self.program = program
        self.folder = folder
        self._findings = findings
        self._graph = Graph(program.library)
        self._flags = FindingIndex()
        self._drawn: dict[str, str] = {}
        self._lock = threading.Lock()
        self.checked = threading.Event()
        """Set once the checks are done."""
        self.tested = threading.Event()
        """Set once it is known which tests reach which step."""
        self._tests_asked = False
        self._reaching: Reaching | None = None
        self._retired = threading.Event()

    def check(self) -> None:
        """Run the checks, and mark what they find."""
        flags = FindingIndex.of(self.program.library, self._findings.of(self.program.library, self.folder))
        with self._lock:
            self._flags = flags
            self._drawn = {flow: drawn for flow, drawn in self._drawn.items() if flow and not flags.in_flow(flow)}
        self.checked.set()

    def tests_at(self, flow: str, step: str) -> "tuple[ReachingTest, ...] | None":
        """The tests that reach a step; None while they are run. The first call begins that, on a thread of its own.

        Raises `UnreadableTests`.
        """
        with self._lock:
            if not self._tests_asked:
                self._tests_asked = True
                threading.Thread(target=guard(self._run_tests, ends_process=False), name="tests", daemon=True).start()
        if not self.tested.is_set():
            return None
        if self._reaching is None:
            raise UnreadableTests("the tests cannot be run: `bot test` says why")
        return tuple(self._reaching[flow, step])

    def retire(self) -> None:
        """Run no more tests: another map has taken this one's place."""
        self._retired.set()

    def _run_tests(self) -> None:
        try:
            with suppress(OSError):  # such as a full disk
                self._reaching = self._find_reaching()
        finally:
            self.tested.set()

    def _find_reaching(self) -> Reaching | None:
        """The tests by the steps that they reach; None where they have problems, or another map has taken this one's
        place.
        """
        from bot.testing.conversations.transcript_reader import (
            load_with_tests,  # which most who look at a map need not wait for
        )
        from bot.testing.conversations.transcript_run import isolated_simulation, play

        loaded = load_with_tests(self.folder)
        if loaded.program is None or loaded.problems:
            return None
        reaching: Reaching = defaultdict(list)
        for test in (test for test in loaded.transcripts if test.tries is None):
            if self._retired.is_set():
                return None
            stubs, by = test.stub_definitions, (loaded.program, self.folder, test.now)
            with isolated_simulation(*by, stubs, test.contact) as (simulation, player):
                play(test, simulation, player)
                turns = simulation.stored.turns_of_all()
            for place in {(step["flow"], step["step"]) for turn in turns for step in turn.steps}:
                reaching[place].append(ReachingTest(test.name, test.mark.path, test.mark.line))
        return reaching

    @property
    def flows(self) -> list[str]:
        """The names of the flows."""
        return list(self.program.library.flows)

    def drawing(self, flow: str = OVERVIEW) -> str:
        """The drawing of a flow, or of all, as SVG without a style of its own.

        Raises `KeyError` for an unknown flow.
        """
        with self._lock:
            if flow not in self._drawn:
                drawing = draw_flow(self._graph, flow, self._flags) if flow else draw_bot(self._graph, self._flags)
                self._drawn[flow] = svg(drawing, "")
            return self._drawn[flow]

    def findings(self, flow: str, step: str) -> tuple[BoxFinding, ...]:
        """The findings of the checks at a step."""
        return self._flags.at_step(flow, step)

    def written(self, flow: str, step: str) -> Written:
        """The place and the lines of a step. Raises `KeyError` for an unknown one."""
        mark = self.program.library.flows[flow].steps[step].mark
        return Written(mark.path, mark.line, block_of(self._texts.get(mark.path, ""), mark.line))

    @cached_property
    def _texts(self) -> Mapping[str, str]:
        return {source.path: source.text.decode("utf-8", "replace") for source in self.folder.sources}
