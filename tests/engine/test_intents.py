"""What a message is about: a model is asked behind words and answers, and the contact where it is not sure."""

from typing import Any

import pytest

from bot.core.events import ConversationAssigned
from bot.core.turn import ANSWERED, ENTERED
from bot.language.flow.documents import Source
from bot.language.flow.library import load
from bot.language.python.decorators import handler
from bot.language.python.gathered import Extensions
from tests.talk import BOT, CONTACT, Talk, library_of, problems_of, sources_of

FLOWS = """\
flow: order
start: {words: [order], about: they want to order pizza, examples: [two margheritas, I am hungry]}
interrupted: resume
steps:
  size: {ask: Which size?, buttons: {Small: end, Large: end}}
---
flow: opening_hours
start: {about: they ask when we are open, title: Opening hours}
steps: {hours: {say: From 9., then: end}}
---
flow: other
start: {otherwise: true}
steps: {sorry: {say: "Sorry?", then: end}}
"""
SIZE = ["Which size?", "Small", "Large"]


def named(chat: Talk) -> Any:
    return [(frame.flow, frame.step) for frame in chat.session.frames]


def test_the_model_is_given_the_flows_and_the_message_apart() -> None:
    chat = Talk(FLOWS)
    assert chat.user("something to eat") == []
    system, user = chat.prompt
    assert 'order: they want to order pizza; for example: "two margheritas", "I am hungry"' in system["content"]
    assert "opening_hours: they ask when we are open\nnone: nothing of this" in system["content"]
    assert user == {"role": "user", "content": "something to eat"}


@pytest.mark.parametrize(
    "answer", ["order 90", "order", "**Order**: 70%", "order 95\nopening_hours 80", "order 90\n\n"]
)
def test_the_flow_that_a_message_is_about_starts(answer: str) -> None:
    chat = Talk(FLOWS)
    chat.user("something to eat")
    assert chat.model(answer) == [SIZE]
    assert named(chat) == [("order", "size")]


@pytest.mark.parametrize(
    "answer", ["none 90", "none", "order or so", "I think: order 90", "", "order 20", "none 50\norder 45"]
)
def test_what_is_about_no_flow_starts_what_every_other_message_starts(answer: str) -> None:
    chat = Talk(FLOWS)
    chat.user("blah")
    assert chat.model(answer) == ["Sorry?"]


def test_a_failure_leads_where_every_other_message_leads() -> None:
    chat = Talk(FLOWS)
    chat.user("blah")
    assert chat.model_ends("down") == ["Sorry?"]
    assert chat.turn is not None and chat.turn.failure is None
    assert any("the model" in note for note in chat.turn.trace.notes)


def test_words_come_first_and_ask_no_model() -> None:
    chat = Talk(FLOWS)
    assert chat.user("order") == [SIZE]
    assert chat.asked == []


def test_what_the_contact_wrote_is_left_to_the_flow() -> None:
    flows = FLOWS.replace("size: {ask: Which size?, buttons: {Small: end, Large: end}}",
                          "talk: {ai: Sell pizza., exits: {x: end}, errors: {else: end}}")  # fmt: skip
    chat = Talk(flows)
    chat.user("something to eat")
    chat.model("order 99")
    assert chat.prompt[-1] == {"role": "user", "content": "something to eat"}


def test_what_the_contact_wrote_fills_the_flows_slots() -> None:
    flows = """\
flow: order
start: {about: they want pizza}
slots: [size, number]
vars: {size: {type: choice, of: [small, large]}, number: {type: integer, min: 1, max: 9}}
steps:
  size: {ask: Which size?, options: [small, large], save: size}
  number: {ask: How many?, save: number}
  done: {say: "{{ number }} {{ size }}", then: end}
"""
    chat = Talk(flows)
    chat.user("two large ones please")
    assert chat.model("order 90") == ["2 large"]


def test_where_the_model_is_not_sure_the_contact_is_asked() -> None:
    chat = Talk(FLOWS)
    chat.user("when is the pizza there")
    asked = chat.model("order 50\nopening_hours 45\nnone 20")
    assert asked == [["Did you mean one of these?", "Order", "Opening hours", "None of these"]]
    assert chat.tap("Opening hours") == ["From 9."]


