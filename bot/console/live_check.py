"""What the files on the disk would do to the conversations under way: `bot check --live`, in a process of its own.

That process imports the bot's Python and reads every session; this one neither waits for it nor shares its memory with it.
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

from bot.clock import Clock
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
    """What was found, and when it was looked for. ``found`` is what `bot check --live --json` prints, or else ``trouble`` says why there is
    nothing: the problems in the files, a line each.
    """

    at: datetime
    found: Mapping[str, Any] | None = None
    trouble: str = ""


class LiveCheck:
    """Looks when it is asked to, once at a time. ``newest`` is the last report, None before the first."""

    def __init__(self, folder: Path, store: StoreAddress, clock: Clock) -> None:
        self._folder = (
            folder  # where it looks from: paths are shown from there, and -P keeps its files from hiding this program's
        )
        python = [sys.executable, "-P", "-c", _CHECK]
        self._command = [*python, "check", ".", "--live", "--json"]
        if isinstance(store, Path):  # the address of a database is in the environment: it has a password
            self._command += ["--store", str(store.resolve())]
        self._clock = clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self.newest: LiveReport | None = None

    @property
    def looks(self) -> bool:
        """Whether it looks just now."""
        return self._thread is not None and self._thread.is_alive()

    def begin(self) -> None:
        """Begin to look, unless it does already."""
        with self._lock:
            if not self.looks:
                self._thread = threading.Thread(target=self._look, name="live check", daemon=True)
                self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, so long at most."""
        if self._thread is not None:
            self._thread.join(seconds)

    def _look(self) -> None:
        at = self._clock.now()
        with subprocess.Popen(
            self._command, cwd=self._folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            os.setpriority(os.PRIO_PROCESS, process.pid, _NICE)
            try:
                out, trouble = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                out, trouble = "", f"It took longer than {PATIENCE:.0f} s: use `bot check --live` in the bot's folder."
        try:
            self.newest = LiveReport(at, json.loads(out))
        except ValueError:
            self.newest = LiveReport(at, trouble=trouble.strip() or "`bot check --live` has ended without a word.")
