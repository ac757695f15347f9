"""The HTTP client: what is certain after a failure, and that nothing takes longer or grows bigger than allowed."""

import gzip
import socket
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from time import monotonic

import pytest

from bot.services.http_client import HttpClient, Response, _Loop, wait_for
from bot.services.request_errors import Ambiguous, DeadlinePassed, HttpError, NotSent, Oversized, Silent
from tests.patience import PATIENCE
from tests.services.gateway.peer import Answer, Peer, accepted, answer, hang_up, http_bytes, peer, raw, reset, too_late

HEADERS = {"Content-Type": "application/json"}


@pytest.fixture
def gateway() -> Iterator[Peer]:
    with peer() as running:
        yield running


def post(client: HttpClient) -> bytes:
    return client.post("/x", b"{}", HEADERS).body


def unwaited(client: HttpClient) -> Response | HttpError:
    """The answer, where a defect of the client's own would leave it out."""
    answers = SimpleQueue[Response | HttpError]()
    client.begin("POST", "/x", b"{}", {}, answers.put)
    return answers.get(timeout=PATIENCE)


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def late(request: Callable[[], object]) -> Exception:
    error = too_late(request, NotSent)
    assert "timed out" in str(error)
    return error


def dripping(prefix: bytes, stop: threading.Event) -> Answer:
    def write(connection: socket.socket) -> bool:
        connection.sendall(prefix)
        while not stop.wait(0.02):
            connection.sendall(b"x")
        return False

    return write


def test_an_answer_is_given_whole_whatever_its_status(gateway: Peer) -> None:
    gateway.answers(answer(503, b"sorry", {"X-Some-Header": "7"}))
    response = HttpClient(gateway.url).post("/x", b"{}", HEADERS)
    assert (response.status, response.body, response.headers["x-some-header"]) == (503, b"sorry", "7")


def test_the_path_of_the_base_address_comes_first(gateway: Peer) -> None:
    HttpClient(gateway.url + "/base/").post("/x", b"{}", HEADERS)
    assert gateway.requests[0].path == "/base/x"


def test_a_redirect_is_not_followed(gateway: Peer) -> None:
    gateway.answers(answer(307, b"", {"Location": "/elsewhere"}))
    assert HttpClient(gateway.url).post("/x", b"{}", HEADERS).status == 307
    assert len(gateway.requests) == 1


def test_proxies_of_the_environment_are_not_used(
    gateway: Peer, free_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port}")
    assert post(HttpClient(gateway.url))


def test_a_connection_is_used_again(gateway: Peer) -> None:
    client = HttpClient(gateway.url)
    for _ in range(3):
        post(client)
    assert [request.connection for request in gateway.requests] == [1, 1, 1]


def test_a_refused_connection_means_not_sent(free_port: int) -> None:
    with pytest.raises(NotSent, match="Connection refused"):
        post(HttpClient(f"http://127.0.0.1:{free_port}"))


def test_an_unknown_host_means_not_sent() -> None:
    with pytest.raises(NotSent):
        post(HttpClient("http://no-such-host.invalid"))


def test_a_peer_that_speaks_no_tls_means_not_sent(gateway: Peer) -> None:
    with pytest.raises(NotSent):
        post(HttpClient(gateway.url.replace("http:", "https:"), seconds=0.3))


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
            post(HttpClient(f"http://127.0.0.1:{address[1]}", seconds=0.2))
        for connection in waiting:
            connection.close()


@pytest.mark.parametrize("broken", [reset, hang_up], ids=["reset", "hang up"])
def test_a_connection_that_breaks_after_the_request_is_ambiguous(gateway: Peer, broken: Answer) -> None:
    gateway.answers(broken)
    with pytest.raises(Ambiguous):
        post(HttpClient(gateway.url))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", id="cut body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab", id="cut chunk"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="cut header"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="not HTTP"),
        pytest.param(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 60_000 + b"\r\n", id="too many headers"),
    ],
)
def test_an_answer_that_is_cut_or_no_http_is_ambiguous(gateway: Peer, data: bytes) -> None:
    gateway.answers(raw(data))
    with pytest.raises(Ambiguous):
        post(HttpClient(gateway.url))


