"""How many of the checker's findings are right: ``python -m benchmarks.precision``. On the bots of the project, and on
random ones.

For each finding, a conversation that shows it is searched, as `bot check` does, and its test is run with the real bot,
as `bot test` does: it must fail at its end. No conversation can show that something never happens (``NEVER``):
then the bot is explored in breadth, and nothing may contradict the finding. Findings that say what stands in the files
(``WRITTEN``), such as a value that nobody reads, need no run and are left out. A finding that is not confirmed is one
of these:

* It is behind another fault: if a text always fails, no conversation reaches the steps after it.
* It needs a value or a moment that nobody thought of, or more turns than are spent on it.
* It is wrong: it assumes two conditions that are never true together.

``--author senseless`` writes bots that make no sense at all (those of the tests of soundness), in which the second is
usual.
"""

import argparse
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

from benchmarks.plausible import Plausible
from bot.checker.counterexamples.counterexample import BEGINS, CounterexampleFinder
from bot.checker.exploring.conversation_yaml import CONTACT
from bot.checker.exploring.examples import Examples
from bot.checker.exploring.explorer import ExploredState, Explorer
from bot.checker.exploring.moves import TapMove
from bot.checker.exploring.proposals import Proposals
from bot.checker.exploring.search import digest
from bot.checker.findings import Finding
from bot.checker.graph import Graph, StepId
from bot.checker.run_rules import run_rules
from bot.language.flow.definition import Step
from bot.loading.folder import Folder, read_folder
from bot.loading.program import Program
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.transcript_reader import load_with_tests
from tests.checker.played import why_not_shown
from tests.checker.random_faults import Forgetful, Slow, written_by

ROOT = Path(__file__).parents[1]
AUTHORS = {"plausible": (Plausible,), "senseless": (Slow, Forgetful)}
NEVER = ("W101", "W302", "W303", "W304")
WRITTEN = ("W103", "W307", "W7", "W8")
TURNS = 800  # in which a bot is explored
SHOWN, HELD, OPEN = "shown by a run", "not contradicted", "not confirmed"


@dataclass
class Walked:
    """Everything that an exploration of a bot has met: the steps, their outcomes, conditions that were not true, and
    values that taps gave.
    """

    places: set[StepId] = field(default_factory=set)
    taken: set[tuple[StepId, str | None]] = field(default_factory=set)
    untrue: set[tuple[StepId, str]] = field(default_factory=set)
    tapped: set[tuple[str, str]] = field(default_factory=set)

    def note(self, state: ExploredState) -> None:
        """Take in what the last turns have met."""
        for step in (step for turn in state.turns for step in turn.trace.steps):
            place = (step.flow, step.step)
            self.places.add(place)
            self.taken.add((place, step.outcome))
            self.untrue |= {(place, source) for source, value in step.conditions if not value}
        if isinstance(state.move, TapMove) and state.before is not None:
            before = _values(state.before)
            self.tapped |= _values(state) - before

    def contradicts(self, finding: Finding, place: StepId | None, step: Step | None) -> bool:
        """True if the exploration has met something that a finding says never happens."""
        if place is None or step is None:  # W304, of a variable
            *choices, variable = finding.what.split('"')[1::2]
            return any((variable, choice) in self.tapped for choice in choices)
        mark = (finding.line, finding.column)
        behind = [
            (name, each.given[-1].condition)
            for name, each in step.outcomes.items()
            if each.given and each.given[-1].holds
        ]
        asked = [(name, text.source) for name, text in behind if (text.mark.line, text.mark.column) == mark]
        match finding.code:
            case "W101":
                return place in self.places
            case "W302":
                return any((place, source) in self.untrue for _, source in asked)
        return any((place, name) in self.taken for name, _ in asked)


def _values(state: ExploredState) -> set[tuple[str, str]]:
    return {(name, str(value)) for frame in state.session.frames for name, value in frame.vars.items()}


