"""``bot check --watch``: the report again, whenever a file of the bot is saved."""

import time
from collections.abc import Callable
from pathlib import Path

import click

from bot.cli.output import styled
from bot.folder import NoBot, Watch

LOOK_SECONDS = 0.25  # a change is taken when two looks find the same


def watched(path: Path, report: Callable[[], object]) -> None:
    """Print a report now and after each change, on a terminal in place of the last one; returns on Ctrl-C."""
    try:
        files = Watch(path)
        _print(report)
        while True:
            time.sleep(LOOK_SECONDS)
            if files.changed():
                _print(report)
    except KeyboardInterrupt:
        click.echo()


def _print(report: Callable[[], object]) -> None:
    click.clear()
    try:
        report()
    except NoBot as error:  # a file is being replaced
        click.echo(styled(str(error), fg="red"))
    click.echo(styled("Waiting for a change; Ctrl-C ends.", dim=True))
