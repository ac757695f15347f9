"""The phone of the playground in a real Chromium: what is in sight, and in which order messages stand."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browsing import LOOKS, Opens, violations
from tests.pages.playground.conftest import Shown, expect_each, words
from tests.patience import wait_for

ROWS = "".join(f"Drink {number}: {{value: d{number}}}, " for number in range(1, 11))
FLOWS = f"""
flow: main
start: {{otherwise: true}}
vars: {{drink: {{type: text}}, cups: {{type: text}}}}
steps:
  hello: {{say: Hello}}
  drink:
    ask: What would you like?
    save: drink
    list: {{button: Drinks, sections: {{All: {{{ROWS}}}}}}}
  cups: {{ask: How many?, save: cups}}
  thanks: {{say: "Thank you for {{{{ cups }}}}.", then: end}}
"""
PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000208020000"
    "00fdd49a730000000c49444154789c636060f80f00010301001bb6ee560000000049454e44ae426082"
)  # of 2 by 2 pixels
TO_END = "log => Math.round(log.scrollHeight - log.scrollTop - log.clientHeight)"


@pytest.fixture
def phones(shows: Callable[..., Shown]) -> Callable[..., Shown]:
    """Phones of a size, with more messages than there is room for; their bot asks with a list."""

    def phone(**look: int) -> Shown:
        shown = shows(FLOWS, **look)
        fill(shown)
        shown.write("hi")
        shown.hears("What would you like?")
        return shown

    return phone


@pytest.fixture
def phone(phones: Callable[..., Shown]) -> Shown:
    return phones()


def fill(shown: Shown) -> None:
    for number in range(30):
        shown.playground.chats.add(shown.playground.chats.contacts[0], text=f"before {number}")
    expect(shown.page.locator(".bubble.mine")).to_have_count(30)


def log_of(page: Page) -> Locator:
    return page.locator("#conversation")


def in_sight(bubble: Locator) -> bool:
    """Whether all of an element is in the visible part of the phone."""
    return bool(
        bubble.evaluate(
            "each => { const [own, log] = [each, document.getElementById('conversation')].map(e => e.getBoundingClientRect());"
            " return own.top >= log.top - 1 && own.bottom <= log.bottom + 1 }"
        )
    )


def expect_end(page: Page) -> None:
    """The newest message is in sight."""
    wait_for(lambda: log_of(page).evaluate(TO_END) <= 1)


def scroll_up(page: Page, pixels: int = 400) -> int:
    """A person scrolls up; where they are then."""
    log_of(page).hover()
    before = int(log_of(page).evaluate("log => log.scrollTop"))
    page.mouse.wheel(0, -pixels)
    wait_for(lambda: log_of(page).evaluate("log => log.scrollTop") <= before - pixels)
    expect(newest(page)).to_be_visible()
    return before - pixels


def newest(page: Page) -> Locator:
    return page.locator("#phone .newest")


def test_the_newest_message_stays_in_sight(phone: Shown) -> None:
    expect_end(phone.page)
    phone.write("1")
    phone.hears("How many?")
    phone.write("2")
    phone.hears("Thank you for 2")
    expect_end(phone.page)
    expect(newest(phone.page)).to_be_hidden()


def test_a_panel_that_is_opened_and_closed_keeps_the_newest_message_in_sight(phone: Shown) -> None:
    phone.open("Send a file")
    expect_end(phone.page)
    phone.write("1")
    phone.hears("How many?")
    expect_end(phone.page)
    phone.open("Send a file")
    expect_end(phone.page)
    phone.page.set_viewport_size({"width": 1400, "height": 500})
    expect_end(phone.page)


def test_a_picture_that_comes_keeps_the_newest_message_in_sight(phone: Shown) -> None:
    phone.open("Send a file")
    phone.page.get_by_role("button", name="A photo").click()
    picture = phone.page.locator(".bubble.mine img")
    expect(picture).to_have_js_property("naturalWidth", 320)
    expect_end(phone.page)
    assert in_sight(picture)


def test_a_person_who_reads_earlier_messages_stays_there_and_is_led_back(phone: Shown) -> None:
    page, at = phone.page, scroll_up(phone.page)
    expect(newest(page)).to_have_text("↓ Newest")
    phone.playground.write(phone.playground.chats.contacts[0], "1")
    phone.playground.write(phone.playground.chats.contacts[0], "2")
    expect(page.locator(".bubble.bot", has_text="Thank you for 2")).to_have_count(1)
    assert log_of(page).evaluate("log => log.scrollTop") == at
    expect(newest(page)).to_have_text("↓ New messages")
    phone.open("Send a file")
    assert log_of(page).evaluate("log => log.scrollTop") == at
    newest(page).click()
    expect_end(page)
    expect(newest(page)).to_be_hidden()
    assert page.evaluate("document.activeElement.id") == "conversation"
    phone.playground.write(phone.playground.chats.contacts[0], "again")
    expect(page.locator(".bubble.bot", has_text="Hello")).to_have_count(2)
    expect_end(page)


def test_a_person_who_scrolls_back_to_the_end_is_followed_again(phone: Shown) -> None:
    scroll_up(phone.page)
    phone.page.mouse.wheel(0, 5000)
    expect_end(phone.page)
    expect(newest(phone.page)).to_be_hidden()
    phone.playground.write(phone.playground.chats.contacts[0], "1")
    phone.hears("How many?")
    expect_end(phone.page)


def test_what_a_person_sends_leads_to_the_newest_message_as_on_a_phone(phone: Shown) -> None:
    scroll_up(phone.page)
    phone.write("1")
    phone.hears("How many?")
    expect_end(phone.page)


def test_earlier_messages_are_put_above_the_one_that_is_read(phone: Shown) -> None:
    page = phone.page
    for number in range(60):
        phone.playground.chats.add(phone.playground.chats.contacts[0], text=f"later {number}")
    expect(page.locator(".bubble", has_text="later 59")).to_have_count(1)
    log_of(page).evaluate("log => { log.scrollTop = 0 }")
    first = page.locator(".bubble").first
    kept = words(first)
    top = first.bounding_box()
    page.get_by_role("button", name=re.compile("earlier messages")).click()
    expect(page.locator(".bubble", has_text="before 0")).to_have_count(1)
    now = page.locator(".bubble", has_text=kept.split(" 1")[0]).last.bounding_box()
    assert top is not None and now is not None and abs(now["y"] - top["y"]) < 60


def test_an_opened_list_shows_its_rows(phone: Shown, opens: Opens) -> None:
    for page in (phone.page, opens(phone.page.url, 360, 740)):
        expect_end(page)
        page.locator("#conversation summary").last.click()
        rows = page.locator("#conversation details").last.locator(".row")
        wait_for(partial(in_sight, rows.first))
        fit = log_of(page).evaluate("log => log.clientHeight") > 500
        assert not fit or in_sight(rows.last)


def test_an_opened_list_that_has_no_room_begins_with_its_first_row_and_can_be_scrolled(
    phones: Callable[..., Shown],
) -> None:
    page = phones(width=360, height=560).page
    expect_end(page)
    page.locator("#conversation summary").last.click()
    rows = page.locator("#conversation details").last.locator(".row")
    wait_for(lambda: in_sight(rows.first))
    rows.last.scroll_into_view_if_needed()
    wait_for(lambda: in_sight(rows.last))
    rows.last.click()
    expect(page.locator(".bubble.bot", has_text="How many?")).to_have_count(1)
    expect_end(page)


def test_an_opened_panel_leaves_room_for_messages_on_a_small_phone(phones: Callable[..., Shown]) -> None:
    page = phones(width=360, height=560).page
    page.locator("summary", has_text="Send a file").click()
    assert log_of(page).evaluate("log => log.clientHeight") >= 100
    expect_end(page)
    page.get_by_role("button", name="Send place").scroll_into_view_if_needed()
    box, write = page.get_by_role("button", name="Send place").bounding_box(), page.locator("#text").bounding_box()
    assert box is not None and box["y"] + box["height"] <= 560
    assert write is not None and write["y"] + write["height"] <= 560


def test_messages_that_come_while_another_pane_is_shown_are_in_sight_afterwards(phones: Callable[..., Shown]) -> None:
    phone = phones(width=360, height=640)
    page = phone.page
    expect_end(page)
    page.get_by_role("link", name="Map").click()
    expect(page.locator("#phone")).to_be_hidden()
    phone.playground.write(phone.playground.chats.contacts[0], "1")
    expect(page.locator(".bubble.bot", has_text="How many?")).to_have_count(1)
    page.get_by_role("link", name="Phone").click()
    expect_end(page)
    expect(newest(page)).to_be_hidden()


def refuse(shown: Shown, on: bool) -> None:
    shown.playground.faults.switch("refused", on)


def test_a_message_that_was_given_up_stands_where_it_was_sent(shows: Callable[[str], Shown]) -> None:
    shown = shows(FLOWS)
    page = shown.page
    refuse(shown, True)
    shown.write("hi")
    expect(page.locator(".bubble.failed")).to_have_count(2)
    refuse(shown, False)
    shown.write("one")  # the question has not been seen
    shown.hears("What would you like?")
    shown.write("drink 2")
    shown.hears("How many?")
    refuse(shown, True)
    shown.write("two")
    expect(page.locator(".bubble.failed")).to_have_count(3)
    refuse(shown, False)
    shown.write("hi again")
    order = ["hi", "Hello", "What would", "one", "What would", "drink 2", "How many", "two", "Thank you", "hi again"]
    order += ["Hello", "What would"]
    expect_each(page.locator(".bubble"), order)


def test_a_message_that_was_tried_in_vain_for_long_stands_where_it_was_sent(shows: Callable[[str], Shown]) -> None:
    shown = shows(FLOWS)
    page = shown.page
    down = shown.playground.simulation.emulator.faults.add("error_before", status=503)
    shown.write("hi")
    expect(page.locator(".bubble.waiting")).to_have_count(2)
    shown.write("are you there?")
    page.fill("#wait-for", "1h")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(".bubble.failed").first).to_be_visible()
    expect(page.locator(".bubble.waiting")).to_have_count(0)
    shown.playground.simulation.emulator.faults.remove(down)
    said = [words(each) for each in page.locator(".bubble, .besides:not(.day)").all()]
    assert "Hello" in said[1] and "are you there?" in said[3] and said[-1].endswith("1 h later"), said


FILES = """
flow: main
start: {otherwise: true}
steps:
  photo: {say: Our garden., image: {file: garden.png}}
  rules: {say: Our rules., document: {file: rules.txt}}
  bill: {say: , document: {text: "{{ [['Tea', 3], ['Cake', 4]] | csv }}", filename: bill.csv}, then: end}
