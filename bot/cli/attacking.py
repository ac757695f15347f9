"""``bot test --attack``: attacks on the steps that ask a model, with a scripted hostile one."""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from time import perf_counter
from typing import Any

import click

from bot.cli.output import counted, echo_json, path_from_here, styled
from bot.folder import Folder
from bot.program import Program
from bot.testing.attacks.checks import visible
from bot.testing.attacks.suite import Suite, Tried
from bot.testing.hinting import hints_of
from bot.testing.report import WHO_WIDTH
from bot.testing.transcript import Transcript

INDENT = " " * 6


def attack(
    bot: Folder, program: Program, transcripts: Iterable[Transcript], *, name: str, seed: int, as_json: bool
) -> int:
    """Try the attacks with ``name`` in their name, and say how each went. Hands back the exit code."""
    suite, started = Suite(bot, program, hints_of(program.extensions, transcripts), seed), perf_counter()
    if not suite.targets and not as_json:
        click.echo(f"{bot.name} has no step that asks a model: there is nothing to attack.")
        return 0
    tried = []
    for each in suite.run(name):
        tried.append(each)
        if each.findings and not as_json:
            _explain(bot.path, each)
    if as_json:
        echo_json({"attacks": [_object(bot.path, each) for each in tried]})
    elif tried:
        _sum_up(tried, perf_counter() - started)
    else:
        click.echo(f'there is no attack with "{name}" in its name on a step of {bot.name}')
    made = {each.target.name for each in tried if each.missed is None}
    left_alone = {target.name for target in suite.targets} - made if not name else set()
    return 1 if left_alone or (name and not tried) or any(each.findings for each in tried) else 0


def _explain(folder: Path, tried: Tried) -> None:
    click.echo(f"{styled('FAIL', fg='red')}  {tried.name}: it tries to {tried.attack.tries}")
    for finding in tried.findings:
        click.echo(f"{INDENT}{styled(_place(folder, tried), bold=True)} {tried.target.name}: {finding.what}")
        click.echo(f"{INDENT}fix: {finding.fix}")
    click.echo()
    for who, text in tried.talk:
        for number, line in enumerate(text.splitlines() or [""]):
            click.echo(f"{INDENT}{who if number == 0 else '':{WHO_WIDTH}}{visible(line)}".rstrip())
    click.echo()


def _sum_up(tried: Iterable[Tried], seconds: float) -> None:
    for name, group in groupby(tried, key=lambda each: each.target.name):
        on = list(group)
        made = [each for each in on if each.missed is None]
        failed = sum(bool(each.findings) for each in made)
        verdict = styled(f"{failed} not withstood", fg="red") if failed else styled("all withstood", fg="green")
        click.echo(f"{name}: {counted(len(made), 'attack')}, {verdict}.")
        missed: dict[str, list[str]] = {}
        for each in on:
            if each.missed is not None:
                missed.setdefault(each.missed, []).append(each.name)
        for why, names in missed.items():
            click.echo(f"{INDENT}not tried, {why}: {', '.join(names)}")
    click.echo(f"In {seconds:.1f} s.")


def _object(folder: Path, tried: Tried) -> dict[str, Any]:
    findings = [{"check": each.check, "what": each.what, "fix": each.fix} for each in tried.findings]
    mark = tried.target.mark
    return {
        "attack": tried.name,
        "tries": tried.attack.tries,
        "step": tried.target.name,
        "path": path_from_here(folder, mark.path),
        "line": mark.line,
        "passed": None if tried.missed is not None else not findings,
        "missed": tried.missed,
        "findings": findings,
        "talk": [{"who": who, "text": text} for who, text in tried.talk],
    }


def _place(folder: Path, tried: Tried) -> str:
    return f"{path_from_here(folder, tried.target.mark.path)}:{tried.target.mark.line}"
