"""Delivery: in order, once, within limits and window; and what follows from each way a send can go."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from time import monotonic
from typing import Any

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.effects import PutContact, Send
from bot.core.engine_answers import NoPermit
from bot.core.errors import BotError
from bot.core.messages import Buttons, Choice, TemplateMessage, TextMessage
from bot.runtime import scheduler
from bot.runtime.delivery import Delivery
from bot.runtime.rate_limiter import ContactLimiter, RateLimiter
from bot.runtime.sending import SendResult
from bot.services.gateway.gateway_answers import GatewayNotReached, GatewayRateLimited, Rate
from bot.services.gateway.gateway_client import Gateway
from bot.store.rows import CAMPAIGN, REPLY, SYNC, OutboxRow
from tests.patience import wait_for
from tests.runtime import delivering
from tests.runtime.delivering import NOON
from tests.services.gateway.peer import Answer, Peer, accepted, answer, peer, refused, reset

TEMPLATE = TemplateMessage("come_back", "en")
BUTTONS = Buttons("Sure?", (Choice("y", "Yes"),))
NO_TYPE = refused("VALIDATION_INVALID_TYPE", 422)
KEY_INVALID = refused("unauthorized", 401, "invalid key")


class Bench(delivering.Bench):
    """The same with a scripted gateway."""

    def __init__(self, server: Peer, **options: Any) -> None:
        super().__init__(server.url, **options)
        self.server = server

    @property
    def bodies(self) -> list[Any]:
        return [request.body[request.body.get("type", "template")] for request in self.server.requests]

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("idempotency-key") for request in self.server.requests]


@pytest.fixture
def server() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def bench(server: Peer) -> Iterator[Bench]:
    made = Bench(server)
    yield made
    made.delivery.stop(5)


# -- order


def test_a_message_is_sent_with_its_key_and_reported(bench: Bench) -> None:
    row = bench.row(message=TextMessage("Hello"))
    bench.offer(row)
    assert bench.after(1) == SendResult(row, "sent", 1, None, ("m1", "c1"), "", NOON)
    assert (bench.keys, bench.bodies) == (["key1"], [{"body": "Hello"}])


def test_a_contacts_messages_go_in_order_one_at_a_time(server: Peer, bench: Bench) -> None:
    in_flight: list[int] = []

    def slowly(connection: Any) -> bool:
        in_flight.append(len(server.requests))
        return accepted()(connection)

    server.by_default = slowly
    bench.offer(*[bench.row() for _ in range(20)])
    bench.after(20)
    assert [body["body"] for body in bench.bodies] == [f"message {n}" for n in range(1, 21)]
    assert in_flight == list(range(1, 21))


def test_different_contacts_are_sent_to_at_the_same_time(server: Peer, bench: Bench) -> None:
    together = threading.Barrier(30)

    def all_at_once(connection: Any) -> bool:
        together.wait(20)
        return accepted()(connection)

    server.by_default = all_at_once
    bench.offer(*[bench.row(f"49{n}") for n in range(30)])
    bench.after(30)


def test_a_failure_touches_neither_its_contacts_later_messages_nor_others(server: Peer, bench: Bench) -> None:
    server.answers(refused("VALIDATION_INVALID_PHONE", 422, "bad number"))
    bench.offer(bench.row("1"), bench.row("1"))
    bench.after(2)
    bench.offer(bench.row("2"))
    bench.after(3)
    assert bench.states == ["failed", "sent", "sent"]
    assert bench.results[0].attempts == 1
    assert "bad number" in bench.results[0].detail


def test_a_row_whose_time_has_not_come_waits_and_keeps_its_contacts_later_ones_waiting(bench: Bench) -> None:
    bench.offer(bench.row(attempts=1, due_at=NOON + timedelta(seconds=30)), bench.row())
    bench.nothing_more(0)
    assert bench.next_due() == NOON + timedelta(seconds=30)
    bench.move(30)
    bench.after(2)
    assert [result.row.id for result in bench.results] == [1, 2]


def test_there_is_room_for_as_many_rows_as_it_does_not_hold(bench: Bench) -> None:
    room = bench.delivery.room()
    bench.offer(bench.row(attempts=1, due_at=NOON + timedelta(seconds=30)), bench.row())
    assert bench.delivery.room() == room - 2
    assert bench.delivery.status().waiting == 2


REFUSED = refused("WHATSAPP_SEND_FAILED", 502)


@pytest.mark.parametrize(
    ("answers", "fields", "state"),
    [
        ([REFUSED], {}, "failed"),
        ([], {"window_until": None}, "failed"),
        ([], {"window_until": None, "instead": TEMPLATE}, "replaced"),
        ([NO_TYPE, NO_TYPE, reset], {"message": BUTTONS}, "unknown"),
    ],
)
def test_the_next_message_waits_until_it_is_stored_that_one_was_not_sent(
    server: Peer, answers: list[Answer], fields: dict[str, Any], state: str
) -> None:
    bench = Bench(server, stores=False)
    server.answers(*answers)
    first, second, other = bench.row(**fields), bench.row(message=TEMPLATE), bench.row("50")
    bench.offer(first, second)
    result = bench.reported(1)
    bench.offer(other)
    bench.reported(2)
    assert (result.row.id, result.state, bench.results[1].row) == (first.id, state, other)
    assert not bench.delivery.idle()
    assert bench.delivery.take_back({first.id}) == set()
    assert bench.delivery.waits({first.id})[first.id].why == "it could not be sent, and that is not stored yet"
    bench.delivery.ends_stored({first.id, other.id})
    assert bench.reported(3).row == second
    bench.settle()
    bench.nothing_more(3)
    bench.delivery.stop(5)


def test_what_waits_for_one_that_was_not_sent_can_be_taken_back(server: Peer) -> None:
    bench = Bench(server, stores=False)
    server.answers(REFUSED)
    first, second = bench.row(), bench.row()
    bench.offer(first, second)
    bench.reported(1)
    assert bench.delivery.take_back({first.id, second.id}) == {second.id}
    bench.delivery.ends_stored({first.id})
    bench.nothing_more(1)
    bench.delivery.withdraw("49")
    bench.delivery.stop(5)


# -- rate limits


def test_the_limit_holds_messages_back_until_it_slides(server: Peer) -> None:
    bench = Bench(server, limits=(3, 100))
    bench.offer(*[bench.row(f"49{n}") for n in range(7)])
    for sent in (3, 6, 7):
        bench.after(sent)
        if sent < 7:
            assert 60 <= bench.move_to_next() < 60.2
    assert bench.next_due() is None
    bench.delivery.stop(5)


def test_waiting_for_the_limit_uses_up_no_messages_time(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    server.answers(accepted(), reset)
    bench.offer(bench.row("1"), bench.row("2"))
    bench.after(1)
    bench.move(3600)
    assert bench.after(2).state == "retry"
    bench.move(120)
    assert bench.after(3).state == "sent"
    bench.delivery.stop(5)


def test_retry_after_pauses_everybody(server: Peer, bench: Bench) -> None:
    server.answers(refused("RATE_LIMIT_EXCEEDED", 429, "slow down", {"Retry-After": "30"}))
    bench.offer(bench.row("1"))
    result = bench.after(1)
    assert (result.state, result.due_at) == ("retry", NOON + timedelta(seconds=30))
    bench.offer(bench.row("2"))
    bench.nothing_more(1)
    bench.move(29)
    bench.nothing_more(1)
    bench.move(1)
    bench.after(3)
    assert len(server.requests) == 3


LIMITED = "RATE_LIMIT_EXCEEDED"
FAR_OFF = ["86400", "1e9", "Wed, 01 May 2999 12:00:00 GMT"]
NO_WAIT = ["0", "-5", "nan", "soon", "", "Tue, 01 Jan 2019 00:00:00 GMT"]


@pytest.mark.parametrize(("said", "seconds"), [*((text, 900) for text in FAR_OFF), *((text, 1) for text in NO_WAIT)])
def test_an_absurd_retry_after_costs_a_quarter_of_an_hour_at_most_and_no_message(
    server: Peer, bench: Bench, said: str, seconds: float
) -> None:
    server.answers(refused(LIMITED, 429, headers={"Retry-After": said}))
    bench.offer(bench.row("1"))
    assert bench.after(1).state == "retry"
    bench.offer(bench.row("2"))
    bench.nothing_more(1)
    assert bench.move_to_next() == seconds
    bench.move(1)
    bench.settle()
    assert bench.states == ["retry", "sent", "sent"]
    assert bench.alarms.current() == []


def limited_pauses(bench: Bench, probes: int) -> list[int]:
    pauses = []
    for results in range(2, probes + 2):
        pauses.append(round(bench.move_to_next()))
        assert bench.after(results).state == "retry"
    return pauses


def test_a_long_wait_is_looked_at_by_one_request_at_a_time_and_reported(
    server: Peer, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    server.by_default = refused(LIMITED, 429, headers={"Retry-After": "86400"})
    bench.offer(bench.row("1"))
    bench.after(1)
    assert [alarm.name for alarm in bench.alarms.current()] == ["rate-limited"]
    bench.offer(*[bench.row(f"49{n}", expires_at=NOON + timedelta(seconds=1)) for n in range(9)])
    assert limited_pauses(bench, 3) == [900, 900, 900]
    assert [alarm.name for alarm in bench.alarms.current()] == ["rate-limited"]
    assert caplog.text.count("for its limits for more than a minute") == 1
    server.by_default = accepted()
    bench.move_to_next()
    bench.move(75)
    bench.settle()
    assert bench.states.count("sent") == 10
    assert bench.alarms.current() == []


@pytest.mark.parametrize("said", ["100", "Wed, 01 May 2030 12:01:40 GMT"])
def test_a_wait_is_kept_as_it_is_said_each_time(server: Peer, bench: Bench, said: str) -> None:
    server.by_default = refused(LIMITED, 429, headers={"Retry-After": said})
    bench.offer(bench.row("1"))
    bench.after(1)
    assert bench.move_to_next() == 100
    assert bench.after(2).state == "retry"


def test_without_a_retry_after_the_pauses_double_up_to_a_minute(server: Peer, bench: Bench) -> None:
    server.by_default = refused(LIMITED, 429)
    bench.offer(bench.row("1"), bench.row("2", attempts=1, due_at=NOON + timedelta(milliseconds=1)))
    bench.after(1)
    bench.offer(*[bench.row(f"49{n}") for n in range(30)])
    assert limited_pauses(bench, 9) == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def to_one(server: Peer, contact: str, given: Answer) -> Answer:
    """An answer that one contact's requests are given; the others are accepted."""

    def write(connection: Any) -> bool:
        body = server.requests[-1].body
        return (given if contact in (body.get("to"), body.get("phone")) else accepted())(connection)

    return write


