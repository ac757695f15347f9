"""The page of the playground by keyboard alone, and as a screen reader has it, in a real Chromium."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_server import PlaygroundServer
from tests.browsing import Opens
from tests.pages.playground.conftest import FLOWS, Shown
from tests.pages.playground.test_models_by_hand import TALK


def tab_to(page: Page, wanted: Locator) -> None:
    """Press Tab until this has the focus, which has to be seen; at most once through the page."""
    for _ in range(120):
        page.keyboard.press("Tab")
        if wanted.evaluate("each => each === document.activeElement"):
            assert wanted.evaluate("each => each.matches(':focus-visible')")
            return
    raise AssertionError(f"Tab does not reach {wanted}")


def asked_for_cups(shown: Shown) -> Page:
    shown.has_written("hi", "tea", "small")
    shown.hears("How many cups?")
    shown.page.focus("#text")
    return shown.page


def test_a_conversation_is_held_by_keyboard_alone(shown: Shown) -> None:
    page = shown.page
    tab_to(page, page.get_by_label("Message", exact=True))
    page.keyboard.type("hi")
    page.keyboard.press("Enter")
    shown.hears("What would you like?")
    page.locator("#conversation").focus()
    tab_to(page, page.get_by_role("button", name="Coffee"))
    page.keyboard.press("Enter")
    sizes = shown.hears("How large?").locator("summary")
    tab_to(page, sizes)
    page.keyboard.press("Enter")
    tab_to(page, page.get_by_role("button", name="Large"))
    page.keyboard.press("Enter")
    shown.hears("How many cups?")
    expect(sizes).to_be_focused()
    tab_to(page, page.locator(".back").last)
    expect(page.locator(".back").last).to_have_css("opacity", "1")


def test_a_variable_is_set_by_keyboard_and_escape_changes_nothing(shown: Shown) -> None:
    page = asked_for_cups(shown)
    dialog = page.get_by_role("dialog", name="cups")
    opener = page.get_by_role("button", name="cups: null. Change it")
    shown.open("Values")
    tab_to(page, opener)
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Value, empty for null")).to_be_focused()
    page.keyboard.type("3")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    expect(dialog.get_by_label("Value, empty for null")).to_be_focused()
    page.keyboard.type("many")
    page.keyboard.press("Enter")
    expect(dialog.get_by_role("alert")).to_contain_text("it is no number")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(page.locator("[data-set=cups]")).to_have_text("3")
    expect(page.locator("[data-set=cups]")).to_be_focused()


def test_a_kept_test_is_read_and_closed_by_keyboard(shown: Shown) -> None:
    page = asked_for_cups(shown)
    opener = page.get_by_role("button", name="Keep as a test")
    tab_to(page, opener)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog", name="The conversation as a test")
    expect(dialog.get_by_label("Test", exact=True)).to_be_focused()
    expect(dialog).to_match_aria_snapshot(
        """
        - heading "The conversation as a test" [level=2]
        - paragraph
        - textbox "Test": /test. kept on/
        - status
        - alert
        - button "Copy"
        - link "Download"
        - button "Close"
        """
    )
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()


def test_a_step_is_opened_and_closed_by_keyboard_and_the_map_shows_what_has_the_focus(shown: Shown) -> None:
    page = shown.page
    shown.save(FLOWS.replace("lots: {say: So many!}", "lots: {say: So many!}\n" + "".join(f"  more{n}: {{say: More {n}}}\n" for n in range(20))))  # fmt: skip
    expect(page.locator("[data-place='main']")).to_be_attached()
    page.locator("#flow").select_option("main")
    last = page.locator("#drawing .place", has=page.locator("[data-place='main/thanks']"))
    expect(last).to_be_attached()
    expect(last).not_to_be_in_viewport()
    tab_to(page, last)
    expect(last).to_be_in_viewport()
    page.keyboard.press("Enter")
    step = page.get_by_role("region", name="Step")
    expect(step).to_be_focused()
    expect(step).to_contain_text("thank you.")
    expect(step).to_contain_text("No test reaches it.")  # the drawing has come anew meanwhile
    page.keyboard.press("Tab")
    expect(step.get_by_role("button", name="Close")).to_be_focused()
    page.keyboard.press("Escape")
    expect(step).to_be_hidden()
    expect(last).to_be_focused()


INNER = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer, value: 3}, milk: {type: boolean, value: true}}
steps: {more: {ask: How many?, save: cups, then: inner}, inner: {run: /inner, then: end}}
---
flow: inner
vars: {price: {type: integer, value: 7}}
steps: {price: {ask: "Only {{ price }}?", then: end}}
"""


def test_a_variable_keeps_the_focus_when_a_flow_shows_others_before_it(shows: Callable[[str], Shown]) -> None:
    shown = shows(INNER)
    shown.has_written("hi")
    shown.hears("How many?")
    shown.open("Values")
    cups = shown.page.locator("[data-set=cups]")
    cups.focus()
    shown.has_written("5")
    expect(shown.page.locator("[data-set=price]")).to_be_visible()
    expect(cups).to_be_focused()


