"""Requests to a store that is divided: whose engines are asked, and how their answers become one."""

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.core.alarms import Alarm
from bot.core.engine_answers import (
    BroadcastResumed,
    BroadcastStopped,
    CorrectionBegun,
    CorrectionEnded,
    DeadLettersEnded,
    Done,
    EngineAnswer,
    EngineRefused,
    FilesLoaded,
    GatewayItems,
    Metrics,
    RecipientsAdded,
    RecipientsCorrected,
    ServedFlows,
    Status,
    VersionPublished,
)
from bot.core.engine_requests import (
    REQUESTS,
    A,
    AddRecipients,
    AnyRequest,
    AskFlows,
    AskMetrics,
    AskStatus,
    BeginCorrection,
    CorrectRecipients,
    DropDeadLetters,
    EndCorrection,
    EngineRequest,
    EraseContact,
    ListTemplates,
    PublishVersion,
    Reload,
    ResumeBroadcast,
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

Said = Callable[[Any], EngineAnswer]
STORE = PostgresAddress("postgresql://db/bot", Path("/bot/bot"), Path("/files"), shards=3)
ANN, BEN, EVE = (next(str(n) for n in range(6281, 9999) if shard_number(str(n), 3) == shard) for shard in range(3))


class Engines:
    """Stand where the engines of the shards are: each answers a request or refuses it, or is silent (None)."""

    def __init__(self, *says: EngineAnswer | EngineRefused | Said | None) -> None:
        self.says = says
        self.asked: list[tuple[int, AnyRequest]] = []
        self._lock = threading.Lock()

    def ask(self, request: EngineRequest[A]) -> A:
        return ask_shards(STORE, request, self._one)

    def _one(self, shard: StoreAddress, request: AnyRequest) -> EngineAnswer:
        number = shards_of(STORE).index(shard)
        with self._lock:
            self.asked.append((number, request))
        says = self.says[number]
        if says is None:
            raise BotError(f"no server answers for shard {number}")
        if isinstance(says, EngineRefused):
            raise says
        return says(request) if callable(says) else says

    @property
    def shards(self) -> list[int]:
        return sorted(number for number, _ in self.asked)


def status(**more: Any) -> Status:
    return replace(Status(cursor=5, waiting=1, in_flight=2, left={"minute": 9, "day": 100}), **more)


def refusal(request: AnyRequest, *engines: EngineAnswer | EngineRefused | None) -> str:
    with pytest.raises(EngineRefused) as refused:
        Engines(*engines).ask(request)
    return str(refused.value)


def alarm(name: str, what: str, minute: int) -> dict[str, str]:
    return Alarm(name, "", what, "help", START.replace(minute=minute)).as_json()


@pytest.mark.parametrize("store", [Path("bot.db"), replace(STORE, shards=1), shards_of(STORE)[1]])
def test_one_engine_is_asked_of_a_store_that_is_not_divided_and_of_a_shard(store: StoreAddress) -> None:
    asked: list[object] = []

    def ask(shard: StoreAddress, request: AnyRequest) -> EngineAnswer:
        asked.extend((shard, threading.current_thread()))
        return BroadcastStopped(1, 0)

    assert ask_shards(store, StopBroadcast("spring"), ask) == BroadcastStopped(1, 0)
    assert asked == [store, threading.current_thread()]


@pytest.mark.parametrize(
    "do", ["start", "signal", "set", "reset", "send", "take", "answer", "give_back", "check_start", "check_signal"]
)
def test_what_is_about_a_contact_goes_to_its_shard(do: str) -> None:
    engines = Engines(Done(), EngineRefused("not like this"), Done())
    request = read_request(
        {"do": do, "contact": BEN, "flow": "main", "name": "paid", "values": {}, "by": "ann", "data": {}}
    )
    with pytest.raises(EngineRefused, match=r"^not like this$"):
        engines.ask(request)
    assert engines.asked == [(1, request)]


def test_what_is_about_nobody_goes_to_the_first_shard() -> None:
    engines = Engines(VersionPublished(1), None, None)
    assert engines.ask(PublishVersion(0)) == VersionPublished(1)
    assert engines.shards == [0]


def test_the_answers_to_each_request_that_concerns_all_shards_are_joined() -> None:
    assert {kind for kind in REQUESTS.values() if kind.concerns is Shards.ALL} == {*shard_requests._JOINED}


@pytest.mark.parametrize(
    ("request_", "answer"), [(ListTemplates(), GatewayItems([], False)), (AskFlows(), ServedFlows({}, []))]
)
def test_what_each_engine_knows_the_first_one_is_asked_that_answers(request_: AnyRequest, answer: EngineAnswer) -> None:
    engines = Engines(None, EngineRefused("the database is away"), answer)
    assert engines.ask(request_) == answer
    assert [request.do for _, request in engines.asked] == ["status", "status", "status", request_.do]
    with pytest.raises(BotError, match="no server answers for shard 0"):
        Engines(None, None, None).ask(request_)


def test_recipients_are_divided_by_their_contacts_and_the_answers_are_summed() -> None:
    recipients = [{"contact": contact, "body": []} for contact in (ANN, EVE, ANN[::-1])]

    def added(request: AddRecipients) -> RecipientsAdded:
        return RecipientsAdded(added=len(request.recipients), known=1)

    engines = Engines(added, added, added)
    whole = engines.ask(AddRecipients("spring", recipients))
    assert whole == RecipientsAdded(added=3, known=len(engines.asked))
    for number, request in engines.asked:
        assert isinstance(request, AddRecipients)
        assert all(shard_number(each["contact"], 3) == number for each in request.recipients)
    empty = Engines(added, added, added)
    assert empty.ask(AddRecipients("spring", [])) == RecipientsAdded(known=1)
    assert empty.shards == [0]


def test_a_correction_has_a_number_of_its_own_in_each_shard() -> None:
    def begins(edit: int) -> Said:
        return lambda request: status() if isinstance(request, AskStatus) else CorrectionBegun(edit, 1)

    engines = Engines(*map(begins, (4, 1, 2)))
    begun = engines.ask(BeginCorrection("spring"))
    assert begun == CorrectionBegun([4, 1, 2], 3)
    engines.asked.clear()
    engines.says = (RecipientsCorrected(corrected=1),) * 3
    recipients = [{"contact": contact} for contact in (ANN, BEN, EVE)]
    assert engines.ask(CorrectRecipients("spring", begun.edit, recipients)) == RecipientsCorrected(corrected=3)
    engines.says = (CorrectionEnded(1),) * 3
    assert engines.ask(EndCorrection("spring", begun.edit)) == CorrectionEnded(3)
    edits = {(n, each.edit) for n, each in engines.asked if isinstance(each, CorrectRecipients | EndCorrection)}
    assert edits == {(0, 4), (1, 1), (2, 2)}


def test_no_correction_begins_while_an_engine_is_silent() -> None:
    engines = Engines(status(), None, status())
    with pytest.raises(EngineRefused, match=r"^the engine of shard 1 does not answer: nothing is done$"):
        engines.ask(BeginCorrection("spring"))
    assert {request.do for _, request in engines.asked} == {"status"}


@pytest.mark.parametrize(
    ("request_", "answers", "joined"),
    [
        (
            StopBroadcast("spring"),
            [BroadcastStopped(*each) for each in ((1, 0), (0, 2), (2, 0))],
            BroadcastStopped(3, 2),
        ),
        (
            ResumeBroadcast("spring"),
            [BroadcastResumed(*each) for each in ((1, 0), (0, 2), (2, 0))],
            BroadcastResumed(3, 2),
        ),
        (EndCorrection("spring", [1, 1, 1]), [CorrectionEnded(each) for each in (1, 0, 2)], CorrectionEnded(3)),
        (EraseContact(ANN), [Done()] * 3, Done()),
    ],
)
def test_what_concerns_all_shards_all_are_asked(
    request_: AnyRequest, answers: list[EngineAnswer], joined: EngineAnswer
) -> None:
    engines = Engines(*answers)
    assert engines.ask(request_) == joined
    assert engines.shards == [0, 1, 2]


def test_what_all_refuse_is_refused_in_the_same_words() -> None:
    assert refusal(StopBroadcast("spring"), *[EngineRefused("no broadcast")] * 3) == "no broadcast"


def test_what_is_done_in_some_shards_says_in_which_and_why_not_in_the_others() -> None:
    stopped = BroadcastStopped(1, 0)
    assert refusal(StopBroadcast("spring"), stopped, None, stopped) == (
        "no server answers for shard 1 (it is done in shards 0, 2: do it again for the rest)"
    )
    assert refusal(StopBroadcast("spring"), EngineRefused("no disk"), None, stopped) == (
        "no disk; no server answers for shard 1 (it is done in shard 2: do it again for the rest)"
    )


def test_where_no_engine_answers_that_is_raised() -> None:
    with pytest.raises(BotError, match="no server answers for shard 0"):
        Engines(None, None, None).ask(AskStatus())
    assert "no disk" in refusal(AskStatus(), None, EngineRefused("no disk"), None)


def test_the_status_is_that_of_all_engines() -> None:
    both, later = alarm("channel-held", "channel 1 is off", 1), alarm("channel-held", "channel 1 is off", 4)
    own = alarm("store-unavailable", "the disk is full", 3)
    engines = Engines(
        status(alarms=[later]), status(alarms=[own, both]), status(waiting=5, left={"minute": 3, "day": 101})
    )
    assert engines.ask(AskStatus()) == Status(None, 7, 6, left={"minute": 3, "day": 100}, alarms=[both, own], silent=[])


def test_a_silent_engine_is_an_alarm_of_the_status() -> None:
    found = Engines(status(), None, EngineRefused("version 3 has problems")).ask(AskStatus())
    assert found.silent == [1, 2] and found.waiting == 1
    assert [(each["name"], each["about"], each["what"], each["advice"]) for each in found.alarms] == [
        ("engine-silent", "1", "the engine of shard 1 does not answer", "no server answers for shard 1"),
        ("engine-silent", "2", "the engine of shard 2 does not answer", "version 3 has problems"),
    ]


def test_why_messages_wait_all_engines_are_asked_and_a_silent_one_is_a_reason() -> None:
    found = Engines(status(waits={"1": {"why": "a"}}), status(waits={"7": {"why": "b"}}), None).ask(AskStatus([1, 7]))
    assert found.waits == {"1": {"why": "a"}, "7": {"why": "b"}} and found.silent == [2]
    assert why_it_waits(STORE, EVE, found.silent) == "it waits until the engine of shard 2 runs"
    assert why_it_waits(STORE, ANN, found.silent) is None


def test_dead_letters_are_found_in_whichever_shards_they_are() -> None:
    def retry(*own: int) -> Said:
        def answer(request: RetryDeadLetters) -> DeadLettersEnded:
            assert request.ids == [9, 1, 4, 5], "so each knows whether several are retried"
            return DeadLettersEnded([*own], [id for id in request.ids if id not in own])

        return answer

    opted_out = DeadLettersEnded([], [1, 4, 9], opted_out=[5], held=["spring"])
    joined = Engines(retry(9, 1), retry(), opted_out).ask(RetryDeadLetters([9, 1, 4, 5]))
    assert joined == DeadLettersEnded([1, 9], [4], [5], [], [], held=["spring"])
    others = DeadLettersEnded(missing=[4, 6])
    dropped = Engines(DeadLettersEnded([4], [6]), others, others).ask(DropDeadLetters([4, 6]))
    assert (dropped.done, dropped.missing) == ([4], [6])


def test_a_silent_engine_matters_for_dead_letters_only_if_they_may_be_its_own() -> None:
    engines = DeadLettersEnded([4], [6]), DeadLettersEnded([6], [4]), None
    dropped = Engines(*engines).ask(DropDeadLetters([4, 6]))
    assert (dropped.done, dropped.missing) == ([4, 6], [])
    assert "shard 2 (it is done in shards 0, 1:" in refusal(DropDeadLetters([4, 6, 8]), *engines)


def test_all_engines_load_the_bot_again() -> None:
    assert Engines(*map(FilesLoaded, (True, True, True))).ask(Reload()) == FilesLoaded(True)
    assert Engines(*map(FilesLoaded, (True, False, True))).ask(Reload()) == FilesLoaded(False)


def test_the_metrics_of_all_engines_are_one_text() -> None:
    def counted(sends: int, rows: int, age: float, left: int) -> str:
        metrics = EngineMetrics()
        for _ in range(sends):
            metrics.sent(0, "sent", 0.2)
        held = [Alarm("channel-held", "1", "it is off", "", START)]
        return metrics.text({"outbox": rows}, {"outbox": age}, {"minute": left}, held)

    engines = Engines(Metrics(counted(1, 3, 2.5, 7)), Metrics(counted(2, 4, 9.5, 6)), None)
    both = engines.ask(AskMetrics())
    assert both.silent == [2]
    lines = both.text.splitlines()
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
