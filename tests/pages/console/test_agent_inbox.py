"""The inbox in a real Chromium: what waits, taking over, answering, giving back; by two people at once."""

from contextlib import closing
from datetime import timedelta
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Route, expect

from bot.core.engine_answers import EngineAnswer
from bot.core.engine_requests import AnswerContact, AnyRequest, GatewayCommand, TakeOver
from bot.core.errors import BotError
from bot.store.kept_files import kept_files
from bot.testing.emulator.emulated_templates import MessageTemplate
from bot.testing.simulation.sample_files import SAMPLE_FILES
from tests.browsing import violations
from tests.pages.console.client import rows
from tests.pages.console.conftest import Live
from tests.pages.playground.conftest import SETTINGS as OF_ALL
from tests.searches import search, tries

FLOWS = """
flow: main
start: {otherwise: true}
steps: {ask: {ask: How many?, then: done}, done: {say: Thanks., then: end}}
---
flow: person
start: {words: [help, "<b>help</b>"]}
vars: {said: {type: text, value: "<b>milk</b> please"}}
steps:
  desk: {handoff: {team: bar, note: "They want {{ said }}", say: One moment.}, closed: bye}
  bye: {say: Bye for now., then: end}
---
flow: kitchen
start: {words: [cook]}
steps: {desk: {handoff: kitchen, closed: end}}
---
flow: later
steps:
  remember: {template: {name: still_there, language: en, body: [a, b]}}
  picture: {template: {name: photo, language: en, header: {image: "https://cafe.example/a.png"}, body: [a]}, then: end}
"""
SETTINGS = f"""{OF_ALL}
agents:
  silent: 45m
  replies: {{Hours: "We are open from 9 to 6.", Milk: "Oat, soy or cow?"}}
"""
ANN, BOB = "6281234567890", "6281234567891"


@pytest.fixture
def flows() -> str:
    return FLOWS


@pytest.fixture
def settings() -> str:
    return SETTINGS


def say(live: Live, contact: str, text: str) -> None:
    live.simulation.emulator.receive(contact, text, at=live.simulation.clock.now())
    live.simulation.settle()


def heard(live: Live, contact: str) -> list[str]:
    """The texts that have reached a contact, once all that is on its way has."""
    live.simulation.settle()
    sent = [message.body for message in live.simulation.emulator.sent if message.body["to"] == contact]
    return [body["text"]["body"] if "text" in body else body["type"] for body in sent]


def take(page: Page) -> None:
    page.get_by_role("button", name="Take over").first.click()


def taken(live: Live) -> Page:
    """Abel's page of a contact whose conversation he has taken over."""
    say(live, ANN, "help")
    live.console.ask(TakeOver(ANN, by="abel"))
    return live.log_in("abel", f"/contact/{ANN}")


def show_nothing_new(page: Page) -> None:
    """From now on the page does not hear of changes."""
    page.route("**/changes*", lambda route: None)  # which nobody answers
    page.reload()


def waiting(page: Page) -> list[str]:
    return page.locator("#inbox table").first.locator("tbody td:first-child a").all_inner_texts()


def test_what_waits_is_listed_with_its_note_team_and_time_the_longest_first(live: Live) -> None:
    say(live, BOB, "help")
    live.simulation.clock.move(timedelta(minutes=5))
    say(live, ANN, "cook")
    page = live.log_in("abel", "/inbox")
    rows = page.locator("#inbox tbody tr")
    expect(rows).to_have_count(2)
    expect(rows.nth(0)).to_contain_text("They want <b>milk</b> please")
    expect(rows.nth(0)).to_contain_text("5 minutes ago")
    assert waiting(page) == [BOB, ANN]
    page.get_by_role("link", name="kitchen").click()
    expect(rows).to_have_count(1)
    assert waiting(page) == [ANN]


