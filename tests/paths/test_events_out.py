"""Events on the whole path: from a signed webhook to the receiver under ``events_to``, whatever it does."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.core.clock import MovableClock
from bot.core.engine_requests import AskMetrics, AskStatus, EraseContact
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.server.app import Bot, Engine, GatewayAccount
from bot.server.local_socket import LocalServer
from bot.services.gateway import webhook_events
from bot.services.gateway.webhook_events import Verdict
from bot.store.contact_data import export_contact
from bot.store.store_reader import StoreReader
from bot.store.store_setup import prepare
from bot.testing.emulator import Emulator
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE
from tests.postgres import about_files, store_at
from tests.services.gateway.peer import Peer, answer, http_bytes, peer, raw, reset

ANN, BOB = "6281234567890", "6289876543210"
START = datetime(2030, 5, 6, 10, 0, tzinfo=UTC)
PLAIN = "name: Test\ndefaults: {timeout: {after: 20h, then: end}}\n"
BOT = """
name: Test
secrets: [CRM_SECRET]
events_to: {url: "%s/hooks?bot=7", secret: CRM_SECRET, on: [tags, end], allow_private: true}
defaults: {timeout: {after: 20h, then: end}}
"""
FLOWS = """
flow: main
start: {otherwise: true}
vars: {size: text}
steps:
  size: {ask: Which size?, options: [S, M], save: size, tag: customer}
  bye: {say: Thank you., then: end}
