"""What a service's answer becomes: a value that can be kept, an outcome, another try, or an answer that is known already."""

from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core import values
from bot.core.clock import MovableClock
from bot.core.effects import HttpRequest
from bot.runtime.http_calls import HttpCalls
from bot.runtime.performers import CallAttempt
from bot.services.http_client import Response
from bot.services.request_errors import (
    AnswerCut,
    AnswerTooLarge,
    NotAllowed,
    RequestFailed,
    RequestTimedOut,
    Unreachable,
)
from bot.store.rows import CallRow

MOST_ANSWERS = 1_000
MOST_BYTES = 16 * 1024 * 1024
NOON = datetime(2030, 5, 1, 12, 0, tzinfo=UTC)
JSON = {"content-type": "application/json"}
GET = HttpRequest("GET", "crm:/x")
POST = HttpRequest("POST", "crm:/x")


class Bench:
    """Requesting with answers that a test has written down; ``asked`` is what was sent, with its key."""

    def __init__(self, *answers: Response | RequestFailed) -> None:
        self.clock = MovableClock(NOON)
        self.answers = deque(answers)
        self.asked: list[tuple[HttpRequest, str]] = []
        self.requesting = HttpCalls(self._answer, self.clock)

    def _answer(self, request: HttpRequest, key: str) -> Response:
        self.asked.append((request, key))
        answer = self.answers.popleft()
        if isinstance(answer, RequestFailed):
            raise answer
        return answer

    def does(self, request: HttpRequest = GET, key: str = "k1") -> CallAttempt:
        return self.requesting(CallRow(1, "e1#0", key, "6281234567890", request, 0, NOON), lambda text: True)


def answered(body: bytes, headers: dict[str, str] | None = None, status: int = 200) -> CallAttempt:
    return Bench(Response(status, headers or {}, body)).does()


def value(body: bytes, kind: str = "") -> Any:
    ended = answered(body, {"content-type": kind} if kind else {})
    assert ended.outcome == "done", ended
    return ended.value["answer"]


# What is in an answer


@pytest.mark.parametrize(
    ("body", "kind", "found"),
    [
        (b'{"a": [1, 2.5, null, true]}', "application/json", {"a": [1, 2.5, None, True]}),
        (b"[]", "application/vnd.api+json; charset=utf-8", []),
        (b"3", "application/json", 3),
        (b"\xef\xbb\xbf{}", "application/json", {}),
        (b'{"a": 1}', "text/html", {"a": 1}),
        (b' [1]', "", [1]),
        (b"{not json}", "text/plain", "{not json}"),
        (b"12", "text/plain", "12"),
        (b"", "application/json", None),
        ("Grüße".encode(), "text/plain", "Grüße"),
        ("Grüße €".encode("cp1252"), 'text/plain; charset="ISO-8859-1"', "Grüße €"),
        ("Grüße".encode(), "text/plain; charset*0=utf; charset*=utf-8''", "Grüße"),
        ("Grüße".encode(), f"text/plain; a={'x' * 200}; charset=iso-8859-1", "Grüße"),
    ],
)  # fmt: skip
def test_an_answer_is_json_where_it_says_or_looks_so_else_a_text(body: bytes, kind: str, found: Any) -> None:
    assert value(body, kind) == found


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{", "application/json"),
        (b"<html>", "application/json"),
        (b'{"a": NaN}', "application/json"),
        (b'{"a": 1e999}', "application/json"),
        (b"9" * 5000, "application/json"),
        (b"[" * 60 + b"]" * 60, "application/json"),
        (b"[" * 100_000, "application/json"),
        (b'"\\ud800"', "application/json"),
        (b"\xff\xfe\xfd", "text/plain"),
        (b"\x89PNG\r\n", "image/png"),
        (b"abc", "text/plain; charset=punycode"),
        (b"abc", "text/plain; charset=nonsense"),
    ],
)
def test_an_answer_that_cannot_be_kept_is_a_mismatch(body: bytes, kind: str) -> None:
    ended = answered(body, {"content-type": kind})
    assert (ended.outcome, ended.value, ended.again) == ("mismatch", {"status": 200, "answer": None}, False)


