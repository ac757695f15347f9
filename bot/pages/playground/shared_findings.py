"""The findings of a bot's files, for all parts of the page that ask for them."""

import threading

from bot.checker.findings import Finding
from bot.checker.run_rules import run_rules
from bot.language.flow.documents import Source
from bot.language.flow.library import Library
from bot.loading.folder import Folder

KEPT = 2
"""An author's files on the disk, and the same with an edit."""


class SharedFindings:
    """Checks each bot once for all callers. Safe to use from many threads: a second caller waits for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: list[tuple[tuple[Source, ...], list[Finding]]] = []

    def of(self, library: Library, folder: Folder) -> list[Finding]:
        """The findings of a library that was loaded from these files. Those of the last `KEPT` bots are known."""
        with self._lock:
            newest = next((each for each in self._known if each[0] == folder.files), None)
            if newest is None:
                newest = folder.files, run_rules(library, folder.sources)
            self._known = [newest, *(each for each in self._known if each is not newest)][:KEPT]
            return newest[1]
