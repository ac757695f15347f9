"""Broadcasts: each contact once, whatever is repeated or killed; never many at once in the outbox; opt-outs honoured."""

import shutil
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from bot.core.effects import Send
from bot.core.engine_answers import BroadcastResumed, BroadcastStopped, DeadLettersEnded, EngineAnswer, RecipientsAdded
from bot.core.engine_requests import AddRecipients, RetryDeadLetters, SendMessage, StopBroadcast, read_request
from bot.core.messages import TemplateMessage
from bot.core.session import OPTED_OUT, Session
from bot.runtime.batch import Batch, RequestRefused
from bot.runtime.broadcast_requests import read_template
from bot.runtime.broadcasting import fill_outbox
from bot.runtime.operator_requests import operate
from bot.services.http_client import wait_for
from bot.store.broadcast_rows import FINISHED, PAUSED, RUNNING, TRYING
from bot.store.commit import Commit
from bot.store.crash_quarantine import ORDINARY
from bot.store.dead_letter_rows import LetterSearch
from bot.store.engine_store import EngineStore
from bot.store.inbox import InboxWriter
from bot.store.rows import CAMPAIGN, REPLY, SYNC
from bot.store.store_reader import StoreReader
from tests.patience import PATIENCE
from tests.postgres import about_files
from tests.runtime.broadcasting import SALE, ask, begun, continued, copied, done, letters, people, resume, stop
from tests.runtime.delivering import Bench
from tests.runtime.engine_kit import START, World, advance, begin, open_world, sent
from tests.services.gateway.peer import Answer, accepted, hang_up, peer, refused
from tests.store.store_kit import sqlite

AHEAD = 100


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = open_world(tmp_path / "bot.db", prepare=lambda store: begun(store, "spring", "summer"))
    yield made
    made.close()


def test_each_contact_gets_the_template_filled_in_for_it(world: World) -> None:
    assert ask(world, *people(2)) == RecipientsAdded(2, 0, 0, 0)
    first, second = world.delivery.wait_for(2)
    assert first.effect == Send(TemplateMessage("sale", "en", None, ({"type": "text", "text": "for 6280000000000"},)))
    assert (first.contact, first.priority) == (people(1)[0], CAMPAIGN)
    assert (first.expires_at - first.created_at).days == 1
    assert first.key != second.key


def test_the_outbox_never_holds_many_and_a_reply_does_not_stand_behind_them(world: World) -> None:
    ask(world, *people(250))
    assert len(world.delivery.wait_for(AHEAD)) == AHEAD
    world.say("49", "hi")
    assert [row.priority for row in world.delivery.rows[AHEAD:]] == [REPLY, REPLY]
    done(world, world.delivery.rows[:30])
    assert sum(row.priority == CAMPAIGN for row in world.delivery.rows) == AHEAD
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 30, "waiting": 220}


def test_nobody_is_added_twice(world: World) -> None:
    ask(world, *people(2))
    done(world, list(world.delivery.rows))
    assert ask(world, *people(3), people(1)[0]) == RecipientsAdded(1, 3, 0, 0)
    assert [row.contact for row in world.delivery.rows] == people(1, 2)
    assert ask(world, *people(2), name="summer") == RecipientsAdded(2, 0, 0, 0)


def test_what_became_of_each_message_is_kept(world: World) -> None:
    ask(world, *people(3))
    for row, state in zip(world.delivery.wait_for(3), ("sent", "failed", "opted_out"), strict=True):
        world.turns.sent(sent(row, state))
    world.settle()
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "failed": 1, "opted_out": 1}
    assert [letter.contact for letter in world.reader.dead_letters.newest()] == people(1, 1)
    assert world.reader.sessions.get(people(1, 1)[0]) is None  # no conversation hears of it


def test_who_has_opted_out_is_not_added(world: World) -> None:
    world.stop()
    restarted = begin(world.path, world.clock, world.inbox, prepare=lambda store: opt_out(store, people(1)[0]))
    assert ask(restarted, *people(2)) == RecipientsAdded(1, 0, 0, 1)
    restarted.stop()


def opt_out(store: EngineStore, contact: str) -> None:
    commit = Commit(store.cursor, START)
    commit.sessions.set(Session(contact, tags=(OPTED_OUT,)), None)
    store.write(commit)


