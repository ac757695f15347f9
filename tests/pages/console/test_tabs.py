"""Many tabs of one browser: it has six connections to a host for all of them."""

from playwright.sync_api import expect

from tests.browsing import Tabs
from tests.pages.console.conftest import Live


def test_eight_tabs_work_and_one_that_was_hidden_has_missed_nothing(live: Live) -> None:
    page = live.log_in("olga")
    tabs = Tabs(page.context)
    page.close()

    def write(contact: str) -> None:
        live.simulation.emulator.receive(contact, "hi", at=live.simulation.clock.now())
        live.simulation.settle()

    for number in range(8):
        tab = tabs.open(f"{live.url}/")
        write(f"628123456780{number}")
        expect(tab.locator("#contacts tbody tr")).to_have_count(number + 1)
    first = tabs.all[0]
    expect(first.locator("#contacts tbody tr")).to_have_count(1)
    tabs.show(first)
    expect(first.locator("#contacts tbody tr")).to_have_count(8)
