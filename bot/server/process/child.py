"""The common part of the web and the engine process: how they start, and how they end with their server."""

import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import sleep

from bot.core import telemetry
from bot.core.defects import HANDLER, found, guard
from bot.core.errors import BotError
from bot.settings import Settings
from bot.store.files import RestoreUnfinished, StoreDamaged, StoreMissing, StoreTooNew
from bot.store.integrity import StoresDiffer

ORPHAN_SECONDS = 1.0  # to end in, when the supervisor was killed
UNFIT = 71  # the exit code where the store's files cannot be used, however often the process is started again
_UNFIT = (StoresDiffer, StoreDamaged, StoreMissing, StoreTooNew, RestoreUnfinished)
_GC_THRESHOLDS = 20_000, 10, 20  # what an event makes is freed by counting references; few cycles need a collection
log = logging.getLogger("bot")

Half = Callable[[Settings, Path, Mapping[str, int]], None]
"""The work of a process until SIGTERM, with the settings, the bot's folder and the supervisor's descriptors by name."""


def main(name: str, half: Half, settings: Settings, folder: Path, files: Mapping[str, int]) -> None:
    """Run one of the two, and end this process."""
    code = 1
    try:
        gc.disable()  # until it is up: nothing that is loaded is garbage, and collecting took a fifth of the start
        os.environ.update(settings.environ())
        HANDLER.serve(name, files["defects"])
        telemetry.set_up(name, settings.secrets, settings.log_format, turns=settings.log == "turns")
        half(settings, folder, files)
        code = 0
    except BotError as error:
        print(error, file=sys.stderr, flush=True)
        code = UNFIT if isinstance(error, _UNFIT) else 1
    except BaseException as defect:
        found(defect, "main", ends_process=False)  # it ends below: where it has just begun, the server does, too
    finally:
        os._exit(code)  # a handler that hangs on its thread would hold up an ordinary exit


def end_with(lifeline: int) -> None:
    """Stop when the supervisor is gone, politely and then at once."""

    def watch() -> None:
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGTERM)
        sleep(ORPHAN_SECONDS)
        os._exit(1)

    threading.Thread(target=guard(watch), name="lifeline", daemon=True).start()


def tell_up(news: int, name: str) -> None:
    """Tell the supervisor that the process of this name is up."""
    collect_seldom()
    tell(news, f"{name}\n".encode())


def collect_seldom() -> None:
    """Collect garbage as a process of `bot serve` does, after everything has been loaded."""
    gc.freeze()  # what was loaded is not gone through again and again
    gc.set_threshold(*_GC_THRESHOLDS)
    gc.enable()


def tell(pipe: int, news: bytes) -> None:
    """Write to a pipe of the supervisor's. A full pipe means that the news is known; a broken pipe, that this process
    ends, too.
    """
    with suppress(BlockingIOError, BrokenPipeError):
        os.write(pipe, news)
