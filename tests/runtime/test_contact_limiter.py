"""The share of one contact: of a minute, and of a day; the others are not touched by it."""

from datetime import UTC, datetime

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.runtime.rate_limiter import ContactLimiter, share_of

DAY = 86_400.0


@pytest.fixture
def alarms() -> Alarms:
    return Alarms(MovableClock(datetime(2030, 5, 1, tzinfo=UTC)))


def spend(limiter: ContactLimiter, contact: str, now: float, most: int = 10_000) -> int:
    """Make every request that the contact's share leaves now; how many there were."""
    count = 0
    while count < most and limiter.free_at(contact, now) <= now:
        limiter.count(contact, now)
        count += 1
    return count


@pytest.mark.parametrize(("per_day", "share"), [(10_000, 200), (200, 40), (2000, 40), (1_000_000, 20_000), (30, 30)])
def test_where_nothing_is_set_it_is_two_percent_but_some_tens(per_day: int, share: int) -> None:
    assert share_of(per_day) == share


def test_of_a_minute_a_contact_gets_a_third_and_it_slides(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 60, 10_000)
    assert [spend(limiter, "1", 0), spend(limiter, "1", 1), spend(limiter, "2", 1)] == [20, 0, 20]
    free = limiter.free_at("1", 1)
    assert 60 < free <= 61
    assert [spend(limiter, "1", free - 0.01), spend(limiter, "1", free)] == [0, 20]
    assert alarms.current() == []


@pytest.mark.parametrize(("per_minute", "share"), [(60, 20), (10, 5), (3, 3), (1, 1)])
def test_a_small_limit_leaves_room_for_a_reply_of_some_messages(alarms: Alarms, per_minute: int, share: int) -> None:
    assert spend(ContactLimiter(alarms, per_minute, 10_000), "1", 0) == share


def test_of_a_day_a_contact_gets_its_share_and_it_slides(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 1000, 10_000, 50)
    assert [spend(limiter, "1", 0, 30), spend(limiter, "1", 40_000), spend(limiter, "2", 40_000)] == [30, 20, 50]
    free = limiter.free_at("1", 50_000)
    assert DAY < free <= DAY + 900
    assert spend(limiter, "1", free) == 30


def test_requests_of_before_a_restart_count(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 60, 10_000, 50, [(-3600.0, "1", 45), (-DAY - 901, "2", 45), (-7200.0, "3", 50)])
    assert [spend(limiter, contact, 0) for contact in ("1", "2", "3")] == [5, 20, 0]


def test_the_alarm_counts_the_contacts_and_names_none(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 1000, 10_000, 5)
    for now, contact in ((0, "628111"), (50_000, "628222")):
        spend(limiter, contact, now)
        [alarm] = alarms.current()
    assert alarm.name == "contact-limit"
    assert alarm.what.startswith("2 contacts have used up their share of the day, 5 requests")
    assert "628" not in alarm.what + alarm.advice + alarm.about
    limiter.refresh(DAY + 1000)
    assert alarms.current()[0].what.startswith("1 contact has used up its share")
    limiter.refresh(50_000 + DAY + 1000)
    assert alarms.current() == []


def test_of_what_is_given_up_the_first_is_told_apart_until_there_is_a_share_again(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 1000, 10_000, 5)
    spend(limiter, "1", 0)
    assert [limiter.give_up("1"), limiter.give_up("1"), limiter.give_up("2")] == [True, False, True]
    limiter.refresh(DAY + 1000)
    assert limiter.give_up("1")


def test_ten_thousand_contacts_are_forgotten_after_a_day(alarms: Alarms) -> None:
    limiter = ContactLimiter(alarms, 60, 10_000)
    for contact in range(10_000):
        limiter.count(str(contact), float(contact))
    limiter.count("1", 2 * DAY)
    assert limiter._day._totals == {"1": 1}
    assert len(limiter._day._slots) == 1
