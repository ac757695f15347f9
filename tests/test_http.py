"""The HTTP client: what is certain after a failure, and that nothing takes longer or grows bigger than allowed."""

import socket
import threading
from collections.abc import Iterator

import pytest

from bot.http import Ambiguous, Http, NotSent
from tests.gateway.peer import Answer, Peer, accepted, answer, hang_up, http_bytes, peer, raw, reset

HEADERS = {"Content-Type": "application/json"}


@pytest.fixture
def gateway() -> Iterator[Peer]:
    with peer() as running:
        yield running


def post(client: Http) -> bytes:
    return client.post("/x", b"{}", HEADERS).body


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def dripping(prefix: bytes, stop: threading.Event) -> Answer:
    def write(connection: socket.socket) -> bool:
        connection.sendall(prefix)
        while not stop.wait(0.02):
            connection.sendall(b"x")
        return False

    return write


def test_an_answer_is_given_whole_whatever_its_status(gateway: Peer) -> None:
    gateway.answers(answer(503, b"sorry", {"X-Some-Header": "7"}))
    response = Http(gateway.url).post("/x", b"{}", HEADERS)
    assert (response.status, response.body, response.headers["x-some-header"]) == (503, b"sorry", "7")


def test_the_path_of_the_base_address_comes_first(gateway: Peer) -> None:
    Http(gateway.url + "/base/").post("/x", b"{}", HEADERS)
    assert gateway.requests[0].path == "/base/x"


def test_a_redirect_is_not_followed(gateway: Peer) -> None:
    gateway.answers(answer(307, b"", {"Location": "/elsewhere"}))
    assert Http(gateway.url).post("/x", b"{}", HEADERS).status == 307
    assert len(gateway.requests) == 1


def test_proxies_of_the_environment_are_not_used(gateway: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    assert post(Http(gateway.url))


def test_a_connection_is_used_again(gateway: Peer) -> None:
    client = Http(gateway.url)
    for _ in range(3):
        post(client)
    assert [request.connection for request in gateway.requests] == [1, 1, 1]


def test_a_refused_connection_means_not_sent() -> None:
    with pytest.raises(NotSent, match="Connection refused"):
        post(Http(f"http://127.0.0.1:{free_port()}"))


def test_an_unknown_host_means_not_sent() -> None:
    with pytest.raises(NotSent):
        post(Http("http://no-such-host.invalid"))


def test_a_peer_that_speaks_no_tls_means_not_sent(gateway: Peer) -> None:
    with pytest.raises(NotSent):
        post(Http(gateway.url.replace("http:", "https:"), seconds=0.3))


def test_a_connection_that_nobody_accepts_means_not_sent() -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        waiting = []
        for _ in range(3):  # fill the queue of connections, so that the next one is not even answered
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(address)
        with pytest.raises(NotSent, match="timed out"):
            post(Http(f"http://127.0.0.1:{address[1]}", seconds=0.2))
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize("broken", [reset, hang_up], ids=["reset", "hang up"])
def test_a_connection_that_breaks_after_the_request_is_ambiguous(gateway: Peer, broken: Answer) -> None:
    gateway.answers(broken)
    with pytest.raises(Ambiguous):
        post(Http(gateway.url))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", id="cut body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", id="cut chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="cut header"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", id="too many headers"),
    ],
)
def test_an_answer_that_is_cut_or_no_http_is_ambiguous(gateway: Peer, data: bytes) -> None:
    gateway.answers(raw(data))
    with pytest.raises(Ambiguous):
        post(Http(gateway.url))


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param(b"", id="before the status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Long: ", id="inside a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", id="inside the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", id="inside a chunk"),
    ],
)
def test_a_peer_that_drips_is_cut_at_the_deadline(gateway: Peer, prefix: bytes) -> None:
    stop = threading.Event()
    gateway.answers(dripping(prefix, stop))
    with pytest.raises(Ambiguous, match="timed out"):
        post(Http(gateway.url, seconds=0.3))
    stop.set()


def test_after_a_deadline_the_next_request_has_its_whole_time_again(gateway: Peer) -> None:
    stop = threading.Event()
    client = Http(gateway.url, seconds=0.3)
    gateway.answers(accepted(), dripping(b"", stop), accepted())
    post(client)
    with pytest.raises(Ambiguous):
        post(client)
    assert post(client)
    stop.set()


def test_a_body_over_the_limit_is_ambiguous_and_its_connection_is_dropped(gateway: Peer) -> None:
    client = Http(gateway.url, body_limit=100)
    gateway.answers(answer(200, b"x" * 200), answer(200, b"x" * 100))
    with pytest.raises(Ambiguous, match="more than 100 bytes"):
        post(client)
    assert post(client) == b"x" * 100
    assert [request.connection for request in gateway.requests] == [1, 2]


def test_a_compressed_bomb_is_not_unpacked(gateway: Peer) -> None:
    gateway.answers(answer(200, b"not gzip at all", {"Content-Encoding": "gzip"}))
    assert post(Http(gateway.url)) == b"not gzip at all"


def test_a_connection_closed_while_idle_costs_nothing(gateway: Peer) -> None:
    client = Http(gateway.url)
    for _ in range(20):
        post(client)
        gateway.close_connections()
    assert len(gateway.requests) == 20


def test_a_reset_on_a_connection_used_before_is_still_ambiguous(gateway: Peer) -> None:
    client = Http(gateway.url)
    gateway.answers(accepted(), reset)
    post(client)
    with pytest.raises(Ambiguous):
        post(client)


def test_an_answer_that_closes_its_connection_is_whole(gateway: Peer) -> None:
    gateway.answers(raw(http_bytes(200, b"bye", {"Connection": "close"})))
    client = Http(gateway.url)
    assert post(client) == b"bye"
    assert post(client)


def test_an_error_text_has_no_credentials_of_the_address() -> None:
    with pytest.raises(NotSent) as caught:
        post(Http(f"http://user:secret@127.0.0.1:{free_port()}"))
    assert "secret" not in str(caught.value)
