"""Idempotency keys, and every behaviour of a repeated one."""

from datetime import timedelta

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from tests.testing.emulator.conftest import Caller

TO = "491510000001"
BODY = {"to": TO, "type": "text", "text": {"body": "Hello"}}


@pytest.mark.parametrize("path", ["/inbox/send-message", "/chat/messages"])
def test_a_repeat_gets_the_first_answer_again_and_sends_nothing(api: Caller, emulator: Emulator, path: str) -> None:
    first = api.post(path, BODY, Idempotency_Key="k1")
    again = api.post(path, BODY, Idempotency_Key="k1")
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    assert len(emulator.sent) == 1
    assert emulator.counts["repeated keys"] == 1


def test_another_key_or_none_is_another_message(api: Caller, emulator: Emulator) -> None:
    api.send(BODY, Idempotency_Key="k1")
    api.send(BODY, Idempotency_Key="k2")
    api.send(BODY)
    api.send(BODY)
    assert [sent.key for sent in emulator.sent] == ["k1", "k2", None, None]


def test_a_repeat_can_be_a_conflict(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.repeated_key = "conflict"
    api.send(BODY, Idempotency_Key="k1")
    again = api.send(BODY, Idempotency_Key="k1")
    assert (again.status_code, again.json()["error"]["code"]) == (409, "conflict")
    assert len(emulator.sent) == 1


def test_a_repeat_can_be_taken_as_new(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.repeated_key = "new"
    first, again = (api.send(BODY, Idempotency_Key="k1").json()["data"] for _ in range(2))
    assert first["messageId"] != again["messageId"]
    assert [sent.key for sent in emulator.sent] == ["k1", "k1"]


def test_keys_can_be_ignored(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.repeated_key = "ignored"
    for _ in range(2):
        assert api.send(BODY, Idempotency_Key="k1").ok
    assert [sent.key for sent in emulator.sent] == [None, None]


@pytest.mark.parametrize(("kind", "accepted"), [("error_before", 0), ("error_after", 1)])
def test_a_bare_error_can_be_stored_whether_it_was_accepted_or_not(
    api: Caller, emulator: Emulator, kind: str, accepted: int
) -> None:
    emulator.behaviour.repeated_key = "stored_error"
    emulator.faults.add(kind, count=1, status=503)
    first, again = (api.send(BODY, Idempotency_Key="k1") for _ in range(2))
    assert (first.status_code, again.status_code, again.content) == (503, 503, first.content)
    assert len(emulator.sent) == accepted


def test_otherwise_the_repeat_of_an_accepted_error_gets_the_success(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("error_after", count=1)
    assert api.send(BODY, Idempotency_Key="k1").status_code == 500
    assert api.send(BODY, Idempotency_Key="k1").json()["data"]["messageId"] == emulator.sent[0].message_id
    assert len(emulator.sent) == 1


@pytest.mark.parametrize("mode", ["replay", "stored_error"])
@pytest.mark.parametrize("kind", ["rate_limited", "unauthorized"])
def test_a_request_that_never_reached_the_endpoint_leaves_its_key_unused(
    api: Caller, emulator: Emulator, mode: str, kind: str
) -> None:
    emulator.behaviour.change({"repeated_key": mode})
    emulator.faults.add(kind, count=1)
    assert not api.send(BODY, Idempotency_Key="k1").ok
    assert api.send(BODY, Idempotency_Key="k1").ok


def test_a_refused_send_leaves_its_key_unused(api: Caller, emulator: Emulator) -> None:
    assert api.send({**BODY, "to": "0151"}, Idempotency_Key="k1").status_code == 422
    assert api.send(BODY, Idempotency_Key="k1").ok


def test_a_key_is_new_again_after_its_time(api: Caller, emulator: Emulator, clock: MovableClock) -> None:
    emulator.behaviour.key_kept = timedelta(hours=1)
    api.send(BODY, Idempotency_Key="k1")
    clock.move(timedelta(minutes=59))
    api.send(BODY, Idempotency_Key="k1")
    assert len(emulator.sent) == 1
    clock.move(timedelta(minutes=1))
    api.send(BODY, Idempotency_Key="k1")
    assert len(emulator.sent) == 2


def test_a_key_with_another_body_is_recorded(api: Caller, emulator: Emulator) -> None:
    api.send(BODY, Idempotency_Key="k1")
    api.send(BODY, Idempotency_Key="k1")
    assert emulator.reused_keys == []
    api.send({**BODY, "text": {"body": "Other"}}, Idempotency_Key="k1")
    assert emulator.reused_keys == ["k1"]


def test_the_dedicated_endpoints_know_no_keys(api: Caller, emulator: Emulator) -> None:
    action = {"display_text": "Open", "url": "https://shop.example"}
    interactive = {"type": "cta_url", "body": {"text": "Look"}, "action": action}
    for _ in range(2):
        body = {"to": TO, "type": "interactive", "interactive": interactive}
        assert api.post("/v1/chat/interactive", body, Idempotency_Key="k1").ok
    assert [sent.key for sent in emulator.sent] == [None, None]
