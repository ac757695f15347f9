"""The endpoint of files, of a running bot: who gets which file, how, and how long."""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from bot.core.clock import MovableClock
from bot.core.engine_requests import EraseContact
from bot.core.messages import MediaMessage
from bot.core.own_addresses import EXAMPLE, FILES_VALID, FileAddress
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.sample_files import SAMPLE_FILES
from bot.testing.simulation.simulation import Simulation
from tests.cli.terminal import BOT, make_bot

START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
FLOWS = """
flow: main
start: {otherwise: true}
steps:
  menu: {say: The menu., document: {file: Menü & more.pdf}}
  bill: {say: , document: {text: "Käse for {{ contact.id }}", filename: bill.csv}}
  note: {say: , document: {text: "Dear {{ message.text }}", filename: "Note <1>.txt"}, then: end}
"""


@pytest.fixture
def chat(tmp_path: Path) -> Iterator[Simulation]:
    folder = make_bot(tmp_path, FLOWS, bot=BOT)
    (folder / "files").mkdir()
    (folder / "files" / "Menü & more.pdf").write_bytes(SAMPLE_FILES["pdf"])
    with Simulation(load_program(read_folder(folder)), MovableClock(START)) as simulation:
        simulation.user("Ann")
        yield simulation


def links(chat: Simulation) -> list[str]:
    """The addresses that the gateway got."""
    return [sent.body["document"]["link"] for sent in chat.emulator.sent]


def ask(chat: Simulation, address: str, method: str = "GET") -> tuple[HTTPResponse, bytes]:
    url = urlsplit(address)
    with closing(HTTPConnection("127.0.0.1", urlsplit(chat.running.url).port)) as connection:
        connection.request(method, url.path)
        answer = connection.getresponse()
        return answer, answer.read()


def status(chat: Simulation, address: str, method: str = "GET") -> int:
    return ask(chat, address, method)[0].status


def test_the_gateway_fetches_each_file_with_its_type(chat: Simulation) -> None:
    found = [ask(chat, link) for link in links(chat)]
    assert [(answer.status, answer.headers["Content-Type"], content) for answer, content in found] == [
        (200, "application/pdf", SAMPLE_FILES["pdf"]),
        (200, "text/plain; charset=utf-8", b"\xef\xbb\xbf" + f"Käse for {chat.contact}".encode()),
        (200, "text/plain; charset=utf-8", b"Dear Ann"),
    ]
    assert [link.rpartition("/")[2] for link in links(chat)] == [
        "Men%C3%BC%20%26%20more.pdf",
        "bill.txt",
        "Note%20%3C1%3E.txt",
    ]


def test_looking_first_costs_no_content(chat: Simulation) -> None:
    answer, content = ask(chat, links(chat)[0], "HEAD")
    assert (answer.status, answer.headers["Content-Length"], content) == (200, str(len(SAMPLE_FILES["pdf"])), b"")


def test_no_browser_shows_or_runs_a_file(chat: Simulation) -> None:
    for link in links(chat):
        headers = ask(chat, link)[0].headers
        assert headers["Content-Disposition"].startswith("attachment; filename*=UTF-8''")
        assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
        assert (headers["X-Content-Type-Options"], headers["X-Robots-Tag"]) == ("nosniff", "noindex")
        assert headers["Cache-Control"] == "private, no-store" and headers["Set-Cookie"] is None


def test_strangers_find_nothing(chat: Simulation) -> None:
    ours = links(chat)[0]
    token = ours.split("/")[-2]
    gone = EXAMPLE.file(FileAddress("../bot.yml", START), b"") or ""
    others = [
        ours.replace(token, "x" + token[1:]),
        ours + "x",
        ours.rpartition("/")[0],
        f"/files/{'A' * 60}/bot.yml",
        gone,
    ]
    assert [status(chat, address) for address in others] == [404] * len(others)
    assert [status(chat, ours, method) for method in ("POST", "PUT", "DELETE")] == [405] * 3


def test_an_address_expires(chat: Simulation) -> None:
    chat.clock.move(FILES_VALID)
    assert [status(chat, link) for link in links(chat)] == [200] * 3
    chat.clock.move(timedelta(seconds=1))
    assert [status(chat, link) for link in links(chat)] == [410] * 3


def test_a_made_file_goes_with_its_contact(chat: Simulation) -> None:
    chat.running.engine.operate(EraseContact(chat.contact))
    assert [status(chat, link) for link in links(chat)] == [200, 404, 404]


def test_a_file_that_an_edit_has_removed_is_not_there_any_more(chat: Simulation, tmp_path: Path) -> None:
    make_bot(tmp_path, "flow: main\nstart: {otherwise: true}\nsteps: {a: {say: Hi., then: end}}\n", bot=BOT)
    (tmp_path / "files" / "Menü & more.pdf").unlink()
    chat.running.swap(load_program(read_folder(tmp_path)))
    assert [status(chat, link) for link in links(chat)] == [404, 200, 200]


def test_a_made_file_is_found_among_many_messages_and_by_its_own_address_alone(chat: Simulation) -> None:
    first = links(chat)[2]
    for name in ("Bo", "Cy", "Di"):
        chat.user(name)
    others = links(chat)[5::3]
    assert [ask(chat, link)[1] for link in (first, *others)] == [b"Dear Ann", b"Dear Bo", b"Dear Cy", b"Dear Di"]
    found = chat.stored.reader.messages.with_file(chat.contact, first, START)
    assert isinstance(found, MediaMessage) and found.content == "Dear Ann"
    assert chat.stored.reader.messages.with_file("6281234567899", first, START) is None
