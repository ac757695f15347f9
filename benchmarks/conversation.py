"""Whole conversations with a real server: ``python -m benchmarks.conversation``. Ratios to a floor of the same run.

Customers order something in four messages (``benchmarks/order``) and check every word of the replies; each writes its
next message when it has the reply to its last. They and the gateway are this process; `bot serve` and the floor
(`benchmarks.floor`, the least Python that does the same durable job) are other processes on a core of their own.
"""

import argparse
import asyncio
import hashlib
import hmac
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any

HERE = Path(__file__).parent
SECRET = "secret-of-the-benchmark-0123456789"
UNLIMITED = "1000000"
CONNECTIONS = 32
MOST_OPEN = 128  # events that are sent and not answered by a reply yet; of a slow gateway, `SLOW_OPEN`
SLOW_OPEN = 1000
COLOURS = ("Red", "Blue", "Green")
ANSWER = b'{"success":true,"data":{"messageId":"m1","chatMessageId":"c1"}}'
_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
_CLOCK_TICKS = os.sysconf("SC_CLK_TCK")

Event = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class Extra:
    """More settings for `bot serve`."""

    arguments: tuple[str, ...] = ()
    module: str = "bot"  # or one that runs it
    settings: Mapping[str, str] = field(default_factory=dict)


def conversation(contact: int) -> Iterator[tuple[str, str]]:
    """A contact's texts and taps, without end, each with the reply that must follow; every fifth gives a wrong answer
    first.
    """
    for turn in count():
        colour, number = COLOURS[(contact + turn) % 3], (contact * 7 + turn) % 99 + 1
        yield "hi", "Welcome! Pick a colour"
        yield colour, "quantity 1-99?"
        if contact % 5 == 0:
            yield "abc", "invalid number, quantity 1-99?"
        yield str(number), f"Confirm-{number}x{colour}"
        yield "Yes", f"Done-{number}x{colour}"


@dataclass
class Customer:
    """A contact: what comes next, and the buttons of the last message."""

    number: int
    script: Iterator[tuple[str, str]] = field(init=False)
    buttons: dict[str, str] = field(default_factory=dict)
    expected: str = ""
    sent_at: float = 0.0

    def __post_init__(self) -> None:
        self.script = conversation(self.number)

    def event(self, id: str) -> bytes:
        """The body of the next event (spec: Events)."""
        text, self.expected = next(self.script)
        now = int(time.time())
        data: dict[str, Any] = {"message_id": f"wamid.{id}", "from": str(self.phone), "timestamp": now}
        if text in self.buttons:
            button = {"id": self.buttons[text], "title": text}
            name = "message.interactive_reply"
            data |= {"interactive": {"type": "button", "button": button}}
        else:
            name = "message.inbound"
            data |= {"to": "6281000000000", "type": "text", "body": text, "media_url": None}
        return json.dumps({"id": id, "event": name, "timestamp": now, "data": data}).encode()

    @property
    def phone(self) -> int:
        """Its number."""
        return 6_280_000_000_000 + self.number

    def reads(self, message: Mapping[str, Any]) -> bool:
        """Read a reply; whether it is what it must be."""
        shown = message.get("interactive", {})
        replies = shown.get("action", {}).get("buttons", ())
        self.buttons = {button["reply"]["title"]: button["reply"]["id"] for button in replies}
        body = shown["body"]["text"] if shown else message["text"]["body"]
        return bool(body == self.expected)


class Requests(asyncio.Protocol):
    """Reads whole HTTP messages, of either side."""

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._data = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        while True:
            head, found, rest = self._data.partition(b"\r\n\r\n")
            if not found:
                return
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            if len(rest) < length:
                return
            body, self._data = rest[:length], rest[length:]
            self.message(head, body)

    def message(self, head: bytes, body: bytes) -> None:
        """Take a message."""
        raise NotImplementedError


