"""The page of a form in a real Chromium: a contact opens it, corrects what is wrong, and sends it."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from tests.browsing import Opens, browser, opens_page, violations  # noqa: F401
from tests.cli.terminal import make_bot
from tests.server.web.test_form_endpoint import FLOWS, START, heard, link

BOT = """
name: Test
languages: [en, ar]
words: {arabic: {set: {language: ar}, say: أهلا, then: /visit}}
defaults: {timeout: {after: 20h, then: end}}
"""
LOCALE = """
visit:
  name:
    ask: ما اسمك؟
    form: {title: املأ, fields: {name: اسمك, guests: كم ضيفا؟, day: أي يوم؟, garden: في الحديقة؟}}
  guests: {ask: كم ضيفا؟}
  day: {ask: أي يوم؟}
  garden: {ask: في الحديقة؟}
"""


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    folder = make_bot(tmp_path, FLOWS, bot=BOT)
    (folder / "locales").mkdir()
    (folder / "locales" / "ar.yml").write_text(LOCALE)
    with Simulation(load_program(read_folder(folder)), MovableClock(START)) as simulation:
        yield simulation


def address(chat: Simulation) -> str:
    return chat.running.url + urlsplit(link(chat)).path


def test_a_form_is_corrected_and_sent(chat: Simulation, opens_page: Opens) -> None:  # noqa: F811
    chat.user("book")
    page = opens_page(address(chat))
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("How many?").fill("99")
    page.get_by_label("Which day?").fill("2030-05-08")
    page.get_by_label("Outside?").select_option("Yes")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_label("How many?")).to_have_attribute("aria-invalid", "true")
    expect(page.get_by_label("How many?")).to_have_accessible_description("From 1 to 60, please.")
    expect(page.get_by_label("Your name")).to_have_value("Ann")
    expect(page.get_by_label("Outside?")).to_have_value("true")
    page.get_by_label("How many?").fill("4")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("heading")).to_contain_text("Thank you!")
    chat.settle()
    assert heard(chat)[-1] == "Ann, 4, 2030-05-08, outside"
    page.goto(address(chat))
    expect(page.get_by_role("heading")).to_have_text("This form is closed. Please go back to the chat.")


def test_it_is_in_the_contacts_language_and_in_its_direction(chat: Simulation, opens_page: Opens) -> None:  # noqa: F811
    chat.user("arabic")
    page = opens_page(address(chat), 360, 800)
    assert page.evaluate("[document.documentElement.lang, document.documentElement.dir]") == ["ar", "rtl"]
    page.get_by_label("اسمك").fill("مريم")
    page.get_by_role("button", name="إرسال").click()
    expect(page.get_by_label("كم ضيفا؟")).to_have_accessible_description("من فضلك اكتب رقما، مثلا 4.")
    assert violations(page) == []
