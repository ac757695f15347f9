"""The rate-limit headers."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.services.gateway.gateway_answers import Rate, read_rate

NOW = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


def test_all_headers_are_read() -> None:
    headers = {"X-RateLimit-Remaining": "7", "X-RateLimit-Reset": str(int(NOW.timestamp())), "Retry-After": "2.5"}
    headers["X-RateLimit-Limit"] = "60"
    assert read_rate(headers) == Rate(7, NOW, timedelta(seconds=2.5), 60)


def test_what_is_not_said_is_none() -> None:
    assert read_rate({}) == Rate()


@pytest.mark.parametrize("text", ["", "many", "nan", "inf", "Wed, 99 May", "1e400", "\u0661x"])
def test_what_is_no_value_is_not_said(text: str) -> None:
    assert read_rate(dict.fromkeys(("X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"), text)) == Rate()


def test_a_reset_beyond_all_time_is_not_said() -> None:
    assert read_rate({"X-RateLimit-Reset": "1e300"}).resets_at is None


@pytest.mark.parametrize(
    "text",
    [
        "Fri, 31 Dec 9999 23:59:59 -2300",
        "Mon, 99999999999 Jan 2024 00:00:00 GMT",
        "Mon, 01 Jan 2024 00:00:00 +99999999999999999999",
    ],
)
def test_a_date_beyond_all_time_is_not_said(text: str) -> None:
    assert read_rate({"Retry-After": text}) == Rate()


@pytest.mark.parametrize("text", ["-1", "-86400"])
def test_what_is_negative_is_not_said(text: str) -> None:
    assert read_rate(dict.fromkeys(("X-RateLimit-Remaining", "X-RateLimit-Reset", "Retry-After"), text)) == Rate()


@pytest.mark.parametrize("text", ["90", "Wed, 01 May 2030 12:01:30 GMT"])
def test_retry_after_is_in_seconds_or_a_date(text: str) -> None:
    assert read_rate({"Retry-After": text}).wait(NOW) == 90


@pytest.mark.parametrize("text", ["0", "Wed, 01 May 2030 12:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"])
def test_a_time_that_has_come_asks_for_no_wait(text: str) -> None:
    assert read_rate({"Retry-After": text}).wait(NOW) is None


@pytest.mark.parametrize("text", ["1e12", "Wed, 01 May 2999 12:00:00 GMT"])
def test_nobody_asks_for_a_longer_wait_than_a_day(text: str) -> None:
    assert read_rate({"Retry-After": text}).wait(NOW) == 86_400
