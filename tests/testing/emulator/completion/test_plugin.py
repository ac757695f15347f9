"""The endpoints of the plugin: check, chat and update, with limits of their own."""

from datetime import timedelta
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator.completion import CompletionService
from tests.testing.emulator.completion.conftest import HELLO, Caller

DOMAIN = "shop.example"


@pytest.mark.parametrize(
    ("version", "status"), [(None, "active"), ("2.0.0", "active"), ("10.1", "active"), ("1.9.9", "update_required")]
)
def test_a_check_tells_whether_the_version_is_new_enough(api: Caller, version: str | None, status: str) -> None:
    body = {"domain": DOMAIN} | ({"version": version} if version else {})
    assert api.post("plugin/check", body).json() == {"status": status}


def test_a_package_has_so_many_domains(api: Caller, service: CompletionService) -> None:
    service.plugin.most_domains = 1
    domains = [DOMAIN, "blog.example", DOMAIN]
    statuses = [api.post("plugin/check", {"domain": domain}).json()["status"] for domain in domains]
    assert statuses == ["active", "domain_limit", "active"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("plugin/check", {}),
        ("plugin/check", {"domain": ""}),
        ("plugin/check", {"domain": DOMAIN, "version": 2}),
        ("plugin/check", {"domain": DOMAIN, "version": "new"}),
        ("plugin/chat", {"messages": HELLO}),
        ("plugin/chat", {"domain": DOMAIN}),
        ("plugin/chat", {"domain": DOMAIN, "messages": []}),
        ("plugin/chat", {"domain": DOMAIN, "messages": HELLO, "model": "acme/none"}),
        ("plugin/chat", {"domain": DOMAIN, "messages": HELLO, "model": 7}),
        ("plugin/chat", {"domain": DOMAIN, "messages": HELLO, "model": ["acme/swift"]}),
    ],
)
def test_what_is_missing_or_wrong_is_a_400(api: Caller, path: str, body: dict[str, Any]) -> None:
    response = api.post(path, body)
    assert (response.status_code, response.json()["error"]["type"]) == (400, "invalid_request_error")


def test_a_chat_needs_no_model(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.", on="plugin/chat")
    answer = api.post("plugin/chat", {"domain": DOMAIN, "messages": HELLO}).json()
    assert (answer["model"], answer["choices"][0]["message"]["content"]) == ("acme/swift", "Good morning.")
    named = api.post("plugin/chat", {"domain": DOMAIN, "messages": HELLO, "model": "acme/wise"}).json()
    assert (named["model"], named["choices"][0]["message"]["content"]) == ("acme/wise", "You asked: Hello")


@pytest.mark.parametrize(
    ("shape", "body"),
    [
        ("message", {"message": {"role": "assistant", "content": "Hi"}}),
        ("reply", {"reply": "Hi"}),
        ("data", {"data": {"content": "Hi"}}),
    ],
)
def test_the_shape_of_a_chats_answer_is_a_switch(
    api: Caller, service: CompletionService, shape: Any, body: dict[str, Any]
) -> None:
    service.behaviour.plugin_chat = shape
    service.say("Hi", on="plugin/chat")
    assert api.post("plugin/chat", {"domain": DOMAIN, "messages": HELLO}).json() == body


def test_a_chat_can_fail(api: Caller, service: CompletionService) -> None:
    service.fail("provider_error", on="plugin/chat")
    assert api.post("plugin/chat", {"domain": DOMAIN, "messages": HELLO}).status_code == 502


def test_an_update_tells_the_newest_version(api: Caller, service: CompletionService) -> None:
    service.plugin.version = "3.1.0"
    assert api.get("plugin/update").json() == {"version": "3.1.0"}


def test_the_plugin_is_throttled_for_itself(api: Caller, service: CompletionService, clock: MovableClock) -> None:
    statuses = [api.get("plugin/update").status_code for _ in range(31)]
    assert statuses == [200] * 30 + [429]
    assert api.post("plugin/check", {"domain": DOMAIN}).json()["error"]["type"] == "rate_limit_exceeded"
    assert api.chat().status_code == 200
    clock.move(timedelta(minutes=1))
    service.plugin.day.limit = 31
    assert [api.get("plugin/update").status_code for _ in range(2)] == [200, 200]
