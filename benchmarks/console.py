"""The cost of the console for the bot: ``python -m benchmarks.console``. Ratios to the bot without a console, in the
same run.

The customers of `benchmarks.conversation`, with a console that nobody looks at, and with two pages that are open and
loaded anew as ``console.js`` does. The pages are a process beside the customers; the bot and its console share the
other core.
"""

import argparse
import asyncio
import http.client
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from threading import Thread
from urllib.parse import urlencode, urlsplit

from argon2 import PasswordHasher

from benchmarks.conversation import Extra, measured, own_core, unused_port

PASSWORD = "benchmark-password"
PAGES = ("/contacts", "/state")
PAUSE = 1.0  # s between two loads of a page, as in console.js
ROWS = (
    ("full rate", "events/s, each with its reply", "{:,.0f}"),
    ("quiet reply", "ms to the reply, median, at 50 events/s", "{:.2f}"),
    ("slow rate", "events/s, the gateway takes 100 ms", "{:,.0f}"),
)


def console() -> Extra:
    """A console for `bot serve`, which listens at the address in its settings."""
    port = unused_port()
    user = f"anna:operator:{PasswordHasher().hash(PASSWORD)}"
    address = f"http://127.0.0.1:{port}"
    settings = {"BOT_CONSOLE_USERS": user, "BOT_CONSOLE_PORT": str(port), "BOT_CONSOLE_URL": address}
    return Extra(("--console",), settings=settings)


@contextmanager
def looked_at(extra: Extra) -> Iterator[None]:
    """While two pages of the console are open."""
    command = [sys.executable, "-m", "benchmarks.console", "--look", extra.settings["BOT_CONSOLE_URL"]]
    pages = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert pages.stdout is not None
    try:
        assert pages.stdout.readline() == b"open\n"
        yield
    finally:
        pages.terminate()
        pages.wait(10)
        loads = len(pages.stdout.read().split())
        assert loads >= len(PAGES), "the pages were not loaded anew"


def look(address: str) -> None:
    """Log in, open the pages and load each anew when the console says that something has changed; for ever. Prints a
    line a load.
    """
    host = urlsplit(address).netloc

    def ask(path: str, body: str | None = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection(host)
        connection.request("GET" if body is None else "POST", path, body, headers)
        return connection.getresponse()

    form = {"Content-Type": "application/x-www-form-urlencoded", "Origin": address}
    cookie = (
        ask("/log-in", urlencode({"name": "anna", "password": PASSWORD}), **form)
        .headers["Set-Cookie"]
        .partition(";")[0]
    )

    def follow(path: str) -> None:
        page = ask(path, Cookie=cookie).read().decode()
        found = re.search(r'data-changes="([^"]+)"', page)
        assert found is not None, page
        stream = ask(found[1].replace("&amp;", "&"), Cookie=cookie)
        loaded = 0.0
        while line := stream.readline():
            if line.startswith(b"data") and time.monotonic() > loaded + PAUSE:
                assert ask(path, Cookie=cookie, **{"X-Refresh": "1"}).read()
                loaded = time.monotonic()
                print("loaded", flush=True)

    pages = [Thread(target=follow, args=(path,)) for path in PAGES]
    for page in pages:
        page.start()
    print("open", flush=True)
    for page in pages:
        page.join()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each phase")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--look", metavar="URL", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.look:
        return look(given.look)
    own_core()
    rounds: dict[str, list[dict[str, float]]] = {"without": [], "not looked at": [], "two pages": []}
    for number in range(given.rounds):
        names = list(rounds)
        for name in names[number % 3 :] + names[: number % 3]:  # each is the first of a round as often
            extra = Extra() if name == "without" else console()
            rounds[name].append(
                asyncio.run(measured("ours", given.seconds, extra, looked_at if name == "two pages" else None))
            )
    print(f"{'':42}" + "".join(f"{name:>15}" for name in rounds))
    for key, words, form in ROWS:
        figures = [median(result[key] for result in results) for results in rounds.values()]
        shown = [
            form.format(figures[0]),
            *(f"{form.format(figure)} ({figure / figures[0]:.2f})" for figure in figures[1:]),
        ]
        print(f"{words:42}" + "".join(f"{each:>15}" for each in shown))


if __name__ == "__main__":
    main()
