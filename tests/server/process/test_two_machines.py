"""Two machines that serve one bot on one database of PostgreSQL: which of them takes events, and what becomes of what is asked."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from unittest.mock import patch

import psycopg
import pytest
import requests

from bot.core.clock import SystemClock
from bot.core.engine_answers import EngineRefused
from bot.core.engine_requests import A, AskStatus, EngineRequest, ResetContact
from bot.loading.folder import read_folder
from bot.pages.console.routes import Console
from bot.server import doctor, local_socket
from bot.server.process.engine_process import note_lost_run
from bot.store.database import PostgresAddress
from bot.store.inbox import InboxReader
from bot.store.postgres_database import connect, events_channel
from bot.store.store_reader import StoreReader
from bot.testing.emulator.emulator import Emulator
from tests.cli.terminal import call
from tests.patience import PATIENCE, gone, wait_for
from tests.postgres import Postgres, new_database
from tests.s3_store import BUCKET, s3_store
from tests.server.process.machines import BOT, FLOW, Shared
from tests.server.process.serving import answer_of
from tests.server.process.warm import Forked
from tests.server.test_kill import Server

ANN = "6281234567890"
ENGINES = (
    "SELECT pid FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE locktype = 'advisory' AND objid = 3 AND granted"
)


HELD_UP = "FROM pg_stat_activity WHERE application_name LIKE 'bot-flows engine %' AND wait_event_type = 'Lock'"
END_HELD_UP = f"SELECT count(pg_terminate_backend(pid, 10000)) {HELD_UP}"
PHOTOS = """
flow: main
start: {otherwise: true}
vars: {photo: {type: media, kinds: [image], keep: true}, size: integer}
steps:
  ask: {ask: A photo?, save: photo, errors: {else: end}}
  size: {call: size_of, with: {photo: "{{ photo }}"}, save: size, errors: {else: end}}
  done: {say: "{{ size }} bytes", then: end}
"""
HANDLERS = """
from pathlib import Path

from bot import handler
from bot.core.values import Media


@handler("size_of")
def size_of(photo: Media) -> int:
    return Path(photo.file).stat().st_size
"""


@dataclass
class Machines:
    """Two servers, the first of which has the engine that works, with the gateway and the database."""

    first: Server
    second: Server
    gateway: Emulator
    postgres: Postgres
    store: PostgresAddress

    def says(self, text: str) -> None:
        """The contact writes, and gets an answer."""
        answered = len(self.gateway.sent)
        self.gateway.receive(ANN, text)
        assert self.gateway.wait_until(lambda: len(self.gateway.sent) > answered, PATIENCE), f"no answer to {text}"

    def texts(self) -> list[str]:
        """What the contact has been sent."""
        return [message.body["text"]["body"].rstrip() for message in self.gateway.sent]

    def ask(self, server: Server, request: EngineRequest[A]) -> A:
        """What a command on a server's machine is answered, once an engine is there."""
        return answer_of(self.store_of(server), request)

    def store_of(self, server: Server) -> PostgresAddress:
        return PostgresAddress(self.store.url, server.folder.resolve() / "bot", self.store.files)


@contextmanager
def fails(server: Server, *roles: str) -> Iterator[None]:
    """None of these processes of a machine runs, or none at all; its supervisor starts nothing again until the end of this context."""
    os.kill(server.process.pid, signal.SIGSTOP)
    for role, pid in server.children().items():
        if not roles or role in roles:
            os.kill(pid, signal.SIGKILL)
            gone(pid)
    try:
        yield
    finally:
        os.kill(server.process.pid, signal.SIGCONT)


@pytest.fixture
def machines(machines_share: Shared, postgres: Postgres) -> Machines:
    first, second = machines_share.start("one"), machines_share.start("two")
    machines_share.gateway.subscribe(f"http://127.0.0.1:{second.port}/webhook")
    return Machines(first, second, machines_share.gateway, postgres, machines_share.store)


