"""``bot judge``."""

from pathlib import Path

import click

from bot.cli.shared.evaluating import ModelOptions, budget_option, judge_option, live_models, model_option, say_end
from bot.cli.shared.operate import bot_argument
from bot.cli.shared.output import (
    INDENT,
    counted,
    echo_json,
    echo_lines,
    place_object,
    problem_lines,
    quiet_log,
    styled,
    where,
)
from bot.loading.folder import Folder, find_bot, read_folder
from bot.testing.conversations.evaluation import judging, verdict
from bot.testing.conversations.judged_cases import JudgedCase, read_cases
from bot.testing.conversations.model_sources import EvaluationStopped, LiveModel, ModelUnavailable
from bot.testing.conversations.pass_rates import interval, kappa


@click.command("judge")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@bot_argument
@judge_option
@model_option
@budget_option
@click.option("--json", "as_json", is_flag=True, help="Print an object: the agreement, and each disagreement.")
@click.pass_context
def command(
    ctx: click.Context,
    file: Path,
    folder: Path | None,
    judge: str | None,
    models: tuple[str, ...],
    budget: int,
    as_json: bool,
) -> None:
    """Compare the judge of evaluations with a person.

    The judging model answers the questions of FILE, which also has a person's verdicts: how often they agree, also
    beyond chance, and where they do not.

    \b
      - talk: [user: Are you open on Sunday?, bot: "Yes, from 9:00."]
        facts: Open daily from 9:00 to 18:00.
        question: Is the contact told the right hours?
        verdict: yes

    \b
      $ bot judge verdicts.yml flows

    Exit code 1: not every question could be asked.
    """
    quiet_log()
    ctx.exit(0 if _agree(read_folder(find_bot(folder)), file, ModelOptions(models, budget, judge), as_json) else 1)


def _agree(bot: Folder, file: Path, options: ModelOptions, as_json: bool) -> bool:
    """Let the judge answer the questions of a file, and print how often it agrees with the person.

    Returns False if not all could be asked.

    Raises `bot.settings.BadSettings` and `click.UsageError`.
    """
    cases, problems = read_cases(file)
    if problems:
        echo_lines(problem_lines(Path(), problems), err=as_json)
        return False
    reasons: list[str] = []  # of each no; empty: yes
    stopped = ""
    with live_models(bot, options) as (models, budget):
        try:
            for case in cases:
                reasons.append(_asked(models[0], case))
        except (EvaluationStopped, ModelUnavailable) as error:
            stopped = f"not asked: {len(cases) - len(reasons)} of {counted(len(cases), 'question')}: {error}"
    judge = models[0].judge
    answered = list(zip(cases, reasons, strict=False))
    pairs = [(case.verdict, not reason) for case, reason in answered]
    agreed = sum(one == other for one, other in pairs)
    beyond = kappa(pairs) if pairs else None
    different = [(case, reason) for case, reason in answered if case.verdict == bool(reason)]
    if as_json:
        objects = [
            {
                **place_object(Path(), case.mark),
                "question": case.question,
                "verdict": _word(case.verdict),
                "judge": reason or "yes",
            }
            for case, reason in different
        ]
        found = {"judge": judge, "questions": len(pairs), "agreed": agreed, "kappa": beyond}
        echo_json({**found, "disagreements": objects, "stopped": stopped or None})
        return not stopped
    for case, reason in different:
        click.echo(f"{styled(where(Path(), case.mark), bold=True)}: {case.question}")
        click.echo(f"{INDENT}person: {_word(case.verdict)}, {judge}: {reason or 'yes'}")
    if pairs:
        low, high = interval(agreed, len(pairs))
        rate = f"{judge} agrees on {agreed} of {len(pairs)}, {100 * low:.0f}-{100 * high:.0f} %"
        click.echo(f"{rate}; kappa {'is unknown: all verdicts are the same' if beyond is None else f'{beyond:.2f}'}.")
    say_end(budget, [stopped] if stopped else [])
    return not stopped


def _asked(model: LiveModel, case: JudgedCase) -> str:
    messages = judging(case.question, case.talk, case.facts)
    return verdict(model.ask({"messages": messages, "temperature": 0}, evaluates=True).text)


def _word(verdict: bool) -> str:
    return "yes" if verdict else "no"
