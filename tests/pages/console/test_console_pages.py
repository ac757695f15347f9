"""The console's pages in a real Chromium: what they show, how they look, and that nothing that is shown is markup."""

import math
import re
from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from bot.core.engine_requests import AddRecipients
from bot.pages.console import console_app
from bot.store.store_reader import StoreReader
from bot.testing.emulator import MessageTemplate
from tests.browsing import violations
from tests.pages.console.conftest import PASSWORD, Live
from tests.pages.console.test_usage import use
from tests.patience import wait_for

NUMBERS = [f"62812345678{number:02}" for number in range(60)]


def refused(live: Live, contact: str, text: str) -> None:
    """A message to a contact is given up."""
    live.simulation.become(contact)
    fault = live.simulation.emulator.faults.add("VALIDATION_MISSING_FIELD")
    live.simulation.user(text)
    live.simulation.emulator.faults.remove(fault)


def shown(page: Page) -> list[str]:
    return [name.strip() for name in page.locator("#contacts tbody a").all_inner_texts()]


def test_contacts_are_found_by_number_and_by_where_they_are(live: Live) -> None:
    for number in NUMBERS[:3]:
        live.simulation.become(number)
        live.simulation.user("hi")
    live.simulation.tap("Tea")
    page = live.log_in("olga")
    assert set(shown(page)) == set(NUMBERS[:3])
    page.get_by_label("Number or name").fill("+62 812-345 678 0")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#contacts tbody a")).to_have_count(3)
    page.get_by_label("Number or name").fill("+62 812-345 678 01")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(NUMBERS[1])
    page.get_by_role("link", name="Contacts").click()
    page.get_by_label("Step").select_option("size")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#contacts tbody a")).to_have_text([NUMBERS[2]])
    assert "step=size" in page.url
    page.get_by_label("Step").select_option("all")
    page.get_by_label("State").select_option("in no flow")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("#contacts")).to_contain_text("No contact fits.")


def test_more_contacts_are_on_further_pages_the_newest_first(live: Live) -> None:
    for number in NUMBERS:
        live.simulation.emulator.receive(number, "hi")
    live.simulation.settle()
    live.simulation.wait(timedelta(minutes=1))
    live.simulation.become(NUMBERS[7])
    live.simulation.tap("Tea")
    page = live.log_in("olga")
    first = shown(page)
    assert len(first) == 50 and first[0] == NUMBERS[7]
    page.get_by_role("link", name="Further").click()
    expect(page.locator("#contacts tbody a")).to_have_count(10)
    assert set(first) | set(shown(page)) == set(NUMBERS)
    page.get_by_role("link", name="Newest").click()
    expect(page.locator("#contacts tbody a")).to_have_count(50)


