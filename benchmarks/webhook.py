"""From a signed webhook to a sent reply: ``python -m benchmarks.webhook``. Ratios against a floor of the same run.

Limits are raised on both sides. Everything shares this machine: sender, server and the gateway's emulator.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from benchmarks.load import SECRET

HERE = Path(__file__).parent
KEY = "benchmark-key"
UNLIMITED = 1_000_000


@contextmanager
def process(
    *arguments: str, nice: int = 0, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process of ours, ended with the block. ``nice`` is by how much it yields to the others."""
    command = [sys.executable, *arguments]
    merged = {**os.environ, **(environment or {})}
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=merged, preexec_fn=partial(os.nice, nice))
    try:
        yield child
    finally:
        child.send_signal(signal.SIGTERM)
        child.wait(40)


def first_line(child: subprocess.Popen[str]) -> str:
    """What a process prints when it is up."""
    assert child.stdout is not None
    return child.stdout.readline().strip()


@contextmanager
def emulator(latency_ms: int = 0) -> Iterator[str]:
    """The gateway's emulator without limits; its address."""
    arguments = ["--per-minute", UNLIMITED, "--per-day", UNLIMITED, "--latency-ms", latency_ms, "--keep", 1000]
    threads = ["--threads", 400 if latency_ms else 16, "--api-key", KEY, "--set", "window=open"]
    # in real life it is elsewhere: it must not take the door's time
    with process("-m", "bot.emulator", *map(str, [*arguments, *threads]), nice=19) as child:
        yield first_line(child)


@contextmanager
def server(folder: Path, gateway: str) -> Iterator[tuple[str, int, float]]:
    """``bot serve``; its address, its process id and the seconds until it took its first event."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    settings: dict[str, str] = {
        "BOT_GATEWAY_URL": gateway,
        "BOT_GATEWAY_KEY": KEY,
        "BOT_WEBHOOK_SECRET": SECRET,
        "BOT_GATEWAY_PER_MINUTE": str(UNLIMITED),
        "BOT_GATEWAY_PER_DAY": str(UNLIMITED),
        "BOT_STORE": str(folder / "bot.db"),
        "BOT_PORT": str(port),
    }
    started = time.perf_counter()
    with process("-m", "bot", "serve", str(HERE / "bot"), environment=settings) as child:
        url = f"http://127.0.0.1:{port}"
        while True:
            try:
                load(url, events=1, contacts=1, connections=1, name=f"first{port}")
                break
            except subprocess.CalledProcessError:
                time.sleep(0.01)
        yield url, child.pid, time.perf_counter() - started


def load(url: str, **options: Any) -> dict[str, float]:
    """Send events from a process of their own."""
    arguments = [text for name, value in options.items() for text in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "benchmarks.load", url, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seen: dict[str, float] = json.loads(done.stdout)
    return seen


def count(gateway: str) -> int:
    """How many messages the emulator has accepted."""
    with urlopen(Request(f"{gateway}/emulator/counts")) as answer:
        return int(json.load(answer).get("accepted", 0))


def wait_for(gateway: str, messages: int, longest: float = 300) -> float:
    """The time at which the emulator had so many messages."""
    until = time.time() + longest
    while count(gateway) < messages:
        assert time.time() < until, f"{count(gateway)} of {messages} messages after {longest} s"
        time.sleep(0.05)
    return time.time()


def memory(pid: int) -> float:
    """The sum of the proportional set sizes of a process and its children, in MB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    total = 0
    for process_id in (str(pid), *children):
        for line in Path(f"/proc/{process_id}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def measure_floor(events: int) -> float:
    """Events a second that the floor acknowledges."""
    with tempfile.TemporaryDirectory() as folder, process("-m", "benchmarks.floor", f"{folder}/bot.db") as child:
        url = first_line(child)
        load(url, events=1000, name="warm")
        return load(url, events=events)["per_second"]


def measure_path(events: int, latency_ms: int = 0) -> tuple[float, float, float]:
    """Acknowledged and replied to, events a second; and the seconds to the first acknowledgement."""
    with tempfile.TemporaryDirectory() as folder, emulator(latency_ms) as gateway:
        with server(Path(folder), gateway) as (url, _, start):
            load(url, events=1000, name="warm")
            wait_for(gateway, 1001)
            seen = load(url, events=events)
            assert not seen["refused"], f"{seen['refused']} events refused"
            ended = wait_for(gateway, 1001 + events)
            return seen["per_second"], events / (ended - seen["started"]), start


def measure_quiet(seconds: int) -> dict[str, float]:
    """Acknowledgements at 50 events a second."""
    with tempfile.TemporaryDirectory() as folder, emulator() as gateway:
        with server(Path(folder), gateway) as (url, _, _):
            load(url, events=200, name="warm")
            return load(url, events=50 * seconds, rate=50)


def measure_memory(contacts: int) -> float:
    """MB of all processes once so many contacts are in a conversation."""
    with tempfile.TemporaryDirectory() as folder, emulator() as gateway:
        with server(Path(folder), gateway) as (url, pid, _):
            for part in range(0, contacts, 20_000):
                load(url, events=20_000, contacts=contacts, name=f"part{part}")
            wait_for(gateway, contacts)
            return memory(pid)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=10_000)
    parser.add_argument("--contacts", type=int, default=100_000, help="for the memory; 0 leaves it out")
    given = parser.parse_args()
    floor = measure_floor(given.events)
    print(f"floor: a bare view, acknowledged        {floor:8.0f} events/s   1.00")
    acknowledged, replied, start = measure_path(given.events)
    print(f"acknowledged                            {acknowledged:8.0f} events/s   {acknowledged / floor:.2f}")
    print(f"replied to, end to end                  {replied:8.0f} events/s   {replied / floor:.2f}")
    _, slow, _ = measure_path(given.events, latency_ms=100)
    print(f"replied to, the gateway takes 100 ms    {slow:8.0f} events/s   {slow / floor:.2f}")
    quiet = measure_quiet(20)
    print(f"acknowledgement at 50 events/s          p50 {quiet['p50'] * 1000:.1f} ms, p99 {quiet['p99'] * 1000:.1f} ms")
    print(f"start to the first acknowledged event   {start:8.2f} s")
    if given.contacts:
        print(f"memory with {given.contacts:,} contacts             {measure_memory(given.contacts):8.0f} MB")


if __name__ == "__main__":
    main()
