"""Voice notes by the whole path: from a signed webhook to the handler or the service that writes them down, and back."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.events import CallEnded, Event
from bot.core.session import Session
from bot.engine.turn_context import TurnContext
from bot.language.flow.library import Library
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.store.files import files_folder
from bot.testing.conversations.transcript_reader import load_with_tests
from bot.testing.conversations.transcript_run import run
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import BOT, make_bot
from tests.patience import PATIENCE
from tests.services.gateway.peer import Peer, answer, peer

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {a: text, b: text, c: text}
steps:
  a: {ask: First?, save: a}
  b: {ask: Second?, save: b, retry: {say: Write it.}}
  c: {ask: Third?, save: c}
  all: {say: "{{ a }}, {{ b }}, {{ c }}", then: end}
"""
BY_HANDLER = BOT + "transcribe: {call: speech.words}\n"
HANDLERS = """
from pathlib import Path

from bot import handler
from bot.core.values import Media

@handler("speech.words")
def words(voice: Media) -> str:
    sound = Path(voice.file).read_bytes()
    assert voice.type == "audio/ogg" and sound.startswith(b"OggS")
    return f"{len(sound)} bytes"
"""


@contextmanager
def chatting(folder: Path, flows: str = FLOWS, bot: str = BY_HANDLER) -> Iterator[Simulation]:
    program = load_program(read_folder(make_bot(folder, flows, HANDLERS, bot=bot)))
    with Simulation(program, MovableClock(START)) as simulation:
        simulation.user("hi")
        simulation.phones.heard()
        yield simulation


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    with chatting(tmp_path) as simulation:
        yield simulation


def heard(chat: Simulation) -> list[str]:
    return [message.text for message in chat.phones.heard()]


def kept_files(chat: Simulation) -> list[Path]:
    return [path for path in files_folder(chat.running.store).rglob("*") if path.is_file()]


def test_a_handler_reads_the_voice_note_which_is_deleted_then(chat: Simulation) -> None:
    chat.user("one")
    sound = b"OggS\0\2" + bytes(70)
    chat.send("audio", content=sound)
    chat.user("three")
    assert heard(chat) == ["Second?", "Third?", "one, 76 bytes, three"]
    assert kept_files(chat) == []


def test_what_is_no_audio_reaches_no_handler(chat: Simulation) -> None:
    chat.user("one")
    chat.send("audio", content=b"MZ\x90\0")
    assert heard(chat) == ["Second?", "Write it."]
    assert any("NotFetched" in each or "audio is" in each for each in chat.stored.complaints())


def test_what_is_written_meanwhile_comes_after_it(chat: Simulation) -> None:
    def write_twice() -> None:
        chat.write_meanwhile("two")
        chat.write_meanwhile("three")

    chat.voice_notes.on_call = write_twice
    chat.speak("one")
    assert heard(chat) == ["Second?", "Third?", "one, two, three"]


def test_voice_notes_one_after_another_keep_their_order(chat: Simulation) -> None:
    later = iter(["two", "three"])

    def speak_meanwhile() -> None:
        name = next(later, None)
        if name is not None:
            url = f"{chat.emulator.url}/media/{int(START.timestamp())}/{name}"
            chat.voice_notes._words[url] = name
            chat.emulator.receive(chat.contact, kind="audio", media_url=url, at=START)
            assert chat.emulator.wait_until(chat.emulator.idle, PATIENCE)

    chat.voice_notes.on_call = speak_meanwhile
    chat.speak("one")
    assert heard(chat) == ["Second?", "Third?", "one, two, three"]


def test_the_same_event_twice_is_one_voice_note(chat: Simulation) -> None:
    chat.speak("one")
    chat.gateway.repeat()
    assert heard(chat) == ["Second?"]
    assert chat.stored.session().transcribed == 1


def test_a_restart_forgets_nothing(chat: Simulation) -> None:
    chat.speak("one")
    chat.restart()
    chat.speak("two")
    assert heard(chat) == ["Second?", "Third?"]