def test_an_event_that_comes_to_a_machine_without_the_engine_is_answered(machines: Machines) -> None:
    with connect(machines.store, "inbox") as beside:
        beside.execute(f"LISTEN {events_channel(None)}")
        machines.says("hi")
        assert len([*beside.notifies(timeout=PATIENCE, stop_after=1)]) == 1, "the engine that waits wakes the other"
    assert [row.contact for row in InboxReader(machines.store).after(0, 10)] == [ANN]
    assert "this one waits" in machines.second.log.read_text()


def test_what_is_asked_on_either_machine_is_answered_by_the_one_engine(machines: Machines) -> None:
    machines.says("hi")
    for server in (machines.first, machines.second):
        assert machines.ask(server, AskStatus()).waiting == 0
        assert requests.get(f"http://127.0.0.1:{server.port}/readyz", timeout=PATIENCE).status_code == 200
    machines.ask(machines.second, ResetContact(ANN))
    assert StoreReader(machines.store).trace.turns(ANN)[-1].rule == "reset"


def test_machines_of_one_name_are_shown_each(machines: Machines) -> None:
    """Containers and copies of virtual machines have equal names."""
    machines.says("hi")
    (serve,) = [found for found in doctor.served(machines.store, machines.first.folder) if found.about == "machines"]
    assert sorted(serve.what.split("; ")) == [f"{gethostname()} (local) waits", f"{gethostname()} (local) works"]


