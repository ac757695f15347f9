"""A person answers for the models on the page, in a real Chromium."""

from collections.abc import Callable

from playwright.sync_api import Route, expect

from tests.pages.playground.conftest import Shown, expect_each
from tests.patience import wait_for

TALK = """
flow: talk
start: {words: [question]}
vars: {wish: {type: text}}
steps:
  talk:
    ai: Answer questions about the café.
    fill: {wish: what they would like to have}
    exits: {order: {when: They want to order., then: order}}
    errors: {else: sorry}
  order: {say: "You wish {{ wish }}.", then: end}
  sorry: {say: I cannot think just now., then: end}
---
flow: sorts
start: {words: [sort]}
vars: {about: {type: text}}
steps:
  what: {ask: What is it about?, save: about}
  pick: {classify: What they want., text: "{{ about }}", exits: {cake: {when: Cake., then: cake}}, other: else_, errors: {else: end}}
  cake: {say: Cake it is., then: end}
  else_: {say: Something else., then: end}
"""
Shows = Callable[[str], Shown]


def answer(shown: Shown, text: str, fails: str = "") -> None:
    asked = shown.page.get_by_role("form", name="You are the model: what does it say?")
    asked.get_by_label("Its answer").fill(text)
    if fails:
        asked.get_by_label("or it fails").select_option(fails)
    asked.get_by_role("button", name="Answer").click()


def held(shown: Shown) -> None:
    shown.write("question")
    answer(shown, "Ask me anything.")
    shown.hears("Ask me anything.")
    shown.write("a cake")
    answer(shown, "With pleasure. NOTE wish: a cake LEAVE order")
    shown.hears("You wish a cake.")


def test_the_page_asks_what_a_model_says_shows_what_it_is_given_and_what_it_can_do(shows: Shows) -> None:
    shown = shows(TALK)
    page = shown.page
    shown.write("question")
    asked = page.locator("#asked")
    expect(asked).to_contain_text("It is asked: question")
    asked.locator("summary").click()
    expect(asked.locator("pre").first).to_contain_text("Answer questions about the café.")
    answer(shown, "Ask me anything.")
    shown.hears("Ask me anything.")
    expect(asked.locator("form")).to_have_count(0)
    shown.write("a cake")
    expect(asked).to_contain_text("It is asked: a cake")
    expect_each(asked.locator("[data-insert]"), ["NOTE wish:", "LEAVE order"])
    page.get_by_label("Its answer").fill("With pleasure. NOTE wish: a cake")
    asked.get_by_role("button", name="LEAVE order").click()
    expect(page.get_by_label("Its answer")).to_have_value("With pleasure. NOTE wish: a cake LEAVE order")
    asked.get_by_role("button", name="Answer").click()
    shown.hears("You wish a cake.")
    expect(page.locator(".besides").last).to_contain_text("the model: With pleasure. NOTE wish: a cake LEAVE order")


def test_who_writes_elsewhere_before_an_answer_has_arrived_goes_on_there(shows: Shows) -> None:
    shown = shows(TALK)
    shown.write("question")
    held: list[Route] = []
    shown.page.route("**/do", lambda route: held.append(route))
    answer(shown, "Ask me anything.")
    finds = shown.page.get_by_label("Find", exact=True)
    finds.press_sequentially("or")
    with shown.page.expect_response("**/do"):
        held[0].continue_()
    shown.hears("Ask me anything.")
    shown.page.keyboard.type("der")
    expect(finds).to_have_value("order")


def test_where_a_model_picks_a_name_the_names_are_offered(shows: Shows) -> None:
    shown = shows(TALK)
    shown.write("sort")
    shown.hears("What is it about?")
    shown.write("something sweet")
    shown.page.locator("#asked").get_by_role("button", name="cake").click()
    shown.page.get_by_role("button", name="Answer").click()
    shown.hears("Cake it is.")


def test_a_model_fails_as_the_person_says_and_a_wrong_answer_is_refused_in_words(shows: Shows) -> None:
    shown = shows(TALK)
    shown.write("question")
    answer(shown, "CALL order three")
    expect(shown.page.locator("body > .wrong")).to_have_text(
        'Write the arguments of a call as JSON, such as CALL order {"number": 1}.'
    )
    expect(shown.page.get_by_label("Its answer")).to_have_value("CALL order three")
    answer(shown, "", fails="content_filter")
    shown.hears("I cannot think just now.")
    shown.write("question")
    answer(shown, "", fails="timeout")
    expect(shown.page.locator(".bubble.bot", has_text="I cannot think just now.")).to_have_count(2)


def test_time_stands_still_while_a_model_is_asked_and_it_times_out_when_time_is_let_pass(shows: Shows) -> None:
    shown = shows(TALK)
    shown.write("question")
    expect(shown.page.locator("#asked form")).to_be_visible()
    before = shown.playground.simulation.clock.now()
    expect(shown.page.locator("#asked form")).to_be_visible()
    assert shown.playground.simulation.clock.now() == before
    shown.page.fill("#wait-for", "10m")
    shown.page.get_by_role("button", name="Skip", exact=True).click()
    shown.hears("I cannot think just now.")
    expect(shown.page.locator("#asked form")).to_have_count(0)


def test_each_contact_has_a_question_of_its_own_also_where_they_are_the_same(shows: Shows) -> None:
    shown = shows(TALK)
    playground, first = shown.playground, shown.playground.chats.contacts[0]
    second = playground.chats.add_contact()
    playground.write(first, "question")
    playground.simulation.settle()
    playground.write(second, "question")
    playground.simulation.settle()
    playground.answer(second, "Hello, second.")
    playground.simulation.settle()
    playground.answer(first, "Hello, first.")
    playground.simulation.settle()
    said = {
        contact: [bubble.message.text for bubble in playground.chats.bubbles(contact) if bubble.message is not None]
        for contact in (first, second)
    }
    assert said == {first: ["Hello, first."], second: ["Hello, second."]}


def test_a_question_is_asked_again_after_a_restart(shows: Shows) -> None:
    shown = shows(TALK)
    shown.write("question")
    expect(shown.page.locator("#asked form")).to_be_visible()
    contact, questions = shown.playground.chats.contacts[0], shown.playground.questions
    shown.playground.restart(contact)
    wait_for(lambda: questions is not None and questions.of(contact) is not None)
    shown.page.reload()  # else what it showed before may still be there
    answer(shown, "Here I am.")
    shown.hears("Here I am.")


def test_what_models_were_made_to_say_is_said_again_in_a_replay_and_in_a_kept_test(shows: Shows) -> None:
    shown = shows(TALK)
    held(shown)
    shown.keep_test()
    shown.replay()
    shown.hears("You wish a cake.")


def test_a_colleague_who_is_asked_decides_on_the_page(shows: Shows) -> None:
    request = '{http: "GET https://crm.example/1", name: look, about: Look., takes: {}, confirm: {by: bar}}'
    shown = shows(TALK.replace("    fill:", f"    tools: [{request}]\n    fill:"))
    shown.write("question")
    answer(shown, "CALL look {}")
    shown.hears("I am asking a colleague.")
    asked = shown.page.get_by_role("form", name="What does a colleague of bar say?")
    expect(asked).to_contain_text("GET https://crm.example/1")
    asked.get_by_label("The colleague").select_option("refuses")
    asked.get_by_label("Note").fill("Not now.")
    asked.get_by_role("button", name="Decide").click()
    answer(shown, "I am sorry.")
    shown.hears("I am sorry.")
    expect(asked).to_have_count(0)
    assert "  - colleague: {refuses: Not now.}\n" in shown.keep_test()
