"""The views of broadcasts, in a real Chromium."""

import json
import re
from datetime import timedelta

from playwright.sync_api import expect

from bot.core.engine_requests import AddRecipients
from bot.pages.console.masking import masked_turn
from bot.pages.shared.contact_view import ShownTurn
from bot.testing.emulator import MessageTemplate
from tests.pages.console.client import logged_in, rows
from tests.pages.console.conftest import NOON, Live, Served

PEOPLE = [f"62812345678{number:02}" for number in range(4)]
NAME = "sale: vip 6281234567890"
FITS, REFUSED = MessageTemplate("sale", "en", body="All of it!"), MessageTemplate("sale", "en", body="{{1}} off")


def begin(bot: Live | Served, template: MessageTemplate) -> None:
    """A broadcast without parameters. Its first message goes alone, and where that is refused nobody else gets one."""
    bot.simulation.emulator.templates.add(template)
    recipients = [{"contact": contact, "body": []} for contact in PEOPLE]
    sale = {"name": "sale", "language": "en"}
    bot.console.ask(AddRecipients(NAME, recipients, sale, by="ann@office"))
    bot.simulation.settle()


def test_a_report_says_how_far_the_messages_have_got(live: Live) -> None:
    begin(live, FITS)
    live.simulation.wait(timedelta(minutes=5))
    live.simulation.become(PEOPLE[1])
    live.simulation.user("Thank you")
    page = live.log_in("olga", "/broadcasts")
    row = page.locator("tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("finished")
    expect(row).to_contain_text("4 sent")
    row.get_by_role("link", name=NAME).click()
    expect(page.locator("#broadcast")).to_contain_text("Sends the template sale (en); started by ann@office.")
    got = page.get_by_role("table").nth(1)
    expect(got).to_contain_text("Of 4 sent")
    expect(got.get_by_role("row", name="answered within 24 hours")).to_contain_text("25%")
    expect(page.get_by_role("button", name=re.compile("Stop|Resume"))).to_have_count(0)


def test_an_operator_stops_one_that_is_refused_and_resumes_it_when_its_template_fits(live: Live) -> None:
    begin(live, REFUSED)
    page = live.log_in("olga", "/broadcasts")
    page.get_by_role("link", name=NAME).click()
    state = page.locator("#broadcast")
    expect(state).to_contain_text("is paused: the gateway refuses its messages with 132001")
    expect(state.locator(".trouble")).to_contain_text("then “Resume” goes on; nobody gets it twice")
    expect(state.get_by_role("row", name="failed (132001)").locator("td").last).not_to_be_empty()
    expect(page.get_by_role("table").nth(1)).to_contain_text(f"{PEOPLE[0]}failed (132001)")
    assert "main" not in (page.get_by_role("button", name="Resume").get_attribute("class") or ""), (
        "first it is corrected"
    )
    assert page.get_by_role("button", name="Stop").get_attribute("class") == "danger"
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("status")).to_have_text("It is stopped. Contacts who will not get it: 3.")
    live.simulation.emulator.templates.add(FITS)
    live.simulation.wait(timedelta(minutes=1))
    page.get_by_role("button", name="Resume").click()
    expect(page.get_by_role("status")).to_have_text("It is resumed. Contacts who will get it now: 4.")
    live.simulation.settle()
    expect(state).to_contain_text("finished")
    asked = rows(live.console.store, "SELECT event FROM turns WHERE rule = 'operator' ORDER BY id")
    assert [json.loads(event) for (event,) in asked] == [
        {"do": "stop", "name": NAME, "by": "olga"},
        {"do": "resume", "name": NAME, "by": "olga"},
    ]


def test_a_page_behind_the_last_does_not_say_that_there_are_none(served: Served) -> None:
    begin(served, FITS)
    assert "There are no broadcasts" not in logged_in(served, "olga").ask("/broadcasts?page=2").text


def test_a_viewer_sees_no_number_and_stops_nothing(served: Served) -> None:
    begin(served, REFUSED)
    client = logged_in(served, "vera")
    listed = client.ask("/broadcasts").text
    link = re.search(r'href="/console(/broadcast\?[^"]+)">([^<]+)<', listed)
    assert link is not None and link[2] == "sale: vip •••890"
    shown = client.ask(link[1]).text
    assert "failed (132001)" in shown and "•••800" in shown and "Stop" not in shown
    assert [each for each in (*PEOPLE, NAME, "6281234567890") if each in listed + shown] == []
    assert client.ask("/broadcast?name=sale").status == 404
    alarmed = client.ask("/state").text
    assert (
        "vip •••890&#34; is paused: the gateway refuses its messages with 132001" in alarmed
        and "6281234567890" not in alarmed
    )


def test_a_viewer_sees_no_number_in_the_rule_of_a_turn(served: Served) -> None:
    turn = ShownTurn("t", NOON, "start of main", f'start of main by broadcast "{NAME}": started', 9, (), (), (), ())
    assert masked_turn(turn).rule == 'start of main by broadcast "sale: vip •••890": started'
