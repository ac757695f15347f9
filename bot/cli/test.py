"""``bot test``."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from bot.cli.shared.operate import bot_argument
from bot.cli.shared.output import (
    counted,
    echo_json,
    echo_lines,
    explain,
    failure_object,
    place_object,
    problem_lines,
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
@click.option("-k", "name", metavar="NAME", default="", help="Only tests, attacks or flows with NAME in their name.")
@click.option("--coverage", "shows_coverage", is_flag=True, help="List the steps and outcomes that no test reaches.")
@click.option(
    "--min-coverage", "least", type=click.IntRange(0, 100), help="Fail below so many per cent of steps and outcomes."
)
@click.option("--json", "as_json", is_flag=True, help="Print an object: tests, evaluations, coverage; or attacks.")
@click.option(
    "--model",
    "models",
    metavar="[SLUGS]",
    is_flag=False,
    flag_value="",
    help="Run the evaluations with real models: those of BOT_AI_MODEL, or these, separated by commas.",
)
@click.option("--record", is_flag=True, help="With --model: save the answers, for runs without a model.")
@click.option("--judge", metavar="SLUG", help="With --model: the model that judges and plays contacts.")
@click.option(
    "--compare",
    "other",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    help="With --model: compare these models, or the bot with another version of it in DIR.",
)
@click.option(
    "--judge-agreement",
    "judged",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Compare the judge with a person's verdicts in FILE: see below.",
)
@click.option(
    "--budget", metavar="N", type=click.IntRange(1), help="With --model: how many tokens may be used; else 500,000."
)
@click.option("--generate", "generates", is_flag=True, help="Write tests to tests/generated: see below.")
@click.option(
    "--walks",
    default=0,
    metavar="N",
    type=click.IntRange(0, 1000),
    help="With --generate: also N random conversations.",
)
@click.option(
    "--seed", default=1, metavar="N", help="With --walks and --attack: the same N gives the same random choices."
)
@click.option("--force", is_flag=True, help="With --generate: overwrite generated tests.")
@click.option("--attack", "attacks", is_flag=True, help="Attack the steps that ask a model: see below.")
@click.option("--intents", is_flag=True, help="Ask a model about the examples under `start`: see below.")
@click.pass_context
def command(
    ctx: click.Context,
    folder: Path | None,
    name: str,
    shows_coverage: bool,
    least: int | None,
    as_json: bool,
    models: str | None,
    record: bool,
    judge: str | None,
    other: str | None,
    judged: Path | None,
    budget: int | None,
    generates: bool,
    walks: int,
    seed: int,
    force: bool,
    attacks: bool,
    intents: bool,
) -> None:
    """Run the tests of the bot in DIR: the documents in its files that begin with "test:".

    Each test runs the real bot with its own store, clock and emulated gateway. A test fails if the bot says
    anything that the test does not list.

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

    --model runs the evaluations instead: the documents that begin with "evaluate:". A real model answers them,
    several times each. Without --model the evaluations use recorded answers. --compare runs each of them all of its
    times with both, and shows both rates in a table.

    --judge-agreement runs no tests. The judge answers the questions of FILE, and its verdicts are compared with those
    of a person: how often they agree, also beyond chance, and where they do not.

    --generate runs no tests. It searches for conversations that reach every step and outcome, tries them, and writes
    them as tests with the bot's answers.

    --attack runs no tests. It attacks the steps that ask a model. A scripted model obeys every text in its prompt;
    with --model a real one answers. Handlers and services are not called.

    --intents runs no tests. A real model says which flow each example under `start` is about, without that example, and
    a table shows which flows it confuses.

    Exit code 0: all pass. 1: some fail, or the bot has problems, or no test, evaluation or attack matches, or the
    coverage is too low, or not everything could be run.
    """
    from bot.cli.shared.evaluating import Wanted, run_with_models
    from bot.testing.conversations.coverage import Coverage
    from bot.testing.conversations.transcript_reader import load_with_tests

    wants_coverage = shows_coverage or least is not None
    if intents and (attacks or generates or wants_coverage or record or judge):
        raise click.UsageError("--intents runs no tests: leave out the options that are about tests")
    if judged is not None and (intents or attacks or generates or wants_coverage or record or name):
        raise click.UsageError("--judge-agreement runs no tests: leave out the options that are about tests")
    if (intents or judged is not None) and models is None:
        models = ""
    if models is None and (record or judge or budget or other is not None):
        raise click.UsageError(
            "--record, --judge, --compare and --budget are for evaluations with a model: add --model"
        )
    if other is not None and (record or intents or attacks or judged is not None):
        raise click.UsageError("--compare only compares: leave out the other options")
    if (walks or force) and not generates:
        raise click.UsageError("--walks and --force go with --generate")
    if generates and not attacks and (name or as_json or wants_coverage):
        raise click.UsageError("--generate writes tests: leave out -k, --json, --coverage and --min-coverage")
    if attacks and (generates or wants_coverage or record or judge):
        raise click.UsageError("--attack runs no tests: leave out the options that are about tests")
    wanted = None
    if models is not None:
        if models and Path(models).is_dir():
            raise click.UsageError(
                f"--model: {models} is a folder, not a model: write the folder first: bot test {models} --model"
            )
        if generates or wants_coverage:
            raise click.UsageError("--model runs evaluations: leave out --coverage, --min-coverage and --generate")
        wanted = Wanted(tuple(filter(None, map(str.strip, models.split(",")))), judge, budget, record)
    quiet_log()
    bot = read_folder(find_bot(folder))
    if judged is not None:
        from bot.cli.shared.agreement import run_agreement

        assert wanted is not None
        ctx.exit(0 if run_agreement(bot, judged, wanted, as_json) else 1)
    loaded = load_with_tests(bot)
    if generates:
        from bot.cli.shared.generating import generate, without_generated

        loaded = without_generated(loaded)
    if loaded.program is None or loaded.problems:
        echo_lines(problem_lines(bot.path, loaded.problems), err=as_json)
        click.echo(styled(f"{counted(len(loaded.problems), 'problem')}, no test was run.", fg="red"), err=as_json)
        ctx.exit(1)
    if generates:
        generate(bot, loaded.program, loaded.transcripts, walks=walks, seed=seed, force=force)
        return
    if attacks:
        from bot.cli.shared.attacking import Attacks

        attacks_run = Attacks(bot, loaded.program, loaded.transcripts, name=name, seed=seed, as_json=as_json)
        ctx.exit(0 if attacks_run.run(wanted) else 1)
    if intents:
        from bot.cli.shared.intent_table import run_intents

        assert wanted is not None
        ctx.exit(0 if run_intents(bot, loaded.program, name, wanted, as_json) else 1)
    chosen = [transcript for transcript in loaded.transcripts if name.casefold() in transcript.name.casefold()]
    evaluations = [transcript for transcript in chosen if transcript.tries is not None]
    if models is not None:
        names = [transcript.name for transcript in loaded.transcripts if transcript.tries is not None]
        assert wanted is not None
        if other is not None and evaluations:
            from bot.cli.shared.comparing import compare

            ctx.exit(0 if compare(bot, loaded.program, evaluations, wanted, other, as_json) else 1)
        ctx.exit(0 if run_with_models(bot, loaded.program, evaluations, name, names, wanted, as_json) else 1)
    if not chosen:
        click.echo(f'{bot.name} has no test with "{name}" in its name.' if name else _no_tests(bot.name), err=as_json)
        ctx.exit(1)
    coverage = Coverage(loaded.program.library)
    report, replayed = _run(bot, loaded.program, chosen, coverage, as_json)
    report.end(coverage if wants_coverage else None, least, replayed)
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
