"""A bot that runs on the store in its folder, beside an emulated gateway, to look into by command."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.core.clock import MovableClock
from bot.core.engine_requests import StartFlow
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Bot, Engine, GatewayAccount
from bot.server.local_socket import LocalServer
from bot.settings import ModelService
from bot.store.database import StoreAddress
from bot.store.store_setup import prepare
from bot.testing.emulator import Emulator, MessageTemplate
from bot.testing.emulator.gateway_behaviour import Behaviour
from tests.cli.terminal import make_bot
from tests.patience import PATIENCE
from tests.postgres import copy_store, store_at

CONTACT = "6281234567890"
START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
PER_MINUTE = 6000
FLOWS = """
flow: main
start: {otherwise: true}
vars: {cups: {type: integer}, price: {type: number}}
steps:
  hello: {say: Hello}
  cups: {ask: How many?, save: cups, remind: {after: 1h, say: Still there?}}
  price: {call: price, with: {cups: "{{ cups }}"}, save: price}
  many: {branch: [{if: cups > 5, then: offer}, {else: sure}]}
  sure: {ask: "{{ price }} €, sure?", buttons: {"Yes": end, "No": cups}}
  offer: {template: {name: unheard_of, language: en, body: ["{{ cups }}"]}, errors: {else: end}}
"""
HANDLERS = """
from decimal import Decimal
from bot import handler

@handler("price")
def price(cups: int) -> Decimal:
    return cups * Decimal("1.50")
"""


class Kept:
    """The bot while it runs: a contact writes, and the bot comes to rest."""

    def __init__(self, engine: Engine, emulator: Emulator, clock: MovableClock) -> None:
        self.engine = engine
        self.clock = clock
        self.emulator = emulator

    def user(self, *texts: str, contact: str = CONTACT) -> None:
        for text in texts:
            self.emulator.receive(contact, text)
            self.settle()

    def start(self, flow: str, contact: str = CONTACT, **data: str) -> None:
        """A program starts a flow."""
        self.engine.operate(StartFlow(contact, flow, data))
        self.settle()

    def settle(self) -> None:
        """Every event of the gateway's has arrived, and the engine is at rest."""
        assert self.emulator.wait_until(self.emulator.idle, PATIENCE)
        assert self.engine.wait_settled(PATIENCE)

    @property
    def sent(self) -> list[str]:
        return [sent.type for sent in self.emulator.sent]


def copied(folder: Path, to: Path) -> Path:
    """A copy of the folder of a bot that has run, with its store."""
    shutil.copytree(folder, to)
    copy_store(folder / "bot.db", to / "bot.db")
    return to


@contextmanager
def kept(
    folder: Path,
    *,
    server: bool = False,
    template: MessageTemplate | None = None,
    per_contact: int | None = None,
    at: StoreAddress | None = None,
    start: datetime = START,
    models: ModelService | None = None,
) -> Iterator[Kept]:
    """Run the bot; ``server``: so that a command finds it, as it does `bot serve`. ``template`` is there first. ``at`` is its
    store, where that is another than in its folder; the gateway then knows that the contacts have written.
    """
    if not (folder / "bot.yml").exists():
        make_bot(folder, FLOWS, HANDLERS)
    store = at or store_at(folder / "bot.db")
    prepare(store)
    clock = MovableClock(start, running=server)  # what a command asks of the gateway is spread over time
    behaviour = Behaviour(window="open" if at else "enforced")
    with Emulator(
        clock, behaviour=behaviour, threads=2, delivery_threads=1, per_minute=PER_MINUTE, per_day=1_000_000
    ) as emulator:
        if template is not None:
            emulator.templates.add(template)
        program = load_program(read_folder(folder))
        engine = Engine(
            program,
            store,
            clock,
            GatewayAccount(
                emulator.url, emulator.api_key, per_minute=PER_MINUTE, per_day=1_000_000, per_contact=per_contact
            ),
            models=models,
        )
        bot = Bot(engine, store, clock, emulator.secret)
        local = LocalServer(store, engine.operate)
        bot.start()
        if server:
            local.start()
        webhook = emulator.subscribe(bot.url)
        try:
            yield Kept(engine, emulator, clock)
        finally:
            if server:
                local.stop()
            emulator.unsubscribe(webhook)
            bot.stop()