class Town:
    """The customers, and the gateway that they write by and read from."""

    def __init__(self, contacts: int) -> None:
        self.customers = [Customer(number) for number in range(contacts)]
        self.ready = deque(self.customers)
        self.acknowledged: list[float] = []
        self.replied: list[float] = []
        self.wrong = self.refused = self.open = 0
        self.latency = 0.0
        self.most_open = MOST_OPEN
        self.rate: float | None = None
        self.paused = True
        self._by_phone = {str(customer.phone): customer for customer in self.customers}
        self._senders: deque[Sender] = deque()
        self._ids = count()
        self._run = os.urandom(4).hex()

    async def begin(self, port: int, began: float) -> float:
        """Connect to a server once it has answered; the seconds from ``began`` to the first acknowledged event."""
        stranger = Customer(999_999)  # who sends the first event
        stranger.expected = "Welcome! Pick a colour"
        self._by_phone[str(stranger.phone)] = stranger
        self.open = 1
        start = await first_answer(port, began)
        while self.open:
            await asyncio.sleep(0.01)
        self.ready = deque(self.customers)
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            await loop.create_connection(lambda: Sender(self), "127.0.0.1", port)
        return start

    def free(self, sender: "Sender") -> None:
        """A connection can be used."""
        self._senders.append(sender)
        if self.rate is None:
            self.go_on()

    def go_on(self) -> None:
        """Send all that can be sent."""
        while self._can_send():
            self.send_one()

    def _can_send(self) -> bool:
        return bool(not self.paused and self.ready and self._senders and self.open < self.most_open)

    def send_one(self) -> None:
        """Send the next event of the customer who has waited longest."""
        if not (self.ready and self._senders):
            return
        customer, sender = self.ready.popleft(), self._senders.popleft()
        id = f"{self._run}-{next(self._ids)}"
        self.open += 1
        customer.sent_at = sender.sent_at = time.perf_counter()
        sender.transport.write(signed(customer.event(id), id))

    def reply(self, body: bytes) -> None:
        """A reply reaches the gateway."""
        message = json.loads(body)
        customer = self._by_phone[message["to"]]
        self.replied.append(time.perf_counter() - customer.sent_at)
        self.wrong += not customer.reads(message)
        self.open -= 1
        self.ready.append(customer)
        if self.rate is None:
            self.go_on()

    async def talk(self, seconds: float, rate: float | None = None) -> float:
        """Talk for so long, and wait for the last replies. Returns the seconds that it took."""
        self.acknowledged.clear()
        self.replied.clear()
        self.rate, self.paused, sent = rate, False, 0
        begun = time.perf_counter()
        self.go_on() if rate is None else None
        while (now := time.perf_counter()) < begun + seconds:
            if rate is None:
                await asyncio.sleep(0.05)
            else:
                await asyncio.sleep(max(0.0, begun + sent / rate - now))
                self.send_one()
                sent += 1
        self.paused = True
        took = time.perf_counter() - begun
        until = time.perf_counter() + 20
        while self.open and time.perf_counter() < until:
            await asyncio.sleep(0.01)
        assert not self.open, f"{self.open} events have no reply"
        return took