def test_what_the_limits_keep_back_of_one_contact_alone_stops_nobody_else(server: Peer) -> None:
    bench = Bench(server, most=1)
    server.by_default = to_one(server, "1", refused(LIMITED, 429, headers={"Retry-After": "60"}))
    bench.offer(bench.row("1"), bench.row("2"))
    assert bench.after(1).state == "retry"
    bench.move(60)
    bench.settle()
    bench.offer(*[bench.row("2") for _ in range(5)])
    bench.settle()
    assert bench.states == ["retry", "sent", "retry", *["sent"] * 5]
    while bench.results[-1].state != "failed":
        bench.move_to_next()
        bench.settle()
    assert bench.clock.now() < NOON + timedelta(minutes=20)
    assert bench.alarms.current() == []
    bench.delivery.stop(5)


def test_limits_of_contact_changes_alone_hold_up_no_message(server: Peer) -> None:
    bench = Bench(server, most=1)
    server.by_default = to_one(server, "1", refused(LIMITED, 429, headers={"Retry-After": "86400"}))
    changes = [bench.row("1", effect=CONTACT_OF, priority=SYNC, key=f"c{n}") for n in range(2)]
    bench.offer(bench.row("2"))
    bench.after(1)
    bench.offer(changes[0])
    bench.after(2)
    for _ in range(8):
        bench.offer(bench.row("3"))
        bench.move_to_next()
        bench.settle()
    about = [(alarm.name, alarm.about) for alarm in bench.alarms.current()]
    assert about == [("rate-limited", "contact changes")]
    sent = bench.states.count("sent")
    bench.offer(bench.row("2"))
    bench.settle()
    assert bench.states.count("sent") == sent + 1
    bench.delivery.stop(5)


@pytest.mark.parametrize(("said", "seconds"), [("100", 100), ("86400", 900)])
def test_a_wait_for_one_message_that_went_wrong_is_that_messages_own(
    server: Peer, bench: Bench, said: str, seconds: float
) -> None:
    server.answers(answer(503, b"busy", {"Retry-After": said}))
    bench.offer(bench.row("1"))
    assert bench.after(1).state == "retry"
    bench.offer(bench.row("2"))
    assert bench.after(2).state == "sent"
    assert bench.move_to_next() == seconds
    assert bench.after(3).state == "sent"


def test_the_headers_of_an_answer_slow_delivery_down(server: Peer, bench: Bench) -> None:
    reset_at = str(int(NOON.timestamp()) + 20)
    server.answers(accepted(headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset_at}))
    bench.offer(bench.row())
    bench.after(1)
    bench.offer(bench.row())
    bench.nothing_more(1)
    assert bench.move_to_next() == 20
    bench.after(2)


# -- a contact's share


def test_one_contact_leaves_the_others_their_part_of_the_minute(server: Peer) -> None:
    bench = Bench(server, limits=(60, 10_000))
    bench.offer(*[bench.row("1") for _ in range(100)])
    bench.after(20)
    bench.offer(bench.row("2"))
    assert bench.after(21).row.contact == "2"
    assert 60 < bench.move_to_next() <= 61
    bench.settle()
    assert len(server.requests) == 41
    assert bench.alarms.current() == []
    bench.delivery.stop(5)


