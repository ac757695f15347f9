import hashlib
import hmac
import json
import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Response
from werkzeug.test import TestResponse

import bot.server.web.web_endpoints
from bot.core.alarms import Alarms
from bot.core.clock import MovableClock
from bot.core.engine_answers import EngineAnswer, Metrics, Mistakes, Status
from bot.core.engine_requests import AnyRequest, AskStatus
from bot.core.events import MessageReceived
from bot.runtime.metrics import WebMetrics
from bot.server.local_socket import NotRunning
from bot.server.web.program_endpoints import ProgramEndpoints
from bot.server.web.web_app import create_app
from bot.server.web.web_endpoints import (
    FRESH_SECONDS,
    WAIT_SECONDS,
    CommitBarrier,
    MonitoringEndpoints,
    OneAtATime,
    WebhookEndpoint,
)
from bot.services.gateway.webhook_events import Envelope, read
from bot.store.inbox import InboxBusy, InboxReader, InboxWriter
from bot.store.sqlite_schema import migrate
from tests.patience import PATIENCE, wait_for
from tests.postgres import store_at
from tests.store.store_kit import log_locked, sqlite

NOW = datetime(2030, 5, 12, 9, 0, tzinfo=UTC)
CONTACT = "6281234567890"


def event(id: str = "evt-1", text: str = "hi") -> bytes:
    data = {"message_id": f"m-{id}", "from": CONTACT, "to": "628000", "type": "text", "body": text}
    envelope = {"id": id, "event": "message.inbound", "timestamp": int(NOW.timestamp()), "data": data}
    return json.dumps(envelope).encode()


class Web:
    """The web process's app over a real inbox, and a sender that signs."""

    def __init__(self, store: Path, patience: float = PATIENCE) -> None:
        migrate(store)
        self.store = store
        self.clock = MovableClock(NOW)
        self.alarms = Alarms(self.clock)
        self.inbox = InboxWriter(store, self.clock, self.alarms, patience=patience, wake=lambda shards: self.wake())
        self.log = InboxReader(store)
        self.wakes = 0
        self.begun = True
        self.status: Status | None = Status()
        self.metrics = "bot_turns_total 1.0\n"
        metrics = WebMetrics()
        secrets = ["old", "secret"]
        barrier = CommitBarrier(self.inbox)
        self.webhook = WebhookEndpoint(self.inbox, barrier, secrets, timedelta(minutes=5), self.clock, metrics)
        programs = ProgramEndpoints(self.inbox, None, self.clock, lambda asked: Mistakes(), metrics)
        health = MonitoringEndpoints(self.inbox, lambda request: self.ask(request), self.alarms, metrics, self.clock)
        self.app = create_app(self.webhook, (programs, health), lambda: self.begun, "/hooks/gateway")
        self.client = self.app.test_client()

    def ask(self, request: AnyRequest) -> EngineAnswer:
        if self.status is None:
            raise NotRunning("no server answers")
        return self.status if isinstance(request, AskStatus) else Metrics(self.metrics, self.status.silent)

    def wake(self) -> None:
        self.wakes += 1

    def post(
        self, raw: bytes, delivery: str = "d-1", secret: str = "secret", at: datetime = NOW, **more: Any
    ) -> TestResponse:
        stamp = str(int(at.timestamp()))
        signature = hmac.new(secret.encode(), stamp.encode() + b"." + raw, hashlib.sha256).hexdigest()
        headers = {
            "X-Service-Timestamp": stamp,
            "X-Service-Signature": f"sha256={signature}",
            "X-Service-Delivery-Id": delivery,
            **more.pop("headers", {}),
        }
        return self.client.post(more.pop("path", "/webhook"), data=raw, headers=headers, **more)

    def kept(self) -> list[str]:
        return [row.event_id for row in self.log.after(0, 100)]

    def close(self) -> None:
        self.inbox.close()
        self.log.close()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Web]:
    with closing(Web(tmp_path / "bot.db")) as web:
        yield web


def test_a_signed_event_is_kept_acknowledged_and_the_engine_woken(web: Web) -> None:
    assert web.post(event()).status_code == 200
    (row,) = web.log.after(0, 10)
    assert (row.event_id, row.name, row.contact, row.received_at) == ("evt-1", "message.inbound", CONTACT, NOW)
    assert row.body == event()
    assert web.wakes == 1


