"""``bot check``."""

import contextlib
import dataclasses
import sys
from pathlib import Path

import click

from bot.cli.operate import bot_argument
from bot.cli.output import counted, echo_json, path_from_here, problem_lines, styled
from bot.folder import find_bot, read_folder


@click.command("check")
@bot_argument
@click.option("--json", "as_json", is_flag=True, help="Print a list of objects: path, line, column, code, what, fix.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, as_json: bool) -> None:
    """Check the bot in DIR and list every problem of every file: flows, handlers and tests.

    No flow is run and nothing is sent; handlers are imported, not called. Each line says where, which rule, what is
    wrong and what to do:

    \b
      $ bot check flows
      flows/order.yml:14:9: E102 no step "pya" (did you mean "pay"?)
      1 problem

    Exit code 0: none found. 1: there are problems.
    """
    from bot.testing.loading import load_with_tests

    bot = read_folder(find_bot(folder))
    with contextlib.redirect_stdout(sys.stderr):  # what the bot's own Python prints is no part of the report
        loaded = load_with_tests(bot)
    if as_json:
        echo_json([
            dataclasses.asdict(problem) | {"path": path_from_here(bot.path, problem.path)}
            for problem in loaded.problems
        ])  # fmt: skip
    else:
        for line in problem_lines(bot.path, loaded.problems):
            click.echo(line)
        if loaded.program is None or loaded.problems:
            click.echo(styled(counted(len(loaded.problems), "problem"), fg="red"))
        else:
            flows = loaded.program.library.flows.values()
            steps = counted(sum(len(flow.steps) for flow in flows), "step")
            tests = counted(len(loaded.transcripts), "test")
            click.echo(f"{bot.name}: no problems in {counted(len(flows), 'flow')}, {steps} and {tests}.")
    ctx.exit(1 if loaded.problems else 0)