@given(st.binary(max_size=200), st.text(st.characters(codec="latin-1"), max_size=60), st.integers(200, 599))
def test_whatever_comes_is_an_outcome_with_a_value_that_can_be_stored(body: bytes, kind: str, status: int) -> None:
    ended = answered(body, {"content-type": kind}, status)
    assert ended.outcome in ("done", "mismatch", str(status))
    assert values.loads(values.dumps(ended.value)) == ended.value


def test_a_status_that_is_no_success_is_its_own_outcome_and_tells_what_came_with_it() -> None:
    ended = answered(b'{"message": "closed"}', JSON, 422)
    assert (ended.outcome, ended.value) == ("422", {"status": 422, "answer": {"message": "closed"}})
    assert ended.detail == "GET crm:/x answered 422"
    assert answered(b"\xff", JSON, 404).value == {"status": 404, "answer": None}
    assert answered(b"{}", JSON, 299).outcome == "done"
    assert answered(b"", {}, 302).outcome == "302"


# Another try


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504])
def test_a_request_that_changes_nothing_more_when_repeated_is_tried_again(status: int) -> None:
    for method in ("GET", "PUT", "DELETE"):
        assert Bench(Response(status, {}, b"")).does(HttpRequest(method, "crm:/x")).again


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 422])
def test_an_answer_that_stays_the_same_is_not_asked_for_again(status: int) -> None:
    assert not Bench(Response(status, {}, b"")).does().again


@pytest.mark.parametrize(
    ("failure", "again"),
    [
        (Unreachable("x"), True), (Response(429, {}, b""), True),
        (AnswerCut("x"), False), (RequestTimedOut("x"), False), (Response(503, {}, b""), False), (AnswerTooLarge("x"), False),
    ],
)  # fmt: skip
def test_a_post_is_repeated_only_where_the_service_has_certainly_not_acted(
    failure: Response | RequestFailed, again: bool
) -> None:
    assert Bench(failure).does(POST).again is again
    assert Bench(failure).does(HttpRequest("PATCH", "crm:/x")).again is again


@pytest.mark.parametrize("failure", [AnswerCut("x"), RequestTimedOut("x"), Response(503, {}, b"")])
def test_a_post_with_a_key_of_its_own_is_repeated(failure: Response | RequestFailed) -> None:
    assert Bench(failure).does(HttpRequest("POST", "crm:/x", {"idempotency-key": "order-17"})).again


@pytest.mark.parametrize(
    ("error", "outcome", "again"),
    [
        (Unreachable("no"), "unreachable", True), (AnswerCut("no"), "unreachable", True), (RequestTimedOut("no"), "timeout", True),
        (AnswerTooLarge("no"), "too_large", False), (NotAllowed("no"), "unreachable", False),
    ],
)  # fmt: skip
def test_what_goes_wrong_has_an_outcome(error: RequestFailed, outcome: str, again: bool) -> None:
    ended = Bench(error).does()
    assert (ended.outcome, ended.value, ended.detail, ended.again) == (outcome, None, "GET crm:/x: no", again)


@pytest.mark.parametrize(
    ("asked", "again", "wait"),
    [("7", True, 7), ("60", True, 60), ("61", False, 60), ("9" * 50, False, 60), ("soon", True, None), ("-1", True, None)],
)  # fmt: skip
def test_a_service_may_ask_to_wait_but_not_for_long(asked: str, again: bool, wait: int | None) -> None:
    ended = Bench(Response(503, {"retry-after": asked}, b"")).does()
    assert (ended.again, ended.wait) == (again, None if wait is None else timedelta(seconds=wait))


def test_every_try_has_the_rows_key() -> None:
    bench = Bench(RequestTimedOut("x"), Response(200, {}, b""))
    bench.does(POST, "k7")
    bench.does(POST, "k7")
    assert bench.asked == [(POST, "k7"), (POST, "k7")]