@about_files
def test_after_a_kill_it_goes_on_with_the_keys_it_had(world: World, tmp_path: Path) -> None:
    ask(world, *people(150))
    before = {row.contact: row.key for row in world.delivery.wait_for(AHEAD)}
    done(world, world.delivery.rows[:10])
    left = shutil.copytree(tmp_path, tmp_path / "left by a kill")
    inbox = InboxWriter(left / "bot.db", world.clock, patience=PATIENCE)
    restarted = begin(left / "bot.db", world.clock, inbox)
    try:
        again = {row.contact: row.key for row in restarted.delivery.wait_for(AHEAD)}
        assert {contact: key for contact, key in again.items() if contact in before}.items() <= before.items()
        assert set(again) == set(people(AHEAD, 10))
        assert ask(restarted, *people(150)).added == 0
    finally:
        restarted.close()


def test_the_same_request_twice_in_one_commit_adds_once(world: World) -> None:
    request = AddRecipients("n", [{"contact": "628111111"}] * 2, SALE)
    assert world.turns.operate(request) == RecipientsAdded(1, 1, 0, 0)


def test_its_message_stands_in_the_trace(world: World) -> None:
    ask(world, *people(1))
    (turn,) = world.trace(people(1)[0])
    assert (turn.rule, turn.event) == ("broadcast", {"do": "broadcast", "name": "spring"})


def test_another_template_under_the_same_name_is_refused(world: World) -> None:
    ask(world, *people(1))
    with pytest.raises(RequestRefused, match="choose another name"):
        ask(world, *people(2), template={"name": "other", "language": "en"})


@pytest.mark.parametrize(
    "request_",
    [
        {"template": {"name": "sale"}, "recipients": []},
        {"template": {"name": "", "language": "en"}, "recipients": []},
        {"template": SALE, "recipients": ["62811"]},
        {"template": SALE, "recipients": [{"contact": "+62811"}]},
        {"template": SALE, "recipients": [{"contact": "62811", "body": "one"}]},
        {"template": SALE, "recipients": [{"contact": "62811", "body": [1]}]},
        {"template": {**SALE, "header": "text"}, "recipients": []},
    ],
)
def test_a_request_that_makes_no_sense_is_refused_whole(world: World, request_: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused):
        world.turns.operate(AddRecipients("n", **request_))
    assert world.reader.broadcasts.outcomes("n") == {}


# -- its end


def test_a_broadcast_is_finished_when_nobody_waits_for_it(world: World) -> None:
    ask(world, *people(2))
    first, second = world.delivery.wait_for(2)
    done(world, [first])
    assert state(world) == (RUNNING, None)
    world.clock.move(timedelta(minutes=1))
    done(world, [second])
    assert state(world) == (FINISHED, START + timedelta(minutes=1))


def test_one_whose_last_messages_were_refused_is_finished_too(world: World) -> None:
    ask(world, *people(1))
    world.report(world.delivery.pop(), "failed", "no", code="VALIDATION_INVALID_PHONE")
    assert state(world) == (FINISHED, START)


def test_new_contacts_open_a_finished_broadcast_again(world: World) -> None:
    ask(world, *people(1))
    done(world, list(world.delivery.rows))
    ask(world, *people(1))
    assert state(world)[0] == FINISHED
    ask(world, *people(4))
    assert state(world) == (RUNNING, None)
    assert [row.contact for row in world.delivery.rows] == people(3, 1)
    done(world, list(world.delivery.rows))
    assert state(world)[0] == FINISHED


def test_a_finished_broadcast_whose_last_message_was_refused_goes_on_with_one_message_alone(world: World) -> None:
    ask(world, *people(1))
    world.report(world.delivery.pop(), "failed", "no", code="WHATSAPP_SEND_FAILED")
    ask(world, *people(3))
    assert state(world)[0] == TRYING
    assert len(world.delivery.rows) == 1


def test_a_message_that_fails_when_its_broadcast_is_finished_pauses_it_still(world: World) -> None:
    ask(world, *people(1))
    done(world, [row := world.delivery.wait_for(1)[0]])
    world.tell("message.failed", message_id=f"m{row.id}", error={"code": 132012, "message": "no"})
    assert state(world) == (PAUSED, None)
    assert resume(world) == BroadcastResumed(1, 0)
    done(world, list(world.delivery.rows))
    assert state(world)[0] == FINISHED


