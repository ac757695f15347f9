"""Commands of a bot whose store is divided: they say what they say of any store, also where some shards have no engine."""

import json
import os
from contextlib import closing

import pytest

from bot.core.clock import SystemClock
from bot.core.engine_answers import EngineAnswer, GatewayItems, Status
from bot.core.engine_requests import AnyRequest, AskStatus
from bot.server import doctor
from bot.server.local_socket import LocalServer, socket_of
from bot.store.commit import Commit
from bot.store.contact_data import export_contact
from bot.store.database import PostgresAddress, shard_of, shards_of
from bot.store.engine_store import EngineStore
from bot.store.opening import engine_reader
from bot.store.published_versions import served_version
from bot.store.store_reader import StoreReader
from bot.testing.emulator import Emulator, MessageTemplate
from tests.cli.terminal import call
from tests.divided import ALL, ANN, BEN, EVE, Divided, divided_store  # noqa: F401
from tests.patience import PATIENCE, wait_for


def give_up(store: PostgresAddress, *contacts: str) -> None:
    """Turns of contacts that are dead letters."""
    for contact in contacts:
        with closing(EngineStore(shard_of(store, contact))) as own:
            commit = Commit(own.cursor, SystemClock().now())
            commit.dead_letters.add("turn", contact, "the flow is broken", "{}")
            own.write(commit)


def steps(store: PostgresAddress) -> dict[str, str | None]:
    with closing(StoreReader(store)) as reader:
        return {each.contact: each.step for each in reader.sessions.summaries()}


def test_without_a_server_a_request_is_done_in_the_shard_of_its_contact(divided: Divided) -> None:
    for contact in ALL:
        assert divided.call("start", "main", contact)[0] == 0
    assert steps(divided.store) == dict.fromkeys(ALL, "cups")
    assert divided.call("sessions", "reset", EVE)[0] == 0
    assert steps(divided.store) == {ANN: "cups", BEN: "cups", EVE: None}


def test_with_engines_the_one_of_its_shard_does_it(divided: Divided) -> None:
    with divided.engines(0, 1, 2) as gateway:
        gateway.templates.add(MessageTemplate("hello", body="Hello"))
        for contact in ALL:
            said = divided.call("send", contact, "--template", "hello")
            assert said == (0, f"The message to {contact} was sent.\n")
        assert [sent.to for sent in gateway.sent] == [*ALL]


@pytest.mark.parametrize("running", [(), (0, 1, 2), (0, 2)])
def test_dead_letters_of_all_shards_are_dropped_with_or_without_engines(
    divided: Divided,
    running: tuple[int, ...],
) -> None:
    give_up(divided.store, *ALL)
    with divided.engines(*running):
        code, said = divided.call("queue", "drop", "1", "2", "3", "4", "--yes")
        assert code == 1 and said.splitlines()[0] == "Deleted: 3 dead letters."
        assert said.splitlines()[1] == "there is no dead letter 4 (`bot queue` lists them)"


def test_messages_that_were_given_up_in_all_shards_are_sent_again(divided: Divided) -> None:
    with divided.engines(0, 1, 2) as gateway:
        for contact in ALL:
            assert divided.call("send", contact, "--template", "hello")[0] == 1
        gateway.templates.add(MessageTemplate("hello", body="Hello"))
        assert divided.call("queue", "retry", "--all", "--yes") == (0, "To be sent again: 3 messages.\n")
        assert gateway.wait_until(lambda: sorted(sent.to for sent in gateway.sent) == sorted(ALL), PATIENCE)


@pytest.mark.parametrize("running", [(), (0, 1, 2), (0, 2)])
def test_a_broadcast_is_one_with_or_without_engines(divided: Divided, running: tuple[int, ...]) -> None:
    contacts = divided.folder / "contacts.csv"
    contacts.write_text("phone\n" + "".join(f"{contact}\n" for contact in ALL))
    spring = ("broadcast", "start", "main", str(contacts), "--name", "spring", "--at", "2099-01-01 9:00", "--yes")
    with divided.engines(*running):
        code, said = divided.call(*spring, "--no-wait")
        assert code == 0 and "3 added, 0 known, 0 opted out." in said
        assert "0 added, 3 known, 0 opted out." in divided.call(*spring, "--no-wait")[1]
        assert divided.call("broadcast", "stop", "spring") == (0, "3 contacts will not get it.\n")
        code, said = divided.call("broadcast", "start", "main", str(contacts), "--edit", "spring", "--yes")
        assert code == 0 and "3 corrected, 0 added, 0 had it, 0 unknown, 0 opted out, 0 left out." in said, said
        code, said = divided.call("broadcast", "resume", "spring", "--no-wait")
        assert code == 0 and said.startswith("0 contacts will get it now, 3 contacts at their time.")


def test_a_broadcast_reaches_the_contacts_of_all_shards(divided: Divided) -> None:
    contacts = divided.folder / "contacts.csv"
    contacts.write_text("phone\n" + "".join(f"{contact}\n" for contact in ALL))
    with divided.engines(0, 1, 2) as gateway:
        gateway.templates.add(MessageTemplate("hello", body="Hello"))
        code, said = divided.call("broadcast", "send", "hello", str(contacts), "--name", "spring", "--yes")
        assert (code, said.splitlines()[-1]) == (0, "3 sent.")
        assert sorted(sent.to for sent in gateway.sent) == sorted(ALL)
    code, said = divided.call("broadcast", "show", "spring")
    assert code == 0 and "3 sent: 0 delivered, 0 read, 0 answered within 24 hours." in said


