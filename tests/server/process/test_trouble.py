"""`bot serve` when the disk is full, the engine's loop ends, or a stop finds work in flight."""

import os
import resource
import signal
import sqlite3
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from bot.store.files import inbox_path
from bot.store.inbox import InboxReader
from bot.testing.emulator.emulator import Emulator
from tests.cli.terminal import call
from tests.patience import PATIENCE
from tests.postgres import about_files
from tests.server.process.serving import BOT, CONTACT, SECRET, Serve, Serving, until

HANGING = """
from threading import Event
from bot import handler

@handler("hang")
def hang() -> None:
    open("hanging", "w").close()
    Event().wait()
"""


def limit_files(pid: int, bytes: int) -> None:
    """What a full disk is to a process: no file grows beyond so many bytes."""
    _, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (bytes, hard))


@about_files
def test_a_full_disk_is_a_503_in_time_and_what_was_refused_can_come_again(serve: Serve) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == 200
    limit_files(serving.child("web"), 0)
    for _ in range(20):
        assert serving.post("evt-2", "x" * 10_000) == 503
    assert serving.get("/readyz") == 503
    assert serving.get("/healthz") == 200
    limit_files(serving.child("web"), resource.RLIM_INFINITY)
    assert serving.post("evt-2", "x" * 10_000) == 200
    assert serving.get("/readyz") == 200
    assert serving.kept() == ["evt-1", "evt-2"]
    assert serving.end() == 0
    said = [line for line in serving.seen if "no event is accepted" in line]
    assert len(said) == 1 and "make room on its disk" in said[0], said


@about_files
def test_a_disk_that_is_full_for_the_engine_only_delays_it(serve: Serve) -> None:
    serving = serve().up()
    limit_files(serving.child("engine"), 0)
    assert serving.post("evt-1") == 200
    serving.line_with("nothing is taken or sent: ")
    limit_files(serving.child("engine"), resource.RLIM_INFINITY)
    serving.settle(1)
    assert serving.end() == 0
    assert sum("nothing is taken or sent: " in line for line in serving.seen) == 2, "it has begun, and is over"


