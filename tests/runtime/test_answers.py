"""Each answer to a send, as the table in docs/decisions.md has it: what follows from it at the first try, and for a repeated key."""

import re
from pathlib import Path

import pytest

from bot.runtime.sending import SendResult
from tests.runtime.delivering import Bench
from tests.services.gateway.peer import Answer, accepted, answer, hang_up, peer, raw, refused, reset

DECISIONS = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
TABLE = DECISIONS[DECISIONS.index("| answer to a send |") :].split("\n\n", 1)[0]
ROWS = {
    answer: expected for answer, *expected in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", TABLE, re.MULTILINE)[1:]
}

PAGE = b"<html><body>Not here</body></html>"
NO_CONNECTION = "no connection"

SAMPLES: dict[str, list[Answer]] = {
    "`success: true`, at any status": [accepted(), answer(409, {"success": True, "data": {"messageId": "m1"}})],
    "401": [refused("bad_key", 401), answer(401, PAGE)],
    "429": [refused("slow_down", 429), answer(429, PAGE)],
    "409 that says that the key was used, or names the message": [
        refused("conflict", 409),
        refused("IDEMPOTENCY_KEY_REUSED", 409),
        refused("DUPLICATE_REQUEST", 409),
        refused("MESSAGE_ALREADY_SENT", 409),
        answer(409, {"success": False, "error": {"code": "X"}, "data": {"messageId": "m1"}}),
        refused("X", 409, messageId="m1"),
    ],
    "any other 409, also bare": [
        refused("CONVERSATION_LOCKED", 409),
        refused("IDEMPOTENCY_REQUEST_IN_PROGRESS", 409),
        answer(409, {"success": False, "error": "conflict"}),
        answer(409, PAGE),
        answer(409, b""),
    ],
    "an error below 500 whose code says that the key was used": [
        refused("IDEMPOTENCY_KEY_REUSED", 422),
        refused("idempotency-key-already-used", 400),
        refused("DUPLICATE_MESSAGE", 200),
    ],
    "402, 403, 404, 405, 407, 410, 421, 426, 451, 501": [
        *(refused("NEW_CODE", status) for status in (402, 403, 404, 405, 410, 501)),
        *(answer(status, PAGE) for status in (403, 404, 405, 407, 410, 501)),
        answer(404, {"detail": "Not Found"}),
    ],
    "408, 425, another 5xx, a 2xx that is no envelope, no whole answer": [
        refused("NEW_CODE", 408),
        answer(425, PAGE),
        answer(500, PAGE),
        refused("NEW_CODE", 503),
        answer(200, PAGE),
        answer(202, b"[1]"),
        reset,
        hang_up,
        raw(b'HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"success": true'),
    ],
    "another 3xx or 4xx without an envelope": [
        answer(302, b"", {"Location": "https://login.example"}),
        answer(400, PAGE),
        answer(413, PAGE),
    ],
    "any other error": [
        refused("NEW_CODE", 400),
        refused("NEW_CODE", 422),
        refused("NEW_CODE", 200),
        refused("DUPLICATE_BUTTON_ID", 422),
        answer(200, {"success": False}),
    ],
}

OF_CODES = "an [error's code](errors.md#with-a-code), at any status"


def test_the_page_has_a_row_for_each_sample_and_for_each_row_a_sample() -> None:
    assert ROWS.keys() - {OF_CODES, NO_CONNECTION} == SAMPLES.keys()


def meaning(bench: Bench, result: SendResult) -> str:
    """What follows from an answer, in the words of the table."""
    reason = bench.delivery._breakers[""].reason
    if result.state == "held":
        return "all held" if reason == "account" else "route held"
    if result.state == "retry":
        return "all wait" if reason == "limits" else "unknown, again" if result.unclear else "again"
    return {"failed": "refused"}.get(result.state, result.state)


CASES = [pytest.param(row, given, id=f"{row[:24]} {n}") for row, all in SAMPLES.items() for n, given in enumerate(all)]


@pytest.mark.parametrize(("row", "given"), CASES)
def test_the_first_try_is_answered(row: str, given: Answer) -> None:
    with peer() as server:
        bench = Bench(server.url)
        server.answers(given)
        bench.offer(bench.row())
        assert meaning(bench, bench.after(1)) == ROWS[row][0]
        bench.delivery.stop(5)


@pytest.mark.parametrize("how", ["an answer was lost", "the engine crashed"])
@pytest.mark.parametrize(("row", "given"), CASES)
def test_a_repeated_key_is_answered(row: str, given: Answer, how: str) -> None:
    with peer() as server:
        bench = Bench(server.url)
        if how == "an answer was lost":
            server.answers(reset, given)
            bench.offer(bench.row())
            bench.after(1)
            bench.move_to_next()
        else:
            server.answers(given)
            bench.offer(bench.row(repeated=True))
        result = bench.after(2 if how == "an answer was lost" else 1)
        found = meaning(bench, result)
        assert found == ROWS[row][1]
        assert {request.headers["idempotency-key"] for request in server.requests} == {"key1"}
        bench.delivery.stop(5)
