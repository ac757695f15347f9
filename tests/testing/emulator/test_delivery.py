"""The delivery of events: the retry schedule, order, doubles, and what counts as acknowledged."""

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from bot.testing.emulator.event_payloads import Event
from tests.testing.emulator.conftest import NOON, Delivered, Receiver

TO = "491510000001"
SCHEDULE = [10, 60, 300, 1800, 7200]


def bodies(receiver: Receiver) -> list[bytes]:
    return [delivered.body for delivered in receiver.seen]


def header(delivered: Delivered, name: str) -> str:
    return delivered.headers[f"X-Service-{name}"]


def test_a_2xx_is_an_acknowledgement(emulator: Emulator, receiver: Receiver) -> None:
    receiver.answers = [204]
    event_id = emulator.receive(TO, "Hi")
    assert emulator.wait_until(emulator.idle)
    assert emulator.acknowledged == [event_id]
    assert emulator.counts["acknowledged"] == emulator.counts["tries answered 204"] == 1


def test_a_failed_event_is_tried_again_on_the_schedule_and_then_given_up(
    emulator: Emulator, receiver: Receiver, clock: MovableClock
) -> None:
    receiver.always = 503
    event_id = emulator.receive(TO, "Hi")
    assert emulator.wait_until(emulator.idle)
    for tries, seconds in enumerate(SCHEDULE, start=1):
        assert len(receiver.seen) == tries
        clock.move(timedelta(seconds=seconds) - timedelta(milliseconds=1))
        assert emulator.idle(), "nothing is due before its time"
        clock.move(timedelta(milliseconds=1))
        assert emulator.wait_until(emulator.idle)
    assert len(receiver.seen) == 6
    clock.move(timedelta(days=1))
    assert emulator.idle()
    assert list(emulator.webhooks.given_up) == [event_id]
    assert emulator.acknowledged == []
    assert emulator.counts["tries answered 503"] == 6


def test_a_retry_is_the_same_delivery(emulator: Emulator, receiver: Receiver, clock: MovableClock) -> None:
    receiver.answers = [500, 302]
    event_id = emulator.receive(TO, "Hi")
    for seconds in (0, 10, 60):
        clock.move(timedelta(seconds=seconds))
        assert emulator.wait_until(emulator.idle)
    assert emulator.acknowledged == [event_id]
    assert len(set(bodies(receiver))) == 1
    for name in ("Delivery-Id", "Timestamp", "Signature"):
        assert len({header(delivered, name) for delivered in receiver.seen}) == 1


def test_a_retry_can_be_stamped_anew(emulator: Emulator, receiver: Receiver, clock: MovableClock) -> None:
    emulator.behaviour.restamp = True
    receiver.answers = [500]
    emulator.receive(TO, "Hi")
    assert emulator.wait_until(emulator.idle)
    clock.move(timedelta(seconds=10))
    assert emulator.wait_until(lambda: len(receiver.seen) == 2 and emulator.idle())
    first, second = receiver.seen
    assert int(header(second, "Timestamp")) - int(header(first, "Timestamp")) == 10
    assert header(first, "Signature") != header(second, "Signature")
    assert first.body == second.body


def test_a_receiver_that_is_not_there_is_tried_again(emulator: Emulator, clock: MovableClock) -> None:
    receiver = Receiver()
    receiver.stop()
    emulator.subscribe(receiver.url)
    emulator.receive(TO, "Hi")
    assert emulator.wait_until(emulator.idle)
    clock.move(timedelta(seconds=10))
    assert emulator.wait_until(emulator.idle)
    assert emulator.counts["tries unanswered"] == 2


def test_a_receiver_that_takes_too_long_has_not_answered(clock: MovableClock) -> None:
    receiver, released = Receiver(), threading.Event()
    receiver.hold = released.wait
    with Emulator(clock, answer_within=0.1) as emulator:
        emulator.subscribe(receiver.url)
        emulator.receive(TO, "Hi")
        assert emulator.wait_until(emulator.idle)
        assert emulator.counts["tries unanswered"] == 1
        assert emulator.acknowledged == []
        released.set()
    receiver.stop()


def test_the_schedule_can_be_scaled() -> None:
    receiver = Receiver()
    receiver.answers = [500] * 5
    with Emulator(schedule_scale=0.000_01) as emulator:
        emulator.subscribe(receiver.url)
        event_id = emulator.receive(TO, "Hi")
        assert emulator.wait_until(lambda: emulator.acknowledged == [event_id])
    receiver.stop()
    assert len(receiver.seen) == 6


def test_a_contacts_events_are_first_tried_in_order(emulator: Emulator, receiver: Receiver) -> None:
    sent = [emulator.receive(TO, str(number)) for number in range(50)]
    assert emulator.wait_until(emulator.idle)
    assert emulator.acknowledged == sent


def test_a_failed_first_try_lets_the_next_event_pass(
    emulator: Emulator, receiver: Receiver, clock: MovableClock
) -> None:
    receiver.answers = [500]
    first, second = emulator.receive(TO, "one"), emulator.receive(TO, "two")
    assert emulator.wait_until(emulator.idle)
    assert emulator.acknowledged == [second]
    clock.move(timedelta(seconds=10))
    assert emulator.wait_until(emulator.idle)
    assert emulator.acknowledged == [second, first]


