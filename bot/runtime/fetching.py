"""Keeping the files that contacts send: got from the gateway before their addresses die, checked, and written down."""

import logging
import shutil
from dataclasses import replace
from pathlib import Path

from bot.core.effects import NOT_FETCHED, TOO_LARGE, WRONG_TYPE, Fetch
from bot.core.filetypes import END, FILE_TYPES, FileType, type_of
from bot.core.values import Media
from bot.download import Downloads, NotFetched, TooLarge
from bot.runtime.performers import Ended, Say
from bot.store.files import contact_files
from bot.store.kept import KeptFile
from bot.store.rows import CallRow

MARGIN = 5.0
"""Seconds by which a fetch ends before its performer would give it up."""

SPARE_BYTES = 256 << 20
"""What files leave free of the disk: the store needs it."""

log = logging.getLogger(__name__)


class Fetching:
    """Performs `Fetch`. Safe to use from many threads.

    A file's name is the row's key: the same fetch, begun again after a crash, keeps the same file.
    """

    def __init__(self, downloads: Downloads, store: Path) -> None:
        self._downloads = downloads
        self._store = store.resolve()

    def __call__(self, row: CallRow, say: Say) -> Ended:
        """Fetch the row's file and keep it. Raises nothing."""
        assert isinstance(row.effect, Fetch)
        folder = contact_files(self._store, row.contact)
        try:
            return _already_kept(folder, row.key, row.effect.media) or self._fetch(folder, row.key, row.effect)
        except TooLarge as error:
            return Ended(TOO_LARGE, detail=str(error))
        except NotFetched as error:
            return Ended(NOT_FETCHED, detail=str(error), again=error.again)
        except OSError as error:
            log.error("a file of a contact's cannot be kept: %s", error.strerror)
            return Ended(NOT_FETCHED, detail=f"it cannot be written: {error.strerror}", again=True)

    def _fetch(self, folder: Path, name: str, effect: Fetch) -> Ended:
        if shutil.disk_usage(self._store.parent).free < effect.most + SPARE_BYTES:
            log.error("a file of a contact's cannot be kept: too little is free of the disk")
            return Ended(NOT_FETCHED, detail="too little is free of the disk", again=True)
        media, seconds = effect.media, effect.within - MARGIN
        with KeptFile(folder, name) as file:  # from the first: erasing the folder meanwhile takes this file along
            with self._downloads.open(media.url, most=effect.most, seconds=seconds) as chunks:
                for chunk in chunks:
                    file.write(chunk)
            found = type_of(*file.ends(END), media.kind)
            if found is None or found.kind != media.kind:
                what = "something else" if found is None else found.name
                return Ended(WRONG_TYPE, detail=f"the {media.kind} is {what}")
            return _done(media, file.keep(found.suffix), found)


def _already_kept(folder: Path, name: str, media: Media) -> Ended | None:
    """What was kept before a crash is not fetched again: its address may have died by now."""
    for found in FILE_TYPES:
        path = folder / f"{name}.{found.suffix}"
        if path.exists():
            return _done(media, path, found)
    return None


def _done(media: Media, path: Path, found: FileType) -> Ended:
    return Ended("done", replace(media, file=str(path), type=found.name))
