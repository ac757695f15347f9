"""A bot's own Python in service: what providers make, when hooks are run, and what becomes of it at a reload."""

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot import handler, on, provider
from bot.core.effects import Call, RunHook
from bot.language.python.gathered import Extensions, extensions_in
from bot.runtime.performers import CallAttempt
from bot.runtime.python_calls import PythonCalls
from bot.store.kept_files import FolderFiles
from bot.store.rows import CallRow
from tests.patience import PATIENCE, wait_for

NO_FILES = FolderFiles(Path("none is made"))

NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
TOLD = {"contact": "6281234567890", "at": NOON, "flow": "order", "expired": False, "vars": {"n": 3}}


def declared(*functions: Callable[..., Any]) -> Extensions:
    return extensions_in([{function.__name__: function for function in functions}])


def row(effect: Call | RunHook, key: str = "key") -> CallRow:
    return CallRow(1, "e1#0", key, "6281234567890", effect, 0, NOON)


def perform(calling: PythonCalls, effect: Call | RunHook, key: str = "key") -> CallAttempt:
    return calling(row(effect, key), lambda text: True)


class Base:
    """A database that knows whether it is open."""

    def __init__(self) -> None:
        self.open = True


@pytest.fixture
def base() -> list[Base]:
    return []


def bases(made: list[Base]) -> Callable[[], Iterator[Base]]:
    @provider("db")
    def db() -> Iterator[Base]:
        opened = Base()
        made.append(opened)
        yield opened
        opened.open = False

    return db


@handler("find")
def find(number: int, db: Base) -> list[Any]:
    return [number, db.open]


def test_a_provider_makes_its_thing_once_and_closes_it_at_the_end(base: list[Base]) -> None:
    calling = PythonCalls(declared(bases(base), find), NO_FILES)
    calling.start()
    assert base == []
    for number in (1, 2):
        assert perform(calling, Call("find", {"number": number})).value == [number, True]
    assert (len(base), base[0].open) == (1, True)
    calling.stop()
    assert not base[0].open


def test_two_threads_that_need_it_first_are_given_the_same() -> None:
    made: list[Base] = []
    ready, go = threading.Barrier(3), threading.Event()

    @provider("db")
    def db() -> Base:
        go.wait(PATIENCE)
        made.append(Base())
        return made[-1]

    @handler("id")
    def of(db: Base) -> int:
        return id(db)

    calling, results = PythonCalls(declared(db, of), NO_FILES), list[Any]()

    def work() -> None:
        ready.wait(PATIENCE)
        results.append(perform(calling, Call("id", {})).value)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait(PATIENCE)
    go.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(made) == 1
    assert results[0] == results[1]


def test_what_a_provider_raises_is_the_error_of_the_call_and_the_next_call_asks_it_again() -> None:
    tries: list[int] = []

    @provider("db")
    def db() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ConnectionError("no database")
        return 7

    @handler("find")
    def of(db: int) -> int:
        return db

    calling = PythonCalls(declared(db, of), NO_FILES)
    failed = perform(calling, Call("find", {}))
    line = db.__code__.co_firstlineno + 4
    detail = f"ConnectionError: no database at test_python_calls.py:{line}"
    assert (failed.outcome, failed.again, failed.detail) == ("error", True, detail)
    assert perform(calling, Call("find", {})).value == 7


def test_what_a_provider_gives_is_no_argument_of_the_flow() -> None:
    (spec,) = declared(find, bases([])).handlers.values()
    assert [*spec.parameters] == ["number"]


def test_a_reload_closes_what_was_made_when_its_last_call_has_ended(base: list[Base]) -> None:
    inside, go_on = threading.Event(), threading.Event()

    @handler("slow")
    def slow(db: Base) -> bool:
        inside.set()
        go_on.wait(PATIENCE)
        return db.open

    calling, results = PythonCalls(declared(bases(base), slow), NO_FILES), list[Any]()
    calling.start()
    thread = threading.Thread(target=lambda: results.append(perform(calling, Call("slow", {})).value))
    thread.start()
    assert inside.wait(PATIENCE)
    calling.swap(declared(bases(base), find))
    assert perform(calling, Call("find", {"number": 1})).value == [1, True]
    assert base[0].open
    go_on.set()
    thread.join(PATIENCE)
    assert results == [True]
    assert [each.open for each in base] == [False, True]
    calling.stop()
    assert [each.open for each in base] == [False, False]