@pytest.mark.parametrize("data", [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nContent-Le"])
def test_an_answer_that_is_cut_behind_an_interim_one_is_ambiguous(gateway: Peer, data: bytes) -> None:
    gateway.answers(*[raw(b"HTTP/1.1 100 Continue\r\n\r\n" + data)] * 2)
    assert isinstance(unwaited(HttpClient(gateway.url)), Ambiguous)
    with pytest.raises(Ambiguous):
        streamed(HttpClient(gateway.url))


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nHTTP/1.1: x\r\nContent-Length: 2\r\n\r\nok", id="header like a status line"),
        pytest.param(STREAM + b"2\r\nok\r\n0\r\nHTTP/x: y\r\n\r\n", id="trailer like a status line"),
        pytest.param(b"HTTP/1.1 200abc\r\nContent-Length: 2\r\n\r\nok", id="letters behind the status"),
        pytest.param(CONTINUE + b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok", id="lines end in another way"),
        pytest.param(CONTINUE + b"HTTP/1.1 103 Early\r\n\n" + http_bytes(200, b"ok"), id="two interim answers"),
    ],
)
def test_whatever_libcurl_takes_for_an_answer_is_read(gateway: Peer, data: bytes) -> None:
    gateway.by_default = raw(data, keep=True)
    answer = unwaited(HttpClient(gateway.url))
    assert isinstance(answer, Response) and (answer.status, answer.body) == (200, b"ok")
    assert streamed(HttpClient(gateway.url)) == b"ok"


@pytest.mark.parametrize(
    "prefix",
    [
        pytest.param(b"HTTP/1.1 ", id="inside the status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Long: ", id="inside a header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", id="inside the body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffff\r\n", id="inside a chunk"),
    ],
)
def test_a_peer_that_drips_is_cut_at_the_deadline(gateway: Peer, prefix: bytes) -> None:
    stop = threading.Event()
    gateway.by_default = dripping(prefix, stop)
    assert isinstance(late(lambda: post(HttpClient(gateway.url, seconds=0.3))), Ambiguous)
    stop.set()


def test_after_a_deadline_the_next_request_has_its_whole_time_again(gateway: Peer) -> None:
    stop = threading.Event()
    client = HttpClient(gateway.url, seconds=0.3)
    gateway.by_default = waiting(b"", stop)
    for _ in range(2):
        began = monotonic()
        late(lambda: post(client))
        assert monotonic() - began > 0.25
    stop.set()


def test_a_body_over_the_limit_is_ambiguous_and_its_connection_is_dropped(gateway: Peer) -> None:
    client = HttpClient(gateway.url, body_limit=100)
    gateway.answers(answer(200, b"x" * 200), answer(200, b"x" * 100))
    with pytest.raises(Ambiguous, match="more than 100 bytes"):
        post(client)
    assert post(client) == b"x" * 100
    assert [request.connection for request in gateway.requests] == [1, 2]


PACKED = {"Content-Encoding": "gzip"}


def test_a_compressed_answer_is_asked_for_and_read(gateway: Peer) -> None:
    whole = b"a text " * 1000
    gateway.answers(
        answer(200, gzip.compress(whole), PACKED),
        answer(200, gzip.compress(whole[:99]) + gzip.compress(whole[99:]), {"Content-Encoding": "X-GZIP"}),
        answer(200, gzip.compress(b"") + bytes(8), PACKED),
        raw(STREAM.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n") + in_chunks(gzip.compress(whole), 7)),
    )
    client = HttpClient(gateway.url)
    assert [post(client), post(client), post(client), streamed(client)] == [whole, whole, b"", whole]
    assert {request.headers["accept-encoding"] for request in gateway.requests} == {"gzip"}


def in_chunks(body: bytes, size: int) -> bytes:
    parts = (body[start : start + size] for start in range(0, len(body), size))
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def test_what_only_says_that_it_is_compressed_is_read_as_it_is(gateway: Peer) -> None:
    gateway.answers(
        answer(200, b"not gzip at all", PACKED),
        answer(200, b"", PACKED),
        answer(200, b"plain", {"Content-Encoding": "UTF-8"}),
    )
    client = HttpClient(gateway.url)
    assert [post(client), post(client), post(client)] == [b"not gzip at all", b"", b"plain"]


def test_a_compressed_bomb_is_refused_before_it_is_unpacked(gateway: Peer) -> None:
    bomb = gzip.compress(b"0" * (64 << 20))
    gateway.answers(
        answer(200, bomb, PACKED), answer(200, bomb, PACKED), answer(200, gzip.compress(b"0" * 1000), PACKED)
    )
    client = HttpClient(gateway.url, body_limit=1000)
    tracemalloc.start()
    with pytest.raises(Oversized, match="more than 1000 bytes"):
        post(client)
    with pytest.raises(Oversized, match="more than 1000 bytes"):
        streamed(client)
    assert tracemalloc.get_traced_memory()[1] < 4 << 20
    tracemalloc.stop()
    assert post(client) == b"0" * 1000


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (gzip.compress(b"a text " * 1000)[:-9], "the answer was cut off"),
        (gzip.compress(b"a text")[:-8] + b"12345678", "compressed in a way that cannot be read"),
        (gzip.compress(b"a text")[:9] + b"\xff" * 40, "compressed in a way that cannot be read"),
    ],
    ids=["cut", "another sum", "broken"],
)
def test_a_compressed_answer_that_is_cut_or_broken_is_ambiguous(gateway: Peer, body: bytes, words: str) -> None:
    gateway.answers(answer(200, body, PACKED), answer(200, body, PACKED), accepted())
    client = HttpClient(gateway.url)
    with pytest.raises(Ambiguous, match=words):
        post(client)
    with pytest.raises(Ambiguous, match=words):
        streamed(client)
    assert post(client)


