"""The register of what is not sent or not taken."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.alarms import Alarms
from bot.core.clock import MovableClock

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)


def test_an_alarm_is_logged_when_it_begins_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    alarms = Alarms(MovableClock(NOON))
    alarms.report("disk", "the disk is full", "make room")
    alarms.report("disk", "the disk is still full", "make room")
    assert [record.getMessage() for record in caplog.records] == ["the disk is full (make room)"]
    alarms.clear("disk")
    alarms.clear("disk")
    assert [record.getMessage() for record in caplog.records[1:]] == ["over: the disk is still full"]
    assert alarms.current() == []


def test_each_thing_that_an_alarm_is_about_has_its_own() -> None:
    clock = MovableClock(NOON)
    alarms = Alarms(clock)
    alarms.report("channel", "it is unknown", "see the account", "b")
    clock.move(timedelta(minutes=1))
    alarms.report("channel", "it is unknown", "see the account", "a")
    alarms.report("channel", "it is inactive", "see the account", "b")
    assert [(alarm.about, alarm.what, alarm.since) for alarm in alarms.current()] == [
        ("b", "it is inactive", NOON),
        ("a", "it is unknown", NOON + timedelta(minutes=1)),
    ]
    alarms.clear("channel", "b")
    assert [alarm.about for alarm in alarms.current()] == ["a"]