def test_the_end_that_a_kill_has_left_out_is_made_up_for(world: World) -> None:
    ask(world, *people(1))
    done(world, list(world.delivery.rows))
    world.stop()
    with closing(sqlite3.connect(world.path)) as file, file:
        file.execute("UPDATE broadcasts SET state = 'running', ended_at = NULL WHERE name = 'spring'")
    restarted = begin(world.path, world.clock, world.inbox)
    try:
        restarted.settle()
        assert state(restarted)[0] == FINISHED
    finally:
        restarted.stop()


def state(world: World, name: str = "spring") -> tuple[str, datetime | None]:
    found = world.reader.broadcasts.get(name)
    assert found is not None
    return found.state, found.ended_at


# -- stopping


def test_a_broadcast_that_is_stopped_takes_back_all_but_what_is_being_sent(world: World) -> None:
    ask(world, *people(150))
    first, second, *_ = world.delivery.wait_for(AHEAD)
    done(world, [first])
    world.delivery.in_flight = {second.id}
    assert stop(world) == BroadcastStopped(148, 1)
    assert world.delivery.rows == [second]
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "waiting": 1, "stopped": 148}
    world.report(second, "failed", "no such number")
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "failed": 1, "stopped": 148}
    assert world.reader.counts()["outbox"] == 0
    assert world.reader.broadcasts.unfinished() == {"spring": {"failed": 1, "sent": 1, "stopped": 148}}


def test_stopped_twice_is_stopped_once(world: World) -> None:
    ask(world, *people(3))
    world.delivery.in_flight = {world.delivery.wait_for(3)[0].id}
    assert stop(world) == BroadcastStopped(2, 1)
    assert stop(world) == BroadcastStopped(0, 1)
    assert world.reader.broadcasts.outcomes("spring") == {"waiting": 1, "stopped": 2}


def test_a_broadcast_that_nobody_knows_cannot_be_stopped_nor_resumed(world: World) -> None:
    ask(world, *people(3))
    for do in (stop, resume):
        with pytest.raises(RequestRefused, match='there is no broadcast "sprign"'):
            do(world, "sprign")
    assert len(world.delivery.rows) == 3


def test_another_broadcast_and_replies_are_left_alone(world: World) -> None:
    ask(world, *people(2))
    ask(world, *people(2), name="summer")
    world.say(people(1)[0], "hi")
    stop(world)
    assert [(row.contact, row.priority) for row in world.delivery.rows] == [
        *((contact, CAMPAIGN) for contact in people(2)),
        *((people(1)[0], REPLY),) * 2,
    ]
    assert world.reader.broadcasts.outcomes("summer") == {"waiting": 2}


def test_a_stopped_broadcast_goes_on_only_when_it_is_resumed_and_under_the_keys_it_had(world: World) -> None:
    ask(world, *people(2))
    keys = {row.contact: row.key for row in world.delivery.wait_for(2)}
    stop(world)
    with pytest.raises(RequestRefused, match='was stopped: `bot broadcast resume "spring"`'):
        ask(world, *people(3))
    assert world.delivery.rows == []
    assert resume(world) == BroadcastResumed(2, 0)
    (first,) = world.delivery.wait_for(1)
    done(world, [first])
    assert {row.contact: row.key for row in (first, *world.delivery.rows)} == keys
    assert resume(world) == BroadcastResumed(0, 0)
    assert ask(world, *people(3)).added == 1


def test_an_answer_that_is_on_its_way_when_the_broadcast_stops_is_kept(world: World) -> None:
    ask(world, *people(2))
    first, _ = world.delivery.wait_for(2)
    world.delivery.rows.remove(first)  # delivery has done it, and its report is not taken yet
    assert stop(world) == BroadcastStopped(1, 1)
    world.report(first)
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 1, "stopped": 1}


def test_who_started_a_broadcast_stays_so_whoever_goes_on_with_it(world: World) -> None:
    for by, contact in (("ann", "6281234567890"), ("bo", "6281234567891")):
        world.turns.operate(AddRecipients("autumn", [{"contact": contact, "body": ["x"]}], SALE, by=by))
    stop(world, "autumn")
    found = world.reader.broadcasts.get("autumn")
    assert found is not None and found.started_by == "ann"


def test_stopping_stands_in_the_trace(world: World) -> None:
    ask(world, *people(1))
    stop(world)
    assert [turn.notes for turn in world.trace(people(1)[0])] == [["message 1"], ["message 1 was taken back"]]
    rows = world.reader.database.all("SELECT event, rule, notes FROM turns WHERE contact IS NULL")
    assert rows == [('{"do":"stop","name":"spring","by":"operator"}', "operator", '["1 stopped, 0 in flight"]')]


