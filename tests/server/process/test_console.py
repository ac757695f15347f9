"""`bot serve --console`: a process of its own."""

import http.client
import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

from argon2 import PasswordHasher

from bot.pages.shared.page_server import MOST_CONNECTIONS
from tests.patience import PATIENCE
from tests.server.process.serving import Serve, Serving, until

USERS = f"olga:operator:{PasswordHasher(time_cost=1, memory_cost=64).hash('correct horse battery')}"


def with_console(serve: Serve, **settings: str) -> tuple[Serving, str]:
    serving = serve(arguments=["--console"], BOT_CONSOLE_USERS=USERS, BOT_CONSOLE_PORT="0", **settings)
    url = serving.line_with("The console is at ").split(" at ")[1].removesuffix(".")
    return serving.up(), url


def status_of(url: str) -> int:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    try:
        connection.request("GET", "/log-in")
        return connection.getresponse().status
    except ConnectionError:
        return 0
    finally:
        connection.close()


def test_the_console_is_served_beside_the_bot_and_ends_with_it(serve: Serve) -> None:
    serving, url = with_console(serve)
    assert status_of(url) == 200
    assert serving.get("/readyz") == 200
    assert serving.end() == 0
    assert status_of(url) == 0


def test_a_console_that_is_killed_is_started_again_and_the_webhook_notices_nothing(serve: Serve) -> None:
    serving, url = with_console(serve)
    old = serving.child("console")
    os.kill(old, signal.SIGKILL)
    assert serving.post("evt-1") == 200
    serving.line_with("the console process was killed by signal 9: it is started again")
    assert status_of(url) == 200
    assert serving.child("console") != old


def test_a_console_that_hangs_holds_up_neither_the_webhook_nor_the_engine(serve: Serve) -> None:
    serving, _ = with_console(serve)
    console = serving.child("console")
    os.kill(console, signal.SIGSTOP)
    try:
        assert serving.post("evt-1") == 200
        until(lambda: serving.status()["cursor"] == 1)
    finally:
        os.kill(console, signal.SIGCONT)


def test_without_users_there_is_no_console_and_it_is_said_how_to_make_one(serve: Serve) -> None:
    serving = serve(arguments=["--console"])
    assert serving.process.wait(PATIENCE) == 1
    serving.end()
    assert "BOT_CONSOLE_USERS is missing: `bot console password` makes a user" in serving.seen[0]


def test_a_flood_of_connections_to_the_console_keeps_no_event_out_and_nobody_who_comes_after_it(serve: Serve) -> None:
    serving, url = with_console(serve)
    console = urlsplit(url)
    assert console.hostname is not None
    with ExitStack() as opened:
        for _ in range(MOST_CONNECTIONS + 100):
            flood = opened.enter_context(socket.create_connection((console.hostname, console.port or 80), PATIENCE))
            flood.sendall(b"GET /log-in HTTP/1.1\r\n")
        assert {serving.post(f"evt-{number}") for number in range(20)} == {200}
        until(lambda: status_of(url) == 200)
        until(lambda: serving.status()["cursor"] == 20)
        assert len([*Path(f"/proc/{serving.child('console')}/task").iterdir()]) < MOST_CONNECTIONS + 50
