"""A contact is erased from a bot that really runs, by both of its processes, whichever of them dies meanwhile."""

import json
import os
import signal
from pathlib import Path

from bot.core.engine_requests import EraseContact
from bot.server import local_socket
from bot.store.store_reader import StoreReader
from tests.cli.terminal import call
from tests.server.process.serving import CONTACT, Serve, until
from tests.store.store_kit import holding


def test_both_processes_erase_their_part_and_the_command_waits_for_both(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == serving.post("evt-2") == 200
    serving.settle(2)
    held = {name.removesuffix("-wal") for name in holding(serving.store, CONTACT)}
    assert held == {"bot.db", "bot.inbox.db"} or held >= {"log", "sessions", "messages"}
    erased = call("contacts", "erase", CONTACT, "--bot", folder, "--yes")
    assert erased.code == 0, erased.err
    until(
        lambda: holding(serving.store, CONTACT) == []
    )  # the note of it goes last, and from the file a moment after its row
    assert serving.post("evt-1") == 200  # the gateway did not hear the first answer
    assert serving.status()["sessions"] == 0
    assert serving.post("evt-3") == 200
    until(lambda: serving.status()["sessions"] == 1)


def test_an_erasure_comes_to_its_end_though_both_are_killed_on_the_way(serve: Serve, folder: Path) -> None:
    serving = serve().up()
    assert serving.post("evt-1") == 200
    serving.settle(1)
    web = serving.child("web")
    os.kill(web, signal.SIGSTOP)
    local_socket.ask(serving.store, EraseContact(CONTACT))
    os.kill(serving.child("engine"), signal.SIGKILL)
    os.kill(web, signal.SIGKILL)
    reader = StoreReader(serving.store)
    until(lambda: reader.erasures() == [])
    reader.close()
    until(lambda: holding(serving.store, CONTACT) == [])
    assert json.loads(call("sessions", "--bot", folder, "--json").out) == []