def test_an_operator_retries_a_dead_letter_and_drops_another_when_sure(live: Live) -> None:
    for number in NUMBERS[:2]:
        refused(live, number, "hi")
    page = live.log_in("olga", "/dead-letters")
    letters = page.locator("#letters li")
    before = letters.count()
    expect(letters.first).to_contain_text("VALIDATION_MISSING_FIELD")
    letters.last.get_by_role("checkbox").check()
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("To be sent again: 1.")
    live.simulation.settle()
    expect(letters).to_have_count(before - 1)
    letters.first.get_by_role("checkbox").check()
    page.get_by_role("button", name="Drop …", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Drop 1 dead letter for ever?")
    page.get_by_role("button", name="Drop 1").click()
    expect(page.get_by_role("status")).to_have_text("Dropped: 1.")
    expect(letters).to_have_count(before - 2)
    live.simulation.become(NUMBERS[0])
    assert any("Hello" in message.text for message in live.simulation.phones.heard())


def test_what_is_ticked_stays_so_when_another_dead_letter_comes(live: Live) -> None:
    refused(live, NUMBERS[0], "hi")
    page = live.log_in("olga", "/dead-letters")
    box = page.locator("#letters li").last.get_by_role("checkbox")
    box.check()
    before = page.locator("#letters li").count()
    refused(live, NUMBERS[1], "hi")
    expect(page.locator("#letters li")).not_to_have_count(before)
    expect(box).to_be_checked()


def test_the_state_shows_an_alarm_with_what_to_do_and_why_a_message_waits(live: Live) -> None:
    live.simulation.emulator.inactive_channels.add("channel-1")
    live.simulation.user("hi")
    page = live.log_in("olga", "/state")
    expect(page.locator(".alarm")).to_contain_text("channel")
    expect(page.locator(".alarm p").first).not_to_be_empty()
    expect(page.locator(".cards li").first).to_contain_text("Hello")
    expect(page.locator(".figures")).to_contain_text("messages to send")
    live.simulation.emulator.inactive_channels.clear()
    live.simulation.wait(timedelta(minutes=10))
    expect(page.locator("#state")).to_contain_text("No alarms")


def test_results_broadcasts_and_usage_show_by_themselves_what_happens(live: Live) -> None:
    page = live.log_in("olga", "/results")
    expect(page.locator("#results")).to_have_text("No contact was in this flow in these days.")
    live.simulation.user("hi")
    expect(page.locator("#results [data-name=entered]").first).to_have_text("1")
    page.goto(f"{live.url}/broadcasts")
    expect(page.locator("#broadcasts")).to_contain_text("There are no broadcasts")
    live.simulation.emulator.templates.add(MessageTemplate("sale", "en", body="All of it!"))
    recipients = [{"contact": live.simulation.contact, "body": []}]
    sale = {"name": "sale", "language": "en"}
    live.console.ask(AddRecipients("spring", recipients, sale))
    expect(page.locator("#broadcasts tbody tr")).to_contain_text("1 sent")
    page.goto(f"{live.url}/broadcast?name=spring")
    expect(page.locator("#broadcast")).to_contain_text("finished")
    others = [{"contact": NUMBERS[0], "body": []}]
    live.console.ask(AddRecipients("spring", others, sale))
    expect(page.locator("#broadcast [data-name=contacts]")).to_have_text("2")
    page.goto(f"{live.url}/usage")
    expect(page.locator("#usage")).to_contain_text("No model has answered")
    use(live)
    expect(page.locator("#usage tfoot")).to_contain_text("1,253")


def test_a_server_that_does_not_answer_is_said_within_seconds_and_the_store_is_shown(
    live: Live, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console_app, "MINUTE", math.inf)
    live.simulation.user("hi")
    page = live.log_in("olga", "/state")
    expect(page.locator("#state")).to_contain_text("No alarms")
    live.engine.stop()  # which changes nothing in the store
    expect(page.get_by_role("alert")).to_contain_text("No server answers")
    page.get_by_role("link", name="Contacts").click()
    expect(page.locator("#contacts tbody tr")).to_have_count(1)


def test_a_message_that_was_given_up_stands_in_its_place_with_the_reason(live: Live) -> None:
    refused(live, NUMBERS[0], "hi")
    page = live.log_in("olga", f"/contact/{NUMBERS[0]}")
    expect(page.locator(".bubble.failed").first).to_contain_text("VALIDATION_MISSING_FIELD")
    expect(page.locator(".bubble.failed .text").nth(0)).to_have_text("Hello you")
    expect(page.locator(".bubble.failed .text").nth(1)).to_have_text("What would you like?")
    live.simulation.user("tea")
    expect(page.locator(".bubble.bot").last).to_contain_text("What would you like?")
    expect(page.locator(".bubble.bot").last).not_to_have_class(re.compile("failed"))


@pytest.mark.parametrize("scripts", [True, False])
def test_the_form_of_the_login_leads_to_the_page_that_was_wanted(live: Live, scripts: bool) -> None:
    page = live.opens(f"{live.url}/state", scripts=scripts)
    page.get_by_label("Name").fill("olga")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{live.url}/state")
    expect(page.locator("#state")).to_contain_text("No alarms")


def test_without_scripts_all_can_be_read_and_done(live: Live) -> None:
    refused(live, NUMBERS[0], "hi")
    page = live.log_in("olga", "/dead-letters", scripts=False)
    page.locator("#letters li").last.get_by_role("checkbox").check()
    page.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("status")).to_have_text("To be sent again: 1.")
    page.get_by_role("link", name="Contacts").click()
    page.get_by_role("link", name=NUMBERS[0]).click()
    expect(page.locator(".bubble").first).to_be_visible()


