"""Evaluations, with models or with their recordings, and how they went; the options of commands that ask models."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from shlex import quote
from typing import Any

import click

from bot.cli.ai import check_models
from bot.cli.shared.operate import load_env
from bot.cli.shared.output import (
    INDENT,
    counted,
    echo_lines,
    explain,
    failure_object,
    path_from_here,
    place_object,
    styled,
    where,
)
from bot.core.immutable import immutable
from bot.loading.folder import Folder
from bot.loading.program import Program
from bot.services.ai.ai_client import Completions
from bot.settings import read_model_service
from bot.testing.conversations.evaluation import EvaluationResult, EvaluationTry, evaluate, replay
from bot.testing.conversations.model_sources import BUDGET, EvaluationStopped, LiveModel, Recordings, RunBudget
from bot.testing.conversations.pass_rates import PassDecision, interval
from bot.testing.conversations.transcript import Transcript


def split_slugs(text: str) -> tuple[str, ...]:
    """The names of models that are separated by commas."""
    return tuple(filter(None, map(str.strip, text.split(","))))


model_option = click.option(
    "--model",
    "models",
    metavar="SLUGS",
    default="",
    callback=lambda ctx, option, value: split_slugs(value),
    help="Ask these models, separated by commas, instead of those of BOT_AI_MODEL.",
)
judge_option = click.option("--judge", metavar="SLUG", help="The model that judges and plays contacts.")
budget_option = click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(1),
    default=BUDGET,
    help=f"How many tokens may be used; else {BUDGET:,}.",
)


@immutable
class ModelOptions:
    """Which models a command asks. ``models`` are the named ones; empty: those of the settings."""

    models: tuple[str, ...]
    budget: int
    judge: str | None = None


class Evaluations:
    """Runs evaluations, and prints the result of each at once.

    ``stopped`` says why evaluations were not run with a model.
    """

    def __init__(self, bot: Folder, program: Program, *, quiet: bool) -> None:
        self.results: list[EvaluationResult] = []
        self.stopped: list[str] = []
        self._unrecorded: list[str] = []
        self._judged_themselves: list[str] = []
        self._budget: RunBudget | None = None
        self._bot = bot
        self._program = program
        self._quiet = quiet
        self._recordings = Recordings(bot.path)

    @property
    def failed(self) -> int:
        """The number of evaluations that have not passed."""
        return sum(not each.ok for each in self.results)

    def ask(self, evaluations: Sequence[Transcript], options: ModelOptions, names: Sequence[str] | None) -> None:
        """Run evaluations with real models, and record them if there are ``names``: those of all evaluations.

        Raises `bot.settings.BadSettings` and `click.UsageError`.
        """
        with live_models(self._bot, options) as (models, self._budget):
            for source in models:
                goes_on = self._ask(source, evaluations, names)
                if source.judged_itself:
                    self._judged_themselves.append(source.model)
                if not goes_on:
                    break

    def _ask(self, source: LiveModel, evaluations: Sequence[Transcript], names: Sequence[str] | None) -> bool:
        """Run evaluations with one model, and record them if there are ``names``.

        Returns False if no other model is to be asked.
        """
        before, why, goes_on = len(self.results), "", True
        try:
            for transcript in evaluations:
                announce = partial(self._announce, transcript)
                self._add(evaluate(transcript, self._program, self._bot, source, source.model, after_first=announce))
                if names is not None:
                    self._record(self.results[-1], names)
        except EvaluationStopped as error:
            why = str(error)
        except KeyboardInterrupt:
            why, goes_on = "interrupted", False
        if why:
            left = len(evaluations) - (len(self.results) - before)
            number = f"{left} of {counted(len(evaluations), 'evaluation')} {_are(left)}"
            self.stopped.append(f"{source.model}: {number} not run: {why}")
        return goes_on

    def _announce(self, transcript: Transcript, first: EvaluationTry) -> None:
        """Say what an evaluation with a bar costs, by its first try. Raises `EvaluationStopped` if that is too much."""
        assert transcript.tries is not None and self._budget is not None
        if transcript.tries.bar is None:
            return
        tokens, missing = sum(first.tokens), transcript.tries.missing(first.failure is None, 1)
        if not self._quiet:
            needs = f"at least {missing + 1} tries are needed, about {tokens * (missing + 1):,} tokens"
            most = f"at most {transcript.tries.times}, {tokens * transcript.tries.times:,} tokens"
            click.echo(f"{transcript.name}: {needs} ({most})")
        self._budget.check_left(tokens * missing, "the tries that are needed")

    def read_recordings(self, evaluations: Sequence[Transcript]) -> None:
        """Read the recordings. Raises `bot.testing.conversations.model_sources.UnreadableRecording`."""
        self._unrecorded = [each.name for each in evaluations if not self._recordings.of(each)]

    def replay(self, evaluations: Sequence[Transcript]) -> None:
        """Run the recorded evaluations with their recorded answers."""
        for transcript in evaluations:
            for model, tries in self._recordings.of(transcript).items():
                self._add(replay(transcript, self._program, self._bot, model, tries))

    def _record(self, evaluated: EvaluationResult, names: Sequence[str]) -> None:
        """Record the answers if the evaluation passed: a recording shows later what an edit has broken."""
        if not evaluated.ok:
            if not self._quiet:
                click.echo(f"{INDENT}Not recorded, since it failed.\n")
            return
        answers = [each.answers for each in evaluated.tries]
        self._recordings.keep(evaluated.transcript, evaluated.model, answers, names)

    def _add(self, evaluated: EvaluationResult) -> None:
        self.results.append(evaluated)
        if self._quiet:
            return
        text, colour = _LABELS[PassDecision.FAILED if evaluated.stale else evaluated.verdict]
        label = styled(text, fg=colour)
        if evaluated.stale:
            click.echo(f"{label}  {evaluated.transcript.name} with {_who(evaluated)}")
            self._say_stale(evaluated)
            return
        click.echo(f"{label}  {evaluated.transcript.name}: {_rate(evaluated)} with {_who(evaluated)}{_cost(evaluated)}")
        if why := _doubt(evaluated):
            click.echo(f"{INDENT}{why}")
        for failure, numbers in evaluated.failures():
            tries = f" ({_tries(len(numbers))} {', '.join(map(str, numbers))})"
            if evaluated.ok:
                names = ", ".join(difference.what for difference in failure.differences)
                place = styled(where(self._bot.path, failure.mark), bold=True)
                click.echo(f"{INDENT}{place}: {failure.what}{f': {names}' if names else ''}{tries}")
            else:
                explain(self._bot.path, failure, tries)

    def _say_stale(self, evaluated: EvaluationResult) -> None:
        place = where(self._bot.path, evaluated.transcript.mark)
        click.echo(f"{INDENT}{styled(place, bold=True)}: the recording is of other questions: {evaluated.stale}")
        again = f"bot evaluate {quote(str(self._bot.path))} --model {evaluated.model} --record"
        click.echo(f"{INDENT}Record it again: {again} -k {quote(evaluated.transcript.name)}")
        file = path_from_here(Path(), str(self._recordings.path(evaluated.transcript)))
        click.echo(f"{INDENT}Or take {evaluated.model} out of {file}, if it is not used any more.\n")

    def end(self) -> None:
        """Print the results, if there are any."""
        for who, group in groupby(sorted(self.results, key=_who), key=_who):
            click.echo(_total(who, list(group)))
        if self._unrecorded:
            number = len(self._unrecorded)
            are = f"{counted(number, 'evaluation')} {_are(number)}"
            click.echo(f"{are} not run, because there is no recording: `bot evaluate --record` asks a model.")
        if self._budget is not None:
            say_end(self._budget, [])
        for model in self._judged_themselves:
            click.echo(
                styled(f"{model} has judged itself: name another model with --judge, or in BOT_AI_MODEL.", fg="yellow")
            )
        echo_lines(styled(why, fg="red") for why in self.stopped)

    def objects(self) -> dict[str, Any]:
        """The results for a program: each evaluation, those without a recording, and models that were not finished."""
        results = [self._object(each) for each in self.results]
        return {"evaluations": results, "unrecorded": self._unrecorded, "stopped": self.stopped}

    def _object(self, evaluated: EvaluationResult) -> dict[str, Any]:
        transcript, wanted = evaluated.transcript, evaluated.wanted
        return {
            "evaluate": transcript.name,
            **place_object(self._bot.path, transcript.mark),
            "model": evaluated.model,
            "recorded": evaluated.recorded,
            "passed": evaluated.ok,
            "times": wanted.times,
            "pass": wanted.bar,
            "verdict": evaluated.verdict,
            "interval": [round(100 * rate) for rate in interval(evaluated.passed, len(evaluated.tries))],
            "stale": evaluated.stale or None,
            "tries": [self._try_object(each) for each in evaluated.tries],
        }

    def _try_object(self, each: EvaluationTry) -> dict[str, Any]:
        prompt, completion = each.tokens
        tokens = {"prompt": prompt, "completion": completion}
        why = {} if each.failure is None else {"failure": failure_object(self._bot.path, each.failure)}
        return {"passed": not why, "seconds": round(each.seconds, 3), "tokens": tokens, **why}


@contextmanager
def live_models(bot: Folder, options: ModelOptions) -> Iterator[tuple[list[LiveModel], RunBudget]]:
    """The real models, which are asked one after another, and the tokens that they may use together.

    Raises `bot.settings.BadSettings` and `click.UsageError`.
    """
    load_env(bot.path)
    settings = read_model_service(os.environ, bot.settings())
    models = options.models or settings.models
    if not models:
        raise click.UsageError("which model? Write --model SLUG, or set BOT_AI_MODEL: `bot models` lists them")
    judges = {model: options.judge or _other(model, (*settings.models, *models)) for model in models}
    budget = RunBudget(options.budget)
    with closing(Completions(settings.url, settings.key, key_in=settings.key_in)) as service:
        check_models(service, (*models, *judges.values()))
        yield [LiveModel(service, model, judges[model], budget, alone=bool(options.models)) for model in models], budget


def say_end(budget: RunBudget, stopped: Iterable[str]) -> None:
    """Print how many tokens a run has used, and why models were not asked to the end."""
    click.echo(f"{budget.used:,} of {budget.most:,} tokens used up.")
    echo_lines(styled(why, fg="red") for why in stopped)


def _other(model: str, models: Sequence[str]) -> str:
    """The first of these models that is another one; the same if there is no other."""
    return next((other for other in models if other != model), model)


_LABELS = {
    PassDecision.PASSED: ("ok  ", "green"),
    PassDecision.FAILED: ("FAIL", "red"),
    PassDecision.UNSURE: ("?   ", "yellow"),
}
"""The text before an evaluation, and its colour."""


def _rate(evaluated: EvaluationResult) -> str:
    """``12 of 14, 57-98 %``: the passed tries, and the rates that fit them."""
    low, high = interval(evaluated.passed, len(evaluated.tries))
    return f"{evaluated.passed} of {len(evaluated.tries)}, {100 * low:.0f}-{100 * high:.0f} %,"


def _doubt(evaluated: EvaluationResult) -> str:
    """Why an evaluation with a bar has not passed."""
    bar, tried = evaluated.wanted.bar, len(evaluated.tries)
    if bar is None or evaluated.verdict is PassDecision.PASSED:
        return ""
    if evaluated.verdict is PassDecision.FAILED:
        return f"too many failures to show that more than {bar} % pass"
    missing = evaluated.wanted.missing(evaluated.passed, tried)
    return f"not sure that more than {bar} % pass: {missing} more tries decide if all pass (times: {tried + missing})"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _tries(number: int) -> str:
    return "try" if number == 1 else "tries"


def _who(evaluated: EvaluationResult) -> str:
    return f"{evaluated.model}, recorded" if evaluated.recorded else evaluated.model


def _cost(evaluated: EvaluationResult) -> str:
    seconds = [answer.seconds for each in evaluated.tries for answer in each.answers]
    return f", {evaluated.tokens:,} tokens, {sum(seconds) / len(seconds):.1f} s an answer" if seconds else ""


def _total(who: str, results: Sequence[EvaluationResult]) -> str:
    """One line for a model or its recordings: how many passed, the tokens, and the time."""
    tries = [each for one in results for each in one.tries]
    unsure = sum(each.verdict is PassDecision.UNSURE and not each.stale for each in results)
    failed = sum(not each.ok for each in results) - unsure
    passed = sum(each.failure is None for each in tries)
    bad = ((failed, "failed", "red"), (unsure, "not sure", "yellow"))
    verdict = ", ".join(styled(f"{number} {what}", fg=colour) for number, what, colour in bad if number)
    verdict = verdict or styled("all passed", fg="green")
    share = f"{100 * passed // len(tries)} % of {len(tries)} {_tries(len(tries))}" if tries else "no try"
    asked, answered = (sum(each.tokens[part] for each in tries) for part in (0, 1))
    slowest = max((answer.seconds for each in tries for answer in each.answers), default=0.0)
    cost = f"{asked:,} + {answered:,} tokens, {sum(each.seconds for each in tries):.1f} s, {slowest:.1f} s at most"
    return f"{who}: {counted(len(results), 'evaluation')}, {verdict} ({share}); {cost} an answer."
