"""The form that edits texts, in a real Chromium."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from bot.cli.shared.flow_reloader import BotFiles
from bot.core.clock import MovableClock
from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_server import PlaygroundServer
from tests.browsing import LOOKS, Opens
from tests.cli.terminal import make_bot
from tests.pages.playground.conftest import FLOWS, NOON, SETTINGS, Shown, words
from tests.patience import wait_for


def field(shown: Shown, label: str) -> Locator:
    return shown.page.locator("#editing").get_by_role("textbox", name=label, exact=True)


def click(page: Page, text: str) -> None:
    """Click on a text of the bot's, once the page can edit."""
    expect(page.locator("#editing")).to_be_attached()
    page.locator(".bubble.bot:has([data-edit])", has_text=text).locator(".text").click()  # it has been sent


def saved(shown: Shown) -> str:
    return (shown.folder / "flows" / "main.yml").read_text()


SAVED = "Saved. The bot says it from its next message on; ↶ on the phone goes back."


def save(shown: Shown, says: str = SAVED) -> None:
    shown.page.get_by_role("button", name="Save", exact=True).click()
    expect(shown.page.locator("#editing .done")).to_have_text(says)


def test_a_click_on_a_text_edits_it_in_its_file_and_the_conversation_goes_on(shown: Shown) -> None:
    shown.write("hi")
    click(shown.page, "What would you like?")
    ask = field(shown, "ask")
    expect(ask).to_be_focused()
    ask.fill("Tea: or coffee?")
    changes = shown.page.locator("#editing .changes")
    expect(changes).to_contain_text('-     ask: What would you like?+     ask: "Tea: or coffee?"')
    save(shown)
    assert saved(shown) == FLOWS.replace("What would you like?", '"Tea: or coffee?"')
    shown.page.get_by_role("button", name="Close", exact=True).last.click()
    expect(shown.page.locator("#drawing .place", has_text="Tea: or coffee?")).to_be_attached()
    shown.tap("Tea")
    shown.hears("Tea: or coffee?")  # a question that was edited is asked again
    shown.tap("Tea")
    shown.hears("How large?")


def test_titles_of_buttons_and_rows_are_edited_where_they_are_seen_too(shown: Shown) -> None:
    shown.write("hi")
    shown.hears("What would you like?").get_by_role("button", name="Edit this text").click()
    field(shown, "buttons › Tea").fill("Black tea")
    save(shown)
    shown.page.keyboard.press("Escape")
    expect(shown.page.locator("#editing")).to_be_hidden()
    assert "{Black tea: {value: Tea}, Coffee:" in saved(shown)


def test_a_step_of_the_map_opens_its_texts_and_a_problem_stands_beside_the_field(shown: Shown) -> None:
    page = shown.page
    page.locator("#flow").select_option("main")
    page.locator("#drawing .place", has=page.locator("[data-place='main/hello']")).click()
    page.get_by_role("button", name="Edit its texts").click()
    say = field(shown, "say")
    say.fill("{{ cusp }} cups.")
    note = page.locator("#editing .notes .error")
    expect(note).to_contain_text('E301: no variable "cusp"')
    expect(note).to_contain_text('did you mean "cups"?')
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#editing .wrong")).to_contain_text("Nothing is saved")
    assert saved(shown) == FLOWS
    say.fill("Good day")
    expect(note).to_have_count(0)
    save(shown)
    page.get_by_role("button", name="Take it back").click()
    expect(page.locator("#editing .done")).to_have_text("Taken back: the files are as they were.")
    assert saved(shown) == FLOWS


