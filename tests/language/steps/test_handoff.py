"""A conversation that an agent has."""

from bot.core.events import ConversationAssigned
from tests.talk import BOT, CONTACT, Talk

WORDS = (
    "name: T\nwords: {stop: {say: Bye!, then: end}, help: {say: Just answer.}, home: /main}\n" + BOT.split("\n", 1)[1]
)


HANDOFF = """
flow: main
start: {otherwise: true}
steps: {h: {handoff: {team: sales, say: One moment., note: x}, closed: thanks}, thanks: {say: Thanks., then: end}}
"""


def test_a_hand_over_hears_nothing_until_it_is_closed() -> None:
    talk = Talk(HANDOFF, WORDS.replace("home: /main", "home: /main/thanks"))
    assert talk.user("a") == ["One moment."]
    assert list(talk.session.tags) == ["handoff:sales"]
    assert talk.user("stop") == []
    assert talk.turn is not None and talk.turn.trace.rule == "hand-over: not heard"
    assert talk.wait("300h") == []
    assert talk.closed() == ["Thanks."]
    assert list(talk.session.tags) == []


def test_what_became_of_its_message_is_forgotten_when_it_is_closed() -> None:
    talk = Talk(HANDOFF.replace("closed: thanks", "closed: again"))
    talk.user("a")
    talk.take(ConversationAssigned("a1", CONTACT, talk.now, agent="Ann"))
    talk.send_ended("failed")
    assert talk.session.hand_over is not None and talk.session.hand_over.ended is not None
    assert talk.closed() == ["One moment."]
    assert talk.session.hand_over is not None and talk.session.hand_over.ended is None


def test_a_failure_takes_the_tag_of_a_hand_over_away() -> None:
    talk = Talk("""
flow: main
start: {otherwise: true}
vars: {o: {type: object}}
steps: {h: {handoff: sales, closed: {say: "{{ o.a.b }}", then: end}}}
""")
    talk.user("a")
    assert list(talk.session.tags) == ["handoff:sales"]
    talk.closed()
    assert talk.at is None
    assert list(talk.session.tags) == []
