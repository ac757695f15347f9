"""AI turns, and calls, among everything else that may happen to a contact meanwhile: agents, edits, old buttons."""

from datetime import timedelta
from typing import Any

import pytest

from bot import handler
from bot.core.effects import AskModel, Call
from bot.core.events import ContactChanged, ConversationAssigned
from bot.language.source.languages import SORRY as SORRIES
from bot.language.source.languages import WORDINGS
from tests.talk import CONTACT, Talk

BOT = """\
name: Test
words: {stop: {say: Bye!, then: end}, more: {then: again}}
defaults: {timeout: {after: 20h, then: end}, old_taps: explain}
"""
FLOW = """\
flow: main
start: {otherwise: true}
vars: {number: {type: text}}
steps:
  talk:
    ai: You help the contacts of a shop.
    while_busy: merge
    tools: [{call: cancel, confirm: true}, count]
    exits: {done: {when: all is said, then: fetch}, pick: {when: they want to choose, then: pick}}
    errors: {else: sorry}
  sorry: {say: Not now., then: end}
  fetch: {call: count, save: number, within: 5s, errors: {else: sorry}}
  shown: {say: "It is {{ number }}.", then: end}
  pick: {ask: Which one?, buttons: [A, B], then: talk}
"""


@handler("cancel")
def cancel(contact: str) -> str:
    """Cancel the order."""
    return contact


@handler("count")
def count() -> str:
    """Count the orders."""
    return "3"


def talk(flow: str = FLOW) -> Talk:
    return Talk(flow, BOT, {"cancel": cancel, "count": count})


def assigned(chat: Talk) -> ConversationAssigned:
    return ConversationAssigned(chat.next_id(), CONTACT, chat.now, "conv_1", "Ann", "Budi")


def test_an_agent_who_takes_over_while_the_model_works_answers_in_its_place() -> None:
    chat = talk()
    chat.user("where is my parcel?")
    chat.paragraph("Let me see.")
    chat.take(assigned(chat))
    assert chat.paragraph("It is") == []
    assert chat.model("on its way.") == []
    assert chat.user("hello?") == []
    assert chat.closed() == [], "the answer is as old as the question, which the agent has answered"
    assert chat.user("one more thing") == []
    assert [message["content"] for message in chat.prompt[1:]] == [
        "where is my parcel?",
        "Let me see.",
        "one more thing",
    ]
    assert chat.model("Yes?") == ["Yes?"]


def test_what_came_while_the_model_worked_is_the_agents_once_one_takes_over() -> None:
    chat = talk(FLOW.replace("merge", "together"))
    chat.user("hi")
    chat.user("one")
    assert chat.session.has_parked_messages
    chat.take(assigned(chat))
    assert not (chat.session.has_parked_messages or chat.session.waits_for_effect or chat.parked)
    chat.user("to the agent")
    assert chat.turn is not None
    assert chat.turn.trace.rule == "an agent has the conversation: not heard"
    chat.closed()
    chat.user("again")
    assert [message["content"] for message in chat.prompt[1:]] == ["hi", "again"]


def test_a_tool_that_ends_under_an_agents_hands_leads_to_nothing() -> None:
    chat = talk()
    chat.user("how many?")
    chat.model("", ("count", {}))
    chat.take(assigned(chat))
    asked = len(chat.asked)
    assert chat.returns("3") == []
    assert len(chat.asked) == asked
    chat.closed()
    assert chat.at == "main/talk"
    assert not chat.session.waits_for_effect


def test_a_question_of_before_the_agent_is_not_agreed_to_behind_it() -> None:
    chat = talk()
    chat.user("cancel it")
    assert chat.model("", ("cancel", {})) == [["Cancel the order.", "Yes", "No"]]
    chat.take(assigned(chat))
    chat.closed()
    chat.tap("Yes")
    assert not any(isinstance(effect, Call) for effect in chat.effects)
    chat.user("yes")
    assert not any(isinstance(effect, Call) for effect in chat.effects)
    assert chat.prompt[-1]["content"] == "yes"


