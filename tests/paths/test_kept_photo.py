"""A photo by the whole path: from a signed webhook to the handler that reads the kept file."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation
from bot.testing.simulation.turn_words import effect_in_words
from tests.cli.terminal import BOT, make_bot

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, kinds: [image], keep: true, max: 1KB}, size: {type: integer}}
steps:
  photo:
    ask: Your photo?
    save: photo
    retry: {say: A photo please.}
    errors: {TooLarge: {say: A smaller one please.}, else: lost}
  size: {call: size_of, with: {photo: "{{ photo }}"}, save: size}
  thanks: {say: "{{ size }} bytes, {{ photo.type }}: {{ photo.caption }}", then: end}
  lost: {say: I could not get it., then: end}
""".replace("one please.}", "one please., then: again}")
HANDLERS = """
from pathlib import Path

from bot import handler
from bot.core.values import Media

@handler("size_of")
def size_of(photo: Media) -> int:
    return len(Path(photo.file).read_bytes())
"""


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    program = load_program(read_folder(make_bot(tmp_path, FLOWS, HANDLERS, bot=BOT)))
    with Simulation(program, MovableClock(START)) as simulation:
        simulation.user("hi")
        simulation.phones.heard()
        yield simulation


def sends(chat: Simulation, kind: str = "image", caption: str | None = None) -> list[str]:
    chat.emulator.receive(chat.contact, caption, kind=kind)
    chat.settle()
    return [message.text for message in chat.phones.heard()]


def test_a_handler_reads_the_photo_that_the_contact_sent(chat: Simulation) -> None:
    size = len(chat.emulator.media["image"])
    assert sends(chat, caption="Me") == [f"{size} bytes, image/png: Me"]


def test_another_kind_of_file_is_asked_for_again(chat: Simulation) -> None:
    assert sends(chat, "document") == ["A photo please."]
    assert sends(chat, "sticker") == ["A photo please."]


def test_a_photo_that_is_too_large_may_be_followed_by_a_smaller_one(chat: Simulation) -> None:
    photo = chat.emulator.media["image"]
    chat.emulator.media["image"] = photo + bytes(1024)
    assert sends(chat) == ["A smaller one please.", "Your photo?"]
    chat.emulator.media["image"] = photo
    assert sends(chat) == [f"{len(photo)} bytes, image/png: "]


def test_what_only_calls_itself_a_photo_is_not_kept(chat: Simulation) -> None:
    chat.emulator.media["image"] = b"MZ\x90\x00" + bytes(100)
    assert sends(chat) == ["I could not get it."]


def test_a_photo_that_is_gone_is_not_waited_for(chat: Simulation) -> None:
    del chat.emulator.media["image"]
    assert sends(chat) == ["I could not get it."]
    assert "127.0.0.1 answered 404" in " ".join(chat.stored.complaints())


def test_what_the_contact_writes_meanwhile_is_taken_after_the_photo(chat: Simulation) -> None:
    chat.emulator.receive(chat.contact, "Me", kind="image")
    chat.emulator.receive(chat.contact, "hello?")
    chat.settle()
    size = len(chat.emulator.media["image"])
    assert [message.text for message in chat.phones.heard()] == [f"{size} bytes, image/png: Me", "Your photo?"]


def test_a_photo_that_the_flow_clears_is_deleted_from_the_disk(tmp_path: Path) -> None:
    flows = FLOWS.replace('{say: "{{ size }} bytes, {{ photo.type }}: {{ photo.caption }}"', '{ask: "{{ photo.file }}"')
    flows = flows.replace("then: end}\n  lost", "then: gone}\n  gone: {clear: photo, then: end}\n  lost")
    program = load_program(read_folder(make_bot(tmp_path, flows, HANDLERS, bot=BOT)))
    with Simulation(program, MovableClock(START)) as simulation:
        simulation.user("hi")
        simulation.phones.heard()
        (file,) = sends(simulation)
        assert Path(file).exists()
        simulation.user("delete it")
        assert not Path(file).exists()
        effects = [effect for turn in simulation.stored.all_turns() for effect in turn.effects]
        assert "delete a kept file" in map(effect_in_words, effects)
