"""``bot test``."""

from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from bot.cli.operate import bot_argument
from bot.cli.output import bubble_lines, counted, path_from_here, problem_lines, quiet_log, styled
from bot.folder import find_bot, read_folder

if TYPE_CHECKING:
    from bot.testing.run import Failure, Spoken

COLOURS = {"bot": "cyan", "wait": "yellow"}


@click.command("test")
@bot_argument
@click.option("-k", "name", metavar="NAME", default="", help="Only tests with NAME in their name.")
@click.pass_context
def command(ctx: click.Context, folder: Path | None, name: str) -> None:
    """Run the tests of the bot in DIR: the documents in its files that begin with "test:".

    Each talks to the bot by the real path, with a store, a clock and an emulated gateway of its own. What the
    bot says and the test does not list fails it.

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

    Exit code 0: all pass. 1: some fail, or the bot has problems, or there is no such test.
    """
    from bot.testing.loading import load_with_tests
    from bot.testing.run import run

    quiet_log()
    bot = read_folder(find_bot(folder))
    loaded = load_with_tests(bot)
    if loaded.program is None or loaded.problems:
        for line in problem_lines(bot.path, loaded.problems):
            click.echo(line)
        click.echo(styled(f"{counted(len(loaded.problems), 'problem')}, no test was run.", fg="red"))
        ctx.exit(1)
    chosen = [transcript for transcript in loaded.transcripts if name.casefold() in transcript.name.casefold()]
    if not chosen:
        click.echo(f'{bot.name} has no test with "{name}" in its name.' if name else _no_tests(bot.name))
        ctx.exit(1)
    started, failed = perf_counter(), 0
    for transcript in chosen:
        failure = run(transcript, loaded.program, bot)
        click.echo(f"{styled('ok  ', fg='green') if failure is None else styled('FAIL', fg='red')}  {transcript.name}")
        if failure is not None:
            failed += 1
            click.echo("".join(f"      {line}\n" if line else "\n" for line in _explained(failure, bot.path)))
    click.echo(_summary(len(chosen), failed, perf_counter() - started))
    ctx.exit(1 if failed else 0)


def _no_tests(name: str) -> str:
    return f'{name} has no tests: a YAML document that begins with "test:" is one (`bot test --help` shows how).'


def _summary(number: int, failed: int, seconds: float) -> str:
    passed = f"{styled(f'{failed} failed', fg='red')}, {number - failed} passed"
    return f"{counted(number, 'test')}: {passed if failed else styled('all passed', fg='green')}, in {seconds:.1f} s."


def _explained(failure: "Failure", folder: Path) -> Iterator[str]:
    """A failure: where and what, the talk so far, what was expected and what there is."""
    mark = failure.mark
    yield f"{styled(f'{path_from_here(folder, mark.path)}:{mark.line}', bold=True)}: {failure.what}"
    yield ""
    for spoken in failure.talk:
        yield from _spoken(spoken)
    for difference in failure.differences:
        yield ""
        yield from _beside(f"{difference.what}: expected  ", difference.expected, "green")
        yield from _beside(f"{' ' * len(difference.what)}  there is  ", difference.found, "red")
    for complaint in failure.complaints:
        yield ""
        yield f"Went wrong: {complaint}"


def _beside(label: str, text: str, colour: str) -> Iterator[str]:
    """A text of one line or several, with a label before the first."""
    for number, line in enumerate(text.split("\n")):
        yield f"{label if number == 0 else ' ' * len(label)}{styled(line, fg=colour)}"


def _spoken(spoken: "Spoken") -> Iterator[str]:
    lines = [spoken.text]
    if spoken.bubble is not None:
        lines = list(bubble_lines(spoken.bubble))
        if spoken.bubble.choices:
            lines.append(" ".join(f"[{title}]" for title in spoken.bubble.choices))
    for number, line in enumerate(lines):
        who = spoken.who if number == 0 else ""
        yield f"  {styled(f'{who:4}', fg=COLOURS.get(spoken.who))}  {line}"
