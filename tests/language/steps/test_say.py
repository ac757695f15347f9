"""What `say` sends, and where it leads."""

import pytest

from bot import handler
from bot.core.events import ConversationAssigned
from bot.core.messages import LinkButton, MediaMessage
from tests.talk import BOT, CONTACT, Talk, problems_of

FLOW = """
flow: main
start: {otherwise: true}
steps:
  a: {say: "Hi {{ contact.name }}!"}
  b: {say: The menu., image: "https://a.example/menu.png"}
  c: {say: More is there., link: {title: Look, url: "https://a.example"}, then: end}
"""


def test_each_says_its_text_with_what_belongs_to_it_and_goes_on_by_itself() -> None:
    talk = Talk(FLOW, name="Ann")
    talk.user("x")
    hello, photo, link = talk.sent
    assert hello.body == "Hi Ann!"  # type: ignore[union-attr]
    assert isinstance(photo, MediaMessage) and photo.caption == "The menu."
    assert isinstance(link, LinkButton) and link.url == "https://a.example"
    assert talk.at is None


def test_a_text_that_fails_leads_where_its_errors_do() -> None:
    talk = Talk(FLOW.replace('{{ contact.name }}!"', '{{ 1 / 0 }}", errors: {else: c}'))
    assert talk.user("x") == [["More is there.", "Look", "https://a.example"]]


LESSON = """
flow: main
start: {otherwise: true}
steps:
  hello: {say: Hello!, then: end}
---
flow: lesson
steps:
  lesson: {say: Today we roast., window_closed: {template: {name: lesson_ready, language: en}, wait: true}}
  done: {say: Well done., then: end}
---
flow: menu
start: {words: [menu]}
steps:
  menu: {ask: What would you like?, options: [Tea]}
"""


class Lesson(Talk):
    """A contact whose window has been closed for a day; a program starts the lesson."""

    def __init__(self, flows: str = LESSON, bot: str = BOT) -> None:
        super().__init__(flows, bot)
        self.user("hi")
        self.wait("25h")


def test_while_the_window_is_open_the_message_goes_and_the_flow_goes_on_when_the_gateway_has_taken_it() -> None:
    talk = Talk(LESSON)
    talk.user("hi")
    assert talk.start("lesson") == ["Today we roast."]
    assert talk.at == "lesson/lesson" and talk.session.busy
    assert talk.send_ended("sent") == ["Well done."]


def test_while_the_window_is_closed_the_template_goes_and_any_answer_brings_the_message() -> None:
    talk = Lesson()
    assert talk.start("lesson") == [["lesson_ready"]]
    assert talk.wait("3h") == []
    assert talk.user("Show me") == ["Today we roast."]
    assert talk.send_ended("sent") == ["Well done."]
    assert talk.at is None


def test_a_photo_brings_the_message_too() -> None:
    talk = Lesson()
    talk.start("lesson")
    assert talk.photo() == ["Today we roast."]


def test_each_lesson_has_its_template_however_long_the_contact_is_silent() -> None:
    talk = Lesson()
    assert talk.start("lesson") == [["lesson_ready"]]
    assert talk.wait("24h") == []
    assert talk.at is None  # the time-out
    assert talk.start("lesson") == [["lesson_ready"]]


def test_a_word_is_heard_while_the_message_waits_and_back_brings_it() -> None:
    flows = LESSON.replace("steps:\n  lesson:", "words: {help: {say: Call us.}, pause: pause}\nsteps:\n  lesson:")
    talk = Lesson(flows.replace("  done: {", "  pause: {ask: Shall we go on?, then: back}\n  done: {"))
    talk.start("lesson")
    assert talk.user("help") == ["Call us."]
    assert talk.user("pause") == ["Shall we go on?"]
    assert talk.user("yes") == ["Today we roast."]


def test_a_reminder_that_repeats_the_step_sends_the_template_again() -> None:
    talk = Lesson(LESSON.replace("wait: true}", "wait: true}, remind: {after: 4h}"))
    talk.start("lesson")
    assert talk.wait("5h") == [["lesson_ready"]]