def signed(body: bytes, id: str) -> bytes:
    """A delivery of the gateway's (spec: Events)."""
    now = str(int(time.time()))
    signature = hmac.new(SECRET.encode(), now.encode() + b"." + body, hashlib.sha256).hexdigest()
    head = (
        f"POST /webhook HTTP/1.1\r\nHost: bot.example\r\nContent-Type: application/json\r\n"
        f"X-Service-Timestamp: {now}\r\nX-Service-Delivery-Id: d-{id}\r\n"
        f"X-Service-Signature: sha256={signature}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


class Sender(Requests):
    """A connection of the gateway's to the webhook."""

    def __init__(self, town: Town) -> None:
        super().__init__()
        self._town = town
        self.sent_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._town.free(self)

    def message(self, head: bytes, body: bytes) -> None:
        self._town.acknowledged.append(time.perf_counter() - self.sent_at)
        self._town.refused += head.split()[1] != b"200"
        self._town.free(self)


class GatewayConnection(Requests):
    """A connection of the bot's to the gateway."""

    def __init__(self, town: Town) -> None:
        super().__init__()
        self._town = town

    def message(self, head: bytes, body: bytes) -> None:
        loop = asyncio.get_running_loop()
        if self._town.latency:
            loop.call_later(self._town.latency, self._answer)
        else:
            self._answer()
        self._town.reply(body)

    def _answer(self) -> None:
        self.transport.write(_HEAD % len(ANSWER) + ANSWER)


def unused_port() -> int:
    """A port that nobody listens at."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def own_core() -> None:
    """Leave the first core to the servers."""
    if (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(0, set(range(1, os.cpu_count() or 1)))


@contextmanager
def server(name: str, gateway: int, folder: str, extra: Extra) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """`bot serve`, or the floor, as a process on the first core; and its port."""
    port = unused_port()
    ours = [sys.executable, "-m", extra.module, "serve", *extra.arguments, str(HERE / "order")]
    floor = [sys.executable, "-m", "benchmarks.floor", folder, str(port), str(gateway)]
    settings = {
        "BOT_GATEWAY_URL": f"http://127.0.0.1:{gateway}",
        "BOT_GATEWAY_KEY": "key",
        "BOT_WEBHOOK_SECRET": SECRET,
        "BOT_GATEWAY_PER_MINUTE": UNLIMITED,
        "BOT_GATEWAY_PER_DAY": UNLIMITED,
        "BOT_STORE": f"{folder}/bot.db",
        "BOT_PORT": str(port),
        **extra.settings,
    }
    child = subprocess.Popen(
        floor if name == "floor" else ours,
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        preexec_fn=lambda: os.sched_setaffinity(0, {0}),
    )
    try:
        yield child, port
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(40)


def family(pid: int) -> list[int]:
    """A process and all that it has started."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return [pid, *(each for child in children for each in family(int(child)))]


def cpu_of(pid: int) -> float:
    """The seconds of CPU that a process and all that it has started have used."""
    ticks = 0
    for each in family(pid):
        fields = Path(f"/proc/{each}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / _CLOCK_TICKS


def memory_of(pid: int) -> float:
    """The sum of the proportional set sizes of a process and all that it has started, in MB."""
    lines = (line for each in family(pid) for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines())
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


async def first_answer(port: int, began: float) -> float:
    """Send one event again and again until it is acknowledged; the seconds since ``began``."""
    body = Customer(999_999).event("first")
    while True:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(signed(body, "first"))
            if b" 200 " in await reader.readline():
                return time.perf_counter() - began
        except OSError:
            pass
        await asyncio.sleep(0.003)


async def measured(
    name: str,
    seconds: float,
    extra: Extra = Extra(),
    watched: Callable[[Extra], AbstractContextManager[None]] | None = None,
    database: int | None = None,
) -> dict[str, float]:
    """All figures of one server; ``watched`` is entered when the server answers, ``database`` is PostgreSQL's
    process.
    """
    town = Town(1000)
    loop = asyncio.get_running_loop()
    gateway = await loop.create_server(lambda: GatewayConnection(town), "127.0.0.1", 0, backlog=1024)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        with server(name, gateway.sockets[0].getsockname()[1], folder, extra) as (child, port), ExitStack() as more:
            found["start"] = await town.begin(port, began)
            if watched is not None:
                more.enter_context(watched(extra))
            await town.talk(1.0)
            found["memory"] = memory_of(child.pid)

            async def phase(phase: str, rate: float | None = None) -> None:
                used = {"cpu": child.pid, **({"database": database} if database else {})}
                before = {what: cpu_of(pid) for what, pid in used.items()}
                took = await town.talk(seconds, rate)
                for what, pid in used.items():
                    found[f"{phase} {what}"] = (cpu_of(pid) - before[what]) / len(town.replied) * 1e6
                found[f"{phase} rate"] = len(town.replied) / took
                found[f"{phase} reply"] = median(town.replied) * 1000
                found[f"{phase} late"] = quantiles(town.replied, n=100)[-1] * 1000

            await phase("full")
            await phase("quiet", 50)
            town.latency, town.most_open = 0.1, SLOW_OPEN
            await phase("slow")
            await asyncio.sleep(5 * town.latency)  # the server ends at once when it has the last answers
    assert not (town.wrong or town.refused), f"{town.wrong} wrong replies, {town.refused} refused events"
    gateway.close()
    return found


@contextmanager
def postgres_store() -> Iterator[tuple[str, int]]:
    """The address of a new store in PostgreSQL, which flushes each commit to the same disk; and its process."""
    from tests.postgres import new_database, postgres_server

    with (
        postgres_server(("listen_addresses=", "shared_buffers=512MB", "max_wal_size=4GB")) as postgres,
        new_database(postgres, postgres.folder, "template0") as store,
    ):
        yield store.url, int((postgres.folder / "data" / "postmaster.pid").read_text().split()[0])


async def measured_in_postgres(name: str, seconds: float) -> dict[str, float]:
    """All figures of one server with a store in PostgreSQL."""
    with postgres_store() as (url, process):
        return await measured(name, seconds, Extra(settings={"BOT_STORE": url}), database=process)


ROWS: tuple[tuple[str, str, str], ...] = (
    ("full rate", "events/s, each with its reply", "{:,.0f}"),
    ("full cpu", "CPU us an event", "{:,.0f}"),
    ("slow rate", "events/s, the gateway takes 100 ms", "{:,.0f}"),
    ("quiet reply", "ms to the reply, median, at 50 events/s", "{:.2f}"),
    ("quiet late", "ms to the reply, 99 of 100, at 50 events/s", "{:.2f}"),
    ("quiet cpu", "CPU us an event at 50 events/s", "{:,.0f}"),
    ("start", "s to the first acknowledged event", "{:.2f}"),
    ("memory", "MB of all processes", "{:.0f}"),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each phase")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--postgres", action="store_true", help="compare with a store in PostgreSQL, not with the floor"
    )
    parser.add_argument("--most", type=float, help="end with 1 if an event takes more CPU than so many floors")
    parser.add_argument("--timeline", action="store_true", help="show what a reply waits for at 50 events a second")
    given = parser.parse_args()
    own_core()
    if given.timeline:
        from benchmarks.timeline import show  # which imports this

        show(given.seconds, given.rounds, postgres=given.postgres)
        return
    one, other = ("postgres", "sqlite") if given.postgres else ("ours", "floor")
    rounds: dict[str, list[dict[str, float]]] = {other: [], one: []}
    for _ in range(given.rounds):
        for name, results in rounds.items():
            run = measured_in_postgres if name == "postgres" else measured
            results.append(asyncio.run(run(name, given.seconds)))
    print(f"{'':42} {one:>9} {other:>9} {'ratio':>7}")
    ratios = {}
    for key, words, form in ROWS:
        mine, theirs = (median(result[key] for result in rounds[name]) for name in (one, other))
        ratios[key] = mine / theirs
        print(f"{words:42} {form.format(mine):>9} {form.format(theirs):>9} {ratios[key]:7.2f}")
    if given.postgres:
        full, quiet = (median(result[f"{phase} database"] for result in rounds[one]) for phase in ("full", "quiet"))
        print(f"PostgreSQL itself takes {full:,.0f} us of CPU for an event, at 50 events/s {quiet:,.0f}")
    if given.most is not None and ratios["full cpu"] > given.most:
        sys.exit(f"an event takes the CPU of {ratios['full cpu']:.1f} floors, more than {given.most:g}")


if __name__ == "__main__":
    main()
