"""Errors: each of the specification's for real, and each by script."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import requests

from bot.core.clock import MovableClock
from bot.testing.emulator.completion import ERRORS, KEY, CompletionService, failure
from tests.testing.emulator.completion.conftest import HELLO, Caller, events_of

TOOLS = [{"type": "function", "function": {"name": "find"}}]


WRONG: tuple[dict[str, Any], ...] = (
    {"max_tokens": 0},
    {"max_tokens": 100_001},
    {"max_tokens": "100"},
    {"max_tokens": True},
    {"temperature": -0.1},
    {"temperature": 2.1},
    {"temperature": "warm"},
    {"stream": "yes"},
    {"reasoning_split": 1},
    {"tools": {}},
    {"tool_choice": 7},
    {"model": ""},
    {"model": 7},
    {"model": None},
    {"messages": None},
    {"messages": []},
    {"messages": "Hello"},
    {"messages": ["Hello"]},
    {"messages": [{"role": "robot", "content": "Hello"}]},
    {"messages": [{"role": "user"}]},
    {"messages": [{"role": "user", "content": 7}]},
)


@pytest.mark.parametrize(
    "body", [{}, *({"model": "acme/swift", "messages": HELLO, **wrong} for wrong in WRONG)], ids=str
)
def test_an_invalid_parameter_is_a_400(api: Caller, service: CompletionService, body: Any) -> None:
    service.say("Not for this one")
    response = api.post("chat/completions", body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")
    assert service.unsaid == 1


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"\xff", b'{"temperature": NaN}', b"[" * 100_000])
def test_what_is_no_json_object_is_a_400(api: Caller, raw: bytes) -> None:
    response = api.post("chat/completions", None, data=raw, json=None)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")


def test_what_there_is_not_is_a_404_or_a_405(api: Caller) -> None:
    assert api.get("completions").status_code == 404
    assert api.get("chat/completions").status_code == 405
    assert api.post("models", {}).status_code == 405
    assert requests.get(api.base.removesuffix("/api/v1") + "/models", timeout=10).status_code == 404


Sent = Callable[[Caller, str], requests.Response]
BODY: dict[str, Any] = {"model": "acme/swift", "messages": HELLO}
WAYS: dict[str, Sent] = {
    "authorization": lambda api, key: api.post("chat/completions", BODY, headers={"Authorization": f"Bearer {key}"}),
    "x-api-key": lambda api, key: api.post("chat/completions", BODY, headers={"x-api-key": key}),
    "query": lambda api, key: api.post("chat/completions", BODY, headers={}, params={"apiKey": key}),
    "body": lambda api, key: api.post("chat/completions", {**BODY, "apiKey": key}, headers={}),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_key_is_taken_in_every_way(api: Caller, service: CompletionService, way: str) -> None:
    right, wrong = WAYS[way](api, KEY), WAYS[way](api, "sk-wrong")
    assert (right.status_code, wrong.status_code) == (200, 401)
    assert wrong.json()["error"]["type"] == "invalid_request_error"
    assert [seen.key_in for seen in service.requests()] == [way, way]
    assert service.unknown_fields == set()


@pytest.mark.parametrize("headers", [{}, {"Authorization": f"Basic {KEY}"}, {"Authorization": KEY}])
def test_without_a_key_nothing_is_answered(api: Caller, headers: dict[str, str]) -> None:
    api.headers = headers
    asked = [api.chat(), api.get("models"), api.get("plugin/update"), api.post("plugin/check", {"domain": "a.example"})]
    assert [response.status_code for response in asked] == [401] * 4


def test_a_key_that_is_closed_is_refused(api: Caller, service: CompletionService) -> None:
    service.close_key("the package is inactive")
    assert api.error() == {"http": 401, "type": "invalid_request_error", "message": "the package is inactive"}


@pytest.mark.parametrize(
    "needs",
    [
        {"tools": TOOLS},
        {"messages": [*HELLO, {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}]},
        {"messages": [*HELLO, {"role": "tool", "content": "42", "tool_call_id": "1"}]},
        {"messages": [*HELLO, {"role": "tool_result", "content": "42"}]},
    ],
    ids=str,
)
def test_a_model_without_tools_says_so(api: Caller, needs: dict[str, Any]) -> None:
    error = api.error(**{"model": "acme/plain", **needs})
    assert (error["http"], error["type"]) == (400, "model_no_tool_support")
    assert api.chat(model="acme/plain", tools=[]).status_code == 200


def test_an_exclusive_model_needs_a_package(api: Caller) -> None:
    error = api.error(model="plus/great")
    assert (error["http"], error["type"]) == (403, "model_requires_package")


def test_a_package_has_its_models_and_no_others() -> None:
    with CompletionService(package={"plus/great"}) as service:
        api = Caller(service)
        assert api.chat(model="plus/great").status_code == 200
        error = api.error(model="acme/swift")
        assert (error["http"], error["type"]) == (403, "model_not_in_package")


@pytest.mark.parametrize(
    ("switch", "http"), [("invalid_request_error", 400), ("model_not_in_package", 403), ("server_error", 500)]
)
def test_what_an_unknown_model_gets_is_a_switch(
    api: Caller, service: CompletionService, switch: Any, http: int
) -> None:
    service.behaviour.unknown_model = switch
    error = api.error(model="acme/none")
    assert (error["http"], error["type"]) == (http, switch)


def test_too_many_requests_a_minute_are_refused(clock: MovableClock) -> None:
    with CompletionService(clock, per_minute=2) as service:
        api = Caller(service)
        statuses = [api.chat().status_code, api.get("models").status_code]
        error = api.error()
        assert (statuses, error["http"], error["type"]) == ([200, 200], 429, "rate_limit_exceeded")
        clock.move(timedelta(minutes=1))
        assert api.chat().status_code == 200


@pytest.mark.parametrize(("kind", "hours"), [("5h", 5), ("weekly", 168), ("monthly_exhausted", 720)])
def test_a_quota_that_is_used_up_says_when_it_is_renewed(clock: MovableClock, kind: str, hours: int) -> None:
    with CompletionService(clock, quotas={kind: 10}) as service:
        api = Caller(service)
        assert api.chat(max_tokens=100).status_code == 200  # the last tokens may go over the quota
        assert api.chat().status_code == 200
        clock.move(timedelta(hours=1))
        error = api.error()
        assert (error["http"], error["type"], error["code"]) == (429, "quota_exceeded", kind)
        assert error["reset_in"] == (hours - 1) * 3600
        assert api.get("models").status_code == 200
        clock.move(timedelta(seconds=error["reset_in"]))
        assert api.chat().status_code == 200


def test_a_quota_of_another_kind_is_named() -> None:
    with pytest.raises(ValueError, match="5h, weekly, monthly_exhausted"):
        CompletionService(quotas={"daily": 10})


@pytest.mark.parametrize(("name", "http"), [(name, http) for name, all_of in ERRORS.items() for http in all_of])
@pytest.mark.parametrize("stream", [False, True])
def test_every_error_can_be_scripted(
    api: Caller, service: CompletionService, name: str, http: int, stream: bool
) -> None:
    service.fail(name, http, message="As the script says")
    error = api.error(stream=stream)
    assert (error["http"], error["type"], error["message"]) == (http, name, "As the script says")
    assert service.counts[f"refused {name}"] == 1
    assert service.requests()[0].error == name
    assert api.chat().status_code == 200


@pytest.mark.parametrize(("on", "ask"), [("models", "get"), ("plugin/check", "post"), ("plugin/update", "get")])
def test_other_endpoints_can_fail_too(api: Caller, service: CompletionService, on: str, ask: str) -> None:
    def call() -> int:
        response = api.get(on) if ask == "get" else api.post(on, {"domain": "shop.example"})
        return response.status_code

    service.fail("server_error", on=on)
    assert [call(), call()] == [500, 200]


def test_how_an_error_is_written_is_a_switch(api: Caller, service: CompletionService) -> None:
    for _ in range(4):
        service.fail("quota_exceeded", kind="weekly", reset_in=8100)
    assert api.error() == {
        "http": 429,
        "message": "quota exceeded",
        "type": "quota_exceeded",
        "code": "weekly",
        "reset_in": 8100,
    }
    service.behaviour.reset_in = "text"
    assert api.error()["reset_in"] == "2h 15m"
    service.behaviour.reset_in_place = "body"
    body = api.chat().json()
    assert (body["reset_in"], "reset_in" in body["error"]) == ("2h 15m", False)
    service.behaviour.named_by = "code"
    error = api.error()
    assert (error["type"], error["code"]) == ("invalid_request_error", "quota_exceeded")


def test_a_reset_can_be_told_in_any_words(api: Caller, service: CompletionService) -> None:
    service.fail("quota_exceeded", reset_in="in 3 hours")
    assert api.error()["reset_in"] == "in 3 hours"


def test_an_error_may_come_in_the_middle_of_a_stream(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.", error=failure("provider_error"))
    events = events_of(api.chat(stream=True).content)
    assert events[-1] == '{"error":{"message":"provider error","type":"provider_error"}}'
    assert len(events) == 3


def test_any_bytes_can_come_instead(api: Caller, service: CompletionService) -> None:
    service.send(503, b"<h1>Sorry</h1>")
    response = api.chat()
    assert (response.status_code, response.headers["Content-Type"], response.content) == (
        503,
        "text/html",
        b"<h1>Sorry</h1>",
    )


def test_an_error_or_endpoint_that_does_not_exist_is_named(service: CompletionService) -> None:
    with pytest.raises(ValueError, match="provider_error"):
        service.fail("explode")
    with pytest.raises(ValueError, match="plugin/update"):
        service.fail("server_error", on="plugin/none")
    with pytest.raises(ValueError, match="chat/completions, plugin/chat"):
        service.say("Hello", on="models")
    with pytest.raises(TypeError, match="colour"):
        service.say("Hello", colour="red")
    service.fail("teapot", 418)
