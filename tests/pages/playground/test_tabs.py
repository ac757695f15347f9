"""Many tabs of one browser: it has six connections to a host for all of them."""

from playwright.sync_api import expect

from tests.browsing import Tabs
from tests.pages.playground.conftest import Shown


def test_seven_tabs_work_and_one_that_was_hidden_has_missed_nothing(shown: Shown) -> None:
    tabs = Tabs(shown.page.context)
    shown.page.close()
    for number in range(7):
        tab = tabs.open(shown.server.url)
        expect(tab.locator("#drawing svg")).to_be_attached()
        tab.fill("#text", f"picture {number}")
        tab.press("#text", "Enter")
        expect(tab.locator(".bubble.mine")).to_have_count(number + 1)
    first = tabs.all[0]
    expect(first.locator(".bubble.mine")).to_have_count(1)
    tabs.show(first)
    expect(first.locator(".bubble.mine")).to_have_count(7)
    first.fill("#text", "and this")
    first.press("#text", "Enter")
    expect(first.locator(".bubble.mine", has_text="and this")).to_be_visible()
    expect(tabs.all[-1].locator(".bubble.mine")).to_have_count(7)


def test_what_the_page_has_said_stays_when_its_tab_is_hidden_and_shown_again(shown: Shown) -> None:
    tabs = Tabs(shown.page.context)
    tab = tabs.open(shown.server.url)
    tab.fill("#wait-for", "soon")
    tab.get_by_role("button", name="Skip", exact=True).click()
    expect(tab.get_by_role("alert").filter(has_text="Write how long")).to_be_visible()
    other = tabs.open(shown.server.url)
    other.fill("#text", "hi")
    other.press("#text", "Enter")
    expect(other.locator(".bubble.bot", has_text="What would you like?")).to_be_visible()
    tabs.show(tab)
    expect(tab.locator(".bubble.bot", has_text="What would you like?")).to_be_visible()
    expect(tab.get_by_role("alert").filter(has_text="Write how long")).to_be_visible()


def test_of_more_windows_than_a_browser_has_connections_the_oldest_says_that_it_waits(shown: Shown) -> None:
    pages = [shown.page, *(shown.page.context.new_page() for _ in range(6))]  # all are seen
    for page in pages[1:]:
        page.goto(shown.server.url)
        expect(page.locator("#drawing svg")).to_be_attached()
    pages[-1].fill("#text", "picture")
    pages[-1].press("#text", "Enter")
    expect(pages[-1].locator(".bubble.bot", has_text="A picture please")).to_be_visible()
    expect(pages[0].get_by_role("status").first).to_contain_text("this one shows no changes")
    expect(pages[0].locator(".bubble")).to_have_count(0)
    pages[0].evaluate("dispatchEvent(new Event('focus'))")
    expect(pages[0].locator(".bubble.bot", has_text="A picture please")).to_be_visible()
    expect(pages[0].locator(".asleep")).to_have_count(0)
