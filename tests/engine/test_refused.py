"""Messages that the gateway refuses, as the engine takes it: plain text in place of buttons, `errors`, or the question again."""

import pytest

from bot.core.effects import Send
from bot.core.events import ConversationAssigned, SendEnded
from bot.core.messages import Buttons, LinkButton, ListMessage, Message
from tests.talk import BOT, CONTACT, Talk, problems_of

DRINKS = """\
flow: main
start: {words: [hi]}
vars: {drink: {type: choice, of: [coffee, tea]}}
steps:
  drink:
    ask: What would you like?
    header: Corner Café
    buttons: {Coffee: {value: coffee}, Tea: {value: tea}}
    save: drink
    retry: {say: Please choose one., max: 1, else: late}
  thanks: {say: "One {{ drink }}.", then: end}
  late: {say: Maybe later., then: end}
  sorry: {say: We are closed., then: end}
"""
AS_NUMBERS = "Corner Café\n\nWhat would you like?\n\n1. Coffee\n2. Tea"


def refused(chat: Talk, nth: int = -1) -> list[object]:
    """The gateway refuses a message of the last turn that sent any."""
    sends = [effect.message for effect in chat.effects if isinstance(effect, Send)]
    number = range(len(sends))[nth]
    ref = f"{chat.last_ref.rpartition('#')[0]}#{number}"
    return refuse(chat, ref, sends[nth])


def refuse(chat: Talk, ref: str, message: Message) -> list[object]:
    return chat.take(SendEnded(f"sent:{ref}", CONTACT, chat.now, ref, "refused", "INTERACTIVE_INVALID_BUTTON", message))


@pytest.mark.parametrize("answer", ["2", "tea", "Tea"])
def test_refused_buttons_go_as_a_plain_text_whose_numbers_and_titles_are_answers(answer: str) -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    assert refused(chat) == [AS_NUMBERS]
    assert chat.turn is not None and chat.turn.in_plain_text
    assert chat.turn.trace.rule == "message refused: it goes as a plain text"
    assert chat.user(answer) == ["One tea."]


def test_a_refused_question_whose_choices_an_edit_has_taken_away_goes_as_it_was_sent() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    written = "    header: Corner Café\n    buttons: {Coffee: {value: coffee}, Tea: {value: tea}}\n"
    chat.edit(DRINKS.replace(written, ""))
    assert refused(chat) == ["Corner Café\n\nWhat would you like?\n\n• Coffee\n• Tea"]


def test_what_the_gateway_did_with_a_message_of_a_step_that_is_gone_does_not_matter_to_an_agent() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    chat.take(ConversationAssigned(chat.next_id(), CONTACT, chat.now, "c", None, "Budi"))
    chat.edit("flow: other\nstart: {otherwise: true}\nsteps: {a: {say: New., then: end}}\n")
    assert chat.send_ended("superseded") == []
    chat.closed()
    assert chat.user("hi") == ["New."]


def test_the_plain_text_goes_once_and_then_the_question_waits_to_be_put_again() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    refused(chat)
    assert refused(chat) == [], "nothing is left that could go in its place"
    assert chat.turn is not None and not chat.turn.in_plain_text, "so it is a dead letter"
    assert chat.user("hello?") == [AS_NUMBERS], "what the contact writes is no wrong answer"
    assert chat.session.frame is not None and chat.session.frame.question.retries == 0
    assert chat.user("1") == ["One coffee."]


def test_a_question_stays_plain_while_it_waits_and_is_tried_anew_at_the_next_visit() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    refused(chat)
    assert chat.user("milk") == ["Please choose one."]
    assert chat.user("water") == ["Maybe later."]
    assert chat.user("hi") == [["What would you like?", "Coffee", "Tea"]]


def test_a_refusal_of_an_earlier_visit_means_nothing() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    ref, (message,) = chat.last_ref, chat.sent
    chat.user("tea")
    chat.user("hi")
    assert refuse(chat, ref, message) == []
    assert chat.user("1") == ["Please choose one."], "no number is shown"
    assert chat.user("coffee") == ["One coffee."]


def test_a_refused_list_is_written_out_whole_whatever_page_was_shown() -> None:
    rows = ", ".join(f"Cake {number}: end" for number in range(1, 13))
    chat = Talk(
        f"flow: main\nstart: {{words: [hi]}}\nsteps:\n  cake: {{ask: Which cake?, list: {{rows: {{{rows}}}}}}}\n"
    )
    chat.user("hi")
    chat.tap("More …")
    assert isinstance(chat.sent[-1], ListMessage)
    (text,) = refused(chat)
    assert str(text).startswith("Which cake?\n\n1. Cake 1\n2. Cake 2\n")
    assert str(text).endswith("12. Cake 12")
    chat.user("11")
    assert chat.at is None