@about_files
def test_an_engine_whose_loop_has_ended_is_started_again(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    with sqlite3.connect(folder / "bot.db") as meddler:
        meddler.execute("ALTER TABLE turns RENAME TO gone")
    assert serving.post("evt-1") == 200
    serving.line_with('a defect in "turns", OperationalError at ')
    with meddler:
        meddler.execute("ALTER TABLE gone RENAME TO turns")
    meddler.close()
    serving.line_with("the engine process ended with 72: it is started again")
    until(lambda: serving.get("/readyz") == 200)
    serving.settle(1)


@about_files
def test_an_older_inbox_is_refused_in_words_however_often_it_is_started_and_nothing_is_acknowledged(
    serve: Serve, folder: Path
) -> None:
    first = serve().up()
    assert first.post("evt-1") == 200
    first.settle(1)
    inbox, older = inbox_path(folder / "bot.db"), folder / "older.db"
    with closing(sqlite3.connect(inbox)) as source, closing(sqlite3.connect(older)) as target:
        source.backup(target)
    assert first.post("evt-2") == first.post("evt-3") == 200
    first.settle(3)
    for file in folder.glob("bot.inbox.db*"):
        if not file.name.endswith(".lock"):
            file.unlink()
    older.rename(inbox)
    for pid in [first.child(role) for role in ("web", "engine")]:
        with suppress(ProcessLookupError):  # a new web process may have found out meanwhile, and ended the server
            os.kill(pid, signal.SIGKILL)
    first.line_with("has taken events up to number 3, and in")
    assert first.process.wait(PATIENCE) == 1, "not started again and again until the numbers have caught up"
    for _ in range(2):
        again = serve()
        again.line_with("`bot restore --new-inbox`")
        assert again.process.wait(PATIENCE) == 1
        assert not any("answers at" in line for line in again.seen)
    reader = InboxReader(first.store)
    assert reader.last_seq() == 1
    reader.close()
    assert call("restore", "--new-inbox", "--bot", folder).code == 0
    restored = serve().up()
    assert restored.post("evt-4") == 200
    restored.settle(4)


def talking(serve: Serve, gateway: Emulator, values: Mapping[str, Any] | None = None) -> Serving:
    serving = serve(values=values, BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key).up()
    gateway.subscribe(f"http://127.0.0.1:{serving.port}/webhook", secret=SECRET)
    return serving


def test_a_stop_waits_for_a_slow_send_gives_up_a_handler_that_hangs_and_nothing_is_lost_or_sent_twice(
    serve: Serve, folder: Path
) -> None:
    (folder / "handlers.py").write_text(HANGING.replace('"hanging"', repr(str(folder / "hanging"))))
    (folder / "bot.yml").write_text(BOT.replace("retry:", "errors: {else: end}, retry:"))
    (folder / "hang.yml").write_text("flow: hang\nstart: {words: [hang]}\nsteps: {h: {call: hang, within: 55s}}\n")
    with Emulator() as gateway:
        gateway.faults.add("slow", seconds=1.0, count=1)
        serving = talking(serve, gateway, {"bot.server.app:Engine.stop.__defaults__": [6.0]})
        gateway.receive("6281234567891", "hang")
        until((folder / "hanging").exists)
        gateway.receive(CONTACT, "hi")
        until(lambda: serving.status()["in_flight"] == 1)
        assert serving.end() == 0
        assert len(gateway.sent) == 1
        again = serve(BOT_GATEWAY_URL=gateway.url, BOT_GATEWAY_KEY=gateway.api_key).up()
        status = again.status()
        assert (status["cursor"], status["outbox"], status["calls"]) == (2, 0, 1)
        again.end(signal.SIGKILL)
        assert gateway.requests == 1


def test_the_status_tells_why_nothing_is_sent(serve: Serve) -> None:
    with Emulator() as gateway:
        gateway.faults.add("unauthorized")
        serving = talking(serve, gateway)
        gateway.receive(CONTACT, "hi")
        until(lambda: serving.status()["alarms"])
        status = serving.status()
    [alarm] = status["alarms"]
    assert (alarm["name"], alarm["about"]) == ("delivery-held", "")
    assert "BOT_GATEWAY_KEY" in alarm["advice"]
    assert (status["waiting"], status["in_flight"], status["outbox"]) == (1, 0, 1)


@about_files
def test_after_a_stop_a_plain_copy_of_each_file_is_whole(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == 200
    serving.settle(1)
    store = folder / "bot.db"
    reader = sqlite3.connect(f"{store.as_uri()}?mode=ro", uri=True)  # else SQLite itself would do it
    log = sqlite3.connect(f"{inbox_path(store).as_uri()}?mode=ro", uri=True)
    for connection in (reader, log):
        connection.execute("SELECT * FROM meta").fetchall()
    assert serving.end() == 0
    for path, query in ((store, "SELECT cursor FROM meta"), (inbox_path(store), "SELECT seq FROM log")):
        copy = path.with_suffix(".copy")
        copy.write_bytes(path.read_bytes())
        with sqlite3.connect(copy) as copied:
            assert copied.execute(query).fetchall() == [(1,)]
        copied.close()
    reader.close()
    log.close()


def test_a_handler_that_ends_the_process_costs_its_call_and_no_other(serve: Serve, folder: Path) -> None:
    (folder / "handlers.py").write_text(
        "import os\nfrom bot import handler\n\n@handler('leave')\ndef leave() -> None:\n    os._exit(1)\n"
    )
    (folder / "leave.yml").write_text(
        "flow: leave\nstart: {words: [leave]}\nsteps:\n  l: {call: leave, errors: {else: {say: Sorry., then: end}}}\n"
    )
    with Emulator() as gateway:
        serving = talking(serve, gateway)
        gateway.receive("6281234567891", "leave")
        serving.line_with('handler "leave" is not done again: the engine crashed twice while it was')
        gateway.receive(CONTACT, "hi")
        until(lambda: sorted(sent.to for sent in gateway.sent) == sorted(["6281234567891", CONTACT]))
        until(lambda: serving.get("/readyz") == 200)  # the engine takes events a moment before it answers questions
        assert serving.status()["calls"] == 0


def test_python_within_a_turn_that_nothing_can_stop_costs_its_event_and_no_other(serve: Serve, folder: Path) -> None:
    (folder / "handlers.py").write_text(
        "import time\nfrom bot import function\n\n@function('nap')\ndef nap() -> None:\n    time.sleep(3600)\n"
    )
    (folder / "nap.yml").write_text("flow: nap\nstart: {words: [nap]}\nsteps: {n: {say: '{{ nap() }}'}}\n")
    soon = {"bot.loading.watchdog:SECONDS": 0.2, "bot.loading.watchdog:WATCHDOG._stuck_seconds": 0.2}
    with Emulator() as gateway:
        serving = talking(serve, gateway, soon)
        nap = gateway.receive("6281234567891", "nap")
        assert gateway.wait_until(lambda: nap in gateway.acknowledged, PATIENCE)
        gateway.receive(CONTACT, "hi")
        for _ in range(4):  # twice until the engine takes events one by one, twice until it knows which it is
            serving.line_with("nap cannot be stopped")
        until(lambda: [sent.to for sent in gateway.sent] == [CONTACT])
        until(lambda: serving.get("/readyz") == 200)  # the engine takes events a moment before it answers questions
        assert serving.status()["dead_letters"] == 1


@pytest.mark.parametrize("streams", ["> /dev/full", ">&-", "2>/dev/full", "2>&-", "<&- >&- 2>&-", "2>&1 | true"])
def test_a_server_whose_output_nobody_takes_serves(serve: Serve, free_port: int, streams: str) -> None:
    shell = "-c", f'"$0" "$@" {streams}'
    serving = serve("bash", *shell, BOT_PORT=str(free_port))
    serving.port = free_port
    until(lambda: answers(serving))
    assert serving.post("evt-1") == 200
    stop(serving)


def answers(serving: Serving) -> bool:
    with suppress(OSError):
        return serving.get("/readyz") == 200
    return False


def stop(serving: Serving) -> None:
    """End a server that a shell has started."""
    for child in Path(f"/proc/{serving.process.pid}/task/{serving.process.pid}/children").read_text().split():
        os.kill(int(child), signal.SIGTERM)
    serving.process.wait(PATIENCE)


def test_signals_without_a_meaning_end_nothing(serve: Serve) -> None:
    serving = serve().up()
    web, engine = serving.child("web"), serving.child("engine")
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM, signal.SIGPIPE):
        for pid in (serving.process.pid, web, engine):
            os.kill(pid, number)
    assert serving.post("evt-1") == 200
    serving.settle(1)
    assert (serving.child("web"), serving.child("engine")) == (web, engine)
