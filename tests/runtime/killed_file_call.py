"""A program for `test_fetching`: keeps a file in forked processes that are killed between any two steps.

Each child kills itself with SIGKILL right before its n-th step on the disk, until one comes to its end. Behind each, the
names of the files that are there are printed, and then what a second process, which is not killed, comes to.
"""

import json
import os
import signal
import sys
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from bot.core.effects import Fetch
from bot.core.values import Media
from bot.runtime.file_calls import Downloads, FileCalls
from bot.store.files import files_folder
from bot.store.kept_files import kept_files
from bot.store.rows import CallRow

STEPS = ("open", "os.mkdir", "os.rename", "os.remove")


def fetch(url: str, store: Path) -> str:
    media = Media("image", f"{url}/media/1")
    row = CallRow(1, "e1#0", "key", "6281234567890", Fetch(media, 1000), 0, datetime(2030, 5, 1, tzinfo=UTC))
    return FileCalls(Downloads(url), kept_files(store))(row, lambda text: True).outcome


def dies_before(step: int, url: str, store: Path) -> bool:
    """Whether a process that is to be killed before this step was."""
    child = os.fork()
    if child:
        return os.WIFSIGNALED(os.waitpid(child, 0)[1])
    steps = count(1)

    def kill(event: str, arguments: Any) -> None:
        if event in STEPS and str(store.parent) in str(arguments[0]) and next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(kill)
    fetch(url, store)
    os._exit(0)


def main() -> None:
    url, folder = sys.argv[1], Path(sys.argv[2])
    for step in count(1):
        store = folder / str(step) / "bot.db"
        store.parent.mkdir()
        killed = dies_before(step, url, store)
        left = {path.name: path.stat().st_size for path in files_folder(store).rglob("key.*")}
        outcome = fetch(url, store)
        then = {path.name: path.stat().st_size for path in files_folder(store).rglob("key.*")}
        print(json.dumps({"killed": killed, "left": left, "outcome": outcome, "then": then}))
        if not killed:
            return


if __name__ == "__main__":
    main()
