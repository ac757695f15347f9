"""Messages that are no answer and no wrong answer: reactions and the like."""

from typing import Any

import pytest

from bot.core.events import UNHEARD_KINDS, MessageReceived
from tests.talk import BOT, CONTACT, Talk

FLOW = """\
flow: main
start: {words: [photo]}
vars: {photo: {type: media, kinds: [image]}, number: {type: integer}}
defaults: {retry: {say: Pardon?, max: 2, else: /gave_up}, remind: {after: 1h, say: Still there?}}
steps:
  photo: {ask: Photo?, save: photo}
  number: {ask: How many?, save: number}
  done: {say: "{{ number }}!", then: end}
---
flow: gave_up
steps: {sorry: {say: I give up., then: end}}
---
flow: any
start: {event: message.inbound}
steps: {hello: {say: Hello., then: end}}
---
flow: other
start: {otherwise: true}
steps: {what: {say: What?, then: end}}
"""


def sends(talk: Talk, kind: str, **parts: Any) -> list[Any]:
    """Send something of this kind."""
    return talk.take(MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now, kind, **parts))


def rule(talk: Talk) -> str:
    assert talk.turn is not None
    return talk.turn.trace.rule


@pytest.mark.parametrize("kind", UNHEARD_KINDS)
def test_a_reaction_and_the_like_are_no_answer_no_wrong_answer_and_no_start(kind: str) -> None:
    talk = Talk(FLOW)
    assert sends(talk, kind) == [] and talk.session.frames == () and talk.session.last_inbound is None
    talk.user("photo")
    before = talk.session
    for _ in range(4):
        assert sends(talk, kind) == []
    assert talk.session == before
    assert rule(talk) == f"{UNHEARD_KINDS[kind]}: not heard"
    assert talk.photo() == ["How many?"]


def test_the_time_goes_on_as_if_no_reaction_had_come() -> None:
    talk = Talk(FLOW)
    talk.user("photo")
    talk.wait("59m")
    sends(talk, "reaction")
    assert talk.wait("1m") == ["Still there?"]


def test_a_reaction_while_messages_are_gathered_is_no_part_of_them() -> None:
    flow = "flow: main\nstart: {otherwise: true}\nvars: {text: text}\nsteps:\n"
    flow += '  what: {ask: What?, save: text, gather: 3s}\n  noted: {say: "{{ text }}", then: end}\n'
    talk = Talk(flow)
    talk.user("hi"), talk.user("The tap")
    sends(talk, "reaction")
    talk.user("drips")
    assert talk.wait("3s") == ["The tap\ndrips"]


def test_a_reaction_of_a_contact_who_has_opted_out_and_with_an_agent_changes_nothing() -> None:
    talk = Talk(FLOW, BOT + "opt_out: {words: [stop], say: Bye.}\n")
    talk.user("stop")
    before = talk.session
    assert sends(talk, "reaction") == [] and talk.session == before


def test_another_unknown_kind_is_a_wrong_answer_as_before() -> None:
    talk = Talk(FLOW)
    talk.user("photo")
    assert sends(talk, "hologram") == ["Pardon?"]