@about_files
def test_a_kill_before_or_after_the_stop_is_durable_leaves_all_of_it_or_nothing(world: World, tmp_path: Path) -> None:
    ask(world, *people(150))
    flying = world.delivery.wait_for(AHEAD)[0]
    before = shutil.copytree(tmp_path, tmp_path / "killed before")
    world.delivery.in_flight = {flying.id}
    stop(world)
    after = shutil.copytree(tmp_path, tmp_path / "killed after", ignore=shutil.ignore_patterns("killed*"))
    with continued(before, world) as restarted:
        assert len(restarted.delivery.wait_for(AHEAD)) == AHEAD
        assert restarted.reader.broadcasts.outcomes("spring") == {"waiting": 150}
    with continued(after, world) as restarted:
        restarted.settle()
        assert [(row.id, row.key) for row in restarted.delivery.rows] == [(flying.id, flying.key)]
        done(restarted, list(restarted.delivery.rows))
        assert restarted.reader.broadcasts.outcomes("spring") == {"sent": 1, "stopped": 149}
        assert resume(restarted) == BroadcastResumed(149, 0)
        done(restarted, list(restarted.delivery.rows))
        assert len(restarted.delivery.rows) == AHEAD


def test_a_stop_that_cannot_be_written_yet_is_written_later_and_sends_nothing_meanwhile(world: World) -> None:
    ask(world, *people(150))
    world.delivery.wait_for(AHEAD)
    connection = sqlite(world.store)
    connection.execute("PRAGMA query_only = on")
    with ThreadPoolExecutor(1) as operator:
        asked = operator.submit(world.turns.operate, StopBroadcast("spring"))
        assert world.delivery.wait_until_empty()
        connection.execute("PRAGMA query_only = off")
        assert asked.result(PATIENCE) == BroadcastStopped(150, 0)
    world.settle()
    assert world.reader.broadcasts.outcomes("spring") == {"stopped": 150}


@about_files
def test_what_an_earlier_run_left_unknown_is_not_taken_back(world: World, tmp_path: Path) -> None:
    ask(world, *people(2))
    assert wait_for(partial(world.turns.begin_claim, world.delivery.wait_for(2)[0])) is None
    killed = shutil.copytree(tmp_path, tmp_path / "killed")
    with closing(EngineStore(killed / "bot.db")) as store:  # as a command does where no server runs
        batch = Batch(store, advance, ORDINARY, START)
        assert operate(batch, StopBroadcast("spring")) == BroadcastStopped(1, 1)
        store.write(batch.commit)
    with continued(killed, world) as restarted:
        restarted.settle()
        assert restarted.delivery.rows == []
        assert restarted.reader.broadcasts.outcomes("spring") == {"unknown": 1, "stopped": 1}


def test_stop_and_others_in_one_commit_end_as_they_were_asked(world: World) -> None:
    with closing(EngineStore(copied(world) / "bot.db")) as store:
        batch = Batch(store, advance, ORDINARY, START)
        recipients = [{"contact": contact} for contact in people(3)]
        add = AddRecipients("spring", recipients, SALE)
        assert operate(batch, add).added == 3
        assert operate(batch, StopBroadcast("spring")) == BroadcastStopped(3, 0)
        with pytest.raises(RequestRefused, match="was stopped"):
            operate(batch, add)
        fill_outbox(batch, set)
        store.write(batch.commit)
        assert (store.broadcasts.count_waiting("spring"), store.broadcasts.count_in_outbox()) == (3, 0)
        assert (store.broadcasts.some_wait(), store.broadcasts.waiting("templates", 100)) == (False, [])


@pytest.mark.parametrize("do", ["stop", "resume"])
def test_a_stop_and_its_end_write_as_much_for_many_contacts_as_for_one(world: World, do: str) -> None:
    ask(world, *people(300), name="autumn")
    if do == "resume":
        stop(world, "autumn")
    with closing(EngineStore(copied(world) / "bot.db")) as store:
        batch = Batch(store, advance, ORDINARY, START)
        operate(batch, read_request({"do": do, "name": "autumn"}), lambda ids: set())
        written = [
            (sql, len(rows)) for sql, rows in batch.commit.statements({}, count(1)).items() if "recipients" in sql
        ]
    assert all("failed" in sql for sql, _ in written)  # those that were refused, which a resumption sends again
    assert sum(rows for _, rows in written) <= 2


