"""Webhook registration by the API."""

from collections.abc import Callable
from typing import Any

import pytest

from bot.testing.emulator import EVENTS, Emulator
from tests.testing.emulator.conftest import Caller, Receiver

PATH = "/v1/webhooks"
HOOK = {"name": "Bot", "url": "https://bot.example/webhook", "events": ["message.inbound"], "secret": "s3cret"}
Refused = Callable[..., dict[str, Any]]


def test_a_registration_shows_its_secret(api: Caller, emulator: Emulator) -> None:
    answer = api.post(PATH, HOOK).json()
    assert answer["message"]
    assert answer["data"] == {
        "id": 1,
        "name": "Bot",
        "url": "https://bot.example/webhook",
        "events": ["message.inbound"],
        "is_active": True,
        "created_at": "2030-05-12T12:00:00+00:00",
        "secret": "s3cret",
    }
    assert "secret" not in emulator.webhooks.registered[0].record()
    assert emulator.unknown_fields == set()


def test_a_secret_is_made_when_none_is_given(api: Caller, emulator: Emulator) -> None:
    first, second = (api.post(PATH, {**HOOK, "secret": None}).json()["data"]["secret"] for _ in range(2))
    assert len(first) >= 32
    assert first != second
    assert [webhook.secret for webhook in emulator.webhooks.registered] == [first, second]


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        ({"name": None}, "VALIDATION_MISSING_FIELD", "name"),
        ({"url": None}, "VALIDATION_MISSING_FIELD", "url"),
        ({"url": "http://bot.example/webhook"}, "VALIDATION_INVALID_URL", "url"),
        ({"url": "https://"}, "VALIDATION_INVALID_URL", "url"),
        ({"events": None}, "VALIDATION_MISSING_FIELD", "events"),
        ({"events": []}, "VALIDATION_MISSING_FIELD", "events"),
        ({"events": "message.inbound"}, "VALIDATION_INVALID_FIELD", "events"),
        ({"events": ["message.received"]}, "VALIDATION_INVALID_FIELD", "events"),
        ({"secret": 5}, "VALIDATION_INVALID_FIELD", "secret"),
    ],
)
def test_a_registration_is_checked(refused: Refused, change: dict[str, Any], code: str, field: str) -> None:
    found = refused({**HOOK, **change}, PATH)
    assert (found["status"], found["code"], found["field"]) == (422, code, field)


def test_every_event_of_the_list_can_be_subscribed_to(api: Caller) -> None:
    assert api.post(PATH, {**HOOK, "events": list(EVENTS)}).ok


def test_a_public_address_is_reached_through_a_tunnel() -> None:
    receiver = Receiver()
    local = receiver.url.removesuffix("/webhook")
    with Emulator(tunnel={"https://bot.example": local}) as emulator:
        Caller(emulator).post(PATH, HOOK)
        emulator.receive("491510000001", "Hi")
        assert emulator.wait_until(lambda: len(emulator.acknowledged) == 1)
    receiver.stop()
    assert len(receiver.seen) == 1


def test_without_a_tunnel_nothing_leaves_this_machine(api: Caller, emulator: Emulator) -> None:
    api.post(PATH, HOOK)
    emulator.receive("491510000001", "Hi")
    assert emulator.wait_until(emulator.idle)
    assert emulator.counts["tries unanswered"] == 1
    for url in ("https://bot.example/webhook", "http://192.0.2.1/webhook", "bot"):
        with pytest.raises(ValueError, match="this machine"):
            emulator.subscribe(url)
