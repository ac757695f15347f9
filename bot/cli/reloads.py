"""Loading a bot again while one talks to it, as its files are saved."""

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from bot.cli.output import problem_lines, styled
from bot.cli.screen import Screen
from bot.folder import NoBot, fingerprint, read_folder

if TYPE_CHECKING:
    from bot.program import Program
    from bot.simulation.simulation import Simulation

WATCH_SECONDS = 0.5  # between two looks at the bot's files


class BotFiles:
    """The bot's files, and whether they were saved since they were loaded last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._loaded = 0

    def load(self) -> "Program":
        """Load the bot. Raises `bot.program.FaultyBot` and `NoBot`."""
        from bot.program import load_program

        self._loaded = fingerprint(self.path)
        return load_program(read_folder(self.path))

    def changed(self) -> bool:
        """Whether a file was saved since then."""
        return fingerprint(self.path) != self._loaded


class Reloads:
    """Loads the flows again when a file is saved: looks now and then, and before each line is taken."""

    def __init__(self, files: BotFiles, simulation: "Simulation", screen: Screen) -> None:
        self._files = files
        self._simulation = simulation
        self._screen = screen
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="reload")

    def __enter__(self) -> "Reloads":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ending.set()
        self._thread.join()

    def look(self) -> None:
        """Load the flows again if a file was saved; with problems the old ones go on."""
        from bot.program import FaultyBot

        with self._lock:
            if not self._files.changed():
                return
            try:
                self._simulation.swap(self._files.load())
            except FaultyBot as error:
                self._screen.print(*problem_lines(self._files.path, error.problems))
            except NoBot as error:
                self._screen.print(styled(str(error), fg="red"))
            else:
                self._screen.print(styled("The flows are loaded again.", dim=True))

    def _watch(self) -> None:
        while not self._ending.wait(WATCH_SECONDS):
            self.look()
