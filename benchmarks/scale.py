"""The cost of an event as a bot grows: ``python -m benchmarks.scale``, some two minutes; ``--full``, about an hour.

Each curve measures the engine's cycle (`benchmarks.cycle`) at several sizes: contacts, history, timers, steps of flows,
and recipients of a broadcast. A few contacts talk with the engine, and their rows are copied by SQL until there are
enough. Each figure comes from a process of its own, and is compared with a floor that alternates with it: on a busy
machine the ratio between the two says more than microseconds.
"""

import argparse
import gc
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, islice
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time_ns, thread_time_ns
from typing import NamedTuple
from uuid import uuid4

from benchmarks.charts import Chart, svg
from benchmarks.checker import sources
from benchmarks.cycle import Engine, Floor, append_bodies, conversation, written
from bot.core.clock import MovableClock
from bot.core.engine_requests import AddRecipients, AskStatus, StopBroadcast
from bot.core.events import MessageReceived
from bot.core.session import Session
from bot.engine.advance import advance
from bot.language.flow.library import load
from bot.language.python.gathered import Extensions
from bot.store.files import inbox_path

DRAWN = {"CPU, µs": "CPU us", "memory, MB": "MB"}
CONTACTS = 10_000  # of the curve of the history
MODELS = 60  # contacts whose rows are copied: some at each step, with each colour, with and without a wrong answer
FIRST = 15550000000
START = datetime(2030, 5, 6, 10, tzinfo=UTC)
AT_ONCE = 32  # events of a commit
WARM = 10  # cycles that are not counted
REMINDED = """\
flow: reminded
start: {otherwise: true}
vars: {day: {type: text}}
steps:
  day:
    ask: Which day suits you?
    save: day
    remind: {after: 2h, say: Still there? I only need the day.}
    timeout: {after: 20h, then: end}
    then: end
"""
SALE = {"name": "sale", "language": "en", "body": ["Ann"]}

Figures = dict[str, float]


class Curve(NamedTuple):
    """A quantity that grows: the measurement at each size, and the sizes of a short and of a full run."""

    about: str
    measure: Callable[[Path, int], Figures]
    fill: Callable[[Path, int], None]
    short: tuple[int, ...]
    full: tuple[int, ...]


# -- the rows, as the product writes them


def scattered(number: str) -> str:
    """SQL: an id of 8 digits for each number, in no order, as the ids of a gateway are."""
    return f"printf('%08x', ({number} * 2654435761) % 4294967296)"


def talk(contact: int, skip: int = 0) -> Iterator[bytes]:
    """The events of a contact, under ids that are in no order."""
    for body in islice(conversation(contact), skip, None):
        yield body.replace(b'"evt_', f'"evt_{uuid4().hex}-'.encode(), 1)


def taken(contact: int) -> int:
    """How many events of a contact were taken before: there are contacts at each step, and some outside of the flow."""
    return 1 + contact % MODELS % 4


def copy(path: Path, script: str) -> None:
    """Run a script on a file that nobody has open."""
    connection = sqlite3.connect(path)
    connection.executescript(
        f"PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; {script}"
    )
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()


def fill_contacts(folder: Path, contacts: int) -> None:
    """A store in which so many contacts have talked with the bot."""
    engine = Engine(folder)
    for contact in range(MODELS):
        append_bodies(engine.log, [*islice(talk(contact), taken(contact))])
    while engine.log.execute("SELECT max(seq) FROM log").fetchone()[0] > engine.store.cursor:
        engine.take()
    engine.take()  # the results of the last messages
    close(engine)
    copy(folder / "bot.db", COPY_SESSIONS.format(models=MODELS, many=contacts, first=FIRST))


