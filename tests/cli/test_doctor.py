"""`bot doctor`: what it finds, and that it leaves everybody in peace."""

import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.loading.folder import read_folder
from bot.server.local_socket import socket_of
from bot.store import postgres_database
from bot.store.opening import log_writer
from bot.store.postgres_database import DatabaseServer
from bot.store.sqlite_schema import migrate
from bot.store.store_schema import MIGRATIONS, Migration
from bot.store.store_setup import prepare
from bot.testing.emulator import MessageTemplate
from tests.cli.keeping import kept
from tests.cli.terminal import BOT, call, make_bot
from tests.patience import PATIENCE
from tests.postgres import IN_USE, about_files, store_at
from tests.services.gateway.peer import hang_up, peer
from tests.store.store_kit import beside_the_store

FLOWS = """
flow: main
start: {otherwise: true}
steps:
  hello: {say: Hello}
  offer: {template: {name: offer, language: en, body: ["2"]}, errors: {else: end}}
"""
NOON = "2030-05-06T12:00:00.000000+00:00"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of ours; what a command sets from .env is undone after the test."""
    sound = DatabaseServer(
        160_004, "16.4", (), has_late_standby=False, is_pooled=False, is_read_only=False, now=datetime.now(UTC)
    )
    monkeypatch.setattr(postgres_database, "database_server", lambda _: sound)  # that of the tests is not: it is quick
    for name in [*os.environ, "BOT_GATEWAY_URL", "BOT_GATEWAY_KEY", "BOT_WEBHOOK_SECRET", "BOT_PUBLIC_URL"]:
        if name.startswith("BOT_"):
            monkeypatch.setenv(name, "")
            monkeypatch.delenv(name)


def settings(folder: Path, **values: str) -> None:
    (folder / ".env").write_text("".join(f"BOT_{name.upper()}={value}\n" for name, value in values.items()))
    (folder / ".env").chmod(0o600)
    os.utime(folder / ".env", (0, 0))  # before any server was started


def doctor(folder: Path, *options: str) -> tuple[int, list[dict[str, Any]]]:
    shown = call("doctor", folder, *options, "--json")
    return shown.code, json.loads(shown.out)


def about(found: list[dict[str, Any]], what: str) -> list[str]:
    return [f"{one['state']}: {one['what']}" for one in found if one["about"] == what]


def test_the_health_check_of_a_server_looks_at_nothing_else(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    code, (found,) = doctor(tmp_path, "--server")
    assert (code, found["about"]) == (1, "server") and "no server answers" in found["what"]
    with kept(tmp_path, server=True):
        assert doctor(tmp_path, "--server")[0] == 0


def test_a_bot_that_is_ready_has_nothing_that_fails(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path, server=True) as bot:
        bot.user("hi")
        sent = len(bot.emulator.sent)
        bot.emulator.templates.add(MessageTemplate("offer", body="{{1}}"))
        settings(tmp_path, gateway_url=bot.emulator.url, gateway_key=bot.emulator.api_key, webhook_secret="s" * 32)
        code, found = doctor(tmp_path)
        last = call("doctor", tmp_path).lines[-1]
        assert len(bot.emulator.sent) == sent, "nobody is sent anything"
    warnings = sum(one["state"] == "warn" for one in found)
    assert last == f"No check failed, {warnings} warnings." and warnings > 1
    assert [one for one in found if one["state"] == "fail"] == [] and code == 0
    assert about(found, "gateway")[-1].startswith("ok: the key is accepted; templates of the channel: ")
    assert about(found, "templates") == ["ok: all 1 that the flows name can be sent"]
    assert about(found, "server") == ["ok: it runs; messages that wait to be sent: 0"]
    assert any("its clock and ours differ by" in one for one in about(found, "gateway"))
    assert about(found, "webhook") == ["warn: its public address is not known"]


def test_a_web_process_that_hangs_fails(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path, server=True) as bot, socket.create_server(("127.0.0.1", 0)) as hangs:
        settings(
            tmp_path,
            gateway_url=bot.emulator.url,
            gateway_key=bot.emulator.api_key,
            webhook_secret="s" * 32,
            port=str(hangs.getsockname()[1]),
        )
        hangs.settimeout(PATIENCE)
        with ThreadPoolExecutor() as threads:
            asked = threads.submit(doctor, tmp_path)
            hangs.accept()[0].close()
            code, found = asked.result(PATIENCE)
    assert code == 1
    assert about(found, "server")[0].startswith("fail: the web process at 127.0.0.1:"), about(found, "server")


def test_settings_that_the_running_server_has_not_read_are_told(tmp_path: Path) -> None:
    with kept(tmp_path, server=True) as bot:
        settings(tmp_path, gateway_url=bot.emulator.url, gateway_key=bot.emulator.api_key, webhook_secret="s" * 32)
        later = socket_of(store_at(tmp_path / "bot.db")).stat().st_mtime + 1
        os.utime(tmp_path / ".env", (later, later))
        _, found = doctor(tmp_path)
    (server,) = about(found, "server")
    assert server.startswith("warn: it runs, and ") and server.endswith(".env has been changed since its start")


def test_without_settings_each_is_named_and_the_rest_is_looked_at(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    code, found = doctor(tmp_path)
    assert code == 1
    assert len(about(found, "settings")) == 3 and "BOT_GATEWAY_URL is missing" in about(found, "settings")[0]
    assert about(found, "flows") == [f"ok: 1 flow in {os.path.relpath(tmp_path)}, without problems"]
    assert about(found, "store")[0].startswith("warn: there is no store at")


def test_what_would_go_wrong_in_a_talk_is_a_warning(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS + "  way: {say: It is here., then: end}\n  bye: {say: Bye}\n")
    (warned,) = about(doctor(tmp_path)[1], "flows")
    assert warned.startswith('warn: 1 finding, the first: flows/main.yml:8:3: W101 nobody reaches step "bye"')


def test_a_variable_that_is_no_setting_is_named_with_what_it_may_mean(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    settings(tmp_path, gateway_ulr="https://gateway.example", domain="bot.example")
    _, found = doctor(tmp_path)
    assert about(found, "settings")[0] == 'warn: there is no setting BOT_GATEWAY_ULR (did you mean "BOT_GATEWAY_URL"?)'
    assert "BOT_DOMAIN" not in str(found), "compose.yaml takes it from the same file"


def test_a_date_that_is_past_is_named(tmp_path: Path) -> None:
    flow = FLOWS.replace("{say: Hello}", '{say: Hello, schedule: {flow: main, at: "2020-12-24 18:00"}}')
    make_bot(tmp_path, flow)
    _, found = doctor(tmp_path)
    assert about(found, "flows")[-1] == "warn: flows/main.yml:5:50: 2020-12-24 18:00 is past"


def test_a_key_that_is_refused_a_template_that_is_not_there_and_faulty_flows_fail(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path, server=True) as bot:
        settings(tmp_path, gateway_url=bot.emulator.url, gateway_key=bot.emulator.api_key, webhook_secret="s" * 32)
        code, found = doctor(tmp_path)
        assert code == 1
        assert any("fail: flows/main.yml:6" in one and '"offer" is not in' in one for one in about(found, "templates"))
        bot.emulator.faults.add("unauthorized")
        _, found = doctor(tmp_path)
        assert any("fail: its templates cannot be listed: unauthorized" in one for one in about(found, "gateway"))
    (tmp_path / "flows" / "main.yml").write_text("flow: main\nsteps: {}\n")
    _, found = doctor(tmp_path)
    assert about(found, "flows")[0].startswith("fail: ")


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            "{ai: Help., exits: {done: {when: They go., then: end}}, errors: {else: end}}",
            "fail: flows ask models, and no service is set up",
        ),
        (
            "{ask: When?, save: day, understand: model}",
            "warn: no service for models is set up, so no model reads an answer (flows/main.yml:4)",
        ),
        ("{ask: When?, save: day}", None),
    ],
)
def test_flows_that_need_a_model_are_named_where_none_is_set_up(tmp_path: Path, step: str, said: str | None) -> None:
    make_bot(tmp_path, f"flow: main\nstart: {{words: [hi]}}\nvars: {{day: date}}\nsteps: {{a: {step}}}\n")
    settings(tmp_path, gateway_url="http://127.0.0.1:9", gateway_key="key", webhook_secret="s" * 32)
    _, found = doctor(tmp_path)
    assert about(found, "models") == ([] if said is None else [said])


def test_a_gateway_that_is_not_there_is_said_once_with_what_to_do(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    settings(tmp_path, gateway_url="http://127.0.0.1:9", gateway_key="key", webhook_secret="s" * 32)
    shown = call("doctor", tmp_path)
    assert shown.code == 1
    failing = [line for line in shown.lines if line.startswith("fail")]
    assert failing == ["fail  gateway    no connection to 127.0.0.1:9: Connection refused"]
    assert "check BOT_GATEWAY_URL and the network" in shown.out
    assert shown.lines[-1] == "1 thing to fix."


def test_what_does_not_answer_in_time_is_listed_as_such_and_the_rest_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bot(tmp_path, FLOWS)
    monkeypatch.setattr("bot.cli.doctor.SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        services = {"gateway_url": url, "ai_url": f"{url}/api/v1", "public_url": url}
        settings(tmp_path, **services, gateway_key="key", webhook_secret="s" * 32, ai_key="sk", ai_model="m")
        code, found = doctor(tmp_path)
    late = "fail: there was no answer within 1 s"
    assert code == 1
    assert [about(found, what)[-1] for what in ("gateway", "models", "webhook")] == [late] * 3
    assert about(found, "settings") == ["ok: all required settings are there"]
    assert about(found, "disk") and (about(found, "sqlite") or about(found, "database")) and about(found, "flows")


def test_what_the_store_tells_is_named(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path) as bot:
        bot.user("hi")  # the template is unknown: it is given up
    now = datetime.now(UTC)
    with closing(log_writer(tmp_path / "bot.db")) as log:
        stale = ("UPDATE meta SET stale = 3, stale_at = ?", [((now - timedelta(hours=1)).isoformat(),)])
        log.write(stale, ("UPDATE log SET received_at = ?", [((now - timedelta(days=9)).isoformat(),)]))
    code, found = doctor(tmp_path)
    assert code == 1
    store, events = about(found, "store"), about(found, "events")
    assert "warn: messages and turns that were given up: 1" in store
    assert "warn: the last event came 9 days ago" in events
    assert events[-1].startswith(
        "fail: correctly signed events that were rejected because their timestamps are too far off: 3"
    )


def test_a_full_disk_is_one_for_events_only_where_they_are_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bot(tmp_path, FLOWS)
    monkeypatch.setattr("bot.server.doctor.LEAST_DISK", 1 << 60)
    (disk,) = [one for one in doctor(tmp_path)[1] if one["about"] == "disk"]
    assert disk["what"].endswith(f" GB are free in {tmp_path}")
    lost = "no file of a contact is kept" if IN_USE else "no event is accepted"
    assert disk["advice"] == f"make room: on a full disk {lost}"


def test_settings_that_others_can_read_are_named(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    settings(tmp_path)
    (tmp_path / ".env").chmod(0o644)
    (secrets,) = about(doctor(tmp_path)[1], "secrets")
    assert secrets.startswith("warn: others on this machine can read")


@about_files
def test_a_store_that_others_can_read_is_named(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    migrate(tmp_path / "bot.db")
    (tmp_path / "bot.db").chmod(0o644)
    assert any("others on this machine can read" in one for one in about(doctor(tmp_path)[1], "store"))


def test_a_store_of_an_older_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path) as bot:
        bot.user("hi")
    monkeypatch.setattr("bot.store.store_schema.MIGRATIONS", (*MIGRATIONS, Migration("later")))
    _, found = doctor(tmp_path)
    assert about(found, "store") == [f"warn: {store_at(tmp_path / 'bot.db')} is of an older version"]


def test_a_store_of_a_newer_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bot(tmp_path, FLOWS)
    with monkeypatch.context() as newer:
        newer.setattr("bot.store.store_schema.MIGRATIONS", (*MIGRATIONS, Migration("later", oldest=99)))
        prepare(store_at(tmp_path / "bot.db"))
    _, found = doctor(tmp_path)
    (state,) = about(found, "store")
    assert state.startswith(f"fail: {store_at(tmp_path / 'bot.db')} was written by a newer version of this program")


@about_files
def test_a_damaged_store_fails_in_words(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    (tmp_path / "bot.db").write_bytes(b"this is no database" * 500)
    code, found = doctor(tmp_path)
    assert code == 1 and about(found, "store")[0].startswith("fail: ")


def test_a_server_that_cannot_send_fails_with_the_gateways_words(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with kept(tmp_path, server=True) as bot:
        settings(tmp_path, gateway_url=bot.emulator.url, gateway_key=bot.emulator.api_key, webhook_secret="s" * 32)
        bot.emulator.faults.add("unauthorized")
        bot.user("hi")
        code, found = doctor(tmp_path)
    assert code == 1
    assert about(found, "server")[0].startswith("fail: nothing can be sent until this is put right")


def test_the_receiver_of_events_is_looked_at_and_gets_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRM_SECRET", "s3cret")
    with peer() as receiver:
        events = f"{{url: '{receiver.url}/hooks', secret: CRM_SECRET, on: [end], allow_private: true}}"
        make_bot(tmp_path, FLOWS, bot=f"name: T\nsecrets: [CRM_SECRET]\nevents_to: {events}\n")
        settings(tmp_path, gateway_url=receiver.url, gateway_key="k", webhook_secret="s" * 32)
        _, found = doctor(tmp_path)
        assert about(found, "receiver") == ["ok: something answers there"]
        assert {request.method for request in receiver.requests} == {"GET"}
        receiver.by_default = hang_up
        _, found = doctor(tmp_path)
    (what,) = about(found, "receiver")
    assert what.startswith("fail: ")


def test_what_is_served_is_looked_at_and_not_the_files_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRM_SECRET", "s3cret")
    with kept(make_bot(tmp_path, FLOWS), server=True) as bot, peer() as receiver:
        events = f"{{url: '{receiver.url}/hooks', secret: CRM_SECRET, on: [end], allow_private: true}}"
        make_bot(tmp_path, FLOWS, bot=f"{BOT}secrets: [CRM_SECRET]\nevents_to: {events}\n")
        with beside_the_store(tmp_path / "bot.db") as execute:
            files = read_folder(tmp_path)
            execute("INSERT INTO versions VALUES (1, ?, 'ann', '', ?, ?)", (NOON, files.digest, files.packed()))
        make_bot(tmp_path, "flow: main\nsteps: {}\n", bot=f"{BOT}secrets: [MAP_KEY]\n")
        settings(tmp_path, gateway_url=bot.emulator.url, gateway_key=bot.emulator.api_key, webhook_secret="s" * 32)
        _, found = doctor(tmp_path)
        assert "MAP_KEY" not in str(found)
        assert about(found, "flows") == ["ok: 1 flow in the version that is served, without problems"]
        assert any('"offer" is not in' in one for one in about(found, "templates"))
        assert about(found, "receiver") == ["ok: something answers there"]
        monkeypatch.delenv("CRM_SECRET")
        assert about(doctor(tmp_path)[1], "secrets")[0].startswith("fail: CRM_SECRET is missing: set it, ")
        with beside_the_store(tmp_path / "bot.db") as execute:
            files = read_folder(tmp_path)
            execute("INSERT INTO versions VALUES (2, ?, 'ann', '', ?, ?)", (NOON, files.digest, files.packed()))
        shown = call("doctor", tmp_path)
    assert "install what is missing here, or `bot rollback`" in shown.out