def test_a_whole_step_is_edited_as_yaml_with_its_problems_while_typing(shown: Shown) -> None:
    page = shown.page
    shown.write("hi")
    click(shown.page, "Hello")
    page.locator("#editing summary", has_text="The whole step as YAML").click()
    yaml = field(shown, "flows/main.yml:6 YAML")
    expect(yaml).to_have_value('hello: {say: "Hello *you*"}')
    yaml.fill("hello:\n  sya: Hello")
    expect(page.locator("#editing .notes .error")).to_contain_text("E107")
    expect(field(shown, "say")).to_be_disabled()
    yaml.fill("hello:\n  # a greeting\n  say: Good day")
    save(shown)
    assert "  hello:\n    # a greeting\n    say: Good day\n  drink:\n" in saved(shown)


def test_keys_and_targets_are_offered_while_a_step_is_written(shown: Shown) -> None:
    page = shown.page
    shown.write("hi")
    click(shown.page, "Hello")
    page.locator("#editing summary", has_text="The whole step as YAML").click()
    yaml = field(shown, "flows/main.yml:6 YAML")
    yaml.fill("hello:\n  say: Hello\n  ")
    yaml.press_sequentially("the")
    offered = page.locator("#completions").get_by_role("option")
    expect(offered).to_have_text([re.compile("^then")])
    yaml.press("Enter")
    expect(yaml).to_have_value("hello:\n  say: Hello\n  then: ")
    yaml.press("Control+Space")
    expect(offered.first).to_have_attribute("aria-selected", "true")
    yaml.press_sequentially("dri")
    expect(offered).to_have_text([re.compile("^drinka step of this flow")])
    yaml.press("Escape")
    expect(page.locator("#completions")).to_be_hidden()
    expect(page.locator("#editing")).to_be_visible()
    yaml.press("Control+Space")
    offered.first.click()
    expect(yaml).to_have_value("hello:\n  say: Hello\n  then: drink")
    save(shown)


def test_what_is_offered_goes_when_the_cursor_leaves_its_place(shown: Shown) -> None:
    page = shown.page
    shown.write("hi")
    click(shown.page, "Hello")
    page.locator("#editing summary", has_text="The whole step as YAML").click()
    yaml = field(shown, "flows/main.yml:6 YAML")
    yaml.fill("hello:\n  say: Hello\n  ")
    for key in ("ArrowLeft", "Home", "Shift+Tab"):
        yaml.press("End")
        yaml.press("Control+Space")
        expect(page.locator("#completions")).to_be_visible()
        yaml.press(key)
        expect(page.locator("#completions")).to_be_hidden()
    expect(yaml).not_to_be_focused()
    expect(yaml).to_have_value("hello:\n  say: Hello\n  ")


def test_a_text_that_was_changed_on_the_disk_meanwhile_is_shown_beside_ones_own(shown: Shown) -> None:
    page = shown.page
    shown.write("hi")
    click(shown.page, "What would you like?")
    ask = field(shown, "ask")
    expect(ask).to_have_value("What would you like?")
    shown.save(FLOWS.replace("What would you like?", "Theirs?"))
    ask.fill("Mine?")
    disk = page.locator("#editing .disk")
    expect(disk).to_contain_text("Theirs?")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#editing .wrong")).to_have_text(re.compile("changed on the disk meanwhile"))
    assert "Theirs?" in saved(shown)
    page.get_by_role("button", name="Keep mine").click()
    expect(page.locator("#editing .changes")).to_contain_text("-     ask: Theirs?")
    save(shown)
    assert saved(shown) == FLOWS.replace("What would you like?", "Mine?")


def test_what_is_written_is_not_lost_by_one_key(shown: Shown) -> None:
    page = shown.page
    shown.write("hi")
    click(shown.page, "Hello")
    say = field(shown, "say")
    say.fill("Good day")
    page.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.locator("#editing .wrong")).to_contain_text("Not saved yet")
    expect(say).to_have_value("Good day")
    close(page)
    assert saved(shown) == FLOWS


def held_save(page: Page) -> Route:
    """Save, and hold the request."""
    held: list[Route] = []
    page.route("**/texts", lambda route: held.append(route), times=1)
    page.get_by_role("button", name="Save", exact=True).click()
    wait_for(lambda: bool(page.title()) and bool(held))
    return held[0]


