"""The client, delivery and the webhook's reader against the emulator, which was written from the specification alone."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.events import HandoffClosed, MessageReceived, Tapped
from bot.core.messages import (
    Buttons,
    Choice,
    LinkButton,
    ListMessage,
    LocationMessage,
    MediaMessage,
    Message,
    Section,
    TemplateMessage,
    TextMessage,
)
from bot.services.gateway.webhook_events import Verdict, envelope, read, verify
from bot.testing.emulator import API_KEY, SECRET, Emulator, MessageTemplate, TemplateButton
from tests.runtime.delivering import NOON, Bench
from tests.services.gateway.peer import Request, peer

CONTACT = "491510000001"
PLAIN: list[Message] = [
    TextMessage("Hello", preview_url=True),
    MediaMessage("image", "https://shop.example/a.png", "A picture"),
    MediaMessage("audio", "https://shop.example/a.mp3"),
    MediaMessage("video", "https://shop.example/a.mp4", "A film"),
    MediaMessage("document", "https://shop.example/a.pdf", "A bill", "bill.pdf"),
    LocationMessage(52.5, 13.4, "Here", "Somewhere 1"),
]
RICH: list[Message] = [
    Buttons("Sure?", (Choice("y", "Yes"), Choice("n", "No")), "Delete"),
    LinkButton("Look", "Open", "https://shop.example", "Head", "Foot"),
    ListMessage("Pick", "Show", (Section("All", (Choice("1", "One", "first"), Choice("2", "Two"))),), "Foot"),
    TemplateMessage(
        "shipped",
        "en",
        {"type": "text", "text": "17"},
        ({"type": "text", "text": "Ann"},),
        ("thanks",),
        ((1, "AB1"),),
    ),
]
SHIPPED = MessageTemplate(
    "shipped",
    "en",
    header="Order {{1}}",
    body="Hello {{1}}",
    buttons=(TemplateButton("quick_reply", "Thanks"), TemplateButton("url", "Track", "https://shop.example/{{1}}")),
)


class Emulated(Bench):
    """A delivery to an emulator on the same clock, with a contact who has just written. ``per_minute`` is the gateway's own limit."""

    def __init__(
        self, *, limits: tuple[int, int] = (1000, 10_000), per_minute: int | None = None, **options: Any
    ) -> None:
        clock = MovableClock(NOON)
        self.emulator = Emulator(clock, per_minute=per_minute or limits[0], per_day=limits[1]).start()
        super().__init__(self.emulator.url, key=API_KEY, clock=clock, limits=limits, **options)
        self.emulator.templates.add(SHIPPED)
        self.emulator.receive(CONTACT, "hello")

    @property
    def sent(self) -> list[str]:
        return [message.body["text"]["body"] for message in self.emulator.sent]

    def close(self) -> None:
        self.delivery.stop(5)
        self.emulator.stop()
        assert self.emulator.unknown_fields == set()
        assert self.emulator.reused_keys == []


@pytest.fixture
def bench() -> Iterator[Emulated]:
    made = Emulated()
    yield made
    made.close()


def test_every_message_is_taken_by_the_first_endpoint(bench: Emulated) -> None:
    bench.offer(*[bench.row(CONTACT, message) for message in PLAIN + RICH])
    bench.after(len(PLAIN + RICH))
    assert set(bench.states) == {"sent"}
    assert {sent.endpoint for sent in bench.emulator.sent} == {"send-message"}
    assert all(result.message_ids for result in bench.results)


@pytest.mark.parametrize("refusals", [1, 2])
def test_every_rich_message_finds_the_endpoint_that_takes_it(bench: Emulated, refusals: int) -> None:
    types = frozenset({"interactive", "template"})
    bench.emulator.behaviour.send_message_refuses = types
    if refusals == 2:
        bench.emulator.behaviour.chat_messages_refuses = types
    bench.offer(*[bench.row(CONTACT, message) for message in RICH])
    bench.after(len(RICH))
    assert set(bench.states) == {"sent"}
    endpoints = {sent.endpoint for sent in bench.emulator.sent}
    assert endpoints == ({"chat/messages"} if refusals == 1 else {"interactive", "send-template-message"})
    assert len(bench.claimed) == (0 if refusals == 1 else len(RICH))