def test_who_has_teams_can_see_what_waits_for_these_alone(live: Live) -> None:
    say(live, BOB, "help")
    say(live, ANN, "cook")
    page = live.log_in("tom", "/inbox")
    rows = page.locator("#inbox tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_role("link", name="My teams").click()
    expect(rows).to_have_count(1)
    assert waiting(page) == [BOB]
    expect(page.get_by_role("link", name="My teams")).to_have_attribute("aria-current", "true")
    expect(live.log_in("abel", "/inbox").get_by_role("link", name="My teams")).to_have_count(0)


def test_the_title_of_each_page_says_how_many_wait(live: Live) -> None:
    page = live.log_in("abel", "/state")
    expect(page).to_have_title("State · Test Bot")
    say(live, BOB, "help")
    expect(page).to_have_title("(1) State · Test Bot")


def test_a_person_takes_over_answers_and_gives_back(live: Live) -> None:
    say(live, ANN, "help")
    page = live.log_in("abel", "/inbox")
    take(page)
    expect(page.locator("#person")).to_contain_text("You have the conversation")
    page.get_by_label("Your answer").fill("Milk it is.\nAnything else?")
    page.get_by_role("button", name="Send", exact=True).click()
    mine = page.locator(".bubble.bot").last
    expect(mine.locator(".text")).to_have_text("Milk it is.\nAnything else?")
    expect(mine.locator(".by")).to_have_text("abel")
    say(live, ANN, "No, thank you")
    expect(page.locator(".bubble.mine .text").last).to_have_text("No, thank you")
    page.get_by_role("button", name="Give back to the bot").click()
    expect(page.locator("#person")).to_contain_text("The bot has the conversation.")
    assert heard(live, ANN) == ["One moment.", "Milk it is.\nAnything else?", "Bye for now."]
    expect(page.locator(".besides").last).to_have_text("12:00 the conversation was given back by abel")


def test_a_conversation_that_the_bot_has_can_be_taken_from_the_contacts_page(live: Live) -> None:
    say(live, ANN, "hi")
    page = live.log_in("abel", f"/contact/{ANN}")
    take(page)
    expect(page.get_by_label("Your answer")).to_be_visible()
    say(live, ANN, "two")
    page.get_by_role("button", name="Give back to the bot").click()
    expect(page.get_by_role("button", name="Take over")).to_be_visible()
    say(live, ANN, "two")
    assert heard(live, ANN) == ["How many?", "How many?"]


def test_what_is_being_written_stays_while_the_page_shows_what_comes_in(live: Live) -> None:
    page = taken(live)
    answer = page.get_by_label("Your answer")
    answer.fill("I am looking")
    answer.press("ArrowLeft")
    for text in ("Hello?", "Anybody there?"):
        say(live, ANN, text)
        expect(page.locator(".bubble.mine .text").last).to_have_text(text)
        expect(answer).to_have_value("I am looking")
        expect(answer).to_be_focused()
    page.keyboard.type("***")
    expect(answer).to_have_value("I am lookin***g")


def test_outside_of_the_window_only_a_template_can_be_sent(live: Live) -> None:
    live.simulation.emulator.templates.add(MessageTemplate("hello_again", "en", body="Hello {{1}}, still {{2}}?"))
    live.simulation.emulator.templates.add(MessageTemplate("still_there", "en", body="{{1}}, is {{2}} still there?"))
    live.simulation.emulator.templates.add(MessageTemplate("not_yet", "en", body="No.", status="PENDING"))
    say(live, ANN, "help")
    live.console.ask(TakeOver(ANN, by="abel"))
    live.simulation.clock.move(timedelta(hours=25))
    page = live.log_in("abel", f"/contact/{ANN}")
    expect(page.locator("#person")).to_contain_text("only a template can be sent")
    expect(page.get_by_label("Your answer")).to_have_count(0)
    expect(page.locator("#template .choices a")).to_have_text(["hello_again", "photo", "still_there"])
    page.get_by_role("link", name="hello_again").click()
    page.get_by_label("one per line").fill("Ann\nmilk")
    page.get_by_role("button", name="Send the template").click()
    bubble = page.locator(".bubble.bot").last
    expect(bubble).to_contain_text("template hello_again (en)")
    expect(bubble.locator("li")).to_have_text(["Ann", "milk"])
    page.get_by_role("link", name="still_there").click()
    page.get_by_label("{{1}}").fill("Ann")
    page.get_by_label("{{2}}").fill("the milk")
    assert violations(page) == []
    page.get_by_role("button", name="Send the template").click()
    expect(page.locator(".bubble.bot").last).to_contain_text("template still_there (en)")
    expect(page.locator(".bubble.bot").last.locator("li")).to_have_text(["Ann", "the milk"])
    assert len(rows(live.console.store, "SELECT 1 FROM turns WHERE rule = 'command'")) == 1


def test_a_template_that_is_refused_keeps_what_fills_it_and_without_the_list_its_name_is_typed(live: Live) -> None:
    say(live, ANN, "help")
    live.console.ask(TakeOver(ANN, by="abel"))
    live.simulation.clock.move(timedelta(hours=25))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live.engine, "_answer", lambda request: no_list(live, request))
        page = live.log_in("abel", f"/contact/{ANN}")
        expect(page.locator("#template")).to_contain_text(
            "The list of templates is not available: the gateway is down."
        )
        show_nothing_new(page)
        page.get_by_label("Name").fill("hello_again")
        page.get_by_label("one per line").fill("Ann\nmilk")
        live.console.ask(TakeOver(ANN, "abel", by="olga"))
        page.get_by_role("button", name="Send the template").click()
        expect(page.locator(".said")).to_contain_text("olga has had the conversation")
        page.get_by_role("button", name="Take over from olga").click()
        expect(page.get_by_label("Name")).to_have_value("hello_again")
        expect(page.get_by_label("one per line")).to_have_value("Ann\nmilk")