def test_a_message_under_two_event_ids_is_kept_once(web: Web) -> None:
    again = json.loads(event())
    again["id"] = "evt-2"
    assert web.post(event()).status_code == 200
    assert web.post(json.dumps(again).encode(), "d-2").json == {"ok": True, "message": "kept already"}
    assert web.kept() == ["evt-1"]
    for status in ("message.delivered", "message.read"):
        named = {"id": status, "event": status, "data": {**again["data"], "to": CONTACT}}
        assert web.post(json.dumps(named).encode(), status).json == {"ok": True, "message": "kept"}


def test_before_the_engine_has_begun_nothing_is_accepted_and_the_sender_is_to_try_again(web: Web) -> None:
    web.begun = False
    refused = web.post(event())
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "5")
    assert web.kept() == [] and web.client.get("/healthz").status_code == 200
    assert web.client.get("/readyz/inbox").status_code == 503, "a proxy chooses another server"
    web.begun, web.status = True, None  # it crashed since
    assert web.post(event()).status_code == 200


def test_a_full_disk_is_one_alarm_and_no_line_for_each_event(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    connection = sqlite(web.inbox)
    connection.execute(f"PRAGMA max_page_count = {connection.execute('PRAGMA page_count').fetchone()[0]}")
    with caplog.at_level(logging.WARNING):
        for number in range(5):
            assert web.post(event(f"evt-{number}", "x" * 100_000), f"d-{number}").status_code == 503
        (alarm,) = web.alarms.current()
        assert (alarm.name, alarm.advice) == ("inbox-unavailable", "make room on its disk")
        assert web.client.get("/readyz").status_code == 200, "what is small can still be kept"
        web.inbox.end_alarm()
        assert web.alarms.current() == [alarm] and len(caplog.records) == 1
        web.clock.move(timedelta(minutes=1))
        web.inbox.end_alarm()
        assert web.alarms.current() == [] and len(caplog.records) == 2


def test_the_configured_path_and_every_secret_do(web: Web) -> None:
    assert web.post(event("a"), "d-a", path="/hooks/gateway").status_code == 200
    assert web.post(event("b"), "d-b", secret="old").status_code == 200
    assert web.kept() == ["a", "b"]


def test_the_body_and_not_a_header_says_what_has_happened(web: Web) -> None:
    headers = {"X-Service-Event": "conversation.resolved"}
    assert web.post(event(), headers=headers).status_code == 200
    (row,) = web.log.after(0, 100)
    taken = read(row.body, row.received_at)
    assert isinstance(taken, MessageReceived)


def test_a_repeated_event_is_acknowledged_and_kept_once_under_whatever_delivery_id(web: Web) -> None:
    for delivery in ("d-1", "d-1", "d-2"):
        assert web.post(event(), delivery).status_code == 200
    assert web.kept() == ["evt-1"]
    assert web.wakes == 1


def test_an_overlong_delivery_id_is_no_id(web: Web) -> None:
    assert web.post(event("a"), "d" * 1000).status_code == 200
    assert web.post(event("b"), "d" * 1000).status_code == 200
    assert web.kept() == ["a", "b"]


def test_a_forged_event_is_refused(web: Web) -> None:
    assert web.post(event(), secret="guessed").status_code == 401
    assert web.client.post("/webhook", data=event()).status_code == 401
    assert web.kept() == []


def test_a_stale_event_is_refused_and_noted_unless_it_is_known(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert web.post(event("known")).status_code == 200
        late = NOW - timedelta(seconds=301)
        assert web.post(event("known"), at=late).status_code == 401
        assert web.webhook.refused_as_stale == 0
        assert web.post(event("new"), at=late).status_code == 401
    assert web.webhook.refused_as_stale == 1
    assert web.log.stale() == (1, NOW), "`bot doctor` names it, whenever it is asked"
    (record,) = caplog.records
    assert "refused event new" in record.getMessage()
    assert "BOT_WEBHOOK_TOLERANCE" in record.getMessage()
    assert CONTACT not in record.getMessage()


STRANGE = {
    "empty": b"",
    "no json": b"hello",
    "truncated": event()[:-5],
    "a list": b"[]",
    "deeply nested": b'{"event":' + b"[" * 200_000,
    "nul": b'{"id":"\\u0000","event":"\\u0000","data":{"from":"\\u0000"}}',
    "raw nul": b"\x00" * 100,
    "a lone surrogate": b'{"id":"\\ud800","event":"\\ud800","data":{"from":"\\ud800"}}',
    "no utf-8": b'{"id":"\xff"}',
    "an endless number": b'{"id":' + b"9" * 10_000 + b"}",
    "wrong types": b'{"id":{},"event":7,"data":[1],"timestamp":1e999}',
    "an unknown event": b'{"id":"x","event":"contact.created","data":{}}',
}


@pytest.mark.parametrize("raw", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_body_that_is_signed_is_kept_and_acknowledged(
    web: Web, raw: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert web.post(raw).status_code == 200
    assert web.post(event("neighbour"), "d-2").status_code == 200
    assert len(web.kept()) == 2
    assert not caplog.records


@pytest.mark.parametrize("raw", STRANGE.values(), ids=STRANGE.keys())
def test_a_strange_body_that_is_not_signed_is_refused(web: Web, raw: bytes, caplog: pytest.LogCaptureFixture) -> None:
    assert web.post(raw, secret="guessed").status_code == 401
    assert web.kept() == []
    (record,) = caplog.records
    assert "BOT_WEBHOOK_SECRET" in record.getMessage() and record.args == (1,)


def test_a_secret_that_does_not_fit_is_logged_ever_more_seldom(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(120):
        web.post(event(), secret="guessed")
    assert [record.args for record in caplog.records] == [(1,), (10,), (100,)]


@pytest.mark.parametrize("stamp", ["", "now", "-1", "9" * 400, "1e9", "\u0661"])
def test_a_strange_timestamp_is_refused(web: Web, stamp: str) -> None:
    headers = {"X-Service-Timestamp": stamp.encode().decode("latin-1"), "X-Service-Signature": "sha256=00"}
    assert web.client.post("/webhook", data=event(), headers=headers).status_code == 401


def test_other_addresses_and_methods_are_refused_in_json(web: Web) -> None:
    answer = web.client.get("/webhook")
    assert (answer.status_code, {*answer.headers["Allow"].split(", ")}) == (405, {"POST", "OPTIONS"})
    assert answer.json == {"ok": False, "message": "this method is not taken at this address"}
    answer = web.client.get("/nothing")
    assert (answer.status_code, answer.json) == (404, {"ok": False, "message": "there is nothing at this address"})


def test_an_inbox_that_cannot_commit_is_a_503_and_the_event_can_come_again(tmp_path: Path) -> None:
    with closing(Web(tmp_path / "bot.db", patience=0.1)) as web:
        with log_locked(store_at(web.store)):
            refused = web.post(event())
            assert refused.status_code == 503
            assert refused.headers["Retry-After"] == "5"
            for path in ("/readyz", "/readyz/inbox"):
                answer = web.client.get(path)
                assert (answer.status_code, answer.get_json()["message"]) == (
                    503,
                    "events cannot be kept now: the log of `bot serve` says why",
                )
            assert web.client.get("/healthz").status_code == 200


def test_ready_names_no_database_no_host_and_no_user(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    def away() -> None:
        raise InboxBusy("postgresql://bot@db.example/cafe cannot be used now (gone)", "see whether it runs")

    monkeypatch.setattr(web.inbox, "check", away)
    answer = web.client.get("/readyz")
    text = answer.get_data(as_text=True)
    assert answer.status_code == 503 and not any(name in text for name in ("postgresql", "bot@", "db.example", "cafe"))


def test_an_event_that_the_inbox_cannot_keep_at_all_is_a_4xx(
    web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lone_surrogate = Envelope("\ud800", "message.inbound", None, readable=True, message=None)
    monkeypatch.setattr(bot.server.web.web_endpoints, "envelope", lambda raw, ids: lone_surrogate)
    assert web.post(event()).status_code == 400
    assert [record.exc_info for record in caplog.records] == [None]


def test_ready_means_that_the_inbox_commits_and_the_engine_answers(web: Web) -> None:
    assert web.client.get("/readyz").status_code == 200
    web.status = None
    assert web.client.get("/readyz").status_code == 503
    assert web.client.get("/readyz/inbox").status_code == 200, "events are kept meanwhile"
    assert web.post(event()).status_code == 200


def test_ready_names_the_shards_whose_engines_do_not_answer(web: Web) -> None:
    web.status = Status(silent=[0, 2])
    answer = web.client.get("/readyz")
    assert (answer.status_code, answer.get_json()["message"]) == (
        503,
        "the engines of shards 0, 2 do not answer: events are kept meanwhile",
    )
    web.status = Status()
    assert web.client.get("/readyz").status_code == 200


def test_ready_names_the_kinds_of_alarms_of_both_processes_and_not_what_they_are_about(web: Web) -> None:
    web.alarms.report("inbox-unavailable", "the disk is full", "make room")
    web.status = Status(alarms=[{"name": "channel-unknown", "about": about} for about in ("628000", "7")])
    answer = web.client.get("/readyz")
    assert answer.get_json() == {"ok": True, "message": "ready", "alarms": ["channel-unknown", "inbox-unavailable"]}


@pytest.mark.parametrize("address", ["/readyz", "/metrics"])
def test_those_who_look_while_somebody_does_get_what_was_seen_last_and_take_no_thread(web: Web, address: str) -> None:
    asked, answers = threading.Event(), threading.Event()
    before = web.client.get(address).data

    def hang(request: AnyRequest) -> EngineAnswer:
        asked.set()
        answers.wait(PATIENCE)
        raise NotRunning("no server answers")

    web.ask = hang  # type: ignore[method-assign]
    with ThreadPoolExecutor() as threads:
        first = threads.submit(web.app.test_client().get, address)
        assert asked.wait(PATIENCE)
        assert [web.client.get(address).data for _ in range(20)] == [before] * 20
        answers.set()
        assert first.result().data != before


def test_those_who_look_when_the_last_answer_is_old_get_the_next_one_or_none_after_a_few_seconds() -> None:
    clock, begun, go_on = MovableClock(NOW), threading.Event(), threading.Event()
    answers = iter(("old", "new"))

    def look() -> Response:
        answer = Response(next(answers))
        if answer.data == b"new":
            begun.set()
            assert go_on.wait(PATIENCE)
        return answer

    view = OneAtATime(look, clock)
    assert view().data == b"old"
    with ThreadPoolExecutor() as threads:
        clock.move(timedelta(seconds=FRESH_SECONDS))
        running = threads.submit(view)
        assert begun.wait(PATIENCE)
        assert view().data == b"old"
        clock.move(timedelta(seconds=1))
        impatient = threads.submit(view)
        wait_for(lambda: bool(clock._waiting))
        clock.move(timedelta(seconds=WAIT_SECONDS))
        assert (impatient.result(PATIENCE).status_code, impatient.result().headers["Retry-After"]) == (503, "5")
        patient = threads.submit(view)
        wait_for(lambda: bool(clock._waiting))
        go_on.set()
        assert running.result(PATIENCE).data == patient.result(PATIENCE).data == b"new"


def test_the_metrics_count_each_delivery_by_its_answer(web: Web) -> None:
    web.post(event())
    web.post(event(), delivery="d-2")
    web.post(event("evt-2"), secret="wrong")
    web.post(event("evt-3"), at=NOW - timedelta(hours=1))
    web.client.post("/webhook", data=b"{}")
    web.alarms.report("inbox-unavailable", "the disk is full", "make room")
    lines = web.client.get("/metrics").text.splitlines()
    answers = [line for line in lines if line.startswith("bot_webhook_requests_total")]
    assert answers == [
        f'bot_webhook_requests_total{{answer="{answer}"}} 1.0'
        for answer in ("kept", "duplicate", "forged", "stale", "malformed")
    ]
    assert 'bot_web_alarms{alarm="inbox-unavailable"} 1.0' in lines
    assert {"bot_webhook_seconds_count 5.0", "bot_engine_up 1.0", "bot_turns_total 1.0"} <= {*lines}


@pytest.mark.parametrize(("silent", "up"), [([], "1.0"), ([1], "0.0")])
def test_the_engine_is_up_only_if_that_of_each_shard_is(web: Web, silent: list[int], up: str) -> None:
    web.status = Status(silent=silent)
    lines = web.client.get("/metrics").text.splitlines()
    assert {f"bot_engine_up {up}", "bot_turns_total 1.0"} <= {*lines}


def test_without_an_engine_the_metrics_are_those_of_the_web_process_alone(web: Web) -> None:
    web.status = None
    answer = web.client.get("/metrics")
    assert (answer.status_code, "bot_engine_up 0.0" in answer.text, "bot_turns" in answer.text) == (200, True, False)
