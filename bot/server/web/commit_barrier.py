"""Answers that wait for a commit, without a thread that waits."""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

from flask import Response, request

from bot.server.web.web_server import DEFERRED, App, Environ
from bot.store.database import PendingStatement
from bot.store.inbox import InboxWriter


class CommitBarrier:
    """Hands events over to the inbox, and holds their answers back until they are committed.

    Events that come in one turn of the event loop, or during a commit, are collected for the next commit. So there is
    one hand-over from the loop to the inbox's thread for each commit, and one back, and none for each event. An answer
    waits no longer than the inbox's ``patience``.
    """

    def __init__(self, inbox: InboxWriter) -> None:
        self._inbox = inbox
        self._gathering = _Batch()
        self._committing: _Batch | None = None

    def answer_after(self, write: PendingStatement, answer: Callable[[], Response]) -> Response:
        """Return what a view has to return so that ``answer()`` is sent when a write is committed, failed or is late.

        Behind any other server than `WebServer`, such as Flask's test client, it waits for the commit and returns
        ``answer()``.
        """
        send = request.environ.pop(DEFERRED, None)
        if send is None:
            self._inbox.commit(write)
            return answer()
        self._add(write, send, lambda environ, start: answer()(environ, start))
        return _PLACEHOLDER

    def _add(self, write: PendingStatement, send: Callable[[App], None], answer: App) -> None:
        batch = self._gathering
        if not batch.writes:
            loop = asyncio.get_running_loop()
            batch.timer = loop.call_later(self._inbox.patience, self._end, loop, batch)
            if self._committing is None:
                loop.call_soon(self._hand_over, loop)  # with what other connections have sent meanwhile
        batch.writes.append(write)
        batch.answers.append((send, answer))

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._committing is not None or not self._gathering.writes:
            return
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
            self._hand_over(loop)
        answers, batch.answers = batch.answers, []
        for send, answer in answers:
            send(answer)


class _Batch:
    """The events of one commit."""

    __slots__ = ("answers", "timer", "writes")

    def __init__(self) -> None:
        self.writes: list[PendingStatement] = []
        self.answers: list[tuple[Callable[[App], None], App]] = []
        self.timer: asyncio.TimerHandle | None = None


class _Placeholder(Response):
    """The response of a view whose answer is sent later. The server does not send it."""

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        start_response("202 ACCEPTED", [])
        return ()


_PLACEHOLDER = _Placeholder()
