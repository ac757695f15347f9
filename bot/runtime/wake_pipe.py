"""A condition that another process notifies, too."""

import math
import os
import select
import threading


class WakePipe(threading.Condition):
    """A condition for which one thread waits: until it is notified, or another process writes to the pipe ``file``.

    So that thread is woken by the system itself, and no second one has to pass the news on.
    """

    def __init__(self, file: int) -> None:
        super().__init__(threading.Lock())
        self._file = file
        self._notified, self._notify = os.pipe()
        self._waits = False
        self._written, self._both = select.poll(), select.poll()
        self._written.register(file, select.POLLIN)
        for each in (file, self._notified):
            self._both.register(each, select.POLLIN)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait; False when nobody has notified or written within so many seconds."""
        self._waits = True
        self.release()
        try:
            ready = self._both.poll(None if timeout is None else math.ceil(timeout * 1000))
        finally:
            self.acquire()
            self._waits = False
        for file, _ in ready:
            os.read(file, 65536)
        return bool(ready)

    def notify(self, n: int = 1) -> None:
        """Wake the thread that waits, if one does."""
        if self._waits:
            os.write(self._notify, b"x")
            self._waits = False

    def notify_all(self) -> None:
        """Wake the thread that waits, if one does."""
        self.notify()

    def was_written(self) -> bool:
        """True if another process has written since it was asked last or was waited for."""
        ready = self._written.poll(0)
        for file, _ in ready:
            os.read(file, 65536)
        return bool(ready)