def test_commands_and_the_console_of_a_machine_without_an_engine_ask_the_one_that_works(
    machines: Machines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.says("hi")
    shutil.copytree(machines.first.folder, tmp_path / "three", ignore=shutil.ignore_patterns("*.sock"))
    for name, value in machines.first.environment.items():
        if name.startswith("BOT_"):
            monkeypatch.setenv(name, value)
    asked = "--bot", tmp_path / "three"
    assert call("doctor", "--server", tmp_path / "three").code == 1
    assert call("sessions", "reset", ANN, *asked).err == ""
    assert call("contacts", "list", *asked).lines[-1] == "1 contact."
    assert call("publish", tmp_path / "three").lines[-1] == "Version 1 is served now."
    store = PostgresAddress(machines.store.url, tmp_path / "three" / "bot", machines.store.files)
    console = Console(read_folder(tmp_path / "three"), store, SystemClock())
    assert console.ask(AskStatus()).alarms == []
    console.reader.close()


def test_when_the_machine_of_the_engine_ends_the_other_goes_on(machines: Machines) -> None:
    machines.says("hi")
    with fails(machines.first):
        machines.says("still there?")
        assert machines.texts() == ["You wrote:", "You wrote: still there?"]


def test_a_machine_is_ready_while_only_its_own_engine_is_gone(machines: Machines) -> None:
    machines.says("hi")
    ready = f"http://127.0.0.1:{machines.second.port}/readyz"
    with fails(machines.second, "engine"):
        # one that has just ended may have left a request without an answer
        wait_for(lambda: requests.get(ready, timeout=PATIENCE).status_code == 200)


def test_the_engine_of_a_paused_machine_is_relieved_and_gives_up_when_it_goes_on(machines: Machines) -> None:
    machines.says("one")
    paused = [machines.first.process.pid, *machines.first.children().values()]
    for pid in paused:
        os.kill(pid, signal.SIGSTOP)
    machines.says("two")
    for pid in paused:
        os.kill(pid, signal.SIGCONT)
    wait_for(lambda: "is lost: the engine begins anew" in machines.first.log.read_text())
    machines.says("three")
    assert machines.texts() == ["You wrote:", "You wrote: two", "You wrote: three"]


def test_every_machine_serves_what_was_published_last_and_says_who_serves(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.says("hi")
    monkeypatch.setenv("BOT_STORE", machines.store.url)
    for server, text in ((machines.first, "Old"), (machines.second, "New")):
        (server.folder / "main.yml").write_text(FLOW.replace("You wrote", text))
    assert call("publish", machines.second.folder).lines[-1] == "Version 1 is served now."  # by the first one's engine
    machines.says("one")
    with fails(machines.first):
        machines.says("two")
        assert machines.texts() == ["You wrote:", "New:", "New: two"]  # the question is put again, in its new form
        (waits,) = [found for found in doctor.served(machines.store, machines.first.folder) if found.about == "version"]
        assert waits.state == "warn" and waits.what.endswith(f"the files in {machines.first.folder} differ")

        def who_serves() -> list[str]:
            found = doctor.served(machines.store, machines.second.folder)
            return [each.what for each in found if each.about == "machines"]

        wait_for(lambda: who_serves() == [f"{gethostname()} works"])  # the sessions of the other have ended, too


def test_a_machine_that_cannot_load_the_version_leaves_the_place_to_another(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.says("hi")
    monkeypatch.setenv("BOT_STORE", machines.store.url)
    assert call("publish", machines.first.folder).code == 0
    (machines.first.folder / "licence").touch()
    needs = "from pathlib import Path\nassert (Path(__file__).parent / 'licence').exists()\n"
    (machines.first.folder / "handlers.py").write_text(needs)
    assert call("publish", machines.first.folder).lines[-1] == "Version 2 is served now."
    wait_for(
        lambda: "version-refused" in [alarm["name"] for alarm in machines.ask(machines.second, AskStatus()).alarms]
    )
    assert machines.ask(machines.first, AskStatus()).alarms == []
    os.kill(machines.first.children()["engine"], signal.SIGKILL)
    machines.says("one")
    with fails(machines.first):
        with psycopg.connect(machines.store.url, autocommit=True) as connection:
            wait_for(lambda: connection.execute(ENGINES).fetchone() is None)
        refused = f"version 2.* cannot be loaded on {re.escape(gethostname())} \\(E505"
        with pytest.raises(EngineRefused, match=refused):
            local_socket.ask(machines.store_of(machines.second), AskStatus())
        assert call("rollback", "--bot", machines.second.folder).lines[-1] == "Version 3 is served now."
        machines.says("two")
    assert machines.texts() == ["You wrote:", "You wrote: one", "You wrote: two"]


def test_an_engine_that_loses_its_connection_begins_anew_and_loses_nothing(machines: Machines) -> None:
    machines.says("hi")
    with psycopg.connect(machines.store.url, autocommit=True) as connection:
        (engine,) = connection.execute(ENGINES).fetchone() or (0,)
        connection.execute("SELECT pg_terminate_backend(%s)", [engine])
        machines.says("again")
        assert connection.execute(ENGINES).fetchone() not in (None, (engine,))
    machines.ask(machines.first, AskStatus())
    wait_for(lambda: "is lost: the engine begins anew" in machines.first.log.read_text())
    assert "a defect" not in machines.first.log.read_text(), "this is no defect"
    assert machines.texts() == ["You wrote:", "You wrote: again"]


def test_an_event_that_is_taken_while_engines_lose_their_connection_again_and_again_is_no_dead_letter(
    machines: Machines,
) -> None:
    machines.says("hi")
    with (
        psycopg.connect(machines.store.url) as holder,
        psycopg.connect(machines.store.url, autocommit=True) as connection,
    ):
        holder.execute("LOCK TABLE engine.turns IN SHARE MODE")
        machines.gateway.receive(ANN, "again")
        for _ in range(6):
            wait_for(lambda: connection.execute(END_HELD_UP).fetchone() == (1,))
    assert machines.gateway.wait_until(lambda: len(machines.gateway.sent) == 2, PATIENCE)
    assert machines.texts() == ["You wrote:", "You wrote: again"]
    assert StoreReader(machines.store).dead_letters.newest() == []


def test_a_full_disk_for_temporary_files_does_not_change_how_an_engine_ends_that_lost_its_connection() -> None:
    with Path("/dev/full").open("r+b", buffering=0) as full:
        note_lost_run(full.fileno(), 7)


def test_what_is_asked_of_an_engine_that_is_killed_meanwhile_is_done_by_the_next_one(
    machines: Machines, monkeypatch: pytest.MonkeyPatch
) -> None:
    machines.says("hi")
    monkeypatch.setenv("BOT_STORE", machines.store.url)
    with psycopg.connect(machines.store.url) as holder, ThreadPoolExecutor() as threads:
        holder.execute("LOCK TABLE engine.versions IN SHARE MODE")
        published = threads.submit(call, "publish", machines.second.folder)
        with psycopg.connect(machines.store.url, autocommit=True) as connection:
            wait_for(lambda: connection.execute(f"SELECT {HELD_UP}").fetchone() is not None)
        with fails(machines.first):
            holder.rollback()
            assert published.result(PATIENCE).lines[-1] == "Version 1 is served now."
    assert machines.ask(machines.first, AskStatus()).alarms == []


def test_a_newer_version_that_adds_to_the_tables_stops_no_machine_and_one_that_takes_away_ends_it_in_words(
    machines: Machines,
) -> None:
    machines.says("one")
    with psycopg.connect(machines.store.url, autocommit=True) as connection:
        connection.execute(
            "ALTER TABLE inbox.log ADD COLUMN later TEXT; ALTER TABLE engine.sessions ADD COLUMN later TEXT"
        )
        connection.execute("UPDATE bot.version SET number = 99")
        machines.says("two")
        connection.execute("UPDATE bot.version SET oldest = 99")
    for server in (machines.first, machines.second):
        assert server.process.wait(PATIENCE) == 1
        assert "was written by a newer version of this program: install that one" in server.log.read_text()
        assert "Traceback" not in server.log.read_text()


def test_a_crash_of_the_database_loses_no_event_that_was_acknowledged(machines: Machines) -> None:
    machines.says("one")
    machines.postgres.crash()
    machines.gateway.receive(ANN, "two")  # answered 503, and sent again
    machines.postgres.start()
    assert machines.gateway.wait_until(lambda: len(machines.gateway.sent) == 2, PATIENCE)
    machines.says("three")
    for server in (machines.first, machines.second):
        assert "Traceback" not in server.log.read_text()
    assert machines.texts() == ["You wrote:", "You wrote: two", "You wrote: three"]


def test_a_machine_that_only_takes_events_keeps_them_until_an_engine_on_another_answers(machines_share: Shared) -> None:
    web, gateway = machines_share.start("one", "--web"), machines_share.gateway
    gateway.subscribe(f"http://127.0.0.1:{web.port}/webhook")
    gateway.receive(ANN, "hi")
    wait_for(lambda: [row.contact for row in InboxReader(machines_share.store).after(0, 10)] == [ANN])
    ready = requests.get(f"http://127.0.0.1:{web.port}/readyz", timeout=PATIENCE)
    assert (ready.status_code, ready.json()["message"]) == (
        503,
        "the engine does not answer: events are kept until it does",
    )
    engine = machines_share.start("two", "--engine")
    assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
    assert (set(web.children()), set(engine.children())) == ({"web"}, {"engine"})
    assert requests.get(f"http://127.0.0.1:{web.port}/readyz", timeout=PATIENCE).status_code == 200
    for server in (web, engine):
        assert "it answers" in command(server, "doctor", "--server", str(server.folder))
        assert "0 messages wait" in command(server, "queue", "--bot", str(server.folder))
        server.stop()
        assert server.process.returncode == 0 and "Traceback" not in server.log.read_text()


def test_a_role_of_its_own_needs_a_store_that_machines_share(tmp_path: Path) -> None:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    code, said = serve(tmp_path, str(tmp_path / "bot.db"), "--engine")
    assert code == 1
    assert "a file of SQLite has one server, which does both" in said


def command(server: Server, *arguments: str) -> str:
    """What a command prints on a server's machine."""
    with patch.dict(os.environ, server.environment):
        done = call(*arguments)
    assert done.code == 0, done.err
    return done.out


def test_a_photo_in_an_s3_like_store_is_read_exported_and_erased_from_another_machine(
    tmp_path: Path, machines_share: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    with s3_store(tmp_path / "objects") as variables:
        for name, value in {**variables, "BOT_FILES": f"s3://{BUCKET}/cafe"}.items():
            monkeypatch.setenv(name, value)
        machines_share.start("one", "--engine", flow=PHOTOS, handlers=HANDLERS)
        web = machines_share.start("two", "--web", flow=PHOTOS, handlers=HANDLERS)
        gateway = machines_share.gateway
        gateway.subscribe(f"http://127.0.0.1:{web.port}/webhook")
        gateway.receive(ANN, "hi")
        assert gateway.wait_until(lambda: len(gateway.sent) == 1, PATIENCE)
        gateway.receive(ANN, kind="image")
        assert gateway.wait_until(lambda: len(gateway.sent) == 2, PATIENCE)
        assert gateway.sent[1].body["text"]["body"] == f"{len(gateway.media['image'])} bytes"
        (file,) = json.loads(command(web, "contacts", "export", ANN, "--bot", str(web.folder)))["files"]
        assert file.startswith(f"s3://{BUCKET}/cafe/") and ANN not in file
        assert "1 file" in command(web, "contacts", "erase", ANN, "--yes", "--bot", str(web.folder))
        assert [path for path in (tmp_path / "objects" / BUCKET).rglob("*") if path.is_file()] == []


def serve(folder: Path, store: str, *roles: str, **settings: str) -> tuple[int, str]:
    """The exit code of a `bot serve` that ends by itself, and all that it says."""
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("BOT_")},
        "BOT_STORE": store,
        "BOT_PORT": "0",
        "BOT_GATEWAY_URL": "http://127.0.0.1:9",
        "BOT_GATEWAY_KEY": "a-key-of-the-gateway",
        "BOT_WEBHOOK_SECRET": "a-secret-of-the-gateway-0123456789",
        **settings,
    }
    said = folder / "said"
    with said.open("w") as output:
        code = Forked(["serve", str(folder), *roles], environ, output.fileno()).wait(PATIENCE)
    return code, said.read_text()


def test_a_bot_whose_flows_keep_files_needs_a_place_that_all_machines_reach(tmp_path: Path, postgres: Postgres) -> None:
    flow = "flow: main\nstart: {otherwise: true}\nvars: {photo: {type: media, keep: true}}\nsteps: {a: {ask: A photo?, save: photo}}\n"
    (tmp_path / "bot.yml").write_text(
        "name: Photos\ndefaults: {timeout: {after: 20h, then: end}, errors: {else: end}}\n"
    )
    (tmp_path / "main.yml").write_text(flow)
    with new_database(postgres, tmp_path) as store, s3_store(tmp_path / "objects") as variables:
        code, said = serve(tmp_path, store.url)
        assert code == 1 and "set BOT_FILES to a folder that all machines share" in said
        without_bucket = serve(tmp_path, store.url, **variables, BOT_FILES="s3://none")
        assert without_bucket == (1, "the bucket none of BOT_FILES does not exist: make it, or name another\n")


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("postgresql://bot@127.0.0.1:1/bot", "onnection refused"),
        ("postgresql://bot@/none?host={folder}", "does not exist"),
    ],
)
def test_a_database_that_cannot_be_used_is_said_in_words(
    tmp_path: Path, postgres: Postgres, address: str, reason: str
) -> None:
    (tmp_path / "bot.yml").write_text(BOT)
    (tmp_path / "main.yml").write_text(FLOW)
    code, said = serve(tmp_path, address.format(folder=postgres.folder))
    assert code == 1
    assert "cannot be used now" in said and reason in said and "Traceback" not in said