def test_a_chosen_template_that_is_refused_keeps_its_header_and_what_fills_it(live: Live) -> None:
    say(live, ANN, "help")
    live.console.ask(TakeOver(ANN, by="abel"))
    page = live.log_in("abel", f"/contact/{ANN}?template=photo&language=en")
    cup = "https://cafe.example/cup.png"
    show_nothing_new(page)
    live.console.ask(TakeOver(ANN, "abel", by="olga"))
    page.get_by_label("Address of the image").fill(cup)
    page.get_by_label("{{1}}").fill("milk")
    page.get_by_role("button", name="Send the template").click()
    page.get_by_role("button", name="Take over from olga").click()
    expect(page.get_by_label("{{1}}")).to_have_value("milk")
    expect(page.get_by_label("Address of the image")).to_have_value(cup)
    page.get_by_role("link", name="Choose another").click()
    expect(page.locator("#template .choices a")).to_contain_text(["photo"])


def no_list(live: Live, request: AnyRequest) -> EngineAnswer:
    if isinstance(request, GatewayCommand):
        raise BotError("the gateway is down")
    return live.simulation.running.engine.operate(request)


def test_a_text_that_is_refused_stays_in_the_form_and_a_form_that_comes_twice_is_sent_once(live: Live) -> None:
    page = taken(live)
    page.get_by_label("Your answer").fill("Twice?")
    page.evaluate("""async () => {
        const form = document.querySelector("#person .answer");
        for (let n = 0; n < 2; n++) await fetch(form.action, {method: "POST", body: new URLSearchParams(new FormData(form))});
    }""")
    assert heard(live, ANN) == ["One moment.", "Twice?"]
    show_nothing_new(page)
    live.console.ask(TakeOver(ANN, "abel", by="olga"))
    page.get_by_label("Your answer").fill("One more word")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator(".said")).to_contain_text("olga has had the conversation")
    page.get_by_role("button", name="Take over from olga").click()
    expect(page.get_by_label("Your answer")).to_have_value("One more word")
    assert heard(live, ANN) == ["One moment.", "Twice?"]