COPY_SESSIONS = """
    WITH RECURSIVE n(i) AS (SELECT {models} UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {many})
    INSERT INTO sessions (contact, flow, step, visit, wake_at, last_inbound, conversation, opted_out, updated_at, state)
    SELECT {first} + i, flow, step, visit, wake_at, last_inbound, 'conv_' || i, opted_out, updated_at,
        replace(replace(state, m.contact, {first} + i), '"' || conversation || '"', '"conv_' || i || '"')
    FROM n CROSS JOIN sessions AS m ON m.contact = CAST({first} + i % {models} AS TEXT);
    ANALYZE;
    DROP TABLE sqlite_stat1;
"""
COPY_LOG = f"""
    CREATE TEMP TABLE model AS SELECT * FROM log;
    WITH RECURSIVE n(i) AS (SELECT {{many}} UNION ALL SELECT i - 1 FROM n WHERE i > 1)
    INSERT INTO log (delivery, event_id, name, contact, received_at, body, readable)
    SELECT 'd-' || {scattered("i")}, 'evt_' || {scattered("i")}, name, {FIRST} + i % {CONTACTS}, received_at, body, readable
    FROM n CROSS JOIN model AS m ON m.seq = (SELECT min(seq) FROM model) + i % (SELECT count(*) FROM model);
"""
COPY_TRACE = f"""
    CREATE TEMP TABLE model AS SELECT * FROM turns;
    CREATE TEMP TABLE model_sent AS SELECT * FROM sent;
    DROP INDEX turns_by_contact;
    WITH RECURSIVE n(i) AS (SELECT {{many}} UNION ALL SELECT i - 1 FROM n WHERE i > 1)
    INSERT INTO turns (at, contact, event_id, event, rule, steps, effects, notes, micros, session, wake_at)
    SELECT at, {FIRST} + i % {CONTACTS}, 'evt_' || {scattered("i")}, event, rule, steps, effects, notes, micros, session, wake_at
    FROM n CROSS JOIN model AS m ON m.id = (SELECT min(id) FROM model) + i % (SELECT count(*) FROM model);
    CREATE INDEX turns_by_contact ON turns (contact);
    WITH RECURSIVE n(i) AS (SELECT {{many}} UNION ALL SELECT i - 1 FROM n WHERE i > 1)
    INSERT INTO messages (id, ref, key, contact, effect, outcome, message_ids, attempts, created_at, at, detail, priority)
    SELECT i + 1000, 'evt_' || {scattered("i")} || '#0', key, {FIRST} + i % {CONTACTS}, effect, outcome,
        printf('["wamid.%s","m%s"]', {scattered("i")}, {scattered("i")}), attempts, created_at, at, detail, priority
    FROM n CROSS JOIN model_sent AS m
        ON m.id = (SELECT min(id) FROM model_sent) + i % (SELECT count(*) FROM model_sent);
    INSERT INTO message_ids SELECT value, sent.id FROM sent, json_each(message_ids) WHERE sent.id > 1000 ORDER BY value;
    UPDATE meta SET last_send = 1000 + {{many}}, last_turn = (SELECT max(id) FROM turns);
"""


def fill_history(folder: Path, events: int) -> None:
    """A store with so many events of the last days: the log, the trace, and the messages that were sent."""
    fill_contacts(folder, CONTACTS)
    copy(inbox_path(folder / "bot.db"), COPY_LOG.format(many=events))
    copy(folder / "bot.db", COPY_TRACE.format(many=events))
    with sqlite3.connect(folder / "bot.db") as store, sqlite3.connect(inbox_path(folder / "bot.db")) as log:
        last = log.execute("SELECT seq, event_id FROM log ORDER BY seq DESC LIMIT 1").fetchone()
        store.execute("UPDATE meta SET cursor = ?, last_event = ?", last)


def fill_timers(folder: Path, timers: int) -> None:
    """A store in which so many contacts have been asked a question, and are reminded of it two hours later."""
    engine = Engine(folder, _reminding(folder))
    append_bodies(engine.log, [next(talk(contact)) for contact in range(MODELS)])
    engine.take()
    engine.take()
    close(engine)
    copy(folder / "bot.db", COPY_SESSIONS.format(models=MODELS, many=timers, first=FIRST))


