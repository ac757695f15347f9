"""Servers of a store that is divided into shards: an engine process for each, which the machines share evenly."""

import os
import re
import select
import signal
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from socket import gethostname
from types import SimpleNamespace
from typing import Any

import pytest

from bot.core.engine_answers import EngineRefused, VersionPublished
from bot.core.engine_requests import A, AskFlows, AskStatus, EngineRequest, EraseContact, PublishVersion
from bot.loading.folder import read_folder
from bot.server import doctor, local_socket
from bot.server.process import engine_process
from bot.server.process.web_process import _wake
from bot.store.database import PostgresAddress, ServingMachine, StoreAddress, shard_number, shards_of
from bot.store.inbox import InboxReader
from bot.store.opening import engine_reader, other_engines
from bot.store.postgres_database import connect
from bot.store.store_reader import StoreReader
from bot.store.store_setup import prepare
from bot.testing.emulator.emulator import Emulator
from tests.patience import PATIENCE, gone, wait_for
from tests.postgres import Postgres, divided_database
from tests.server.process.machines import FLOW, Shared
from tests.server.process.serving import answer_of
from tests.server.test_kill import Server

SHARDS = 2
DEADLY = """
---
flow: die
start: {words: [die]}
steps: {die: {call: die, errors: {else: {say: Sorry., then: end}}}}
"""
ENDS_THE_PROCESS = (
    "import os\nfrom bot import handler\n\n\n@handler('die')\ndef die() -> None:\n    os.kill(os.getpid(), 9)\n"
)
TELLS_ITS_MACHINE = (
    "from pathlib import Path\nfrom bot import handler\n\n\n"
    "@handler('machine')\ndef machine() -> str:\n    return Path(__file__).parent.name\n"
)
TELLING = """
flow: main
start: {otherwise: true}
vars: {text: {type: text}}
steps:
  look: {call: machine, save: text, errors: {else: end}}
  tell: {say: "{{ text }}", then: end}
"""
NEEDS_A_LICENCE = "from pathlib import Path\nassert (Path(__file__).parent / 'licence').exists()\n"
CONTACTS = [next(c for n in range(100) if shard_number(c := f"62812345670{n:02}", SHARDS) == s) for s in range(SHARDS)]
"""A contact of each shard."""


@dataclass
class Divided:
    """A gateway and a store with shards, beside which servers are started."""

    share: Shared
    gateway: Emulator
    store: PostgresAddress

    def start(self, name: str, *roles: str, flow: str = FLOW, handlers: str = "", **files: str) -> Server:
        return self.share.start(name, *roles, flow=flow, handlers=handlers, **files)

    def shards_on(self, server: Server) -> tuple[StoreAddress, ...]:
        """The shards as a server's machine has them."""
        return shards_of(PostgresAddress(self.store.url, server.folder.resolve() / "bot", self.store.files, SHARDS))

    def says(self, text: str, *contacts: str) -> None:
        """Contacts write, those of all shards or these, and get answers."""
        answered = len(self.gateway.sent)
        for contact in contacts or CONTACTS:
            self.gateway.receive(contact, text)
        count = answered + len(contacts or CONTACTS)
        assert self.gateway.wait_until(lambda: len(self.gateway.sent) >= count, PATIENCE), f"no answer to {text}"

    def texts(self, contact: str) -> list[str]:
        """What a contact has been sent."""
        return [sent.body["text"]["body"].rstrip() for sent in self.gateway.sent if sent.to == contact]

    def machines(self) -> list[ServingMachine]:
        with closing(engine_reader(self.store)) as database:
            return database.machines()

    def wait_for_shares(self, *shares: int) -> None:
        """Wait until machines work on so many shards each, the fewest first."""
        with closing(engine_reader(self.store)) as database:
            wait_for(lambda: sorted(len(machine.shards) for machine in database.machines()) == [*shares], 0.05)

    def ask(self, server: Server, shard: int, request: EngineRequest[A]) -> A:
        """What the engine of a shard answers on a server's machine, once it is there."""
        return answer_of(self.shards_on(server)[shard], request)

    def publish(self, server: Server) -> None:
        """Publish the files of a server's folder."""
        content = b64encode(read_folder(server.folder).packed()).decode()
        self.ask(server, 0, PublishVersion(0, content, by="ann"))


@pytest.fixture
def divided(tmp_path: Path, postgres: Postgres, monkeypatch: pytest.MonkeyPatch) -> Iterator[Divided]:
    monkeypatch.setenv("BOT_SHARDS", str(SHARDS))
    with (
        Emulator(per_minute=1_000_000, per_day=1_000_000, schedule_scale=0.001) as gateway,
        divided_database(postgres, tmp_path, SHARDS) as store,
    ):
        share = Shared(tmp_path, gateway, store)
        try:
            yield Divided(share, gateway, store)
        finally:
            for server in share.servers:
                server.stop()


