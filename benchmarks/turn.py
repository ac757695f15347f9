"""The CPU of one turn: ``python -m benchmarks.turn``. Its parts, and its ratio to bare parts of the same run.

One thread, nothing written. A contact goes round the four questions of ``benchmarks/bot``: each message is an answer
that is saved, and each turn sends one message.
"""

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import median
from time import process_time_ns

from jinja2 import Environment
from transitions import Machine

from bot.core.events import MessageReceived
from bot.core.session import Session
from bot.core.values import dumps, json_text, loads
from bot.engine.advance import advance
from bot.loading.folder import read_folder
from bot.loading.program import load_program
from bot.store.session_rows import session_row
from bot.store.trace_rows import turn_row

HERE = Path(__file__).parent
CONTACT = "6281234567890"
ANSWERS = ("Ann", "three", "red", "yes")
START = datetime(2030, 5, 6, 10, tzinfo=UTC)
LIMIT = 200.0  # microseconds


class Talk:
    """A contact who answers for ever; every turn is taken as the engine takes it."""

    def __init__(self) -> None:
        library = load_program(read_folder(HERE / "bot")).library
        library.prepare()
        self._library = library
        self._numbers = count()
        self._session = Session(CONTACT)
        self.event = self._next()
        self.written = ""
        for _ in range(8):
            self.turn()

    def _next(self) -> MessageReceived:
        number = next(self._numbers)
        at = START + timedelta(seconds=number)
        return MessageReceived(f"evt_{number}", CONTACT, at, at, "text", ANSWERS[number % len(ANSWERS)])

    def turn(self) -> None:
        """The pure function alone."""
        self.event = self._next()
        self.made = advance(self._library, self._session, self.event)
        self._session = self.made.session

    def write(self) -> None:
        """The values of a turn that are written: the session, the effects, the event and its trace."""
        self.written = str(session_row(self._session, self.made.wake_at)[8])  # its state
        turn_row(self.event, self.made.trace, [json_text(effect) for effect in self.made.effects], 0)

    def read(self) -> None:
        """The session as it comes from the store."""
        loads(self.written)


def cost(work: Callable[[], object], seconds: float) -> tuple[float, float]:
    """The CPU of one call in microseconds: the median of 400 short rounds, and the least, with the processor to
    itself.
    """
    found = []
    calls = 4  # a round is once round the four questions, or several times
    while (spent := _round(work, calls)) < seconds / 400 * 1e9:
        calls = max(calls + 4, int(calls * seconds / 400 * 1e9 / spent) // 4 * 4)
    for _ in range(400):
        found.append(_round(work, calls) / calls / 1000)
    return median(found), min(found)


def _round(work: Callable[[], object], calls: int) -> int:
    begun = process_time_ns()
    for _ in range(calls):
        work()
    return process_time_ns() - begun


def floor() -> Callable[[], object]:
    """The least that an engine of this kind does: a transition, a rendered text, a session's JSON there and back."""
    states = [str(number) for number in range(4)]
    machine = Machine(model=None, states=states, initial="0", auto_transitions=False, send_event=True)
    for number in range(4):
        machine.add_transition("go", str(number), str((number + 1) % 4))
    template = Environment().from_string("And in which colour, {{ name }}?")
    session = {"contact": CONTACT, "frames": [{"flow": "main", "step": "name", "vars": dict.fromkeys("abcd", "text")}]}

    class Cursor:
        state = "0"

    cursor = Cursor()

    def work() -> None:
        machine.events["go"].trigger(cursor)
        template.render(name="Ann")
        json.loads(json.dumps(session))

    return work


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="CPU time for each row")
    seconds = parser.parse_args().seconds
    talk = Talk()
    rows = {
        "the turn itself (advance)": cost(talk.turn, seconds),
        "writing session, effects, event, trace": cost(talk.write, seconds),
        "reading the session": cost(talk.read, seconds),
    }
    medians, leasts = (sum(each) for each in zip(*rows.values(), strict=True))
    bare = cost(floor(), seconds)
    table = {**rows, "all of it": (medians, leasts), "floor: transition, text, JSON": bare}
    print(f"{'CPU in us':42}  median   least")
    for name, micros in table.items():
        print(f"{name:42} {micros[0]:7.1f} {micros[1]:7.1f}")
    turn = rows["the turn itself (advance)"]
    print(f"{'the turn against its limit of 200 us':42} {turn[0] / LIMIT:7.2f} {turn[1] / LIMIT:7.2f}")
    print(f"{'all of it against the floor':42} {medians / bare[0]:7.2f} {leasts / bare[1]:7.2f}")
    print(f"the session: {len(dumps(talk.made.session))} characters")


if __name__ == "__main__":
    main()
