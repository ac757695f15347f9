"""What `bot check` has found in a bot, however it is printed."""

import contextlib
import gc
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bot.checker.findings import Finding
from bot.checker.prove import prove
from bot.cli.output import counted, path_from_here
from bot.folder import Folder
from bot.lang.problems import Problem
from bot.testing.transcript_reader import Loaded, load_with_tests

if TYPE_CHECKING:
    from bot.cli.counterexamples import Counterexamples

_MEANT = re.compile(
    r""" "(?:[^"\\]|\\.)*" | '(?:[^']|'')*'                    # what stands in quotes
      | [{\[] | .+? (?= \s* (?: [,\]}] | :(?:\s|$) | \s\# | $ ) ) # a bracket, or a text without quotes""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A problem or a finding. ``path`` is relative to where the user stands, ``text`` is the line, if there is one."""

    path: str
    line: int
    column: int
    code: str
    what: str
    fix: str
    text: str
    found: Problem | Finding

    @property
    def width(self) -> int:
        """How many characters of the line are meant."""
        meant = _MEANT.match(self.text, self.column - 1)
        return 1 if meant is None else len(meant[0])


@dataclass(frozen=True)
class Report:
    """All that was found in a bot. There are findings only where it loads."""

    folder: Folder
    loaded: Loaded
    findings: list[Finding]

    @cached_property
    def entries(self) -> list[Entry]:
        """Problems and findings, by file, line and column."""
        found: list[Problem | Finding] = [*self.loaded.problems, *self.findings]
        return [self._entry(each) for each in sorted(found, key=lambda each: (each.path, each.line, each.column))]

    @property
    def summary(self) -> str:
        """How much was found."""
        found = {"problem": len(self.loaded.problems), "finding": len(self.findings)}
        return " and ".join(counted(number, what) for what, number in found.items() if number)

    def talk(self, entry: Entry) -> tuple[str, ...]:
        """How a conversation comes to what was found, in sentences; nothing where none could be played."""
        talk = self.counterexamples.of(entry.found) if isinstance(entry.found, Finding) else None
        return () if talk is None else talk.sentences

    @cached_property
    def counterexamples(self) -> "Counterexamples":
        """The talks that show the findings."""
        from bot.cli.counterexamples import Counterexamples  # of which a clean bot needs none

        return Counterexamples(self.loaded)

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        sources = (*self.folder.sources, *self.folder.code)
        return {source.path: source.text.decode("utf-8-sig", "replace").splitlines() for source in sources}

    def _entry(self, found: Problem | Finding) -> Entry:
        lines = self._lines.get(found.path, [])
        text = lines[found.line - 1] if found.line <= len(lines) else ""
        path = path_from_here(self.folder.path, found.path)
        return Entry(path, found.line, found.column, found.code, found.what, found.fix, text, found)


def report_on(folder: Folder) -> Report:
    """Check a bot. What its own Python prints meanwhile goes to standard error: it is no part of the report."""
    with contextlib.redirect_stdout(sys.stderr), _uncollected():
        loaded = load_with_tests(folder)
        findings = [] if loaded.program is None else prove(loaded.program.library, folder.sources)
    return Report(folder, loaded, findings)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """Let no garbage be looked for: what is read and proved all stays, and to look through it took two fifths of the time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