def subscribe(divided: Divided, server: Server) -> None:
    divided.gateway.subscribe(f"http://127.0.0.1:{server.port}/webhook")


def test_a_server_has_an_engine_for_each_shard_and_one_that_dies_starts_again_alone(divided: Divided) -> None:
    server = divided.start("one")
    subscribe(divided, server)
    divided.says("hi")
    for contact, shard in zip(CONTACTS, shards_of(divided.store), strict=True):
        with closing(InboxReader(shard)) as log:
            assert [row.contact for row in log.after(0, 10)] == [contact]
    before = server.children()
    assert set(before) == {"web", "engine.0", "engine.1"}
    os.kill(before["engine.1"], signal.SIGKILL)
    gone(before["engine.1"])
    divided.says("again")
    assert [divided.texts(contact) for contact in CONTACTS] == [["You wrote:", "You wrote: again"]] * 2
    after = server.children()
    assert {name for name in after if after[name] != before[name]} == {"engine.1"}
    assert "the engine.1 process was killed by signal 9: it is started again" in server.log.read_text()


def test_what_ends_the_engine_of_its_shard_is_given_up_and_the_other_shard_goes_on(divided: Divided) -> None:
    server = divided.start("one", flow=FLOW + DEADLY, handlers=ENDS_THE_PROCESS)
    subscribe(divided, server)
    before = server.children()["engine.0"]
    divided.gateway.receive(CONTACTS[1], "die")

    def given_up_while_another_is_answered() -> bool:
        divided.says("hi", CONTACTS[0])
        return "Sorry." in divided.texts(CONTACTS[1])

    wait_for(given_up_while_another_is_answered)
    assert server.children()["engine.0"] == before
    assert "the engine.1 process was killed by signal 9" in server.log.read_text()


def test_web_wakes_the_engine_of_the_shard_whose_log_has_grown_and_one_that_waits_wakes_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = PostgresAddress("postgresql://db/bot", tmp_path / "bot", tmp_path, SHARDS)
    passed_on: list[int] = []
    database: Any = SimpleNamespace(wake=passed_on.extend)
    monkeypatch.setattr(engine_process, "TAKE_OVER_SECONDS", 0.01)
    with ExitStack() as opened:
        pipes = [os.pipe() for _ in range(1 + SHARDS)]
        for end in chain(*pipes):
            opened.callback(os.close, end)
        (signals, _), *pipes = pipes
        _wake([wake for _, wake in pipes], {1})
        assert select.select([woken for woken, _ in pipes], [], [], 0)[0] == [pipes[1][0]]
        for shard, (woken, _) in zip(store.divided(), pipes, strict=True):
            assert engine_process._pass_on(woken, signals, shard, database)
        assert passed_on == [1]


def test_flows_are_loaded_again_by_the_engines_of_all_shards(divided: Divided) -> None:
    server = divided.start("one")
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: server.log.read_text().count("the flows are loaded again") == SHARDS)


def test_a_version_that_no_engine_can_load_is_taken_back_by_that_of_the_first_shard(divided: Divided) -> None:
    server = divided.start("one", handlers=NEEDS_A_LICENCE, licence="")
    subscribe(divided, server)
    divided.publish(server)
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(PATIENCE) == 0
    (server.folder / "licence").unlink()
    server.start()
    for shard in range(SHARDS):
        with pytest.raises(EngineRefused, match="version 1"):
            local_socket.ask(divided.shards_on(server)[shard], AskStatus())
    (server.folder / "handlers.py").write_text("")
    assert divided.ask(server, 0, PublishVersion(1, by="ann")) == VersionPublished(2)
    divided.says("hi")


def sessions(store: PostgresAddress) -> int:
    """How many connections all servers have."""
    with connect(store, "engine") as connection:
        counted = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        return int((connection.execute(counted).fetchone() or (0,))[0])


