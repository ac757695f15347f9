"""``bot report``."""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from bot.cli.csv_rows import guarded
from bot.cli.operate import CommandRefused, bot_option, loaded, span, store_of
from bot.cli.output import echo_json, quiet_log, styled
from bot.core.immutable import mutable
from bot.core.turn import ANSWERED, ENTERED, WAYS, shown_outcome
from bot.flow.definition import Flow
from bot.flow.library import Library
from bot.lang import wall_clock
from bot.lang.problems import did_you_mean
from bot.store.engine_tables import ResultCount
from bot.store.store_reader import StoreReader

_WAITING = "waiting"
_COLUMNS = ("day", "flow", "step", "split", "way", "outcome", "count")


@mutable
class StepResults:
    """What was counted of a step: of all contacts, by outcome, and for each part of each split."""

    step: str
    ways: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)  # by way and outcome
    splits: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)
    waiting: int = 0

    def add(self, row: ResultCount) -> None:
        """Add a row of the store."""
        if row.split:
            place, _, part = row.split.partition(": ")
            self.splits.setdefault(place, {}).setdefault(shown_outcome(part), Counter())[row.way] += row.count
            return
        self.ways[row.way] += row.count
        if row.outcome:
            self.outcomes[row.way, shown_outcome(row.outcome)] += row.count


@click.command("report")
@click.argument("flow", required=False)
@click.option("--since", metavar="DURATION", default="30d", show_default=True, callback=span, help="How far back.")
@bot_option
@click.option("--csv", "as_csv", is_flag=True, help="Print a line for each day, step and outcome, for a spreadsheet.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one for each flow.")
def command(flow: str | None, since: timedelta, folder: Path | None, as_csv: bool, as_json: bool) -> None:
    """Show how contacts have gone through a flow, or through all: for each step how many times it was entered, answered,
    timed out, left and failed, and how many contacts wait there now. Days are in UTC.

    \b
      $ bot report survey --since 7d
      $ bot report --csv > results.csv

    Exit code 0: success. 1: there is no such flow, the bot has problems, or there is no store yet.
    """
    quiet_log()
    bot, path = store_of(folder)
    library = loaded(bot).library
    with closing(StoreReader(path)) as store:
        rows, waiting = store.results(datetime.now(UTC) - since), store.waiting_at()
    names = list(dict.fromkeys((*library.flows, *(row.flow for row in rows))))
    if flow is not None and flow not in names:
        raise CommandRefused(f'there is no flow "{flow}" ({did_you_mean(flow, names, "`bot graph` shows the flows")})')
    names = names if flow is None else [flow]
    if as_csv:
        click.echo(_book(row for row in rows if row.flow in names), nl=False)
        return
    reports = {name: _report(library, name, rows, waiting) for name in names}
    if as_json:
        echo_json([{"flow": name, "steps": [*map(_object, steps)]} for name, steps in reports.items()])
        return
    for name, steps in reports.items():
        for line in _lines(name, steps, since):
            click.echo(line)


def _report(
    library: Library, name: str, rows: Iterable[ResultCount], waiting: Mapping[tuple[str, str], int]
) -> list[StepResults]:
    """The results of a flow's steps, in the order of the file; behind them those of steps that are gone."""
    flow = library.flows.get(name)
    steps: dict[str, StepResults] = {}
    for step in () if flow is None else flow.steps:
        reported = _name(flow, step)
        steps.setdefault(reported, StepResults(reported)).waiting += waiting.get((name, step), 0)
    for row in rows:
        if row.flow == name:
            reported = row.step if row.step in steps else _name(flow, row.step)
            steps.setdefault(reported, StepResults(reported)).add(row)
    return list(steps.values())


def _name(flow: Flow | None, step: str) -> str:
    """The name under which a step is counted now; of one that was renamed, by its name before."""
    if flow is None:
        return step
    now = next((each.name for each in flow.steps.values() if each.options.renamed_from == step), step)
    return flow.reported_as.get(step if step in flow.steps else now, now)


def _book(rows: Iterable[ResultCount]) -> str:
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(_COLUMNS)
    for row in rows:
        writer.writerow([guarded(str(getattr(row, column))) for column in _COLUMNS])
    return file.getvalue()


def _object(step: StepResults) -> dict[str, Any]:
    outcomes = [{"way": way, "outcome": outcome, "count": n} for (way, outcome), n in sorted(step.outcomes.items())]
    splits = {
        place: {part: {way.replace(" ", "_"): ways[way] for way in WAYS} for part, ways in parts.items()}
        for place, parts in step.splits.items()
    }
    counts = {way.replace(" ", "_"): step.ways[way] for way in WAYS}
    return {"step": step.step, **counts, _WAITING: step.waiting, "outcomes": outcomes, "splits": splits}


def _lines(flow: str, steps: Sequence[StepResults], since: timedelta) -> Iterator[str]:
    yield styled(f"{flow}: the last {wall_clock.duration_words(since)}", bold=True)
    table = [["", *WAYS, _WAITING]]
    for step in steps:
        table.append([f"  {step.step}", *(_shown(step.ways, way) for way in WAYS), str(step.waiting)])
        if len(step.outcomes) > 1:
            for (way, outcome), count in step.outcomes.items():
                table.append([f"    {outcome}", *(str(count) if each == way else "" for each in WAYS), ""])
    yield from _aligned(table)
    for place in dict.fromkeys(place for step in steps for place in step.splits):
        parts = sorted({part for step in steps for part in step.splits.get(place, ())}, key=lambda it: it == "else")
        yield f"  after {place}: entered > answered"
        table = [["", *parts]]
        for step in steps:
            if counted := step.splits.get(place):
                ways = [counted.get(part, Counter()) for part in parts]
                table.append(
                    [
                        f"  {step.step}",
                        *(f"{each[ENTERED]:,} > {_shown(each, ANSWERED)}" if each else "" for each in ways),
                    ]
                )
        yield from _aligned(table)


def _shown(ways: Mapping[str, int], way: str) -> str:
    """A count; of answers also which part of the entries they are."""
    count, entered = ways.get(way, 0), ways.get(ENTERED, 0)
    return f"{count:,} ({min(count / entered, 1):.0%})" if way == ANSWERED and entered else f"{count:,}"


def _aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        cells = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join((f"{first:{widths[0]}}", *cells)).rstrip()
