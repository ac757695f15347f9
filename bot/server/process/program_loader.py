"""Loads the program of a running engine: at its start, when a version is published, and when files that it follows
change.
"""

import hashlib
import logging
import os
import pickle
import sys
import threading
from base64 import b64decode
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from socket import gethostname
from typing import BinaryIO

from bot.core import telemetry
from bot.core.alarms import Alarm, Alarms
from bot.core.engine_answers import VersionPublished
from bot.core.engine_requests import PublishVersion
from bot.core.errors import BotError
from bot.language.source.problems import Mark, Problem, Problems
from bot.loading.folder import Folder, NoBot, Watch, read_folder, unpacked
from bot.loading.program import FaultyBot, Program, load_program
from bot.settings import missing_secrets
from bot.store.database import Database
from bot.store.published_versions import (
    PublishedVersion,
    add_version,
    files_of,
    in_folder,
    newest_version,
    served_version,
)

ALARM = "reload-refused"
log = logging.getLogger("bot.flows")


class SettingMissing(BotError):
    """A setting is missing without which this machine cannot serve the bot. The text says which."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}, and restart the server")


FILES_NOT_SHARED = (
    "flows keep files, and each machine would have its own: set BOT_FILES to a folder that all machines share, "
    "or to s3://bucket/prefix"
)


class VersionRefused(BotError):
    """The version that is published cannot be served by this machine."""

    def __init__(self, version: PublishedVersion, error: FaultyBot | SettingMissing) -> None:
        what = f"version {version.number}, which {version.by} has published, cannot be loaded on {gethostname()}{_place(error)}"
        missing = "install what is missing there, and restart the server" if isinstance(error, FaultyBot) else error
        advice = f"{missing}, or `bot rollback`"
        super().__init__(f"{what}: {advice}")
        self.alarm = Alarm("version-refused", "", what, advice, datetime.now(UTC))


class ProgramLoader:
    """Loads a bot, and loads it again: the newest version in the store (``versions``), or else the files at ``path``.

    Files with problems are listed and change nothing. ``last_good`` is an open file with the last files that had no
    problems: an engine that starts again in the middle of somebody's edit, or that an edit has crashed, continues with
    those. If a published version cannot be loaded, nothing is served, and ``refusal`` says why. ``shares_files`` says
    whether all machines reach the files that flows keep, or there is one machine.
    """

    def __init__(self, path: Path, last_good: BinaryIO, versions: Database, *, shares_files: bool = True) -> None:
        self.refusal: VersionRefused | None = None
        self._path = path
        self._last_good = LastGood(last_good)
        self._versions = versions
        self._shares_files = shares_files
        self._watch = Watch(path)
        self._lock = threading.Lock()
        self._program: Program | None = None
        self._number: int | None = None  # of the newest version that was loaded, or refused; 0 for none
        self._follows_files = True
        self._refused: tuple[str, str] | None = None  # why the files are not served as they are now, and what to do
        self._alarms: Alarms | None = None

    def tell(self, alarms: Alarms) -> None:
        """Report to these alarms from now on, and at once, while older files are served than those in the folder."""
        self._alarms = alarms
        self._report()
        if (served := served_version(self._versions)) is not None:
            differ, what = in_folder(served, self._path)
            log.warning("%s%s", what, ": `bot publish` publishes them" if differ else "")

    def newest(self) -> Program:
        """The program to serve now, which is loaded once. Raises `VersionRefused`, and `FaultyBot`, `NoBot` or
        `SettingMissing` if there never were good files.
        """
        with self._lock:
            newest = newest_version(self._versions)
            if not self._knows(newest):
                self._load_newest(newest)
            if self.refusal is not None:
                raise self.refusal
            assert self._program is not None
            return self._program

    def is_newest(self) -> bool:
        """True if nothing was published since it was loaded."""
        return self._knows(newest_version(self._versions))

    def again(self) -> Program | None:
        """The program of the files, or the version, as they are now; None if they have problems, which are printed."""
        with self._lock:
            served = served_version(self._versions)
            try:
                files = self._read_folder() if served is None else self._files_of(served)
                self._serve(files, self._load(files))
            except (FaultyBot, NoBot, SettingMissing) as error:
                self._refuse(error, "the flows loaded before go on")
                return None
            assert self._program is not None
            log.info("the flows are loaded again: version %s", self._program.library.version)
            return self._program

    def changed(self) -> bool:
        """True if files that are followed were saved since the last look at them."""
        return self._follows_files and self._watch.changed()

    def publish(self, request: PublishVersion, database: Database, swap: Callable[[Program], None]) -> VersionPublished:
        """Publish the files in a request's ``content`` (see `bot.loading.folder.Folder.packed`); without it, those
        here, which are then followed.

        It is loaded, added to the store by the engine's connection, and only then served (``swap``). Raises
        `FaultyBot`, `NoBot`, `SettingMissing` and `bot.store.published_versions.PublishRefused`; nothing has changed
        then.
        """
        packed = None if request.content is None else unpacked(self._path, b64decode(request.content))
        with self._lock:
            files = self._read_folder() if packed is None else packed
            program = self._load(files)
            added = add_version(
                database,
                packed,
                after=request.after,
                by=request.by,
                note=request.note,
                now=datetime.now(UTC),
                asked_as=request.asked_as,
            )
            self._note(added)
            self._serve(files, program)
            swap(program)
        log.warning("%s has published version %d", request.by, added.number)
        return VersionPublished(added.number)

    def _knows(self, newest: PublishedVersion | None) -> bool:
        return self._number == (0 if newest is None else newest.number)

    def _note(self, newest: PublishedVersion | None, refusal: VersionRefused | None = None) -> None:
        self._number = 0 if newest is None else newest.number
        self._follows_files = newest is None or newest.digest is None
        self.refusal = refusal

    def _load_newest(self, newest: PublishedVersion | None) -> None:
        refusal = None
        if newest is None or newest.digest is None:
            self._load_files()
        else:
            try:
                files = self._files_of(newest)
                self._serve(files, self._load(files))
            except (FaultyBot, SettingMissing) as error:
                print(error, file=sys.stderr, flush=True)
                refusal = VersionRefused(newest, error)
                log.error("%s", refusal)
        self._note(newest, refusal)  # last, so that a version is read again if the store was away

    def _load_files(self) -> None:
        try:
            files = self._read_folder()
            program = self._load(files)
        except (FaultyBot, NoBot, SettingMissing) as error:
            if self._last_good.folder is None:
                raise
            self._refuse(error, "the files from before the last change are used until they are corrected")
            self._program = _program_of(self._last_good.folder)
        else:
            self._serve(files, program)

    def _read_folder(self) -> Folder:
        self._watch = Watch(self._path)  # nobody has looked while a version was served
        return read_folder(self._path)

    def _files_of(self, version: PublishedVersion) -> Folder:
        return files_of(self._versions, version.number, self._path)

    def _load(self, files: Folder) -> Program:
        if self._last_good.is_deadly(files):
            raise FaultyBot([_deadly(files)])
        self._last_good.trying(files)
        try:
            program = _program_of(files)
        finally:
            self._last_good.survived()
        if program.library.keeps_files and not self._shares_files:
            raise SettingMissing(FILES_NOT_SHARED)
        if missing := missing_secrets(os.environ, program.library.bot.secrets):
            raise SettingMissing("; ".join(missing))
        return program

    def _serve(self, files: Folder, program: Program) -> None:
        self._last_good.keep(files)
        self._program = program
        self._refused = None
        self._report()

    def _refuse(self, error: FaultyBot | NoBot | SettingMissing, consequence: str) -> None:
        print(error, file=sys.stderr, flush=True)
        log.error("the bot's files cannot be loaded, see above: %s", consequence)
        corrected = "`bot check` says what is wrong; they are taken once it is corrected"
        advice = str(error) if isinstance(error, SettingMissing) else corrected
        self._refused = f"the bot's files cannot be loaded{_place(error)}: {consequence}", advice
        self._report()

    def _report(self) -> None:
        if self._alarms is None:
            return
        if self._refused is not None:
            self._alarms.report(ALARM, *self._refused)
        else:
            self._alarms.clear(ALARM)


def _program_of(files: Folder) -> Program:
    """The program of a bot's files. The secrets that they name are hidden in the log of this process before any Python
    of theirs is imported.
    """
    telemetry.hide(os.environ.get(name, "") for name in files.secrets())
    return load_program(files)


def _deadly(folder: Folder) -> Problem:
    """The problem of Python whose import ended the process at each try."""
    problems = Problems()
    what, fix = "importing it ends the process", "take out what exits, or crashes Python itself"
    problems.add("E505", Mark(folder.code[0].path, 1, 1), what, fix)
    return problems.sorted()[0]


def _place(error: FaultyBot | NoBot | SettingMissing) -> str:
    """The place of the first problem. Its text is left out, because it may quote a text of the bot's."""
    if not isinstance(error, FaultyBot):
        return ""
    first, *more = error.problems
    others = f" and {len(more)} more" if more else ""
    return f" ({first.code} at {first.path}:{first.line}{others})"


