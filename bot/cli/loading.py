"""Loading a bot for a command that needs one without problems."""

import contextlib
import sys
from typing import TYPE_CHECKING

import click

from bot.cli.output import counted, problem_lines, styled
from bot.folder import Folder

if TYPE_CHECKING:
    from bot.program import Program


def loaded(bot: Folder) -> "Program":
    """A bot's flows and Python. Where its files have problems these are listed, and the command ends with 1."""
    from bot.program import FaultyBot, load_program

    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the bot's own Python prints is no part of a report
            return load_program(bot)
    except FaultyBot as error:
        for line in problem_lines(bot.path, error.problems):
            click.echo(line, err=True)
        click.echo(styled(counted(len(error.problems), "problem"), fg="red"), err=True)
        raise click.exceptions.Exit(1) from None
