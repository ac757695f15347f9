"""Rate limits: 60 a minute and 10,000 a day, over all endpoints, by the clock."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator import Emulator
from tests.testing.emulator.conftest import NOON, Caller


@pytest.fixture
def emulator(clock: MovableClock) -> Emulator:
    return Emulator(clock, per_minute=3, per_day=5)


@pytest.fixture
def api(emulator: Emulator):  # type: ignore[no-untyped-def]
    with emulator:
        yield Caller(emulator)


def test_the_default_is_60_a_minute(clock: MovableClock) -> None:
    with Emulator(clock) as emulator:
        caller = Caller(emulator)
        for left in range(59, -1, -1):
            response = caller.get("/contacts")
            assert response.status_code == 200
            assert response.headers["X-RateLimit-Limit"] == "60"
            assert response.headers["X-RateLimit-Remaining"] == str(left)
        assert caller.get("/contacts").status_code == 429


def test_all_endpoints_share_the_limit(api: Caller) -> None:
    api.get("/contacts")
    api.get("/inbox/template-list")
    api.text()
    response = api.post("/contacts", {})
    assert response.status_code == 429
    assert response.json()["error"]["code"] == "RATE_LIMIT_EXCEEDED"


def test_a_refusal_says_when_to_come_back(api: Caller, clock: MovableClock) -> None:
    api.get("/contacts")
    clock.move(timedelta(seconds=20))
    for _ in range(2):
        api.get("/contacts")
    response = api.get("/contacts")
    assert response.headers["Retry-After"] == "40"
    assert response.headers["X-RateLimit-Remaining"] == "0"
    assert int(response.headers["X-RateLimit-Reset"]) == int(NOON.timestamp()) + 60
    assert "40" in response.json()["error"]["message"]
    clock.move(timedelta(seconds=39))
    assert api.get("/contacts").status_code == 429
    clock.move(timedelta(seconds=1))
    assert api.get("/contacts").status_code == 200
    assert api.get("/contacts").status_code == 429


def test_refused_and_unauthorized_requests_take_nothing(api: Caller, clock: MovableClock) -> None:
    authorised = dict(api.headers)
    api.headers["Authorization"] = "Bearer wrong"
    for _ in range(5):
        assert api.get("/contacts").headers["X-RateLimit-Remaining"] == "3"
    api.headers = authorised
    assert api.get("/contacts").headers["X-RateLimit-Remaining"] == "2"


def test_the_minute_can_be_fixed(api: Caller, emulator: Emulator, clock: MovableClock) -> None:
    emulator.behaviour.minute_window = "fixed"
    clock.move(timedelta(seconds=50))
    for _ in range(3):
        assert api.get("/contacts").ok
    response = api.get("/contacts")
    assert (response.status_code, response.headers["Retry-After"]) == (429, "10")
    clock.move(timedelta(seconds=10))
    assert api.get("/contacts").ok


def use_up_the_day(api: Caller, clock: MovableClock) -> None:
    for _ in range(3):
        assert api.get("/contacts").ok
    clock.move(timedelta(minutes=1))
    for _ in range(2):
        assert api.get("/contacts").ok


def test_the_day_ends_at_midnight_utc(api: Caller, clock: MovableClock) -> None:
    use_up_the_day(api, clock)
    response = api.get("/contacts")
    assert response.status_code == 429
    assert response.headers["Retry-After"] == str(11 * 3600 + 59 * 60)
    assert response.headers["X-RateLimit-Limit"] == "3"
    clock.move_to(datetime(2030, 5, 13, tzinfo=UTC))
    assert api.get("/contacts").ok


def test_the_day_can_slide(api: Caller, emulator: Emulator, clock: MovableClock) -> None:
    emulator.behaviour.day_window = "sliding"
    use_up_the_day(api, clock)
    clock.move_to(datetime(2030, 5, 13, tzinfo=UTC))
    assert api.get("/contacts").status_code == 429
    clock.move_to(NOON + timedelta(days=1))
    assert api.get("/contacts").ok


def test_retry_after_can_be_a_date(api: Caller, emulator: Emulator) -> None:
    emulator.behaviour.retry_after = "date"
    for _ in range(3):
        api.get("/contacts")
    assert parsedate_to_datetime(api.get("/contacts").headers["Retry-After"]) == NOON + timedelta(minutes=1)