def test_of_two_people_who_take_a_contact_at_once_one_wins_and_the_other_is_told(live: Live) -> None:
    say(live, ANN, "help")
    pages = {name: live.log_in(name, f"/contact/{ANN}") for name in ("abel", "olga")}
    for page in pages.values():
        page.get_by_role("button", name="Take over").click(no_wait_after=True)
    session = live.simulation.stored.reader.sessions.get
    expect(pages["abel"].locator("#person")).not_to_contain_text("Waits for a person")
    expect(pages["olga"].locator("#person")).not_to_contain_text("Waits for a person")
    found = session(ANN)
    assert found is not None and found.agent in pages
    (loser,) = {*pages} - {found.agent}
    expect(pages[found.agent].locator("#person")).to_contain_text("You have the conversation")
    expect(pages[loser].locator("#person")).to_contain_text(f"{found.agent} has the conversation")
    expect(pages[loser].get_by_label("Your answer")).to_have_count(0)


def test_who_looks_at_an_old_page_is_told_and_can_take_the_conversation_from_the_other_by_name(live: Live) -> None:
    say(live, ANN, "help")
    abel, olga = live.log_in("abel", f"/contact/{ANN}"), live.log_in("olga", "/inbox")
    show_nothing_new(abel)
    take(olga)
    expect(olga.get_by_label("Your answer")).to_be_visible()
    take(abel)
    expect(abel.locator(".said")).to_contain_text(f"olga has had the conversation with {ANN}")
    abel.get_by_role("button", name="Take over from olga").click()
    expect(abel.get_by_label("Your answer")).to_be_visible()
    expect(olga.locator("#person")).to_contain_text("abel has the conversation")
    expect(olga.get_by_label("Your answer")).to_have_count(0)


def test_a_key_for_one_button_is_not_taken_by_the_one_that_comes_in_its_place(live: Live) -> None:
    page = taken(live)
    page.get_by_role("button", name="Give back to the bot").focus()
    live.console.ask(TakeOver(ANN, by="tom", taken_from="abel"))
    expect(page.get_by_role("button", name="Take over from tom")).to_be_visible()
    expect(page.get_by_role("button", name="Take over from tom")).not_to_be_focused()


def test_the_gateways_own_agent_is_shown_and_may_be_relieved(live: Live) -> None:
    say(live, ANN, "help")
    page = live.log_in("abel", f"/contact/{ANN}")
    live.simulation.emulator.assign(ANN, "Bea")
    live.simulation.settle()
    page.get_by_role("button", name="Take over from Bea").click()
    expect(page.locator("#person")).to_contain_text("You have the conversation")
    live.simulation.emulator.resolve(ANN)
    live.simulation.settle()
    expect(page.locator("#person")).to_contain_text("The bot has the conversation.")


def test_what_happens_before_a_page_hears_of_changes_is_shown_too(live: Live) -> None:
    say(live, ANN, "help")
    page = live.log_in("abel", f"/contact/{ANN}")

    def write_first(route: Route) -> None:
        say(live, ANN, "Anybody there?")
        route.continue_()

    page.goto("about:blank")  # so that the page so far cannot be the one that asks
    page.route("**/changes*", write_first)
    page.goto(f"{live.url}/contact/{ANN}")
    expect(page.locator(".bubble.mine .text")).to_have_text(["help", "Anybody there?"])


def test_a_page_whose_login_has_ended_shows_nothing_of_the_login_before_it_is_loaded_anew(live: Live) -> None:
    page = live.log_in("abel", "/inbox")
    page.route("**/inbox", lambda route: route.abort("aborted") if route.request.is_navigation_request() else route.continue_())  # fmt: skip
    page.context.clear_cookies()
    with page.expect_event("requestfailed", lambda request: request.is_navigation_request()):
        say(live, ANN, "help")
    page.evaluate("async () => (await fetch(document.scripts[0].src)).text()")  # by when it would be shown
    expect(page).to_have_title("Inbox · Test Bot")


