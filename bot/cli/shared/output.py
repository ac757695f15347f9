"""Printing that the commands share: colours, problems, times, messages, failed tests, JSON."""

import dataclasses
import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from bot.core.values import readable_json
from bot.language.source.problems import Mark, Problem
from bot.testing.simulation.phone import ShownMessage

if TYPE_CHECKING:
    from bot.testing.conversations.transcript_run import FailedTest

INDENT = " " * 6  # of the explanation of a failed test


def styled(text: str, **style: Any) -> str:
    """The text in a colour. `click.echo` takes colours out where the output is no terminal."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return text if plain else click.style(text, **style)


def counted(number: int, what: str) -> str:
    """``1 problem``, ``2 problems``."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def path_from_here(folder: Path, path: str) -> str:
    """A file of a bot, as the user would write its path from where they are."""
    return os.path.relpath(folder / path)


def problem_lines(folder: Path, problems: Iterable[Problem]) -> Iterator[str]:
    """Problems, one a line, with paths that an editor can jump to."""
    for problem in problems:
        here = dataclasses.replace(problem, path=path_from_here(folder, problem.path))
        place, _, rest = str(here).partition(f" {problem.code} ")
        yield f"{styled(place, bold=True)} {styled(problem.code, fg='red')} {rest}"


def quiet_log() -> None:
    """Keep the log out of a conversation or a report: both show the same things themselves."""
    logging.getLogger().addHandler(logging.NullHandler())


def echo_json(value: Any) -> None:
    """Print a value for a program to read."""
    click.echo(readable_json(value))


def echo_lines(lines: Iterable[str], *, err: bool = False) -> None:
    """Print each line."""
    for line in lines:
        click.echo(line, err=err)


def aligned(table: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table: the first column is aligned on the left, the others on the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for first, *rest in table:
        cells = (f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join((f"{first:{widths[0]}}", *cells)).rstrip()


def local_time(at: datetime, zone: tzinfo | None = None) -> str:
    """A time in a zone, else in this machine's, to the second."""
    return f"{at.astimezone(zone):%Y-%m-%d %H:%M:%S}"


def message_lines(message: ShownMessage) -> Iterator[str]:
    """A message as lines of text, without its choices."""
    if message.template is not None:
        yield styled(f"[template {message.template}, {message.language}]", fg="magenta") + "".join(
            f" {part}" for part in message.body
        )
    if message.header:
        yield styled(message.header, bold=True)
    if message.file is not None:
        yield styled(f"[{message.file.kind}]", fg="magenta") + f" {message.file.link or message.file.name}"
        yield from (f"  {line}" for line in message.file.text.splitlines())
    if message.place is not None:
        yield styled("[location]", fg="magenta") + f" {message.place}"
    yield from message.text.splitlines()
    if message.link is not None:
        yield f"[{styled(message.link.title, bold=True)}] {styled(message.link.url, underline=True)}"
    if message.footer:
        yield styled(message.footer, dim=True)


def explain(folder: Path, failure: "FailedTest", more: str = "") -> None:
    """Print why a test failed: the place, what is wrong, the conversation, and both sides.

    ``more`` follows what is wrong.
    """
    from bot.testing.conversations.transcript_run import explained

    click.echo(f"{INDENT}{styled(where(folder, failure.mark), bold=True)}: {failure.what}{more}")
    click.echo()
    width = shutil.get_terminal_size().columns - len(INDENT)
    for line in explained(failure, lambda text, colour: styled(text, fg=colour), width):
        click.echo(f"{INDENT}{line}" if line else "")
    click.echo()


def failure_object(folder: Path, failure: "FailedTest") -> dict[str, Any]:
    """Why a test failed, for a program."""
    from bot.testing.conversations.transcript_run import explained

    differences = [{"what": d.what, "expected": d.expected, "got": d.found} for d in failure.differences]
    why = {"what": failure.what, **place_object(folder, failure.mark), "differences": differences}
    return why | {"complaints": failure.complaints, "lines": list(explained(failure))}


def where(folder: Path, mark: Mark) -> str:
    """A place in a bot's files, as the user would write it."""
    return f"{path_from_here(folder, mark.path)}:{mark.line}"


def place_object(folder: Path, mark: Mark | None) -> dict[str, Any]:
    """A place in a bot's files, for a program."""
    return {"path": mark and path_from_here(folder, mark.path), "line": mark and mark.line}