def test_delivery_gives_back_what_is_not_in_flight_and_the_rest_goes_on() -> None:
    go_on = threading.Event()
    with peer() as server:
        server.answers(lambda connection: go_on.wait(PATIENCE) and accepted()(connection))
        bench = Bench(server.url, limits=(1, 10_000), reserve=0)
        flying, behind, other, left = (bench.row(contact, priority=CAMPAIGN) for contact in ("1", "1", "2", "3"))
        bench.offer(flying, behind, other, left)
        server.wait_for_requests(1)
        assert bench.delivery.take_back({flying.id, behind.id, other.id, 4711}) == {behind.id, other.id}
        assert bench.delivery.take_back({flying.id, behind.id, other.id}) == set()
        go_on.set()
        bench.reported(1)
        bench.settle()
        bench.move_to_next()
        bench.reported(2)
        bench.settle()
        assert [result.row for result in bench.results] == [flying, left]
        assert bench.delivery.status().waiting == 0 and bench.delivery.next_due() is None
        bench.delivery.stop(5)


@pytest.mark.parametrize(
    ("failure", "given_back"), [(refused("RATE_LIMIT_EXCEEDED", 429), True), (hang_up, False)], ids=["no", "unclear"]
)
def test_what_may_have_been_sent_is_not_given_back(failure: Answer, given_back: bool) -> None:
    with peer() as server:
        server.answers(failure)
        bench = Bench(server.url)
        row, behind = bench.row("1", priority=CAMPAIGN), bench.row("1", priority=CAMPAIGN)
        bench.offer(row, behind)
        assert bench.reported(1).state == "retry"
        bench.settle()
        assert bench.delivery.take_back({row.id}) == ({row.id} if given_back else set())
        bench.move_to_next()
        last = bench.reported(2 if given_back else 3)
        assert (last.row, last.state) == (behind, "sent")
        bench.delivery.stop(5)


# -- what was given up


def test_a_retry_of_a_broadcasts_message_waits_with_the_others_under_a_new_key(world: World) -> None:
    ask(world, *people(2))
    first, second = world.delivery.wait_for(2)
    world.report(first, "failed", "no")
    world.report(second, "unknown", "timed out", key_helps=True)
    world.delivery.rows.clear()
    spring = world.reader.broadcasts.get("spring")
    assert spring is not None and (spring.name, spring.state) == ("spring", FINISHED)
    assert world.reader.broadcasts.get("autumn") is None
    assert world.reader.dead_letters.ids(LetterSearch(broadcast="autumn", retried=True)) == []
    ids = world.reader.dead_letters.ids(LetterSearch(broadcast="spring", retried=True))
    answer = world.turns.operate(RetryDeadLetters(ids, True))
    assert answer == DeadLettersEnded(ids, [], [], [], [], held=[])
    world.settle()
    again = {row.contact: row for row in world.delivery.rows}
    assert {row.priority for row in again.values()} == {CAMPAIGN}
    assert again[first.contact].key != first.key  # under the old one the gateway may only repeat its refusal
    assert again[second.contact].key == second.key  # under it the gateway sends nothing twice
    done(world, list(world.delivery.rows))
    assert world.reader.broadcasts.outcomes("spring") == {"sent": 2}
    assert letters(world) == []


def ended(answer: EngineAnswer) -> DeadLettersEnded:
    assert isinstance(answer, DeadLettersEnded)
    return answer


def test_many_messages_that_are_sent_again_let_replies_go_first(world: World) -> None:
    world.say("62811", "hi")
    for row in list(world.delivery.rows):
        world.report(row, "failed", "132012: Template does not exist")
    world.delivery.rows.clear()
    ids = world.reader.dead_letters.ids(LetterSearch(code="132012", retried=True))
    world.turns.operate(RetryDeadLetters(ids))
    assert [(row.effect.message.body, row.priority) for row in world.delivery.rows] == [
        ("1: hi", SYNC),
        ("2: hi", SYNC),
    ]