def test_the_inbox_shows_the_name_the_newest_message_and_how_many_have_no_answer(live: Live) -> None:
    live.simulation.become(ANN)
    live.simulation.gateway.happen("contact.updated", {"name": "Ann Lee"})
    for text in ("hi", "two"):  # the bot has answered these
        say(live, ANN, text)
    live.simulation.clock.move(timedelta(minutes=5))
    for text in ("help", "Hello?", "Is *anybody* there?"):
        say(live, ANN, text)
    live.simulation.clock.move(timedelta(minutes=5))
    page = live.log_in("abel", "/inbox")
    row = page.locator("#inbox tbody tr")
    expect(row.get_by_role("link")).to_have_text("Ann Lee")
    expect(row).to_contain_text(ANN)
    expect(row.locator(".words")).to_have_text("Is *anybody* there?")
    expect(row.locator(".count")).to_have_text("3 without an answer")
    expect(row).to_contain_text("5 minutes ago")
    expect(page.locator("header .count")).to_have_text("1 wait")
    for do in (TakeOver(ANN, by="abel"), AnswerContact(ANN, text="I am here.", by="abel")):
        live.console.ask(do)
    expect(page.locator("header .count")).to_have_count(0)
    expect(row.locator(".words")).to_have_text("You: I am here.")
    expect(row).to_contain_text("answered seconds ago")
    say(live, ANN, "At last!")
    expect(row.locator(".words")).to_have_text("At last!")
    expect(row.locator(".count")).to_have_text("1 without an answer")


def test_enter_sends_shift_and_enter_begins_a_line_and_the_next_answer_can_be_written_at_once(live: Live) -> None:
    page = taken(live)
    answer = page.get_by_label("Your answer")
    answer.press("Enter")  # there is nothing to send
    answer.press_sequentially("Milk it is.")
    answer.press("Shift+Enter")
    answer.press_sequentially("Anything else?")
    answer.press("Enter")
    expect(page.locator(".bubble.person .text")).to_have_text("Milk it is.\nAnything else?")
    expect(page.get_by_label("Your answer")).to_be_focused()
    expect(page.get_by_label("Your answer")).to_have_value("")
    assert heard(live, ANN) == ["One moment.", "Milk it is.\nAnything else?"]


def test_who_writes_elsewhere_before_the_page_is_ready_goes_on_there(live: Live) -> None:
    page = taken(live)
    held: list[Route] = []
    page.route("**/console.js", lambda route: held.append(route))
    page.get_by_label("Your answer").fill("Milk it is.")
    page.get_by_role("button", name="Send", exact=True).click(no_wait_after=True)
    expect(page.get_by_label("Your answer")).to_have_value("")  # the next page
    page.get_by_text("Note for colleagues").click()
    note = page.get_by_label("The contact does not see it")
    note.press_sequentially("She is ")
    held[0].continue_()
    page.wait_for_load_state()
    note.page.keyboard.type("allergic.")
    expect(note).to_have_value("She is allergic.")


def test_a_ready_reply_is_put_where_the_cursor_is_and_is_sent_by_the_person(live: Live) -> None:
    page = taken(live)
    page.get_by_label("Your answer").fill("Hi! ")
    page.get_by_text("Ready replies").click()
    expect(page.locator("#replies button")).to_have_text(["Hours We are open from 9 to 6.", "Milk Oat, soy or cow?"])
    page.get_by_role("button", name="Milk").click()
    expect(page.get_by_label("Your answer")).to_have_value("Hi! Oat, soy or cow?")
    expect(page.get_by_label("Your answer")).to_be_focused()
    assert heard(live, ANN) == ["One moment."]


def test_a_note_is_for_colleagues_and_not_for_the_contact(live: Live) -> None:
    say(live, ANN, "help")
    page, other = live.log_in("abel", f"/contact/{ANN}"), live.log_in("olga", f"/contact/{ANN}")
    page.get_by_text("Note for colleagues").click()
    page.get_by_label("The contact does not see it").fill("She is <b>allergic</b> to nuts.")
    page.get_by_role("button", name="Write it down").click()
    for each in (page, other):
        expect(each.locator(".bubble.memo")).to_contain_text("She is <b>allergic</b> to nuts.")
        expect(each.locator(".bubble.memo")).to_contain_text("Note of abel")
    assert heard(live, ANN) == ["One moment."]


