"""The contact's own time zone: of the number's country, or set by a flow. The pure engine, by the clock."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from bot.language.types.contact_zones import zone_of_number
from tests.talk import BOT, Talk, problems_of

ZONES = BOT + "timezone: Europe/Lisbon\ncontact_timezones: true\n"
LISBON = ZoneInfo("Europe/Lisbon")
LESSON = """
flow: main
start: {otherwise: true}
vars: {hour: {type: time, value: "8:00"}}
steps:
  now: {say: "{{ now | time }} in {{ timezone }}"}
  daily: {set: {hour: "9:30"}, schedule: {flow: lesson, every: "day at {{ hour }}"}}
  town: {ask: Where?, options: {Bali: {value: Asia/Makassar}, Lisbon: {value: Europe/Lisbon}}, save: timezone, then: end}
---
flow: lesson
steps: {lesson: {say: "Lesson at {{ now | time }}", then: end}}
"""


@pytest.mark.parametrize(
    ("number", "zone"),
    [
        ("6281234567890", "Asia/Jakarta"),  # of four, the one in which most people live
        ("351912345678", "Europe/Lisbon"),
        ("12125551234", "America/New_York"),
        ("14165551234", "America/Toronto"),  # Canada has the same country code
        ("4915112345678", "Europe/Berlin"),
        ("999000000000", "Europe/Lisbon"),  # of no country: the bot's
    ],
)
def test_a_number_has_the_zone_of_its_country(number: str, zone: str) -> None:
    assert zone_of_number(number, LISBON).key == zone


def test_where_the_bots_zone_is_one_of_the_countrys_it_counts() -> None:
    assert zone_of_number("12125551234", ZoneInfo("America/Denver")).key == "America/Denver"


def test_texts_and_schedules_are_in_the_contacts_zone() -> None:
    talk = Talk(LESSON, ZONES)  # 10:00 in UTC, 17:00 in Jakarta
    assert talk.user("hi")[0] == "17:00 in Asia/Jakarta"
    (plan,) = talk.session.plans
    assert plan.at == datetime(2030, 5, 7, 2, 30, tzinfo=UTC)  # 9:30 in Jakarta


def test_an_answer_sets_it_and_what_repeats_keeps_its_hour() -> None:
    talk = Talk(LESSON, ZONES)
    talk.user("hi")
    talk.user("Bali")
    assert talk.session.timezone == "Asia/Makassar"
    (plan,) = talk.session.plans
    assert plan.at == datetime(2030, 5, 7, 1, 30, tzinfo=UTC)  # 9:30 there
    assert talk.wait("1d") == ["Lesson at 09:30"]


def test_what_repeats_keeps_its_hour_when_the_clocks_change() -> None:
    talk = Talk(LESSON, ZONES)
    talk.user("hi")
    talk.user("Lisbon")
    assert talk.wait("1d") == ["Lesson at 09:30"]
    talk.now = datetime(2030, 10, 26, 12, tzinfo=UTC)  # summer ends in the night
    assert talk.wait("1d")[-1] == "Lesson at 09:30"


def test_a_zone_that_there_is_not_is_a_mismatch() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nvars: {z: {type: text, value: Mars}}\nsteps:\n"
        '  s: {set: {timezone: "{{ z }}"}, then: end, errors: {mismatch: no}}\n  no: {say: No., then: end}',
        ZONES,
    )
    assert talk.user("hi") == ["No."]
    assert talk.session.timezone is None


def test_without_the_key_the_bots_zone_counts_and_there_is_no_such_name() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps: {s: {say: '{{ now | time }}', then: end}}"
    assert Talk(flow, BOT + "timezone: Europe/Lisbon\n").user("hi") == ["11:00"]
    (problem,) = problems_of(flow.replace("now | time", "timezone"), BOT)
    assert 'E301 no variable "timezone"' in problem


def test_a_constant_that_is_no_zone_is_found() -> None:
    flow = "flow: a\nstart: {otherwise: true}\nsteps: {s: {set: {timezone: %s}, then: end}}"
    assert problems_of(flow % "Asia/Jakarta", ZONES) == []
    (problem,) = problems_of(flow % "Mars", ZONES)
    assert "E303" in problem and "no time zone" in problem


def test_a_time_that_is_worked_out_and_comes_never_again_is_a_mismatch() -> None:
    talk = Talk(
        "flow: a\nstart: {otherwise: true}\nvars: {z: {type: text, value: noon}}\nsteps:\n"
        '  s: {say: Hi., schedule: {flow: b, every: "day at {{ z }}"}, then: end, errors: {mismatch: no}}\n'
        "  no: {say: No., then: end}\n---\nflow: b\nsteps: {s: {say: B.}}",
        ZONES,
    )
    assert talk.user("hi") == ["Hi.", "No."]
