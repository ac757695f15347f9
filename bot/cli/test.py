"""``bot test``."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from bot.cli.shared.operate import bot_argument, sound
from bot.cli.shared.output import (
    counted,
    echo_json,
    explain,
    failure_object,
    place_object,
    quiet_log,
    styled,
    where,
)
from bot.loading.folder import Folder, find_bot, read_folder

if TYPE_CHECKING:
    from bot.cli.shared.evaluating import Evaluations
    from bot.loading.program import Program
    from bot.testing.conversations.coverage import Coverage
    from bot.testing.conversations.transcript import Transcript
    from bot.testing.conversations.transcript_reader import LoadedTests
    from bot.testing.conversations.transcript_run import FailedTest


@click.command("test")
@bot_argument
@click.option("-k", "name", metavar="NAME", default="", help="Only tests with NAME in their name.")
@click.option("--coverage", "shows_coverage", is_flag=True, help="List the steps and outcomes that no test reaches.")
@click.option(
    "--min-coverage", "least", type=click.IntRange(0, 100), help="Fail below so many per cent of steps and outcomes."
)
@click.option("--json", "as_json", is_flag=True, help="Print an object: tests, evaluations, coverage.")
@click.pass_context
def command(
    ctx: click.Context, folder: Path | None, name: str, shows_coverage: bool, least: int | None, as_json: bool
) -> None:
    """Run the tests of the bot in DIR: the documents in its files that begin with "test:".

    Each test runs the real bot with its own store, clock and emulated gateway. A test fails if the bot says
    anything that the test does not list. Evaluations run with their recorded answers (bot evaluate --record).

    \b
      test: a guest orders
      talk:
        - user: hello
        - bot: {says: What would you like?, buttons: [Coffee, Tea]}
        - tap: Coffee
        - wait: 10m
        - bot: {contains: is ready}
        - expect: {flow: null}

    \b
      $ bot test flows -k orders

    Exit code 0: all pass. 1: some fail, or the bot has problems, or no test matches, or the coverage is too low.
    """
    from bot.testing.conversations.coverage import Coverage
    from bot.testing.conversations.transcript_reader import load_with_tests

    quiet_log()
    bot = read_folder(find_bot(folder))
    loaded = load_with_tests(bot)
    program = sound(bot, loaded, as_json)
    chosen = [transcript for transcript in loaded.transcripts if name.casefold() in transcript.name.casefold()]
    if not chosen:
        click.echo(f'{bot.name} has no test with "{name}" in its name.' if name else _no_tests(bot.name), err=as_json)
        ctx.exit(1)
    coverage = Coverage(program.library)
    report, replayed = _run(bot, program, chosen, coverage, as_json)
    report.end(coverage if shows_coverage or least is not None else None, least, replayed)
    ctx.exit(1 if report.failed or replayed.failed or coverage.percent < (least or 0) else 0)


def passes(bot: Folder, loaded: "LoadedTests") -> bool:
    """True if all tests of a bot pass, and its recorded evaluations. It prints how each went."""
    from bot.testing.conversations.coverage import Coverage

    assert loaded.program is not None
    report, replayed = _run(bot, loaded.program, loaded.transcripts, Coverage(loaded.program.library), False)
    report.end(None, None, replayed)
    return not (report.failed or replayed.failed)


def _run(
    bot: Folder, program: "Program", chosen: "Sequence[Transcript]", coverage: "Coverage", as_json: bool
) -> "tuple[_Report, Evaluations]":
    from bot.cli.shared.evaluating import Evaluations
    from bot.testing.conversations.transcript_run import run

    evaluations = [transcript for transcript in chosen if transcript.tries is not None]
    replayed = Evaluations(bot, program, quiet=as_json)
    replayed.read_recordings(evaluations)
    report = _Report(bot.path, as_json)
    for transcript in chosen:
        if transcript.tries is None:
            report.add(transcript, run(transcript, program, bot, coverage))
    replayed.replay(evaluations)
    return report, replayed


class _Report:
    """Says how each test went, at once, or all at the end as JSON."""

    def __init__(self, folder: Path, as_json: bool) -> None:
        self.failed = 0
        self._folder = folder
        self._tests: list[dict[str, Any]] | None = [] if as_json else None
        self._number, self._started = 0, perf_counter()

    def add(self, transcript: "Transcript", failure: "FailedTest | None") -> None:
        """A test has ended."""
        self._number += 1
        self.failed += failure is not None
        if self._tests is not None:
            self._tests.append(self._object(transcript, failure))
            return
        verdict = styled("ok  ", fg="green") if failure is None else styled("FAIL", fg="red")
        click.echo(f"{verdict}  {transcript.name}")
        if failure is not None:
            explain(self._folder, failure)

    def end(self, coverage: "Coverage | None", least: int | None, evaluations: "Evaluations") -> None:
        """All tests have ended, and all evaluations."""
        if self._tests is not None:
            found = None if coverage is None else self._coverage_object(coverage)
            echo_json({"tests": self._tests, **evaluations.objects(), "coverage": found})
            return
        seconds = perf_counter() - self._started
        passed = f"{styled(f'{self.failed} failed', fg='red')}, {self._number - self.failed} passed"
        verdict = passed if self.failed else styled("all passed", fg="green")
        if self._number:
            click.echo(f"{counted(self._number, 'test')}: {verdict}, in {seconds:.1f} s.")
        evaluations.end()
        if coverage is not None:
            self._show(coverage, least)

    def _show(self, coverage: "Coverage", least: int | None) -> None:
        missed = coverage.missed()
        if missed:
            click.echo("\nNever reached:")
        for each in missed:
            click.echo(f"  {styled(where(self._folder, each.mark), bold=True)} {each.what}")
        colour = "red" if coverage.percent < (least or 0) else "green" if not missed else "yellow"
        share = styled(f"{coverage.percent} %", fg=colour)
        wanted = f"; {least} % are required" if coverage.percent < (least or 0) else ""
        click.echo(f"{share} of the steps and outcomes are reached, {coverage.taken} of {coverage.total}{wanted}.")

    def _object(self, transcript: "Transcript", failure: "FailedTest | None") -> dict[str, Any]:
        place = place_object(self._folder, transcript.mark)
        found: dict[str, Any] = {"test": transcript.name, **place, "passed": failure is None}
        return found if failure is None else found | {"failure": failure_object(self._folder, failure)}

    def _coverage_object(self, coverage: "Coverage") -> dict[str, Any]:
        missed = [{**place_object(self._folder, each.mark), "what": each.what} for each in coverage.missed()]
        return {"percent": coverage.percent, "taken": coverage.taken, "total": coverage.total, "missed": missed}


def _no_tests(name: str) -> str:
    return f'{name} has no tests: a YAML document that begins with "test:" is one (`bot test --help` shows how).'