@dataclass
class Bot:
    """A bot to be measured."""

    folder: Folder
    program: Program
    examples: Examples

    @classmethod
    def of(cls, folder: Folder) -> "Bot":
        """Load one."""
        loaded = load_with_tests(folder)
        assert loaded.program is not None, loaded.problems
        return cls(folder, loaded.program, examples_from(loaded.program.extensions, loaded.transcripts))

    def walked(self) -> Walked:
        """Explore it in breadth."""
        explorer, found, met = Explorer(self.program.library, self.program.extensions), Walked(), set[str]()
        proposals = Proposals(Graph(self.program.library), self.examples)
        waiting = deque([explorer.begin(CONTACT, BEGINS.replace(tzinfo=self.program.library.bot.timezone))])
        while waiting and explorer.taken < TURNS:
            state = waiting.popleft()
            for move in proposals.moves(state):
                after = explorer.take(state, move)
                found.note(after)
                if (key := digest(after)) not in met:
                    met.add(key)
                    waiting.append(after)
        return found


@dataclass
class Measured:
    """The results of all findings."""

    by_code: dict[str, Counter[str]] = field(default_factory=dict)
    open: list[str] = field(default_factory=list)
    steps: int = 0
    met: int = 0

    def take(self, name: str, bot: Bot) -> None:
        """Measure one bot."""
        every = run_rules(bot.program.library, bot.folder.sources)
        findings = [finding for finding in every if not finding.code.startswith(WRITTEN)]
        if not findings:
            return
        finder = CounterexampleFinder(bot.program.library, bot.examples)
        walked = bot.walked() if any(finding.code in NEVER for finding in findings) else None
        lost = {finder.step_of(finding) for finding in findings if finding.code == "W101"}
        if walked is not None:
            rest = Graph(bot.program.library).steps.keys() - lost
            self.steps, self.met = self.steps + len(rest), self.met + len(rest & walked.places)
        for finding in findings:
            came = _outcome(finding, bot, finder, walked)
            self.by_code.setdefault(finding.code, Counter())[came] += 1
            self.open += [f"{name}: {finding}"] if came == OPEN else []

    def lines(self) -> Iterator[str]:
        """The figures."""
        total = sum(self.by_code.values(), Counter[str]())
        yield f"{'':8} {'findings':>8} {SHOWN:>15} {HELD:>17} {OPEN:>14}  share"
        for code, came in (*sorted(self.by_code.items()), ("all", total)):
            every = came.total()
            share = (came[SHOWN] + came[HELD]) / every if every else 1.0
            yield f"{code:8} {every:8} {came[SHOWN]:15} {came[HELD]:17} {came[OPEN]:14}  {share:5.2f}"
        if self.steps:
            yield f"of the steps that somebody reaches, the explorations have met {self.met / self.steps:.0%}"


def _outcome(finding: Finding, bot: Bot, finder: CounterexampleFinder, walked: Walked | None) -> str:
    talk, _ = finder.search(finding)
    if talk is not None and not why_not_shown(talk, bot.program, bot.folder):
        return SHOWN
    if finding.code in NEVER and walked is not None:
        place = finder.step_of(finding)
        step = None if place is None else bot.program.library.flows[place[0]].steps[place[1]]
        return OPEN if walked.contradicts(finding, place, step) else HELD
    return OPEN


def projects() -> Iterator[tuple[str, Folder]]:
    """The bots that come with the project."""
    for file in sorted((*ROOT.glob("examples/*/bot.yml"), ROOT / "flows" / "bot.yml")):
        yield file.parent.name, read_folder(file.parent)


def main() -> None:
    """Print the figures, and with ``--list`` every finding that was not confirmed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--author", choices=AUTHORS, default="plausible")
    parser.add_argument("--bots", type=int, default=200, help="how many random ones")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first")
    parser.add_argument("--list", action="store_true")
    given: Any = parser.parse_args()
    begun, known, random = process_time(), Measured(), Measured()
    for name, folder in projects():
        known.take(name, Bot.of(folder))
    authors = AUTHORS[given.author]
    for seed in range(given.first, given.first + given.bots):
        random.take(f"seed {seed}", Bot.of(written_by(authors[seed % len(authors)](seed)).folder))
    print(*(random.open if given.list else ()), sep="\n")
    print("examples and flows:", *known.lines(), sep="\n")
    print(f"\n{given.bots} random bots ({given.author}):", *random.lines(), sep="\n")
    print(f"{process_time() - begun:.0f} s")


if __name__ == "__main__":
    main()
