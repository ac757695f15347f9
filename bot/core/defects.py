"""Defects: exceptions that nobody foresaw, in a thread or a callback of ours.

A process that has lost one of its threads goes on half alive: it answers, and keeps or sends nothing. So all that a
thread does goes through `guard`: what it raises is logged, is noted for the alarms of all processes, and ends the
process. The supervisor starts it again, with all that is durable. In a process that is not the supervisor's (`bot
chat`, a test), nothing is ended, and Python prints the exception.

The words of an exception may be a contact's, so the log has its kind and its place alone.
"""

import functools
import json
import logging
import os
import threading
import traceback
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ParamSpec

from bot.core.errors import BotError
from bot.core.immutable import immutable

ENDED_BY_DEFECT = 72
"""The exit code of a process that a defect has ended."""
SHOWN_FOR = timedelta(hours=1)
_NOTE_BYTES = 4096
_PACKAGE = Path(__file__).parents[2]
Given = ParamSpec("Given")
log = logging.getLogger("bot.core.defects")


@immutable
class Defect:
    """The last defect: its process, thread, kind, place and time, and how many there were less than an hour apart."""

    process: str
    thread: str
    place: str
    at: datetime
    times: int


class _Handler:
    """The reaction of this process to a defect: Python prints it, until the process is to `serve`."""

    def __init__(self) -> None:
        self._process = "bot"
        self._note: int | None = None
        self.end: Callable[[], object] | None = None

    def serve(self, process: str, note: int) -> None:
        """From now on, note a defect in this file, which processes share, and end this process."""
        self._process, self._note, self.end = process, note, functools.partial(os._exit, ENDED_BY_DEFECT)

    def note(self, thread: str, place: str) -> None:
        """Note a defect."""
        if self._note is None:
            return
        now, last = datetime.now(UTC), self.last()
        found = [self._process, thread, place[:600], now.isoformat(), 1 if last is None else last.times + 1]
        try:
            os.pwrite(self._note, json.dumps(found).encode()[:_NOTE_BYTES].ljust(_NOTE_BYTES), 0)
        except OSError as error:  # the disk is full
            log.error("the defect is not shown as an alarm: %s", error.strerror)

    def last(self) -> Defect | None:
        """The last defect of any of the processes, for an hour."""
        noted = b"" if self._note is None else os.pread(self._note, _NOTE_BYTES, 0)
        if not noted:
            return None
        try:
            process, thread, place, at, times = json.loads(noted)
        except ValueError:  # it is being written
            return None
        defect = Defect(process, thread, place, datetime.fromisoformat(at), times)
        return defect if abs(datetime.now(UTC) - defect.at) < SHOWN_FOR else None


HANDLER = _Handler()
"""The process's."""


def guard(run: Callable[Given, object], *, ends_process: bool = True) -> Callable[Given, None]:
    """The same function, for a thread of its own: a defect in it ends the process.

    Without ``ends_process`` it ends only the thread. This is for a thread that serves one request, whose end concerns
    no other.
    """

    @functools.wraps(run)
    def guarded(*given: Given.args, **named: Given.kwargs) -> None:
        try:
            run(*given, **named)
        except BaseException as defect:
            found(defect, threading.current_thread().name, ends_process=ends_process)

    return guarded


class NoThread(BotError):
    """This machine can start no more threads now. It may be able to later."""


def start_thread(thread: threading.Thread) -> None:
    """Start a thread. Raises `NoThread`, which is no defect; then it can be tried again with another one."""
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThread("this machine can start no more threads now (its memory, or a limit of threads)") from error


def found(defect: BaseException, thread: str, *, ends_process: bool = True) -> None:
    """Log and note a defect that was caught in a thread, and end the process unless ``ends_process`` is False.

    `NoThread` is logged as the machine's fault.
    """
    place = error_location(defect)
    if isinstance(defect, NoThread):
        log.critical('"%s" cannot go on: %s', thread, defect)
    else:
        log.critical('a defect in "%s", %s: please report this line', thread, place)
        HANDLER.note(thread, place)
    if HANDLER.end is None:
        told = type(defect), defect, defect.__traceback__, threading.current_thread()
        threading.excepthook(threading.ExceptHookArgs(told))
    elif ends_process:
        HANDLER.end()


def error_location(error: BaseException) -> str:
    """The kind of an error and its place in the program, without a contact's words or a secret."""
    frames = traceback.extract_tb(error.__traceback__)[-4:]
    places = [f"{_short(frame.filename)}:{frame.lineno} {frame.name}" for frame in reversed(frames)]
    return f"{type(error).__name__} at {' < '.join(places)}"


def _short(filename: str) -> str:
    path = Path(filename)
    return str(path.relative_to(_PACKAGE)) if path.is_relative_to(_PACKAGE) else path.name
