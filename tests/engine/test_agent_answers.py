"""An agent who answers at the gateway without taking the conversation: the bot is silent for a time, and then goes on."""

from datetime import timedelta

import pytest

from bot.core.events import ConversationAssigned, HandoffClosed, MessageReceived
from bot.language.python.decorators import handler
from tests.talk import BOT, CONTACT, Talk, problems_of

FLOWS = """\
flow: main
start: {words: [coffee]}
vars: {cups: {type: integer, min: 1, max: 12}}
steps:
  cups: {ask: How many cups?, save: cups, timeout: {after: 2h, then: late}}
  done: {say: "{{ cups }} cups.", then: end}
  late: {say: Too late., then: end}
---
flow: person
start: {words: [help]}
steps: {desk: {handoff: bar, closed: bye}, bye: {say: Bye., then: end}}
---
flow: other
start: {otherwise: true}
steps: {hi: {say: Hello!, then: end}}
"""


@handler("look_up")
def look_up() -> str:
    return "five"


def talk(agents: str = "") -> Talk:
    return Talk(FLOWS, BOT + agents)


def answers(
    chat: Talk, agent: str | None = "Ann", at: timedelta = timedelta(), text: str = "I will look."
) -> list[str]:
    event = ConversationAssigned(
        chat.next_id(), CONTACT, chat.now, None, None, agent, chat.now + at, answered=True, text=text
    )
    return chat.take(event)


def rule(chat: Talk) -> str:
    assert chat.turn is not None
    return chat.turn.trace.rule


def test_after_an_answer_the_bot_is_silent_for_half_an_hour_and_then_asks_again() -> None:
    chat = talk()
    chat.user("coffee")
    assert answers(chat) == []
    assert rule(chat) == "an agent has answered: the bot is silent for 30m"
    assert chat.session.agent == "Ann"
    assert chat.wait("30m") == []
    assert rule(chat) == "no agent goes on" and chat.session.agent is None
    assert chat.user("two") == ["How many cups?"], "it may have been meant for the agent"
    assert chat.user("two") == ["2 cups."]


def test_what_the_contact_writes_meanwhile_brings_the_question_again_if_nobody_answers_it() -> None:
    chat = talk()
    chat.user("coffee")
    answers(chat)
    assert chat.user("At 3 o'clock then?") == []
    assert rule(chat) == "an agent has answered: kept until the bot goes on"
    assert chat.user("Hello?") == []
    assert chat.wait("30m") == ["How many cups?"]
    assert chat.user("3") == ["3 cups."]


def test_each_answer_counts_anew_and_covers_what_was_written_before() -> None:
    chat = talk()
    chat.user("coffee")
    answers(chat)
    chat.user("At 3 o'clock then?")
    chat.wait("20m")
    answers(chat, text="Yes, at 3.")
    assert chat.wait("20m") == [] and chat.session.agent == "Ann"
    assert chat.wait("10m") == [] and chat.session.agent is None
    assert chat.wait("2h") == ["Too late."], "the time-out counts from the end of the silence"


def test_outside_of_flows_an_unanswered_message_starts_what_it_would_have_started() -> None:
    chat = talk()
    answers(chat)
    assert chat.user("coffee") == []
    assert chat.wait("30m") == ["How many cups?"]
    chat = talk()
    answers(chat)
    chat.user("good morning")
    chat.user("anybody?")
    assert chat.wait("30m") == ["Hello!"], "both are taken as one message"
    assert answers(chat) == chat.wait("30m") == [], "nothing was written"


def test_only_the_newest_ten_messages_are_kept_for_the_bot() -> None:
    chat = talk()
    answers(chat)
    for number in range(25):
        chat.user(f"message {number}")
    kept = [event.text for event in chat.session.unanswered if isinstance(event, MessageReceived)]
    assert kept == [f"message {number}" for number in range(15, 25)]


@pytest.mark.parametrize(("agents", "silent"), [("agents: {silent: 2h}", "2h"), ("agents: {silent: 90s}", "1m 30s")])
def test_the_bot_says_how_long_it_is_silent(agents: str, silent: str) -> None:
    chat = talk(agents)
    answers(chat)
    assert rule(chat) == f"an agent has answered: the bot is silent for {silent}"
    chat.wait(silent.replace(" ", ""))
    assert chat.session.agent is None


def test_a_bot_may_go_on_at_once() -> None:
    chat = talk("agents: {silent: never}")
    chat.user("coffee")
    answers(chat)
    assert rule(chat) == "an agent has answered: the bot goes on, as `agents` says"
    assert chat.user("two") == ["2 cups."]


def test_an_answer_that_is_reported_late_silences_only_for_the_rest_of_the_time() -> None:
    chat = talk()
    answers(chat, at=timedelta(minutes=-20))
    chat.wait("10m")
    assert chat.session.agent is None
    answers(chat, at=timedelta(hours=-2))
    assert rule(chat) == "an agent has answered: longer ago than 30m" and chat.session.agent is None


def test_a_gateway_whose_clock_is_ahead_silences_the_bot_no_longer() -> None:
    chat = talk()
    answers(chat, at=timedelta(hours=5))
    chat.wait("30m")
    assert chat.session.agent is None


def test_an_agent_who_takes_the_conversation_has_it_until_it_is_resolved() -> None:
    chat = talk()
    chat.user("coffee")
    answers(chat)
    chat.user("Hello?")
    chat.take(ConversationAssigned(chat.next_id(), CONTACT, chat.now, agent="Budi"))
    answers(chat, "Ann")
    assert rule(chat) == "an agent has answered: the bot is silent already"
    assert chat.wait("1d") == [] and chat.session.agent == "Budi"
    assert chat.closed() == [] and chat.session.agent is None
    assert chat.user("two") == ["How many cups?"]


def test_a_hand_over_ends_as_it_does_without_the_answer() -> None:
    chat = talk()
    chat.user("help")
    answers(chat)
    assert rule(chat) == "an agent has answered: the bot is silent already"
    assert chat.wait("1d") == []
    assert chat.closed() == ["Bye."]


def test_a_conversation_that_is_given_back_here_goes_on_with_what_nobody_has_answered() -> None:
    chat = talk()
    chat.user("coffee")
    answers(chat)
    chat.user("Hello?")
    assert chat.take(HandoffClosed(chat.next_id(), CONTACT, chat.now, by="abel")) == ["How many cups?"]
    answers(chat)
    chat.user("Thanks!")
    assert chat.closed() == [], "who resolves it at the gateway has read it"


def test_a_call_that_ends_meanwhile_is_gone_on_with_when_the_silence_is_over() -> None:
    flows = """\
flow: main
start: {words: [go]}
vars: {n: {type: text}}
steps:
  a: {call: look_up, save: n, errors: {else: end}}
  b: {say: "It is {{ n }}.", then: end}
"""
    chat = Talk(flows, BOT, {"look_up": look_up})
    chat.user("go")
    answers(chat)
    chat.user("Hello?")
    assert chat.wait("30m") == [] and rule(chat) == "no agent goes on: a call has not ended"
    assert chat.returns("five") == []
    assert chat.wait("1m") == ["It is five."]


def test_the_bot_must_know_for_how_long() -> None:
    (problem,) = problems_of(FLOWS, BOT + "agents: {silent: a while}\n")
    assert problem.endswith('silent: "a while" is not a duration (write one like 30m or 2h, or never)')
    (problem,) = problems_of(FLOWS, BOT + "agents: {quiet: 5m}\n")
    assert "silent" in problem