"""
OK = answer(200, {})


class World:
    """A bot that runs in a folder, beside a gateway and a receiver."""

    def __init__(self, folder: Path, receiver: Peer) -> None:
        self.folder = folder
        self.store = store_at(folder / "bot.db")
        self.receiver = receiver
        self.receiver.by_default = OK
        self.clock = MovableClock(START)
        self.secrets = {"CRM_SECRET": "s3cret"}

    @contextmanager
    def running(self, bot: str = "", server: bool = False) -> Iterator[None]:
        make_bot(self.folder, FLOWS, bot=bot or BOT % self.receiver.url)
        prepare(self.store)
        with Emulator(self.clock, threads=2, delivery_threads=1, per_minute=6000, per_day=1_000_000) as emulator:
            self.emulator = emulator
            self.engine = Engine(
                load_program(read_folder(self.folder)),
                self.store,
                self.clock,
                GatewayAccount(emulator.url, emulator.api_key, per_minute=6000, per_day=1_000_000),
                secrets=self.secrets,
            )
            running = Bot(self.engine, self.store, self.clock, emulator.secret)
            local = LocalServer(self.store, self.engine.operate)
            running.start()
            webhook = emulator.subscribe(running.url)
            if server:
                local.start()
            try:
                yield
            finally:
                if server:
                    local.stop()
                emulator.unsubscribe(webhook)
                running.stop()

    def user(self, *texts: str, contact: str = ANN) -> None:
        for text in texts:
            self.emulator.receive(contact, text)
            self.settle()

    def settle(self) -> None:
        assert self.emulator.wait_until(self.emulator.idle, PATIENCE)
        assert self.engine.wait_settled(PATIENCE)

    def wait(self, by: timedelta) -> None:
        """Time passes, in steps that are due."""
        until = self.clock.now() + by
        while (due := self.engine.next_due()) is not None and due <= until:
            self.clock.move_to(due)
            self.settle()
        self.clock.move_to(until)
        self.settle()

    def got(self, contact: str = ANN) -> list[str]:
        """The names of the events about a contact that the receiver got, in order."""
        return [each.body["event"] for each in self.receiver.requests if each.body["data"]["contact"] == contact]

    def counts(self) -> tuple[int, int]:
        """How many events wait, and how many dead letters there are."""
        reader = StoreReader(self.store)
        counts = reader.counts()
        reader.close()
        return counts["events_out"], counts["dead_letters"]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with peer() as receiver:
        yield World(tmp_path, receiver)


def test_each_event_comes_signed_as_the_gateway_signs_in_the_order_in_which_it_happened(world: World) -> None:
    with world.running():
        world.user("hi", "M")
    assert world.got() == ["tags", "end"]
    tags, end = world.receiver.requests
    assert (end.method, end.path) == ("POST", "/hooks?bot=7")
    assert end.body["data"] == {"contact": ANN, "flow": "main", "expired": False, "vars": {"size": "M"}}
    assert end.body["timestamp"] == int(START.timestamp())
    assert end.headers["x-service-event"] == "end"
    assert end.headers["x-service-delivery-id"] == end.headers["idempotency-key"] == end.body["id"] != tags.body["id"]
    headers = end.headers["x-service-timestamp"], end.headers["x-service-signature"]
    verdict = webhook_events.verify(["s3cret"], *headers, end.raw, START, timedelta(minutes=5))
    assert verdict is Verdict.GENUINE
    assert world.counts() == (0, 0)


@about_files
def test_without_a_receiver_there_is_no_row_and_no_thread(world: World) -> None:
    with world.running(PLAIN):
        world.user("hi", "M")
        assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("events")]
        rows = StoreReader(world.store)
        assert rows.database.all("SELECT 1 FROM sqlite_sequence WHERE name = 'events_out'") == []
        rows.close()
    assert world.receiver.requests == []


@pytest.mark.parametrize(
    "fault",
    [answer(500, {}), answer(404, {}), answer(302, b"", {"Location": "/"}), reset],
    ids=["500", "404", "302", "reset"],
)
def test_what_fails_is_tried_again_with_the_same_id_and_the_next_one_waits_for_it(
    world: World, fault: Callable[..., bool]
) -> None:
    world.receiver.answers(fault, fault)
    with world.running():
        world.user("hi", "M")
        assert world.got() == ["tags"]
        world.wait(timedelta(seconds=10))
        assert world.got() == ["tags", "tags"]
        world.wait(timedelta(seconds=59))
        assert world.got() == ["tags", "tags"]
        world.wait(timedelta(seconds=1))
    assert world.got() == ["tags", "tags", "tags", "end"]
    first, second, third, _ = world.receiver.requests
    assert first.body == second.body == third.body
    assert third.headers["x-service-timestamp"] == str(int(START.timestamp()) + 70)


def test_an_event_of_one_contact_that_is_refused_holds_up_nobody_else(world: World) -> None:
    world.receiver.answers(answer(500, {}))
    with world.running():
        world.user("hi", "M")
        world.user("hi", "M", contact=BOB)
        assert (world.got(ANN), world.got(BOB)) == (["tags"], ["tags", "end"])
        assert world.counts() == (2, 0)


def test_a_receiver_that_hangs_holds_up_no_conversation(world: World) -> None:
    done = threading.Event()

    def hang(connection: socket.socket) -> bool:
        return done.wait(PATIENCE) and answer(200, {})(connection)

    world.receiver.by_default = hang
    with world.running():
        for contact in [ANN, *(str(int(BOB) + n) for n in range(20))]:
            for text in ("hi", "M"):
                world.emulator.receive(contact, text)
        assert world.emulator.wait_until(lambda: len(world.emulator.sent) == 2 * 21, PATIENCE)
        done.set()


def test_an_answer_without_an_end_is_a_failure(world: World) -> None:
    world.receiver.answers(raw(http_bytes(200, b"x" * (2 << 20))))
    with world.running():
        world.user("hi", "M")
        assert world.counts() == (2, 0)


def test_waiting_events_survive_a_restart_and_go_on_where_they_were(world: World) -> None:
    world.receiver.answers(answer(500, {}), answer(500, {}))
    with world.running():
        world.user("hi", "M")
        world.wait(timedelta(seconds=10))
    with world.running():
        world.settle()
        assert world.got() == ["tags", "tags"]
        world.wait(timedelta(seconds=60))
    assert world.got() == ["tags", "tags", "tags", "end"]
    assert len({each.body["id"] for each in world.receiver.requests}) == 2


def test_after_three_days_an_event_is_given_up_and_bot_queue_delivers_it_again(world: World) -> None:
    world.receiver.by_default = answer(503, {})
    with world.running(server=True):
        world.user("hi", "M")
        world.wait(timedelta(minutes=2))
        alarms = world.engine.operate(AskStatus()).alarms
        assert [alarm["name"] for alarm in alarms] == ["events-undelivered"]
        assert alarms[0]["what"] == "the receiver of events takes none: it answered 503"
        shown = call("queue", "--bot", world.folder)
        assert "  event tags: {added: [customer], removed: [], tags: [customer]}" in shown.lines
        assert "  3 tries: it answered 503; it is tried again: 2030-05-06" in shown.out
        assert shown.lines[-1] == "2 events wait to be delivered."
        metrics = world.engine.operate(AskMetrics()).text
        assert 'bot_queue_rows{queue="events_out"} 2.0' in metrics
        world.wait(timedelta(days=3, hours=3))
        assert world.counts() == (0, 2)
        tries = len(world.receiver.requests)
        assert 40 < tries < 50
        shown = call("queue", "--bot", world.folder)
        assert "when you have corrected that: bot queue retry 1" in shown.out
        world.receiver.by_default = OK
        assert call("queue", "retry", "--all", "--yes", "--bot", world.folder).code == 0
        world.settle()
        assert world.got()[tries:] == ["tags", "end"]
        assert world.receiver.requests[0].body == world.receiver.requests[tries].body
        assert world.counts() == (0, 0)
        assert world.engine.operate(AskStatus()).alarms == []


def test_a_dead_letter_of_an_event_can_be_dropped(world: World) -> None:
    world.receiver.by_default = answer(503, {})
    with world.running():
        world.user("hi", "M")
        world.wait(timedelta(days=4))
    assert call("queue", "drop", "--all", "--yes", "--bot", world.folder).out == "Deleted: 2 dead letters.\n"
    assert world.counts() == (0, 0)


def test_an_erased_contact_has_no_waiting_events_and_its_next_ones_are_delivered(world: World) -> None:
    world.receiver.answers(answer(500, {}))
    with world.running():
        world.user("hi", "M")
        assert export_contact(world.store, ANN)["events_out"][0]["effect"].name == "tags"
        world.engine.operate(EraseContact(ANN))
        world.settle()
        assert world.counts() == (0, 0)
        world.wait(timedelta(hours=1))
        assert world.got() == ["tags"]
        world.user("hi", "M")
    assert world.got() == ["tags", "tags", "end"]


def test_events_without_a_receiver_any_more_are_dead_letters(world: World) -> None:
    world.receiver.answers(answer(500, {}))
    with world.running():
        world.user("hi", "M")
    with world.running(PLAIN):
        world.wait(timedelta(seconds=10))
        assert world.counts() == (0, 2)
    assert "bot.yml has no events_to any more" in call("queue", "--bot", world.folder).out


def test_a_secret_that_is_not_set_keeps_the_events_until_it_is(world: World) -> None:
    world.secrets.clear()
    with world.running():
        world.user("hi", "M")
    assert world.counts() == (2, 0)
    assert "CRM_SECRET is not set" in call("queue", "--bot", world.folder).out
    world.secrets["CRM_SECRET"] = "s3cret"
    with world.running():
        world.wait(timedelta(minutes=1))
    assert world.got() == ["tags", "end"]


def test_an_address_in_the_own_network_must_be_allowed(world: World) -> None:
    world.secrets["CRM_URL"] = world.receiver.url
    bot = (BOT % "{{ secret.CRM_URL }}").replace("[CRM_SECRET]", "[CRM_SECRET, CRM_URL]")
    with world.running(bot.replace(", allow_private: true", "")):
        world.user("hi", "M")
    assert (world.receiver.requests, world.counts()) == ([], (2, 0))
    assert "allow_private: true" in call("queue", "--bot", world.folder).out