def test_several_answers_are_picked_by_numbers_as_well() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nvars: {with: {type: list}}\n"
        "steps:\n  with: {ask: With what?, buttons: {Milk: {value: m}, Sugar: {value: s}}, many: true, save: with}\n"
        '  done: {say: "{{ with | join }}", then: end}\n'
    )
    chat.user("hi")
    assert refused(chat) == ["With what?\n\n1. Milk\n2. Sugar"]
    assert chat.user("1 and 2") == ["m, s"]


def test_a_refused_link_is_told_with_its_address_although_the_conversation_has_gone_on() -> None:
    link = "link: {title: Our drinks, url: 'https://cafe.example/drinks'}"
    chat = Talk(
        f"flow: main\nstart: {{words: [hi]}}\nsteps:\n  a: {{say: Look here., {link}}}\n  b: {{ask: Your name?}}\n"
    )
    chat.user("hi")
    assert isinstance(chat.sent[0], LinkButton)
    assert refused(chat, 0) == ["Look here.\n\nOur drinks: https://cafe.example/drinks"]
    assert chat.at == "main/b"
    chat.user("Ann")
    assert chat.at is None


@pytest.mark.parametrize("name", ["refused", "else"])
def test_where_the_plain_text_is_refused_too_the_errors_of_the_question_take_over(name: str) -> None:
    chat = Talk(DRINKS.replace("    save: drink\n", f"    save: drink\n    errors: {{{name}: sorry}}\n"))
    chat.user("hi")
    refused(chat)
    assert refused(chat) == ["We are closed."]
    assert chat.at is None


def test_errors_of_the_defaults_take_over_at_a_question() -> None:
    chat = Talk(DRINKS.replace("vars:", "defaults: {errors: {refused: sorry}}\nvars:"))
    chat.user("hi")
    refused(chat)
    assert refused(chat) == ["We are closed."]


def test_a_question_is_rather_put_again_than_given_up_for_an_inherited_else() -> None:
    chat = Talk(DRINKS.replace("vars:", "defaults: {errors: {else: sorry}}\nvars:"))
    chat.user("hi")
    refused(chat)
    assert refused(chat) == []
    assert chat.user("hello?") == [AS_NUMBERS]


def test_errors_that_lead_from_one_refused_question_to_the_next_come_to_rest() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\ndefaults: {errors: {refused: again}}\nsteps:\n  name: {ask: Your name?}\n",
    )
    chat.user("hi")
    for _ in range(3):
        assert refused(chat) == ["Your name?"]
    assert refused(chat) == []
    assert chat.turn is not None
    assert chat.turn.trace.notes == ["main/name: refused: 4 times in a row, so it waits for the contact"]
    assert chat.user("hello?") == ["Your name?"]
    assert refused(chat) == ["Your name?"], "the contact has written: it is tried as often once more"


def test_saying_something_waits_for_the_gateways_word_where_its_own_errors_say_so() -> None:
    flow = (
        "flow: main\nstart: {words: [hi]}\nsteps:\n"
        "  map: {say: Here we are., image: 'https://cafe.example/map.jpg', errors: {refused: text}}\n"
        "  bye: {say: Bye., then: end}\n  text: {say: 1 High Street., then: end}\n"
    )
    for outcome, said in (("sent", "Bye."), ("refused", "1 High Street."), ("failed", "1 High Street.")):
        chat = Talk(flow)
        assert len(chat.user("hi")) == 1
        assert chat.session.busy
        assert chat.send_ended(outcome) == [said]


def test_any_of_two_messages_that_is_refused_takes_the_errors() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nsteps:\n"
        "  a: {say: Listen., audio: 'https://cafe.example/a.mp3', errors: {refused: sorry}}\n"
        "  b: {say: Bye., then: end}\n  sorry: {say: Sorry., then: end}\n"
    )
    assert len(chat.user("hi")) == 2
    first, message = f"{chat.last_ref.rpartition('#')[0]}#0", chat.sent[0]
    assert refuse(chat, first, message) == ["Sorry."]


def test_a_link_that_somebody_waits_for_goes_as_a_text_before_its_errors_take_over() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nsteps:\n"
        "  a: {say: Look., link: {title: Here, url: 'https://cafe.example'}, errors: {refused: sorry}}\n"
        "  b: {say: Bye., then: end}\n  sorry: {say: Sorry., then: end}\n"
    )
    chat.user("hi")
    assert refused(chat) == ["Look.\n\nHere: https://cafe.example"]
    assert chat.session.busy
    assert chat.send_ended("sent") == ["Bye."]
    chat.user("hi")
    refused(chat)
    assert refused(chat) == ["Sorry."]


