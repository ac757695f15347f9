"""A contact is erased while the engine works for it: nothing more goes out, and nothing that comes back is kept."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.core.effects import Call, Fetch
from bot.core.engine_requests import EraseContact
from bot.core.values import Media
from bot.language.python.decorators import handler
from bot.store.contact_data import export_contact
from bot.store.rows import CallRow
from tests.runtime.delivering import Bench
from tests.runtime.engine_kit import World, begin, open_world
from tests.runtime.test_performers import Bench as Performing
from tests.services.gateway.peer import Peer, peer, refused
from tests.store.store_kit import contact_files

ANN, BOB = "6281234567890", "6289876543210"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = open_world(tmp_path / "bot.db")
    yield world
    world.close()


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


def erase(world: World, contact: str) -> None:
    world.turns.operate(EraseContact(contact))


def test_what_comes_back_for_an_erased_contact_leaves_no_trace(world: World) -> None:
    world.say(ANN, "hi")
    world.say(ANN, "call")
    first, second = world.delivery.rows
    (call,) = world.performers.rows
    erase(world, ANN)
    assert world.delivery.rows == [] and world.performers.rows == []
    world.report(first)
    world.report(second, "failed", "refused")
    world.call_ends(call)
    assert export_contact(world.path, ANN).keys() <= {"log"}
    assert world.reader.counts() == {
        "sessions": 0,
        "parked": 0,
        "outbox": 0,
        "calls": 0,
        "events_out": 0,
        "dead_letters": 0,
    }


def test_what_became_of_a_message_that_is_not_the_bots_goes_too(world: World) -> None:
    failed: dict[str, Any] = {
        "message_id": "m1",
        "to": ANN,
        "error": {"code": "131026", "message": f"{ANN} is not reachable"},
    }
    world.tell("message.failed", **failed)
    assert export_contact(world.path, ANN)["statuses"][0]["detail"] != ""
    erase(world, ANN)
    assert export_contact(world.path, ANN).keys() <= {"log"}


def test_a_parked_message_goes_with_its_contact_and_the_others_go_on(world: World) -> None:
    world.say(ANN, "call")
    world.say(ANN, "parked")
    world.say(BOB, "hi")
    erase(world, ANN)
    world.say(BOB, "hi again")
    assert world.reader.counts()["parked"] == 0
    assert len(world.taken(BOB)) == 2 and world.reader.sessions.get(ANN) is None


@pytest.mark.parametrize("effect", [Fetch(Media("image", "https://gateway.example/1"), 1000), Call("make", {})])
def test_a_file_that_was_being_fetched_or_made_goes_too(world: World, effect: Fetch | Call) -> None:
    world.say(ANN, "hi")
    erase(world, ANN)
    world.inbox.erase([1])
    world.clock.move(timedelta(seconds=2))
    world.say(BOB, "hi")
    assert world.reader.erasures() == []
    folder = contact_files(world.path, ANN)
    folder.mkdir(parents=True)
    (folder / "photo.jpg").write_bytes(b"a photo")
    row = CallRow(9, "evt#0", "key", ANN, effect, 0, world.clock.now())
    world.call_ends(row, "done", Media("image", "", file=str(folder / "photo.jpg")))
    world.clock.move(timedelta(seconds=2))
    world.say(BOB, "hi")
    assert not folder.exists() and world.reader.erasures() == []


def test_an_erased_contact_that_writes_again_is_somebody_new(world: World) -> None:
    world.say(ANN, "hi")
    erase(world, ANN)
    event = world.say(ANN, "hello")
    assert world.taken(ANN) == [event]
    assert [row.effect.message.body for row in world.delivery.rows] == ["1: hello", "2: hello"]


def test_an_erasure_is_open_until_the_log_has_forgotten_also_over_a_restart(world: World) -> None:
    world.say(ANN, "hi")
    erase(world, ANN)
    world.clock.move(timedelta(seconds=2))
    world.say(BOB, "hi")
    assert world.reader.erasures() == [(ANN, 1)]
    world.stop()
    again = begin(world.path, world.clock, world.inbox)
    world.inbox.erase([1])
    again.clock.move(timedelta(seconds=2))
    again.say(BOB, "hi")
    assert again.reader.erasures() == []
    assert export_contact(world.path, ANN) == {}
    again.stop()


def test_that_somebody_was_erased_is_in_the_trace_and_not_who(world: World) -> None:
    world.say(ANN, "hi")
    erase(world, ANN)
    rows = world.reader.database.all("SELECT contact, event, rule, notes FROM turns")
    assert rows == [(None, '{"do":"erase","attempts":0,"by":"operator"}', "operator", '["a contact was erased"]')]


def test_what_waits_to_be_sent_is_withdrawn_and_the_others_go(server: Peer) -> None:
    bench = Bench(server.url, limits=(1, 10_000), reserve=0)
    bench.offer(bench.row("1"), bench.row("2"), bench.row("2"), bench.row("3"))
    bench.reported(1)
    bench.delivery.withdraw("2")
    for _ in range(2):
        bench.settle()
        if bench.delivery.next_due() is not None:
            bench.move_to_next()
    bench.settle()
    assert [request.body["to"] for request in server.requests] == ["1", "3"]
    assert bench.delivery.status().waiting == 0 and bench.delivery.next_due() is None
    bench.delivery.stop(5)


def test_a_withdrawn_message_that_would_be_tried_again_is_not(server: Peer) -> None:
    server.answers(refused("RATE_LIMIT_EXCEEDED", 429))
    bench = Bench(server.url)
    bench.offer(bench.row("2"))
    bench.reported(1)
    bench.settle()
    bench.delivery.withdraw("2")
    assert bench.delivery.next_due() is None and bench.delivery.status().waiting == 0
    bench.delivery.stop(5)


def test_a_call_that_waits_is_withdrawn_and_one_that_runs_is_not_repeated() -> None:
    begun, go_on = threading.Event(), threading.Event()

    @handler("h")
    def h() -> None:
        begun.set()
        assert go_on.wait(20)
        raise ValueError("again, please")

    bench = Performing(h, threads=1, spare=0)
    bench.offer(tries=3)  # of contact 491
    assert begun.wait(20)
    bench.offer(tries=3)  # of contact 492, behind it
    for contact in ("491", "492"):
        bench.performers.withdraw(contact)
    go_on.set()
    bench.performers.stop(20)
    assert [result.row.contact for result in bench.results] == ["491"], "which is late, and dropped"
    assert bench.performers.next_due() is None