def test_nothing_that_somebody_has_written_is_markup(live: Live) -> None:
    texts = [f"<img src=x onerror=alert({n})> {n}" for n in range(30)]
    texts += [f"*<b>{n}</b>* _\"'><script>alert({n})</script>_" for n in range(30)]
    texts += [f'https://a.example/"onmouseover=alert({n})//<i>' for n in range(30)]
    texts += [f"{{{{ {n} * 7 }}}} ${{{n}}} {{% raw %}} &lt;{n}&gt; &#60;u>" for n in range(30)]
    live.simulation.user("hi")
    live.simulation.gateway.happen("conversation.assigned", {})  # the bot answers none of them
    live.simulation.flood(texts)
    live.simulation.settle()
    page = live.log_in("olga", f"/contact/{live.simulation.contact}?all=1")
    expect(page.locator(".bubble.mine")).to_have_count(121)
    assert (
        page.locator(
            ".bubble img, .bubble script, .bubble b, .bubble i, .bubble u, #details img, #details script"
        ).count()
        == 0
    )
    assert page.locator("[onmouseover], [onerror], [onload]").count() == 0
    read = [each.replace("\n", "") for each in page.locator(".bubble.mine .text").all_inner_texts()][1:]
    assert read[0] == texts[0] and read[60] == texts[60] and read[-1] == texts[-1]


def test_a_name_and_an_address_of_a_search_are_text(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", "/?find=%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E&flow=%3Cb%3E")
    expect(page.get_by_label("Number or name")).to_have_value('"><img src=x onerror=alert(1)>')
    assert page.locator("img, main b").count() == 0


def test_each_page_can_be_used_with_the_keyboard(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.get_by_role("link", name=live.simulation.contact).press("Enter")
    expect(page).to_have_url(re.compile(f"/contact/{live.simulation.contact}$"))


def test_two_people_see_twenty_conversations_without_a_stale_page(live: Live) -> None:
    pages = [live.log_in(name) for name in ("olga", "abel")]
    for number in NUMBERS[:20]:
        live.simulation.emulator.receive(number, "hi")
    live.simulation.settle()
    for page in pages:
        expect(page.locator("#contacts tbody tr")).to_have_count(20)
    reader = StoreReader(live.console.store)
    assert sorted(shown(pages[0])) == sorted(shown(pages[1])) == [each.contact for each in reader.sessions.summaries()]
    reader.close()


def test_a_time_grows_older_while_it_is_shown_and_does_not_count_seconds(live: Live) -> None:
    live.simulation.user("hi")
    live.simulation.wait(timedelta(seconds=20))
    page = live.log_in("olga", scripts=False)
    expect(page.locator("#contacts tbody time").first).to_have_text("seconds ago")
    page = live.log_in("olga")
    page.clock.install()
    page.reload()
    at = page.locator("#contacts tbody time").first
    expect(at).to_have_text("seconds ago")
    page.clock.fast_forward(60_000)
    expect(at).to_have_text("1 minute ago")
    live.simulation.user("hello")
    expect(at).to_have_text("seconds ago")
    page.close()  # its clock cannot be taken out


def test_other_languages_say_now(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", locale="de-DE")
    expect(page.locator("#contacts tbody time").first).to_have_text("jetzt")


def test_the_menu_is_one_line_also_on_a_narrow_screen_and_shows_where_one_is(live: Live) -> None:
    page = live.log_in("olga", "/versions", width=360)
    expect(page.locator("header nav [aria-current]")).to_be_in_viewport(ratio=0.9)
    box = page.locator("header nav").bounding_box()
    assert box is not None and box["height"] < 40
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_contacts_phone_follows_the_conversation_unless_somebody_reads_earlier_messages(live: Live) -> None:
    for number in range(12):
        live.simulation.user(f"hi {number}")
    page = live.log_in("olga", f"/contact/{live.simulation.contact}", width=360)
    log, newest = page.locator("#conversation"), page.locator(".newest")

    def to_end() -> float:
        return float(log.evaluate("log => log.scrollHeight - log.scrollTop - log.clientHeight"))

    wait_for(lambda: to_end() <= 1)
    live.simulation.user("hello")
    expect(log.locator(".mine", has_text="hello")).to_have_count(1)
    wait_for(lambda: to_end() <= 1)
    log.evaluate("log => { log.scrollTop = 200 }")
    expect(newest).to_have_text("↓ Newest")
    live.simulation.user("are you there?")
    expect(log.locator(".mine", has_text="are you there?")).to_have_count(1)
    expect(newest).to_have_text("↓ New messages")
    assert log.evaluate("log => log.scrollTop") == 200
    assert violations(page) == []
    newest.click()
    wait_for(lambda: to_end() <= 1)
    expect(newest).to_be_hidden()