def test_the_progress_of_a_broadcast_ends_where_a_shard_has_no_engine(divided: Divided) -> None:
    contacts = divided.folder / "contacts.csv"
    contacts.write_text("phone\n" + "".join(f"{contact}\n" for contact in ALL))
    with divided.engines(0, 2) as gateway:
        gateway.templates.add(MessageTemplate("hello", body="Hello"))
        code, said = divided.call("broadcast", "send", "hello", str(contacts), "--name", "spring", "--yes")
    assert code == 0 and "3 added, 0 known, 0 opted out." in said and "the engine of shard 1 does not answer" in said
    assert "Waiting messages are sent while a server runs." in said
    with divided.engines(1) as gateway:
        gateway.templates.add(MessageTemplate("hello", body="Hello"))
        assert gateway.wait_until(lambda: [sent.to for sent in gateway.sent] == [BEN], PATIENCE)


@pytest.mark.parametrize("running", [(), (0, 2)])
def test_a_contact_is_erased_with_or_without_engines(divided: Divided, running: tuple[int, ...]) -> None:
    for contact in (ANN, BEN):
        assert divided.call("start", "main", contact)[0] == 0
    with divided.engines(*running):
        for contact in (ANN, BEN):
            assert divided.call("contacts", "erase", contact, "--yes")[0] == 0
    assert steps(divided.store) == {}


@pytest.mark.parametrize("running", [(), (0, 2), (1,)])
def test_a_contact_with_numbers_in_several_shards_is_erased_from_all(
    divided: Divided, running: tuple[int, ...]
) -> None:
    letters = "INSERT INTO dead_letters (what, reason, body, at) VALUES ('event', 'x', ?, '2030-01-01T00:00:00+00:00')"
    aliases = "INSERT INTO aliases (alias, contact) VALUES (?, ?)"
    for shard in shards_of(divided.store):
        with closing(EngineStore(shard)) as own:
            own.database.write((letters, [(f"from {contact}",) for contact in ALL]))
    for alias in (BEN, EVE):
        with closing(EngineStore(shard_of(divided.store, alias))) as own:
            own.database.write((aliases, [(alias, ANN)]))
    with divided.engines(*running):
        assert divided.call("contacts", "erase", ANN, "--yes")[0] == 0
        assert [export_contact(divided.store, contact) for contact in ALL] == [{}, {}, {}]
        with closing(StoreReader(divided.store)) as reader:
            wait_for(lambda: not reader.erasures())


def test_the_queue_says_which_shard_is_without_an_engine_and_what_waits_for_it(divided: Divided) -> None:
    for contact in ALL:
        assert divided.call("send", contact, "Hello")[0] == 0
    with divided.engines(0, 2):
        code, said = divided.call("queue")
        shown = json.loads(call("queue", "--json", "--bot", divided.folder).out)
    assert code == 0 and "the engine of shard 1 does not answer (since " in said
    assert said.count("it waits until the engine of shard 1 runs") == 1
    assert [(alarm["name"], alarm["about"]) for alarm in shown["alarms"]] == [("engine-silent", "1")]


def test_the_health_check_names_the_shards_without_an_engine(divided: Divided) -> None:
    with divided.engines(0, 2):
        found = call("doctor", divided.folder, "--server")
        assert (found.code, "the engine of shard 1 does not answer" in found.out) == (1, True)
    with divided.engines(0, 1, 2):
        assert call("doctor", divided.folder, "--server").code == 0


def test_the_doctor_finds_a_shard_without_an_engine_and_settings_that_are_newer_than_any(divided: Divided) -> None:
    settings = divided.folder / ".env"
    os.utime(settings, (0, 0))
    with divided.engines(0, 2):
        (found,) = doctor.server(divided.store, settings)
        assert (found.state, found.what) == ("fail", "the engine of shard 1 does not answer")
    with divided.engines(0, 1, 2):
        assert [found.state for found in doctor.server(divided.store, settings)] == ["ok"]
        os.utime(socket_of(shards_of(divided.store)[2]), (5, 5))  # this engine was started before the settings changed
        os.utime(settings, (10, 10))
        assert [found.state for found in doctor.server(divided.store, settings)] == ["warn"]


def test_what_commands_ask_of_the_gateway_counts_against_the_limits(divided: Divided) -> None:
    with Emulator(SystemClock(), threads=2) as gateway:
        with (divided.folder / ".env").open("a") as settings:
            settings.write(f"BOT_GATEWAY_URL={gateway.url}\nBOT_GATEWAY_KEY={gateway.api_key}\n")
        assert divided.call("contacts", "list")[0] == 0
    with closing(StoreReader(divided.store)) as reader:
        assert sum(count for _, count in reader.messages.requests(SystemClock().now())) == 1


def test_for_requests_to_the_gateway_engines_are_asked_once_how_they_are(divided: Divided) -> None:
    asked = list[str]()

    def answer(request: AnyRequest) -> EngineAnswer:
        asked.append(request.do)
        return Status() if isinstance(request, AskStatus) else GatewayItems([], False)

    servers = [LocalServer(shard, answer) for shard in shards_of(divided.store)[1:]]
    for server in servers:
        server.start()
    assert divided.call("contacts", "list") == (0, "The gateway has no contacts.\n")
    for server in servers:
        server.stop()
    assert asked == ["status", "status", "contacts"]


def test_a_version_is_published_for_all_shards(divided: Divided) -> None:
    found = call("publish", divided.folder, "--no-tests", "--yes")
    assert (found.code, found.lines[-1]) == (0, "Version 1 is published: the next `bot serve` serves it.")
    with closing(engine_reader(divided.store)) as database:
        assert served_version(database) is not None
