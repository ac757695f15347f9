"""The emulator's own HTTP client: one connection to the receiver, kept open, with a deadline for each try."""

import contextlib
import http.client
import socket
import threading
from collections.abc import Mapping
from time import monotonic

_STALE = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class Poster:
    """Posts events for one worker thread; another thread may `abort` it."""

    def __init__(self, within: float) -> None:
        self._within = within
        self._lock = threading.Lock()
        self._connection: http.client.HTTPConnection | None = None
        self._address: tuple[str, int] | None = None
        self._aborted = False

    def post(self, target: tuple[str, int, str] | None, body: bytes, headers: Mapping[str, str]) -> int | None:
        """The receiver's HTTP status; None when it did not answer in time, or cannot be reached."""
        if target is None:
            return None
        host, port, path = target
        reused = self._address == (host, port) and self._connection is not None
        try:
            return self._try(host, port, path, body, headers)
        except _STALE:
            self.close()
            if not reused:
                return None
        except (OSError, http.client.HTTPException):
            self.close()
            return None
        try:  # The receiver had closed the kept connection: that was no try.
            return self._try(host, port, path, body, headers)
        except (OSError, http.client.HTTPException):
            self.close()
            return None

    def abort(self) -> None:
        """From another thread: break off what is under way, and let nothing else begin."""
        with self._lock:
            self._aborted = True
            sock = self._connection.sock if self._connection is not None else None
        if sock is not None:
            with contextlib.suppress(OSError):  # it is closed already
                sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the kept connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def _try(self, host: str, port: int, path: str, body: bytes, headers: Mapping[str, str]) -> int | None:
        deadline = monotonic() + self._within
        connection = self._connected(host, port)
        connection.request("POST", path, body, dict(headers))
        response = connection.getresponse()
        response.read()
        if monotonic() > deadline:
            self.close()
            return None
        if response.will_close:
            self.close()
        return response.status

    def _connected(self, host: str, port: int) -> http.client.HTTPConnection:
        with self._lock:
            if self._aborted:
                raise ConnectionAbortedError
            if self._connection is None or self._address != (host, port):
                if self._connection is not None:
                    self._connection.close()
                self._connection = http.client.HTTPConnection(host, port, timeout=self._within)
                self._address = (host, port)
            connection = self._connection
        return connection
