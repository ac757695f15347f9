"""A tab of the console that is hidden, and seen again."""

from playwright.sync_api import expect

from tests.browsing import Tabs
from tests.pages.console.conftest import Live


def test_a_tab_that_was_hidden_has_missed_nothing(live: Live) -> None:
    page = live.log_in("olga")
    tabs = Tabs(page.context)
    page.close()
    for number in range(2):
        tab = tabs.open(f"{live.url}/")
        live.simulation.emulator.receive(f"628123456780{number}", "hi", at=live.simulation.clock.now())
        live.simulation.settle()
        expect(tab.locator("#contacts tbody tr")).to_have_count(number + 1)
    first = tabs.all[0]
    expect(first.locator("#contacts tbody tr")).to_have_count(1)
    tabs.show(first)
    expect(first.locator("#contacts tbody tr")).to_have_count(2)