def test_an_agent_who_comes_between_two_turns_changes_nothing_of_the_exchange() -> None:
    chat = talk()
    chat.user("hi")
    chat.model("Hello.")
    chat.take(assigned(chat))
    chat.closed()
    chat.user("again")
    assert [message["content"] for message in chat.prompt[1:]] == ["hi", "Hello.", "again"]


def test_a_handlers_result_is_kept_until_the_agent_is_done_and_then_gone_on_with() -> None:
    chat = talk()
    chat.user("count them")
    chat.model("", ("leave_done", {}))
    chat.take(assigned(chat))
    assert chat.returns("3") == []
    assert chat.user("well?") == []
    assert chat.wait("30h") == []
    assert chat.closed() == ["It is 3."]


def test_a_result_that_was_kept_outlives_neither_its_step_nor_a_second_end() -> None:
    chat = talk()
    chat.user("count them")
    chat.model("", ("leave_done", {}))
    chat.take(assigned(chat))
    chat.returns("3")
    chat.library = talk(FLOW.replace("  fetch: {call: count, save: number, within: 5s, errors: {else: sorry}}", "  other: {ask: Well?}")
                        .replace("then: fetch", "then: other")).library  # fmt: skip
    assert chat.closed() == []
    assert chat.at is None, "the step is gone: the flow has expired"


def test_an_edit_says_nothing_while_an_agent_has_the_conversation() -> None:
    chat = talk()
    chat.user("hi")
    chat.model("", ("leave_pick", {}))
    chat.take(assigned(chat))
    chat.library = talk(
        FLOW.replace("ask: Which one?, buttons: [A, B]", "call: count, within: 5s, errors: {else: sorry}")
    ).library
    assert chat.user("hm") == []
    assert not chat.effects
    chat.closed()
    assert any(isinstance(effect, Call) for effect in chat.effects)


def test_events_start_no_flow_under_an_agents_hands() -> None:
    chat = Talk("flow: a\nstart: {event: contact.updated}\nsteps: {a: {say: I saw it., then: end}}\n")
    chat.take(assigned(chat))
    update = ContactChanged(chat.next_id(), CONTACT, chat.now, "contact.updated", "Ann")
    assert chat.take(update) == []
    chat.closed()
    assert chat.take(update) == ["I saw it."]


def test_an_old_button_does_not_cost_the_answer_that_the_model_works_at() -> None:
    chat = talk()
    chat.user("hi")
    chat.model("", ("leave_pick", {}))
    chat.tap("A")
    chat.model("You chose A.")
    chat.user("and now?")
    assert chat.tap("A") == ["That was an earlier question."]
    assert chat.model("Now this.") == ["Now this."]


def test_a_word_that_asks_again_does_not_cost_it_either() -> None:
    chat = talk()
    chat.user("hi")
    chat.model("Hello.")
    chat.user("and now?")
    assert chat.user("more") == []
    assert chat.model("Now this.") == ["Now this."]
    assert chat.user("more") == ["Now this."]


@pytest.mark.parametrize(
    "policy", ["{retry: {say: Hm?}, old_taps: message}", "{retry: {max: 0, else: /main/sorry}, old_taps: message}"]
)
def test_an_old_tap_that_counts_as_a_message_waits_while_the_model_works(policy: str) -> None:
    chat = Talk(
        FLOW.replace("flow: main\n", f"flow: main\ndefaults: {policy}\n"), BOT, {"cancel": cancel, "count": count}
    )
    chat.user("hi")
    chat.model("", ("leave_pick", {}))
    chat.tap("A")
    assert chat.user("is it open?") == []
    assert chat.tap("B") == []
    assert chat.turn is not None and chat.turn.trace.rule == "kept until the model has answered"
    assert chat.model("It is.") == ["It is.", "Hm?" if "Hm" in policy else "Not now."]


def test_an_edit_while_the_model_works_costs_no_message() -> None:
    chat = talk()
    chat.user("hi")
    chat.library = talk(FLOW.replace("of a shop", "of this shop")).library
    chat.user("are you there?")
    assert [message["content"] for message in chat.prompt[1:]] == ["hi", "are you there?"]
    assert "this shop" in chat.prompt[0]["content"]
    assert chat.model("Yes.") == ["Yes."]