@pytest.mark.parametrize(
    "fault", ["reset_before", "reset_after", "error_before", "error_after", "truncated", "garbage"]
)
@pytest.mark.parametrize("repeated_key", ["replay", "conflict"])
def test_each_message_arrives_once_and_in_order_whatever_fails(bench: Emulated, fault: str, repeated_key: Any) -> None:
    bench.emulator.behaviour.repeated_key = repeated_key
    bench.emulator.faults.add(fault, count=3)
    bench.offer(*[bench.row(CONTACT, TextMessage(f"{n}")) for n in range(4)])
    results = 1
    while bench.reported(results).row.id < 4 or bench.results[results - 1].state == "retry":
        if bench.results[results - 1].state == "retry":
            bench.move_to_next()
        results += 1
    bench.nothing_more(results)
    assert bench.states.count("sent") == 4
    assert bench.sent == ["0", "1", "2", "3"]


def test_a_time_out_after_accepting_sends_nothing_twice() -> None:
    bench = Emulated(seconds=0.3)
    bench.emulator.faults.add("timeout", count=1, seconds=20)
    bench.offer(bench.row(CONTACT, TextMessage("once")))
    results = 1
    while bench.after(results).state == "retry":  # on a busy machine the next tries may take too long as well
        bench.move_to_next()
        results += 1
    assert results > 1 and bench.states[-1] == "sent"
    assert bench.sent == ["once"]
    bench.close()


def test_an_error_that_the_gateway_keeps_for_the_key_ends_as_unknown(bench: Emulated) -> None:
    bench.emulator.behaviour.repeated_key = "stored_error"
    bench.emulator.faults.add("error_before", count=1)
    bench.offer(bench.row(CONTACT))
    results = 1
    while bench.reported(results).state == "retry":
        bench.move_to_next()
        results += 1
    assert bench.results[-1].state in ("unknown", "failed")
    assert bench.emulator.sent == []


@pytest.mark.parametrize("minute_window", ["sliding", "fixed"])
def test_the_gateway_never_has_to_refuse_for_its_limits_and_none_is_wasted(minute_window: Any) -> None:
    bench = Emulated(limits=(60, 10_000))
    bench.emulator.behaviour.minute_window = minute_window
    bench.emulator.behaviour.window = "open"
    bench.offer(*[bench.row(f"49151000000{n % 8}", TextMessage(f"{n}")) for n in range(200)])
    start = bench.clock.now()
    for sent in (60, 120, 180, 200):
        bench.after(sent)
        if sent < 200:
            bench.move_to_next()
    assert set(bench.states) == {"sent"}
    assert sorted(bench.sent, key=int) == [f"{n}" for n in range(200)]
    assert bench.clock.now() - start < timedelta(minutes=3, seconds=1)
    bench.close()


@pytest.mark.parametrize("retry_after", ["seconds", "date"])
def test_a_limit_lower_than_the_settings_is_obeyed(retry_after: Any) -> None:
    bench = Emulated(limits=(60, 10_000))
    bench.emulator.behaviour.retry_after = retry_after
    bench.emulator.faults.add("rate_limited", count=1, seconds=30)
    bench.offer(bench.row(CONTACT))
    assert bench.after(1).state == "retry"
    assert 30 <= bench.move_to_next() <= 31
    assert bench.after(2).state == "sent"
    bench.close()


@pytest.mark.parametrize("minute_window", ["sliding", "fixed"])
def test_a_lower_limit_is_remembered_over_its_reset(minute_window: Any) -> None:
    bench = Emulated(limits=(60, 10_000), per_minute=20)
    bench.emulator.behaviour.minute_window = minute_window
    bench.offer(bench.row(CONTACT))
    bench.after(1)
    for minute in range(1, 4):
        bench.move(90)
        bench.emulator.behaviour.window = "open"
        bench.offer(*[bench.row(f"4917000000{n:02}") for n in range(25)])
        bench.settle()
        assert bench.emulator.counts.get("answered 429", 0) == 0, f"minute {minute}"
    bench.close()


