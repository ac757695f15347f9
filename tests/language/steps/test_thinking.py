"""`thinking`: what an `ai` step says once where a model is silent for a while."""

from datetime import timedelta

from bot import handler
from bot.core.events import ConversationAssigned, MessageReceived
from tests.talk import BOT, CONTACT, START, Talk, problems_of

FLOW = """\
flow: main
start: {otherwise: true}
steps:
  talk:
    ai: You help the contacts of a shop.
    thinking: {after: 6s, say: "One moment, {{ contact.name or 'please' }}."}
    tools: [count]
    exits: {done: {when: all is said, then: end}}
    errors: {else: {say: Not now., then: end}}
"""
MOMENT = ["One moment, please."]


@handler("count")
def count() -> int:
    """Count the orders."""
    return 3


def talk(flow: str = FLOW, bot: str = BOT) -> Talk:
    return Talk(flow, bot, {"count": count})


def test_a_contact_who_waits_for_a_model_hears_of_it_once() -> None:
    chat = talk()
    chat.user("where is it?")
    assert chat.wait("5s") == []
    assert chat.wait("1s") == MOMENT
    assert chat.wait("1m") == []
    assert chat.model("On its way.") == ["On its way."]
    chat.user("and the other?")
    assert chat.wait("6s") == MOMENT, "it is a question of its own"


def test_an_answer_that_comes_before_has_nothing_before_it() -> None:
    chat = talk()
    chat.user("where is it?")
    assert chat.model("On its way.") == ["On its way."]
    assert chat.wait("1m") == []
    chat.user("and the other?")
    assert chat.paragraph("Let me see.") == ["Let me see."]
    assert chat.wait("1m") == []


def test_the_time_counts_from_the_contacts_message_also_while_a_tool_works() -> None:
    chat = talk()
    chat.user("how many?")
    chat.wait("4s")
    chat.model("", ("count", {}))
    assert chat.wait("2s") == MOMENT
    chat.returns(3)
    assert chat.wait("1m") == []
    assert chat.model("3.") == ["3."]


def test_the_model_does_not_take_it_for_words_of_its_own() -> None:
    chat = talk()
    chat.user("where is it?")
    chat.wait("6s")
    chat.model("On its way.")
    chat.user("thanks")
    assert [message["content"] for message in chat.prompt[1:]] == ["where is it?", "On its way.", "thanks"]


def test_what_is_written_meanwhile_is_a_question_of_its_own() -> None:
    chat = talk()
    chat.user("where is it?")
    chat.wait("6s")
    assert chat.user("hello??") == []
    assert chat.model("On its way.") == ["On its way."]
    assert chat.wait("6s") == MOMENT
    assert chat.prompt[-1]["content"] == "hello??"


def test_nothing_is_said_while_an_agent_has_the_conversation_or_the_window_is_closed() -> None:
    chat = talk()
    chat.user("where is it?")
    chat.take(ConversationAssigned(chat.next_id(), CONTACT, chat.now, "conv_1", "Ann", "Budi"))
    assert chat.wait("1m") == []
    chat = talk()
    sent_at = START - timedelta(hours=23, minutes=54, seconds=57)
    chat.take(MessageReceived("e", CONTACT, START, sent_at, "text", "where is it?"))
    assert chat.wait("1m") == []


def test_a_contact_who_has_opted_out_and_asks_gets_the_answer() -> None:
    chat = talk(bot=BOT + "opt_out: {words: [unsubscribe]}\n")
    chat.user("unsubscribe")
    chat.user("where is it?")
    assert chat.wait("1m") == []
    assert chat.model("On its way.") == ["On its way."]


def test_a_model_that_fails_then_is_sorry_all_the_same() -> None:
    chat = talk(FLOW.replace("{say: Not now., then: end}", "end"))
    chat.user("where is it?")
    chat.wait("6s")
    assert chat.model_ends("timeout") == ["Sorry, I can't answer that right now."]


def test_bot_yml_says_it_for_all_steps() -> None:
    flow = "\n".join(line for line in FLOW.splitlines() if "thinking" not in line)
    chat = talk(flow, BOT + "ai: {thinking: {after: 3s, say: Let me think.}}\n")
    chat.user("where is it?")
    assert chat.wait("3s") == ["Let me think."]


def test_both_of_its_keys_are_needed() -> None:
    (problem,) = problems_of(FLOW.replace("after: 6s, ", ""), BOT, {"count": count})
    assert "flows/test.yml:6" in problem and "after" in problem