def test_a_machine_that_is_added_gets_its_share_and_one_that_fails_leaves_its_own_to_the_others(
    divided: Divided,
) -> None:
    first = divided.start("one")
    subscribe(divided, first)
    divided.says("hi")
    second = divided.start("two")
    subscribe(divided, second)
    divided.wait_for_shares(1, 1)
    divided.says("both")
    found = [found for found in doctor.served(divided.store, first.folder) if found.about == "machines"]
    words = [re.sub(r" \(local\)", "", each) for each in found[0].what.split("; ")]
    assert sorted(words) == [f"{gethostname()} works on shard {shard}" for shard in range(SHARDS)]
    assert all(machine.waits_for for machine in divided.machines()), "each waits for the other's"
    wait_for(lambda: sessions(divided.store) == 2 * 2 + SHARDS * (8 + 2))  # docs/scaling.md: max_connections
    pids = [second.process.pid, *second.children().values()]
    second.process.kill()
    for pid in pids[1:]:
        os.kill(pid, signal.SIGKILL)
    divided.says("still there?")
    divided.wait_for_shares(2)
    expected = ["You wrote:", "You wrote: both", "You wrote: still there?"]
    assert [divided.texts(contact) for contact in CONTACTS] == [expected] * 2


def test_a_free_shard_that_another_machine_does_not_take_when_it_is_its_turn_is_taken_all_the_same(
    divided: Divided,
) -> None:
    prepare(divided.store)
    over = threading.Event()

    def wait_for_ever(shard: StoreAddress) -> None:
        with other_engines(shard, lambda: True) as others_run:
            while not over.wait(0.1):
                others_run()

    waiting = [threading.Thread(target=wait_for_ever, args=(shard,)) for shard in shards_of(divided.store)]
    for thread in waiting:
        thread.start()
    try:
        wait_for(lambda: [machine.waits_for for machine in divided.machines()] == [(0, 1)])
        server = divided.start("one")
        subscribe(divided, server)
        divided.says("hi")
    finally:
        over.set()
        for thread in waiting:
            thread.join()


def test_all_shards_serve_what_was_published_on_every_machine(divided: Divided) -> None:
    first, second = divided.start("one"), divided.start("two")
    subscribe(divided, second)
    divided.wait_for_shares(1, 1)
    divided.says("hi")
    (first.folder / "main.yml").write_text(FLOW.replace("You wrote", "New"))
    (first.folder / "later.yml").write_text(
        "flow: later\nstart: {words: [later]}\nsteps:\n  s: {say: Later., then: end}\n"
    )
    divided.publish(first)
    for shard in range(SHARDS):
        wait_for(lambda shard=shard: "later" in divided.ask(second, shard, AskFlows()).flows)  # type: ignore[misc]
    divided.says("one")
    divided.says("two")
    assert [divided.texts(contact)[1:] for contact in CONTACTS] == [["New:", "New: two"]] * 2


def test_an_engine_that_cannot_load_what_was_published_ends_and_waits_while_others_go_on(divided: Divided) -> None:
    machines = {"one": divided.start("one", flow=TELLING, handlers=TELLS_ITS_MACHINE)}
    subscribe(divided, machines["one"])
    divided.wait_for_shares(2)
    machines["two"] = divided.start("two", flow=TELLING, handlers=TELLS_ITS_MACHINE)
    divided.wait_for_shares(1, 1)
    divided.says("hi")
    publisher = machines.pop(divided.texts(CONTACTS[0])[-1])  # the first shard's engine publishes
    other = machines.popitem()[1]
    (publisher.folder / "main.yml").write_text(FLOW)
    (publisher.folder / "handlers.py").write_text(NEEDS_A_LICENCE)
    (publisher.folder / "licence").touch()
    divided.publish(publisher)
    divided.wait_for_shares(0, 2)
    divided.says("again")
    wait_for(lambda: "version-refused" in [alarm["name"] for alarm in divided.ask(other, 1, AskStatus()).alarms])
    assert "version 1, which ann has published, cannot be loaded" in other.log.read_text()
    assert divided.ask(publisher, 1, AskStatus()).alarms == []


def test_web_alone_answers_for_each_shard_and_engines_alone_work_on_all(divided: Divided) -> None:
    web, engines = divided.start("one", "--web"), divided.start("two", "--engine")
    subscribe(divided, web)
    divided.says("hi")
    assert (set(web.children()), set(engines.children())) == ({"web"}, {"engine.0", "engine.1"})
    for shard in range(SHARDS):
        assert divided.ask(web, shard, AskStatus()).waiting == 0


def test_a_contact_is_erased_from_the_log_of_its_shard(divided: Divided) -> None:
    server = divided.start("one")
    subscribe(divided, server)
    divided.says("hi")
    divided.ask(server, 1, EraseContact(CONTACTS[1]))
    first, second = shards_of(divided.store)
    with closing(InboxReader(first)) as ours, closing(InboxReader(second)) as theirs:
        wait_for(lambda: theirs.of_contact(CONTACTS[1], 10) == [])
        assert ours.of_contact(CONTACTS[0], 10) == [1]
    with closing(StoreReader(second)) as reader:
        wait_for(lambda: reader.erasures() == [])