def close(page: Page) -> None:
    page.get_by_role("button", name="Close", exact=True).last.click()
    expect(page.locator("#editing")).to_be_hidden()


def closed_while_it_saves(shown: Shown) -> Route:
    """Edit a text, save it, and close the form. The request is held."""
    page = shown.page
    shown.write("hi")
    click(page, "Hello")
    field(shown, "say").fill("Good day")
    expect(page.locator("#editing .changes")).to_contain_text("Good day")
    route = held_save(page)
    close(page)
    return route


def test_a_form_that_is_closed_while_it_saves_stays_closed(shown: Shown) -> None:
    page = shown.page
    route = closed_while_it_saves(shown)
    route.continue_()
    expect(page.locator("body > .done")).to_have_text(SAVED)
    assert "Good day" in saved(shown)
    expect(page.locator("#editing")).to_be_hidden()


def test_a_save_that_fails_after_its_form_was_closed_is_reported(shown: Shown) -> None:
    page = shown.page
    route = closed_while_it_saves(shown)
    route.fulfill(status=400, json={"error": "the disk is full"})
    expect(page.locator("body > .wrong")).to_have_text("Not saved. The disk is full.")
    assert saved(shown) == FLOWS


HOSTILE = """
flow: main
start: {otherwise: true}
steps:
  a: {say: "<img src=x onerror=alert(1)></textarea><script>alert(2)</script>", then: end}
"""


def test_texts_are_never_markup_in_the_form(shows: Callable[[str], Shown]) -> None:
    shown = shows(HOSTILE)
    shown.write("hi")
    click(shown.page, "<img")
    text = "<img src=x onerror=alert(1)></textarea><script>alert(2)</script>"
    expect(field(shown, "say")).to_have_value(text)
    field(shown, "say").fill(f"{text}<b>")
    expect(shown.page.locator("#editing .changes")).to_contain_text("<b>")
    assert shown.page.locator("#editing").locator("img, script, b:not(.file)").count() == 0


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[PlaygroundServer]:
    files = BotFiles(make_bot(tmp_path, FLOWS, bot=SETTINGS))
    program = files.load()
    with Playground(program, MovableClock(NOON, running=True), secrets={}) as playground:
        with PlaygroundServer(playground, program, files.folder, edits=False) as server:
            yield server


def test_read_only_shows_no_way_to_edit(read_only: PlaygroundServer, opens: Opens) -> None:
    page = opens(read_only.url)
    page.fill("#text", "hi")
    page.press("#text", "Enter")
    expect(page.locator(".bubble.bot", has_text="Hello")).to_be_visible()
    expect(page.locator("[data-edit]")).to_have_count(0)
    expect(page.locator("#editing")).to_have_count(0)
    assert page.request.get(f"{read_only.url}texts?flow=main&step=hello").status == 404
    assert page.request.post(f"{read_only.url}texts", data={"do": "save", "edits": []}).status == 404


@LOOKS
def test_the_form_can_be_read_and_fits(shows: Callable[..., Shown], width: int, dark: bool) -> None:
    page = shows(FLOWS, width=width, height=700, dark=dark).page
    page.fill("#text", "hi")
    page.press("#text", "Enter")
    click(page, "What would you like?")
    ask = page.locator("#editing").get_by_role("textbox", name="ask", exact=True)
    ask.fill("What {{ would }}?")
    expect(page.locator("#editing .notes .error")).to_be_visible()
    page.locator("summary", has_text="The whole step").click()
    form = page.locator("#editing").bounding_box()
    assert form is not None and form["width"] <= width and form["height"] <= 700
    assert page.evaluate(
        "document.querySelector('#editing').scrollWidth <= document.querySelector('#editing').clientWidth"
    )
    assert words(page.locator("#editing h2")) == "Texts of main/drink"
