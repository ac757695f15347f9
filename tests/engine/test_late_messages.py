"""Messages whose window is closed wait in the session, and come in order when the contact writes."""

from bot.core.effects import Send
from bot.core.events import ConversationAssigned, SendEnded
from bot.core.session import effect_ref
from tests.talk import CONTACT, Talk

BOT = """\
name: T
words: {help: {say: Call us.}}
opt_out: {words: [leave], say: You are out., back: [join]}
defaults:
  timeout: {after: 20h, then: end}
  window_closed: {template: {name: news, language: en}}
"""
FLOWS = """\
flow: main
start: {otherwise: true}
steps: {menu: {ask: "Yes?", retry: {say: "Sorry?"}, remind: {after: 2h, say: Still there?}}}
---
flow: note
vars: {text: {type: text}}
steps: {note: {say: "{{ text }}", then: end}}
---
flow: whole
vars: {text: {type: text}}
steps: {note: {say: "{{ text }}", window_closed: {template: {name: whole, language: en, body: ["Hello", "{{ text }}"]}}, then: end}}
---
flow: poll
steps: {hello: {say: A question.}, how: {ask: How was it?, timeout: {after: 1h, say: Too late., then: end}}, thanks: {say: Thanks.}}
"""


class Closed(Talk):
    """A conversation in which the gateway's window is closed for each message until the contact writes."""

    def __init__(self) -> None:
        super().__init__(FLOWS, BOT)
        self.replaced = False

    def ended(self) -> None:
        """Report the ends of the messages of the last turn, as the delivery does while the window is closed."""
        assert self.turn is not None
        event, sends = self.event, [(n, each) for n, each in enumerate(self.turn.effects) if isinstance(each, Send)]
        for ordinal, effect in sends:
            outcome = "superseded" if self.replaced else "replaced"
            self.replaced = True
            ref, late = effect_ref(event.id, ordinal), effect.late_message(outcome)
            self.take(SendEnded(f"sent:{ref}", CONTACT, self.now, ref, outcome, message=late))

    def note(self, text: str, flow: str = "note") -> None:
        self.start(flow, text=text)
        self.ended()

    @property
    def notes(self) -> list[str]:
        assert self.turn is not None
        return self.turn.trace.notes


def test_messages_that_come_too_late_come_in_order_when_the_contact_writes() -> None:
    talk = Closed()
    for text in ("One.", "Two.", "Three."):
        talk.note(text)
    assert talk.notes == ["waits for the contact: 3 messages"]
    assert talk.user("hello") == ["One.", "Two.", "Three.", "Yes?"]
    assert talk.user("what?") == []


def test_they_come_once_also_if_the_contact_writes_in_another_flow() -> None:
    talk = Closed()
    talk.user("hi")
    talk.wait("1h")
    talk.start("note", busy="notice", text="One.")
    talk.ended()
    assert talk.user("help") == ["One.", "Call us."]
    assert talk.user("help") == ["Call us."]


def test_a_template_that_has_the_whole_text_stands_for_the_message() -> None:
    talk = Closed()
    for text in ("We meet on Friday.", "Bring tea."):
        talk.note(text, "whole")
    assert talk.user("hello") == ["Bring tea.", "Yes?"]


def test_a_question_is_asked_again_and_comes_after_the_messages_before_it() -> None:
    talk = Closed()
    talk.start("poll")
    talk.ended()
    assert talk.user("hello") == ["A question.", "How was it?"]


def test_a_question_that_is_over_comes_no_more_and_the_text_of_its_time_out_does() -> None:
    talk = Closed()
    talk.start("poll")
    talk.ended()
    talk.wait("1h")
    talk.ended()
    assert talk.at is None
    assert talk.user("hello") == ["A question.", "Too late.", "Yes?"]


def test_a_reminder_that_comes_too_late_is_left_out() -> None:
    talk = Closed()
    talk.user("hi")
    talk.wait("2h")
    talk.ended()
    assert talk.session.late_messages == ()


def test_more_than_ten_messages_do_not_wait() -> None:
    talk = Closed()
    for number in range(10):
        talk.note(f"{number}.")
        assert talk.turn is not None and not talk.turn.given_up
    talk.note("10.")
    assert talk.turn is not None
    assert talk.turn.given_up == "the 24-hour window is closed, and 10 messages wait already for the contact to write"
    assert talk.user("hello") == [*(f"{number}." for number in range(10)), "Yes?"]


def test_after_an_opt_out_they_come_no_more() -> None:
    talk = Closed()
    talk.note("One.")
    assert talk.user("leave") == ["You are out."]
    assert talk.notes == ["1 message that waited is not sent: the contact has opted out"]
    assert talk.user("join") == ["Yes?"]


def test_while_an_agent_has_the_conversation_they_wait() -> None:
    talk = Closed()
    talk.note("One.")
    talk.take(ConversationAssigned(talk.next_id(), CONTACT, talk.now, "Ann"))
    assert talk.user("hello Ann") == []
    talk.closed()
    assert talk.user("hello") == ["One.", "Yes?"]


def test_a_reset_leaves_them_waiting() -> None:
    talk = Closed()
    talk.note("One.")
    talk.reset()
    assert talk.user("hello") == ["One.", "Yes?"]


def test_one_that_is_too_late_once_more_waits_again() -> None:
    talk = Closed()
    talk.note("One.")
    talk.user("hello")
    talk.replaced = False
    talk.ended()
    assert talk.user("help") == ["One.", "Call us."]
