"""The webhook behind the real server: answers wait for the commit, and nothing else waits for them."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep

import pytest
from flask import Flask, Response, request

from bot.core.alarms import Alarms
from bot.core.clock import SystemClock
from bot.server.web.web_endpoints import CommitBarrier
from bot.server.web.web_server import WebServer
from bot.store.inbox import InboxBusy, InboxReader, InboxWriter
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE
from tests.postgres import store_at
from tests.server.web.test_server import answer, post, read_answer
from tests.store.store_kit import log_locked


class Kept:
    """An app that keeps each body under its own text as an id, in the loop of a real server; ``/free`` waits for nothing."""

    def __init__(self, store: Path, patience: float) -> None:
        migrate(store)
        self.clock = SystemClock()
        self.commits: list[int] = []
        self.wakes = 0
        self.alarms = Alarms(self.clock)
        self.inbox = InboxWriter(store, self.clock, self.alarms, patience=patience, wake=lambda shards: self.wake())
        self.barrier = CommitBarrier(self.inbox)
        self.app = Flask("test")
        self.app.add_url_rule("/", "keep", self.keep, methods=["POST"])
        self.app.add_url_rule("/free", "free", lambda: "free")
        listener = socket.create_server(("127.0.0.1", 0))
        self.address = listener.getsockname()
        self.server = WebServer(self.app, listener, Alarms(SystemClock()), in_loop={"/", "/free"})
        self.thread = threading.Thread(target=self.server.run)
        self.thread.start()

    def wake(self) -> None:
        self.wakes += 1

    def keep(self) -> Response:
        event = request.get_data(as_text=True)
        write = self.inbox.event(None, event, "message.inbound", None, self.clock.now(), b"{}", True)

        def kept() -> Response:
            try:
                appended = self.inbox.appended(write)
            except InboxBusy as busy:
                return Response(str(busy), 503)
            return Response("duplicate" if appended.duplicate else "kept")

        return self.barrier.answer_after(write, kept)

    def connect(self) -> socket.socket:
        return socket.create_connection(self.address, 10)

    def close(self) -> None:
        self.server.stop()
        self.thread.join(PATIENCE)
        self.inbox.close()


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Kept]:
    with closing(Kept(tmp_path / "bot.db", PATIENCE)) as kept:
        yield kept


def test_what_is_answered_is_durable_and_a_repetition_is_told_apart(kept: Kept, tmp_path: Path) -> None:
    log = InboxReader(tmp_path / "bot.db")
    with kept.connect() as client, client.makefile("rb") as lines:
        for event, expected in (("a", b"kept"), ("b", b"kept"), ("a", b"duplicate")):
            client.sendall(post(event.encode()))
            assert read_answer(lines)[2] == expected
            assert log.has(event)
    log.close()


def test_events_that_come_during_a_commit_share_the_next_and_hold_up_nobody(kept: Kept, tmp_path: Path) -> None:
    clients = [kept.connect() for _ in range(20)]
    with log_locked(store_at(tmp_path / "bot.db")):
        clients[0].sendall(post(b"first"))
        until(lambda: kept.inbox._committing_since is not None)
        for number, client in enumerate(clients[1:]):
            client.sendall(post(f"event {number}".encode()))
        until(lambda: len(kept.barrier._gathering.writes) == 19)
        with kept.connect() as other:
            other.sendall(b"GET /free HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer(other)[2] == b"free"
    for client in clients:
        assert answer(client)[::2] == (200, b"kept")
        client.close()
    assert kept.wakes == 2, "once for each commit"


def test_an_inbox_that_hangs_is_a_503_for_each_event_in_time_and_then_all_is_well(tmp_path: Path) -> None:
    with closing(Kept(tmp_path / "bot.db", 0.3)) as kept:
        first, second, third = (kept.connect() for _ in range(3))
        with log_locked(store_at(tmp_path / "bot.db")):
            first.sendall(post(b"first"))
            until(lambda: kept.inbox._committing_since is not None)
            second.sendall(post(b"second"))
            assert answer(first)[0] == 503
            assert answer(second)[0] == 503
            began = monotonic()
            third.sendall(post(b"third"))
            status, _, body = answer(third)
            assert status == 503 and monotonic() - began < PATIENCE / 2
            assert b"has not finished a commit for" in body
        until(lambda: kept.inbox._committing_since is None)
        kept.inbox.patience = PATIENCE
        third.sendall(post(b"third"))
        assert answer(third)[::2] == (200, b"kept")
        for client in (first, second, third):
            client.close()


def test_a_stop_sends_the_answers_that_wait_for_a_commit(kept: Kept, tmp_path: Path) -> None:
    with kept.connect() as client:
        with log_locked(store_at(tmp_path / "bot.db")):
            client.sendall(post(b"event"))
            until(lambda: kept.inbox._committing_since is not None)
            kept.server.stop()
        status, headers, body = answer(client)
        assert (status, headers["Connection"], body) == (200, "close", b"kept")


def test_a_sender_that_has_gone_costs_nobody_else_an_answer(kept: Kept, tmp_path: Path) -> None:
    with kept.connect() as stays:
        with log_locked(store_at(tmp_path / "bot.db")):
            goes = kept.connect()
            goes.sendall(post(b"goes"))
            until(lambda: kept.inbox._committing_since is not None)
            goes.close()
            stays.sendall(post(b"stays"))
            until(lambda: len(kept.barrier._gathering.writes) == 1)
        assert answer(stays)[::2] == (200, b"kept")


def test_with_any_other_server_the_view_waits(kept: Kept) -> None:
    client = kept.app.test_client()
    assert [client.post("/", data="event").text for _ in range(2)] == ["kept", "duplicate"]


def until(condition: object) -> None:
    deadline = monotonic() + PATIENCE
    assert callable(condition)
    while not condition():
        assert monotonic() < deadline
        sleep(0.001)
