"""Files of the bot's own as the gateway fetches them from a real `bot serve`: of its folder, and of a version."""

from pathlib import Path

import pytest
import requests

from bot.core.engine_requests import Reload
from bot.server import local_socket
from bot.testing.emulator.emulator import Emulator
from bot.testing.simulation.sample_files import SAMPLE_FILES
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.server.process.machines import Shared
from tests.server.process.serving import CONTACT, SECRET, Serve, Serving

FLOW = """
flow: main
start: {otherwise: true}
steps:
  menu: {say: The menu., document: {file: menu.pdf}}
  bill: {say: , document: {text: "For {{ contact.id }}", filename: bill.txt}, then: end}
"""
URL = "https://bot.example"
RULES = {"files/rules.txt": "No shoes."}


def with_menu(folder: Path, content: bytes) -> None:
    (folder / "main.yml").write_text(FLOW)
    (folder / "files").mkdir(exist_ok=True)
    (folder / "files" / "menu.pdf").write_bytes(content)


def fetched(serving: Serving, gateway: Emulator) -> list[tuple[int, bytes]]:
    """The files of the messages that the gateway has, as it fetches them."""
    links = [sent.body["document"]["link"] for sent in gateway.sent if sent.type == "document"]
    return [serving._ask("GET", link.removeprefix(URL)) for link in links]


@pytest.fixture
def gateway() -> Emulator:
    return Emulator(per_minute=1_000_000, per_day=1_000_000)


def test_a_file_is_served_from_the_folder_until_a_version_has_it(serve: Serve, folder: Path, gateway: Emulator) -> None:
    with_menu(folder, SAMPLE_FILES["pdf"])
    with gateway:
        account = {"BOT_GATEWAY_URL": gateway.url, "BOT_GATEWAY_KEY": gateway.api_key, "BOT_PUBLIC_URL": URL}
        serving = serve(**account).up()
        gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
        gateway.receive(CONTACT, "hi")
        assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
        assert fetched(serving, gateway) == [(200, SAMPLE_FILES["pdf"]), (200, f"For {CONTACT}".encode())]
        assert call("publish", folder).lines[-1] == "Version 1 is served now."
        (folder / "files" / "menu.pdf").unlink()
        local_socket.ask(serving.store, Reload())
        assert fetched(serving, gateway)[0] == (200, SAMPLE_FILES["pdf"])
        with_menu(folder, b"%PDF-2")
        assert call("publish", folder).lines[-1] == "Version 2 is served now."
        assert fetched(serving, gateway)[0] == (200, b"%PDF-2")
        assert call("rollback", "--bot", folder).lines[-1] == "Version 3 is served now."
        assert fetched(serving, gateway)[0] == (200, SAMPLE_FILES["pdf"])


def test_a_bot_without_a_public_address_says_at_its_start_what_is_missing(serve: Serve, folder: Path) -> None:
    with_menu(folder, SAMPLE_FILES["pdf"])
    serve().line_with("nobody could reach these addresses: set BOT_PUBLIC_URL")


def test_each_machine_answers_for_what_another_has_sent(machines_share: Shared) -> None:
    first = machines_share.start("first", flow=FLOW.replace("file: menu.pdf", "file: rules.txt"), **RULES)
    second = machines_share.start("second", flow=FLOW.replace("file: menu.pdf", "file: rules.txt"), **RULES)
    gateway = machines_share.gateway
    gateway.subscribe(f"http://127.0.0.1:{first.port}/webhook", secret=gateway.secret)
    gateway.receive(CONTACT, "hi")
    assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
    links = [sent.body["document"]["link"].removeprefix(URL) for sent in gateway.sent]
    for server in (first, second):
        found = [requests.get(f"http://127.0.0.1:{server.port}{link}", timeout=PATIENCE) for link in links]
        assert [(answer.status_code, answer.text) for answer in found] == [(200, "No shoes."), (200, f"For {CONTACT}")]
