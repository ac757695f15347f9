"""How long a test waits for an expected event."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

PATIENCE = float(os.environ.get("PATIENCE", 120))
"""Seconds, after which it has failed: on a busy machine a second's work takes many."""


def wait_for(holds: Callable[[], bool], pause: float = 0.02) -> None:
    """Wait until something is true. It is checked every ``pause`` seconds."""
    until = monotonic() + PATIENCE
    while not holds():
        assert monotonic() < until
        sleep(pause)


def gone(pid: int) -> None:
    """Wait until a process is dead, and see that it died at once: its parent may not have looked yet."""
    with suppress(FileNotFoundError, ProcessLookupError):  # it is gone, also while its file is read
        wait_for(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z", 0.001)
