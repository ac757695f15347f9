"""The page of the playground, in a real Chromium."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import APIResponse, Locator, Route, expect

from bot.pages.playground.playground import Playground
from bot.pages.playground.playground_server import PlaygroundServer
from tests.browsing import Opens
from tests.pages.playground.conftest import FLOWS, Shown, expect_each, words
from tests.patience import wait_for

HOSTILE = Path(__file__).parents[2] / "engine" / "test_hostile_texts.py"


def test_a_whole_conversation_by_taps_and_typing(shown: Shown) -> None:
    shown.write("hi")
    assert shown.hears("Hello").locator("strong").inner_text() == "you"
    shown.hears("What would you like?")
    shown.tap("Tea")
    shown.hears("How large?").locator("summary").click()
    row = shown.page.locator(".row", has_text="Small")
    assert words(row) == "Small A cup"
    row.click()
    shown.hears("How many cups?")
    shown.write("4")
    shown.hears("So many!")
    shown.hears("4 cups, thank you.")
    expect_each(shown.page.locator(".bubble.mine .text"), ["hi", "Tea", "Small", "4"])
    expect(shown.page.locator(".tick.read")).to_have_count(6)


def test_an_old_button_can_be_tapped_as_on_a_phone(shown: Shown) -> None:
    shown.has_written("hi")
    shown.tap("Tea")
    shown.hears("How large?")
    shown.tap("Coffee")
    expect(shown.page.locator(".bubble.mine", has_text="Coffee")).to_be_visible()


def test_saved_flows_are_used_by_a_conversation_that_waits_and_the_map_shows_them(shown: Shown) -> None:
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.save(
        FLOWS.replace("How large?", "Which size, please?").replace("  lots:", "  heaps:").replace("lots}", "heaps}")
    )
    expect(shown.page.locator("#drawing [data-place='main/heaps']")).to_be_attached()
    shown.tap("Tea")
    shown.hears("Which size, please?")


def test_a_broken_file_is_shown_with_its_place_and_the_flows_from_before_stay(shown: Shown) -> None:
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.save(FLOWS.replace("ask: How large?", "aks: How large?"))
    trouble = shown.page.locator(".trouble")
    expect(trouble).to_contain_text("flows/main.yml:12:5: E107")
    shown.tap("Tea")
    shown.hears("How large?")
    shown.save(FLOWS)
    expect(trouble).to_have_count(0)


def test_the_map_follows_the_contact_and_shows_the_way_and_what_nothing_has_tried(shown: Shown) -> None:
    page = shown.page
    expect(page.locator("#untried")).to_have_text("3 not tried yet")  # the flows
    shown.has_written("hi")
    expect(page.locator("[data-place='main/drink'].here")).to_be_attached()
    expect(page.locator("[data-place='main/hello'].came")).to_be_attached()
    expect(page.locator("[data-place='main/cups'].untried")).to_be_attached()
    expect(page.locator(".line.gone")).to_have_count(1)
    expect(page.locator("#flow")).to_have_value("main")


OUTCOMES = """
flow: main
start: {otherwise: true}
vars: {drink: {type: text}, size: {type: text}}
steps:
  drink:
    ask: What would you like?
    buttons: {Tea: size, Coffee: size, Water: end}
    timeout: {after: 1h, then: size}
  size: {ask: How large?, save: size, timeout: {after: 1h, then: /more}}
  thanks: {say: Thank you, then: end}
---
flow: more
steps:
  more: {ask: Anything else?, buttons: {Yes: others, No: /main}, timeout: {after: 1h, then: end}}
  others: {run: other}
  last: {say: Bye, then: end}
---
flow: other
vars: {more: {type: text}}
steps: {ask: {ask: What else?, save: more, then: end}}
"""


def test_only_the_outcome_that_was_taken_is_lit(shows: Callable[[str], Shown]) -> None:
    shown = shows(OUTCOMES)
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.tap("Tea")
    shown.hears("How large?")
    gone = shown.page.locator("#drawing .line.gone")
    expect(gone).to_have_count(1)
    expect(gone).to_have_class(re.compile("solid"))
    expect(shown.page.locator("#drawing .label .gone")).to_have_text(["Tea"])


def test_a_way_out_of_the_flow_is_lit_and_no_line_between_a_conversations_end_and_the_next(
    shows: Callable[[str], Shown],
) -> None:
    shown = shows(OUTCOMES)
    page = shown.page
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.tap("Water")
    expect(page.locator("#drawing .label .gone")).to_have_text(["Water"])
    shown.has_written("hi")
    expect(page.locator(".bubble.bot")).to_have_count(2)
    page.fill("#wait-for", "61m")
    page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("How large?")
    expect(page.locator("#drawing .label .gone")).to_have_text(["timeout"])
    expect(page.locator("#drawing .line.gone.dashed")).to_have_count(1)
    page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("Anything else?")
    expect(page.locator("#flow")).to_have_value("more")
    shown.tap("Yes")
    shown.hears("What else?")
    page.locator("#flow").select_option("more")
    expect(page.locator("#drawing .label .gone")).to_have_text(["Yes", "runs"])
    page.locator("#flow").select_option("")
    expect(page.locator("#drawing .label .gone")).to_have_text(["timeout", "runs"])


RUNS = """
flow: main
start: {otherwise: true, words: [hello]}
interrupted: drop
steps:
  drink: {ask: What would you like?, buttons: {Tea: size, Coffee: size}}
  size: {ask: How large?, buttons: {Small: end, Large: end}}
