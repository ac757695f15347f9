"""Files from addresses that somebody else gave: what is got, and what nobody is led into."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.networks import is_public
from bot.runtime.file_calls import Downloads, DownloadTooLarge, NotFetched
from tests.services.gateway.peer import Answer, Peer, answer, hang_up, peer, raw, reset

MOST_REDIRECTS = 3
MOST = 1000
Addresses = dict[str, list[str]]


@pytest.fixture
def gateway() -> Iterator[Peer]:
    with peer() as running:
        yield running


@pytest.fixture
def inside() -> Iterator[Peer]:
    """A server of our own network that nobody is to reach."""
    with peer() as running:
        yield running
        assert running.requests == []


def redirect(to: str, status: int = 302) -> Answer:
    return answer(status, b"", {"Location": to})


def got(downloads: Downloads, url: str, most: int = MOST, seconds: float = 20.0) -> bytes:
    with downloads.open(url, most=most, seconds=seconds) as chunks:
        return b"".join(chunks)


def refused(gateway: Peer, url: str, most: int = MOST, seconds: float = 20.0) -> tuple[str, bool]:
    """Why a file could not be got, and whether another try may help."""
    with pytest.raises(NotFetched) as error:
        got(Downloads(gateway.url), url, most, seconds)
    return str(error.value), error.value.again


@contextmanager
def names(addresses: Addresses, *, unknown: bool = False) -> Iterator[list[str]]:
    """Host names that stand for these addresses, the others for themselves or for nothing; the looked-up ones are listed."""
    looked_up: list[str] = []
    real = socket.getaddrinfo

    def getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        looked_up.append(host)
        if unknown and host not in addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        if host not in addresses:
            return real(host, port, *args, **options)
        return [found for address in addresses[host] for found in real(address, port, type=socket.SOCK_STREAM)]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield looked_up


# What is got


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("/fotó 1.jpg", "/fot%C3%B3%201.jpg"),
        ("/a?name=ä&of=%20b", "/a?name=%C3%A4&of=%20b"),
        ("/a\0b", "/a%00b"),
    ],
)
def test_an_address_is_asked_for_as_a_browser_writes_it(gateway: Peer, written: str, asked: str) -> None:
    gateway.answers(answer(200, b"a file"))
    assert got(Downloads(gateway.url), gateway.url + written) == b"a file"
    assert gateway.requests[0].path == asked


def test_a_redirect_that_is_not_encoded_leads_to_the_bytes_that_came(gateway: Peer) -> None:
    gateway.answers(redirect("/fotó 1.jpg"), answer(200, b"a file"))
    assert got(Downloads(gateway.url), f"{gateway.url}/one") == b"a file"
    assert gateway.requests[1].path == "/fot%C3%B3%201.jpg"


def test_what_the_gateways_own_host_serves_is_got_wherever_that_is(gateway: Peer) -> None:
    gateway.answers(answer(200, b"a file"))
    assert got(Downloads(f"{gateway.url}/api"), f"{gateway.url}/media/1?sig=x%20y#top") == b"a file"
    (request,) = gateway.requests
    assert request.path == "/media/1?sig=x%20y"
    assert "authorization" not in request.headers


def test_the_loopback_interface_is_one_host_whatever_it_is_called(gateway: Peer) -> None:
    gateway.answers(answer(200, b"a file"))
    assert got(Downloads(gateway.url.replace("127.0.0.1", "localhost")), f"{gateway.url}/f") == b"a file"


def test_a_body_in_chunks_is_got_whole(gateway: Peer) -> None:
    gateway.answers(raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na f\r\n3\r\nile\r\n0\r\n\r\n"))
    assert got(Downloads(gateway.url), f"{gateway.url}/f") == b"a file"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_followed(gateway: Peer, status: int) -> None:
    gateway.answers(redirect("/two?x=1", status), answer(200, b"a file"))
    assert got(Downloads(gateway.url), f"{gateway.url}/one") == b"a file"
    assert [request.path for request in gateway.requests] == ["/one", "/two?x=1"]


def test_the_address_that_was_looked_at_is_the_one_connected_to(gateway: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.services.public_addresses.is_public", lambda address: address == "127.0.0.1")
    port = gateway.url.rpartition(":")[2]
    gateway.answers(answer(200, b"a file"))
    with names({"files.example": ["10.0.0.1", "127.0.0.1"]}) as looked_up:
        assert got(Downloads("https://gateway.example"), f"http://files.example:{port}/f") == b"a file"
    assert looked_up.count("files.example") == 1
    assert gateway.requests[0].headers["host"] == f"files.example:{port}"


# What nobody is led into


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "10.0.0.5",
     "192.168.1.1", "169.254.169.254", "100.64.0.1", "224.0.0.1", "255.255.255.255", "[fe80::1]", "[fc00::1]",
     "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[2001:0:53aa:64c::]"],
)  # fmt: skip
def test_an_address_inside_is_not_connected_to(gateway: Peer, inside: Peer, host: str) -> None:
    reason, again = refused(gateway, f"http://{host}:{inside.url.rpartition(':')[2]}/secret")
    assert reason.endswith(("is no public address", "is not found"))
    assert again is reason.endswith("is not found")


def test_a_name_that_stands_for_an_address_inside_is_not_connected_to(gateway: Peer, inside: Peer) -> None:
    with names({"files.example": ["127.0.0.1", "::1", "10.1.2.3"]}):
        reason, again = refused(gateway, f"http://files.example:{inside.url.rpartition(':')[2]}/f")
    assert (reason, again) == ("files.example is no public address", False)


def test_the_gateway_on_another_port_is_not_the_gateway(gateway: Peer, inside: Peer) -> None:
    assert refused(gateway, f"{inside.url}/f") == ("127.0.0.1 is no public address", False)


def test_a_redirect_leads_nowhere_inside_either(gateway: Peer, inside: Peer) -> None:
    gateway.answers(redirect(f"{inside.url}/secret"))
    assert refused(gateway, f"{gateway.url}/f") == ("127.0.0.1 is no public address", False)


def test_a_redirect_from_outside_does_not_lead_to_the_gateways_own_network(
    gateway: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with peer() as outside:
        asked = iter([True, False])
        monkeypatch.setattr("bot.services.public_addresses.is_public", lambda address: next(asked))
        outside.answers(redirect(f"{gateway.url}/internal"))
        assert refused(gateway, f"{outside.url}/f") == ("127.0.0.1 is no public address", False)
    assert gateway.requests == []


@pytest.mark.parametrize(
    "url",
    ["file:///etc/passwd", "ftp://a.example/f", "//a.example/f", "https://", "https://user:pass@a.example/f", "",
     "http://[", "http://a.example:99999/f", "http://ä.example/f", "data:text/plain,x", "http:///f"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_for_good(gateway: Peer, url: str) -> None:
    reason, again = refused(gateway, url)
    assert reason.startswith("it has no ") and not again


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://a.example/f", "https://user@a.example/f"])
def test_a_redirect_to_anything_else_than_the_web_is_refused(gateway: Peer, to: str) -> None:
    gateway.answers(redirect(to))
    assert refused(gateway, f"{gateway.url}/f") == ("it has no http or https address", False)


@pytest.mark.parametrize("to", ["http://[", "//[::", "http://a.example:99999/"])
def test_a_redirect_that_cannot_be_read_is_refused(gateway: Peer, to: str) -> None:
    gateway.answers(redirect(to))
    reason, again = refused(gateway, f"{gateway.url}/f")
    assert reason.endswith("no address that can be read") and not again


@given(st.text('ab/:?#[]@%\\ .~\r\n\t\0\x7fä€\ud800{}|^`"<>&=+;', max_size=20))
def test_no_address_however_odd_does_anything_else_than_fail_to_be_got(odd: str) -> None:
    with names({}, unknown=True):
        for url in (odd, f"http://{odd}", f"https://a.example{odd}"):
            with pytest.raises(NotFetched):
                got(Downloads("https://gateway.example"), url)


def test_redirects_in_a_circle_end(gateway: Peer) -> None:
    gateway.by_default = redirect("/round")
    assert refused(gateway, f"{gateway.url}/round") == (f"more than {MOST_REDIRECTS} redirects", False)
    assert len(gateway.requests) == 1 + MOST_REDIRECTS


def test_a_redirect_that_names_no_place_ends_too(gateway: Peer) -> None:
    gateway.by_default = answer(302, b"")
    assert refused(gateway, f"{gateway.url}/f")[0] == f"more than {MOST_REDIRECTS} redirects"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("8.8.8.8", True), ("1.1.1.1", True), ("172.15.255.255", True), ("172.32.0.1", True), ("2606:4700::1111", True),
        ("172.31.255.255", False), ("198.18.0.1", False), ("192.0.2.1", False), ("240.0.0.1", False),
        ("::", False), ("::1", False), ("::ffff:8.8.8.8", False), ("fe80::1%eth0", False), ("ff02::1", False),
        ("2001:db8::1", False), ("3fff::1", False),
    ],
)  # fmt: skip
def test_public_is_what_is_neither_private_nor_kept_for_special_uses(address: str, public: bool) -> None:
    assert is_public(address) is public


# Size, time and trouble


def test_a_file_of_the_most_bytes_is_got_and_one_of_more_is_too_large(gateway: Peer) -> None:
    gateway.answers(answer(200, b"x" * MOST), answer(200, b"x" * (MOST + 1)))
    assert len(got(Downloads(gateway.url), f"{gateway.url}/f")) == MOST
    with pytest.raises(DownloadTooLarge, match="more than 1000 bytes"):
        got(Downloads(gateway.url), f"{gateway.url}/f")


def test_a_file_that_does_not_say_its_size_is_not_read_beyond_the_most_either(gateway: Peer) -> None:
    ended = threading.Event()

    def endless(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while True:
                connection.sendall(b"400\r\n" + bytes(1024) + b"\r\n")
        except OSError:
            ended.set()
        return False

    gateway.answers(endless)
    with pytest.raises(DownloadTooLarge):
        got(Downloads(gateway.url), f"{gateway.url}/f")
    assert ended.wait(20)


@pytest.mark.parametrize("length", ["1001", "9" * 400])
def test_a_size_that_is_said_to_be_too_large_is_believed_at_once(gateway: Peer, length: str) -> None:
    gateway.answers(raw(f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nabc".encode()))
    with pytest.raises(DownloadTooLarge):
        got(Downloads(gateway.url), f"{gateway.url}/f")


@pytest.mark.parametrize(
    ("status", "again"), [(404, False), (410, False), (403, False), (204, False), (429, True), (500, True), (503, True)]
)
def test_another_try_may_help_against_what_passes(gateway: Peer, status: int, again: bool) -> None:
    gateway.answers(answer(status, b""))
    assert refused(gateway, f"{gateway.url}/f") == (f"127.0.0.1 answered {status}", again)


@pytest.mark.parametrize(
    "trouble", [reset, hang_up, raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"), raw(b"x")]
)
def test_a_connection_that_breaks_is_worth_another_try(gateway: Peer, trouble: Answer) -> None:
    gateway.answers(trouble)
    assert refused(gateway, f"{gateway.url}/f")[1] is True


def test_nobody_there_is_worth_another_try(gateway: Peer) -> None:
    gateway.close()
    assert refused(gateway, f"{gateway.url}/f")[1] is True


def test_a_name_that_is_not_found_is_worth_another_try(gateway: Peer) -> None:
    with names({}, unknown=True):
        assert refused(gateway, "https://gone.example/f") == ("gone.example is not found", True)


def test_the_time_for_it_covers_redirects_and_a_file_that_drips(gateway: Peer) -> None:
    ended = threading.Event()

    def dripping(connection: socket.socket) -> bool:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while not ended.wait(0.02):
            connection.sendall(b"x")
        return False

    gateway.answers(redirect("/drip"), dripping)
    try:
        assert refused(gateway, f"{gateway.url}/f", seconds=0.3)[1] is True
    finally:
        ended.set()


def test_time_that_is_up_asks_nobody(gateway: Peer) -> None:
    assert refused(gateway, f"{gateway.url}/f", seconds=0.0) == ("it was not there in time", True)
    assert gateway.requests == []
