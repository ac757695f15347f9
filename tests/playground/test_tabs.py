"""Many tabs of one browser: it has six connections to a host for all of them."""

from playwright.sync_api import expect

from tests.browsing import Tabs
from tests.playground.conftest import Shown


def test_eight_tabs_work_and_one_that_was_hidden_has_missed_nothing(shown: Shown) -> None:
    tabs = Tabs(shown.page.context)
    shown.page.close()
    for number in range(8):
        tab = tabs.open(shown.server.url)
        expect(tab.locator("#drawing svg")).to_be_attached()
        tab.fill("#text", f"picture {number}")
        tab.press("#text", "Enter")
        expect(tab.locator(".bubble.mine")).to_have_count(number + 1)
    first = tabs.all[0]
    expect(first.locator(".bubble.mine")).to_have_count(1)
    tabs.show(first)
    expect(first.locator(".bubble.mine")).to_have_count(8)
    first.fill("#text", "and this")
    first.press("#text", "Enter")
    expect(first.locator(".bubble.mine", has_text="and this")).to_be_visible()
    expect(tabs.all[-1].locator(".bubble.mine")).to_have_count(8)


def test_what_the_page_has_said_stays_when_its_tab_is_hidden_and_shown_again(shown: Shown) -> None:
    tabs = Tabs(shown.page.context)
    tab = tabs.open(shown.server.url)
    tab.fill("#wait-for", "soon")
    tab.get_by_role("button", name="Let pass").click()
    expect(tab.get_by_role("alert").filter(has_text="Write how long")).to_be_visible()
    other = tabs.open(shown.server.url)
    other.fill("#text", "hi")
    other.press("#text", "Enter")
    expect(other.locator(".bubble.bot", has_text="What would you like?")).to_be_visible()
    tabs.show(tab)
    expect(tab.locator(".bubble.bot", has_text="What would you like?")).to_be_visible()
    expect(tab.get_by_role("alert").filter(has_text="Write how long")).to_be_visible()