def test_a_connection_closed_while_idle_costs_nothing(gateway: Peer) -> None:
    client = HttpClient(gateway.url)
    for _ in range(20):
        post(client)
        gateway.close_connections()
    assert len(gateway.requests) == 20


def test_an_answer_that_nobody_asked_for_is_no_answer_to_the_next_request(gateway: Peer) -> None:
    client = HttpClient(gateway.url)
    gateway.answers(answer(200, b"first"), answer(200, b"second"))
    assert post(client) == b"first"
    gateway.says_unasked(http_bytes(200, b"unasked"))
    assert post(client) == b"second"
    assert [request.connection for request in gateway.requests] == [1, 2]


@pytest.mark.parametrize("broken", [reset, hang_up], ids=["reset", "hang up"])
@pytest.mark.parametrize(("method", "body"), [("POST", b"{}"), ("POST", None), ("DELETE", None)])
def test_what_breaks_on_a_connection_used_before_is_ambiguous_and_not_sent_again(
    gateway: Peer, broken: Answer, method: str, body: bytes | None
) -> None:
    client = HttpClient(gateway.url)
    gateway.answers(accepted(), broken)
    post(client)
    with pytest.raises(Ambiguous):
        wait_for(lambda done: client.begin(method, "/x", body, {}, done))
    assert len(gateway.requests) == 2


def test_an_answer_that_closes_its_connection_is_whole(gateway: Peer) -> None:
    gateway.answers(raw(http_bytes(200, b"bye", {"Connection": "close"})))
    client = HttpClient(gateway.url)
    assert post(client) == b"bye"
    assert post(client)


