"""The file of a message: `message.file`, in a flow that it starts, meanwhile, or where no answer is expected."""

from typing import Any

import pytest

from bot.core.effects import Fetch
from bot.core.events import MessageReceived
from bot.core.messages import MediaMessage
from bot.core.values import Media
from tests.talk import CONTACT, Talk, problems_of

PHOTO = Media("image", "https://files.example/1.jpg", "Our tap")
KEPT = Media("image", PHOTO.url, PHOTO.caption, "/var/bot/bot.files/1.jpg", "image/jpeg")
FLOW = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, kinds: [image], keep: true}, seen: {type: media}, what: text, kind: text}
steps:
  has: {branch: [{if: message.file, then: keep}, {else: what}]}
  keep: {set: {photo: "{{ message.file }}", kind: "{{ message.kind }}"}, errors: {TooLarge: big, else: lost}}
  what: {ask: "{{ kind }} {{ photo.file if photo else '-' }}: what is broken?", save: what}
  done: {say: "{{ what }}", then: end}
  lost: {say: Lost., then: end}
  big: {say: Too large., then: end}
"""


def sends(talk: Talk, media: Media = PHOTO) -> list[Any]:
    return talk.take(MessageReceived(talk.next_id(), CONTACT, talk.now, talk.now, media.kind, media.caption, media))


def test_the_photo_that_starts_a_flow_is_kept_by_a_set() -> None:
    talk = Talk(FLOW)
    assert sends(talk) == []
    assert talk.calls[-1][1] == Fetch(PHOTO, most=5 << 20)
    assert talk.session.busy
    assert talk.returns(KEPT) == ["image /var/bot/bot.files/1.jpg: what is broken?"]
    assert talk.session.kept_variables["photo"] == KEPT


def test_without_a_file_nothing_is_kept() -> None:
    assert Talk(FLOW).user("hi") == [" -: what is broken?"]


@pytest.mark.parametrize(("outcome", "said"), [("TooLarge", "Too large."), ("NotFetched", "Lost."), ("down", "Lost.")])
def test_a_file_that_cannot_be_kept_takes_its_error(outcome: str, said: str) -> None:
    talk = Talk(FLOW)
    sends(talk)
    assert talk.fails(outcome) == [said]


def test_a_file_of_a_kind_that_the_variable_does_not_take_is_a_mismatch() -> None:
    assert sends(Talk(FLOW), Media("video", "https://files.example/1.mp4")) == ["Lost."]


def test_several_files_are_kept_one_by_one() -> None:
    flow = FLOW.replace("type: media, kinds: [image]", "type: list, of: media").replace(
        'photo: "{{ message.file }}"', 'photo: ["{{ message.file }}", "{{ message.file }}"]'
    )
    talk = Talk(flow.replace("photo.file if photo", "photo | map('file') | join(' ') if photo"))
    sends(talk)
    assert talk.returns(KEPT) == ["image /var/bot/bot.files/1.jpg /var/bot/bot.files/1.jpg: what is broken?"]


def test_a_kept_file_is_not_kept_again() -> None:
    flow = FLOW.replace(
        "  has:",
        '  before: {branch: [{if: photo, then: same}, {else: has}]}\n  same: {set: {photo: "{{ photo }}"}, errors: {else: lost}, then: what}\n  has:',
    )
    talk = Talk(flow)
    sends(talk)
    talk.returns(KEPT)
    talk.user("A tap")
    assert sends(talk) == [" /var/bot/bot.files/1.jpg: what is broken?"]


def test_words_below_a_file_start_a_flow_and_are_no_word_and_no_answer() -> None:
    flow = (
        "flow: tap\nstart: {words: [our tap]}\nsteps: {a: {say: '{{ message.file.caption }}!', then: end}}\n---" + FLOW
    )
    talk = Talk(flow)
    assert sends(talk) == ["Our tap!"]
    talk.user("hi")
    assert sends(talk) == ["Please write it as a text.\n\n -: what is broken?"]


def test_a_file_that_comes_during_a_wait_or_at_other_is_the_messages_file() -> None:
    flow = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, keep: true}}
steps:
  pause: {wait: 1h, other: keep}
  keep: {set: {photo: "{{ message.file }}"}, errors: {else: end}}
  ask: {ask: "{{ photo.file }}?", other: {say: "{{ message.file.url }}"}, buttons: [A, B]}
"""
    talk = Talk(flow)
    talk.user("hi")
    sends(talk)
    assert talk.returns(KEPT) == [["/var/bot/bot.files/1.jpg?", "A", "B"]]
    assert sends(talk) == [PHOTO.url]


def test_it_is_sent_on() -> None:
    flow = 'flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Yours, image: "{{ message.file }}"}}\n'
    talk = Talk(flow)
    sends(talk)
    assert talk.turn is not None and talk.turn.effects[0].message == MediaMessage("image", PHOTO.url, "Yours", None)  # type: ignore[union-attr]


def test_a_set_beside_something_else_does_not_keep_a_file() -> None:
    flow = FLOW.replace(
        "then: keep}, {else: what}]}", 'then: keep}, {else: what}], set: {photo: "{{ message.file }}"}}'
    )
    (problem,) = problems_of(flow)
    assert 'E303 "photo" keeps files, and nothing waits here until the file of the message is kept' in problem


def test_keeping_needs_a_target_for_its_failure() -> None:
    problems = problems_of(FLOW.replace(", errors: {TooLarge: big, else: lost}", ""), "name: Test\n")
    assert any('step "keep"' in each and "errors" in each for each in problems), problems


def test_an_error_that_keeping_does_not_have() -> None:
    (problem,) = problems_of(FLOW.replace("TooLarge: big", "TooBig: big"))
    assert "E504" in problem and "TooBig" in problem
