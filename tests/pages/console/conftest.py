"""A live bot with its console: a simulation, its engine's socket, the pages, and three users."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from playwright.sync_api import BrowserContext, Page

from bot.core.clock import MovableClock
from bot.core.own_addresses import EXAMPLE
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.pages.console import passwords
from bot.pages.console.console_app import console_app
from bot.pages.console.routes import Console
from bot.pages.console.users import User, users_in
from bot.pages.shared.page_server import PageServer
from bot.server.local_socket import LocalServer
from bot.testing.simulation.simulation import Simulation
from tests.browsing import Opens
from tests.cli.terminal import make_bot
from tests.pages.playground.conftest import FLOWS, SETTINGS
from tests.ports import pages_listener
from tests.postgres import bot_store

NOON = datetime(2030, 5, 6, 12, tzinfo=UTC)
PASSWORD = "correct horse battery"
PREFIX = "/console"
_hash = PasswordHasher(time_cost=1, memory_cost=64).hash(PASSWORD)
USERS = [
    f"vera:viewer:{_hash}",
    f"abel:agent:{_hash}",
    f"tom:agent:bar,lost%20property:{_hash}",
    f"olga:operator:{_hash}",
]


@dataclass
class Live:
    """A live bot, and its console's address."""

    simulation: Simulation
    console: Console
    url: str
    engine: LocalServer
    opens: Opens

    def log_in(self, name: str, path: str = "/", **look: object) -> Page:
        """A page of the console in a browser of its own, in which this user has logged in."""

        def log_in(browser_context: BrowserContext) -> None:
            form: dict[str, str | float | bool] = {"name": name, "password": PASSWORD}
            origin = {"Origin": self.url.removesuffix(PREFIX)}
            address = f"{self.url}/log-in"
            assert browser_context.request.post(address, form=form, headers=origin, max_redirects=0).status == 302

        return self.opens(f"{self.url}{path}", **look, first=log_in)


@dataclass
class Served:
    """A live bot and its console, without a browser."""

    simulation: Simulation
    console: Console
    url: str
    engine: LocalServer
    app: Flask
    users: Mapping[str, User]


@pytest.fixture
def flows() -> str:
    """The bot's flows, for a module to have others."""
    return FLOWS


@pytest.fixture
def settings() -> str:
    """The bot's settings, for a module to have others."""
    return SETTINGS


@contextmanager
def console_of(folder: Path) -> Iterator[Served]:
    """A live bot of this folder, with its console."""
    files = read_folder(folder)
    stopping = threading.Event()
    with pytest.MonkeyPatch.context() as patch, ExitStack() as parts:
        patch.setattr(passwords, "_nobodys_hash", lambda: _hash)  # which takes as long as those of the users
        simulation = parts.enter_context(Simulation(load_program(files), MovableClock(NOON), secrets={}))
        store = simulation.stored.reader.database.place
        engine = LocalServer(store, lambda request: simulation.running.engine.operate(request))
        engine.start()
        parts.callback(engine.stop)
        for name, value in bot_store(store).items():
            patch.setenv(name, value)
        console = Console(files, store, simulation.clock, EXAMPLE)
        parts.callback(console.reader.close)
        listener = pages_listener()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}{PREFIX}"
        app = console_app(console, users_in(USERS), url, stopping)
        parts.enter_context(PageServer(app, listener, stopping))
        yield Served(simulation, console, url, engine, app, users_in(USERS))


@pytest.fixture
def served(tmp_path: Path, flows: str, settings: str) -> Iterator[Served]:
    with console_of(make_bot(tmp_path, flows, bot=settings)) as found:
        yield found


@pytest.fixture
def live(served: Served, opens_page: Opens) -> Live:
    return Live(served.simulation, served.console, served.url, served.engine, opens_page)
