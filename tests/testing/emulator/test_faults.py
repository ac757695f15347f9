"""Faults: each does what it says, accepts or does not, and is counted."""

import threading

import pytest
import requests

from bot.testing.emulator import Emulator, Request
from tests.testing.emulator.conftest import Caller


@pytest.mark.parametrize(
    ("kind", "status", "code"),
    [
        ("send_failed", 502, "WHATSAPP_SEND_FAILED"),
        ("refused_type", 422, "VALIDATION_INVALID_TYPE"),
        ("unauthorized", 401, "unauthorized"),
        ("rate_limited", 429, "RATE_LIMIT_EXCEEDED"),
    ],
)
def test_a_refusal_accepts_nothing(api: Caller, emulator: Emulator, kind: str, status: int, code: str) -> None:
    fault = emulator.faults.add(kind, count=1, seconds=7)
    response = api.text()
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)
    assert response.headers.get("Retry-After") == ("7" if kind == "rate_limited" else None)
    assert (emulator.sent, fault.hits, emulator.counts[f"fault {kind}"]) == ([], 1, 1)
    assert api.text().ok


@pytest.mark.parametrize(("kind", "accepted"), [("error_before", 0), ("error_after", 1)])
def test_a_bare_error_has_no_envelope(api: Caller, emulator: Emulator, kind: str, accepted: int) -> None:
    emulator.faults.add(kind, status=503)
    response = api.text()
    assert (response.status_code, response.headers["Content-Type"]) == (503, "text/html")
    assert len(emulator.sent) == accepted


@pytest.mark.parametrize(("kind", "accepted"), [("reset_before", 0), ("reset_after", 1), ("truncated", 1)])
def test_a_broken_answer_is_seen_as_one(api: Caller, emulator: Emulator, kind: str, accepted: int) -> None:
    emulator.faults.add(kind, count=1)
    with pytest.raises(requests.exceptions.RequestException):
        api.text()
    assert len(emulator.sent) == accepted
    assert api.text().ok


def test_a_garbage_answer_is_no_json(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("garbage", count=1)
    response = api.text()
    assert response.status_code == 200
    with pytest.raises(requests.exceptions.JSONDecodeError):
        response.json()
    assert len(emulator.sent) == 1


def test_a_timeout_is_accepted_and_never_answered(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("timeout", count=1, seconds=60)
    with pytest.raises(requests.exceptions.ReadTimeout):
        api.text(read_timeout=0.2)
    assert emulator.wait_until(lambda: len(emulator.sent) == 1)


def test_a_held_answer_ends_in_a_reset(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("timeout", seconds=0.1)
    with pytest.raises(requests.exceptions.ConnectionError):
        api.text()


def test_clients_that_gave_up_hold_no_thread() -> None:
    with Emulator(threads=1) as emulator:
        emulator.open_window("491510000001")
        emulator.faults.add("timeout", count=1, seconds=60)
        caller = Caller(emulator)
        with pytest.raises(requests.exceptions.ReadTimeout):
            caller.text(read_timeout=0.1)
        assert emulator.wait_until(lambda: len(emulator.sent) == 1)
        assert caller.text().ok


def test_a_slow_answer_is_late(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("slow", seconds=60, count=1)
    with pytest.raises(requests.exceptions.ReadTimeout):
        api.text(read_timeout=0.1)
    assert emulator.wait_until(lambda: len(emulator.sent) == 1)


def test_a_slow_answer_is_right(api: Caller, emulator: Emulator) -> None:
    fault = emulator.faults.add("slow", seconds=0.01)
    assert api.text().ok
    assert fault.hits == 1


def test_slowness_comes_on_top_of_another_fault(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("slow", seconds=0.01)
    emulator.faults.add("send_failed")
    emulator.faults.add("unauthorized")
    assert api.text().status_code == 502
    assert emulator.faults.hits == {"slow": 1, "send_failed": 1}


def test_a_fault_hits_where_its_predicate_says(api: Caller, emulator: Emulator) -> None:
    emulator.open_window("491510000002")

    def second(request: Request) -> bool:
        return request.to == "491510000002" and request.type == "text" and request.endpoint == "send-message"

    fault = emulator.faults.add("error_before", when=second)
    assert api.text().ok
    assert api.text(to="491510000002").status_code == 500
    assert fault.hits == 1


def test_a_predicate_may_look_at_what_was_sent(api: Caller, emulator: Emulator) -> None:
    emulator.faults.add("error_after", when=lambda _: len(emulator.sent) == 1)
    assert [api.text().status_code for _ in range(3)] == [200, 500, 200]


def test_a_probability_is_the_same_again_with_the_same_seed() -> None:
    def run(seed: int) -> list[int]:
        with Emulator(per_minute=1000, seed=seed) as emulator:
            emulator.open_window("491510000001")
            emulator.faults.add("error_before", probability=0.5)
            caller = Caller(emulator)
            return [caller.text().status_code for _ in range(30)]

    first = run(1)
    assert first == run(1)
    assert set(first) == {200, 500}
    assert first != run(2)


def test_faults_can_be_switched_off_and_stay_counted(api: Caller, emulator: Emulator) -> None:
    fault = emulator.faults.add("error_before")
    other = emulator.faults.add("error_before", status=503)
    api.text()
    emulator.faults.remove(fault)
    assert api.text().status_code == 503
    emulator.faults.clear()
    assert api.text().ok
    assert (fault.hits, other.hits, emulator.faults.hits) == (1, 1, {"error_before": 2})


def test_a_fault_that_does_not_exist_is_named(emulator: Emulator) -> None:
    with pytest.raises(ValueError, match="explode"):
        emulator.faults.add("explode")


def test_stopping_breaks_off_what_is_held_and_ends_every_thread() -> None:
    before = set(threading.enumerate())
    emulator = Emulator().start()
    emulator.open_window("491510000001")
    emulator.faults.add("timeout", seconds=600)
    caller, ended = Caller(emulator), threading.Event()

    def held() -> None:
        with pytest.raises(requests.exceptions.ConnectionError):
            caller.text()
        ended.set()

    client = threading.Thread(target=held)
    client.start()
    assert emulator.wait_until(lambda: len(emulator.sent) == 1)
    emulator.stop()
    client.join()
    assert ended.is_set()
    assert {thread for thread in threading.enumerate() if thread.name.startswith("emulator")} <= before