def test_a_message_that_was_sent_too_late_after_all_waits_for_the_contact() -> None:
    talk = Talk(LESSON)
    talk.user("hi")
    talk.wait("23h54m")
    assert talk.start("lesson") == ["Today we roast."]
    assert talk.send_ended("replaced") == []
    assert talk.at == "lesson/lesson" and not talk.session.busy
    assert talk.user("Show me") == ["Today we roast."]


def test_a_template_that_was_refused_leaves_the_message_waiting() -> None:
    talk = Lesson()
    talk.start("lesson")
    assert talk.send_ended("refused") == []
    assert talk.user("hi") == ["Today we roast."]


def test_errors_of_its_own_hear_of_a_template_that_was_refused() -> None:
    talk = Lesson(LESSON.replace("wait: true}", "wait: true}, errors: {refused: /menu}"))
    assert talk.start("lesson") == [["lesson_ready"]]
    talk.send_ended("refused")
    assert talk.at == "menu/menu"


def test_an_edit_of_the_message_leaves_it_waiting() -> None:
    talk = Lesson()
    talk.start("lesson")
    talk.edit(LESSON.replace("Today", "This week"))
    assert talk.user("Show me") == ["This week we roast."]


def test_an_edit_that_lets_the_message_wait_no_longer_sends_it_with_the_next_event() -> None:
    talk = Lesson()
    talk.start("lesson")
    talk.edit(LESSON.replace(", wait: true", ""))
    assert talk.user("Show me") == ["Today we roast.", "Well done."]


def test_after_an_agent_the_next_message_brings_it() -> None:
    talk = Lesson()
    talk.start("lesson")
    talk.take(ConversationAssigned(talk.next_id(), CONTACT, talk.now, "Ann"))
    assert talk.user("hello Ann") == []
    talk.closed()
    assert talk.user("Show me") == ["Today we roast."]


def test_a_notice_that_goes_leaves_the_question_below_as_it_is() -> None:
    talk = Talk(LESSON)
    talk.user("menu")
    assert talk.start("lesson", busy="notice") == ["Today we roast."]
    assert talk.send_ended("sent") == ["Well done."]
    assert talk.at == "menu/menu"


def test_a_message_that_goes_is_no_answer_to_the_question_that_was_left() -> None:
    flows = """
flow: main
start: {otherwise: true}
words: {help: help}
steps:
  name: {ask: Your name?}
  help: {say: Call us., window_closed: {template: {name: help, language: en}, wait: true}}
  more: {say: Any time., then: back}
"""
    talk = Talk(flows)
    talk.user("hi")
    assert talk.user("help") == ["Call us."]
    assert talk.send_ended("sent") == ["Any time.", "Your name?"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("ask: Which?", "a question is asked again anyway, when the contact answers the template (remove it)"),
        ("handoff: desk, closed: end", "only the message of a `say` can wait (remove it, or put it on a `say`)"),
    ],
)
def test_a_step_that_has_no_message_to_bring_later_does_not_take_wait(step: str, why: str) -> None:
    flow = f"flow: main\nstart: {{otherwise: true}}\nsteps:\n  a: {{{step}, window_closed: {{template: {{name: x, language: en}}, wait: true}}}}"
    assert [each.partition("E123 ")[2] for each in problems_of(flow)] == [
        f'step "a": window_closed: "wait" has no effect: {why}'
    ]


def test_retry_has_no_effect_where_every_message_brings_it() -> None:
    flow = LESSON.replace("wait: true}", "wait: true}, retry: {say: What?}")
    assert ['"retry" has no effect: the step takes every reply' in each for each in problems_of(flow)] == [True]


def test_messages_that_lead_in_a_circle_are_a_mistake_although_they_can_wait() -> None:
    flow = LESSON.replace("{say: Well done., then: end}", "{say: Well done., then: lesson}")
    assert [each.split()[1] for each in problems_of(flow)] == ["E140"]


def test_a_place_whose_degrees_no_number_of_a_map_can_be_takes_its_errors() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {shop: {type: object}}
steps:
  find: {call: find, save: shop, errors: {else: end}}
  show: {say: , location: {latitude: "{{ shop.latitude }}", longitude: 1}, errors: {mismatch: sorry}}
  sorry: {say: Sorry., then: end}
"""
    talk = Talk(flow, handlers={"find": handler("find")(lambda: None)})
    talk.user("hi")
    assert talk.returns({"latitude": 10**400}) == ["Sorry."]