def fill_broadcast(folder: Path, recipients: int) -> None:
    """A store with a broadcast that so many contacts, who have all talked with the bot, are to get."""
    fill_contacts(folder, recipients)
    engine = Engine(folder)
    engine.take(_adding(0, 1))
    close(engine)
    copy(
        folder / "bot.db",
        f"""
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < {recipients})
        INSERT INTO recipients (broadcast, contact, body, added_at, edit)
        SELECT broadcast, {FIRST} + i, body, added_at, edit FROM n CROSS JOIN recipients WHERE id = 1;
        """,
    )


def no_rows(folder: Path, size: int) -> None:
    """Nothing is stored for this curve."""


def _reminding(folder: Path) -> Path:
    bot = folder / "reminding"
    bot.mkdir(exist_ok=True)
    (bot / "bot.yml").write_text("name: Reminding\ndefaults: {retry: {max: 3, else: end}, errors: {else: end}}\n")
    (bot / "reminded.yml").write_text(REMINDED)
    return bot


def _adding(first: int, many: int) -> AddRecipients:
    recipients = [{"contact": str(FIRST + number), "body": ["Ann"]} for number in range(first, first + many)]
    return AddRecipients("sale", recipients, SALE)


def close(engine: Engine) -> None:
    """End a run properly."""
    engine.cycle.end()
    engine.store.close()
    engine.inbox.close()
    engine.log.close()


# -- what is measured