def test_a_paragraph_that_fails_ends_the_answer_also_where_the_failure_leads_nowhere() -> None:
    chat = talk(
        FLOW.replace("errors: {else: sorry}\n  sorry", "errors: {else: {say: Let me think., then: again}}\n  sorry")
    )
    chat.user("hi")
    chat.paragraph("Hello.")
    assert chat.paragraph("See https://evil.example/x") == ["Let me think."]
    assert chat.paragraph("All is well.") == []
    assert chat.model("Bye.") == []
    chat.user("still there?")
    assert any(isinstance(effect, AskModel) for effect in chat.effects)
    assert chat.model("Yes.") == ["Yes."]


def test_stop_while_the_model_works_is_heard_at_once_with_merge() -> None:
    chat = talk()
    chat.user("hi")
    assert chat.user("stop") == ["Bye!"]
    assert chat.model("Hello.") == []
    assert chat.at is None


def test_a_message_of_nothing_but_blanks_is_words_to_the_model() -> None:
    chat = talk()
    chat.user(" \n")
    assert chat.prompt[-1] == {"role": "user", "content": "(something that is no text)"}


# -- a failure is never silence

FAILING = """\
flow: main
start: {words: [go]}
steps:
  first: {ask: How are you?, buttons: [Well], other: talk}
  talk:
    ai: You help the contacts of a shop.
    tools: [count]
    exits: {done: {when: all is said, then: end}}
    turns: {max: 1, else: TARGET}
    budget: {contact: 1000, else: TARGET}
    errors: {else: TARGET}
  person: {handoff: support, closed: end}
  told: {handoff: {team: support, say: Ann will answer.}, closed: end}
  rest: {wait: 1h, then: end}
  other: {ai: You are another model., exits: {done: {when: all is said, then: end}}, errors: {else: end}}
  look: {call: count, within: 5s, then: end, errors: {else: end}}
  looked: {call: count, within: 5s, then: told, errors: {else: end}}
---
flow: sorting
start: {words: [sort]}
steps:
  what: {ask: What?, buttons: [This], other: sort}
  sort: {classify: What is it?, exits: {order: {when: an order, then: end}}, other: end, errors: {else: end}}
"""
SORRY = "Sorry, I can't answer that right now."


def failing(target: str, bot: str = BOT) -> Talk:
    chat = Talk(FAILING.replace("TARGET", target), bot, {"count": count})
    chat.user("go")
    chat.user("Where is my parcel?")
    return chat


@pytest.mark.parametrize(
    "outcome", ["timeout", "down", "quota", "refused", "unsafe", "over_budget", "empty", "mismatch", "new"]
)
def test_whatever_a_model_fails_by_the_contact_hears_of_it(outcome: str) -> None:
    chat = failing("end")
    assert chat.model_ends(outcome) == [SORRY]
    assert chat.at is None
    assert chat.turn is not None
    assert chat.turn.trace.notes[-1] == "a model failed, and the flow says nothing: sorry"


def test_so_with_what_the_step_itself_makes_of_an_answer() -> None:
    assert failing("end").model("") == [SORRY]
    assert failing("end").model("See https://evil.example/x") == [SORRY]
    chat = failing("end")
    assert chat.model("Hello.") == ["Hello."]
    assert chat.user("And now?") == [SORRY], "its turns are used up"


def test_a_message_that_cannot_be_sorted_is_answered_too() -> None:
    chat = failing("end")
    chat.reset()
    chat.user("sort")
    chat.user("my parcel")
    assert chat.model_ends("timeout") == [SORRY]


@pytest.mark.parametrize(
    ("target", "said"),
    [("person", [SORRY]), ("told", ["Ann will answer."]), ("rest", [SORRY]), ("back", [["How are you?", "Well"]]),
     ("{say: Not now., then: end}", ["Not now."]), ("{say: Not now., then: again}", ["Not now."]),
     ("/sorting", [["What?", "This"]])],
)  # fmt: skip
def test_sorry_is_said_only_where_the_flow_says_nothing(target: str, said: list[Any]) -> None:
    assert failing(target).model_ends("down") == said


