import csv
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from bot.store.sqlite_schema import migrate
from tests.cli.keeping import CONTACT, kept
from tests.cli.terminal import call, make_bot
from tests.store.store_kit import beside_the_store

FLOWS = """
flow: survey
start: {otherwise: true}
interrupted: resume
steps:
  split: {branch: [{if: share("greeting") < 0, then: warm}, {else: colour}]}
  warm: {say: So glad you are here!}
  colour: {ask: Which colour?, options: [Red, Blue], report: favourite}
  age: {ask: How old are you?, then: end}
"""
OTHER = "6289876543210"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("report")
    with kept(folder) as bot:
        bot.user("hi", "Red", "30")
        bot.user("hi", contact=OTHER)
    yield folder


@pytest.fixture
def folder(bot: Path) -> Path:
    """A bot with the results of two days, and one contact who waits."""
    make_bot(bot, FLOWS)
    migrate(bot / "bot.db")
    now = datetime.now(UTC)
    today, before = (f"{now - timedelta(days=ago):%Y-%m-%d}" for ago in (0, 20))
    part = "survey/split: else"
    rows = [
        (today, "survey", "favourite", "", "entered", "", 4),
        (today, "survey", "favourite", part, "entered", "", 4),
        (today, "survey", "favourite", part, "answered", "[Red]", 2),
        (today, "survey", "favourite", "", "answered", "[Red]", 2),
        (before, "survey", "favourite", "", "answered", "[Blue]", 1),
        (today, "survey", "age", "", "entered", "", 3),
        (today, "survey", "age", "", "timed out", "timeout", 1),
        (before, "survey", "shoe", "", "entered", "", 9),
        (today, "gone", "=cmd", "", "entered", "", 1),
    ]
    with beside_the_store(bot / "bot.db") as execute:
        for row in rows:
            execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        waits = "INSERT INTO sessions (contact, flow, step, visit, updated_at, state) VALUES (?, ?, ?, 1, ?, '{}')"
        execute(waits, (CONTACT, "survey", "colour", today))
    return bot


def test_what_contacts_do_is_counted_as_they_do_it(served: Path) -> None:
    (main,) = json.loads(call("report", "main", "--bot", served, "--json").out)
    counts = {step["step"]: (step["entered"], step["answered"], step["waiting"]) for step in main["steps"]}
    assert counts["hello"] == (2, 2, 0)
    assert counts["cups"] == (2, 1, 1)


def test_each_step_has_a_line_in_the_order_of_the_file(folder: Path) -> None:
    shown = call("report", "survey", "--bot", folder)
    assert (shown.code, shown.err) == (0, "")
    assert [line.split() for line in shown.lines] == [
        ["survey:", "the", "last", "30d"],
        ["entered", "answered", "timed", "out", "left", "failed", "waiting"],
        ["split", "0", "0", "0", "0", "0", "0"],
        ["warm", "0", "0", "0", "0", "0", "0"],
        ["favourite", "4", "3", "(75%)", "0", "0", "0", "1"],
        ["Blue", "1"],
        ["Red", "2"],
        ["age", "3", "0", "(0%)", "1", "0", "0", "0"],
        ["shoe", "9", "0", "(0%)", "0", "0", "0", "0"],
        ["after", "survey/split:", "entered", ">", "answered"],
        ["else"],
        ["favourite", "4", ">", "2", "(50%)"],
    ]


def test_only_days_since_then_count(folder: Path) -> None:
    text = call("report", "survey", "--since", "7d", "--bot", folder).out
    assert "2 (50%)" in text and "shoe" not in text and "Blue" not in text


def test_programs_get_every_flow_also_one_that_is_gone(folder: Path) -> None:
    survey, gone = json.loads(call("report", "--json", "--bot", folder).out)
    assert (survey["flow"], gone["flow"]) == ("survey", "gone")
    favourite = survey["steps"][2]
    assert favourite["splits"]["survey/split"]["else"]["answered"] == 2
    (before, first), (today, second) = favourite["days"].items()
    assert before < today
    assert (first["answered"], second["answered"], second["entered"], second["timed_out"]) == (1, 2, 4, 0)
    assert favourite["outcomes"] == [
        {"way": "answered", "outcome": "Blue", "count": 1},
        {"way": "answered", "outcome": "Red", "count": 2},
    ]
    assert survey["steps"][3]["timed_out"] == 1


def test_a_spreadsheet_gets_a_line_for_each_day_and_runs_nothing(folder: Path) -> None:
    rows = list(csv.DictReader(call("report", "--csv", "--bot", folder).lines))
    assert len(rows) == 9
    first, last = sorted({date.fromisoformat(row["day"]) for row in rows})
    assert last - first == timedelta(days=20)
    assert {row["day"] for row in rows if row["outcome"] == "[Blue]"} == {first.isoformat()}
    assert [row["step"] for row in rows if row["flow"] == "gone"] == ["'=cmd"]


def test_a_renamed_step_goes_on_under_its_new_name(folder: Path) -> None:
    make_bot(folder, FLOWS.replace("  age: {", "  years: {renamed_from: age, "))
    (survey,) = json.loads(call("report", "survey", "--json", "--bot", folder).out)
    assert [(step["step"], step["entered"]) for step in survey["steps"]][3:] == [("years", 3), ("shoe", 9)]


def test_a_flow_that_there_is_not(folder: Path) -> None:
    shown = call("report", "surwey", "--bot", folder)
    assert (shown.code, shown.err) == (1, 'there is no flow "surwey" (did you mean "survey"?)\n')