def test_a_reload_stops_the_old_and_starts_the_new() -> None:
    seen: list[str] = []

    def hooks(name: str) -> Extensions:
        @on("start")
        def begin() -> None:
            seen.append(f"{name} starts")

        @on("stop")
        def end() -> None:
            seen.append(f"{name} stops")

        return declared(begin, end)

    calling = PythonCalls(hooks("old"), NO_FILES)
    calling.stop()
    assert seen == []
    calling.start()
    calling.swap(hooks("new"))
    calling.stop()
    assert seen == ["old starts", "new starts", "old stops", "new stops"]


def test_a_hook_is_told_what_it_names_and_the_key_of_the_row() -> None:
    seen: list[Any] = []

    @on("end")
    def note(flow: str, vars: dict[str, Any], idempotency_key: str) -> None:
        seen.append((flow, vars, idempotency_key))

    assert perform(PythonCalls(declared(note), NO_FILES), RunHook("end/note", TOLD), "k7").outcome == "done"
    assert seen == [("order", {"n": 3}, "k7")]


def test_a_hook_that_raises_is_a_line_in_the_log_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    @on("end")
    def note(contact: str) -> None:
        raise ValueError(contact)

    perform(PythonCalls(declared(note), NO_FILES), RunHook("end/note", TOLD))
    (line,) = caplog.records
    assert 'hook "end/note" raised ValueError' in line.getMessage()
    assert "6281234567890" not in line.getMessage()


def test_a_hook_whose_annotations_do_not_fit_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    @on("end")
    def note(flow: int) -> None: ...

    perform(PythonCalls(declared(note), NO_FILES), RunHook("end/note", TOLD))
    assert 'hook "end/note": the argument flow: Input should be a valid integer' in caplog.text


def test_a_hook_that_an_edit_took_away_is_told_nothing() -> None:
    assert perform(PythonCalls(Extensions(), NO_FILES), RunHook("end/gone", TOLD)).outcome == "done"


def test_what_raises_at_the_start_and_at_the_end_is_a_line_in_the_log_each(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, base: list[Base]
) -> None:
    monkeypatch.setattr("bot.runtime.python_calls.STOP_SECONDS", PATIENCE)

    @on("start")
    def raises() -> None:
        raise SystemExit

    @provider("bad")
    def bad() -> Iterator[int]:
        yield 1
        raise ValueError

    @handler("use")
    def use(bad: int, db: Base) -> None: ...

    calling = PythonCalls(declared(raises, bases(base), bad, use), NO_FILES)
    with caplog.at_level(logging.ERROR):
        calling.start()
        perform(calling, Call("use", {}))
        calling.stop()
    lines = [line.getMessage().splitlines()[0] for line in caplog.records]
    assert lines == ['hook "start/raises" raised SystemExit', 'provider "bad" raised ValueError when it was closed']
    assert not base[0].open


def test_what_hangs_at_the_start_and_at_the_end_is_a_line_in_the_log_each_and_holds_up_nothing(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, base: list[Base]
) -> None:
    monkeypatch.setattr("bot.runtime.python_calls.START_SECONDS", 0.05)
    monkeypatch.setattr("bot.runtime.python_calls.STOP_SECONDS", 0.2)
    released = threading.Event()

    @on("start")
    def hangs() -> None:
        released.wait(PATIENCE)

    @on("stop")
    def hangs_too() -> None:
        released.wait(PATIENCE)

    calling = PythonCalls(declared(hangs, hangs_too, bases(base), find), NO_FILES)
    with caplog.at_level(logging.ERROR):
        calling.start()
        perform(calling, Call("find", {"number": 1}))
        calling.stop()
    lines = [line.getMessage() for line in caplog.records]
    assert lines[:2] == [  # on a busy machine the closing of the providers may take as long
        'hook "start/hangs" hangs: it is left alone after 0.05 s',
        'hook "stop/hangs_too" hangs: it is left alone after 0.1 s',
    ]
    wait_for(lambda: not base[0].open)
    released.set()
