"""The machine's clock is set back or forward under a running bot: what waits waits as long as it would have."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest

from bot.core.clock import MovableClock
from bot.core.effects import Call
from bot.language.python.decorators import handler
from bot.runtime.model_calls import ModelBreaker
from bot.services.http_client import Response
from tests.runtime.delivering import NOON, Bench
from tests.runtime.test_http_calls import JSON, kept
from tests.runtime.test_http_calls import Bench as Requests
from tests.runtime.test_performers import Bench as Callers
from tests.services.gateway.peer import Peer, accepted, peer, refused, reset

FAILURES = 3
PAUSE = timedelta(seconds=30)
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)

pytestmark = pytest.mark.parametrize("by", [-DAY, -MINUTE, DAY], ids=["a day back", "a minute back", "a day forward"])


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def bench(server: Peer) -> Iterator[Bench]:
    made = Bench(server.url, limits=(2, 100), reserve=0)
    yield made
    made.delivery.stop(5)


def test_the_limit_of_a_minute_goes_on_as_it_was(bench: Bench, by: timedelta) -> None:
    bench.offer(*[bench.row(f"49{n}") for n in range(5)])
    bench.after(2)
    bench.clock.step(by)
    bench.settle()
    bench.nothing_more(2)
    assert 60 <= bench.move_to_next() < 60.2
    bench.after(4)


def test_requests_from_after_it_leave_the_limit_as_soon(bench: Bench, by: timedelta) -> None:
    bench.clock.step(by)
    bench.offer(*[bench.row(f"49{n}") for n in range(2)])
    bench.after(2)
    bench.clock.step(-by)
    bench.offer(bench.row("1"))
    assert 60 <= bench.move_to_next() < 60.2
    bench.after(3)


def test_a_message_is_tried_again_when_it_would_have_been(server: Peer, bench: Bench, by: timedelta) -> None:
    server.answers(reset, accepted())
    bench.offer(bench.row())
    bench.after(1)
    bench.clock.step(by)
    bench.settle()
    bench.nothing_more(1)
    assert 1 <= bench.move_to_next() <= 1.25
    assert bench.after(2).state == "sent"


def test_a_message_is_tried_for_as_long_as_it_would_have_been(server: Peer, by: timedelta) -> None:
    bench, began = Bench(server.url), 0.0
    server.by_default = reset
    bench.offer(bench.row())
    for results in range(1, 100):
        if bench.after(results).state != "retry":
            break
        began += bench.move_to_next()
        if results == 3:
            bench.clock.step(by)
    assert 13 * 60 < began <= 15 * 60
    bench.delivery.stop(5)


def test_a_pause_for_everybody_ends_when_it_would_have(server: Peer, bench: Bench, by: timedelta) -> None:
    server.answers(refused("RATE_LIMIT_EXCEEDED", 429, "slow down", {"Retry-After": "30"}))
    bench.offer(bench.row())
    bench.after(1)
    bench.clock.step(by)
    assert bench.move_to_next() == 30
    assert bench.after(2).state == "sent"


def test_what_is_held_is_probed_when_it_would_have_been(server: Peer, bench: Bench, by: timedelta) -> None:
    server.answers(refused("AUTH_API_KEY_INVALID", 401, "no such key"), accepted())
    bench.offer(bench.row())
    assert bench.after(1).state == "held"
    bench.clock.step(by)
    bench.settle()
    bench.nothing_more(1)
    assert bench.move_to_next() == 60
    assert bench.after(2).state == "sent"


def test_a_command_that_waits_for_the_limit_gets_its_turn(bench: Bench, by: timedelta) -> None:
    bench.offer(bench.row("1"), bench.row("2"))
    bench.after(2)
    had = threading.Event()

    def ask() -> None:
        with bench.delivery.permit(20):
            had.set()

    asking = threading.Thread(target=ask)
    asking.start()
    while not bench.delivery._permits.waiting:
        asking.join(0.001)
    bench.clock.step(by)
    bench.move(61)
    assert had.wait(20)
    asking.join()


def test_a_call_is_made_again_when_it_would_have_been(by: timedelta) -> None:
    tries = iter([ValueError(), None])

    @handler("h")
    def h() -> None:
        if error := next(tries):
            raise error

    bench = Callers(h)
    bench.offer(tries=2)
    assert bench.after(1).outcome == "retry"
    bench.clock.step(by)
    assert bench.performers.idle()
    bench.move(2)
    assert bench.after(2).outcome == "done"


def test_a_call_that_hangs_times_out_when_it_would_have(by: timedelta) -> None:
    began, released = threading.Event(), threading.Event()

    @handler("h")
    def h() -> None:
        began.set()
        released.wait(20)

    bench = Callers(h)
    bench.offer(within=5)
    assert began.wait(20)
    bench.clock.step(by)
    bench.move(4.9)
    assert bench.results == []
    bench.move(0.1)
    assert bench.after(1).outcome == "timeout"
    released.set()
    bench.performers.stop(20)


def test_an_answer_is_remembered_for_as_long(by: timedelta) -> None:
    bench = Requests(Response(200, JSON, b"1"), Response(200, JSON, b"2"))
    bench.does(kept(60))
    bench.clock.step(by)
    bench.clock.move(timedelta(seconds=59))
    assert bench.does(kept(60), "k2").value["answer"] == 1
    bench.clock.move(timedelta(seconds=1))
    assert bench.does(kept(60), "k3").value["answer"] == 2


def test_a_model_that_failed_is_tried_again_when_it_would_have_been(by: timedelta) -> None:
    clock = MovableClock(NOON)
    breaker = ModelBreaker(clock)
    for number in range(FAILURES):
        breaker.failed("a", f"contact {number}")
    clock.step(by)
    assert not breaker.allows("a")
    clock.move(PAUSE)
    assert breaker.allows("a")


# -- and while the bot is down


def test_a_message_that_was_to_be_tried_again_waits_no_longer_than_any_could(bench: Bench, by: timedelta) -> None:
    bench.clock.step(by)
    bench.offer(bench.row(attempts=1, due_at=NOON + timedelta(seconds=30)))
    bench.settle()
    if not bench.results:
        assert bench.move_to_next() <= 75
    bench.after(1)


def test_a_message_that_was_never_tried_waits_for_nothing(bench: Bench, by: timedelta) -> None:
    row = bench.row()
    bench.clock.step(by)
    bench.offer(row)
    assert bench.after(1).state == "sent"


def test_a_call_that_was_to_be_made_again_waits_no_longer_than_any_could(by: timedelta) -> None:
    @handler("h")
    def h() -> None:
        pass

    bench = Callers(h)
    bench.clock.step(by)
    bench.offer_row(Call("h", {}), attempts=1, due_at=NOON + timedelta(seconds=30))
    bench.move(75)
    assert bench.after(1).outcome == "done"
