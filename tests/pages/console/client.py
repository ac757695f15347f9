"""Requests to a console that its pages do not make."""

import http.client
import re
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from bot.store.database import StoreAddress
from bot.store.opening import engine_reader
from tests.pages.console.conftest import PASSWORD, Served


class Addressed(Protocol):
    """A console that has an address."""

    url: str


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    text: str


@dataclass
class Client:
    """Asks a console as a browser does: with its cookie, and with ``Origin`` where a form is sent."""

    served: Addressed
    cookie: str = ""
    set_cookie: str = field(default="", init=False)
    cookies: dict[str, str] = field(default_factory=dict, init=False)

    def ask(self, path: str, form: Mapping[str, str] | None = None, headers: Mapping[str, str] = {}) -> Answer:
        """``path`` is below the console's. A header that is empty is left out."""
        address = urlsplit(self.served.url)
        origin = {} if form is None else {"Origin": f"http://{address.netloc}"}
        sent = {"Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded", **origin, **headers}
        connection = http.client.HTTPConnection(address.netloc)
        connection.request(
            "GET" if form is None else "POST",
            address.path + path,
            None if form is None else urlencode(form),
            {name: value for name, value in sent.items() if value},
        )
        answer = connection.getresponse()
        found = Answer(answer.status, dict(answer.getheaders()), answer.read().decode())
        set_cookies = [value for name, value in answer.getheaders() if name == "Set-Cookie"]
        self.cookies |= {each.partition("=")[0]: each.partition(";")[0] for each in set_cookies}
        connection.close()
        if "Set-Cookie" in found.headers:
            self.set_cookie = found.headers["Set-Cookie"]
            self.cookie = self.set_cookie.partition(";")[0]
        return found

    def log_in(self, name: str, password: str = PASSWORD, **more: str) -> Answer:
        return self.ask("/log-in", {"name": name, "password": password, **more})

    def token(self) -> str:
        found = re.search(r'name="token" value="([^"]+)"', self.ask("/state").text)
        assert found is not None
        return found[1]


def logged_in(served: Served, name: str) -> Client:
    client = Client(served)
    assert client.log_in(name).status == 302
    return client


def rows(store: StoreAddress, sql: str) -> list[Any]:
    """Rows of a live store."""
    with closing(engine_reader(store)) as database:
        return database.all(sql)
