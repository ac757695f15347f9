"""The console of a bot whose store is divided: its pages show all shards, and say which one is without an engine."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from socket import create_server

import pytest

from bot.core.clock import SystemClock
from bot.loading.folder import read_folder
from bot.pages.console.console_app import console_app
from bot.pages.console.routes import Console
from bot.pages.console.users import users_in
from bot.pages.shared.page_server import PageServer
from bot.store.store_reader import StoreReader
from tests.divided import ALL, BEN, EVE, Divided, divided_store  # noqa: F401
from tests.pages.console.client import Client
from tests.pages.console.conftest import PREFIX, USERS


@dataclass
class Page:
    url: str


@pytest.fixture
def client(divided: Divided) -> Iterator[Client]:
    """An operator who is logged in."""
    stopping = threading.Event()
    with ExitStack() as parts:
        console = Console(read_folder(divided.folder), divided.store, SystemClock())
        parts.callback(console.reader.close)
        listener = create_server(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{PREFIX}"
        parts.enter_context(PageServer(console_app(console, users_in(USERS), url, stopping), listener, stopping))
        client = Client(Page(url))
        client.log_in("olga")
        yield client


def test_the_state_names_a_shard_without_an_engine_and_what_waits_for_it(
    divided: Divided,
    client: Client,
) -> None:
    for contact in ALL:
        divided.call("send", contact, "Hello")
    with divided.engines(0, 2):
        shown = client.ask("/state").text
    assert "The engine of shard 1 does not answer" in shown
    assert shown.count("It waits until the engine of shard 1 runs") == 1
    with divided.engines(0, 1, 2):
        assert "No alarms: everything is received and sent." in client.ask("/state").text


def test_a_contact_is_shown_and_reset_in_its_shard(divided: Divided, client: Client) -> None:
    for contact in ALL:
        divided.call("start", "main", contact)
    listed = client.ask("/").text
    assert all(contact in listed for contact in ALL)
    with divided.engines(0, 2):
        token = client.token()
        for contact in (BEN, EVE):
            client.ask(f"/contact/{contact}/reset", {"token": token})
        assert "(shard 1): is `bot serve` running?" in client.ask("/").text
    with closing(StoreReader(divided.store)) as reader:
        assert {each.contact for each in reader.sessions.summaries() if each.flow is None} == {EVE}


def test_a_broadcast_is_stopped_in_all_shards(divided: Divided, client: Client) -> None:
    contacts = divided.folder / "contacts.csv"
    contacts.write_text("phone\n" + "".join(f"{contact}\n" for contact in ALL))
    with divided.engines(0, 1, 2):
        at = ("--at", "2099-01-01 9:00", "--name", "spring", "--yes", "--no-wait")
        divided.call("broadcast", "start", "main", str(contacts), *at)
        client.ask("/broadcast/stop", {"name": "spring", "token": client.token()})
        assert "Contacts who will not get it: 3." in client.ask("/broadcast?name=spring").text
