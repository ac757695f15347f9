"""``bot attack``."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from bot.cli.shared.evaluating import ModelOptions, budget_option, live_models, split_slugs
from bot.cli.shared.operate import bot_argument, sound
from bot.cli.shared.output import INDENT, counted, echo_json, echo_lines, place_object, quiet_log, styled, where
from bot.loading.folder import Folder, find_bot, read_folder
from bot.loading.program import Program
from bot.testing.conversations.attack_checks import Violation, visible
from bot.testing.conversations.attack_suite import AttackResult, AttackSuite
from bot.testing.conversations.attack_weak_points import WeakPoint, weak_points
from bot.testing.conversations.examples_from_tests import examples_from
from bot.testing.conversations.model_sources import EvaluationStopped, LiveModel
from bot.testing.conversations.transcript import Transcript
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import WHO_WIDTH

_NAMED = 3  # how many attacks that show a weak point are named


@click.command("attack")
@bot_argument
@click.option("-k", "name", metavar="NAME", default="", help="Only attacks with NAME in their name.")
@click.option("--seed", default=1, metavar="N", help="Another N words the malicious requests differently.")
@click.option(
    "--model",
    "slugs",
    metavar="[SLUGS]",
    is_flag=False,
    flag_value="",
    help="Ask real models: those of BOT_AI_MODEL, or these, separated by commas.",
)
@budget_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: attacks and weak points.")
@click.pass_context
def command(
    ctx: click.Context, folder: Path | None, name: str, seed: int, slugs: str | None, budget: int, as_json: bool
) -> None:
    """Attack the steps that ask a model.

    A scripted model obeys every text in its prompt, and the malicious request reaches it by messages, names, values,
    documents and tools. With --model real ones answer. Handlers and services are not called.

    \b
      $ bot attack flows -k link

    Exit code 1: an attack succeeded, or none could be made on a step.
    """
    if slugs and Path(slugs).is_dir():
        raise click.UsageError(
            f"--model: {slugs} is a folder, not a model: write the folder first: bot attack {slugs} --model"
        )
    options = None if slugs is None else ModelOptions(split_slugs(slugs), budget)
    quiet_log()
    bot = read_folder(find_bot(folder))
    tests = load_with_tests(bot)
    attacks = Attacks(bot, sound(bot, tests, as_json), tests.transcripts, name=name, seed=seed, as_json=as_json)
    ctx.exit(0 if attacks.run(options) else 1)


class Attacks:
    """Tries the attacks with ``name`` in their name on one bot, and prints those that succeed at once."""

    def __init__(
        self, bot: Folder, program: Program, transcripts: Iterable[Transcript], *, name: str, seed: int, as_json: bool
    ) -> None:
        self._bot = bot
        self._program = program
        self._examples = examples_from(program.extensions, transcripts)
        self._name = name
        self._seed = seed
        self._quiet = as_json
        self._tried: list[tuple[str, AttackResult]] = []  # with which model
        self._left_alone: set[str] = set()  # steps on which no attack could be made
        self._stopped: list[str] = []  # why the run with a model has

    def run(self, options: ModelOptions | None) -> bool:
        """Try the attacks with real models, or without options with the scripted one.

        Returns True if the bot withstood all.

        Raises `bot.settings.BadSettings` and `click.UsageError`.
        """
        started = perf_counter()
        if options is None:
            self._try(None)
        else:
            with live_models(self._bot, options) as (models, budget):
                try:
                    for model in models:
                        self._try_with(model)
                except KeyboardInterrupt:
                    self._stopped.append("interrupted")
        if self._quiet:
            attacks = [self._object(*each) for each in self._tried]
            weak = [self._weak_object(point) for tried in self._by_step().values() for point in _weak_points(tried)]
            echo_json({"attacks": attacks, "weak_points": weak, "stopped": self._stopped})
        else:
            self._sum_up(perf_counter() - started)
            if options is not None:
                click.echo(f"{budget.used:,} of {budget.most:,} tokens used up.")
        failed = any(tried.findings for _, tried in self._tried)
        return not (failed or self._stopped or self._left_alone)

    def _try_with(self, model: LiveModel) -> None:
        try:
            self._try(model)
        except EvaluationStopped as error:
            self._stopped.append(f"{model.model}: {error}")

    def _try(self, model: LiveModel | None) -> None:
        suite = AttackSuite(self._bot, self._program, self._examples, self._seed, model)
        for tried in suite.run(self._name):
            self._tried.append(("" if model is None else model.model, tried))
            if tried.findings and not self._quiet:
                self._explain(tried)
        made = {tried.target.name for _, tried in self._tried if tried.missed is None}
        if not self._name or (suite.targets and not self._tried):
            self._left_alone |= {target.name for target in suite.targets} - made

    def _explain(self, tried: AttackResult) -> None:
        click.echo(f"{styled('FAIL', fg='red')}  {tried.name}: it tries to {tried.attack.tries}")
        place = where(self._bot.path, tried.target.mark)
        for finding in tried.findings:
            click.echo(f"{INDENT}{styled(place, bold=True)} {tried.target.name}: {finding.what}")
            click.echo(f"{INDENT}fix: {finding.fix}")
        click.echo()
        for who, text in tried.conversation:
            for number, line in enumerate(text.splitlines() or [""]):
                click.echo(f"{INDENT}{who if number == 0 else '':{WHO_WIDTH}}{visible(line)}".rstrip())
        click.echo()

    def _sum_up(self, seconds: float) -> None:
        if not self._tried:
            why = "no step asks a model, so there is nothing to attack"
            if self._left_alone:
                why = f'there is no attack with "{self._name}" in its name'
            click.echo(f"{self._bot.name}: {why}.")
            return
        points = 0
        for (model, step), tried in self._by_step().items():
            points += _say(f"{step}, {model}" if model else step, tried)
        results = [tried for _, tried in self._tried]
        click.echo(f"{styled(self._bot.name, bold=True)}: {_verdict(results, points)}")
        echo_lines(styled(why, fg="red") for why in self._stopped)
        click.echo(f"In {seconds:.1f} s.")

    def _by_step(self) -> dict[tuple[str, str], list[AttackResult]]:
        groups = groupby(self._tried, key=lambda each: (each[0], each[1].target.name))
        return {step: [tried for _, tried in group] for step, group in groups}

    def _weak_object(self, point: WeakPoint) -> dict[str, Any]:
        return {
            "step": point.target.name,
            **place_object(self._bot.path, point.target.mark),
            **_finding_object(point.violation),
            "attacks": list(point.attacks),
        }

    def _object(self, model: str, tried: AttackResult) -> dict[str, Any]:
        return {
            "attack": tried.name,
            "tries": tried.attack.tries,
            "model": model or None,
            "step": tried.target.name,
            **place_object(self._bot.path, tried.target.mark),
            "passed": None if tried.missed is not None else not tried.findings,
            "missed": tried.missed,
            "findings": [_finding_object(each) for each in tried.findings],
            "conversation": [{"who": who, "text": text} for who, text in tried.conversation],
        }


def _finding_object(found: Violation) -> dict[str, Any]:
    return {"check": found.check, "what": found.what, "fix": found.fix}


def _weak_points(tried: Iterable[AttackResult]) -> list[WeakPoint]:
    """The weak points of one step. A step that no attack reached has none."""
    made = [each for each in tried if each.missed is None]
    shown = [(each.attack.name, found) for each in made for found in each.shows]
    return weak_points(made[0].target, shown) if made else []


def _verdict(tried: Iterable[AttackResult], points: int) -> str:
    """``64 attacks, all withstood; 2 weak points.``"""
    made = [each for each in tried if each.missed is None]
    failed = sum(bool(each.findings) for each in made)
    verdict = styled(f"{failed} not withstood", fg="red") if failed else styled("all withstood", fg="green")
    weak = f"; {styled(counted(points, 'weak point'), fg='yellow')}" if points else ""
    return f"{counted(len(made), 'attack')}, {verdict if made else 'nothing was tried'}{weak}."


def _say(where: str, tried: Sequence[AttackResult]) -> int:
    """Print the result of one step: its verdict, its weak points, and which attacks could not be tried, with the
    reason. Returns how many weak points it has.
    """
    points = _weak_points(tried)
    click.echo(f"{where}: {_verdict(tried, len(points))}")
    for point in points:
        click.echo(f"{INDENT}{styled('weak', fg='yellow')}  {point.violation.what}{_by(point.attacks)}")
        click.echo(f"{INDENT}      fix: {point.violation.fix}")
    for why in dict.fromkeys(each.missed for each in tried if each.missed is not None):
        names = ", ".join(each.name for each in tried if each.missed == why)
        click.echo(f"{INDENT}not tried, {why}: {names}")
    return len(points)


def _by(attacks: Sequence[str]) -> str:
    """The first attacks that show a weak point, and how many others do."""
    if not attacks:
        return ""
    more = f", {len(attacks) - _NAMED} more" if len(attacks) > _NAMED else ""
    return f" ({', '.join(attacks[:_NAMED])}{more})"
