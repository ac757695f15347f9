"""The view of results, in a real Chromium."""

import csv
import re
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from bot.pages.console.charts import BarPart, bar, longest
from tests.pages.console.conftest import Live

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  split: {branch: [{if: share("greeting") < 0, then: warm}, {else: colour}]}
  warm: {say: So glad you are here!}
  colour: {ask: Which colour?, options: [Red, Blue], report: favourite}
  age: {ask: How old are you?, then: end}
"""


@pytest.fixture
def flows() -> str:
    return FLOWS


def test_the_step_at_which_most_contacts_are_lost_is_marked_and_what_is_lost_has_its_colour(live: Live) -> None:
    for number in range(3):
        live.simulation.become(f"628123456789{number}")
        live.simulation.user("hi")
    live.simulation.user("Red")
    page = live.log_in("vera", "/results")
    expect(page.get_by_role("region", name="Steps")).to_contain_text("favourite")
    expect(page.get_by_text("most are lost here")).to_have_count(0)
    live.simulation.wait(timedelta(hours=21))
    page = live.log_in("vera", "/results")
    marked = page.get_by_role("region", name="Steps").locator("tr", has_text="most are lost here")
    expect(marked).to_have_count(1)
    expect(marked.get_by_role("rowheader")).to_contain_text("favourite")
    expect(marked.locator("td.lost")).to_have_text("2")
    expect(marked.locator("td.lost .swatch.timed-out")).to_have_count(1)


def test_a_bar_has_its_parts_behind_each_other_over_its_whole() -> None:
    counts = {"entered": 4, "answered": 2, "left": 1}
    assert bar(counts, ["answered", "left"], 8, "entered") == [
        BarPart("entered", 4, 0, 50),
        BarPart("answered", 2, 0, 25),
        BarPart("left", 1, 25, 12.5),
    ]
    assert bar({}, ["answered"], 0, "entered") == []
    assert longest([counts, {"answered": 3, "left": 4}], ["answered", "left"], "entered") == 7


def test_a_viewer_sees_each_step_and_each_day_and_the_ways_of_a_split(live: Live) -> None:
    live.simulation.user("hi")
    live.simulation.user("Red")
    live.simulation.clock.move_to(live.simulation.clock.now() + timedelta(hours=13))
    live.simulation.user("30")
    page = live.log_in("vera", "/results")
    expect(page.get_by_role("heading", level=1)).to_have_text("Results of main")
    steps = page.get_by_role("region", name="Steps")
    assert [row.split()[:3] for row in steps.locator("tbody tr").all_inner_texts()] == [
        ["split", "1", "1"],
        ["warm", "0", "0"],
        ["favourite", "1", "1"],
        ["age", "1", "1"],
    ]
    expect(steps.locator("svg.across .answered")).to_have_count(3)
    expect(page.get_by_role("region", name="After main/split")).to_contain_text("1 entered, 1 100% answered")
    steps.get_by_role("link", name="age").click()
    day = page.get_by_role("region", name="age by day")
    day.get_by_text("The days as a table").click()
    expect(day.locator("details tbody tr")).to_have_text(
        [re.compile(r"6 May 2030\s*1\s*0"), re.compile(r"7 May 2030\s*0\s*1")]
    )
    expect(day.locator("svg.upright g")).to_have_count(30)
    page.get_by_label("Days").select_option("7")
    page.get_by_role("button", name="Show").click()
    expect(page.locator("svg.upright g")).to_have_count(7)


def test_the_file_is_the_one_of_bot_report(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("vera", "/results")
    with page.expect_download() as download:
        page.get_by_role("link", name="All flows as CSV").click()
    assert download.value.suggested_filename == "results-30-days.csv"
    rows = [row for row in csv.DictReader(download.value.path().open(newline="")) if row["step"] == "favourite"]
    assert [(row["day"], row["split"], row["way"], row["count"]) for row in rows] == [
        ("2030-05-06", "", "entered", "1"),
        ("2030-05-06", "main/split: else", "entered", "1"),
    ]