def test_an_error_text_has_no_credentials_of_the_address(free_port: int) -> None:
    with pytest.raises(NotSent) as caught:
        post(HttpClient(f"http://user:secret@127.0.0.1:{free_port}"))
    assert "secret" not in str(caught.value)


def test_a_get_carries_its_query_and_no_body(gateway: Peer) -> None:
    gateway.answers(answer(404, b"none"))
    response = HttpClient(gateway.url + "/base").get("/x?page=2&q=a+b%26c", {"X-Y": "1"})
    (request,) = gateway.requests
    assert (response.status, response.body) == (404, b"none")
    assert (request.path, request.raw, request.headers["x-y"]) == ("/base/x?page=2&q=a+b%26c", b"", "1")


def test_a_pinned_address_is_connected_to_as_the_host_of_the_url(gateway: Peer) -> None:
    port = gateway.url.rpartition(":")[2]
    client = HttpClient(f"http://media.invalid:{port}", address="127.0.0.1")
    assert post(client)
    assert gateway.requests[0].headers["host"] == f"media.invalid:{port}"


def test_a_pinned_address_is_asked_for_the_certificate_of_the_host() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        hello = []

        def take() -> None:
            connection, _ = listener.accept()
            with connection:
                hello.append(connection.recv(4096))

        taking = threading.Thread(target=take)
        taking.start()
        with pytest.raises(NotSent):
            post(HttpClient(f"https://media.invalid:{listener.getsockname()[1]}", address="127.0.0.1"))
        taking.join()
    assert b"media.invalid" in hello[0]


def test_many_requests_are_under_way_at_once_and_none_needs_a_thread(gateway: Peer) -> None:
    stop, answers = threading.Event(), SimpleQueue[object]()
    gateway.by_default = waiting(b"", stop)
    client = HttpClient(gateway.url)
    threads = set(threading.enumerate())
    for _ in range(100):
        client.begin("POST", "/x", b"{}", HEADERS, answers.put)
    gateway.wait_for_requests(100)
    ours = [thread for thread in set(threading.enumerate()) - threads if "_serve" not in thread.name]
    assert len(ours) <= 1
    assert answers.empty()
    stop.set()
    assert all(isinstance(answers.get(timeout=PATIENCE), Ambiguous) for _ in range(100))


def test_requests_that_begin_while_the_thread_sleeps_wake_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", lambda thread: None)
    loop = _Loop()
    loop._asleep = True
    for _ in range(3):
        loop.run(lambda: None)
    assert loop._woken.recv(10) == b"w"


