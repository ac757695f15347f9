"""Files that handlers make: they are kept for the contact, sent, and deleted."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot import handler
from bot.core.clock import MovableClock
from bot.core.effects import Call, DeleteFile
from bot.core.events import CallEnded, TimeReached
from bot.core.own_addresses import EXAMPLE, FILES_VALID
from bot.core.session import Session
from bot.core.values import Media
from bot.engine.advance import advance
from bot.language.flow.own_files import FileLinks
from bot.language.steps.step_facts import StepFailed
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.runtime.file_calls import keep_made
from bot.runtime.python_calls import PythonCalls
from bot.store.kept_files import FolderFiles
from bot.testing.emulator import MessageTemplate
from bot.testing.simulation.sample_files import SAMPLE_FILES
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import BOT, call, make_bot
from tests.runtime.engine_kit import open_world
from tests.runtime.test_object_files import row_of
from tests.runtime.test_python_calls import declared
from tests.server.web.test_file_endpoint import ask

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
vars: {bill: media, kind: text}
steps:
  make: {call: shop.bill, with: {kind: "{{ message.text }}"}, save: bill, errors: {mismatch: no, else: never}}
  send: {say: Your bill., document: {file: "{{ bill }}", filename: Bill 7.pdf}, errors: {else: other}, then: end}
  other: {say: , image: {file: "{{ bill }}"}, then: end}
  no: {say: No bill., then: end}
  never: {say: Never., then: end}
---
flow: keeping
start: {words: [keep]}
vars: {bill: {type: media, keep: true}}
steps:
  make: {call: shop.bill, with: {kind: pdf}, save: bill, errors: {else: end}, then: end}
---
flow: again
start: {words: [again]}
vars: {bill: {type: media, keep: true}}
steps:
  known: {branch: [{if: bill, then: send}, {else: end}]}
  send: {say: , document: {file: "{{ bill }}"}, errors: {else: end}, then: end}
---
flow: forgets
start: {words: [forget]}
vars: {bill: {type: media, keep: true}}
steps: {forget: {clear: bill, then: end}}
"""
HANDLERS = """
from bot import handler
from bot.testing.simulation.sample_files import SAMPLE_FILES


@handler("shop.bill")
def bill(kind: str) -> bytes:
    return {**SAMPLE_FILES, "large": b"%PDF-1.4" + bytes(17 << 20), "odd": b"\\0" * 99}[kind]
"""


@handler("bill")
def bill() -> bytes:
    return SAMPLE_FILES["pdf"]


@contextmanager
def talk(folder: Path, flows: str = FLOWS) -> Iterator[Simulation]:
    make_bot(folder, flows, bot=BOT)
    (folder / "handlers.py").write_text(HANDLERS)
    with Simulation(load_program(read_folder(folder)), MovableClock(START)) as simulation:
        yield simulation


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    with talk(tmp_path) as simulation:
        yield simulation


def test_a_pdf_is_sent_and_the_gateway_fetches_it(chat: Simulation) -> None:
    chat.user("pdf")
    (sent,) = (each.body["document"] for each in chat.emulator.sent)
    answer, content = ask(chat, sent["link"])
    assert (answer.status, answer.headers["Content-Type"], content) == (200, "application/pdf", SAMPLE_FILES["pdf"])
    assert (sent["filename"], sent["caption"]) == ("Bill 7.pdf", "Your bill.")
    assert sent["link"].endswith("/Bill%207.pdf")


def test_a_picture_is_sent_as_an_image_only(chat: Simulation) -> None:
    chat.user("png")
    (sent,) = (each.body["image"] for each in chat.emulator.sent)
    assert ask(chat, sent["link"])[1] == SAMPLE_FILES["png"] and sent["link"].endswith("/image.png")


@pytest.mark.parametrize(
    ("kind", "why"),
    [("odd", "its bytes are no file that the gateway takes: JPG, PNG"), ("large", "17.0 MB, 16 MB are allowed")],
)
def test_bytes_that_cannot_be_sent_are_a_failure(chat: Simulation, kind: str, why: str) -> None:
    chat.user(kind)
    assert [each.body["text"]["body"] for each in chat.emulator.sent] == ["No bill."]
    (ended,) = (turn.event for turn in chat.stored.trace() if isinstance(turn.event, CallEnded))
    assert why in ended.detail
    assert chat.stored.kept_files() == 0


def test_it_is_deleted_when_no_address_of_it_is_valid_any_more(chat: Simulation) -> None:
    chat.user("pdf")
    link = chat.emulator.sent[0].body["document"]["link"]
    chat.wait(FILES_VALID - timedelta(seconds=1))
    assert ask(chat, link)[0].status == 200
    chat.wait(timedelta(minutes=1))
    assert (ask(chat, link)[0].status, chat.stored.kept_files(), chat.stored.session().made_files) == (410, 0, ())


