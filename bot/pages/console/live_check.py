"""The effect of the files on the disk, or of a published version, on the conversations under way: `bot check --live`,
in a process of its own.

That process imports the bot's Python and reads every session; this one neither waits for it nor shares its memory with
it.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from bot.core.clock import Clock
from bot.core.defects import guard
from bot.core.immutable import immutable
from bot.store.database import StoreAddress

PATIENCE = 300.0  # seconds: it takes three for 100,000 conversations
_NICE = 10
_CHECK = """
import signal
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])  # the console process waits for it, and has it blocked
from bot.cli import main
main()
"""


@immutable
class LiveReport:
    """The result of a check, and when it was made. ``found`` is the JSON of `bot check --live --json`.

    If there is none, ``trouble`` says why: the problems in the files, a line each.
    """

    at: datetime
    found: Mapping[str, Any] | None = None
    trouble: str = ""


class LiveCheck:
    """Runs checks on request, one at a time.

    ``reports`` are the last reports by the number of the version; None stands for the files. ``changes`` is a number
    that grows when a check begins or ends.
    """

    def __init__(self, folder: Path, store: StoreAddress, clock: Clock) -> None:
        # it looks from there, so paths are shown from there, and -P keeps the folder's files from hiding this program's
        self._folder = folder
        python = [sys.executable, "-P", "-c", _CHECK]
        self._command = [*python, "check", ".", "--live", "--json"]
        if isinstance(store, Path):  # the address of a database is in the environment: it has a password
            self._command += ["--store", str(store.resolve())]
        self._clock = clock
        self._lock, self._one_at_a_time = threading.Lock(), threading.Lock()
        self._running: set[int | None] = set()
        self.reports: dict[int | None, LiveReport] = {}
        self.changes = 0

    def looks(self, version: int | None = None) -> bool:
        """True if a check is running or about to begin."""
        return version in self._running

    def begin(self, version: int | None = None) -> None:
        """Begin a check, unless one is running."""
        with self._lock:
            if self.looks(version):
                return
            self._running.add(version)
            self.changes += 1
        threading.Thread(
            target=guard(self._run, ends_process=False), args=[version], name="live check", daemon=True
        ).start()

    def _run(self, version: int | None) -> None:
        try:
            self._look(version)
        finally:
            with self._lock:
                self._running.remove(version)
                self.changes += 1

    def _look(self, version: int | None) -> None:
        command = [*self._command, *([] if version is None else ["--version", str(version)])]
        with self._one_at_a_time:
            at = self._clock.now()
            with subprocess.Popen(
                command, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as process:
                nice = max(_NICE, os.getpriority(os.PRIO_PROCESS, process.pid))  # only root may lower it
                os.setpriority(os.PRIO_PROCESS, process.pid, nice)
                try:
                    out, trouble = process.communicate(timeout=PATIENCE)
                except subprocess.TimeoutExpired:
                    process.kill()
                    out = ""
                    trouble = f"It took longer than {PATIENCE:.0f} s: use `bot check --live` in the bot's folder."
        try:
            self.reports[version] = LiveReport(at, json.loads(out))
        except ValueError:
            ended = trouble.strip() or "`bot check --live` has ended without a word."
            self.reports[version] = LiveReport(at, trouble=ended)