DEADLY = 3
"""So many deaths in a row while the same Python was imported are no accident."""


class LastGood:
    """Remembers the last good files, and what was being imported, when the engine's process dies.

    They are in a file without a buffer that the supervisor holds open. On a full disk nothing is remembered.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        file.seek(0)
        found = self._read()
        self.folder = found if isinstance(found, Folder) else None
        self._end = 0 if self.folder is None else file.tell()
        found = found if self.folder is None else self._read()
        self._tried = found if isinstance(found, tuple) else ("", 0)

    def is_deadly(self, folder: Folder) -> bool:
        """True if the process has died again and again while this Python was imported."""
        digest, deaths = self._tried
        return bool(folder.code) and digest == _digest(folder) and deaths >= DEADLY

    def trying(self, folder: Folder) -> None:
        """Note that this is about to be imported."""
        digest, deaths = self._tried
        now = _digest(folder)
        self._tried = (now, deaths + 1 if now == digest else 1)
        self._write(self._tried)

    def survived(self) -> None:
        """Note that the program was imported, also if that failed."""
        self._tried = ("", 0)
        self._write(self._tried)

    def keep(self, folder: Folder) -> None:
        """Remember files without problems."""
        self._end = 0
        self._write(folder)
        self.folder, self._end = folder, self._file.tell()

    def _write(self, value: object) -> None:
        self._file.seek(self._end)
        try:
            self._file.truncate()
            self._file.write(pickle.dumps(value))
        except OSError as error:
            log.warning("after a crash the last files without problems are not known: %s", error.strerror)

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