---
flow: anew
start: {words: [anew]}
steps: {anew: {say: Anew, then: /main}}
"""


def test_the_way_of_an_earlier_run_is_not_lit(shows: Callable[[str], Shown]) -> None:
    shown = shows(RUNS)
    gone = shown.page.locator("#drawing .label .gone")
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.tap("Tea")
    expect(gone).to_have_text(["Tea"])
    shown.has_written("anew")
    asked_again = shown.page.locator(".bubble.bot[id]", has_text="What would you like?")
    expect(asked_again).to_have_count(2)
    expect(shown.page.locator("[data-place='main/drink'].here")).to_be_attached()
    expect(gone).to_have_count(0)
    shown.tap("Coffee")
    expect(gone).to_have_text(["Coffee"])


def test_the_details_are_shown_once_they_are_wanted_and_stay(shown: Shown) -> None:
    page = shown.page
    details, button = page.locator("#details"), page.get_by_role("button", name="Details")
    expect(details).to_be_hidden()
    drawn = page.locator("#drawing").bounding_box()
    button.click()
    expect(details).to_be_visible()
    expect(button).to_have_attribute("aria-expanded", "true")
    page.get_by_role("button", name="New contact").click()
    expect(page.locator("#contacts [aria-current]")).to_have_text("Ben")
    expect(details).to_be_visible()
    button.click()
    expect(details).to_be_hidden()
    wait_for(lambda: page.locator("#drawing").bounding_box() == drawn)


def test_a_turn_is_told_in_sentences(shown: Shown) -> None:
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.has_written("lots")
    shown.open("wrote")
    turn = shown.page.locator(".turn", has_text='wrote "lots"')
    expect(turn.locator(".rule")).to_have_text("Because it is no answer: the question is asked again (1).")
    expect(turn.locator(".steps li").first).to_have_text("main/drink retry asks again")
    expect(turn.locator(".effect")).to_contain_text('send "')
    expect(turn).not_to_contain_text("µs")


def test_the_map_begins_with_all_flows_and_stays_where_a_person_has_moved_it(shown: Shown) -> None:
    page = shown.page
    for box in page.locator("#drawing .place").all():
        expect(box).to_be_in_viewport(ratio=1)
    shown.has_written("hi")
    shown.hears("What would you like?")
    expect(page.locator("#flow")).to_have_value("main")
    expect(page.locator("[data-place='main/drink'].here")).to_be_in_viewport()
    page.locator("#drawing").press("ArrowDown")
    moved = page.locator("#drawing svg").get_attribute("viewBox")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator(".besides", has_text="2 h later")).to_be_visible()
    assert page.locator("#drawing svg").get_attribute("viewBox") == moved


def test_a_flow_whose_drawing_comes_late_is_shown_from_its_beginning_though_it_was_edited_meanwhile(
    shown: Shown,
) -> None:
    page = shown.page
    flow, drawing = page.locator("#flow"), page.locator("#drawing")
    flow.select_option("pictures")
    expect(page.locator("[data-place='pictures/got']")).to_be_attached()
    begins = page.locator("#drawing svg").get_attribute("viewBox")
    flow.select_option("main")
    expect(page.locator("[data-place='main/lots']")).to_be_attached()
    drawing.press("ArrowDown")
    held: list[Route] = []
    page.route("**/map?*", lambda route: held.append(route), times=2)
    flow.select_option("pictures")
    shown.save(FLOWS.replace("So many!", "So many cups!"))
    wait_for(lambda: bool(page.title()) and len(held) > 1)
    for route in held:
        route.continue_()
    expect(page.locator("[data-place='pictures/got']")).to_be_attached()
    expect(page.locator("#drawing svg")).to_have_attribute("viewBox", str(begins))


def test_a_drawing_that_did_not_come_is_asked_for_again(shown: Shown) -> None:
    page = shown.page
    page.route("**/map?*", lambda route: route.fulfill(status=404), times=1)
    with page.expect_response("**/map?*"):
        shown.has_written("hi")
    shown.has_written("Tea")
    expect(page.locator("[data-place='main/size'].here")).to_be_visible()


def test_of_two_steps_the_one_that_was_clicked_last_is_shown_and_takes_the_focus_from_nobody(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi")
    shown.hears("What would you like?")
    page.locator("#flow").select_option("pictures")
    expect(page.locator("[data-place='pictures/got']")).to_be_attached()
    held: list[Route] = []
    page.route("**/map?*", lambda route: held.append(route), times=1)
    page.locator(".turn [data-place='main/hello']").evaluate("each => each.click()")
    page.locator(".turn [data-place='main/drink']").first.evaluate("each => each.click()")
    expect(page.locator("#step h2")).to_have_text("main/drink")
    page.locator("#text").focus()
    with page.expect_response("**/map?*"):
        held[0].continue_()
    expect(page.locator("[data-place='main/drink'].here")).to_be_visible()
    expect(page.locator("#step h2")).to_have_text("main/drink")
    expect(page.locator("#text")).to_be_focused()


def test_the_map_shows_the_way_also_where_the_conversation_has_ended(shows: Callable[[str], Shown]) -> None:
    shown = shows(RUNS + "---\nflow: hours\nstart: {words: [hours]}\nsteps: {a: {say: Until six, then: b}, b: {say: Bye, then: end}}\n")  # fmt: skip
    shown.has_written("hours")
    shown.hears("Bye")
    expect(shown.page.locator("#flow")).to_have_value("hours")
    expect(shown.page.locator("#drawing .line.gone")).to_have_count(2)


def test_a_long_flow_is_shown_so_that_its_boxes_can_be_seen(shows: Callable[[str], Shown]) -> None:
    steps = "".join(f"  s{n}: {{say: This is step {n} of many}}\n" for n in range(150))
    shown = shows(f"flow: main\nstart: {{otherwise: true}}\nsteps:\n{steps}  last: {{say: Bye, then: end}}\n")
    page = shown.page
    page.locator("#flow").select_option("main")
    box = page.locator("[data-place='main/s0']")
    expect(box).to_be_in_viewport()
    page.get_by_role("button", name="Fit").click()
    found = box.bounding_box()
    assert found is not None and found["width"] > 20


def test_many_contacts_and_a_long_name_leave_the_header_on_one_line(
    served: tuple[Playground, PlaygroundServer], opens: Opens
) -> None:
    playground, server = served
    for _ in range(15):
        playground.chats.add_contact()
    page = opens(f"{server.url}contact/{playground.chats.contacts[12]}", 1280)
    page.locator("h1").evaluate("each => { each.textContent = 'A bot with a very long name '.repeat(4) }")
    expect(page.locator("#contacts [aria-current]")).to_be_in_viewport(ratio=1)
    header = page.locator("header").bounding_box()
    assert header is not None and header["height"] < 60


def test_the_tools_of_the_map_stay_on_one_line_beside_the_details(shows: Callable[[str], Shown]) -> None:
    steps = "".join(f"  s{number}: {{say: Hi}}\n" for number in range(120))
    page = shows(f"flow: a_flow_with_a_rather_long_name\nstart: {{otherwise: true}}\nsteps:\n{steps}").page
    page.locator("#flow").select_option("a_flow_with_a_rather_long_name")
    expect(page.locator("#untried")).to_have_text("120 not tried yet")
    page.locator("#unfold").click()
    tools = page.locator("#map .tools")
    for width in (1400, 1241):
        page.set_viewport_size({"width": width, "height": 900})
        assert tools.evaluate("each => [each.clientHeight < 50, each.scrollWidth <= each.clientWidth]") == [True, True]


def test_a_long_time_stands_beside_the_contacts_on_a_narrow_page(
    served: tuple[Playground, PlaygroundServer], opens: Opens
) -> None:
    page = opens(served[1].url, locale="en-US")
    page.locator("#clock time").evaluate("each => { each.textContent = 'Wed, Nov 20, 10:44 PM' }")
    for width in (360, 390):
        page.set_viewport_size({"width": width, "height": 900})
        contacts, clock = page.locator("#contacts").bounding_box(), page.locator("#clock").bounding_box()
        assert contacts is not None and clock is not None and clock["y"] < contacts["y"] + contacts["height"]


def test_a_page_whose_stream_was_refused_asks_for_it_again(shown: Shown) -> None:
    refused: list[Route] = []

    def refuse(route: Route) -> None:
        refused.append(route)
        route.fulfill(status=429)  # as a proxy does while the bot starts, with 502

    shown.page.route("**/live", refuse, times=1)
    shown.page.reload()
    wait_for(lambda: bool(shown.page.title()) and bool(refused))
    shown.has_written("hi")
    shown.hears("What would you like?")


def test_what_is_wrong_goes_with_escape_and_moves_nothing(shown: Shown) -> None:
    page, wrong = shown.page, shown.page.locator("body > .wrong")
    before = page.locator("#phone").bounding_box()
    page.fill("#wait-for", "soon")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(wrong).to_be_visible()
    assert page.locator("#phone").bounding_box() == before
    page.keyboard.press("Escape")
    expect(wrong).to_be_hidden()


def test_a_bot_that_is_gone_is_reported_and_breaks_nothing(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi", "tea", "small")
    shown.hears("How many cups?")
    page.evaluate("() => { globalThis.fetch = () => Promise.reject(new TypeError('nobody listens')) }")
    wrong, gone = page.locator("body > .wrong"), "The bot does not answer: is `bot dev` still running?"
    for does, said in ((".turn [data-place='main/hello']", ""), ("[data-set=cups]", gone), ("[data-edit]", gone)):
        page.locator(does).first.evaluate("each => each.click()")
        expect(wrong).to_have_text(said)
        page.keyboard.press("Escape")
        expect(wrong).to_be_hidden()


def test_a_text_from_right_to_left_begins_at_the_right(shown: Shown) -> None:
    shown.write("مرحبا بالجميع\nنعم")
    last = shown.page.locator(".bubble.mine .text").last
    expect(last).to_be_visible()
    gap = last.evaluate(
        "each => { const words = document.createRange(); words.setStart(each.firstChild, each.textContent.length - 1);"
        " words.setEnd(each.firstChild, each.textContent.length);"
        " return words.getBoundingClientRect().left - each.getBoundingClientRect().left }"
    )
    assert gap > 10


def test_a_click_on_a_step_shows_its_lines_who_waits_and_what_was_found(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi")
    page.locator("#drawing .place", has=page.locator("[data-place='main/drink']")).click()
    step = page.locator("#step")
    expect(step).to_contain_text("buttons: {Tea: {value: Tea}, Coffee: {value: Coffee}}")
    expect(step).to_contain_text("1 contact waits here")
    expect(step).to_contain_text("flows/main.yml:7")
    page.get_by_role("button", name="Close").click()
    expect(step).to_be_hidden()
    page.locator("#flow").select_option("offer")
    expect(page.locator("[data-place='offer/price']")).to_be_attached()
    assert "flow=offer" in page.url


def test_a_step_that_is_shown_does_not_cover_its_box(shown: Shown) -> None:
    page = shown.page
    page.locator("#flow").select_option("main")
    for name in ("drink", "cups", "thanks"):
        page.locator("#drawing .place", has=page.locator(f"[data-place='main/{name}']")).press("Enter")
        expect(page.locator("#step h2")).to_have_text(f"main/{name}")
        box, step = page.locator(f"[data-place='main/{name}']").bounding_box(), page.locator("#step").bounding_box()
        assert box is not None and step is not None
        assert box["x"] + box["width"] <= step["x"] or box["y"] + box["height"] <= step["y"]


def test_a_click_on_a_step_names_the_tests_that_reach_it_and_what_is_shown_of_it_stays_true(shown: Shown) -> None:
    page = shown.page
    (shown.folder / "tests.yml").write_text(
        "test: a guest says hi\ntalk:\n  - user: hi\n  - bot: Hello *you*\n  - bot: {contains: What would}\n"
        "---\ntest: a picture\ntalk:\n  - user: picture\n  - bot: A picture please\n"
    )
    shown.save(FLOWS.replace("How large?", "Which size?"))
    page.locator("#flow").select_option("main")
    expect(page.locator("#drawing svg", has_text="Which size?")).to_be_visible()
    page.locator("#drawing .place", has=page.locator("[data-place='main/drink']")).press("Enter")
    step = page.locator("#step")
    expect(step).to_contain_text("1 test reaches it:")
    expect_each(step.locator("li"), ["tests.yml:1 a guest says hi"])
    expect(step).to_contain_text("0 contacts wait here; entered 0 times")
    shown.has_written("hi")
    expect(step).to_contain_text("1 contact waits here; entered 1 time.")
    page.locator("#drawing .place", has=page.locator("[data-place='main/lots']")).press("Enter")
    expect(step).to_contain_text("No test reaches it.")


def test_what_was_known_of_a_step_earlier_does_not_come_after_what_is_known_now(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi")
    page.locator("[data-place='main/drink'].here").click()
    expect(page.locator("#step")).to_contain_text("entered 1 time.")
    earlier: list[tuple[Route, APIResponse]] = []
    page.route("**/step?*", lambda route: earlier.append((route, route.fetch())), times=1)
    shown.has_written("tea")
    wait_for(lambda: bool(page.title() and earlier))
    shown.has_written("x", "small", "2", "hi")
    expect(page.locator("#step")).to_contain_text("entered 2 times.")
    earlier[0][0].fulfill(response=earlier[0][1])
    page.evaluate("async () => (await fetch(location)).text()")  # by when the page has it
    expect(page.locator("#step")).to_contain_text("entered 2 times.")


def test_what_nothing_has_tried_yet_is_the_same_for_all_contacts_and_after_a_reload(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi", "tea", "small", "2")
    shown.hears("2 cups")
    page.locator("#flow").select_option("main")
    expect(page.locator("#untried")).to_have_text("1 not tried yet")
    page.reload()
    expect(page.locator("#untried")).to_have_text("1 not tried yet")
    page.get_by_role("button", name="New contact").click()
    expect(page.locator("#contacts [aria-current]")).to_have_text("Ben")
    expect(page.locator("#untried")).to_have_text("2 not tried yet")  # the flows
    page.locator("#flow").select_option("main")
    expect(page.locator("#untried")).to_have_text("1 not tried yet")
    expect(page.locator("[data-place='main/lots']")).to_have_class(re.compile("untried"))


def test_what_the_checks_find_is_marked_in_the_map(shown: Shown) -> None:
    shown.save(
        FLOWS + "---\nflow: lost\nsteps:\n  a: {say: A}\n  b: {ask: B, buttons: {X: a}}\n  c: {say: Never, then: end}\n"
    )
    shown.page.locator("#flow").select_option("lost")
    expect(shown.page.locator(".box.found")).not_to_have_count(0)


def test_a_search_in_the_map_finds_a_step_by_what_it_says(shown: Shown) -> None:
    shown.page.locator("#flow").select_option("main")
    shown.page.locator("#find").fill("so many")
    expect(shown.page.locator(".box.hit")).to_have_attribute("data-place", "main/lots")
    expect(shown.page.locator("#find:invalid")).to_have_count(0)
    shown.page.locator("#find").fill("so few")
    expect(shown.page.locator("#find:invalid")).to_have_count(1)


def test_what_is_searched_for_stays_marked_when_the_drawing_changes(shown: Shown) -> None:
    shown.page.locator("#flow").select_option("main")
    shown.page.locator("#find").fill("so many")
    expect(shown.page.locator(".box.hit")).to_have_count(1)
    shown.save(FLOWS.replace("How large?", "Which size?"))
    expect(shown.page.locator("#drawing svg", has_text="Which size?")).to_be_visible()
    expect(shown.page.locator(".box.hit")).to_have_count(1)


def test_the_map_is_moved_and_zoomed_with_keys_and_a_step_opened(shown: Shown) -> None:
    page = shown.page
    page.locator("#flow").select_option("main")
    svg = page.locator("#drawing svg")
    before = svg.get_attribute("viewBox")
    page.locator("#drawing").press("+")
    assert svg.get_attribute("viewBox") != before
    page.locator("#drawing .place", has=page.locator("[data-place='main/cups']")).press("Enter")
    expect(page.locator("#step")).to_contain_text("How many cups?")


def test_a_turn_says_what_came_what_took_it_what_conditions_saw_and_what_was_sent(shown: Shown) -> None:
    shown.has_written("hi", "tea", "small", "2")
    shown.hears("2 cups")
    turn = shown.page.locator(".turn").first
    expect(turn.locator("summary b").first).to_have_text('wrote "2"')
    expect(turn).to_contain_text("main/many")
    expect(turn.locator(".condition")).to_have_text("if cups > 3: false")
    expect(turn.locator(".effect").first).to_contain_text("2 cups, thank you.")
    expect(turn.locator(".status.read")).to_have_count(1)


def test_values_are_shown_while_a_flow_is_open(shown: Shown) -> None:
    shown.has_written("hi")
    shown.tap("Tea")
    expect(shown.page.locator("#values")).to_contain_text("main/size")
    expect(shown.page.locator("#values tr", has_text="drink")).to_contain_text("Tea")


def test_time_is_skipped_by_hours_to_the_next_event_and_past_the_24_hours(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi", "tea", "small")
    shown.hears("How many cups?")
    page.fill("#wait-for", "2h")
    page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("Still there?")
    expect(page.locator("#clock")).to_contain_text("14:0")
    page.get_by_role("button", name="To the next event").click()
    expect(page.locator("#values")).to_contain_text("The contact is in no flow.")
    page.get_by_role("button", name="Skip past 24 h").click()
    expect(page.locator("#values")).to_contain_text("closed: templates only")
    page.fill("#wait-for", "soon")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("body > .wrong")).to_have_text("Write how long, such as 30m, 2 hours or 1d.")


def test_a_picture_a_voice_note_a_file_and_a_place_are_sent(shown: Shown, tmp_path: Path) -> None:
    page = shown.page
    shown.has_written("picture")
    shown.hears("A picture please")
    shown.open("Send a file")
    page.get_by_role("button", name="A photo").click()
    shown.hears("Got it")
    picture = page.locator(".bubble.mine img")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 320)
    page.get_by_label("Voice note that says").fill("two, please")
    page.get_by_role("button", name="Send voice note").click()
    expect(page.locator(".bubble.mine audio")).to_be_visible()
    expect(page.locator(".bubble.mine", has_text="two, please")).to_be_visible()
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n%%EOF\n")
    page.set_input_files("input[type=file]", tmp_path / "a.pdf")
    page.get_by_role("button", name="Send file").click()
    expect(page.locator(".bubble.mine a")).to_have_text("a.pdf")
    page.get_by_role("button", name="Send place").click()
    expect(page.locator(".bubble.mine", has_text="📍 Home")).to_be_visible()
    (tmp_path / "a.exe").write_bytes(b"MZ\0\1")
    page.set_input_files("input[type=file]", tmp_path / "a.exe")
    page.get_by_role("button", name="Send file").click()
    expect(page.locator("body > .wrong")).to_contain_text("Contacts cannot send a.exe")


def paid(shown: Shown) -> Locator:
    """A program starts the offer, and reports that it was paid; the form that starts flows."""
    page = shown.page
    shown.open("Simulate an event")
    start = page.get_by_role("form", name="Start", exact=True)
    start.locator("select").select_option("offer")
    start.locator("textarea").fill("price=9")
    start.get_by_role("button").click()
    shown.leaves_unsent("Only 9!")
    page.get_by_role("form", name="Signal").get_by_role("button").click()
    shown.leaves_unsent("Thank you for paying")
    return start


def test_a_program_starts_a_flow_and_reports_a_signal_and_the_gateway_an_event(shown: Shown) -> None:
    page, start = shown.page, paid(shown)
    start.locator("textarea").fill("price=cheap")
    start.get_by_role("button").click()
    expect(page.locator("body > .wrong")).to_contain_text("The bot refuses this")
    page.get_by_role("form", name="Event of the gateway").locator("select").select_option("conversation.assigned")
    page.get_by_role("form", name="Event of the gateway").get_by_role("button").click()
    shown.open("Values")
    expect(page.locator("#values tr", has_text="agent")).to_be_visible()


def test_a_restarted_bot_goes_on_where_the_contact_was(shown: Shown) -> None:
    shown.has_written("hi")
    shown.hears("What would you like?")
    shown.open("Simulate an event")
    shown.page.get_by_role("button", name="Restart the bot").click()
    shown.tap("Tea")
    shown.hears("How large?")


@pytest.mark.parametrize("fault", ["busy", "channel", "lost", "key"])
def test_a_message_that_a_fault_holds_back_is_shown_and_comes_once_the_fault_is_over(shown: Shown, fault: str) -> None:
    page = shown.page
    shown.open("Faults")
    switch = page.locator(f"[data-fault={fault}]")
    switch.check()
    shown.write("hi")
    if fault != "lost":  # that one was accepted
        expect(page.locator(".bubble.unsent").first).to_be_visible()
    else:
        expect(page.locator(".bubble.unsent, .bubble.bot").first).to_be_visible()
    switch.uncheck()
    expect(switch).not_to_be_checked()
    for _ in range(3):
        page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("What would you like?")
    expect(page.locator(".bubble.bot", has_text="Hello")).to_have_count(1)


def test_a_refused_message_is_shown_as_given_up_with_the_reason(shown: Shown) -> None:
    shown.open("Faults")
    shown.page.locator("[data-fault=refused]").check()
    shown.write("hi")
    failed = shown.page.locator(".bubble.failed").first
    expect(failed.locator(".text")).to_have_text("Hello you")
    why = 'ou switched on "The gateway refuses messages (422)"'
    expect(failed).to_contain_text(f"Not sent: y{why}")
    refused = shown.page.locator(".turn", has_text="the message was refused").first
    refused.locator("summary").click() if refused.get_attribute("open") is None else None
    expect(refused).to_contain_text(f"Y{why}")


def test_a_message_that_waits_for_its_first_try_looks_like_one_that_is_sent(shown: Shown) -> None:
    page = shown.page
    shown.playground.simulation.emulator.faults.add("error_before", status=503)
    shown.write("hi")
    expect(page.locator(".bubble.unsent")).to_contain_text("Not sent yet, tried")
    behind = page.locator(".bubble.waiting:not(.unsent)")
    expect(behind).to_contain_text("What would you like?")
    expect(behind.locator(".tick")).to_have_text(re.compile("waiting"))


@pytest.mark.parametrize("fault", ["doubled", "late", "slow"])
def test_a_doubled_late_or_slow_service_changes_nothing_of_what_is_said(shown: Shown, fault: str) -> None:
    shown.open("Faults")
    shown.page.locator(f"[data-fault={fault}]").check()
    shown.write("hi")
    shown.hears("What would you like?")
    expect(shown.page.locator(".bubble.bot")).to_have_count(2)


def test_several_contacts_have_conversations_of_their_own_and_two_people_see_the_same(
    shown: Shown, opens: Opens
) -> None:
    other = opens(shown.page.url)
    shown.write("hi")
    expect(other.locator(".bubble.bot", has_text="What would you like?")).to_be_visible()
    other.get_by_role("button", name="New contact").click()
    expect(other.locator("#contacts [aria-current]")).to_have_text("Ben")
    expect(other.locator(".bubble")).to_have_count(0)
    expect(shown.page.locator("#contacts a")).to_have_count(2)
    other.fill("#text", "picture")
    other.press("#text", "Enter")
    expect(other.locator(".bubble.bot", has_text="A picture please")).to_be_visible()
    expect(shown.page.locator(".bubble", has_text="picture")).to_have_count(0)


def held(shown: Shown) -> None:
    shown.has_written("hi", "tea", "small", "2")
    shown.hears("2 cups, thank you.")


def test_a_conversation_goes_on_from_an_earlier_message_differently_as_a_new_contact(shown: Shown) -> None:
    held(shown)
    page = shown.page
    third = page.locator(".bubble.mine").nth(3)
    third.hover()
    third.locator(".back").click()
    expect(page.locator("#contacts [aria-current]")).to_have_text("Ben")
    shown.hears("How many cups?")
    expect(page.locator(".bubble.mine")).to_have_count(3)
    shown.write("5")
    shown.hears("So many!")


def test_a_conversation_is_held_again_with_the_edited_flows_and_the_first_difference_is_said(shown: Shown) -> None:
    held(shown)
    page = shown.page
    shown.replay()
    page.goto(shown.server.url)
    page.locator("#flow").select_option("main")
    shown.save(FLOWS.replace("cups, thank you.", "cups, thanks."))
    expect(page.locator("#drawing svg", has_text="thanks.")).to_be_visible()
    page.get_by_role("button", name="Replay").click()
    expect(page.locator("body > .done")).to_have_text(
        'Replayed. Message 5 of the bot\'s was "2 cups, thank you.", and is now "2 cups, thanks.".'
    )
    shown.hears("2 cups, thanks.")


def test_a_conversation_is_kept_as_a_test_that_passes(shown: Shown) -> None:
    page = shown.page
    paid(shown)
    held(shown)
    shown.has_written("hi")
    coffee = page.locator("#conversation").get_by_role("button", name="Coffee", exact=True)
    expect(coffee).to_have_count(2)  # before, the question is shown as one that is not sent yet, without buttons
    shown.tap("Coffee")
    expect(page.locator(".bubble.bot[id]", has_text="How large?")).to_have_count(2)
    shown.hears("How large?").locator("summary").click()
    page.locator(".row", has_text="Large").last.click()
    shown.hears("How many cups?")
    page.fill("#wait-for", "90m")
    page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("Still there?")
    expect(page.locator(".besides", has_text="1 h 30 min later")).to_be_visible()
    test = shown.keep_test()
    assert "pick: Large" in test and "wait: 1h 30m" in test and "signal: paid" in test


def change(shown: Shown, name: str, value: str) -> Locator:
    """Set a variable on the page; the dialog."""
    if not (opener := shown.page.locator(f"[data-set={name}]")).is_visible():
        shown.open("Values")
    opener.click()
    dialog = shown.page.locator("#variable")
    dialog.get_by_label(re.compile("^Value")).fill(value)
    dialog.get_by_role("button", name="Set").click()
    return dialog


def test_a_variable_is_set_by_its_type_and_the_conversation_goes_on_with_it(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi", "tea", "small")
    shown.hears("How many cups?")
    dialog = change(shown, "cups", "many")
    expect(dialog.get_by_role("alert")).to_have_text("The bot refuses this: cups is of type integer: it is no number.")
    dialog.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-set=cups]")).to_be_focused()
    expect(change(shown, "drink", "a cup of <b>cocoa</b>")).to_be_hidden()
    expect(page.locator("[data-set=drink]")).to_have_text("a cup of <b>cocoa</b>")
    expect(page.locator(".besides").last).to_contain_text("drink set to a cup of <b>cocoa</b>")
    expect(page.locator(".turn summary b").first).to_have_text("drink: a cup of <b>cocoa</b> set by operator")
    change(shown, "drink", "")
    expect(page.locator("[data-set=drink]")).to_have_text("null")
    expect(page.locator("[data-set=photo]")).to_have_count(0)  # no file can be written


def test_a_variable_that_was_set_is_set_again_in_a_replay_and_in_a_kept_test(shown: Shown) -> None:
    page = shown.page
    shown.save(FLOWS.replace('"{{ cups }} cups, thank you."', '"{{ cups }} cups of {{ drink }}, thank you."'))
    expect(page.locator("#drawing svg")).to_be_visible()
    page.locator("#flow").select_option("main")
    expect(page.locator("#drawing svg", has_text="cups of")).to_be_visible()
    shown.has_written("hi", "tea", "small")
    shown.hears("How many cups?")
    expect(change(shown, "drink", "cocoa")).to_be_hidden()
    shown.has_written("2")
    shown.hears("2 cups of cocoa, thank you.")
    shown.keep_test()
    shown.replay()
    shown.hears("2 cups of cocoa, thank you.")


def test_what_has_the_focus_and_what_is_open_stays_so_when_the_page_changes(shown: Shown) -> None:
    page = shown.page
    shown.has_written("hi")
    shown.hears("What would you like?")
    page.get_by_role("button", name="Coffee").focus()
    shown.playground.write(shown.playground.chats.contacts[0], "what?")
    expect(page.locator(".bubble.mine")).to_have_count(2)
    assert page.evaluate("document.activeElement.textContent") == "Coffee"


def test_text_is_never_markup_whoever_has_written_it(shown: Shown) -> None:
    texts = [f"<img src=x onerror=alert({n})> {n}" for n in range(30)]
    texts += [f"*<b>{n}</b>* _\"'><script>alert({n})</script>_" for n in range(30)]
    texts += [f'https://a.example/"onmouseover=alert({n})//<i>' for n in range(30)]
    texts += [f"{{{{ {n} * 7 }}}} ${{{n}}} {{% raw %}} &lt;{n}&gt; &#60;u>" for n in range(30)]
    playground, contact = shown.playground, shown.playground.chats.contacts[0]
    for text in texts:
        playground.chats.add(contact, text=text)
    page = shown.page
    page.get_by_role("button", name=re.compile("earlier messages")).click()
    expect(page.locator(".bubble.mine")).to_have_count(120)
    assert page.locator(".bubble img, .bubble script, .bubble b, .bubble i, .bubble u").count() == 0
    assert page.locator(".bubble [onmouseover], .bubble [onerror]").count() == 0
    read = [each.replace("\n", "") for each in page.locator(".bubble.mine .text").all_inner_texts()]
    assert read[0] == texts[0] and read[60] == texts[60] and read[-1] == texts[-1]


def test_all_messages_have_an_address_and_stay_when_something_new_comes(shown: Shown) -> None:
    page, contact = shown.page, shown.playground.chats.contacts[0]
    for number in range(100):
        shown.playground.chats.add(contact, text=f"message {number}")
    page.get_by_role("button", name="40 earlier messages").click()
    expect(page.locator(".bubble.mine")).to_have_count(100)
    assert page.url.endswith("?all=1")
    shown.write("picture")
    shown.hears("A picture please")
    expect(page.locator(".bubble.mine")).to_have_count(101)
    expect(page.locator(".bubble.mine .text").first).to_have_text("message 0")
    expect(page.locator(".earlier")).to_have_count(0)
    page.evaluate(
        "document.hidden || (Object.defineProperty(document, 'hidden', { get: () => globalThis.away }), globalThis.away = true, document.dispatchEvent(new Event('visibilitychange')))"
    )
    for number in range(100, 200):
        shown.playground.chats.add(contact, text=f"message {number}")
    page.evaluate("globalThis.away = false, document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".bubble.mine")).to_have_count(201)  # more than the stream tells of at once
    page.reload()
    expect(page.locator(".bubble.mine")).to_have_count(201)


PHOTOS = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media}}
steps:
  photo: {ask: A picture please, save: photo}
  returned: {template: {name: photo_back, language: en, header: {image: "{{ photo }}"}}}
  other: {template: {name: photo_back, language: en, header: {image: "https://cafe.example/photos/cup.png"}}, then: end}
"""


def test_the_header_of_a_template_is_a_picture_where_the_emulator_has_it_and_else_a_named_file(
    shows: Callable[[str], Shown],
) -> None:
    shown = shows(PHOTOS)
    shown.has_written("hi")
    shown.open("Send a file")
    shown.page.get_by_role("button", name="A photo").click()
    picture = shown.page.locator(".bubble.bot img")
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("naturalWidth", 320)
    named = shown.page.locator(".bubble.bot .file a")
    expect(named).to_have_text("cup.png")
    expect(named).to_have_attribute("href", "https://cafe.example/photos/cup.png")


def test_an_empty_phone_offers_the_bots_own_words(shown: Shown) -> None:
    page = shown.page
    openers = page.locator(".openers button")
    expect(openers).to_have_text(["picture"])
    openers.first.click()
    shown.hears("A picture please")
    expect(openers).to_have_count(0)
    expect(page.locator("#text")).to_be_focused()
