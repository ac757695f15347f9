"""Loads the program of a running engine, at its start and whenever the bot's files change."""

import hashlib
import logging
import pickle
import sys
import threading
from pathlib import Path
from typing import BinaryIO

from bot.alarms import Alarms
from bot.folder import Folder, NoBot, Watch, read_folder
from bot.lang.problems import Mark, Problem, Problems
from bot.program import FaultyBot, Program, load_program

ALARM = "reload-refused"
log = logging.getLogger("bot.flows")


class ProgramLoader:
    """Loads a bot, and loads it again. Files with problems are listed and change nothing.

    ``last_good`` is an open file in which the last files without problems are remembered: an engine that has
    to start again while somebody is in the middle of an edit, or that an edit ends, goes on with those.
    """

    def __init__(self, path: Path, last_good: BinaryIO) -> None:
        self._path = path
        self._last_good = LastGood(last_good)
        self._watch = Watch(path)
        self._lock = threading.Lock()
        self._refused = ""  # why the files are not served as they are now
        self._alarms: Alarms | None = None

    def tell(self, alarms: Alarms) -> None:
        """Report from now on, and at once, while other files are served than there are."""
        self._alarms = alarms
        self._report()

    def first(self) -> Program:
        """The program to start with. Raises `FaultyBot` or `NoBot` where there never was a good one."""
        try:
            return self._load()
        except (FaultyBot, NoBot) as error:
            if self._last_good.folder is None:
                raise
            self._refuse(error, "the files from before the last change are used until they are corrected")
            return load_program(self._last_good.folder)

    def again(self) -> Program | None:
        """The program of the files as they are now; None if they have problems, which are printed."""
        try:
            program = self._load()
        except (FaultyBot, NoBot) as error:
            self._refuse(error, "the flows loaded before go on")
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
            self._refused = ""
            self._report()
            return program

    def _refuse(self, error: FaultyBot | NoBot, consequence: str) -> None:
        print(error, file=sys.stderr, flush=True)
        log.error("the bot's files cannot be loaded, see above: %s", consequence)
        self._refused = f"the bot's files cannot be loaded{_place(error)}: {consequence}"
        self._report()

    def _report(self) -> None:
        if self._alarms is None:
            return
        if self._refused:
            self._alarms.report(
                ALARM, self._refused, "`bot check` says what is wrong; they are taken once it is corrected"
            )
        else:
            self._alarms.clear(ALARM)


def _deadly(folder: Folder) -> Problem:
    """What is wrong with Python whose import ended the process at each try."""
    problems = Problems()
    what, fix = "importing it ends the process", "take out what exits, or crashes Python itself"
    problems.add("E505", Mark(folder.code[0].path, 1, 1), what, fix)
    return problems.sorted()[0]


def _place(error: FaultyBot | NoBot) -> str:
    """The place of the first problem. Its text is left out, because it may quote a text of the bot's."""
    if isinstance(error, NoBot):
        return ""
    first, *more = error.problems
    others = f" and {len(more)} more" if more else ""
    return f" ({first.code} at {first.path}:{first.line}{others})"


DEADLY = 3
"""So many deaths in a row while the same Python was imported are no accident."""


class LastGood:
    """Remembers over the engine's death; the supervisor holds the file open."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        found = self._read()
        self.folder = found if isinstance(found, Folder) else None
        self._end = 0 if self.folder is None else file.tell()
        found = found if self.folder is None else self._read()
        self._tried = found if isinstance(found, tuple) else ("", 0)

    def is_deadly(self, folder: Folder) -> bool:
        """Whether the process has died again and again while this Python was imported."""
        digest, deaths = self._tried
        return bool(folder.code) and digest == _digest(folder) and deaths >= DEADLY

    def trying(self, folder: Folder) -> None:
        """Note that this is about to be imported."""
        digest, deaths = self._tried
        now = _digest(folder)
        self._tried = (now, deaths + 1 if now == digest else 1)
        self._write(self._tried)

    def survived(self) -> None:
        """Note that it was imported, whatever came of it."""
        self._tried = ("", 0)
        self._write(self._tried)

    def keep(self, folder: Folder) -> None:
        """Remember files without problems."""
        self._end = 0
        self._write(folder)
        self.folder, self._end = folder, self._file.tell()

    def _write(self, value: object) -> None:
        self._file.seek(self._end)
        self._file.truncate()
        pickle.dump(value, self._file)
        self._file.flush()

    def _read(self) -> "Folder | tuple[str, int] | None":
        try:
            found: Folder | tuple[str, int] = pickle.load(self._file)
        except (EOFError, pickle.UnpicklingError):
            return None  # none yet, or killed while it was written
        return found


def _digest(folder: Folder) -> str:
    digest = hashlib.sha256()
    for source in folder.code:
        digest.update(source.path.encode() + b"\0" + source.text + b"\0")
    return digest.hexdigest()
