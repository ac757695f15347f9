"""The last files of a bot without problems, and those whose loading ended the process, in a file that outlives it."""

import hashlib
import pickle
from typing import BinaryIO

from bot.folder import Folder

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