def test_a_file_is_sent_by_its_address_and_one_that_the_gateway_does_not_take_stays_in_the_form(live: Live) -> None:
    page = taken(live)
    page.get_by_text("Send a file").click()
    page.get_by_label("Its public address").fill("https://cafe.example/menu.exe")
    page.get_by_label("Caption").fill("Our menu")
    page.get_by_role("button", name="Send the file").click()
    expect(page.locator(".said")).to_contain_text("the address of a file has to end with its type: jpg, png")
    page.get_by_label("Its public address").fill("https://cafe.example/menu.pdf")
    expect(page.get_by_label("Caption")).to_have_value("Our menu")
    page.get_by_role("button", name="Send the file").click()
    bubble = page.locator(".bubble.person")
    expect(bubble.get_by_role("link", name="menu.pdf")).to_be_visible()
    expect(bubble).to_contain_text("Our menu")
    assert heard(live, ANN) == ["One moment.", "document"]


def test_a_file_of_ones_own_is_sent_under_an_address_of_the_bots(live: Live, tmp_path: Path) -> None:
    page = taken(live)
    page.get_by_text("Send a file").click()
    for name, content, told in (
        ("prices.exe", b"MZ\0\0", "the gateway takes no file of this type: it takes .jpg, .png"),
        ("big.png", SAMPLE_FILES["png"] + bytes(5 << 20), "this image is too large: 5 MB are allowed"),
    ):
        (tmp_path / name).write_bytes(content)
        page.get_by_label("A file of yours").set_input_files(tmp_path / name)
        page.get_by_role("button", name="Send the file").click()
        expect(page.locator(".said")).to_contain_text(told)
        page.locator("#file:not([open]) summary").click()
    page.get_by_label("A file of yours").set_input_files(
        {"name": "Preise für Ann.pdf", "mimeType": "application/pdf", "buffer": SAMPLE_FILES["pdf"]}
    )
    assert violations(page) == []
    page.get_by_role("button", name="Send the file").click()
    expect(page.locator(".bubble.person").get_by_role("link", name="Preise für Ann.pdf")).to_be_visible()
    document = live.simulation.emulator.sent[-1].body["document"]
    assert document["filename"] == "Preise für Ann.pdf"
    assert fetched(live, document["link"]) == (200, SAMPLE_FILES["pdf"])
    (kept,) = Path(kept_files(live.console.store).of(ANN)[0]).parent.iterdir()  # it goes with the contact's other files
    kept.unlink()
    assert fetched(live, document["link"])[0] == 404