@pytest.mark.parametrize(("first", "second", "left"), [("drop", "retry", 0), ("retry", "drop", 1), ("drop", "drop", 0)])
def test_of_two_requests_for_one_letter_in_one_commit_the_first_is_done(
    world: World, first: str, second: str, left: int
) -> None:
    world.say("62811", "report")
    world.report(world.delivery.rows[0], "failed", "no")
    ids = letters(world)
    with closing(EngineStore(copied(world) / "bot.db")) as store:
        batch = Batch(store, advance, ORDINARY, START)
        assert ended(operate(batch, read_request({"do": first, "ids": ids}))).done == ids
        assert ended(operate(batch, read_request({"do": second, "ids": ids}))).missing == ids
        store.write(batch.commit)
        with closing(StoreReader(store.address)) as reader:
            counts = reader.counts()
        assert (counts["dead_letters"], counts["outbox"]) == (0, left)


def test_drop_and_retry_of_one_letter_at_once_do_one_of_them(world: World) -> None:
    world.say("62811", "report")
    world.report(world.delivery.pop(), "failed", "no")
    ids = letters(world)
    with ThreadPoolExecutor(8) as operators:
        asked = [read_request({"do": do, "ids": ids}) for do in ("drop", "retry") * 4]
        answers = [ended(answer) for answer in operators.map(world.turns.operate, asked)]
    world.settle()
    assert sorted(len(answer.done) for answer in answers) == [0] * 7 + [1]
    retried = any(answer.done for answer in answers[1::2])
    assert len(world.delivery.rows) == retried


@pytest.mark.parametrize("ids", [["1"], [True], [1] * 501, [None]])
@pytest.mark.parametrize("do", ["retry", "drop"])
def test_letters_are_named_by_numbers(world: World, do: str, ids: list[Any]) -> None:
    with pytest.raises(RequestRefused, match="list of 500 numbers"):
        world.turns.operate(read_request({"do": do, "ids": ids}))


@pytest.mark.parametrize("do", ["retry", "drop"])
def test_numbers_of_no_letter_are_missing(world: World, do: str) -> None:
    ids = [0, -1, 7, 2**63, 10**30]
    answer = ended(world.turns.operate(read_request({"do": do, "ids": ids})))
    assert (answer.done, answer.missing) == ([], ids)


def test_two_messages_to_one_contact_each_have_an_outcome_of_their_own(world: World) -> None:
    answers = [world.turns.operate(SendMessage("62811", text)) for text in ("a", "b", "c")]
    first, _, third = world.delivery.wait_for(3)
    world.report(third, "unknown", "timed out")
    world.report(first, "failed", "no such number")
    outcomes = [world.reader.messages.outcome(answer.id) for answer in answers]
    assert outcomes == [("failed", "no such number"), None, ("unknown", "timed out")]


# -- one message


def test_an_operator_sends_one_message(world: World) -> None:
    answer = world.turns.operate(SendMessage("62811", "Your parcel is here"))
    (row,) = world.delivery.wait_for(1)
    assert (row.id, row.priority, row.effect.message.body) == (answer.id, REPLY, "Your parcel is here")
    assert world.reader.messages.outcome(row.id) is None
    world.report(row, "failed", "no such number")
    assert world.reader.messages.outcome(row.id) == ("failed", "no such number")


@pytest.mark.parametrize("message", [{}, {"text": ""}, {"text": "x" * 5000}, {"template": {"name": "t"}}])
def test_a_message_that_cannot_be_sent_is_refused(world: World, message: dict[str, Any]) -> None:
    with pytest.raises(RequestRefused):
        world.turns.operate(SendMessage("62811", **message))


@pytest.mark.parametrize("header", [{}, {"type": "image"}, {"type": "image", "image": "x"}, {"text": "x"}, "x", [], 7])
def test_a_header_that_is_no_parameter_is_refused_in_words(header: Any) -> None:
    with pytest.raises(RequestRefused, match="perhaps a header"):
        read_template({"name": "sale", "language": "en", "header": header})


def test_a_header_by_the_gateways_own_id_is_taken() -> None:
    header = {"type": "image", "image": {"id": "4711"}}
    assert read_template({"name": "sale", "language": "en", "header": header}).header == header


@pytest.mark.parametrize("do", ["retry", "drop"])
def test_the_requests_of_a_dead_letter_count_against_the_limits_when_it_is_gone(world: World, do: str) -> None:
    world.turns.operate(SendMessage("6281234567890", "Hello"))
    world.settle()
    row = world.delivery.rows.pop()
    world.turns.sent(replace(sent(row), state="failed", attempts=5, detail="no"))
    world.settle()
    world.turns.operate(read_request({"do": do, "ids": letters(world)}))
    world.settle()
    assert letters(world) == []
    assert sum(count for _, count in world.reader.messages.requests(world.clock.now())) == 5
