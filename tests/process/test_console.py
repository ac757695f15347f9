"""`bot serve --console`: a process of its own."""

import http.client
import os
import signal
from urllib.parse import urlsplit

from argon2 import PasswordHasher

from tests.patience import PATIENCE
from tests.process.serving import Serve, Serving, until

USERS = f"olga:operator:{PasswordHasher(time_cost=1, memory_cost=64).hash('correct horse battery')}"


def with_console(serve: Serve, **settings: str) -> tuple[Serving, str]:
    serving = serve(arguments=["--console"], BOT_CONSOLE_USERS=USERS, BOT_CONSOLE_PORT="0", **settings)
    url = serving.line_with("Its console is at ").split(" at ")[1].removesuffix(".")
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
