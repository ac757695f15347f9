"""The counts of the steps of flows (`bot.store.count_rows.ResultCount`), summed for people by flow, step and day."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field

from bot.core.immutable import mutable
from bot.core.text import guarded_cell
from bot.core.turn import ANSWERED, ENTERED, JUDGED, shown_outcome
from bot.language.flow.library import Library
from bot.language.steps.judging import NO, YES
from bot.store.count_rows import ResultCount

_COLUMNS = ("day", "flow", "step", "split", "way", "outcome", "count")


@mutable
class StepResults:
    """The counts of a step: for all contacts, by outcome, by day (UTC), and for each part of each split."""

    step: str
    ways: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)  # by way and outcome
    days: dict[str, Counter[str]] = field(default_factory=dict)  # in order
    splits: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)  # by the place of the split, and its part
    waiting: int = 0

    def add(self, row: ResultCount) -> None:
        """Add a row of the store."""
        if row.split:
            place, _, part = row.split.partition(": ")
            self.splits.setdefault(place, {}).setdefault(shown_outcome(part), Counter())[row.way] += row.count
            return
        self.ways[row.way] += row.count
        self.days.setdefault(row.day, Counter())[row.way] += row.count
        if row.outcome:
            self.outcomes[row.way, shown_outcome(row.outcome)] += row.count


CountedAs = Mapping[str, Mapping[str, str]]
"""The name under which each step of each flow is counted, in the order of the files; then names before an edit."""


def counted_as(library: Library) -> CountedAs:
    """The names for `results_by_flow`."""
    found: dict[str, dict[str, str]] = {}
    for flow in library.flows.values():
        names = found[flow.name] = {step: flow.reported_as.get(step, step) for step in flow.steps}
        for step in flow.steps.values():
            if step.options.renamed_from is not None:
                names.setdefault(step.options.renamed_from, names[step.name])
    return found


def results_by_flow(
    names: CountedAs, rows: Iterable[ResultCount], waiting: Mapping[tuple[str, str], int]
) -> dict[str, list[StepResults]]:
    """The results of all flows by name. Steps are in the order of the file; behind them are those that are gone.

    ``waiting`` says how many contacts are at each step now, by flow and step. Flows that are gone come last.
    """
    counted: dict[str, list[ResultCount]] = {name: [] for name in names}
    for row in rows:
        if row.way != JUDGED:
            counted.setdefault(row.flow, []).append(row)
    return {name: _results_of(name, names.get(name, {}), rows, waiting) for name, rows in counted.items()}


def _results_of(
    flow: str, names: Mapping[str, str], rows: Iterable[ResultCount], waiting: Mapping[tuple[str, str], int]
) -> list[StepResults]:
    steps: dict[str, StepResults] = {}
    for step, name in names.items():
        steps.setdefault(name, StepResults(name)).waiting += waiting.get((flow, step), 0)
    for row in rows:
        name = row.step if row.step in steps else names.get(row.step, row.step)
        steps.setdefault(name, StepResults(name)).add(row)
    for each in steps.values():
        each.days = dict(sorted(each.days.items()))
    return list(steps.values())


def splits_of(steps: Iterable[StepResults]) -> dict[str, list[str]]:
    """The splits that the steps of a flow come after, each with its parts, ``else`` last."""
    parts: dict[str, set[str]] = {}
    for step in steps:
        for place, counted in step.splits.items():
            parts.setdefault(place, set()).update(counted)
    return {place: sorted(found, key=lambda part: (part == "else", part)) for place, found in parts.items()}


def answered_share(ways: Mapping[str, int]) -> float | None:
    """The share of entries that were answered, from 0 to 1; None if there was no entry."""
    entered = ways.get(ENTERED, 0)
    return min(ways.get(ANSWERED, 0) / entered, 1.0) if entered else None


@mutable
class JudgedAnswers:
    """The verdicts by one question on the answers of a step: in all, and by day (UTC)."""

    flow: str
    step: str
    question: str
    verdicts: Counter[str] = field(default_factory=Counter)
    days: dict[str, Counter[str]] = field(default_factory=dict)

    @property
    def passed(self) -> float | None:
        """The share of answers that passed, from 0 to 1, of those that a judge said yes or no to."""
        judged = self.verdicts[YES] + self.verdicts[NO]
        return self.verdicts[YES] / judged if judged else None


def judged_answers(rows: Iterable[ResultCount]) -> list[JudgedAnswers]:
    """The verdicts of judges, by flow, step and question."""
    found: dict[tuple[str, str, str], JudgedAnswers] = {}
    for row in rows:
        if row.way == JUDGED:
            said, _, question = row.outcome.partition(": ")
            key = row.flow, row.step, question
            each = found.setdefault(key, JudgedAnswers(*key))
            each.verdicts[said] += row.count
            each.days.setdefault(row.day, Counter())[said] += row.count
    return [found[key] for key in sorted(found)]


def results_csv(rows: Iterable[ResultCount]) -> str:
    """The text of a CSV file with a line for each day, step, way and outcome."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for row in rows:
        writer.writerow([guarded_cell(str(getattr(row, column))) for column in _COLUMNS])
    return file.getvalue()
