"""A bot's files while their author edits them, for `bot chat` and `bot dev`."""

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from bot.cli.shared.operate import load_env
from bot.cli.shared.output import problem_lines, quiet_log, styled
from bot.core.defects import guard
from bot.language.source.problems import Problem
from bot.loading.folder import Folder, NoBot, find_bot, fingerprint, read_folder

if TYPE_CHECKING:
    from bot.loading.program import Program

WATCH_SECONDS = 0.1  # between two looks at the bot's files


class BotFiles:
    """The bot's files, and whether they were saved since they were loaded last."""

    def __init__(self, path: Path) -> None:
        from bot.language.flow.kept_reading import KeptReading

        self.path = path
        self._loaded = 0
        self._kept = KeptReading()
        self.folder = Folder(path, (), ())
        """The files as they were loaded last."""

    def load(self) -> "Program":
        """Load the bot. Raises `bot.loading.program.FaultyBot` and `NoBot`."""
        from bot.loading.program import load_program

        self._loaded = fingerprint(self.path)
        folder = read_folder(self.path)
        program = load_program(folder, self._kept)
        self.folder = folder
        return program

    def changed(self) -> bool:
        """True if a file was saved since the bot was loaded."""
        return fingerprint(self.path) != self._loaded


def loaded_to_run(ctx: click.Context, given: Path | None) -> "tuple[Program, BotFiles]":
    """The bot in a folder, to run it here: its `.env` is read, and its log is quiet.

    Ends the command with the problems of a faulty one.
    """
    from bot.loading.program import FaultyBot

    quiet_log()
    path = find_bot(given)
    files = BotFiles(path)
    try:
        program = files.load()
    except FaultyBot as error:
        click.echo("\n".join(problem_lines(path, error.problems)))
        ctx.exit(1)
    load_env(path)
    return program, files


def trouble_lines(files: BotFiles, problems: Sequence[Problem], trouble: str) -> list[str]:
    """The complaints of `FlowReloader`, in lines for a terminal."""
    return [*problem_lines(files.path, problems), *([styled(trouble, fg="red")] if trouble else [])]


class FlowReloader:
    """Loads the flows again when a file is saved: it looks ten times a second, and when somebody asks.

    ``use`` gets the new program. ``complain`` gets the problems of files that cannot run, or the reason why they could
    not be read at all; then the old flows stay. Use it as a context manager.
    """

    def __init__(
        self,
        files: BotFiles,
        use: Callable[["Program"], None],
        complain: Callable[[Sequence[Problem], str], None],
    ) -> None:
        self._files = files
        self._use = use
        self._complain = complain
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=guard(self._watch), name="reload")

    def __enter__(self) -> "FlowReloader":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ending.set()
        self._thread.join()

    def look(self) -> None:
        """Load the flows again if a file was saved."""
        from bot.loading.program import FaultyBot

        with self._lock:
            if not self._files.changed():
                return
            try:
                program = self._files.load()
            except FaultyBot as error:
                self._complain(error.problems, "")
            except NoBot as error:
                self._complain((), str(error))
            else:
                self._use(program)

    def _watch(self) -> None:
        while not self._ending.wait(WATCH_SECONDS):
            self.look()
