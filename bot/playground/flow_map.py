"""The map: the drawings of a program's flows, what the checks found in them, and where its steps are written."""

import threading
from collections.abc import Mapping
from functools import cached_property
from itertools import count

from bot.checker.drawing import FindingIndex, draw_bot, draw_flow, svg
from bot.checker.drawing.drawing_model import BoxFinding
from bot.checker.graph import Graph
from bot.checker.prove import prove
from bot.core.immutable import immutable
from bot.folder import Folder
from bot.lang.problems import Mark
from bot.program import Program

OVERVIEW = ""
_numbers = count(1)


@immutable
class Written:
    """The lines of a file in which a step is written; ``line`` is the first one's number."""

    path: str
    line: int
    text: str


class FlowMap:
    """The drawings of one program. The checks take a while, so they run on a thread of their own; until they are done
    nothing is marked.
    """

    def __init__(self, program: Program, folder: Folder) -> None:
        self.number = next(_numbers)
        """Another one for each map."""
        self.program = program
        self._folder = folder
        self._graph = Graph(program.library)
        self._flags = FindingIndex()
        self._drawn: dict[str, str] = {}
        self._lock = threading.Lock()
        self.checked = threading.Event()
        """Set once the checks are done."""

    def check(self) -> None:
        """Run the checks, and mark what they find."""
        flags = FindingIndex.of(self.program.library, prove(self.program.library, self._folder.sources))
        with self._lock:
            self._flags = flags
            self._drawn.clear()
        self.checked.set()

    @property
    def flows(self) -> list[str]:
        """The names of the flows."""
        return list(self.program.library.flows)

    def drawing(self, flow: str = OVERVIEW) -> str:
        """The drawing of a flow, or of all, as SVG without a style of its own. Raises `KeyError` for an unknown flow."""
        with self._lock:
            if flow not in self._drawn:
                drawing = draw_flow(self._graph, flow, self._flags) if flow else draw_bot(self._graph, self._flags)
                self._drawn[flow] = svg(drawing, "")
            return self._drawn[flow]

    def findings(self, flow: str, step: str) -> tuple[BoxFinding, ...]:
        """What the checks found at a step."""
        return self._flags.at_step(flow, step)

    def written(self, flow: str, step: str) -> Written:
        """Where a step is written, and how. Raises `KeyError` for an unknown one."""
        mark = self.program.library.flows[flow].steps[step].mark
        lines = self._lines.get(mark.path, [])
        return Written(mark.path, mark.line, "\n".join(_block(lines, mark)))

    @cached_property
    def _lines(self) -> Mapping[str, list[str]]:
        return {source.path: source.text.decode("utf-8", "replace").splitlines() for source in self._folder.sources}


def _block(lines: list[str], mark: Mark) -> list[str]:
    """The lines from a mark on that are indented further than its own line."""
    first = lines[mark.line - 1 : mark.line]
    if not first:
        return []
    found, indent = list(first), _indent(first[0])
    for line in lines[mark.line :]:
        if line.strip() and _indent(line) <= indent:
            break
        found.append(line)
    while not found[-1].strip():
        found.pop()
    return [line[indent:] for line in found]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
