"""What comes from outside costs nothing: no 5xx, no traceback (the fixture looks), and no neighbour's event."""

import json
import socket

import pytest

from tests.patience import PATIENCE
from tests.server.process.serving import Serving, body_of

CONNECTIONS = 480
DEEP = 100_000
NUL = b'{"id": "nul", "event": "message.inbound", "data": {"from": "62\\u0000", "type": "text", "body": "a\\u0000b"}}'
SURROGATE = b'{"id": "\\ud800", "event": "\\udfff", "data": {"from": "628123", "type": "text", "body": "\\ud83d"}}'
BODIES = {
    "truncated": body_of("cut")[:-9],
    "nested": b"[" * DEEP + b"]" * DEEP,
    "nested data": b'{"id": "deep", "event": "message.inbound", "data": '
    + b'{"from": ' * DEEP
    + b"1"
    + b"}" * DEEP
    + b"}",
    "NUL escaped": NUL,
    "NUL bare": body_of("bare").replace(b"hi", b"h\0i") + b"\0",
    "surrogate escaped": SURROGATE,
    "surrogate bare": body_of("half").replace(b"hi", b"\xed\xa0\x80"),
    "no JSON": b"\xff\xfe\x00",
    "empty": b"",
    "huge number": b'{"id": ' + b"9" * 5000 + b', "event": "message.inbound"}',
    "no number": json.dumps({"id": float("nan"), "event": ["x"], "timestamp": float("inf"), "data": 7}).encode(),
}


def test_no_body_whatever_gets_a_5xx_or_costs_a_neighbours_event(shared: Serving) -> None:
    serving, before = shared, len(shared.kept())
    for number, (name, raw) in enumerate(BODIES.items()):
        assert serving.post_raw(raw, f"d-{number}") == 200, name
        assert serving.post_raw(raw, f"d-{number}", secret="guessed") == 401, name
        assert serving.post_raw(raw, f"d-{number}", age=301) == 401, name
        assert serving.post(f"neighbour-{number}") == 200
    assert serving.post("neighbour-0") == 200  # a replay
    assert serving.post_raw(b" " * 10_000_000, "huge") == 413
    assert serving.post_raw(b" " * 10_000_000, "huge", secret="guessed") == 413
    assert serving.post("last") == 200

    kept = serving.kept()
    neighbours = [f"neighbour-{number}" for number in range(len(BODIES))]
    assert [id for id in kept if id.startswith("neighbour")] == neighbours
    assert len(kept) == before + 2 * len(BODIES) + 1
    serving.settle(len(kept))


def test_senders_that_drip_their_requests_keep_nobody_out_though_they_take_every_place(
    shared: Serving,
) -> None:
    serving, before = shared, len(shared.kept())
    dripping = []
    for number in range(CONNECTIONS + 20):
        client = socket.create_connection(("127.0.0.1", serving.port), PATIENCE)
        client.sendall(
            b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Le" + (b"ngth: 9\r\n\r\n1" if number % 2 else b"")
        )
        dripping.append(client)
    for number in range(20):
        assert serving.post(f"beside-{number}") == 200
    assert dripping[0].recv(1) == b""  # who has waited longest makes room
    for client in dripping:
        client.close()
    assert len(serving.kept()) == before + 20


@pytest.mark.parametrize("start", [b"", b"POST /webhook HTTP/1.1\r\nX-Long: ", b"\x16\x03\x01"])
def test_what_never_becomes_a_request_ends_with_its_connection(shared: Serving, start: bytes) -> None:
    with socket.create_connection(("127.0.0.1", shared.port), PATIENCE) as client:
        client.sendall(start)
        client.shutdown(socket.SHUT_WR)
        while client.recv(1000):
            pass
    assert shared.post(f"after {start!r}") == 200
