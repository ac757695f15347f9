"""Files that are kept beside the store: private, whole or not there at all, and durable."""

import os
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self


class KeptFile:
    """A file on its way to its place in ``folder``: written beside it, and moved there whole.

    A second try under the same ``name`` begins anew. Leaving the block without `keep` removes what was written.
    Everything here raises `OSError`, on a full disk say.
    """

    def __init__(self, folder: Path, name: str) -> None:
        _make(folder)
        self._folder = folder
        self._name = name
        self._part = folder / f"{name}.part"
        self._file: BinaryIO = os.fdopen(os.open(self._part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "w+b")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self._file.close()
        finally:
            self._part.unlink(missing_ok=True)

    def write(self, data: bytes) -> None:
        """Write on."""
        self._file.write(data)

    def ends(self, size: int) -> tuple[bytes, bytes]:
        """The first and the last ``size`` bytes."""
        length = self._file.seek(0, os.SEEK_END)
        self._file.seek(0)
        start = self._file.read(size)
        self._file.seek(max(0, length - size))
        return start, self._file.read(size)

    def keep(self, suffix: str) -> Path:
        """Move it to its place; when this returns it is durable."""
        self._file.flush()
        os.fsync(self._file.fileno())
        path = self._folder / f"{self._name}.{suffix}"
        self._part.replace(path)
        _sync(self._folder)
        return path


def _make(folder: Path) -> None:
    """The folder and those it lies in, private, each durable in the one above."""
    if not folder.is_dir():
        _make(folder.parent)
        folder.mkdir(0o700, exist_ok=True)
        _sync(folder.parent)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