@pytest.mark.parametrize("said", ["86400", "-1", "later", "NaN", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_an_absurd_retry_after_costs_a_quarter_of_an_hour_at_most(said: str) -> None:
    bench = Emulated(limits=(60, 10_000))
    bench.emulator.faults.add("rate_limited", count=1, headers={"Retry-After": said})
    bench.offer(bench.row(CONTACT))
    assert bench.after(1).state == "retry"
    assert bench.move_to_next() <= 900
    bench.settle()
    if bench.delivery.next_due() is not None:
        bench.move_to_next()
        bench.settle()
    assert len(bench.sent) == 1
    assert bench.clock.now() - NOON < timedelta(seconds=992)
    bench.close()


def test_headers_that_say_none_are_left_for_ever_stop_nobody(bench: Emulated) -> None:
    none_left = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}
    bench.emulator.faults.add("headers", headers=none_left)
    bench.offer(*[bench.row(CONTACT) for _ in range(5)])
    bench.after(1)
    assert bench.move_to_next() == 60
    bench.after(5)
    assert set(bench.states) == {"sent"}


def test_an_inactive_channel_holds_its_own_messages_alone() -> None:
    bench = Emulated(channels={"15550000001": "channel-1", "15550000009": "channel-9"}, channel_id="channel-1")
    bench.offer(bench.row(CONTACT, channel="15550000009"), bench.row(CONTACT))
    bench.settle()
    assert sorted(bench.states) == ["held", "sent"]
    assert [alarm.about for alarm in bench.alarms.current()] == ["channel-9"]
    bench.close()


def test_a_window_that_the_gateway_finds_closed_is_answered_with_the_template(bench: Emulated) -> None:
    stranger = "491510000002"
    instead = TemplateMessage("shipped", "en", *_filled())
    bench.offer(bench.row(stranger, TextMessage("Hello"), instead=instead), bench.row(stranger, instead=instead))
    bench.after(2)
    assert bench.states == ["replaced", "superseded"]
    assert [sent.type for sent in bench.emulator.sent] == ["template"]


def _filled() -> tuple[Any, ...]:
    return {"type": "text", "text": "17"}, ({"type": "text", "text": "Ann"},), (), ((1, "AB1"),)


def test_a_wrong_key_holds_everything() -> None:
    bench = Emulated()
    bench.emulator.faults.add("unauthorized", count=2)
    bench.offer(bench.row(CONTACT))
    assert bench.after(1).state == "held"
    bench.move_to_next()
    assert bench.after(2).state == "held"
    bench.move_to_next()
    assert bench.after(3).state == "sent"
    bench.close()


# -- the webhook


def delivered(requests: list[Request], now: datetime) -> list[Any]:
    """Judge deliveries as the web process does, and read them as the engine does."""
    events = []
    for request in requests:
        stamp, signature = request.headers["x-service-timestamp"], request.headers["x-service-signature"]
        assert verify([SECRET], stamp, signature, request.raw, now, timedelta(minutes=5)) is Verdict.GENUINE
        assert verify(["other"], stamp, signature, request.raw, now, timedelta(minutes=5)) is Verdict.FORGED
        assert envelope(request.raw).readable
        events.append(read(request.raw, now))
    return events


@pytest.mark.parametrize("prefix", [True, False])
@pytest.mark.parametrize("sample_names", [True, False])
def test_the_gateways_events_are_genuine_and_understood(bench: Emulated, prefix: bool, sample_names: bool) -> None:
    bench.emulator.behaviour.signature_prefix = prefix
    bench.emulator.behaviour.sample_code_names = sample_names
    bench.emulator.behaviour.plus_in_events = True
    bench.emulator.behaviour.coordinates = "object"
    bench.offer(bench.row(CONTACT, RICH[0]))
    bench.after(1)
    with peer() as receiver:
        bench.emulator.subscribe(receiver.url + "/webhook")
        bench.emulator.receive(CONTACT, "Hi")
        receiver.wait_for_requests(1)
        bench.emulator.receive(CONTACT, "look", kind="image")
        receiver.wait_for_requests(2)
        bench.emulator.receive(CONTACT, kind="location", location={"latitude": 52.5, "longitude": 13.4})
        receiver.wait_for_requests(3)
        bench.emulator.tap(CONTACT, "y")
        receiver.wait_for_requests(4)
        text, image, place, tap = delivered(receiver.requests, bench.clock.now())
    assert isinstance(text, MessageReceived) and isinstance(image, MessageReceived)
    assert (text.contact, text.text, text.sent_at) == (CONTACT, "Hi", NOON)
    assert image.media is not None and (image.media.kind, image.media.caption) == ("image", "look")
    assert isinstance(place, MessageReceived) and place.location is not None
    assert (place.location.latitude, place.location.longitude) == (52.5, 13.4)
    assert isinstance(tap, Tapped) and (tap.contact, tap.reply, tap.title) == (CONTACT, "y", "Yes")


@pytest.mark.parametrize("named", [True, False])
def test_a_resolved_conversation_is_understood(bench: Emulated, named: bool) -> None:
    bench.emulator.behaviour.resolved_names_contact = named
    with peer() as receiver:
        bench.emulator.subscribe(receiver.url + "/webhook")
        bench.emulator.resolve(CONTACT)
        receiver.wait_for_requests(1)
        (closed,) = delivered(receiver.requests, bench.clock.now())
    assert isinstance(closed, HandoffClosed)
    assert (closed.contact == CONTACT) is named
    assert closed.conversation is not None
