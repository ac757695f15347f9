"""The programs that a running engine goes through, from its start on, as the bot's files change."""

import logging
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from bot.folder import Folder, NoBot, Watch, read_folder
from bot.lang.nodes import Mark
from bot.lang.problems import Problem, Problems
from bot.process.last_good import LastGood
from bot.program import FaultyBot, Program, load_program

log = logging.getLogger("bot.flows")


class Reloads:
    """Loads a bot, and loads it again. Files with problems are listed and change nothing.

    ``last_good`` is an open file in which the last files without problems are remembered: an engine that has
    to start again while somebody is in the middle of an edit, or that an edit ends, goes on with those.
    """

    def __init__(self, path: Path, last_good: BinaryIO) -> None:
        self._path = path
        self._last_good = LastGood(last_good)
        self._watch = Watch(path)
        self._lock = threading.Lock()

    def first(self) -> Program:
        """The program to start with. Raises `FaultyBot` or `NoBot` where there never was a good one."""
        try:
            return self._load()
        except (FaultyBot, NoBot) as error:
            if self._last_good.folder is None:
                raise
            _list(error, "the files from before the last change are used until they are corrected")
            return load_program(self._last_good.folder)

    def again(self) -> Program | None:
        """The program that the files come to now; None when they have problems, which are listed."""
        try:
            program = self._load()
        except (FaultyBot, NoBot) as error:
            _list(error, "the flows loaded before go on")
            return None
        log.info("the flows are loaded again: version %s", program.library.version)
        return program

    def changed(self) -> bool:
        """Whether the files were saved since they were looked at last."""
        return self._watch.changed()

    def _load(self) -> Program:
        with self._lock:
            folder = read_folder(self._path)
            if self._last_good.is_deadly(folder):
                raise FaultyBot([_deadly(folder)])
            self._last_good.trying(folder)
            try:
                program = load_program(folder)
            finally:
                self._last_good.survived()
            self._last_good.keep(folder)
            return program


def _deadly(folder: Folder) -> Problem:
    """What is wrong with Python at whose import the process died, as often as it was tried."""
    problems = Problems()
    what, fix = "importing it ends the process", "take out what exits, or crashes Python itself"
    problems.add("E505", Mark(folder.code[0].path, 1, 1), what, fix)
    return problems.sorted()[0]


def _list(error: FaultyBot | NoBot, consequence: str) -> None:
    print(error, file=sys.stderr, flush=True)
    log.error("the bot's files cannot be loaded, see above: %s", consequence)