def test_a_variable_that_is_kept_has_it_for_good_until_it_is_cleared(chat: Simulation) -> None:
    chat.user("keep")
    chat.wait(5 * FILES_VALID)
    chat.user("again")
    link = chat.emulator.sent[-1].body["document"]["link"]
    assert ask(chat, link)[0].status == 200 and link.endswith("/document.pdf")
    chat.user("forget")
    assert ask(chat, link)[0].status == 200
    chat.wait(FILES_VALID + timedelta(minutes=1))
    assert chat.stored.kept_files() == 0


def test_each_call_makes_a_file_of_its_own(chat: Simulation) -> None:
    for _ in range(2):
        chat.user("pdf")
    links = [each.body["document"]["link"] for each in chat.emulator.sent]
    assert len(set(links)) == 2 and chat.stored.kept_files() == 2
    chat.wait(FILES_VALID + timedelta(minutes=1))
    assert chat.stored.kept_files() == 0


def test_it_outlives_a_restart(chat: Simulation) -> None:
    chat.user("keep")
    chat.restart()
    chat.user("again")
    assert ask(chat, chat.emulator.sent[-1].body["document"]["link"])[1] == SAMPLE_FILES["pdf"]


def test_a_call_that_a_crash_repeats_makes_one_file(tmp_path: Path) -> None:
    files, row = FolderFiles(tmp_path), row_of(Call("shop.bill", {}))
    first, second = (keep_made(files, row, SAMPLE_FILES["pdf"]) for _ in range(2))
    assert first == second and files.of(row.contact) == [first.file]


def test_a_handler_is_called_again_while_the_disk_is_full(tmp_path: Path) -> None:
    (tmp_path / "files").write_text("no folder")
    ended = PythonCalls(declared(bill), FolderFiles(tmp_path / "files"))(row_of(Call("bill", {})), lambda text: True)
    assert (ended.outcome, ended.again) == ("error", True) and ended.detail.startswith("the file cannot be kept: ")


def test_a_hook_makes_no_file(tmp_path: Path) -> None:
    calls = PythonCalls(declared(bill), FolderFiles(tmp_path))
    ended = calls.call("bill", {}, "key")
    assert ended is not None and ended.detail == "the result cannot be kept: only a step's call can make a file"


def test_a_file_that_nobody_waits_for_any_more_is_deleted(chat: Simulation) -> None:
    file = Media("document", "", file="/store/bot.files/ab/abc/late.pdf", type="application/pdf")
    late = CallEnded("call:old", chat.contact, START, "old", "done", file)
    result = advance(chat.running.program.library, Session(chat.contact), late)
    (made,) = result.session.made_files
    assert made.until == START + FILES_VALID and result.wake_at == made.until
    gone = advance(chat.running.program.library, result.session, TimeReached("t", chat.contact, made.until))
    assert gone.effects == (DeleteFile(made.file),) and not gone.session.made_files


def test_a_file_of_a_contacts_is_not_sent(chat: Simulation, tmp_path: Path) -> None:
    links = FileLinks({}, EXAMPLE, START, chat.contact)
    with pytest.raises(StepFailed, match="a file that a contact has sent cannot be sent"):
        links.of_made("image", Media("image", "https://files.example/1.png", file="/a/1.png"), "")


def test_a_template_has_it_in_its_header(tmp_path: Path) -> None:
    flows = FLOWS.replace(
        'say: Your bill., document: {file: "{{ bill }}", filename: Bill 7.pdf}',
        'template: {name: bill, language: en, header: {document: {file: "{{ bill }}"}}}',
    )
    with talk(tmp_path, flows) as chat:
        chat.emulator.templates.add(MessageTemplate("bill", "en", body="Hi", header_media="document"))
        chat.user("pdf")
        (component,) = chat.emulator.sent[0].body["template"]["components"]
        assert ask(chat, component["parameters"][0]["document"]["link"])[1] == SAMPLE_FILES["pdf"]


def test_a_test_stubs_the_handler_and_names_the_file(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS, bot=BOT)
    (tmp_path / "handlers.py").write_text(HANDLERS)
    (tmp_path / "bill.test.yml").write_text("""
test: a bill
handlers: {shop.bill: {returns: "%PDF-1.4 %%EOF"}}
talk:
  - user: pdf
  - bot: {says: Your bill., document: {link: Bill 7.pdf, filename: Bill 7.pdf}}
""")
    assert call("test", tmp_path).code == 0
    assert call("check", tmp_path).code == 0


def test_a_file_that_comes_after_its_time_is_dropped_by_a_turn(tmp_path: Path) -> None:
    world = open_world(tmp_path / "bot.db")
    call = world.say("6281234567890", "call")
    row = world.performers.pop()
    world.call_ends(row, "timeout")
    file = Media("document", "", file="/store/late.pdf")
    world.call_ends(row, "late", file)
    assert world.taken("6281234567890") == [call, f"call:{call}#0", f"late:{call}#0"]
    world.close()