def test_none_of_these_leads_where_every_other_message_leads() -> None:
    chat = Talk(FLOWS)
    chat.user("when is the pizza there")
    assert chat.model("order 50") == [["Did you mean one of these?", "Order", "None of these"]]
    assert chat.tap("None of these") == ["Sorry?"]


def test_a_title_is_understood_as_text_and_anything_else_is_a_message_of_its_own() -> None:
    chat = Talk(FLOWS)
    chat.user("when is the pizza there")
    chat.model("order 50")
    asked = len(chat.asked)
    assert chat.user("what about tomorrow") == []
    assert (len(chat.asked), chat.prompt[-1]["content"]) == (asked + 1, "what about tomorrow")
    chat.model("order 50")
    assert chat.user("order!") == [SIZE]


def test_how_sure_a_model_must_be_is_the_bots_to_say() -> None:
    chat = Talk(FLOWS, BOT + "ai: {sure: 40}\n")
    chat.user("when is the pizza there")
    assert chat.model("order 50\nopening_hours 45") == [SIZE]


def test_at_an_unanswered_question_another_flow_interrupts() -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    assert chat.user("how long are you there") == []
    assert chat.model("opening_hours 90") == ["From 9.", SIZE]
    assert named(chat) == [("order", "size")]


def test_no_flow_interrupts_itself() -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    chat.user("pizza")
    assert "they want to order pizza" not in chat.prompt[0]["content"]


def test_what_is_about_no_flow_is_a_wrong_answer() -> None:
    chat = Talk(FLOWS, BOT.replace("{timeout", "{retry: {say: One of the two!, max: 1, else: /other}, timeout"))
    chat.user("order")
    chat.user("blah")
    assert chat.model("none") == ["One of the two!"]
    assert chat.session.frames[-1].question.retries == 1
    chat.user("blah")
    assert chat.model("none") == ["Sorry?"]


def test_an_answer_asks_no_model() -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    chat.tap("Small")
    assert chat.asked == []


def test_a_flow_that_none_may_interrupt_asks_no_model() -> None:
    chat = Talk(FLOWS.replace("interrupted: resume\n", ""))
    chat.user("order")
    chat.user("blah")
    assert chat.asked == []


def test_did_you_mean_at_a_question_hears_the_answer_to_that_question() -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    chat.user("how long")
    assert chat.model("opening_hours 50") == [["Did you mean one of these?", "Opening hours", "None of these"]]
    chat.user("small")
    assert chat.session.frames == ()


@pytest.mark.parametrize(("answer", "said"), [("opening_hours 90", ["From 9."]), ("none", ["Sorry?"])])
def test_where_an_edit_has_removed_the_question_meanwhile_the_message_starts_a_flow(
    answer: str, said: list[str]
) -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    chat.user("when are you open?")
    chat.edit(FLOWS.replace("size: {ask", "kind: {ask"))
    assert chat.model(answer) == said
    assert named(chat) == []


def test_did_you_mean_that_does_not_reach_the_contact_ends_where_an_edit_leads() -> None:
    chat = Talk(FLOWS)
    chat.user("order")
    chat.user("how long")
    chat.model("opening_hours 50")
    chat.edit(FLOWS.replace("size: {ask", "kind: {ask"))
    assert chat.send_ended("failed") == []
    assert chat.at is None, "the step is gone: the flow has expired"


def test_only_new_contacts_start_a_flow_for_them_and_a_model_makes_nobody_an_old_one() -> None:
    flows = FLOWS.replace("{otherwise: true}", "{otherwise: true, contact: first}").replace(
        "open, title", "open, contact: returning, title"
    )
    chat = Talk(flows)
    chat.user("blah")
    assert "opening_hours" not in chat.prompt[0]["content"]
    assert chat.model("none") == ["Sorry?"]
    chat.user("blah")
    assert "opening_hours" in chat.prompt[0]["content"]
    assert chat.model("none") == []


def test_an_agent_who_takes_over_answers_instead() -> None:
    chat = Talk(FLOWS)
    chat.user("blah")
    chat.take(ConversationAssigned("a1", CONTACT, chat.now, agent="Ann"))
    assert chat.session.frames == ()
    assert chat.model("order 90") == []


