"""How much code one message and one flow file run through: ``python -m benchmarks.walk``.

``sys.setprofile`` notes each call of a function of ``bot/`` while a contact says "hi" to a bot with one flow of one
step (webhook, turn, delivery), and while that bot is read. Both are done once before, so that nothing is counted that
happens only at first.

The message's path is counted without the emulators, the code that moves the clock, and the thread that waits until the
bot has settled: a server has none of these. Everything that the server does for every message is counted, also the
metrics. A class without methods runs no code and is not counted. ``--list`` names the files, with their lines and the
functions on the way.
"""

import argparse
import sys
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import bot
from bot.core.clock import MovableClock
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.testing.simulation.simulation import Simulation

PACKAGE = Path(bot.__file__).parent
LEFT_OUT = ("testing/",)
EMULATORS = "emulator"
"""How the names of their threads begin."""
FLOW = """\
flow: greeting
start: {words: [hi]}
steps:
  greet: {say: Hello!}
"""


@dataclass
class Walk:
    """The calls: by each thread, in order, the file of each call; and how often each function."""

    files: dict[int, list[str]] = field(default_factory=lambda: defaultdict(list))
    functions: Counter[tuple[str, str]] = field(default_factory=Counter)
    running: bool = False
    waiting: int | None = None  # a thread that is left out

    def note(self, frame: FrameType, event: str, _argument: object) -> None:
        """A profile function: notes a call of ours."""
        if not self.running or event != "call" or threading.get_ident() == self.waiting:
            return
        if threading.current_thread().name.startswith(EMULATORS):
            return
        if frame.f_code is MovableClock._all_passed.__code__:  # a server's clock asks the machine
            return
        path = Path(frame.f_code.co_filename)
        if not path.is_relative_to(PACKAGE):
            return
        file = path.relative_to(PACKAGE).as_posix()
        if file.startswith(LEFT_OUT):
            return
        self.files[threading.get_ident()].append(file)
        if not frame.f_code.co_name.startswith("<"):  # a comprehension is a part of its function
            self.functions[file, frame.f_code.co_qualname] += 1

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the calls of this block."""
        self.running = True
        try:
            yield
        finally:
            self.running = False

    def report(self, what: str, *, names: bool) -> None:
        """Print the figures."""
        calls = sum(len(files) for files in self.files.values())
        changes = sum(sum(a != b for a, b in pairwise(files)) for files in self.files.values())
        opened = Counter(file for files in self.files.values() for file in files)
        print(
            f"{what}: {len(opened)} files, {len(self.functions)} functions, {changes} changes of file in {calls} calls"
        )
        if names:
            for file, count in sorted(opened.items()):
                functions = [name for other, name in self.functions if other == file]
                lines = len((PACKAGE / file).read_text().splitlines())
                print(f"  {file}: {lines} lines, {len(functions)} functions, {count} calls")
                print(f"    {', '.join(functions)}")


@contextmanager
def profiled(walk: Walk) -> Iterator[None]:
    """Profile this thread and all that begin in this block."""
    threading.setprofile(walk.note)
    sys.setprofile(walk.note)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def message(folder: Path) -> Walk:
    """The code that one "hi" runs through, from the webhook to the answer's delivery."""
    walk = Walk(waiting=threading.get_ident())
    program = load_program(read_folder(folder))
    with profiled(walk), Simulation(program, MovableClock(datetime(2030, 5, 6, 10, tzinfo=UTC))) as simulation:
        simulation.user("hi")
        with walk.noted():
            simulation.user("hi")
    return walk


def flow_file(folder: Path) -> Walk:
    """The code that reading the bot runs through."""
    walk = Walk()
    load_program(read_folder(folder))
    with profiled(walk), walk.noted():
        load_program(read_folder(folder))
    return walk


def main() -> None:
    """Print both, and the size of the whole."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name the files, with their lines and functions")
    names = parser.parse_args().list
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "bot.yml").write_text("name: walk\n")
        (folder / "greeting.yml").write_text(FLOW)
        message(folder).report('one "hi"', names=names)
        flow_file(folder).report("a flow file of one step", names=names)
    sources = [file.read_text() for file in PACKAGE.rglob("*.py")]
    lines = sum(len(source.splitlines()) for source in sources)
    print(f"bot/: {len(sources)} files, {lines:,} lines")


if __name__ == "__main__":
    main()