def test_inherited_errors_make_no_say_wait() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\ndefaults: {errors: {else: end}}\nsteps:\n  a: {say: Hello.}\n  b: {ask: Name?}\n"
    )
    assert chat.user("hi") == ["Hello.", "Name?"]


def test_a_template_that_waits_for_a_reply_takes_its_errors_when_it_is_refused() -> None:
    step = "template: {name: t, language: en}, replies: {Yes: end}, errors: {refused: again}"
    chat = Talk(f"flow: main\nstart: {{words: [hi]}}\nsteps:\n  t: {{{step}}}\n")
    chat.user("hi")
    said = [refused(chat) for _ in range(4)]
    assert said == [[["t"]], [["t"]], [["t"]], []], "at most three times without a word of the contact"


@pytest.mark.parametrize("outcome", ["failed", "unknown"])
def test_a_question_that_was_lost_otherwise_waits_to_be_put_again_and_a_template_takes_its_errors(outcome: str) -> None:
    chat = Talk(DRINKS.replace("    save: drink\n", "    save: drink\n    errors: {refused: sorry}\n"))
    chat.user("hi")
    assert chat.send_ended(outcome) == []
    assert chat.at == "main/drink"
    step = "template: {name: t, language: en}, replies: {Yes: end}, errors: {refused: sorry}"
    chat = Talk(f"flow: main\nstart: {{words: [hi]}}\nsteps: {{t: {{{step}}}, sorry: {{say: Sorry., then: end}}}}\n")
    chat.user("hi")
    assert chat.send_ended(outcome) == ["Sorry."]


def test_a_question_of_a_flow_that_is_run_is_put_plainly_within_it() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nvars: {sure: {type: boolean}}\nsteps:\n"
        "  r: {run: /sure, save: {sure: sure}}\n"
        '  done: {say: "{{ sure }}", then: end}\n---\n'
        "flow: sure\nvars: {sure: {type: boolean}}\n"
        "steps: {q: {ask: Sure?, buttons: {Yes: {value: true}, No: {value: false}}, save: sure}}\n"
    )
    chat.user("hi")
    assert refused(chat) == ["Sure?\n\n1. Yes\n2. No"]
    assert chat.user("1") == ["true"]


def test_the_question_whether_to_go_on_goes_as_a_text_too() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\ninterrupted: ask\nvars: {n: {type: integer}}\nsteps:\n  n: {ask: How many?, save: n}\n---\n"
        "flow: hours\nstart: {words: [hours]}\nsteps: {a: {say: From nine., then: end}}\n"
    )
    chat.user("hi")
    assert isinstance(chat.user("hours")[-1], list)
    assert isinstance(chat.sent[-1], Buttons)
    (text,) = refused(chat)
    assert str(text).endswith("• Yes\n• No")
    assert chat.user("yes") == ["How many?"]


def test_a_models_answer_is_waited_for_although_what_it_has_said_already_was_refused() -> None:
    chat = Talk(
        "flow: main\nstart: {words: [hi]}\nsteps:\n"
        "  talk: {ai: Help., exits: {done: {when: They leave., then: end}}, errors: {else: end}}\n"
    )
    chat.user("hi")
    assert chat.paragraph("One moment.") == ["One moment."]
    assert refused(chat) == []
    assert chat.model("Here it is.") == ["Here it is."]


def test_a_link_that_fails_late_has_no_template_sent_in_its_place() -> None:
    bot = BOT.replace("{timeout", "{window_closed: {template: {name: t, language: en}}, timeout")
    link = "link: {title: Here, url: 'https://cafe.example'}"
    chat = Talk(f"flow: main\nstart: {{words: [hi]}}\nsteps:\n  a: {{say: Look., {link}, then: end}}\n", bot)
    chat.user("hi")
    assert refused(chat) == ["Look.\n\nHere: https://cafe.example"]
    (send,) = chat.effects
    assert isinstance(send, Send)
    assert send.instead is None


def test_while_an_agent_has_the_conversation_a_refusal_is_kept() -> None:
    chat = Talk(DRINKS)
    chat.user("hi")
    ref, message = chat.last_ref, chat.sent[-1]
    chat.take(ConversationAssigned("a1", CONTACT, chat.now, "conv_1", "Ann", "Budi"))
    assert refuse(chat, ref, message) == []
    assert chat.closed() == [AS_NUMBERS]


def test_a_name_that_no_error_of_a_sending_step_has_is_found_by_the_check() -> None:
    for step in ("say: Hello", "ask: Name?", "template: {name: t, language: en}"):
        (problem,) = problems_of(
            f"flow: a\nstart: {{words: [a]}}\nsteps: {{a: {{{step}, errors: {{refusd: end}}}}}}\n", BOT
        )
        assert "E504" in problem
        assert 'did you mean "refused"?' in problem
