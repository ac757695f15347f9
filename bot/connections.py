"""Connections for `bot.http`: urllib3's, which tell whether they ever stood, and read until a deadline."""

import http.client
import io
import math
import socket
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection


class NoConnection(Exception):
    """Connecting failed. It passes through urllib3 untouched, which a mere OSError would not."""


class _Timed:
    """What both kinds of connection do beyond urllib3's: they tell where it failed, and read until a deadline.

    A socket's time-out is per read, so a peer that drips bytes could hold a request for ever. Head and body of
    a request leave together: with many threads, each call into the system costs more than its work.
    """

    response_class: Any
    limits: "Limits"  # of the answer that is being read
    _parts: list[bytes] | None = None

    def request(self, *args: Any, **options: Any) -> None:
        self._parts = []
        super().request(*args, **options)  # type: ignore[misc]
        parts, self._parts = self._parts, None
        super().send(b"".join(parts))  # type: ignore[misc]

    def send(self, data: Any) -> None:
        assert self._parts is not None
        self._parts.append(data)

    def connect(self) -> None:
        try:
            super().connect()  # type: ignore[misc]
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as error:
            raise NoConnection from error

    def getresponse(self) -> Any:
        self.limits = Limits(monotonic() + self.timeout)  # type: ignore[attr-defined]
        self.response_class = partial(_TimedResponse, self.limits)
        return super().getresponse()  # type: ignore[misc]


class Plain(_Timed, HTTPConnection):
    """A connection without TLS."""


class Secure(_Timed, HTTPSConnection):
    """A connection with TLS."""


@dataclass(slots=True)
class Limits:
    """When an answer must be whole, and how many seconds each read may take."""

    deadline: float
    idle: float = math.inf

    def left(self) -> float:
        """Seconds that the next read may take."""
        left = self.deadline - monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return min(left, self.idle)


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, limits: Limits, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self._reader = _TimedReader(self.fp.detach(), sock, limits)
        self.fp = io.BufferedReader(self._reader)

    def begin(self) -> None:
        super().begin()
        if self._reader.ended:  # http.client takes headers that were cut for all there are
            raise http.client.IncompleteRead(b"")


class _TimedReader(io.RawIOBase):
    """Reads from a socket within the limits."""

    def __init__(self, raw: io.RawIOBase, sock: socket.socket, limits: Limits) -> None:
        self.ended = False
        self._fresh = True  # the socket's time-out has just been set
        self._raw = raw
        self._sock = sock
        self._limits = limits

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._limits.left()
        if not self._fresh:
            self._sock.settimeout(left)
        self._fresh = False
        count = self._raw.readinto(buffer)
        self.ended = count == 0
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()