"""


@LOOKS
def test_files_of_the_bots_own_are_shown(tmp_path: Path, shows: Callable[..., Shown], width: int, dark: bool) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "garden.png").write_bytes(PICTURE)
    (tmp_path / "files" / "rules.txt").write_text("No shoes.")
    shown = shows(FILES, width=width, dark=dark)
    shown.write("hi")
    picture = shown.page.get_by_role("img", name="garden.png")
    expect(picture).to_be_visible()
    assert picture.evaluate("each => each.decode().then(() => each.naturalWidth)") == 2
    with shown.page.expect_download() as download:
        shown.page.get_by_role("link", name="rules.txt").click(modifiers=["Alt"])
    assert download.value.path().read_text() == "No shoes."
    shown.open("bill.csv")
    expect(shown.page.locator(".bubble pre")).to_have_text("Tea,3 Cake,4")
    assert violations(shown.page) == []


FORM = """
flow: main
start: {words: [hi]}
vars: {name: name, cups: {type: integer, min: 1}}
steps:
  name: {ask: Your name?, save: name, form: {title: Fill in, fields: {name: Your name, cups: How many?}, then: done}}
  cups: {ask: How many?, save: cups}
  done: {say: "{{ name }}: {{ cups }}", then: end}
"""


def test_the_button_of_a_form_opens_its_page_on_this_machine(shows: Callable[..., Shown]) -> None:
    shown = shows(FORM)
    shown.write("hi")
    opens = shown.page.get_by_role("link", name="Fill in")
    found = shown.page.request.post(opens.get_attribute("href") or "", form={"name": "Ann", "cups": "4"})
    assert found.status == 200
    shown.hears("Ann: 4")
