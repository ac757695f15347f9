"""The views of all contacts and of one, in a real Chromium."""

from playwright.sync_api import expect

from tests.console.conftest import Live


def test_an_operator_sees_who_is_where_and_the_conversation_as_the_phone_shows_it(live: Live) -> None:
    live.simulation.user("hi")
    live.simulation.tap("Tea")
    page = live.log_in("olga")
    row = page.locator("#contacts tbody tr")
    expect(row).to_have_count(1)
    expect(row).to_contain_text("main/size")
    row.get_by_role("link", name=live.simulation.contact).click()
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi", "Tea"])
    expect(page.locator(".bubble.bot .text")).to_have_text(["Hello you", "What would you like?", "How large?"])
    expect(page.locator("#values")).to_contain_text("drink")
    expect(page.locator(".turn").first).to_contain_text('tapped "Tea"')


def test_a_page_shows_what_happens_without_being_loaded_again(live: Live) -> None:
    live.simulation.user("hi")
    page = live.log_in("olga", f"/contact/{live.simulation.contact}")
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi"])
    live.simulation.tap("Tea")
    expect(page.locator(".bubble.mine .text")).to_have_text(["hi", "Tea"])
