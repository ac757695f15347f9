"""Albums by the whole path: several signed webhooks at once, files that are kept, and a flow that one of them starts."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.events import MessageReceived
from bot.core.values import Media, files_in
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import BOT, make_bot

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {photos: {type: list, of: media, keep: true}, more: {type: list, of: media, keep: true}, count: integer}
steps:
  begins: {branch: [{if: message.file, then: first}, {else: ask}]}
  first: {set: {photos: ["{{ message.file }}"]}, errors: {else: lost}, then: more}
  ask: {ask: Your photos?, save: photos, errors: {else: lost}, then: count}
  more: {ask: "", save: more, set: {photos: "{{ photos + more }}"}, errors: {else: lost}}
  count: {ask: "{{ photos | map('caption') | join(' ') }}. How many are they?", save: count}
  done: {say: "{{ count }}", clear: all, then: end}
  lost: {say: I could not get it., then: end}
"""


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    program = load_program(read_folder(make_bot(tmp_path, FLOWS, bot=BOT)))
    with Simulation(program, MovableClock(START)) as simulation:
        yield simulation


def heard(chat: Simulation) -> list[str]:
    return [message.text for message in chat.phones.heard()]


def album(chat: Simulation, *captions: str) -> None:
    for caption in captions:
        chat.emulator.receive(chat.contact, caption, kind="image")
    chat.settle()


def kept(chat: Simulation) -> list[Path]:
    return [Path(file.file or "") for file in files_in(chat.stored.session().kept_variables)]


def test_an_album_answers_the_question_and_each_photo_is_on_the_disk(chat: Simulation) -> None:
    chat.user("hi")
    assert heard(chat) == ["Your photos?"]
    album(chat, "a", "b", "c")
    chat.wait(timedelta(seconds=4))
    chat.user("done")
    album(chat, "d")
    chat.wait(timedelta(seconds=5))
    assert heard(chat) == ["a b c d. How many are they?"]
    files = kept(chat)
    assert len({*files}) == 4 and all(file.exists() for file in files)
    chat.user("4")
    assert (heard(chat), [file for file in files if file.exists()]) == (["4"], [])


def test_an_album_that_starts_a_flow_is_taken_whole(chat: Simulation) -> None:
    album(chat, "a", "b", "c")
    chat.wait(timedelta(seconds=5))
    assert heard(chat) == ["a b c. How many are they?"]


def test_a_restart_between_the_photos_loses_none(chat: Simulation) -> None:
    chat.user("hi")
    heard(chat)
    album(chat, "a", "b")
    chat.restart()
    album(chat, "c")
    chat.wait(timedelta(seconds=5))
    assert heard(chat) == ["a b c. How many are they?"]


def test_photos_that_come_after_the_answer_are_no_wrong_answers_to_the_next_question(chat: Simulation) -> None:
    chat.user("hi")
    album(chat, "a")
    chat.wait(timedelta(seconds=5))
    heard(chat)
    chat.send("image", "b", late=timedelta(seconds=5))
    assert heard(chat) == []


def test_what_a_contact_sends_has_an_address_and_a_type_before_it_is_kept(chat: Simulation) -> None:
    chat.send("image", "a", b"\xff\xd8\xff\xe0\0\x10JFIF\0\xff\xd9")
    chat.send("document")
    events = [turn.event for turn in chat.stored.all_turns()]
    sent = [event.media for event in events if isinstance(event, MessageReceived) and event.media is not None]
    assert sorted(sent[:2], key=lambda file: file.url) == [
        Media("image", "https://files.example/1.jpg", "a", type="image/jpeg"),
        Media("document", "https://files.example/2.pdf", type="application/pdf"),
    ]
