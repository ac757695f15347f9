"""`gather`: short messages that follow each other are one answer."""

from datetime import timedelta

import pytest

from bot.core.events import ConversationAssigned
from tests.talk import BOT, CONTACT, START, Talk, problems_of

FLOW = """\
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps:
  what: {ask: What happened?, save: text, gather: 3s, skip: [nothing], words: {help: {say: Write it.}}}
  noted: {ask: "Noted: {{ text }}.", then: end}
"""
OFFERED = """\
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps:
  what: {ask: What happened?, save: text, gather: 3s, options: [A leak, No light], accepts: text}
  noted: {ask: "Noted: {{ text }}.", then: end}
"""


def at_question(flow: str = FLOW, bot: str = BOT) -> Talk:
    talk = Talk(flow, bot)
    talk.user("hi")
    return talk


def test_messages_that_follow_each_other_are_one_answer() -> None:
    talk = at_question()
    assert talk.user("The tap") == []
    assert talk.wait("2s") == []
    assert talk.user("in the kitchen") == []
    assert talk.wait("2s") == []
    assert talk.user("drips!") == []
    assert talk.wait("3s") == ["Noted: The tap\nin the kitchen\ndrips!."]
    assert len(talk.event.together) == 3


def test_a_single_message_is_the_answer_when_no_other_follows() -> None:
    talk = at_question()
    talk.user("It drips")
    assert talk.wait("3s") == ["Noted: It drips."]


def test_who_writes_on_and_on_is_answered_after_thirty_seconds() -> None:
    talk = at_question(FLOW.replace("gather: 3s", "gather: 10s"))
    for text in ("it", "drips", "and", "drips"):
        talk.user(text)
        assert talk.wait("9s") == (
            [] if talk.now < START + timedelta(seconds=30) else ["Noted: it\ndrips\nand\ndrips."]
        )


def test_the_tenth_message_ends_the_span() -> None:
    talk = at_question()
    for number in range(9):
        talk.user(str(number))
    assert talk.turn is not None and talk.turn.wake_at is not None and talk.turn.wake_at > talk.now
    talk.user("9")
    assert talk.turn is not None and talk.turn.wake_at == talk.now


def test_a_word_acts_at_once_and_what_was_gathered_stays() -> None:
    talk = at_question()
    talk.user("The tap")
    assert talk.user("help") == ["Write it."]
    talk.user("drips")
    assert talk.wait("3s") == ["Noted: The tap\ndrips."]


def test_a_word_that_leads_away_drops_what_was_gathered() -> None:
    talk = at_question(FLOW, BOT + "words: {menu: {say: The menu., then: end}}\n")
    talk.user("The tap")
    assert talk.user("menu") == ["The menu."]
    assert talk.turn is not None and talk.turn.drops_parked


def test_skip_acts_at_once() -> None:
    assert at_question().user("nothing") == ["Noted: ."]


@pytest.mark.parametrize("chosen", [lambda talk: talk.tap("A leak"), lambda talk: talk.user("a leak")])
def test_a_choice_is_the_answer_at_once(chosen) -> None:  # type: ignore[no-untyped-def]
    talk = at_question(OFFERED)
    talk.user("hm")
    assert chosen(talk) == ["Noted: A leak."]
    assert talk.turn is not None and talk.turn.drops_parked


def test_a_file_is_a_wrong_answer_at_once_and_what_was_gathered_stays() -> None:
    talk = at_question()
    talk.user("It drips")
    assert talk.photo() == ["Please write it as a text.\n\nWhat happened?"]
    assert talk.wait("3s") == ["Noted: It drips."]


def test_reminders_and_time_outs_wait_and_count_from_the_last_message() -> None:
    flow = FLOW.replace(
        "gather: 3s", "gather: 3s, remind: {after: 1s, say: Still there?}, timeout: {after: 2s, then: end}"
    )
    talk = at_question(flow)
    talk.user("It drips")
    assert talk.wait("3s") == ["Noted: It drips."]


def test_a_fixed_time_out_that_comes_due_meanwhile_loses_to_the_answer() -> None:
    talk = at_question(FLOW.replace("gather: 3s", "gather: 3s, timeout: {after: 2s, fixed: true, then: end}"))
    talk.wait("1s")
    talk.user("It drips")
    assert talk.wait("3s") == ["Noted: It drips."]


def test_what_would_interrupt_waits_until_the_answer_is_taken() -> None:
    talk = at_question(FLOW + "---\nflow: news\nstart: {busy: interrupt}\nsteps: {news: {say: News!}}\n")
    talk.user("It drips")
    assert talk.start("news") == []
    assert talk.wait("3s")[0] == "Noted: It drips."


def test_an_agent_who_takes_over_gets_what_was_gathered() -> None:
    talk = at_question()
    talk.user("It drips")
    talk.take(ConversationAssigned(talk.next_id(), CONTACT, talk.now, "c", "Ann", "Budi"))
    assert talk.wait("10s") == [] and talk.at == "main/what"


def test_a_clock_that_is_set_back_does_not_make_the_span_longer() -> None:
    talk = at_question()
    talk.user("It drips")
    talk.pass_time(-timedelta(hours=1))
    talk.user("a lot")
    assert talk.wait("30s") == ["Noted: It drips\na lot."]


def test_an_edit_that_takes_the_option_away_takes_the_messages_at_once() -> None:
    talk = at_question()
    talk.user("It drips")
    talk.edit(FLOW.replace(" gather: 3s,", ""))
    assert talk.wait("3s") == ["What happened?"], "the step was edited: it is asked again"


def test_it_is_inherited_and_taken_back() -> None:
    bot = BOT.replace("defaults: {", "defaults: {gather: 3s, ")
    without = FLOW.replace(" gather: 3s,", "")
    inheriting = at_question(without, bot)
    assert inheriting.user("It drips") == []
    refusing = at_question(FLOW.replace("gather: 3s", "gather: never"), bot)
    assert refusing.user("It drips") == ["Noted: It drips."]


def test_a_model_gets_the_messages_as_one() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nsteps:\n  talk: {ai: Help., greet: Hello!, gather: 3s, exits: {done: {when: done, then: end}}, errors: {else: end}}\n"
    talk = at_question(flow)
    talk.user("The tap")
    talk.user("drips")
    assert talk.asked == []
    talk.wait("3s")
    assert talk.prompt[-1]["content"] == "The tap\ndrips"
    talk.user("a lot")
    assert talk.parked, "the model works: it is kept until that has answered"


def test_where_nothing_free_is_answered_it_is_an_error() -> None:
    number = FLOW.replace("type: text", "type: integer")
    assert any("E123" in each and "gather" in each for each in problems_of(number))
    template = "flow: main\nstart: {otherwise: true}\nsteps: {t: {template: {name: a, language: en}, gather: 3s}}\n"
    assert any("gather" in each for each in problems_of(template))


@pytest.mark.parametrize("span", ["31s", "soon", "1h"])
def test_a_span_that_is_no_short_time_is_an_error(span: str) -> None:
    (problem,) = problems_of(FLOW.replace("gather: 3s", f"gather: {span}"))
    assert "E106" in problem and "write 1s to 30s, such as 3s, or never" in problem


def test_who_opts_out_is_not_answered_for_what_was_gathered_before() -> None:
    talk = at_question(FLOW, BOT + "opt_out: {words: [stop], say: Bye., back: [start]}\n")
    talk.user("It drips")
    assert talk.user("stop") == ["Bye."]
    assert talk.turn is not None and talk.turn.drops_parked
