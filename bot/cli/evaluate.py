"""``bot evaluate``."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from bot.cli.shared.evaluating import (
    Evaluations,
    ModelOptions,
    budget_option,
    judge_option,
    live_models,
    model_option,
    say_end,
)
from bot.cli.shared.operate import bot_argument, sound
from bot.cli.shared.output import aligned, echo_json, echo_lines, problem_lines, quiet_log
from bot.core.immutable import immutable
from bot.loading.folder import Folder, find_bot, read_folder
from bot.loading.program import Program
from bot.testing.conversations.evaluation import EvaluationResult, EvaluationTry, evaluate
from bot.testing.conversations.model_sources import EvaluationStopped, LiveModel, RunBudget
from bot.testing.conversations.pass_rates import CHANCE, by_chance
from bot.testing.conversations.transcript import Transcript
from bot.testing.conversations.transcript_reader import load_with_tests

_ALL = "all"


@click.command("evaluate")
@bot_argument
@click.option("-k", "name", metavar="NAME", default="", help="Only evaluations with NAME in their name.")
@model_option
@judge_option
@budget_option
@click.option("--record", is_flag=True, help="Save the answers, with which `bot test` runs them again without a model.")
@click.option(
    "--compare",
    "other",
    metavar="[DIR]",
    is_flag=False,
    flag_value="",
    help="Compare these models, or the bot with another version of it in DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print an object: the evaluations, or what was compared.")
@click.pass_context
def command(
    ctx: click.Context,
    folder: Path | None,
    name: str,
    models: tuple[str, ...],
    judge: str | None,
    budget: int,
    record: bool,
    other: str | None,
    as_json: bool,
) -> None:
    """Run a bot's evaluations with real models: the documents in its files that begin with "evaluate:".

    Each is a conversation that is run several times, and a share of the tries must pass. --compare runs each all of
    its times with both, and shows both rates in a table.

    \b
      evaluate: a guest asks for a price
      pass: 60%
      talk:
        - user: What does a coffee cost?
        - expect: {says: "2.50"}

    \b
      $ bot evaluate flows --model acme/swift,acme/wise

    Exit code 1: an evaluation has not passed, or not all could be run.
    """
    if other is not None and record:
        raise click.UsageError("--compare records nothing: leave out --record")
    options = ModelOptions(models, budget, judge)
    quiet_log()
    bot = read_folder(find_bot(folder))
    tests = load_with_tests(bot)
    program = sound(bot, tests, as_json)
    names = [*evaluations_in(tests.transcripts)]
    evaluations = [
        each for each in evaluations_in(tests.transcripts).values() if name.casefold() in each.name.casefold()
    ]
    if not evaluations:
        why = f'{bot.name} has no evaluation: a document that begins with "evaluate:" is one.'
        if names:
            why = f'{bot.name} has no evaluation with "{name}" in its name: there are {", ".join(names)}.'
        click.echo(why, err=as_json)
        ctx.exit(1)
    if other is not None:
        ctx.exit(0 if compare(bot, program, evaluations, options, other, as_json) else 1)
    done = Evaluations(bot, program, quiet=as_json)
    done.ask(evaluations, options, names if record else None)
    if as_json:
        echo_json(done.objects())
    else:
        done.end()
    ctx.exit(1 if done.failed or done.stopped else 0)


@immutable
class ComparedBot:
    """One of the compared: a version of the bot with a model, and its evaluations by name."""

    name: str
    bot: Folder
    program: Program
    evaluations: Mapping[str, Transcript]

    @classmethod
    def loaded(cls, path: Path) -> "ComparedBot | None":
        """Another version of the bot. If it has problems, they are printed, and None is returned."""
        bot = read_folder(find_bot(path))
        tests = load_with_tests(bot)
        if tests.program is None or tests.problems:
            echo_lines(problem_lines(bot.path, tests.problems), err=True)
            return None
        return cls(str(path), bot, tests.program, evaluations_in(tests.transcripts))


@immutable
class RateRow:
    """An evaluation, or all: the passed tries of each of the compared, and all of its tries."""

    name: str
    rates: tuple[tuple[int, int], ...]

    def sign(self, place: int, chance: float) -> str:
        """``+`` or ``-`` where one is better or worse than the first beyond chance; else empty."""
        first, other = self.rates[0], self.rates[place]
        if not place or by_chance(first, other) > chance:
            return ""
        return "+" if other[0] * first[1] > first[0] * other[1] else "-"


def evaluations_in(transcripts: Sequence[Transcript]) -> dict[str, Transcript]:
    """The evaluations among the tests, by name."""
    return {each.name: each for each in transcripts if each.tries is not None}


def compare(
    bot: Folder, program: Program, evaluations: Sequence[Transcript], options: ModelOptions, other: str, as_json: bool
) -> bool:
    """Run each evaluation all of its times with each model, or with each of two versions, and print a table.

    Returns False if not all could run, or if the bot is worse than its ``other`` version.

    Raises `bot.settings.BadSettings` and `click.UsageError`.
    """
    if other and Path(other).resolve() == bot.path.resolve():
        raise click.UsageError(f"--compare: {other} is the bot itself: write it first: bot evaluate {other} --compare")
    before = ComparedBot.loaded(Path(other)) if other else None
    if other and before is None:
        return False
    this = ComparedBot(str(bot.path), bot, program, evaluations_in(evaluations))
    names = [name for name in this.evaluations if before is None or name in before.evaluations]
    if not names:
        click.echo("there is nothing to compare: no evaluation has the same name in both", err=True)
        return False
    with live_models(bot, options) as (models, budget):
        if before is None and len(models) < 2:
            raise click.UsageError("--compare: name two models, --model a,b, or another version of the bot")
        if before is not None and len(options.models) > 1:
            raise click.UsageError("--compare DIR: name one model")
        pairs = [(this, model) for model in models] if before is None else [(before, models[0]), (this, models[0])]
        results: list[list[EvaluationResult]] = []
        stopped = ""
        try:
            for name in names:
                results.append([_held(compared, model, name, budget) for compared, model in pairs])
        except EvaluationStopped as error:
            stopped = f"{len(names) - len(results)} of {len(names)} evaluations are not compared: {error}"
    headings = [model.model if before is None else compared.name for compared, model in pairs]
    rows = list(_rows(results))
    chance = CHANCE / max(1, len(rows) * (len(pairs) - 1))
    if as_json:
        echo_json({"compared": [_object(row, headings) for row in rows], "stopped": stopped or None})
    else:
        echo_lines(_table(headings, rows, results, chance) if rows else ())
        say_end(budget, [stopped] if stopped else [])
    return not stopped and (before is None or not any(row.sign(1, chance) == "-" for row in rows))


def _held(compared: ComparedBot, model: LiveModel, name: str, budget: RunBudget) -> EvaluationResult:
    """Run an evaluation all of its times.

    Raises `EvaluationStopped`: after the first try if the others would cost too much.
    """
    evaluation = compared.evaluations[name]

    def check(first: EvaluationTry) -> None:
        assert evaluation.tries is not None
        budget.check_left(sum(first.tokens) * (evaluation.tries.times - 1), f'the other tries of "{name}"')

    bot = compared.program, compared.bot
    return evaluate(evaluation, *bot, model, model.model, after_first=check, decides=False)


def _rows(results: Sequence[Sequence[EvaluationResult]]) -> Iterator[RateRow]:
    """A row for each evaluation, and the sum of several."""
    rows = [
        RateRow(held[0].transcript.name, tuple((each.passed, len(each.tries)) for each in held)) for held in results
    ]
    yield from rows
    if len(rows) > 1:
        sums = (tuple(map(sum, zip(*column, strict=True))) for column in zip(*(row.rates for row in rows), strict=True))
        yield RateRow(_ALL, tuple((passed, tried) for passed, tried in sums))


def _table(
    headings: Sequence[str], rows: Sequence[RateRow], results: Sequence[Sequence[EvaluationResult]], chance: float
) -> Iterator[str]:
    """The table: a column for each of the compared; then what the signs mean."""
    columns = list(zip(*results, strict=True))
    answers = [[answer for each in column for made in each.tries for answer in made.answers] for column in columns]
    lines = [("", *headings)]
    for row in rows:
        cells = (f"{passed} of {tried} {row.sign(place, chance):1}" for place, (passed, tried) in enumerate(row.rates))
        lines.append((row.name, *cells))
    lines.append(("tokens", *(f"{sum(each.tokens for each in column):,}  " for column in columns)))
    seconds = (f"{sum(each.seconds for each in asked) / max(1, len(asked)):.1f}  " for asked in answers)
    lines.append(("seconds an answer", *seconds))
    yield from aligned(lines)
    if any(row.sign(place, chance) for row in rows for place in range(len(headings))):
        yield f"+ better, - worse than {headings[0]}, beyond chance."
    else:
        yield "No difference is beyond chance."


def _object(row: RateRow, headings: Sequence[str]) -> dict[str, Any]:
    bots = [
        {"name": name, "passed": passed, "times": tried, "chance": round(by_chance(row.rates[0], (passed, tried)), 4)}
        for name, (passed, tried) in zip(headings, row.rates, strict=True)
    ]
    return {"evaluate": row.name, "bots": bots}