def test_only_what_the_operator_must_mend_is_logged_and_without_what_a_contact_wrote(
    caplog: pytest.LogCaptureFixture,
) -> None:
    request = HttpRequest("GET", "crm:/orders/Zwiebelkuchen")
    Bench(NotAllowed("10.0.0.1 is no public address")).does(request)
    Bench(RequestTimedOut("x")).does(request)
    Bench(Response(404, {}, b"Zwiebelkuchen")).does(request)
    assert caplog.messages == ["an HTTP request is not sent: 10.0.0.1 is no public address"]


# What was answered lately


def kept(seconds: float = 60.0, path: str = "/x", **headers: str) -> HttpRequest:
    return HttpRequest("GET", f"crm:{path}", headers, cache=seconds)


def test_the_same_request_is_answered_from_memory_for_its_time() -> None:
    bench = Bench(Response(200, JSON, b"1"), Response(200, JSON, b"2"))
    assert bench.does(kept()).value["answer"] == 1
    bench.clock.move(timedelta(seconds=59))
    assert bench.does(kept(), "k2").value["answer"] == 1
    bench.clock.move(timedelta(seconds=1))
    assert bench.does(kept(), "k3").value["answer"] == 2


def test_another_address_or_header_is_another_request() -> None:
    bench = Bench(*(Response(200, JSON, str(n).encode()) for n in range(3)))
    found = [bench.does(request).value["answer"] for request in (kept(), kept(path="/y"), kept(A="b"), kept())]
    assert found == [0, 1, 2, 0]


def test_without_cache_everybody_asks_anew() -> None:
    bench = Bench(Response(200, JSON, b"1"), Response(200, JSON, b"2"))
    assert [bench.does().value["answer"], bench.does().value["answer"]] == [1, 2]


@pytest.mark.parametrize("failure", [Response(404, {}, b""), Response(200, JSON, b"{"), RequestTimedOut("x")])
def test_a_failure_is_not_kept(failure: Response | RequestFailed) -> None:
    bench = Bench(failure, Response(200, JSON, b"1"))
    assert bench.does(kept()).outcome != "done"
    assert bench.does(kept()).outcome == "done"


def test_what_is_kept_is_bounded_in_number_and_in_size() -> None:
    bench = Bench()
    for number in range(MOST_ANSWERS + 1):
        bench.answers.append(Response(200, {}, b"x"))
        bench.does(kept(path=f"/{number}"))
    bench.answers.append(Response(200, {}, b"new"))
    assert bench.does(kept(path="/0")).value["answer"] == "new"
    assert bench.does(kept(path="/2")).value["answer"] == "x"
    large = MOST_BYTES // 3
    for number in range(4):
        bench.answers.append(Response(200, {}, b"x" * large))
        bench.does(kept(path=f"/large{number}"))
    bench.answers.append(Response(200, {}, b"new"))
    assert bench.does(kept(path="/large0")).value["answer"] == "new"
    assert len(bench.does(kept(path="/large3")).value["answer"]) == large


def test_the_headers_of_what_is_kept_count_too() -> None:
    bench, large = Bench(), {"x-large": "x" * (MOST_BYTES // 3)}
    for number in range(4):
        bench.answers.append(Response(200, large, b"old"))
        bench.does(kept(path=f"/{number}"))
    bench.answers.append(Response(200, {}, b"new"))
    assert bench.does(kept(path="/0")).value["answer"] == "new"


def test_nobody_can_change_what_the_others_are_answered() -> None:
    bench = Bench(Response(200, JSON, b'{"items": [1]}'))
    bench.does(kept()).value["answer"]["items"].append(2)
    assert bench.does(kept()).value["answer"] == {"items": [1]}


def test_a_reload_forgets_what_was_answered() -> None:
    bench = Bench(Response(200, JSON, b"1"), Response(200, JSON, b"2"))
    bench.does(kept())
    bench.requesting.cache.clear()
    assert bench.does(kept()).value["answer"] == 2
