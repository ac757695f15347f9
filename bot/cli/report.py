"""``bot report``."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from bot.cli.shared.operate import CommandRefused, bot_option, loaded, open_store, refuse_together, span, used_bot
from bot.cli.shared.output import aligned, echo_json, echo_lines, quiet_log, styled
from bot.core.turn import ANSWERED, ENTERED, WAYS
from bot.language.source import wall_clock
from bot.language.source.problems import did_you_mean
from bot.store.results import StepResults, answered_share, counted_as, results_by_flow, results_csv, splits_of

_WAITING = "waiting"


@click.command("report")
@click.argument("flow", required=False)
@click.option("--since", metavar="DURATION", default="30d", show_default=True, callback=span, help="How far back.")
@bot_option
@click.option("--csv", "as_csv", is_flag=True, help="Print a line for each day, step and outcome, for a spreadsheet.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects, one for each flow.")
def command(flow: str | None, since: timedelta, folder: Path | None, as_csv: bool, as_json: bool) -> None:
    """Show how contacts have gone through a flow, or through all: for each step how many times it was entered,
    answered, timed out, left and failed, and how many contacts wait there now. Days are in UTC.

    \b
      $ bot report survey --since 7d
      $ bot report --csv > results.csv

    Exit code 0: success. 1: there is no such flow, the bot has problems, or there is no store yet.
    """
    refuse_together(csv=as_csv, json=as_json)
    quiet_log()
    library = loaded(used_bot(folder)).library
    with open_store(folder) as store:
        rows, waiting = store.results(datetime.now(UTC) - since), store.sessions.waiting_at()
    reports = results_by_flow(counted_as(library), rows, waiting)
    if flow is not None:
        if flow not in reports:
            fix = did_you_mean(flow, [*reports], "`bot graph` shows the flows")
            raise CommandRefused(f'there is no flow "{flow}" ({fix})')
        reports = {flow: reports[flow]}
    if as_csv:
        click.echo(results_csv(row for row in rows if row.flow in reports), nl=False)
        return
    if as_json:
        echo_json([{"flow": name, "steps": [*map(_object, steps)]} for name, steps in reports.items()])
        return
    for name, steps in reports.items():
        echo_lines(_lines(name, steps, since))


def _object(step: StepResults) -> dict[str, Any]:
    outcomes = [{"way": way, "outcome": outcome, "count": n} for (way, outcome), n in sorted(step.outcomes.items())]
    splits = {place: {part: _counts(ways) for part, ways in parts.items()} for place, parts in step.splits.items()}
    days = {day: _counts(ways) for day, ways in step.days.items()}
    counts = _counts(step.ways) | {_WAITING: step.waiting}
    return {"step": step.step, **counts, "outcomes": outcomes, "days": days, "splits": splits}


def _counts(ways: Mapping[str, int]) -> dict[str, int]:
    return {way.replace(" ", "_"): ways.get(way, 0) for way in WAYS}


def _lines(flow: str, steps: Sequence[StepResults], since: timedelta) -> Iterator[str]:
    yield styled(f"{flow}: the last {wall_clock.duration_words(since)}", bold=True)
    table = [["", *WAYS, _WAITING]]
    for step in steps:
        table.append([f"  {step.step}", *(_shown(step.ways, way) for way in WAYS), str(step.waiting)])
        if len(step.outcomes) > 1:
            for (way, outcome), count in step.outcomes.items():
                table.append([f"    {outcome}", *(str(count) if each == way else "" for each in WAYS), ""])
    yield from aligned(table)
    for place, parts in splits_of(steps).items():
        yield f"  after {place}: entered > answered"
        table = [["", *parts]]
        for step in steps:
            if counted := step.splits.get(place):
                ways = (counted.get(part, Counter()) for part in parts)
                cells = (f"{each[ENTERED]:,} > {_shown(each, ANSWERED)}" if each else "" for each in ways)
                table.append([f"  {step.step}", *cells])
        yield from aligned(table)


def _shown(ways: Mapping[str, int], way: str) -> str:
    """A count; of answers also which part of the entries they are."""
    share = answered_share(ways) if way == ANSWERED else None
    return f"{ways.get(way, 0):,}" if share is None else f"{ways.get(way, 0):,} ({share:.0%})"
