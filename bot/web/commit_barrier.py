"""Answers that wait for a commit, without a thread that waits."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from flask import Response, request

from bot.store.inbox import InboxWriter, Write
from bot.web.web_server import LATER, Environ


class CommitBarrier:
    """Hands events over to the inbox, and holds their answers back until they are committed.

    Events that come during a commit are collected for the next one. So there is one hand-over from the event loop to the
    inbox's thread for each commit, and one back, and none for each event. An answer waits no longer than the inbox's
    ``patience``.
    """

    def __init__(self, inbox: InboxWriter) -> None:
        self._inbox = inbox
        self._gathering = _Batch()
        self._committing: _Batch | None = None

    def answer_after(self, write: Write, answer: Callable[[], Response]) -> Response:
        """Return what a view has to return so that ``answer()`` is sent when a write is committed, failed or is late.

        Behind any other server than `WebServer`, such as Flask's test client, it waits for the commit and returns
        ``answer()``.
        """
        later = request.environ.get(LATER)
        if later is None:
            self._inbox.commit(write)
            return answer()
        send = later()
        self._add(write, lambda: send(lambda environ, start: answer()(environ, start)))
        return _PLACEHOLDER

    def _add(self, write: Write, send: Callable[[], None]) -> None:
        loop, batch = asyncio.get_running_loop(), self._gathering
        if not batch.writes:
            batch.timer = loop.call_later(self._inbox.patience, self._end, loop, batch)
        batch.writes.append(write)
        batch.sends.append(send)
        if self._committing is None:
            self._hand_over(loop)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        self._committing = batch = self._gathering
        self._gathering = _Batch()

        def ended() -> None:
            with suppress(RuntimeError):  # the loop has ended before its last commit
                loop.call_soon_threadsafe(self._end, loop, batch)

        self._inbox.hand_over(batch.writes, ended)

    def _end(self, loop: asyncio.AbstractEventLoop, batch: "_Batch") -> None:
        """Send the answers of a batch: its commit has ended, or takes too long."""
        if batch.timer is not None:
            batch.timer.cancel()
        if batch is self._gathering:
            self._gathering = _Batch()
        if batch is self._committing:
            self._committing = None
            if self._gathering.writes:
                self._hand_over(loop)
        sends, batch.sends = batch.sends, []
        for send in sends:
            send()


class _Batch:
    """The events of one commit."""

    __slots__ = ("sends", "timer", "writes")

    def __init__(self) -> None:
        self.writes: list[Write] = []
        self.sends: list[Callable[[], None]] = []
        self.timer: asyncio.TimerHandle | None = None


class _Placeholder(Response):
    """What a view returns whose answer is sent later. The server does not send it."""

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("202 ACCEPTED", [])
        return ()


_PLACEHOLDER = _Placeholder()