def fetched(live: Live, address: str) -> tuple[int, bytes]:
    """The answer of the bot to the gateway that fetches a file."""
    with closing(HTTPConnection("127.0.0.1", urlsplit(live.simulation.running.url).port)) as connection:
        connection.request("GET", urlsplit(address).path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_the_own_side_is_the_right_one(live: Live) -> None:
    say(live, ANN, "help")
    page = live.log_in("abel", f"/contact/{ANN}")
    middles = []
    for bubble in (page.locator(".bubble.mine"), page.locator(".bubble.bot")):
        box = bubble.bounding_box()
        assert box is not None
        middles.append(box["x"] + box["width"] / 2)
    assert middles[0] < middles[1]


def test_an_answer_from_the_gateways_inbox_is_shown_and_how_long_the_bot_is_silent(live: Live) -> None:
    say(live, ANN, "hi")
    page = live.log_in("abel", f"/contact/{ANN}")
    live.simulation.become(ANN)
    live.simulation.gateway.happen("message.sent", {"agent": "Rina", "text": "Is soy fine?"})
    expect(page.locator(".bubble.person .by")).to_have_text("Rina, at the gateway")
    expect(page.locator(".bubble.person .text")).to_have_text("Is soy fine?")
    expect(page.locator("#person")).to_contain_text(
        "Rina has answered from the gateway's inbox: the bot is silent, and goes on in 4"
    )
    say(live, ANN, "Yes")
    expect(page.locator("#person")).to_contain_text("1 message has no answer.")
    assert violations(page) == []
    expect(page.get_by_label("Your answer")).to_have_count(0)
    page.goto(f"{live.url}/inbox")
    row = page.locator("#inbox tbody tr")
    expect(row).to_contain_text("Rina at the gateway: the bot goes on in 4")
    expect(row.locator(".count")).to_have_text("1 without an answer")
    row.get_by_role("link").click()
    page.get_by_role("button", name="Let the bot go on").click()
    expect(page.locator("#person")).to_contain_text("The bot has the conversation.")
    assert heard(live, ANN) == ["How many?", "How many?"]


def test_a_conversation_in_which_somebody_has_answered_can_be_taken(live: Live) -> None:
    say(live, ANN, "hi")
    live.simulation.become(ANN)
    live.simulation.gateway.happen("message.sent", {"agent": "abel", "text": "Is soy fine?"})
    page = live.log_in("abel", f"/contact/{ANN}")
    take(page)
    expect(page.locator("#person")).to_contain_text("You have the conversation")
    expect(page.get_by_label("Your answer")).to_be_visible()


@search
def test_two_people_and_many_contacts_see_no_old_page(live: Live) -> None:
    each = tries(1, 10)
    contacts = [str(6281234567900 + n) for n in range(2 * each)]
    for contact in contacts:
        live.simulation.emulator.receive(contact, "help", at=live.simulation.clock.now())
    live.simulation.settle()
    watching = live.log_in("vera", "/inbox")
    expect(watching.locator("#inbox h2 small")).to_have_text([str(2 * each), "0"])
    pages = {name: live.log_in(name, "/inbox") for name in ("abel", "olga")}
    for _ in range(each):
        for name, page in pages.items():
            live.simulation.clock.move(timedelta(seconds=30))  # or the gateway's limits would hold the answers back
            page.goto(f"{live.url}/inbox")
            take(page)
            expect(page.locator("#person")).to_contain_text("You have the conversation")
            page.get_by_label("Your answer").fill(f"This is {name}.")
            page.get_by_role("button", name="Send", exact=True).click()
            expect(page.locator(".bubble.bot .by").last).to_have_text(name)
    expect(watching.locator("#inbox h2 small")).to_have_text(["0", str(2 * each)])
    assert (
        sorted(heard(live, contact)[-1] for contact in contacts) == ["This is abel."] * each + ["This is olga."] * each
    )
    for contact in contacts:
        live.simulation.emulator.receive(contact, f"I am {contact}", at=live.simulation.clock.now())
    live.simulation.settle()
    for page in pages.values():
        contact = page.locator("h1").inner_text()
        expect(page.locator(".bubble.mine .text").last).to_have_text(f"I am {contact}")


def test_a_viewer_sees_how_many_wait_and_neither_notes_nor_numbers_nor_buttons(live: Live) -> None:
    say(live, ANN, "help")
    page = live.log_in("vera", "/inbox")
    expect(page.locator("#inbox tbody tr")).to_have_count(1)
    assert ANN not in page.content() and "milk" not in page.content()
    expect(page.locator("#inbox button")).to_have_count(0)
    page.locator("#inbox a", has_text="890").click()
    expect(page.locator("#person")).to_contain_text("Waits for a person")
    expect(page.locator("#person button")).to_have_count(0)
    assert ANN not in page.content() and "milk" not in page.content()
    page.evaluate(
        """async (url) => {
        const token = document.querySelector("[name=token]").value;
        window.answered = (await fetch(url, {method: "POST", body: new URLSearchParams({token})})).status;
    }""",
        f"{live.url}/contact/{ANN}/take",
    )
    assert page.evaluate("window.answered") == 403