def test_what_is_asked_is_judged_and_bounded_like_every_question() -> None:
    @handler("judge")
    def judge(text: str) -> bool:
        return True

    chat = Talk(FLOWS, BOT + "ai: {moderate: judge, budget: {contact: 500}}\n", {"judge": judge})
    chat.user("blah")
    _, complete = chat.asked[-1]
    assert (complete.heard, complete.fresh, complete.budget.contact, complete.flow) == ("judge", (1,), 500, "intents")
    assert chat.model_ends("unsafe") == ["Sorry?"]


def test_nothing_is_asked_where_there_is_no_model() -> None:
    chat = Talk(library_of(FLOWS).without_model())
    assert chat.user("blah") == ["Sorry?"]
    assert chat.asked == []


def test_about_a_picture_no_model_is_asked() -> None:
    chat = Talk(FLOWS)
    assert chat.photo() == ["Sorry?"]
    assert chat.asked == []


def test_titles_and_the_question_are_in_the_contacts_language() -> None:
    bot = "name: T\nlanguages: [en, id]\ndefaults: {timeout: {after: 20h, then: end}}\n"
    locale = "opening_hours: {start: {title: Jam buka}}\n"
    sources = [*sources_of(FLOWS, bot), Source("locales/id.yml", locale.encode())]
    library = load(sources, Extensions()).library
    assert library is not None
    chat = Talk(library)
    chat.session.language = "id"
    chat.user("kapan")
    assert chat.model("opening_hours 50") == [["Apakah maksud Anda salah satu dari ini?", "Jam buka", "Bukan semuanya"]]
    assert chat.tap("Jam buka") == ["From 9."]


def test_silence_after_did_you_mean_ends_it() -> None:
    chat = Talk(FLOWS)
    chat.user("blah")
    chat.model("order 50")
    chat.wait("20h")
    assert chat.session.frames == ()


def test_the_trace_says_what_the_model_was_sure_of() -> None:
    chat = Talk(FLOWS)
    chat.user("blah")
    assert chat.turn is not None and chat.turn.trace.rule == "a model is asked what it is about"
    chat.model("order 90\nopening_hours 20")
    assert chat.turn.trace.rule == "result: done: start of order: about"
    assert "intents/pick: about order 90 %, opening_hours 20 %" in chat.turn.trace.notes
    assert next((each.flow, each.outcome) for each in chat.turn.trace.steps) == ("intents", "exits.order")
    chat = Talk(FLOWS)
    chat.user("blah")
    chat.model("none")
    assert chat.turn is not None and chat.turn.trace.rule.endswith(": otherwise")


def test_what_is_found_and_the_flow_that_starts_are_counted() -> None:
    chat = Talk(FLOWS)
    chat.user("something to eat")
    chat.model("order 90")
    assert chat.turn is not None
    assert {each[:2] + each[3:] for each in chat.turn.results} == {
        ("intents", "pick", ANSWERED, "exits.order"),
        ("order", "size", ENTERED, ""),
    }


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (("examples: [two margheritas, I am hungry]", "examples: [I am hungry, order]"), None),
        (("title: Opening hours", "title: Order"), 'the title "Order" is taken: it starts flow order'),
        (("title: Opening hours", "examples: [I am hungry!]"), 'the example "I am hungry!" is taken: it starts flow order'),
        (("title: Opening hours", "examples: [Order]"), 'the example "Order" is taken: it starts flow order'),
        (("they ask when we are open", "they want to order pizza"), "what it is about is taken: it starts flow order"),
        (("title: Opening hours", "title: Our opening hours in town"), "title has 25 characters, 20 are allowed"),
        (("otherwise: true", "otherwise: true, examples: [x]"), '"examples" belongs to "about"'),
        (("title: Opening hours}", "title: Opening hours}\nvars: {day: {type: text, needed: true}}"), 'needs "day", which no message'),
        (("flow: other", "flow: intents"), 'flow "intents": flows that have `about` under `start` make a flow'),
    ],
)  # fmt: skip
def test_what_starts_no_flow_for_certain_is_a_problem(edit: tuple[str, str], problem: str | None) -> None:
    found = problems_of(FLOWS.replace(*edit))
    assert bool(found) is (problem is not None)
    assert problem is None or any(problem in each for each in found)
