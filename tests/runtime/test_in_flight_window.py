"""What a queue's doer is given, and what is left in the file so that one contact or channel does not fill the memory."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import pytest

from bot.core.effects import Call
from bot.runtime import engine_input, scheduler
from bot.runtime.engine_input import CallWindow, InFlightWindow
from bot.store.rows import CAMPAIGN, CallRow, OutboxRow
from tests.runtime.delivering import Bench
from tests.services.gateway.peer import Peer, accepted, peer, refused

NOON = datetime(2030, 5, 6, 12, 0, tzinfo=UTC)


class Queue:
    """A delivery's rows in a file that is a list."""

    def __init__(self, server: Peer) -> None:
        self.bench = Bench(server.url, most=1, channels={"15551": "one", "15552": "two"})
        self.file: list[OutboxRow] = []
        sends = self.bench.delivery
        self.claims = InFlightWindow(self._pending, sends, sends.room, sends.accepts, sends.accepts_again)
        self._seen = 0

    def _pending(self, after: int, limit: int) -> list[OutboxRow]:
        return [row for row in self.file if row.id > after][:limit]

    def write(self, *rows: OutboxRow) -> None:
        self.file.extend(rows)
        self.claims.add(rows)

    def settle(self) -> None:
        """What a pass does, until nothing changes: drop what has ended, and read on."""
        while True:
            self.claims.refill()
            self.bench.settle()
            new, self._seen = self.bench.results[self._seen :], len(self.bench.results)
            if not new:
                return
            ended = {result.row.id for result in new if result.state == "sent"}
            self.file = [row for row in self.file if row.id not in ended]
            self.claims.done(ended)

    @property
    def sent(self) -> list[int]:
        return [result.row.id for result in self.bench.results if result.state == "sent"]


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def queue(server: Peer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    for name, rows in {"CAPACITY": 10, "QUEUE_ROWS": 3, "HELD_ROWS": 2}.items():
        monkeypatch.setattr(scheduler, name, rows)
    made = Queue(server)
    yield made
    made.bench.delivery.stop(5)


def test_a_held_channel_keeps_no_other_out_and_goes_on_in_order(server: Peer, queue: Queue) -> None:
    server.answers(refused("WHATSAPP_CHANNEL_NOT_FOUND", 404))
    bench = queue.bench
    queue.settle()
    queue.write(bench.row("1", channel="15551"))
    queue.settle()
    for _ in range(4):
        queue.write(*[bench.row(f"1{n}", channel="15551") for n in range(5)])
    queue.write(bench.row("2", channel="15552"), bench.row("3"))
    queue.settle()
    assert queue.sent == [22, 23]
    assert (len(queue.claims), queue.claims.idle(), queue.claims.done_upto(23)) == (6, True, False)
    bench.move_to_next()
    queue.settle()
    assert sorted(queue.sent) == list(range(1, 24))
    in_lane = [result.row.id for result in bench.results if result.row.contact == "12" and result.state == "sent"]
    assert in_lane == sorted(in_lane)
    assert queue.claims.idle() and queue.claims.done_upto(23)


def test_rows_of_one_commit_that_find_no_room_are_read_once_there_is_some(queue: Queue) -> None:
    queue.settle()
    queue.write(*[queue.bench.row(f"1{n}") for n in range(15)])
    assert len(queue.claims) == 10
    queue.settle()
    assert sorted(queue.sent) == list(range(1, 16))


def test_a_flood_of_one_contact_keeps_no_other_out_and_goes_on_in_order(server: Peer, queue: Queue) -> None:
    bench = queue.bench
    server.answers(refused("unauthorized", 401))
    queue.settle()
    queue.write(bench.row("1"))
    queue.settle()
    for row in [*[bench.row("1") for _ in range(30)], *[bench.row(f"2{n}") for n in range(4)]]:
        queue.write(row)
    assert len(queue.claims) == 3 + 4
    server.by_default = accepted()
    bench.move_to_next()
    queue.settle()
    assert sorted(queue.sent) == list(range(1, 36))
    of_flood = [id for id in queue.sent if id <= 31]
    assert of_flood == sorted(of_flood)


def test_what_is_no_reply_keeps_no_reply_out_and_goes_on_in_order(server: Peer, queue: Queue) -> None:
    bench = queue.bench
    server.answers(refused("unauthorized", 401))
    queue.write(bench.row("1"))
    queue.settle()
    for n in range(20):
        queue.write(bench.row(f"3{n % 3}{n % 2}", priority=CAMPAIGN))
    for n in range(4):
        queue.write(bench.row(f"2{n}"))
    assert len(queue.claims) == 1 + 5 + 4
    server.by_default = accepted()
    while bench.delivery.next_due() is not None:
        bench.move_to_next()
        queue.settle()
    assert sorted(queue.sent) == list(range(1, 26))
    assert set(queue.sent[:5]) == {1, 22, 23, 24, 25}
    of_one = [result.row.id for result in bench.results if result.row.contact == "300" and result.state == "sent"]
    assert of_one == sorted(of_one)


class Hands:
    """Performers that have done nothing yet."""

    def __init__(self) -> None:
        self.offered: list[int] = []

    def offer(self, rows: Sequence[CallRow]) -> None:
        self.offered += [row.id for row in rows]

    def withdraw(self, contact: str) -> None:
        pass

    def idle(self) -> bool:
        return False


def test_calls_that_wait_for_a_silent_peer_keep_no_others_in_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_input, "CALLS_OF_PEER", 4)
    file = [CallRow(id, f"e{id}#0", f"key{id}", f"49{id}", Call("silent", {}), 0, NOON) for id in range(1, 601)]
    file.append(CallRow(601, "e601#0", "key601", "49601", Call("answers", {}), 0, NOON))
    hands = Hands()
    window = CallWindow(lambda after, limit: [row for row in file if row.id > after][:limit], hands)
    window.refill()
    assert hands.offered == [1, 2, 3, 4, 601]
    assert not window.done_upto(601)
    for done, then in ((601, []), (1, []), (2, [5, 6])):
        hands.offered.clear()
        file[:] = [row for row in file if row.id != done]
        window.done([done])
        window.refill()
        assert hands.offered == then
    file.clear()
    window.done(range(1, 700))
    window.refill()
    assert window.done_upto(700) and window.idle()
