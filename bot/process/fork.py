"""Starts a process as a fork of this one: it has imported everything already."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path

_COMMAND_FOLDER = None if sys.flags.safe_path else sys.path[0]  # a bot's, maybe, with modules that are not meant for us


def fork(name: str, run: Callable[[], object], files: Collection[int]) -> int:
    """Start a process that calls ``run`` and ends; returns its id. This process may have only one thread.

    ``run`` ends the process with an exit code of its own (`os._exit`), else it is 1. The process has a session of its own:
    Ctrl-C in the terminal is for the parent. Of this process's descriptors it has the standard streams and ``files``.
    """
    gc.freeze()  # a collection would write to, and so copy, the memory that the processes share
    sys.stdout.flush()
    sys.stderr.flush()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())  # until it has let go of our wakeup pipe
    try:
        pid = os.fork()
        if pid == 0:
            try:
                os.setsid()
                _forget_parent(name, {0, 1, 2, *files})
                signal.pthread_sigmask(signal.SIG_SETMASK, mask)
                run()
            finally:
                os._exit(1)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    return pid


def _forget_parent(name: str, kept: set[int]) -> None:
    """Leave the parent's signal handlers, descriptors, name, and the folder of its command in `sys.path`; ignore SIGINT."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for descriptor in {int(each.name) for each in Path("/dev/fd").iterdir()} - kept:
        with suppress(OSError):  # the one by which these were listed
            os.close(descriptor)
    with suppress(OSError):  # where there is no /proc
        Path("/proc/self/comm").write_text(name)
    sys.path[:] = [*(path for path in sys.path if path != _COMMAND_FOLDER), str(Path(__file__).resolve().parents[2])]
