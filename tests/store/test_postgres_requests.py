"""What is asked on one machine: the engine of another does it once, or the next engine, and otherwise says what is known."""

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.core.engine_answers import EngineAnswer, EngineRefused, MayBeDone, MessageAccepted, Status
from bot.core.engine_requests import A, AnyRequest, AskStatus, EngineRequest, SendMessage, answer_as_json
from bot.store import postgres_requests
from bot.store.commit import Commit
from bot.store.database import AnswerOthers, PostgresAddress
from bot.store.engine_store import EngineStore
from bot.store.opening import ask_elsewhere, serves_others
from bot.store.postgres_database import connect
from tests.patience import PATIENCE, wait_for
from tests.postgres import Postgres, divided_database, new_database
from tests.runtime.engine_kit import Hands, advance, loop_on
from tests.store.store_kit import START

SEND = SendMessage("6281234567890", "hi")
OF_ASKERS = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%$1 AND answer IS NOT NULL' AND pid <> pg_backend_pid()"


@pytest.fixture
def address(postgres: Postgres, tmp_path: Path) -> Iterator[PostgresAddress]:
    with new_database(postgres, tmp_path) as made:
        yield made


@contextmanager
def asked(address: PostgresAddress, request: EngineRequest[A]) -> Iterator["Future[A]"]:
    with ThreadPoolExecutor() as threads:
        yield threads.submit(ask_elsewhere, address, request)


def rows(address: PostgresAddress) -> list[tuple[Any, ...]]:
    with connect(address, "engine") as connection:
        return connection.execute("SELECT id, tries FROM requests").fetchall()


def engine(address: PostgresAddress, answer: AnswerOthers) -> Any:
    return serves_others(address, lambda: None, answer)


def halves(request: AnyRequest) -> EngineAnswer:
    assert isinstance(request, AskStatus) and request.ids is not None
    return Status(1 // len(request.ids))


def test_a_request_that_fails_is_answered_and_so_is_the_next(address: PostgresAddress) -> None:
    with engine(address, halves):
        with pytest.raises(EngineRefused, match=r"^the engine could not do this: the log of its machine says why$"):
            ask_elsewhere(address, AskStatus([]))
        assert ask_elsewhere(address, AskStatus([1])).cursor == 1


def test_what_an_engine_has_begun_that_ends_the_next_one_does_and_knows_that(address: PostgresAddress) -> None:
    begun: list[bool] = []

    def ends(request: AnyRequest) -> None:
        begun.append(request.again)

    with asked(address, AskStatus()) as answer:
        with engine(address, ends):
            wait_for(lambda: bool(begun))
        with engine(address, lambda request: Status(int(request.again))):
            assert answer.result(PATIENCE).cursor == 1 and not begun[0]
    assert rows(address) == []


def test_what_was_committed_with_its_answer_is_not_done_again(address: PostgresAddress) -> None:
    """The engine ended between its commit and the notice of the answer."""
    dead = Event()

    def dies(request: AnyRequest) -> None:
        with closing(EngineStore(address)) as store:
            commit = Commit(store.cursor, START)
            assert request.asked_as is not None
            commit.answer(request.asked_as, answer_as_json(MessageAccepted(7, "62811")))
            store.write(commit)
        dead.set()

    def again(request: AnyRequest) -> EngineAnswer:
        raise AssertionError

    with asked(address, SEND) as answer:
        with engine(address, dies):
            assert dead.wait(PATIENCE)
        with engine(address, again):
            assert answer.result(PATIENCE) == MessageAccepted(7, "62811")


def test_what_an_engine_does_is_committed_with_its_answer_and_a_question_has_none(address: PostgresAddress) -> None:
    """Parts of the engine beside its loop add to the answer of a question."""
    clock = MovableClock(START)
    with connect(address, "engine") as connection, closing(EngineStore(address)) as store:
        connection.execute("INSERT INTO requests (id, body) VALUES ('a', ''), ('b', '')")
        loop = loop_on(store, clock, advance)
        loop.start(Hands(), Hands())
        template = {"name": "ride", "language": "en"}
        answer = loop.operate(SendMessage("6281234567890", asked_as="a", template=template))
        loop.operate(AskStatus(asked_as="b"))
        loop.stop(PATIENCE)
        kept = connection.execute("SELECT id, answer FROM requests ORDER BY id").fetchall()
    assert [(id, text and json.loads(text)) for id, text in kept] == [("a", answer_as_json(answer)), ("b", None)]


def test_who_loses_the_connection_while_waiting_asks_once_and_gets_the_answer(address: PostgresAddress) -> None:
    done: list[str | None] = []

    def answer(request: AnyRequest) -> EngineAnswer:
        done.append(request.asked_as)
        return MessageAccepted(len(done), "62811")

    with asked(address, SEND) as asker:
        wait_for(lambda: bool(rows(address)))
        with connect(address, "engine") as connection:
            wait_for(lambda: connection.execute(OF_ASKERS, prepare=False).fetchone() == (1,))
        with engine(address, answer):
            assert asker.result(PATIENCE) == MessageAccepted(1, "62811")


@pytest.mark.parametrize(("begins", "done"), [(True, "it may be done"), (False, "nothing is done")])
def test_who_gets_no_answer_hears_whether_it_may_be_done(
    address: PostgresAddress, monkeypatch: pytest.MonkeyPatch, begins: bool, done: str
) -> None:
    begun: list[object] = []
    passed = [0.0]
    monkeypatch.setattr(postgres_requests, "monotonic", lambda: passed[0])
    with asked(address, SEND) as answer:
        wait_for(lambda: bool(rows(address)))
        if begins:
            with engine(address, lambda request: begun.append(request)):
                wait_for(lambda: bool(begun))
        passed[0] += 9
        error = f"no engine answered within 8 s, {done}: see whether one runs on some machine"
        with pytest.raises(EngineRefused, match=f"^{error}$") as refused:
            answer.result(PATIENCE)
        assert isinstance(refused.value, MayBeDone) == begins
    assert rows(address) == []


def test_each_shard_has_requests_of_its_own_and_who_gets_no_answer_is_told_of_which(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = [0.0]
    monkeypatch.setattr(postgres_requests, "monotonic", lambda: passed[0])
    with divided_database(postgres, tmp_path, 2) as divided:
        first, second = divided.divided()
        with engine(first, lambda request: Status(7)), asked(second, AskStatus()) as unanswered:
            assert ask_elsewhere(first, AskStatus()).cursor == 7
            wait_for(lambda: bool(rows(second)))
            passed[0] += 9
            with pytest.raises(
                EngineRefused, match=r"^no engine of shard 1 answered within 8 s, nothing is done there: "
            ):
                unanswered.result(PATIENCE)


def test_what_nobody_waits_for_any_more_is_not_begun(address: PostgresAddress) -> None:
    with connect(address, "engine") as connection:
        late = "INSERT INTO requests (id, body, asked_at) VALUES ('1', '{}', now() - make_interval(secs => 9))"
        connection.execute(late)
    with engine(address, lambda request: Status(7)):
        assert ask_elsewhere(address, AskStatus()).cursor == 7
    assert rows(address) == [("1", 0)]
