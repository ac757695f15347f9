"""How long a test waits for what must come."""

import os
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

PATIENCE = float(os.environ.get("PATIENCE", 120))
"""Seconds, after which it has failed: on a busy machine a second's work takes many."""


def gone(pid: int) -> None:
    """Wait until a process is dead, and see that it died at once: its parent may not have looked yet."""
    until = monotonic() + PATIENCE
    with suppress(FileNotFoundError, ProcessLookupError):  # it is gone, also while its file is read
        while Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
            assert monotonic() < until
            sleep(0.001)