@pytest.mark.parametrize(("ordered", "at_once"), [(True, 1), (False, 2)])
def test_without_order_a_contacts_events_are_in_flight_together(
    emulator: Emulator, receiver: Receiver, ordered: bool, at_once: int
) -> None:
    emulator.behaviour.ordered = ordered
    arrived, released = threading.Semaphore(0), threading.Event()

    def hold() -> None:
        arrived.release()
        released.wait()

    receiver.hold = hold
    for text in ("one", "two"):
        emulator.receive(TO, text)
    for _ in range(at_once):
        assert arrived.acquire(timeout=10)
    assert not emulator.idle()
    assert not (ordered and arrived.acquire(blocking=False))
    released.set()
    assert emulator.wait_until(emulator.idle)
    assert len(receiver.seen) == 2


def test_another_contact_does_not_wait(emulator: Emulator, receiver: Receiver) -> None:
    both = threading.Barrier(2, timeout=10)
    receiver.hold = both.wait
    emulator.receive(TO, "one")
    emulator.receive("491510000002", "two")
    assert emulator.wait_until(emulator.idle)
    assert len(emulator.acknowledged) == 2


@pytest.mark.parametrize(("kind", "deliveries"), [("double_delivery", 1), ("double_event", 2)])
def test_an_event_can_be_delivered_twice(emulator: Emulator, receiver: Receiver, kind: str, deliveries: int) -> None:
    fault = emulator.faults.add(kind, count=1)
    event_id = emulator.receive(TO, "Hi")
    emulator.receive(TO, "Again")
    assert emulator.wait_until(emulator.idle)
    twice = [delivered for delivered in receiver.seen if event_id.encode() in delivered.body]
    assert (len(twice), len(receiver.seen)) == (2, 3)
    assert len({header(delivered, "Delivery-Id") for delivered in twice}) == deliveries
    assert len(set(emulator.acknowledged)) == len(emulator.acknowledged) == 2
    assert fault.hits == 1


def test_doubles_can_be_chosen_by_event(emulator: Emulator, receiver: Receiver) -> None:
    def of_second(event: Event) -> bool:
        return event.contact == "491510000002"

    emulator.faults.add("double_event", when=of_second)
    for contact in (TO, "491510000002"):
        emulator.receive(contact, "Hi")
    assert emulator.wait_until(emulator.idle)
    assert len(receiver.seen) == 3


def fail_for(days: int, emulator: Emulator, clock: MovableClock, each_day: Callable[[], object]) -> None:
    for _ in range(days):
        each_day()
        emulator.receive(TO, "Hi")
        assert emulator.wait_until(emulator.idle)
        clock.move(timedelta(days=1))
        assert emulator.wait_until(emulator.idle)


def test_a_webhook_that_fails_for_seven_days_is_disabled(
    emulator: Emulator, receiver: Receiver, clock: MovableClock
) -> None:
    receiver.always = 500
    (webhook,) = emulator.webhooks.registered
    fail_for(7, emulator, clock, lambda: None)
    emulator.receive(TO, "The last")
    assert emulator.wait_until(emulator.idle)
    assert webhook.is_active is False
    seen = len(receiver.seen)
    emulator.receive(TO, "Never told")
    assert emulator.idle()
    assert len(receiver.seen) == seen


def test_one_success_begins_the_seven_days_anew(emulator: Emulator, receiver: Receiver, clock: MovableClock) -> None:
    (webhook,) = emulator.webhooks.registered
    fail_for(6, emulator, clock, lambda: setattr(receiver, "always", 500))
    receiver.always = 200
    fail_for(1, emulator, clock, lambda: None)
    fail_for(6, emulator, clock, lambda: setattr(receiver, "always", 500))
    assert webhook.is_active


def test_who_is_unsubscribed_is_told_nothing_more_and_is_hung_up_on(emulator: Emulator, receiver: Receiver) -> None:
    emulator.receive(TO, "Hi")
    assert emulator.wait_until(emulator.idle)
    emulator.unsubscribe(*emulator.webhooks.registered)
    emulator.receive(TO, "Never told")
    assert emulator.idle()
    assert receiver.hung_up.wait(10)
    assert len(receiver.seen) == 1


def test_acknowledged_events_are_bounded_like_messages() -> None:
    receiver = Receiver()
    with Emulator(MovableClock(NOON), keep=3) as emulator:
        emulator.subscribe(receiver.url)
        sent = [emulator.receive(TO, str(number)) for number in range(5)]
        assert emulator.wait_until(emulator.idle)
        assert emulator.acknowledged == sent[-3:]
        assert emulator.counts["acknowledged"] == 5
    receiver.stop()


def test_a_kept_connection_that_the_receiver_closed_is_no_failed_try(
    emulator: Emulator, receiver: Receiver, clock: MovableClock
) -> None:
    emulator.receive(TO, "one")
    assert emulator.wait_until(emulator.idle)
    receiver.close_connections()
    emulator.receive(TO, "two")
    assert emulator.wait_until(emulator.idle)
    assert len(emulator.acknowledged) == 2


def test_stopping_does_not_wait_for_a_receiver_that_hangs() -> None:
    receiver, released, arrived = Receiver(), threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        released.wait()

    receiver.hold = hold
    emulator = Emulator(answer_within=600).start()
    emulator.subscribe(receiver.url)
    emulator.receive(TO, "Hi")
    assert arrived.wait(10)
    emulator.stop()
    released.set()
    receiver.stop()
