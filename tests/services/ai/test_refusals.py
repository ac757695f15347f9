"""Every error of the specification is one of ours, with what to do and how long to wait."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.runtime.model_calls import FAILURES
from bot.services.ai import ai_errors
from bot.services.ai.ai_errors import (
    ERRORS,
    QUOTA_KINDS,
    CompletionError,
    ContentRefused,
    InvalidRequest,
    ModelNotInPackage,
    NoToolSupport,
    NotTheService,
    PackageRequired,
    PromptTooLong,
    ProviderError,
    QuotaExceeded,
    ServerError,
    ServiceRateLimited,
    ServiceUnauthorized,
    read_object,
    read_reset,
)

LONGEST_RESET = timedelta(days=31)
PAGE = Path(__file__).parents[3] / "docs" / "models.md"
CLASSES = [c for c in vars(ai_errors).values() if isinstance(c, type) and issubclass(c, CompletionError)]
NAMED = [c for c in CLASSES if c is not CompletionError]


def refused(status: int, body: Any, **headers: str) -> CompletionError:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(CompletionError) as raised:
        read_object(status, {name.replace("_", "-"): text for name, text in headers.items()}, content)
    return raised.value


def error(kind: str, code: str | None = None, **more: Any) -> dict[str, Any]:
    return {"error": {"message": "no", "type": kind, **({"code": code} if code else {}), **more}}


@pytest.mark.parametrize(
    ("status", "name", "expected", "retry"),
    [
        (400, "invalid_request_error", InvalidRequest, False),
        (400, "model_no_tool_support", NoToolSupport, False),
        (401, "invalid_request_error", ServiceUnauthorized, False),
        (403, "model_requires_package", PackageRequired, False),
        (403, "model_not_in_package", ModelNotInPackage, False),
        (429, "quota_exceeded", QuotaExceeded, False),
        (429, "rate_limit_exceeded", ServiceRateLimited, True),
        (500, "server_error", ServerError, False),
        (502, "provider_error", ProviderError, True),
    ],
)
def test_every_code_of_the_specification_has_its_error(
    status: int, name: str, expected: type[CompletionError], retry: bool
) -> None:
    for body in (error(name), error("invalid_request_error", name), error(name, "of_the_services_own")):
        found = refused(status, body)
        assert type(found) is expected
        assert (found.code, found.message, found.retry) == (name, "no", retry)
        assert found.advice in str(found) != ""


@pytest.mark.parametrize("kind", QUOTA_KINDS)
def test_a_quota_says_which(kind: str) -> None:
    bodies = error("quota_exceeded", kind), error(kind), error("quota_exceeded", f"quota_exceeded_{kind}")
    for body in bodies:
        found = refused(429, body)
        assert isinstance(found, QuotaExceeded)
        assert (found.kind, found.code) == (kind, "quota_exceeded")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, error("something_new"), InvalidRequest),
        (404, error("not_found"), InvalidRequest),
        (401, {"message": "Unauthenticated."}, ServiceUnauthorized),
        (429, b"slow down", ServiceRateLimited),
        (500, b"<html>", ServerError),
        (502, b"<html>", ProviderError),
        (503, b"", ProviderError),
        (404, b"<html>", NotTheService),
        (403, b"<html>", NotTheService),
        (301, b"", NotTheService),
        (200, b"<html>", NotTheService),
        (200, b"[]", NotTheService),
        (200, b"[" * 100_000, NotTheService),
        (200, error("provider_error"), ProviderError),
        (400, {"error": "no"}, InvalidRequest),
    ],
)
def test_what_the_specification_does_not_show_is_told_by_its_status(
    status: int, body: Any, expected: type[CompletionError]
) -> None:
    assert type(refused(status, body)) is expected


def test_the_services_words_are_kept_on_one_short_line() -> None:
    found = refused(400, {"error": {"message": "a\n\tb\0 " + "x" * 1000, "type": "invalid_request_error"}})
    assert found.message.startswith("a b x")
    assert len(found.message) <= 300


@pytest.mark.parametrize("place", ["error", "body", "header"])
def test_how_long_to_wait_is_found_where_it_may_stand(place: str) -> None:
    body = error("rate_limit_exceeded")
    if place == "error":
        body["error"]["reset_in"] = 90
    elif place == "body":
        body["reset_in"] = "90s"
    found = refused(429, body, **({"Retry_After": "90"} if place == "header" else {}))
    assert found.reset_in == timedelta(seconds=90)
    assert "renewed in 1m 30s" in str(found)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (90, timedelta(seconds=90)),
        (1.5, timedelta(seconds=1.5)),
        ("90", timedelta(seconds=90)),
        ("2h 15m", timedelta(hours=2, minutes=15)),
        ("2h15m30s", timedelta(hours=2, minutes=15, seconds=30)),
        ("in 3 hours", timedelta(hours=3)),
        ("4 days, 2 hours", timedelta(days=4, hours=2)),
        ("1.5 h", timedelta(hours=1.5)),
        ("1 Week", timedelta(weeks=1)),
        ("500ms", timedelta(seconds=0.5)),
        ("PT2H15M", timedelta(hours=2, minutes=15)),
        ("P1DT2H", timedelta(days=1, hours=2)),
        ("2025-03-01T15:00:00Z", timedelta(hours=3)),
        ("2025-03-01T15:00:00", timedelta(hours=3)),
        ("2025-03-01 16:30:00+01:00", timedelta(hours=3, minutes=30)),
        ("2025-03-01T11:00:00Z", timedelta(0)),
        (-5, timedelta(0)),
        (10**12, LONGEST_RESET),
        ("1 month", LONGEST_RESET),
        (None, None),
        (True, None),
        ("", None),
        ("soon", None),
        ("nan", None),
        ("1e999", None),
        ("2025-99-99", None),
        ([1], None),
        ("9" * 500, None),
    ],
)
def test_how_long_to_wait_is_read_in_every_usual_form(value: Any, expected: timedelta | None) -> None:
    assert read_reset(value, {"Date": "Sat, 01 Mar 2025 12:00:00 GMT"}) == expected


def test_a_time_is_of_no_use_where_the_answer_has_no_date() -> None:
    assert read_reset("2025-03-01T15:00:00Z", {}) is None


def test_every_error_says_what_it_is_and_what_to_do() -> None:
    assert sorted(row.raises.__name__ for row in ERRORS) == sorted(found.__name__ for found in NAMED)
    assert all(row.raises.__doc__ and row.advice for row in ERRORS)


def test_the_page_on_models_lists_every_error() -> None:
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    for found in ERRORS:
        (row,) = [row for row in rows if f"`{found.raises.__name__}`" in row]
        assert ("yes" if found.retry else "no") in row
        assert found.code in row
        assert found.advice in row
        assert ("| counts |" in row) == FAILURES[found.raises].counts


@pytest.mark.parametrize(
    "words",
    [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000",
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
        "the request exceeds the available context size",
        "Please reduce the length of the messages or completion.",
        "Input is too long for requested model.",
    ],
)
def test_a_question_that_is_too_long_is_known_by_the_services_code_or_words(words: str) -> None:
    said = {"error": {"message": words, "type": "invalid_request_error"}}
    assert [type(refused(status, said)) for status in (400, 413)] == [PromptTooLong, PromptTooLong]
    assert type(refused(400, error("invalid_request_error", "context_length_exceeded"))) is PromptTooLong
    assert type(refused(429, {"error": {"message": words, "type": "rate_limit_exceeded"}})) is ServiceRateLimited


@pytest.mark.parametrize(
    "words",
    [
        "The response was filtered due to the prompt triggering our content management policy.",
        "Your request was rejected as a result of our safety system.",
        "Your chosen model requires moderation and your input was flagged.",
    ],
)
def test_a_question_that_is_not_let_through_is_known_by_the_services_code_or_words(words: str) -> None:
    assert type(refused(400, {"error": {"message": words, "type": "invalid_request_error"}})) is ContentRefused
    assert type(refused(403, error("forbidden", "content_filter"))) is ContentRefused
