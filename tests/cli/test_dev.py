"""`bot dev` as a process."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO
from urllib.request import urlopen

import pytest

from bot.pages.playground.playground_server import PortTaken, _listening
from tests.cli.terminal import call, make_bot
from tests.patience import PATIENCE

FLOWS = "flow: main\nstart: {otherwise: true}\nsteps:\n  a: {say: Hi, then: end}\n"


@contextmanager
def started(folder: Path, *options: str, **environ: str) -> Iterator[subprocess.Popen[str]]:
    """`bot dev` on a folder. It is killed at the end: a test that fails does not wait for it."""
    command = [sys.executable, "-m", "bot", "dev", str(folder), "--port", "0", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | environ
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def prints(output: IO[str], words: str) -> None:
    """Read up to a line with these words: while files are being written, there may be others before it."""
    assert any(words in line for line in output)


def test_a_test_that_fails_does_not_wait_for_the_bot(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with pytest.raises(AssertionError, match="failed"), started(tmp_path) as process:
        raise AssertionError("failed")
    assert process.wait(PATIENCE) == -signal.SIGKILL


def test_it_prints_its_address_serves_the_page_loads_saved_flows_and_ends_cleanly(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with started(tmp_path) as process:
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        address = re.fullmatch(r"Test Bot is at (http://127\.0\.0\.1:\d+/)\. Ctrl-C ends it\.\n", line)
        assert address is not None, line
        with urlopen(address[1], timeout=PATIENCE) as page:
            text = page.read().decode()
            assert "<title>Test Bot · playground</title>" in text and "editing.js" in text
        with urlopen(f"{address[1]}contact/15555550100/live", timeout=PATIENCE) as live:
            assert live.readline().startswith(b"data: ")
            make_bot(tmp_path, FLOWS.replace("say", "sya"))
            prints(process.stdout, "E107")
            make_bot(tmp_path, FLOWS)
            prints(process.stdout, "loaded again")
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE) == 0
        assert process.stderr.read() == ""


def test_no_text_can_be_edited_where_it_is_read_only(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS)
    with started(tmp_path, "--read-only") as process:
        assert process.stdout is not None
        address = process.stdout.readline().split(" ")[4].rstrip(".")
        with urlopen(address, timeout=PATIENCE) as page:
            assert "editing.js" not in page.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def test_a_port_that_is_taken_is_passed_over_unless_it_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with _listening([port, 0]) as listener:
            assert listener.getsockname()[1] != port
        with pytest.raises(PortTaken, match=f"port {port} is taken: name another one"):
            _listening([port])


@pytest.mark.parametrize("ended", [signal.SIGINT, signal.SIGTERM])
def test_it_leaves_nothing_behind(tmp_path: Path, ended: signal.Signals) -> None:
    make_bot(tmp_path / "bot", FLOWS)
    kept = tmp_path / "tmp"
    kept.mkdir()
    with started(tmp_path / "bot", TMPDIR=str(kept)) as process:
        assert process.stdout is not None and process.stderr is not None
        assert "Ctrl-C ends it" in process.stdout.readline()
        assert list(kept.iterdir()) != []
        process.send_signal(ended)
        assert process.wait(PATIENCE) == 0
        assert process.stdout.read() == "The bot ends.\n" and process.stderr.read() == ""
    assert list(kept.iterdir()) == []


def test_a_bot_with_problems_is_not_shown(tmp_path: Path) -> None:
    make_bot(tmp_path, FLOWS.replace("say", "sya"))
    outcome = call("dev", tmp_path)
    assert outcome.code == 1 and "E107" in outcome.out
