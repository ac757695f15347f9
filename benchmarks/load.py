"""A sender of signed events: ``python -m benchmarks.load URL ...`` prints what it saw as one line of JSON.

One thread and one poll over all connections, requests built and signed beforehand: it takes as little of the
machine as it can, since it shares it with what is measured.
"""

import argparse
import hashlib
import hmac
import json
import selectors
import socket
import time
from collections import deque
from collections.abc import Iterator
from urllib.parse import urlsplit

SECRET = "benchmark-secret"
FIRST_CONTACT = 6_280_000_000_000


def request(host: str, contact: int, number: int, run: str) -> bytes:
    """One delivery of ``message.inbound``, as the specification has it."""
    now = str(int(time.time()))
    event = f"{run}-{number}"
    body = json.dumps(
        {
            "id": event,
            "event": "message.inbound",
            "timestamp": int(now),
            "data": {
                "message_id": f"wamid.{event}",
                "from": str(FIRST_CONTACT + contact),
                "to": "6281000000000",
                "type": "text",
                "body": "blue",
                "media_url": None,
                "timestamp": int(now),
                "conversation_id": f"c{contact}",
            },
        }
    ).encode()
    signature = hmac.new(SECRET.encode(), now.encode() + b"." + body, hashlib.sha256).hexdigest()
    head = (
        f"POST /webhook HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"X-Service-Event: message.inbound\r\nX-Service-Timestamp: {now}\r\n"
        f"X-Service-Delivery-Id: d-{event}\r\nX-Service-Signature: sha256={signature}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Connection:
    """One kept-alive connection and the requests that go over it, one at a time."""

    def __init__(self, address: tuple[str, int], requests: deque[bytes]) -> None:
        self.requests = requests
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answer = b""
        self.sent_at = 0.0

    def send(self) -> None:
        """Send the next request."""
        self.answer = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.requests.popleft())

    def receive(self) -> int | None:
        """Read what has come; the status once the answer is whole."""
        self.answer += self.socket.recv(65536)
        head, found, body = self.answer.partition(b"\r\n\r\n")
        if not found:
            return None
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        return int(head[9:12]) if len(body) >= length else None


def paced(started: float, rate: float) -> Iterator[float]:
    """The times at which requests are to go, ``rate`` a second."""
    number = 0
    while True:
        yield started + number / rate
        number += 1


def run(url: str, events: int, contacts: int, connections: int, rate: float | None, name: str) -> dict[str, float]:
    """Send all events; each contact's go over one connection, so that their order is kept."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    queues: list[deque[bytes]] = [deque() for _ in range(connections)]
    for number in range(events):
        contact = number % contacts
        queues[contact % connections].append(request(f"{host}:{port}", contact, number, name))
    lines = [Connection((host, port), queue) for queue in queues if queue]
    took, refused = [], 0
    selector = selectors.DefaultSelector()
    for line in lines:
        selector.register(line.socket, selectors.EVENT_READ, line)
    wall, started = time.time(), time.perf_counter()
    idle: deque[Connection] = deque(lines)
    times = paced(started, rate) if rate else None
    due = next(times) if times else started
    open_requests = 0
    while open_requests or any(line.requests for line in lines):
        while idle and (times is None or time.perf_counter() >= due):
            line = idle.popleft()
            if line.requests:
                line.send()
                open_requests += 1
            if times is not None:
                due = next(times)
        wait = None if times is None or not idle else max(0.0, due - time.perf_counter())
        for key, _ in selector.select(wait):
            status = key.data.receive()
            if status is not None:
                took.append(time.perf_counter() - key.data.sent_at)
                refused += status != 200
                open_requests -= 1
                idle.append(key.data)
    seconds = time.perf_counter() - started
    took.sort()
    return {
        "started": wall,
        "seconds": seconds,
        "per_second": len(took) / seconds,
        "p50": took[len(took) // 2],
        "p99": took[int(len(took) * 0.99)],
        "most": took[-1],
        "refused": refused,
    }


def main() -> None:
    """Send, and print what was seen."""
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--contacts", type=int, default=1000)
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--rate", type=float)
    parser.add_argument("--name", default="run")
    given = parser.parse_args()
    print(json.dumps(run(given.url, given.events, given.contacts, given.connections, given.rate, given.name)))


if __name__ == "__main__":
    main()
