"""The programs that a running engine goes through, from its start on, as the bot's files change."""

import logging
import pickle
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from bot.folder import Folder, NoBot, Watch, read_folder
from bot.program import FaultyBot, Program, load_program

log = logging.getLogger("bot.flows")


class Reloads:
    """Loads a bot, and loads it again. Files with problems are listed and change nothing.

    ``last_good`` is an open file in which the last files without problems are remembered: an engine that has
    to start again while somebody is in the middle of an edit goes on with those.
    """

    def __init__(self, path: Path, last_good: BinaryIO) -> None:
        self._path = path
        self._last_good = last_good
        self._watch = Watch(path)
        self._lock = threading.Lock()

    def first(self) -> Program:
        """The program to start with. Raises `FaultyBot` or `NoBot` where there never was a good one."""
        try:
            return self._load()
        except (FaultyBot, NoBot) as error:
            remembered = self._remembered()
            if remembered is None:
                raise
            _list(error, "the files from before the last change are used until they are corrected")
            return load_program(remembered)

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
            program = load_program(folder)
            self._last_good.seek(0)
            self._last_good.truncate()
            pickle.dump(folder, self._last_good)
            self._last_good.flush()
            return program

    def _remembered(self) -> Folder | None:
        self._last_good.seek(0)
        try:
            folder: Folder = pickle.load(self._last_good)
            return folder
        except (EOFError, pickle.UnpicklingError):
            return None  # none yet, or killed while it was written


def _list(error: FaultyBot | NoBot, consequence: str) -> None:
    print(error, file=sys.stderr, flush=True)
    log.error("the bot's files cannot be loaded, see above: %s", consequence)