def test_nothing_is_said_while_another_model_is_asked_and_sorry_when_that_fails_too() -> None:
    chat = failing("other")
    assert chat.model_ends("down") == []
    assert chat.model_ends("down") == [SORRY]
    chat = failing("other")
    chat.model_ends("down")
    assert chat.model("It is on its way.") == ["It is on its way."]
    assert not chat.session.apology_due


@pytest.mark.parametrize(("target", "said"), [("look", [SORRY]), ("looked", ["Ann will answer."])])
def test_what_is_called_on_the_way_may_say_something_still(target: str, said: list[str]) -> None:
    chat = failing(target)
    assert chat.model_ends("down") == []
    assert chat.returns("3") == said


def test_an_agent_who_takes_over_answers_in_place_of_sorry() -> None:
    chat = failing("look")
    chat.model_ends("down")
    assert chat.take(assigned(chat)) == []
    assert chat.closed() == []
    assert chat.returns("3") == []


def test_sorry_is_the_bots_own_words_where_it_has_some() -> None:
    bot = BOT + 'languages: [en, id, sw]\nai: {sorry: "The machine is asleep, {{ contact.name }}."}\n'
    chat = failing("end", bot)
    assert chat.model_ends("down") == ["The machine is asleep, ."]
    chat = failing("end", BOT + "languages: [en, id, sw]\n")
    chat.session.language = "id"
    assert chat.model_ends("down") == ["Maaf, saya belum bisa menjawabnya sekarang."]


def test_own_words_that_cannot_be_worked_out_are_no_silence_either() -> None:
    chat = failing("end", BOT + 'ai: {sorry: "{{ 1 / contact.tags | length }}"}\n')
    assert chat.model_ends("down") == [SORRY]


def test_it_has_words_in_all_languages_of_the_bots_own() -> None:
    assert SORRIES.keys() == WORDINGS["old_tap"].keys()


def test_a_contact_who_has_opted_out_hears_nothing_that_they_do_not_ask_for() -> None:
    chat = failing("end", BOT + "opt_out: {words: [leave me]}\n")
    assert chat.user("leave me") == []
    assert chat.model_ends("down") == []


def test_no_model_is_asked_where_the_24_hours_are_over_and_what_was_to_be_said_is_seen_to_fail() -> None:
    chat = Talk(
        FLOW.replace("start: {otherwise: true}", "start: {words: [x]}"), BOT, {"cancel": cancel, "count": count}
    )
    assert chat.start("main") == ["Not now."], "which is a dead letter, or the template of `window_closed`"
    assert not chat.asked
    silent = failing("end")
    silent.model("Hello.")
    silent.reset()
    silent.now += timedelta(days=1)
    assert silent.start("main/talk") == []
    assert silent.turn is not None
    assert silent.turn.failure == "a model failed, and the contact hears nothing of it: their 24-hour window is closed"
    chat.user("x")
    assert len(chat.asked) == 1


def test_back_returns_to_a_model_with_what_it_said_last() -> None:
    flows = FLOW + "---\nflow: help\nsteps: {hours: {ask: From 9 to 18., buttons: {Thanks: back}}}\n"
    chat = Talk(flows, BOT.replace("words: {", "words: {help: /help, "), {"cancel": cancel, "count": count})
    chat.user("hi")
    assert chat.model("Hello, what can I do?") == ["Hello, what can I do?"]
    chat.user("help")
    assert chat.tap("Thanks") == ["Hello, what can I do?"]
    chat.user("cancel my order")
    assert [message["content"] for message in chat.prompt[-2:]] == ["Hello, what can I do?", "cancel my order"]


def test_back_returns_to_a_model_that_was_left_while_it_worked() -> None:
    flows = FLOW + "---\nflow: help\nsteps: {hours: {ask: From 9 to 18., buttons: {Thanks: back}}}\n"
    chat = Talk(flows, BOT.replace("words: {", "words: {help: /help, "), {"cancel": cancel, "count": count})
    chat.user("hi")
    chat.model("Hello!")
    chat.user("where is my parcel?")
    assert chat.user("help") == [["From 9 to 18.", "Thanks"]]
    assert chat.model("On its way.") == []
    assert chat.tap("Thanks") == ["Hello!"]
    assert chat.at == "main/talk"