def test_a_step_keeps_the_focus_when_an_edit_draws_others_before_it(shown: Shown) -> None:
    page = shown.page
    page.locator("#flow").select_option("main")
    lots, thanks = (
        page.locator("#drawing .place", has=page.locator(f"[data-place='main/{n}']")) for n in ("lots", "thanks")
    )
    tab_to(page, thanks)
    shown.save(FLOWS.replace("lots: {say: So many!}", "lots: {say: So many!}\n" + "".join(f"  more{n}: {{say: More}}\n" for n in range(3))))  # fmt: skip
    expect(page.locator("[data-place='main/more2']")).to_be_attached()
    expect(thanks).to_be_focused()
    tab_to(page, lots)
    shown.save(FLOWS)
    expect(page.locator("[data-place='main/more2']")).not_to_be_attached()
    expect(lots).to_be_focused()


def test_a_model_is_answered_by_keyboard(shows: Callable[[str], Shown]) -> None:
    shown = shows(TALK)
    page = shown.page
    shown.write("question")
    asked = page.get_by_role("form", name="You are the model: what does it say?")
    expect(asked).to_be_visible()
    page.locator("#conversation").focus()
    tab_to(page, asked.get_by_label("Its answer"))
    page.keyboard.type("Ask me anything.")
    tab_to(page, asked.get_by_role("button", name="Answer"))
    page.keyboard.press("Enter")
    shown.hears("Ask me anything.")
    expect(page.get_by_label("Message", exact=True)).to_be_focused()


def test_faults_are_switched_by_keyboard_and_the_page_says_how_many_are_on(shown: Shown) -> None:
    page = shown.page
    faults = page.locator("summary", has_text="Faults")
    details = page.get_by_role("button", name="Details")
    for opener in (details, faults):
        tab_to(page, opener)
        page.keyboard.press("Enter")
    for name in ("The channel is gone", "Messages come two minutes late"):
        box = page.get_by_role("group", name="Faults").get_by_label(name)
        tab_to(page, box)
        page.keyboard.press("Space")
        expect(box).to_be_checked()
    for told in (faults, details):
        expect(told).to_contain_text("2 faults on")


def test_a_success_is_a_status_and_an_error_an_alert(shown: Shown) -> None:
    page = asked_for_cups(shown)
    shown.replay()
    done = page.get_by_role("status").filter(has_text="Replayed: the bot said the same.")
    expect(done).to_be_visible()
    ink = page.locator("body").evaluate("each => getComputedStyle(each).color")
    expect(done).to_have_css("color", ink)
    page.fill("#wait-for", "soon")
    page.get_by_role("button", name="Skip", exact=True).click()
    wrong = page.get_by_role("alert").filter(has_text="Write how long, such as 30m, 2 hours or 1d.")
    expect(wrong).to_be_visible()
    expect(done).to_have_count(0)
    assert wrong.evaluate("each => getComputedStyle(each).color") != ink


def test_the_page_says_that_time_moves_for_all_contacts_also_in_a_replay(shown: Shown) -> None:
    page = asked_for_cups(shown)
    clock = page.get_by_role("form", name="Clock")
    expect(clock).to_have_accessible_description("Time moves for all contacts.")
    replay = page.get_by_role("button", name="Replay")
    expect(replay).to_have_accessible_description("Repeat this conversation as a new contact, with the current flows")
    page.fill("#wait-for", "90m")
    clock.get_by_role("button", name="Skip", exact=True).click()
    expect(page.get_by_text("A replay skips 1 h 30 min, for all contacts.")).to_be_visible()
    expect(replay).to_have_accessible_description("A replay skips 1 h 30 min, for all contacts.")


@pytest.mark.parametrize(
    ("locale", "clock", "day"),
    [
        ("en-US", "Mon, May 6, 12:00 PM", "Monday, May 6"),
        ("de-DE", "Mo., 6. Mai, 12:00", "Montag, 6. Mai"),
        ("en-GB", "Mon 6 May, 12:00", "Monday 6 May"),
    ],
)
def test_times_are_written_as_the_reader_does_and_stay_so(
    served: tuple[Playground, PlaygroundServer], opens: Opens, locale: str, clock: str, day: str
) -> None:
    page = opens(served[1].url, locale=locale)
    page.fill("#text", "hi")
    page.press("#text", "Enter")
    expect(page.locator(".besides.day")).to_have_text(day)
    expect(page.locator("#clock")).to_have_text(re.compile(re.escape(clock[:-5]).replace("\\ ", r"\s") + ".*"))
    hour = page.locator(".bubble time").first
    expect(hour).to_have_text(re.compile(r"^12:0\d\sPM$" if locale == "en-US" else r"^12:0\d$"))


def test_nothing_is_wider_than_the_screen(shown: Shown) -> None:
    page = asked_for_cups(shown)
    for _ in range(5):
        shown.playground.chats.add_contact()
    expect(page.locator("#contacts a")).to_have_count(6)
    for width in (360, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        if width > 900:
            page.get_by_role("button", name="Details").click()
        for pane in ("phone", "map", "details"):
            page.evaluate("pane => { location.hash = pane }", pane)
            expect(page.locator(f"#{pane}")).to_be_visible()
            assert page.evaluate("document.documentElement.scrollWidth") == width
            for button in page.locator("button:visible").all():
                box = button.bounding_box()
                assert box is not None and box["x"] >= 0
                assert box["x"] + box["width"] <= width, button.inner_text()