def test_a_defect_while_a_transcript_is_taken_leaves_no_contact_stuck(
    chat: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(library: Library, session: Session, event: Event) -> TurnContext:
        if isinstance(event, CallEnded):
            raise RuntimeError("a defect")
        return TurnContext(library, session, event)

    monkeypatch.setattr("bot.engine.advance.begin_turn", fail)
    chat.speak("one")
    assert heard(chat) == []
    assert chat.stored.session().voice_note is None and len(chat.stored.dead_letters()) == 1
    chat.user("hello?")
    assert heard(chat) == ["First?"]


GATHERING = FLOWS.replace("save: a", "save: a, gather: 3s, words: {menu: {say: Menu., then: b}}")


def test_what_is_gathered_keeps_its_order_around_a_voice_note(tmp_path: Path) -> None:
    with chatting(tmp_path, GATHERING) as chat:
        chat.user("one")
        chat.voice_notes.on_call = lambda: chat.write_meanwhile("three")
        chat.speak("two")
        chat.wait(timedelta(seconds=5))
        chat.user("b")
        chat.user("c")
        assert heard(chat)[-1] == "one\ntwo\nthree, b, c"


def test_a_word_after_a_voice_note_is_heard_as_one_and_drops_what_was_gathered(tmp_path: Path) -> None:
    with chatting(tmp_path, GATHERING) as chat:
        chat.user("one")
        chat.voice_notes.on_call = lambda: chat.write_meanwhile("menu")
        chat.speak("two")
        assert heard(chat) == ["Menu.", "Second?"]
        assert [turn.rule for turn in chat.stored.trace()].count("dropped") == 2


def test_a_word_that_is_spoken_drops_what_was_gathered_before_it_and_nothing_after_it(tmp_path: Path) -> None:
    with chatting(tmp_path, GATHERING) as chat:
        chat.user("one")
        chat.voice_notes.on_call = lambda: chat.write_meanwhile("two")
        chat.speak("menu")
        assert heard(chat) == ["Menu.", "Second?", "Third?"]


@pytest.fixture
def whisper() -> Iterator[Peer]:
    with peer() as running:
        yield running


def test_a_service_gets_the_file_in_a_form_and_is_asked_again(tmp_path: Path, whisper: Peer) -> None:
    service = (
        f'http: {{whisper: {{base: "{whisper.url}", allow_private: true}}}}\n'
        "transcribe: {http: POST whisper:/words, form: {file: '{{ voice }}', model: small}, tries: 2}\n"
    )
    whisper.answers(answer(500, b""), answer(200, b'{"text": "two"}', {"Content-Type": "application/json"}))
    with chatting(tmp_path, bot=BOT + service) as chat:
        chat.user("one")
        chat.send("audio", content=b"OggS\0\2" + bytes(70))
        chat.wait(timedelta(minutes=2))
        assert heard(chat) == ["Second?", "Third?"]
        assert kept_files(chat) == []
    sent = whisper.requests[-1].raw
    assert b'name="model"\r\n\r\nsmall' in sent and b"Content-Type: audio/ogg\r\n\r\nOggS" in sent
    assert len(whisper.requests) == 2


TESTS = """
test: a voice note, and what is written meanwhile
talk:
  - user: hi
  - bot: First?
  - user: {voice: one}
  - meanwhile: two
  - bot: Second?
  - bot: Third?
---
test: who writes down nothing
handlers: {speech.words: {returns: null}}
talk:
  - user: hi
  - bot: First?
  - user: one
  - bot: Second?
  - send: audio
  - bot: Write it.
  - expect: {calls: [speech.words]}
---
test: late, and again
talk:
  - user: {voice: hi}
    late: 1m
  - bot: First?
  - again
  - user: {voice: one}
  - bot: Second?
  - restart
  - user: two
  - bot: Third?
"""


def test_tests_can_say_it(tmp_path: Path) -> None:
    folder = read_folder(make_bot(tmp_path, FLOWS, HANDLERS, TESTS, BY_HANDLER))
    loaded = load_with_tests(folder)
    assert loaded.program is not None, loaded.problems
    assert [run(test, loaded.program, folder) for test in loaded.transcripts] == [None] * 3
