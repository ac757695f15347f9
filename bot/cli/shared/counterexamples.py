"""The conversations that show the findings of `bot check`, for the report and as tests."""

import contextlib
import sys
from collections import Counter
from functools import cached_property
from pathlib import Path

from bot.checker.counterexamples.counterexample import MOST_TURNS, Counterexample, CounterexampleFinder
from bot.checker.exploring.moves import Move
from bot.checker.findings import Finding
from bot.checker.graph import StepId
from bot.core.immutable import immutable
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.transcript_reader import LoadedTests

MOST_TURNS_OF_BOT = 10_000
"""The limit for all findings of a bot: a few seconds at most."""


@immutable
class KeptSearch:
    """The result of the search for a finding's counterexample: its moves, or none if it was not found."""

    route: tuple[tuple[StepId, str], ...]  # of the finding: steps and outcomes
    moves: tuple[Move, ...]


KeptSearches = dict[tuple[str, ...], KeptSearch]
"""The searches of earlier checks of a bot, by the words of their findings."""


class Counterexamples:
    """The counterexamples of a bot's findings. Each is searched once.

    After an edit, the moves of an earlier one are tried first, and it is shown if they still show the finding. One that
    was not found is not searched again while the words and the route of the finding stay the same. ``kept`` has both.

    Prints of the bot's own Python go to standard error.
    """

    def __init__(self, loaded: LoadedTests, kept: KeptSearches) -> None:
        self._loaded = loaded
        self._kept = kept
        self._known: dict[Finding, Counterexample | None] = {}
        self._left = MOST_TURNS_OF_BOT

    def of(self, finding: Finding) -> Counterexample | None:
        """The counterexample of a finding; None if none was found, and where the bot has problems and cannot run."""
        if self._loaded.program is None:
            return None
        if finding not in self._known:
            with contextlib.redirect_stdout(sys.stderr):
                self._known[finding] = self._searched(finding)
        return self._known[finding]

    def _searched(self, finding: Finding) -> Counterexample | None:
        words = finding.path, finding.code, finding.what
        route = tuple((edge.source, edge.outcome) for edge in finding.route)
        kept = self._kept.get(words)
        if kept == KeptSearch(route, ()):
            return None
        turns = min(MOST_TURNS, self._left)
        counterexample, taken = self._finder.search(finding, turns, () if kept is None else kept.moves)
        self._left -= taken
        if counterexample is not None or turns == MOST_TURNS:
            self._kept[words] = KeptSearch(route, () if counterexample is None else counterexample.moves)
        return counterexample

    def name(self, finding: Finding) -> str:
        """The name of its file: its code, its flow and its step."""
        place = self._finder.step_of(finding) or (finding.route[-1].source if finding.route else ())
        return "_".join((finding.code, *place))

    @cached_property
    def _finder(self) -> CounterexampleFinder:
        program = self._loaded.program
        assert program is not None  # see `of`
        return CounterexampleFinder(program.library, examples_from(program.extensions, self._loaded.transcripts))


def write_tests(
    findings: list[Finding], counterexamples: Counterexamples, folder: Path
) -> tuple[list[Path], list[Path]]:
    """Write a test for each finding with a counterexample. Returns the written files, and those that existed already.

    Raises `OSError`.
    """
    written, there = [], []
    names: Counter[str] = Counter()
    for finding in findings:
        counterexample = counterexamples.of(finding)
        if counterexample is None:
            continue
        names[name := counterexamples.name(finding)] += 1
        path = folder / f"{name}{f'_{names[name]}' if names[name] > 1 else ''}.yml"
        if path.exists():
            there.append(path)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            path.write_text(counterexample.test, encoding="utf-8")
            written.append(path)
    return written, there