def measure_events(folder: Path, contacts: int, bot: Path | None = None, events: int = 3200) -> Figures:
    """The CPU of an event of contacts who write in turn, and how long it takes to begin and to ask for the status."""
    begun = perf_counter()
    engine = Engine(folder) if bot is None else Engine(folder, bot)
    found = {"start s": perf_counter() - begun}
    talks: dict[int, Iterator[bytes]] = {}
    order = (number * 7919 % contacts for number in count())

    def next_bodies() -> list[bytes]:
        found = []
        for contact in islice(order, AT_ONCE):
            if contact not in talks:
                talks[contact] = talk(contact, taken(contact) if bot is None else 1)
            found.append(next(talks[contact]))
        return found

    with tempfile.TemporaryDirectory() as place:
        floor, floor_talks = Floor(Path(place)), [talk(contact) for contact in range(960)]
        ours, floors, sizes = [], [], []
        for number in range(events // AT_ONCE + WARM):
            append_bodies(engine.log, next_bodies())
            size = written()
            ours.append(_cpu(engine.take))
            sizes.append(written() - size)
            engine.cycle.next_wake = engine.store.sessions.next_wake()  # as before each rest
            start = number * AT_ONCE % 960
            append_bodies(floor.log, [next(each) for each in floor_talks[start : start + AT_ONCE]])
            floors.append(_cpu(floor.take))
    found["CPU us"], found["floors"] = _micros(ours), _micros(ours) / _micros(floors)
    found["KB written"] = sum(sizes[WARM:]) / len(sizes[WARM:]) / AT_ONCE / 1024
    found["status ms"] = min(_cpu(lambda: engine.cycle.question(AskStatus())) for _ in range(3)) / 1e6
    found["MB"] = memory()
    found["MB of files"] = sum(file.stat().st_size for file in folder.glob("*.db*")) / 1e6
    close(engine)
    return found


def measure_contacts(folder: Path, contacts: int) -> Figures:
    """An event of a bot with so many contacts."""
    return measure_events(folder, contacts)


def measure_history(folder: Path, events: int) -> Figures:
    """An event of a bot with so many events in the last days; and what it costs to forget one after its time."""
    found = measure_events(folder, CONTACTS)
    engine = Engine(folder)
    late = datetime.now(UTC) + timedelta(days=8)
    found["pruning us"] = min(_cpu(lambda: engine.store.prune(late)) for _ in range(3)) / 500 / 1000
    close(engine)
    return found


def measure_timers(folder: Path, timers: int) -> Figures:
    """An event of a bot with so many timers; and a wake-up when all of them are due at once."""
    found = measure_events(folder, timers, _reminding(folder), 1600)
    engine = Engine(folder, _reminding(folder), MovableClock(datetime.now(UTC) + timedelta(hours=3)))
    spent = woken = 0
    for _ in range(4 if timers == 1000 else 12):
        spent += _cpu(engine.take)
        woken += len(engine.delivery.rows)
    found["wake-up us"] = spent / woken / 1000
    close(engine)
    return found


def measure_steps(folder: Path, steps: int) -> Figures:
    """A turn of a bot with so many steps, in flows of a hundred, and how long they take to load."""
    gc.disable()  # as a start does
    begun, flows = process_time_ns(), steps // 100
    loaded = load(list(sources(flows, 100)), Extensions())
    assert loaded.library is not None
    library = loaded.library
    library.prepare()
    found = {"load s": (process_time_ns() - begun) / 1e9}
    gc.enable()
    gc.freeze()
    ours, floors = [], []
    with tempfile.TemporaryDirectory() as place:
        floor, talks = Floor(Path(place)), [talk(contact) for contact in range(960)]
        for number in range(100 + WARM):
            begun = thread_time_ns()
            for each in range(number * AT_ONCE, (number + 1) * AT_ONCE):
                text = "S"  # nine answers in each flow
                if each % 10 == 0:
                    session, text = Session("6281234567890"), f"word {each * 7919 // 10 % flows}"
                event = MessageReceived(f"evt_{each}", session.contact, START, START, "text", text)
                session = advance(library, session, event).session
            ours.append(thread_time_ns() - begun)
            start = number * AT_ONCE % 960
            append_bodies(floor.log, [next(each) for each in talks[start : start + AT_ONCE]])
            floors.append(_cpu(floor.take))
    found["CPU us"], found["floors"] = _micros(ours), _micros(ours) / _micros(floors)
    found["MB"] = memory()
    return found


def measure_broadcast(folder: Path, recipients: int) -> Figures:
    """A message of a broadcast, and how long the engine is busy with a hundred of them, beside which a reply waits."""
    engine, floor_place = Engine(folder), tempfile.TemporaryDirectory()
    found: Figures = {}
    engine.take()  # the message that goes alone
    begun = perf_counter()
    engine.take()  # it was sent: all others wait for their turn
    found["release s"] = perf_counter() - begun
    talks = [talk(contact, taken(contact)) for contact in range(960)]
    ours, floors, walls = [], [], []
    with floor_place as place:
        floor, floor_talks = Floor(Path(place)), [talk(contact) for contact in range(960)]
        for number in range(60):
            append_bodies(engine.log, [next(talks[number])])
            begun = perf_counter()
            ours.append(_cpu(engine.take))
            walls.append(perf_counter() - begun)
            start = number * AT_ONCE % 960
            append_bodies(floor.log, [next(each) for each in floor_talks[start : start + AT_ONCE]])
            floors.append(_cpu(floor.take))
    found["CPU us"] = mean(ours[1:]) / 100 / 1000
    found["floors"] = found["CPU us"] / _micros(floors, 1)
    found["messages/s"] = 100 / median(walls[1:])
    found["reply waits ms"] = max(walls[1:]) * 1000
    added = (_cpu(partial(engine.take, _adding(recipients + number, 1000))) for number in range(0, 5000, 1000))
    found["adding us"] = median(added) / 1000 / 1000
    begun = perf_counter()
    engine.take(StopBroadcast("sale"))
    found["stop s"] = perf_counter() - begun
    found["MB"] = memory()
    close(engine)
    return found


def _cpu(work: Callable[[], object]) -> int:
    begun = thread_time_ns()
    work()
    return thread_time_ns() - begun


def _micros(cycles: Sequence[int], warm: int = WARM) -> float:
    """The CPU of an event: the mean, in which some cycles also move the write-ahead log into the file."""
    return mean(cycles[warm:]) / AT_ONCE / 1000


def memory() -> float:
    """The memory that this process holds, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:")) / 1024


_TENS = (1_000, 10_000, 100_000, 1_000_000)
CURVES = {
    "contacts": Curve("an event, by contacts", measure_contacts, fill_contacts, _TENS[:3], _TENS),
    "history": Curve("an event, by events kept", measure_history, fill_history, _TENS[:3], (*_TENS, 10_000_000)),
    "timers": Curve("an event, by timers", measure_timers, fill_timers, _TENS[:3], _TENS),
    "steps": Curve("a turn, by steps", measure_steps, no_rows, (100, 1_000, 10_000), (100, 1_000, 10_000)),
    "broadcast": Curve(
        "a broadcast's message, by recipients", measure_broadcast, fill_broadcast, _TENS[1:3], _TENS[1:]
    ),
}
ONCE = ("timers", "broadcast")
"""Measuring these uses the store up: what was due is done, and what waited is sent."""


# -- the run


def in_process(*arguments: object) -> Figures:
    """Run a part of this program in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.scale", *map(str, arguments)]
    found: Figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def measured(name: str, sizes: Sequence[int], rounds: int, place: str | None) -> list[Figures]:
    """The figures of a curve, one for each size: medians of rounds that go through all sizes."""
    with tempfile.TemporaryDirectory(dir=place) as temporary:
        folders = {size: Path(temporary) / str(size) for size in sizes}
        found: dict[int, list[Figures]] = {size: [] for size in sizes}
        for size, folder in folders.items():
            folder.mkdir()
            in_process("--fill", name, size, folder)
        for number in range(1 if name in ONCE else rounds):
            for size, folder in folders.items():
                print(f"{name} {size:,}, round {number + 1}", file=sys.stderr)
                found[size].append(in_process("--measure", name, size, folder))
    return [{key: median(each[key] for each in found[size]) for key in found[size][0]} for size in sizes]


def chart(name: str, points: Mapping[str, Figures]) -> Chart:
    """The chart of a curve: CPU and memory."""
    lines = {words: [each[key] for each in points.values()] for words, key in DRAWN.items()}
    return Chart(CURVES[name].about, [int(size) for size in points], lines)


def main() -> None:
    """Measure the curves, print a table for each, and draw them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="up to 1,000,000, and 10,000,000 events: 40 GB of disk")
    parser.add_argument("--largest", type=int, help="leave out larger sizes")
    parser.add_argument("--only", choices=CURVES, action="append", help="this curve only; may be repeated")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--place", help="a folder for the stores, removed again; by default that of temporary files")
    parser.add_argument(
        "--results", type=Path, help="add the figures to this file, so that curves can be run one by one"
    )
    parser.add_argument("--chart", type=Path, help="write a chart of all figures to this file (docs/performance.svg)")
    for part in ("--fill", "--measure"):
        parser.add_argument(part, nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if part := given.fill or given.measure:
        curve, size, folder = CURVES[part[0]], int(part[1]), Path(part[2])
        print(json.dumps(curve.fill(folder, size) or {} if given.fill else curve.measure(folder, size)))
        return
    results: dict[str, dict[str, Figures]] = {}
    if given.results is not None and given.results.exists():
        results = json.loads(given.results.read_text(encoding="utf-8"))
    for name in given.only or CURVES:
        curve = CURVES[name]
        sizes = [s for s in (curve.full if given.full else curve.short) if s <= (given.largest or s)]
        if not sizes:
            continue
        figures = measured(name, sizes, given.rounds, given.place)
        print(f"\n{curve.about}\n{'':>12}" + "".join(f"{key:>16}" for key in figures[0]))
        for size, each in zip(sizes, figures, strict=True):
            print(f"{size:12,}" + "".join(f"{value:16.2f}" for value in each.values()))
        floors = [each["floors"] for each in figures]
        print(f"in floors, the greatest is {max(floors) / min(floors) - 1:.0%} above the least", flush=True)
        results[name] = {str(size): each for size, each in zip(sizes, figures, strict=True)}
        if given.results is not None:
            given.results.write_text(json.dumps(results), encoding="utf-8")
    if given.chart is not None:
        given.chart.write_text(
            svg([chart(name, results[name]) for name in CURVES if name in results]), encoding="utf-8"
        )


if __name__ == "__main__":
    main()
