"""Dates that flows write out, held against the clock."""

from datetime import UTC, datetime

import pytest

from bot.server.doctor import past_dates
from tests.talk import BOT, library_of

FLOW = """
flow: main
start: {otherwise: true}
steps:
  ask: {ask: Well?, schedule: {flow: later, AT}}
  pause: {wait: "WAIT"}
  end_it: {say: Bye., then: end}
---
flow: later
steps: {hello: {say: Hello again.}}
"""
NOW = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)  # 17:00 in Jakarta


def past(at: str = "after: 2h", wait: str = "2h") -> list[str]:
    library = library_of(FLOW.replace("AT", at).replace("WAIT", wait), BOT + "timezone: Asia/Jakarta\n")
    return [finding.what for finding in past_dates(library, NOW)]


@pytest.mark.parametrize(
    "at",
    [
        'at: "2030-05-06 17:01"',
        'at: "2030-05-06T16:00Z"',
        'at: "{{ now }}"',
        'every: day at 9:00, until: "2030-05-06"',
        "after: 2h",
    ],
)
def test_what_is_to_come_is_not_named(at: str) -> None:
    assert past(at) == []


@pytest.mark.parametrize(
    ("at", "named"),
    [
        ('at: "2030-05-06 17:00"', "flows/test.yml:5:49: 2030-05-06 17:00 is past"),
        ('every: day at 9:00, until: "2030-05-05"', "flows/test.yml:5:72: 2030-05-05 is past"),
    ],
)
def test_a_time_for_which_a_flow_is_scheduled_and_that_is_past_is_named(at: str, named: str) -> None:
    assert past(at) == [named]


def test_a_wait_until_a_time_that_is_past_is_named() -> None:
    assert past(wait="2030-05-06 16:59") == ["flows/test.yml:6:17: 2030-05-06 16:59 is past"]
    assert past(wait="2030-05-07") == []