def test_a_peer_that_hangs_holds_up_no_other(gateway: Peer) -> None:
    stop = threading.Event()
    gateway.answers(waiting(b"", stop))
    HttpClient(gateway.url).begin("POST", "/x", b"{}", HEADERS, lambda answer: None)
    with peer() as other:
        assert post(HttpClient(other.url))
    stop.set()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_defect_of_who_takes_an_answer_ends_no_other_request_and_says_no_word_of_it(
    gateway: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    client = HttpClient(gateway.url)
    taken = threading.Event()

    def broken(answer: object) -> None:
        taken.set()
        raise ValueError(str(answer))

    client.begin("POST", "/x", b"{}", HEADERS, broken)
    assert post(client)
    assert taken.wait(PATIENCE)  # the other answer may come first
    assert post(client)
    assert 'a defect in "http", ValueError at ' in caplog.text and "chatMessageId" not in caplog.text


def streamed(client: HttpClient, idle: float = 20.0, seconds: float = 20.0) -> bytes:
    with client.stream("POST", "/x", b"{}", HEADERS, idle_seconds=idle, seconds=seconds) as answer:
        return b"".join(answer.chunks)


def waiting(prefix: bytes, stop: threading.Event) -> Answer:
    def write(connection: socket.socket) -> bool:
        connection.sendall(prefix)
        stop.wait()
        return False

    return write


def test_a_stream_gives_what_has_come_before_the_rest_is_there(gateway: Peer) -> None:
    go_on = threading.Event()

    def write(connection: socket.socket) -> bool:
        connection.sendall(STREAM + b"3\r\none\r\n")
        go_on.wait()
        connection.sendall(b"3\r\ntwo\r\n0\r\n\r\n")
        return True

    gateway.answers(write)
    with HttpClient(gateway.url).stream("POST", "/x", b"{}", HEADERS, idle_seconds=20, seconds=20) as answer:
        assert (answer.status, answer.headers["transfer-encoding"]) == (200, "chunked")
        assert next(answer.chunks) == b"one"
        go_on.set()
        assert list(answer.chunks) == [b"two"]


def test_a_stream_without_a_length_ends_with_its_connection(gateway: Peer) -> None:
    gateway.answers(raw(b"HTTP/1.1 200 OK\r\n\r\nall of it"))
    assert streamed(HttpClient(gateway.url)) == b"all of it"


def test_a_connection_is_used_again_after_a_stream_that_was_read_to_its_end(gateway: Peer) -> None:
    gateway.answers(raw(STREAM + b"3\r\none\r\n0\r\n\r\n", keep=True), accepted())
    client = HttpClient(gateway.url)
    streamed(client)
    post(client)
    assert [request.connection for request in gateway.requests] == [1, 1]


def test_leaving_a_stream_drops_its_connection(gateway: Peer) -> None:
    stop = threading.Event()
    gateway.answers(waiting(STREAM + b"3\r\none\r\n", stop), accepted())
    client = HttpClient(gateway.url)
    with client.stream("POST", "/x", b"{}", HEADERS, idle_seconds=20, seconds=20) as answer:
        next(answer.chunks)
    post(client)
    stop.set()
    assert [request.connection for request in gateway.requests] == [1, 2]


@pytest.mark.parametrize("prefix", [b"", STREAM, STREAM + b"3\r\none\r\n"], ids=["no head", "no body", "half a body"])
def test_a_silent_stream_is_told_from_a_late_one(gateway: Peer, prefix: bytes) -> None:
    stop = threading.Event()
    gateway.by_default = waiting(prefix, stop)
    with pytest.raises(Silent, match="timed out"):
        streamed(HttpClient(gateway.url), idle=0.1)
    assert isinstance(late(lambda: streamed(HttpClient(gateway.url), seconds=0.1)), DeadlinePassed)
    stop.set()


def test_a_stream_that_drips_is_never_silent_but_ends_at_the_deadline(gateway: Peer) -> None:
    stop = threading.Event()
    gateway.by_default = dripping(b"HTTP/1.1 200 OK\r\n\r\n", stop)
    assert isinstance(late(lambda: streamed(HttpClient(gateway.url), idle=5, seconds=0.3)), DeadlinePassed)
    stop.set()


@pytest.mark.parametrize(
    "data",
    [STREAM + b"5\r\nab", STREAM + b"2\r\nab\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab"],
    ids=["in a chunk", "after a chunk", "before the length"],
)
def test_a_cut_stream_is_neither_silent_nor_late(gateway: Peer, data: bytes) -> None:
    gateway.answers(raw(data))
    with pytest.raises(Ambiguous) as caught:
        streamed(HttpClient(gateway.url))
    assert type(caught.value) is Ambiguous


def test_an_endless_stream_is_cut_at_the_limit(gateway: Peer) -> None:
    gateway.answers(raw(STREAM + b"50\r\n" + b"x" * 0x50 + b"\r\n" + b"50\r\n" + b"x" * 0x50 + b"\r\n"))
    with pytest.raises(Oversized, match="more than 100 bytes"):
        streamed(HttpClient(gateway.url, body_limit=100))


def test_a_stream_that_never_began_was_not_sent(free_port: int) -> None:
    with pytest.raises(NotSent):
        streamed(HttpClient(f"http://127.0.0.1:{free_port}"))
