"""Requests to a store that is divided: whose engines are asked, and how their answers become one."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarm
from bot.core.engine_requests import (
    REQUESTS,
    AddRecipients,
    Answer,
    AskFlows,
    AskMetrics,
    AskStatus,
    BeginCorrection,
    CorrectRecipients,
    DropDeadLetters,
    EndCorrection,
    EngineRequest,
    ListTemplates,
    PublishVersion,
    Reload,
    RetryDeadLetters,
    Shards,
    StopBroadcast,
    read_request,
)
from bot.core.errors import BotError
from bot.runtime.metrics import EngineMetrics, joined_text
from bot.server import shard_requests
from bot.server.shard_requests import ask_shards, why_it_waits
from bot.store.database import PostgresAddress, StoreAddress, shard_number, shards_of
from tests.runtime.engine_kit import START

Said = Callable[[Any], Answer]
STORE = PostgresAddress("postgresql://db/bot", Path("/bot/bot"), Path("/files"), shards=3)
ANN, BEN, EVE = (next(str(n) for n in range(6281, 9999) if shard_number(str(n), 3) == shard) for shard in range(3))


class Engines:
    """Stand where the engines of the shards are: each says something to a request, or is silent (None)."""

    def __init__(self, *says: Answer | Said | None) -> None:
        self.says = says
        self.asked: list[tuple[int, EngineRequest]] = []
        self._lock = threading.Lock()

    def ask(self, request: EngineRequest) -> dict[str, Any]:
        return ask_shards(STORE, request, self._one)

    def _one(self, shard: StoreAddress, request: EngineRequest) -> dict[str, Any]:
        number = shards_of(STORE).index(shard)
        with self._lock:
            self.asked.append((number, request))
        says = self.says[number]
        if says is None:
            raise BotError(f"no server answers for shard {number}")
        return says(request) if callable(says) else dict(says)

    @property
    def shards(self) -> list[int]:
        return sorted(number for number, _ in self.asked)


def status(**more: Any) -> dict[str, Any]:
    return {"cursor": 5, "waiting": 1, "in_flight": 2, "left": {"minute": 9, "day": 100}, "alarms": [], **more}


def alarm(name: str, what: str, minute: int) -> dict[str, str]:
    return Alarm(name, "", what, "help", START.replace(minute=minute)).as_json()


@pytest.mark.parametrize("store", [Path("bot.db"), replace(STORE, shards=1), shards_of(STORE)[1]])
def test_one_engine_is_asked_of_a_store_that_is_not_divided_and_of_a_shard(store: StoreAddress) -> None:
    asked: list[StoreAddress] = []

    def ask(shard: StoreAddress, request: EngineRequest) -> dict[str, Any]:
        asked.append(shard)
        return {"stopped": 1, "thread": threading.current_thread()}

    assert ask_shards(store, StopBroadcast("spring"), ask) == {"stopped": 1, "thread": threading.current_thread()}
    assert asked == [store]


@pytest.mark.parametrize(
    "do", ["start", "signal", "set", "reset", "send", "take", "answer", "give_back", "check_start", "check_signal"]
)
def test_what_is_about_a_contact_goes_to_its_shard(do: str) -> None:
    engines = Engines({}, {"error": "not like this"}, {})
    request = read_request(
        {"do": do, "contact": BEN, "flow": "main", "name": "paid", "values": {}, "by": "ann", "data": {}}
    )
    assert engines.ask(request) == {"error": "not like this"}
    assert engines.asked == [(1, request)]


def test_what_is_about_nobody_goes_to_the_first_shard() -> None:
    engines = Engines({"version": 1}, {}, {})
    assert engines.ask(PublishVersion(0)) == {"version": 1}
    assert engines.shards == [0]


def test_the_answers_to_each_request_that_concerns_all_shards_are_joined() -> None:
    assert {kind for kind in REQUESTS.values() if kind.concerns is Shards.ALL} == {*shard_requests._JOINED}


@pytest.mark.parametrize("request_", [ListTemplates(), AskFlows()])
def test_what_each_engine_knows_the_first_one_is_asked_that_answers(request_: EngineRequest) -> None:
    engines = Engines(None, {"error": "the database is away"}, {"flows": {}})
    assert engines.ask(request_) == {"flows": {}}
    assert [request.do for _, request in engines.asked] == ["status", "status", "status", request_.do]
    with pytest.raises(BotError, match="no server answers for shard 0"):
        Engines(None, None, None).ask(request_)


def test_recipients_are_divided_by_their_contacts_and_the_answers_are_summed() -> None:
    recipients = [{"contact": contact, "body": []} for contact in (ANN, EVE, ANN[::-1])]

    def added(request: AddRecipients) -> Answer:
        return {"added": len(request.recipients), "known": 1}

    engines = Engines(added, added, added)
    whole = engines.ask(AddRecipients("spring", recipients))
    assert whole == {"added": 3, "known": len(engines.asked)}
    for number, request in engines.asked:
        assert isinstance(request, AddRecipients)
        assert all(shard_number(each["contact"], 3) == number for each in request.recipients)
    empty = Engines(added, added, added)
    assert empty.ask(AddRecipients("spring", [])) == {"added": 0, "known": 1}
    assert empty.shards == [0]


def test_a_correction_has_a_number_of_its_own_in_each_shard() -> None:
    def begins(edit: int) -> Said:
        return lambda request: status() if isinstance(request, AskStatus) else {"edit": edit, "in_flight": 1}

    engines = Engines(*map(begins, (4, 1, 2)))
    begun = engines.ask(BeginCorrection("spring"))
    assert begun == {"edit": [4, 1, 2], "in_flight": 3}
    engines.asked.clear()
    engines.says = ({"corrected": 1},) * 3
    recipients = [{"contact": contact} for contact in (ANN, BEN, EVE)]
    assert engines.ask(CorrectRecipients("spring", begun["edit"], recipients)) == {"corrected": 3}
    assert engines.ask(EndCorrection("spring", begun["edit"])) == {"corrected": 3}
    edits = {(n, each.edit) for n, each in engines.asked if isinstance(each, CorrectRecipients | EndCorrection)}
    assert edits == {(0, 4), (1, 1), (2, 2)}


def test_no_correction_begins_while_an_engine_is_silent() -> None:
    engines = Engines(status(), None, status())
    assert engines.ask(BeginCorrection("spring")) == {"error": "the engine of shard 1 does not answer: nothing is done"}
    assert {request.do for _, request in engines.asked} == {"status"}


@pytest.mark.parametrize("do", ["stop", "resume", "end_edit", "erase"])
def test_what_concerns_all_shards_all_are_asked(do: str) -> None:
    engines = Engines({"stopped": 1}, {"stopped": 0}, {"stopped": 2})
    assert engines.ask(read_request({"do": do, "name": "spring", "contact": ANN, "edit": [1, 1, 1]})) == {"stopped": 3}
    assert engines.shards == [0, 1, 2]


def test_what_all_refuse_is_refused_in_the_same_words() -> None:
    assert Engines(*[{"error": "no broadcast"}] * 3).ask(StopBroadcast("spring")) == {"error": "no broadcast"}


def test_what_is_done_in_some_shards_says_in_which_and_why_not_in_the_others() -> None:
    assert Engines({"stopped": 1}, None, {"stopped": 1}).ask(StopBroadcast("spring")) == {
        "error": "no server answers for shard 1 (it is done in shards 0, 2: do it again for the rest)"
    }
    assert Engines({"error": "no disk"}, None, {"stopped": 1}).ask(StopBroadcast("spring")) == {
        "error": "no disk; no server answers for shard 1 (it is done in shard 2: do it again for the rest)"
    }


def test_where_no_engine_answers_that_is_raised() -> None:
    with pytest.raises(BotError, match="no server answers for shard 0"):
        Engines(None, None, None).ask(AskStatus())
    assert "error" in Engines(None, {"error": "no disk"}, None).ask(AskStatus())


def test_the_status_is_that_of_all_engines() -> None:
    both, later = alarm("channel-held", "channel 1 is off", 1), alarm("channel-held", "channel 1 is off", 4)
    own = alarm("store-unavailable", "the disk is full", 3)
    engines = Engines(
        status(alarms=[later]), status(alarms=[own, both]), status(waiting=5, left={"minute": 3, "day": 101})
    )
    assert engines.ask(AskStatus()) == {
        **{"waiting": 7, "in_flight": 6, "left": {"minute": 3, "day": 100}, "silent": []},
        "alarms": [both, own],
    }


def test_a_silent_engine_is_an_alarm_of_the_status() -> None:
    found = Engines(status(), None, {"error": "version 3 has problems"}).ask(AskStatus())
    assert found["silent"] == [1, 2] and found["waiting"] == 1
    assert [(each["name"], each["about"], each["what"], each["advice"]) for each in found["alarms"]] == [
        ("engine-silent", "1", "the engine of shard 1 does not answer", "no server answers for shard 1"),
        ("engine-silent", "2", "the engine of shard 2 does not answer", "version 3 has problems"),
    ]


def test_why_messages_wait_all_engines_are_asked_and_a_silent_one_is_a_reason() -> None:
    found = Engines(status(waits={"1": {"why": "a"}}), status(waits={"7": {"why": "b"}}), None).ask(AskStatus([1, 7]))
    assert found["waits"] == {"1": {"why": "a"}, "7": {"why": "b"}} and found["silent"] == [2]
    assert why_it_waits(STORE, EVE, found["silent"]) == "it waits until the engine of shard 2 runs"
    assert why_it_waits(STORE, ANN, found["silent"]) is None


def test_dead_letters_are_found_in_whichever_shards_they_are() -> None:
    def retry(*own: int) -> Said:
        def answer(request: RetryDeadLetters) -> Answer:
            assert request.ids == [9, 1, 4, 5], "so each knows whether several are retried"
            return {
                "done": [*own],
                "missing": [id for id in request.ids if id not in own],
                "opted_out": [],
                "held": [],
            }

        return answer

    opted_out = {"done": [], "missing": [1, 4, 9], "opted_out": [5], "held": ["spring"]}
    request = RetryDeadLetters([9, 1, 4, 5])
    assert Engines(retry(9, 1), retry(), opted_out).ask(request) == {
        **{"done": [1, 9], "missing": [4], "opted_out": [5], "held": ["spring"]}
    }
    dropped = Engines({"done": [4], "missing": [6]}, {"done": [], "missing": [4, 6]}, {"done": [], "missing": [4, 6]})
    assert dropped.ask(DropDeadLetters([4, 6])) == {"done": [4], "missing": [6]}


def test_a_silent_engine_matters_for_dead_letters_only_if_they_may_be_its_own() -> None:
    engines = Engines({"done": [4], "missing": [6]}, {"done": [6], "missing": [4]}, None)
    assert engines.ask(DropDeadLetters([4, 6])) == {"done": [4, 6], "missing": []}
    assert "shard 2 (it is done in shards 0, 1:" in engines.ask(DropDeadLetters([4, 6, 8]))["error"]


def test_all_engines_load_the_bot_again() -> None:
    assert Engines(*[{"reloaded": True}] * 3).ask(Reload()) == {"reloaded": True}
    assert Engines({"reloaded": True}, {"reloaded": False}, {"reloaded": True}).ask(Reload()) == {"reloaded": False}


def test_the_metrics_of_all_engines_are_one_text() -> None:
    def counted(sends: int, rows: int, age: float, left: int) -> str:
        metrics = EngineMetrics()
        for _ in range(sends):
            metrics.sent(0, "sent", 0.2)
        held = [Alarm("channel-held", "1", "it is off", "", START)]
        return metrics.text({"outbox": rows}, {"outbox": age}, {"minute": left}, held)

    engines = Engines({"text": counted(1, 3, 2.5, 7)}, {"text": counted(2, 4, 9.5, 6)}, None)
    both = engines.ask(AskMetrics())
    assert both["silent"] == [2]
    lines = both["text"].splitlines()
    assert 'bot_sends_total{outcome="sent",priority="reply"} 3.0' in lines
    assert 'bot_send_seconds_bucket{le="0.25",priority="reply"} 3.0' in lines
    assert 'bot_send_seconds_bucket{le="0.1",priority="reply"} 0.0' in lines
    assert 'bot_queue_rows{queue="outbox"} 7.0' in lines
    assert 'bot_queue_oldest_seconds{queue="outbox"} 9.5' in lines
    assert 'bot_limit_left{window="minute"} 6.0' in lines
    assert 'bot_engine_alarms{alarm="channel-held"} 1.0' in lines


def test_the_metrics_of_one_engine_stay_as_they_are() -> None:
    metrics = EngineMetrics()
    metrics.used('a "model"\nof \\ two lines', 3, 1_000_000_000)
    metrics.sent(1, "sent", 0.123456789)
    text = metrics.text({"outbox": 1}, {"outbox": 2.5}, {"minute": 3}, [])
    assert joined_text([text]) == text