def test_one_contacts_flood_leaves_the_others_the_day_and_one_dead_letter(
    server: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(server, limits=(1000, 200))
    bench.offer(*[bench.row("628111") for _ in range(150)])
    bench.after(150)
    assert [bench.states.count(state) for state in ("sent", "failed", "contact_limit")] == [40, 1, 109]
    for result in bench.results[40:]:
        assert result.detail.startswith("CONTACT_LIMIT: the contact's 40 requests of 24 hours")
    bench.offer(*[bench.row(f"2{n}") for n in range(160)])
    bench.after(310)
    assert bench.states.count("sent") == 200
    assert [alarm.name for alarm in bench.alarms.current()] == ["contact-limit"]
    assert "628111" not in caplog.text
    bench.move(86_400 + 901)
    bench.settle()
    bench.offer(bench.row("628111"))
    assert bench.after(311).state == "sent"
    bench.delivery.stop(5)


def test_a_reply_waits_for_its_contacts_share_while_it_is_worth_sending(server: Peer) -> None:
    bench = Bench(server, per_contact=2)
    bench.offer(bench.row(), bench.row())
    bench.after(2)
    bench.move(86_400 + 100)
    bench.offer(bench.row())
    bench.nothing_more(2)
    assert bench.move_to_next() <= 800
    assert bench.after(3).state == "sent"
    bench.delivery.stop(5)


@pytest.mark.parametrize("priority", [SYNC, CAMPAIGN])
def test_what_is_no_reply_counts_too_and_waits_for_the_share(server: Peer, priority: int) -> None:
    bench = Bench(server, per_contact=1)
    bench.offer(bench.row(message=TEMPLATE, priority=priority))
    bench.after(1)
    bench.offer(bench.row(message=TEMPLATE, priority=priority), bench.row())
    assert bench.after(2).state == "failed"
    assert 86_400 < bench.move_to_next() <= 86_400 + 900
    assert bench.after(3).row.priority == priority
    bench.delivery.stop(5)


def test_a_message_that_is_being_tried_is_tried_on_beyond_the_share(server: Peer) -> None:
    bench = Bench(server, per_contact=2)
    server.answers(reset, reset, reset)
    bench.offer(bench.row())
    for results in (1, 2, 3):
        assert bench.after(results).state == "retry"
        bench.move_to_next()
    assert bench.after(4).state == "sent"
    bench.delivery.stop(5)


def test_each_message_tells_why_it_waits_and_until_when(server: Peer) -> None:
    bench = Bench(server, limits=(1000, 8), most=1, per_contact=2, channels={"15551": "one"}, channel_id="own")
    bench.offer(bench.row("1"), bench.row("1"))
    bench.after(2)
    campaign = bench.row("1", message=TEMPLATE, priority=CAMPAIGN)
    bench.offer(campaign)
    server.answers(refused("WHATSAPP_CHANNEL_NOT_FOUND", 404), answer(500, b"oops"))
    held = [bench.row("2", channel="15551"), bench.row("2", channel="15551")]
    bench.offer(*held)
    bench.after(3)
    again = bench.row("3")
    bench.offer(again)
    assert bench.after(4).state == "retry"
    waits = bench.delivery.waits({row.id for row in (campaign, *held, again)})
    told = {
        id: (wait.why, round((wait.until - NOON).total_seconds()) if wait.until else None) for id, wait in waits.items()
    }
    assert told == {
        3: ("the contact's share of the requests is used up", 87_300),
        4: ("the channel one is unknown or inactive; one message is tried", 60),
        5: ("1 before it to this contact: the channel one is unknown or inactive; one message is tried", 60),
        6: ("it is tried again", 1),
    }
    bench.offer(*[bench.row(f"4{n}") for n in range(5)])
    bench.settle()
    last = bench.row("5")
    bench.offer(last)
    bench.settle()
    assert bench.delivery.waits({last.id})[last.id].why == "the limits leave no room"
    bench.delivery.stop(5)


def until_no_alarm(bench: Bench) -> None:
    """Time passes: an alarm ends a while after the thread that looks after limits has seen room."""

    def ended() -> bool:
        bench.offer()
        bench.move(60)
        return not bench.alarms.current()

    wait_for(ended, 0.01)


def test_a_day_that_is_used_up_is_reported_until_there_is_room(server: Peer) -> None:
    bench = Bench(server, limits=(1000, 5))
    bench.offer(*[bench.row(f"49{n}") for n in range(6)])
    bench.after(5)
    [alarm] = bench.alarms.current()
    assert (alarm.name, "5 requests" in alarm.what) == ("day-limit", True)
    bench.move_to_next()
    bench.after(6)
    until_no_alarm(bench)
    assert bench.alarms.current() == []
    bench.delivery.stop(5)


def test_a_day_that_is_used_up_is_one_alarm_as_long_as_something_waits(
    server: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    bench = Bench(server, limits=(1000, 5))
    for results in range(1, 6):
        bench.offer(bench.row(f"49{results}"))
        bench.after(results)
        bench.move(120)
    bench.offer(*[bench.row(f"48{n}", TEMPLATE) for n in range(4)])
    for results in range(6, 9):
        bench.move_to_next()
        bench.after(results)
    assert [record.levelname for record in caplog.records if record.name == "bot.core.alarms"] == ["ERROR"]
    bench.move_to_next()
    bench.after(9)
    until_no_alarm(bench)
    assert bench.alarms.current() == []
    bench.delivery.stop(5)


def test_a_burst_that_left_no_requests_is_no_alarm_when_the_next_message_comes(
    server: Peer, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers(accepted(headers={"X-RateLimit-Remaining": "0"}))
    bench.offer(bench.row("1"))
    bench.after(1)
    bench.move(600)
    bench.offer(bench.row("2"))
    bench.after(2)
    assert [record for record in caplog.records if record.name == "bot.core.alarms"] == []


def test_headers_that_always_say_none_are_reported_and_those_that_cannot_be_stop_nobody(
    server: Peer, bench: Bench
) -> None:
    def none_left(connection: Any) -> bool:
        reset_at = str(int(bench.clock.now().timestamp()) + 40)
        return accepted(headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset_at})(connection)

    server.by_default = none_left
    bench.offer(bench.row("1"))
    bench.after(1)
    bench.offer(*[bench.row("1") for _ in range(8)])
    for results in (2, 3, 4):
        assert bench.move_to_next() == 40
        bench.after(results)
    assert [alarm.name for alarm in bench.alarms.current()] == ["header-limit"]
    server.by_default = accepted(headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1e11"})
    bench.move_to_next()
    bench.settle()
    assert bench.states == ["sent"] * 9
    until_no_alarm(bench)
    assert bench.alarms.current() == []


# -- retries


def test_an_ambiguous_try_is_repeated_with_the_same_key_and_longer_and_longer_pauses(
    server: Peer, bench: Bench
) -> None:
    server.answers(reset, answer(500, b"oops"), reset, reset, accepted())
    bench.offer(bench.row())
    for attempt, seconds in enumerate((1, 2, 4, 8), 1):
        result = bench.after(attempt)
        assert (result.state, result.attempts) == ("retry", attempt)
        assert result.due_at is not None
        assert seconds <= (result.due_at - bench.clock.now()).total_seconds() <= 1.25 * seconds
        assert bench.next_due() == result.due_at
        bench.move_to_next()
    result = bench.after(5)
    assert (result.state, result.attempts) == ("sent", 5)
    assert bench.keys == ["key1"] * 5


def until_given_up(bench: Bench) -> tuple[SendResult, float]:
    seconds, results = 0.0, 1
    while (result := bench.after(results)).state == "retry":
        seconds += bench.move_to_next()
        results += 1
    return result, seconds


def test_after_fifteen_minutes_of_unclear_tries_a_message_is_unknown(server: Peer, bench: Bench) -> None:
    server.by_default = reset
    bench.offer(bench.row())
    result, seconds = until_given_up(bench)
    assert (result.state, len(server.requests)) == ("unknown", result.attempts)
    assert 13 * 60 < seconds <= 15 * 60
    assert "given up after" in result.detail


def test_a_message_that_never_left_has_failed_when_it_is_given_up(server: Peer, bench: Bench) -> None:
    server.close()
    bench.offer(bench.row())
    result, _ = until_given_up(bench)
    assert result.state == "failed"
    assert "no connection" in result.detail


@pytest.mark.parametrize("effect", [Send(TemplateMessage("sale", "en")), PutContact(None, None, ())])
def test_what_is_older_than_three_days_is_not_sent_any_more(
    server: Peer, bench: Bench, effect: Send | PutContact
) -> None:
    bench.offer(bench.row(effect=effect, created_at=NOON - timedelta(days=3, seconds=1)))
    result = bench.after(1)
    assert (result.state, result.detail) == ("failed", "it is older than 3 days")
    assert server.requests == []


def test_the_contacts_later_messages_go_on_after_one_was_given_up(server: Peer, bench: Bench) -> None:
    def only_the_second(connection: Any) -> bool:
        return (reset if bench.bodies[-1]["body"] == "message 1" else accepted())(connection)

    server.by_default = only_the_second
    bench.offer(bench.row(), bench.row())
    results = 1
    while bench.reported(results).state == "retry":
        bench.move_to_next()
        results += 1
    assert bench.results[results - 1].state == "unknown"
    result = bench.after(results + 1)
    assert (result.row.id, result.state) == (2, "sent")


def test_tries_of_an_earlier_run_count_in_the_pause(server: Peer, bench: Bench) -> None:
    server.answers(reset)
    bench.offer(bench.row(attempts=3))
    result = bench.after(1)
    assert result.attempts == 4
    assert result.due_at is not None and result.due_at >= NOON + timedelta(seconds=8)


def test_requests_that_never_left_cost_no_permit(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    server.close()
    bench.offer(*[bench.row(f"49{n}") for n in range(5)])
    bench.after(5)
    assert bench.states == ["retry"] * 5
    bench.delivery.stop(5)


def test_a_repeated_key_that_conflicts_was_sent(server: Peer, bench: Bench) -> None:
    server.answers(reset, refused("conflict", 409))
    bench.offer(bench.row())
    bench.after(1)
    bench.move_to_next()
    assert bench.after(2).state == "sent"


@pytest.mark.parametrize(
    "given",
    [refused("WHATSAPP_SEND_FAILED", 502, "not on the platform"), refused("132012", 400), refused("NEW_CODE", 400)],
    ids=["refused by the platform", "no template", "unknown code"],
)
def test_a_definite_refusal_is_not_repeated(server: Peer, bench: Bench, given: Answer) -> None:
    server.answers(given)
    bench.offer(bench.row())
    assert bench.after(1).state == "failed"


def test_a_message_over_a_limit_fails_without_a_request(server: Peer, bench: Bench) -> None:
    bench.offer(bench.row(message=TextMessage("x" * 5000)))
    result = bench.after(1)
    assert result.state == "failed"
    assert "5000 characters" in result.detail
    assert server.requests == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_costs_one_message_and_its_text_is_not_logged(
    server: Peer, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    broken = TemplateMessage("t", "en", header={"type": "text", "text": {"a set"}})
    bench.offer(bench.row(message=broken), bench.row(message=TextMessage("fine")))
    bench.after(2)
    assert bench.states == ["unknown", "sent"]
    assert "TypeError" in caplog.text
    assert "a set" not in caplog.text


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_in_the_end_of_an_attempt_does_not_end_it_twice(server: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    after_answers, broken = Gateway.after_answers, threading.Event()

    def fails_once(gateway: Gateway, call: Callable[[], object]) -> None:
        if not broken.is_set():
            broken.set()
            raise RuntimeError("a defect")
        after_answers(gateway, call)

    monkeypatch.setattr(Gateway, "after_answers", fails_once)
    bench = Bench(server)
    bench.offer(bench.row("49"), bench.row("50"))
    bench.after(2)
    assert bench.states == ["sent", "sent"]


# -- endpoints without keys


def without_keys(server: Peer, **options: Any) -> Bench:
    """A bench whose gateway has learned that buttons go to the endpoint that takes no key."""
    bench = Bench(server, **options)
    server.answers(NO_TYPE, NO_TYPE)
    bench.offer(bench.row(message=BUTTONS))
    assert bench.after(1).state == "sent"
    return bench


def test_that_a_day_is_used_up_is_known_with_the_answer_also_while_a_thread_begins_to_send(server: Peer) -> None:
    known: list[str] = []

    def claim(row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        done(None)
        if row.id == 2:  # its answer comes before the thread that has begun it goes on
            keyless.reported(2)
            keyless.settle()
            known.extend(alarm.name for alarm in keyless.alarms.current())

    keyless = without_keys(server, limits=(1000, 4), claim=claim)
    keyless.offer(keyless.row(message=BUTTONS), keyless.row("50"))
    keyless.after(2)
    assert known == ["day-limit"]
    keyless.delivery.stop(5)


def test_a_request_that_only_led_on_is_reported_when_delivery_stops(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    server.answers(NO_TYPE)
    bench.offer(bench.row(message=BUTTONS))
    server.wait_for_requests(1)
    bench.settle()
    bench.delivery.stop(5)
    assert [(result.state, result.attempts) for result in bench.results] == [("retry", 1)]


def test_a_refused_type_leads_on_at_once_and_each_request_counts(server: Peer) -> None:
    bench = without_keys(server, limits=(3, 100))
    assert (bench.results[0].attempts, len(server.requests)) == (3, 3)  # so each counts after a restart, too
    bench.offer(bench.row())
    bench.nothing_more(1)
    assert bench.move_to_next() >= 60
    bench.after(2)
    bench.delivery.stop(5)


def test_what_may_have_been_sent_goes_through_no_endpoint_without_a_key(server: Peer, bench: Bench) -> None:
    server.answers(reset, NO_TYPE, NO_TYPE)
    bench.offer(bench.row(message=BUTTONS))
    bench.after(1)
    bench.move_to_next()
    result = bench.after(2)
    assert (result.state, result.code, len(server.requests)) == ("unknown", "unclear", 3)
    assert result.detail == "it may have been sent, and now no key keeps it from being sent twice"


def test_that_it_may_have_been_sent_is_known_in_the_next_run_too(server: Peer, bench: Bench) -> None:
    server.answers(NO_TYPE, NO_TYPE)
    bench.offer(bench.row(message=BUTTONS, attempts=1, unclear=True))
    result = bench.after(1)
    assert (result.state, result.code, len(server.requests)) == ("unknown", "unclear", 2)


def test_it_does_once_where_unclear_replies_are_repeated(server: Peer) -> None:
    bench = Bench(server, repeat_unclear=True)
    server.answers(reset, NO_TYPE, NO_TYPE, reset)
    bench.offer(bench.row(message=BUTTONS))
    bench.after(1)
    bench.move_to_next()
    assert (bench.after(2).state, len(server.requests)) == ("unknown", 4)
    bench.delivery.stop(5)


def test_without_a_key_the_claim_comes_before_the_request(server: Peer) -> None:
    requests_then: list[int] = []

    def claim(row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        requests_then.append(len(server.requests))
        done(None)

    bench = without_keys(server, claim=claim)
    assert requests_then == [2]
    bench.offer(bench.row(message=TextMessage("keyed")))
    bench.after(2)
    assert requests_then == [2]
    bench.delivery.stop(5)


def test_a_claim_that_cannot_be_made_means_not_sent_yet(server: Peer) -> None:
    broken = [False]

    def claim(row: OutboxRow, done: Callable[[BotError | None], None]) -> None:
        done(BotError("the disk is full") if broken[0] else None)

    bench = without_keys(server, claim=claim)
    broken[0] = True
    bench.offer(bench.row(message=BUTTONS))
    result = bench.after(2)
    assert (result.state, result.detail, len(server.requests)) == ("retry", "the disk is full", 3)
    broken[0] = False
    bench.move_to_next()
    assert bench.after(3).state == "sent"
    bench.delivery.stop(5)


def test_without_a_key_an_ambiguous_message_is_unknown_and_not_repeated(server: Peer) -> None:
    bench = without_keys(server)
    server.answers(reset)
    bench.offer(bench.row(message=BUTTONS))
    assert bench.after(2).state == "unknown"
    assert len(server.requests) == 4
    bench.delivery.stop(5)


def test_or_it_is_repeated_once_where_that_is_set(server: Peer) -> None:
    bench = without_keys(server, repeat_unclear=True)
    server.answers(reset, reset)
    bench.offer(bench.row(message=BUTTONS))
    assert bench.after(2).state == "retry"
    bench.move_to_next()
    assert bench.after(3).state == "unknown"
    assert len(server.requests) == 5
    bench.delivery.stop(5)


# -- the window

CLOSED: dict[str, Any] = {"window_until": NOON - timedelta(seconds=1)}


def test_after_the_window_has_closed_the_template_goes_under_a_key_of_its_own(bench: Bench) -> None:
    bench.offer(bench.row(instead=TEMPLATE, **CLOSED))
    assert bench.after(1).state == "replaced"
    assert bench.bodies == [{"name": "come_back", "language": {"code": "en"}}]
    assert bench.keys == ["key1-instead"]


def test_the_template_goes_once_a_silence(bench: Bench) -> None:
    bench.offer(*[bench.row(instead=TEMPLATE, **CLOSED) for _ in range(3)])
    bench.after(3)
    assert bench.states == ["replaced", "superseded", "superseded"]


def test_a_template_of_an_earlier_run_covers_too_unless_the_contact_wrote_since(bench: Bench) -> None:
    bench.newest.update({"1": NOON - timedelta(days=2), "2": NOON - timedelta(days=2)})
    bench.replaced.update({"1": NOON - timedelta(days=1), "2": NOON - timedelta(days=3)})
    bench.offer(bench.row("1", instead=TEMPLATE, **CLOSED))
    assert bench.after(1).state == "superseded"
    bench.offer(bench.row("2", instead=TEMPLATE, **CLOSED))
    assert bench.after(2).state == "replaced"


def test_without_a_template_a_closed_window_is_a_failure_in_words(server: Peer, bench: Bench) -> None:
    bench.offer(bench.row(**CLOSED))
    result = bench.after(1)
    assert (result.state, result.attempts, server.requests) == ("failed", 0, [])
    assert result.detail == "the 24-hour window is closed, and no window_closed template is declared"


def test_a_template_of_its_own_needs_no_window(bench: Bench) -> None:
    bench.offer(bench.row(message=TEMPLATE, **CLOSED))
    assert bench.after(1).state == "sent"


@pytest.mark.parametrize(
    ("age", "state"), [(timedelta(hours=23, minutes=54), "sent"), (timedelta(hours=23, minutes=55), "failed")]
)
def test_a_message_since_then_keeps_the_window_open_for_a_day_less_five_minutes(
    bench: Bench, age: timedelta, state: str
) -> None:
    bench.newest["49"] = NOON - age
    bench.offer(bench.row(window_until=None))
    assert bench.after(1).state == state


def test_the_window_is_checked_when_a_message_is_sent(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    bench.offer(bench.row("1"), bench.row("2", window_until=NOON + timedelta(seconds=30)))
    bench.after(1)
    bench.move_to_next()
    assert bench.after(2).state == "failed"
    bench.delivery.stop(5)


def test_template_required_takes_the_same_way_as_a_closed_window(server: Peer, bench: Bench) -> None:
    server.answers(refused("WHATSAPP_TEMPLATE_REQUIRED", 400))
    bench.offer(bench.row(instead=TEMPLATE), bench.row(instead=TEMPLATE))
    bench.after(2)
    assert bench.states == ["replaced", "superseded"]
    assert bench.keys == ["key1", "key1-instead"]


def test_template_required_without_a_template_is_a_failure(server: Peer, bench: Bench) -> None:
    server.answers(refused("WHATSAPP_TEMPLATE_REQUIRED", 400))
    bench.offer(bench.row())
    assert bench.after(1).state == "failed"


def test_a_contact_who_writes_opens_the_window_for_what_waits(server: Peer, bench: Bench) -> None:
    server.answers(reset)
    bench.offer(bench.row(instead=TEMPLATE, **CLOSED), bench.row())
    assert bench.after(1).state == "retry"
    bench.newest["49"] = NOON
    bench.move_to_next()
    bench.after(3)
    assert bench.keys == ["key1-instead", "key1", "key2"]


def test_a_template_that_is_refused_covers_nothing(server: Peer, bench: Bench) -> None:
    server.answers(refused("132012", 400))
    bench.offer(bench.row(instead=TEMPLATE, **CLOSED), bench.row(instead=TEMPLATE, **CLOSED))
    bench.after(2)
    assert bench.states == ["failed", "replaced"]


# -- holding


def test_a_wrong_key_stops_everything_and_gives_nothing_up(
    server: Peer, bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    server.by_default = KEY_INVALID
    bench.offer(bench.row("1"))
    result = bench.after(1)
    assert (result.state, result.attempts, result.due_at) == ("held", 0, NOON)
    [alarm] = bench.alarms.current()
    assert "BOT_" in alarm.advice
    assert "nothing can be sent" in caplog.text
    bench.offer(*[bench.row(f"49{n}") for n in range(10)])
    bench.nothing_more(1)
    assert [round(bench_probe(bench, n)) for n in (2, 3, 4, 5)] == [60, 120, 240, 300]
    assert len(server.requests) == 5
    server.by_default = accepted()
    bench.move_to_next()
    bench.after(16)
    assert bench.states[5:] == ["sent"] * 11
    assert bench.alarms.current() == []


def bench_probe(bench: Bench, results: int) -> float:
    seconds = bench.move_to_next()
    assert bench.after(results).state == "held"
    return seconds


def test_a_refusal_of_the_probe_itself_shows_that_the_key_is_right(server: Peer, bench: Bench) -> None:
    server.answers(KEY_INVALID, refused("VALIDATION_INVALID_PHONE", 422))
    bench.offer(bench.row("1"), bench.row("1"))
    bench.after(1)
    bench.move_to_next()
    bench.after(3)
    assert bench.states == ["held", "failed", "sent"]


def test_a_probe_that_gets_no_answer_shows_nothing(server: Peer, bench: Bench) -> None:
    server.answers(KEY_INVALID, reset)
    bench.offer(bench.row("1"), bench.row("2", attempts=1, due_at=NOON + timedelta(seconds=1)))
    bench.after(1)
    bench.move_to_next()
    assert bench.after(2).state == "retry"
    assert len(bench.alarms.current()) == 1
    assert bench.move_to_next() >= 59
    bench.after(4)
    assert bench.alarms.current() == []


def test_a_row_that_needs_no_request_does_not_use_up_the_probe(server: Peer, bench: Bench) -> None:
    server.answers(KEY_INVALID)
    bench.offer(bench.row("1"))
    bench.after(1)
    bench.offer(bench.row("2", **CLOSED))
    bench.move_to_next()
    bench.after(3)
    assert sorted(bench.states) == ["failed", "held", "sent"]


# -- channels

CHANNELS = {"15551": "one", "15552": "two"}
NO_CHANNEL = refused("WHATSAPP_CHANNEL_NOT_FOUND", 404)


def unknown(server: Peer, *channels: str | None) -> Answer:
    """An answer that finds these channels unknown, and accepts what goes by the others."""

    def write(connection: Any) -> bool:
        return (NO_CHANNEL if server.requests[-1].body.get("channel_id") in channels else accepted())(connection)

    return write


@pytest.fixture
def channels(server: Peer) -> Iterator[Bench]:
    made = Bench(server, most=1, channels=CHANNELS, channel_id="own")
    yield made
    made.delivery.stop(5)


def test_an_unknown_channel_holds_its_own_messages_and_the_others_go_on(server: Peer, channels: Bench) -> None:
    server.by_default = unknown(server, "one")
    channels.offer(*[channels.row(f"1{n}", channel="15551") for n in range(5)])
    assert channels.after(1).state == "held"
    channels.offer(*[channels.row(f"2{n}", channel=channel) for n, channel in enumerate(("15552", None, "15559"))])
    channels.after(4)
    assert [request.body["channel_id"] for request in server.requests] == ["one", "two", "own", "own"]
    [alarm] = channels.alarms.current()
    assert (alarm.name, alarm.about) == ("channel-held", "one")


def test_each_channel_is_probed_by_itself_and_goes_on_when_it_is_found(server: Peer, channels: Bench) -> None:
    server.by_default = unknown(server, "one", "own")
    channels.offer(channels.row("1", channel="15551"), channels.row("2"))
    channels.after(2)
    assert [alarm.about for alarm in channels.alarms.current()] == ["one", "own"]
    channels.offer(channels.row("3", channel="15551"), channels.row("4"))
    assert channels.move_to_next() == 60
    channels.after(4)
    server.by_default = unknown(server, "own")
    assert channels.move_to_next() == 120
    channels.settle()
    assert {result.row.contact for result in channels.results if result.state == "sent"} == {"1", "3"}
    assert [alarm.about for alarm in channels.alarms.current()] == ["own"]
    server.by_default = accepted()
    assert channels.move_to_next() == 240
    channels.settle()
    assert channels.states.count("sent") == 4
    assert channels.alarms.current() == []


def test_what_a_held_channel_keeps_goes_in_order_by_the_one_that_an_edit_has_put_in_its_place(
    server: Peer, channels: Bench
) -> None:
    server.by_default = unknown(server, "one")
    channels.offer(*[channels.row("1", channel=channel) for channel in ("15551", "15551", "15552")])
    channels.settle()
    channels.delivery.use_channels({"15551": "three", "15552": "two"})
    channels.offer(channels.row("1", channel="15551"))
    channels.settle()
    assert [(result.row.id, result.state) for result in channels.results] == [
        (1, "held"),
        (3, "sent"),
        (1, "sent"),
        (2, "sent"),
        (4, "sent"),
    ]
    assert [request.body["channel_id"] for request in server.requests] == ["one", "two", "three", "three", "three"]
    assert channels.alarms.current() == []
    assert channels.delivery.room() == scheduler.CAPACITY


def test_an_edit_of_other_channels_leaves_a_held_one_held(server: Peer, channels: Bench) -> None:
    server.by_default = unknown(server, "one")
    channels.offer(channels.row("1", channel="15551"))
    assert channels.after(1).state == "held"
    channels.delivery.use_channels({"15551": "one", "15552": "three"})
    channels.nothing_more(1)
    assert [alarm.about for alarm in channels.alarms.current()] == ["one"]


def test_a_contacts_messages_keep_their_order_within_a_channel(server: Peer, channels: Bench) -> None:
    server.by_default = unknown(server, "one")
    over = ["15551", "15551", "15552", "15551", "15552"]
    channels.offer(*[channels.row("1", channel=channel) for channel in over])
    channels.settle()
    assert [result.row.id for result in channels.results if result.state == "sent"] == [3, 5]
    server.by_default = accepted()
    channels.move_to_next()
    channels.settle()
    assert [result.row.id for result in channels.results if result.state == "sent"] == [3, 5, 1, 2, 4]


def test_a_probe_that_is_refused_for_itself_says_nothing_of_its_channel(server: Peer, channels: Bench) -> None:
    server.answers(NO_CHANNEL, refused("VALIDATION_INVALID_PHONE", 422), NO_CHANNEL)
    channels.offer(channels.row("1", channel="15551"), channels.row("2", channel="15551"))
    channels.after(1)
    channels.move_to_next()
    channels.after(3)
    assert channels.states == ["held", "failed", "held"]
    assert len(channels.alarms.current()) == 1


def test_a_held_channel_holds_up_no_contact_change_and_no_command(server: Peer, channels: Bench) -> None:
    server.answers(NO_CHANNEL, PUT)
    channels.offer(channels.row("1"))
    channels.after(1)
    channels.offer(channels.row("1", effect=CONTACT_OF, priority=SYNC))
    assert channels.after(2).state == "sent"
    with channels.delivery.permit(0):
        pass


def test_a_wrong_key_of_a_channel_that_is_held_stops_the_others_too(server: Peer, channels: Bench) -> None:
    server.answers(NO_CHANNEL, KEY_INVALID)
    channels.offer(channels.row("1", channel="15551"))
    channels.after(1)
    channels.offer(channels.row("2"))
    channels.after(2)
    channels.offer(channels.row("3"))
    assert channels.states == ["held", "held"]
    assert [alarm.name for alarm in channels.alarms.current()] == ["channel-held", "delivery-held"]
    channels.move_to_next()
    channels.settle()
    assert channels.states.count("sent") == 3
    assert channels.alarms.current() == []


def test_the_probes_of_a_wrong_key_use_up_no_contacts_share(server: Peer) -> None:
    server.by_default = KEY_INVALID
    bench = Bench(server, per_contact=3)
    bench.offer(bench.row("1"), bench.row("1"))
    bench.after(1)
    for results in range(2, 6):
        bench.move_to_next()
        bench.after(results)
    server.by_default = accepted()
    bench.move_to_next()
    bench.settle()
    assert bench.states == ["held"] * 5 + ["sent"] * 2
    bench.delivery.stop(5)


def test_a_key_that_is_refused_where_a_channel_was_is_reported_as_such(server: Peer, channels: Bench) -> None:
    server.answers(NO_CHANNEL)
    server.by_default = KEY_INVALID
    channels.offer(channels.row("1", channel="15551"))
    channels.after(1)
    channels.move_to_next()
    channels.after(2)
    assert [alarm.name for alarm in channels.alarms.current()] == ["delivery-held"]
    server.by_default = accepted()
    channels.move_to_next()
    channels.settle()
    assert channels.states == ["held", "held", "sent"]
    assert channels.alarms.current() == []


# -- an address that takes nothing

NOT_FOUND = refused("not_found", 404, "there is no such endpoint")
FORBIDDEN = refused("RECIPIENT_BLOCKED", 403)


@pytest.mark.parametrize("given", [NOT_FOUND, answer(404, b"<html>"), answer(302, b""), refused("NO_PLAN", 402)])
def test_an_address_that_takes_nothing_holds_what_goes_there_and_gives_nothing_up(
    server: Peer, bench: Bench, given: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    server.by_default = given
    bench.offer(*[bench.row(f"49{n}") for n in range(20)])
    pauses = []
    for _ in range(12):
        bench.settle()
        pauses.append(round(bench.move_to_next()))
    assert pauses[-1] == 300 and pauses == sorted(pauses)
    assert set(bench.states) == {"held"}
    (alarm,) = (alarm for alarm in bench.alarms.current() if alarm.name == "address-held")
    assert f"POST {server.url}/external-api/inbox/send-message (" in alarm.advice
    assert caplog.text.count("takes nothing at its address") == 1
    bench.move(12 * 3600)  # far beyond the time for which a reply is tried
    bench.settle()
    server.by_default = accepted()
    bench.move(300)
    bench.settle()
    assert bench.states.count("sent") == 20
    assert bench.alarms.current() == []


@pytest.mark.parametrize("given", [NOT_FOUND, FORBIDDEN])
def test_an_answer_like_that_to_one_contact_alone_is_about_its_message(
    server: Peer, bench: Bench, given: Answer
) -> None:
    server.by_default = to_one(server, "1", given)
    bench.offer(bench.row("1"), bench.row("1", message=TextMessage("later")))
    bench.after(1)
    for _ in range(10):
        bench.move_to_next()
        bench.settle()
    assert set(bench.states) == {"held"}
    assert [alarm.name for alarm in bench.alarms.current()] == ["address-held"]
    bench.offer(bench.row("2"))
    bench.settle()
    assert (bench.states[-1], bench.results[-1].row.contact) == ("sent", "2"), "it waits for nobody"
    assert bench.alarms.current() == []
    bench.move(120)
    bench.settle()
    (given_up, *_) = [result for result in bench.results if result.state == "failed"]
    assert (given_up.row.contact, given_up.refused) == ("1", True)


def test_where_the_gateway_takes_the_messages_of_others_a_blocked_contact_costs_them_one_answers_time(
    server: Peer,
) -> None:
    bench = Bench(server, most=1)  # what was under way when the address was refused would say nothing about it
    server.by_default = to_one(server, "1", FORBIDDEN)
    bench.offer(*[bench.row(str(contact)) for contact in (1, 2, 3, 2, 3)])
    bench.settle()
    assert [result.state for result in bench.results if result.row.contact == "1"] == ["held"]
    assert bench.states.count("sent") == 4
    assert bench.alarms.current() == []
    bench.move_to_next()
    bench.settle()
    assert bench.states[-1] == "failed"
    bench.delivery.stop(5)


def test_an_address_that_takes_no_contact_changes_holds_up_no_message(server: Peer, bench: Bench) -> None:
    server.by_default = to_one(server, "7", NOT_FOUND)
    bench.offer(bench.row("7", effect=CONTACT_OF, priority=SYNC))
    for results in (1, 2):
        assert bench.after(results).state == "held"
        bench.move_to_next()
        bench.settle()
    assert [(alarm.name, alarm.about) for alarm in bench.alarms.current()] == [("address-held", "contact changes")]
    bench.offer(bench.row("8"))
    bench.settle()
    assert bench.states[-1] == "sent"


def test_what_is_refused_for_the_limits_in_between_does_not_make_an_address_right(server: Peer, bench: Bench) -> None:
    server.answers(NOT_FOUND, NOT_FOUND, refused(LIMITED, 429), NOT_FOUND, NOT_FOUND)
    bench.offer(bench.row("1"))
    for results in range(1, 7):
        assert bench.after(results).state in ("held", "retry", "sent")
        if results < 6:
            bench.move_to_next()
    assert bench.states[-1] == "sent"


# -- starting and stopping


def test_stop_waits_for_what_is_in_flight_and_leaves_the_rest(server: Peer) -> None:
    bench = Bench(server, most=1)
    arrived, go_on = threading.Event(), threading.Event()

    def held(connection: Any) -> bool:
        arrived.set()
        go_on.wait(20)
        return accepted()(connection)

    server.by_default = held
    bench.offer(bench.row("1"), bench.row("2"))
    assert arrived.wait(20)
    assert not bench.delivery.idle()
    bench.delivery.end()  # as `stop` begins: from then on the answer may come
    go_on.set()
    bench.delivery.stop(20)
    assert [(result.row.id, result.state) for result in bench.results] == [(1, "sent")]


def test_what_comes_back_after_stop_gave_up_waiting_is_not_reported_and_may_have_been_sent(server: Peer) -> None:
    bench = Bench(server)
    arrived, go_on, ended = threading.Event(), threading.Event(), threading.Event()

    def held(connection: Any) -> bool:
        arrived.set()
        go_on.wait(20)
        accepted()(connection)
        ended.set()
        return True

    server.by_default = held
    bench.offer(bench.row())
    assert arrived.wait(20)
    bench.delivery.stop(0)
    go_on.set()
    assert ended.wait(20)
    bench.delivery.stop(20)
    assert [(result.state, result.unclear) for result in bench.results[:1]] == [("retry", True)]
    assert "sent" not in bench.states


def test_a_delivery_that_was_never_started_stops(server: Peer) -> None:
    clock = MovableClock(NOON)
    alarms = Alarms(clock)
    gateway = Gateway(server.url, "k")
    delivery = Delivery(
        gateway,
        clock,
        RateLimiter(60, 10_000),
        lambda r: None,
        lambda c: None,
        alarms=alarms,
        contact_limiter=ContactLimiter(alarms, 60, 10_000),
        replaced=lambda c: None,
        opted_out=lambda c: False,
        claim=lambda row, done: None,
    )
    delivery.stop(1)


def test_no_contact_and_no_text_reaches_the_log(server: Peer, bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server.answers(reset, KEY_INVALID, refused("VALIDATION_INVALID_PHONE", 422, "4917 is no number"))
    bench.offer(
        bench.row("4917", message=TextMessage("my secret")), bench.row("4917", message=TextMessage("my secret"))
    )
    bench.after(1)
    bench.move_to_next()
    bench.after(2)
    bench.move_to_next()
    bench.after(4)
    assert "4917" not in caplog.text
    assert "my secret" not in caplog.text


# -- priorities

CONTACT_OF = PutContact("Ann", "ann@shop.example", ("vip",))
PUT = answer(200, b'{"success": true, "data": {"id": 17}}')


def test_a_reply_goes_before_a_campaign_that_waited_longer(server: Peer) -> None:
    bench = Bench(server, limits=(2, 100), reserve=0)
    bench.offer(bench.row("1"), bench.row("2"))
    bench.after(2)
    bench.offer(bench.row("3", priority=CAMPAIGN), bench.row("3", priority=CAMPAIGN))
    bench.offer(bench.row("3"), bench.row("4"))
    bench.nothing_more(2)
    bench.move_to_next()
    bench.settle()
    bench.nothing_more(4)
    bench.move_to_next()
    assert bench.after(5).row.priority == CAMPAIGN
    assert {result.row.id for result in bench.results[2:4]} == {5, 6}
    bench.delivery.stop(5)


def test_a_campaigns_message_that_is_tried_again_holds_up_no_reply_to_its_contact(server: Peer, bench: Bench) -> None:
    server.answers(reset)
    bench.offer(bench.row("1", priority=CAMPAIGN))
    assert bench.after(1).state == "retry"
    bench.offer(bench.row("1"))
    assert bench.after(2).row.priority == REPLY


def test_a_campaigns_unclear_message_is_never_repeated_without_a_key_whatever_is_set(server: Peer) -> None:
    bench = without_keys(server, repeat_unclear=True)
    server.answers(reset)
    bench.offer(bench.row(message=BUTTONS, priority=CAMPAIGN))
    assert bench.after(2).state == "unknown"
    bench.delivery.stop(5)


def test_an_opt_out_counts_until_the_moment_of_sending(server: Peer, bench: Bench) -> None:
    bench.offer(bench.row("1", priority=CAMPAIGN, attempts=1, due_at=NOON + timedelta(seconds=9)), bench.row("1"))
    assert bench.after(1).state == "sent"
    bench.opted_out.add("1")
    bench.move_to_next()
    assert bench.after(2).state == "opted_out"
    bench.offer(bench.row("1"))
    assert bench.after(3).state == "sent"
    assert len(server.requests) == 2


def test_the_gateway_is_told_of_a_contact(server: Peer, bench: Bench) -> None:
    server.answers(PUT)
    bench.offer(bench.row("49", effect=CONTACT_OF, priority=SYNC))
    assert bench.after(1).state == "sent"
    body = server.requests[0].body
    assert (body["phone"], body["name"], body["tags"]) == ("49", "Ann", ["vip"])


def test_what_is_old_news_of_a_contact_is_not_told(server: Peer, bench: Bench) -> None:
    due_at = NOON + timedelta(seconds=5)
    server.answers(PUT)
    newer = PutContact("Ann", None, ("vip", "regular"))
    bench.offer(
        *[bench.row("49", effect=effect, priority=SYNC, attempts=1, due_at=due_at) for effect in (CONTACT_OF, newer)]
    )
    bench.move_to_next()
    bench.settle()
    bench.after(2)
    assert bench.states == ["superseded", "sent"]
    assert [request.body["tags"] for request in server.requests] == [["vip", "regular"]]


def test_telling_of_a_contact_can_be_repeated(server: Peer, bench: Bench) -> None:
    server.answers(reset, PUT)
    bench.offer(bench.row("49", effect=CONTACT_OF, priority=SYNC))
    assert bench.after(1).state == "retry"
    bench.move_to_next()
    assert bench.after(2).state == "sent"
    assert bench.claimed == []


# -- what a command asks for itself


def test_a_borrowed_permit_counts_and_gives_back_what_the_answer_said(bench: Bench) -> None:
    with bench.delivery.permit(1) as permit:
        permit.rate = Rate(remaining=0, resets_at=NOON + timedelta(seconds=20))
    bench.offer(bench.row())
    bench.nothing_more(0)
    assert bench.move_to_next() == 20
    bench.after(1)


def test_a_request_that_never_left_gives_its_permit_back(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    with pytest.raises(GatewayNotReached), bench.delivery.permit(1):
        raise GatewayNotReached("no connection")
    bench.offer(bench.row())
    bench.after(1)
    bench.delivery.stop(5)


def test_what_the_gateway_refuses_for_its_limits_pauses_everybody(bench: Bench) -> None:
    with pytest.raises(GatewayRateLimited), bench.delivery.permit(1):
        raise GatewayRateLimited("slow down", rate=Rate(retry_after=timedelta(seconds=30)))
    bench.offer(bench.row())
    bench.nothing_more(0)
    assert bench.move_to_next() == 30
    bench.after(1)


def test_when_there_is_no_room_in_time_a_command_is_told_so(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    bench.offer(bench.row())
    bench.after(1)
    with pytest.raises(NoPermit, match="no room for this within 0 s"), bench.delivery.permit(0):
        raise AssertionError("there was a permit")
    bench.delivery.stop(5)


def test_a_command_waits_no_longer_than_until_there_is_room(server: Peer) -> None:
    bench = Bench(server, clock=MovableClock(NOON, running=True), limits=(1, 100))
    bench.offer(bench.row())
    bench.after(1)
    bench.move(59.8)
    began = monotonic()
    with bench.delivery.permit(20):
        assert monotonic() - began < 15
    bench.delivery.stop(5)


def test_a_command_that_waits_goes_before_a_campaign(server: Peer) -> None:
    bench = Bench(server, limits=(1, 100))
    bench.offer(bench.row("1"))
    bench.after(1)
    bench.offer(bench.row("2", priority=CAMPAIGN))
    had = threading.Event()

    def ask() -> None:
        with bench.delivery.permit(20):
            had.set()

    asking = threading.Thread(target=ask)
    asking.start()
    while not bench.delivery._permits.waiting:
        asking.join(0.001)
    bench.move(61)
    assert had.wait(20)
    asking.join()
    assert len(bench.results) == 1
    bench.move(61)
    bench.settle()
    assert bench.after(2).row.priority == CAMPAIGN
    bench.delivery.stop(5)
