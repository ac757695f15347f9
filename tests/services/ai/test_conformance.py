"""The same cases for another's client and for ours, against the emulator that was written from the specification."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from time import monotonic
from typing import Any, Protocol

import pytest

from bot.services.ai.ai_client import ChatRequest, Completions
from bot.services.ai.ai_errors import (
    CompletionError,
    CutStream,
    InvalidRequest,
    ModelNotInPackage,
    NoToolSupport,
    NotTheService,
    PackageRequired,
    ProviderError,
    QuotaExceeded,
    ServerError,
    ServiceNotReached,
    ServiceRateLimited,
    ServiceTimedOut,
    ServiceUnauthorized,
)
from bot.testing.emulator.completion import KEY, CompletionBehaviour, CompletionService, failure
from tests.searches import search, tries
from tests.services.gateway.peer import too_late

FIND: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "orders.find",
        "description": "Finds an order.",
        "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
    },
}
TEXT = "Grüße aus Köln!\n\n- eins\n- zwei 🙂"


@dataclass(frozen=True)
class Said:
    """An answer as either client has it."""

    text: str
    finish: str
    calls: Sequence[tuple[str, Any]] = ()
    tokens: int | None = None


class Client(Protocol):
    """What a case needs."""

    def ask(self, *messages: dict[str, Any], stream: bool, model: str = ..., tools: Sequence[Any] = ()) -> Said: ...
    def models(self) -> list[str]: ...
    def close(self) -> None: ...


def openai() -> Any:
    """The package. It takes seconds to import, so only whoever runs these cases does."""
    return import_module("openai")


@cache
def their_connections() -> Any:
    """One pool for all of their clients: to read the certificates that it trusts takes longer than a case."""
    return openai().DefaultHttpxClient()


class TheirClient:
    """The openai package."""

    def __init__(self, url: str, key: str, seconds: float) -> None:
        self._openai = openai().OpenAI(
            api_key=key, base_url=url, max_retries=0, timeout=seconds, http_client=their_connections()
        )

    def ask(
        self, *messages: dict[str, Any], stream: bool, model: str = "acme/swift", tools: Sequence[Any] = ()
    ) -> Said:
        asked: dict[str, Any] = {"model": model, "messages": list(messages), "max_tokens": 100}
        asked |= {"tools": list(tools), "tool_choice": "auto"} if tools else {}
        if stream:
            return self._joined(self._openai.chat.completions.create(**asked, stream=True))
        whole = self._openai.chat.completions.create(**asked)
        choice = whole.choices[0]
        calls = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls or ()]
        tokens = whole.usage.total_tokens if whole.usage else None
        return Said(choice.message.content or "", choice.finish_reason, calls, tokens)

    def models(self) -> list[str]:
        return [model.id for model in self._openai.models.list()]

    def close(self) -> None: ...  # the pool is everybody's

    def _joined(self, chunks: Any) -> Said:
        text, finish, tokens = "", "", None
        calls: dict[int, tuple[str, str]] = {}
        for chunk in chunks:
            tokens = chunk.usage.total_tokens if chunk.usage else tokens
            for choice in chunk.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
                for call in choice.delta.tool_calls or ():
                    name, arguments = calls.get(call.index, ("", ""))
                    function = call.function
                    calls[call.index] = (name + (function.name or ""), arguments + (function.arguments or ""))
        return Said(text, finish, [(name, json.loads(arguments)) for name, arguments in calls.values()], tokens)


class OurClient:
    """bot.services.ai."""

    def __init__(self, url: str, key: str, seconds: float) -> None:
        self._completions = Completions(url, key, seconds=max(seconds, 60), idle=seconds)

    def ask(
        self, *messages: dict[str, Any], stream: bool, model: str = "acme/swift", tools: Sequence[Any] = ()
    ) -> Said:
        choice = "auto" if tools else None
        request = ChatRequest(model, messages, max_tokens=100, tools=tools, tool_choice=choice)
        if stream:
            with self._completions.stream(request) as pieces:
                text = "".join(pieces)
            completion = pieces.completion
            assert text == completion.text
        else:
            completion = self._completions.complete(request)
        usage = completion.usage
        tokens = None if usage.estimated else usage.prompt_tokens + usage.completion_tokens
        calls = [(call.name, json.loads(call.arguments)) for call in completion.calls]
        return Said(completion.text, completion.finish, calls, tokens)

    def models(self) -> list[str]:
        return [model.id for model in self._completions.models()]

    def close(self) -> None:
        self._completions.close()


CLIENTS: dict[str, Callable[[str, str, float], Client]] = {"theirs": TheirClient, "ours": OurClient}
USER = {"role": "user", "content": "Hello"}


@pytest.fixture(scope="module")
def running() -> Iterator[CompletionService]:
    with CompletionService() as service:
        yield service


@pytest.fixture
def service(running: CompletionService) -> Iterator[CompletionService]:
    yield running
    assert running.unknown_fields == set()
    assert running.unsaid == 0
    for name in CompletionBehaviour.__slots__:
        setattr(running.behaviour, name, getattr(CompletionBehaviour(), name))


@pytest.fixture(params=CLIENTS)
def client(request: pytest.FixtureRequest, service: CompletionService) -> Iterator[Client]:
    with closing(CLIENTS[request.param](service.url, service.key, 10.0)) as one:
        yield one


both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@both_ways
def test_a_plain_answer(client: Client, service: CompletionService, stream: bool) -> None:
    service.say(TEXT)
    said = client.ask({"role": "system", "content": "Be kind."}, USER, stream=stream)
    assert (said.text, said.finish, said.calls) == (TEXT, "stop", [])
    sent = service.requests("chat/completions")[-1]
    assert sent.body.get("stream", False) is stream
    assert sent.key_in == "authorization"


@pytest.mark.parametrize("chunks", [1, 3, [TEXT], ["", TEXT, ""]], ids=str)
@pytest.mark.parametrize("wire", [{}, {"crlf": True}, {"comments": True}, {"crlf": True, "comments": True}], ids=str)
def test_a_stream_in_any_form(client: Client, service: CompletionService, chunks: Any, wire: dict[str, Any]) -> None:
    service.say(TEXT, chunks=chunks, **wire)
    assert client.ask(USER, stream=True).text == TEXT


@both_ways
def test_tool_calls(client: Client, service: CompletionService, stream: bool) -> None:
    service.say("One moment.", calls=[("orders.find", {"order": "Zürich 🙂"}), ("orders.find", {"order": "AB123456"})])
    said = client.ask(USER, stream=stream, tools=[FIND])
    assert (said.text, said.finish) == ("One moment.", "tool_calls")
    assert said.calls == [("orders.find", {"order": "Zürich 🙂"}), ("orders.find", {"order": "AB123456"})]


@both_ways
def test_the_result_of_a_tool(client: Client, service: CompletionService, stream: bool) -> None:
    function = {"name": "orders.find", "arguments": '{"order": "AB123456"}'}
    called = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": function}],
    }
    result = {"role": "tool", "tool_call_id": "1", "content": '{"state": "sent"}'}
    service.say("It is on its way.")
    assert client.ask(USER, called, result, stream=stream, tools=[FIND]).text == "It is on its way."


@both_ways
def test_an_answer_that_reached_max_tokens(client: Client, service: CompletionService, stream: bool) -> None:
    service.say("x" * 500)
    said = client.ask(USER, stream=stream)
    assert (len(said.text), said.finish) == (400, "length")


@pytest.mark.parametrize("usage", [True, False])
def test_usage_of_a_whole_answer(client: Client, service: CompletionService, usage: bool) -> None:
    service.say("One", usage=usage)
    assert client.ask(USER, stream=False).tokens == (3 if usage else None)


@pytest.mark.parametrize(("switch", "tokens"), [("never", None), ("last_chunk", 3), ("own_chunk", 3)])
def test_usage_of_a_stream(client: Client, service: CompletionService, switch: Any, tokens: int | None) -> None:
    service.behaviour.usage_in_stream = switch
    service.say("One")
    said = client.ask(USER, stream=True)
    assert (said.text, said.finish, said.tokens) == ("One", "stop", tokens)


@pytest.mark.parametrize("switch", ["empty_delta", "last_delta"])
@pytest.mark.parametrize("done", [True, False])
def test_the_end_of_a_stream(client: Client, service: CompletionService, switch: Any, done: bool) -> None:
    service.behaviour.finish_reason = switch
    service.behaviour.done = done
    service.say("Two words")
    said = client.ask(USER, stream=True)
    assert (said.text, said.finish) == ("Two words", "stop")


def test_the_list_of_models(client: Client) -> None:
    assert client.models() == ["acme/swift", "acme/wise", "acme/plain", "plus/great"]


ERRORS: list[tuple[str, int, str, type[CompletionError]]] = [
    ("invalid_request_error", 400, "BadRequestError", InvalidRequest),
    ("model_no_tool_support", 400, "BadRequestError", NoToolSupport),
    ("invalid_request_error", 401, "AuthenticationError", ServiceUnauthorized),
    ("model_requires_package", 403, "PermissionDeniedError", PackageRequired),
    ("model_not_in_package", 403, "PermissionDeniedError", ModelNotInPackage),
    ("quota_exceeded", 429, "RateLimitError", QuotaExceeded),
    ("rate_limit_exceeded", 429, "RateLimitError", ServiceRateLimited),
    ("server_error", 500, "InternalServerError", ServerError),
    ("provider_error", 502, "InternalServerError", ProviderError),
]


@both_ways
@pytest.mark.parametrize("named_by", ["type", "code"])
@pytest.mark.parametrize(("name", "http", "theirs", "ours"), ERRORS, ids=str)
def test_every_error(
    client: Client,
    service: CompletionService,
    name: str,
    http: int,
    theirs: str,
    ours: type[CompletionError],
    named_by: Any,
    stream: bool,
) -> None:
    service.behaviour.named_by = named_by
    service.fail(name, http, message="Not today")
    their_error = getattr(openai(), theirs)
    with pytest.raises((their_error, ours)) as raised:
        client.ask(USER, stream=stream)
    assert type(raised.value) is (their_error if isinstance(client, TheirClient) else ours)
    assert "Not today" in str(raised.value)


@both_ways
def test_a_refusal_for_real(client: Client, service: CompletionService, stream: bool) -> None:
    with pytest.raises((openai().BadRequestError, NoToolSupport)):
        client.ask(USER, stream=stream, model="acme/plain", tools=[FIND])
    with pytest.raises((openai().PermissionDeniedError, PackageRequired)):
        client.ask(USER, stream=stream, model="plus/great")


@pytest.mark.parametrize("name", CLIENTS)
@both_ways
def test_a_wrong_key(service: CompletionService, name: str, stream: bool) -> None:
    with closing(CLIENTS[name](service.url, "sk-wrong", 10.0)) as client:
        with pytest.raises((openai().AuthenticationError, ServiceUnauthorized)) as raised:
            client.ask(USER, stream=stream)
    assert "sk-wrong" not in str(raised.value)


def test_an_error_in_the_middle_of_a_stream(client: Client, service: CompletionService) -> None:
    service.say("Good morning.", error=failure("provider_error"))
    with pytest.raises((openai().APIError, ProviderError)):
        client.ask(USER, stream=True)


@both_ways
def test_a_closed_connection(client: Client, service: CompletionService, stream: bool) -> None:
    service.say("Good morning.", cut_after=30)
    with pytest.raises((openai().APIConnectionError, CutStream)):
        client.ask(USER, stream=stream)


@pytest.mark.parametrize("name", CLIENTS)
@pytest.mark.parametrize("way", ["hang", "stall", "comments"])
def test_a_service_that_falls_silent(name: str, way: str) -> None:
    with CompletionService() as service, closing(CLIENTS[name](service.url, KEY, 0.2)) as client:
        match way:
            case "hang":
                service.hang()
            case "stall":
                service.say("Good morning.", stall_after=200)
            case "comments":
                service.drip("", delay=30)
        error = too_late(lambda: client.ask(USER, stream=True), ServiceNotReached)
    assert isinstance(error, (openai().APITimeoutError, ServiceTimedOut))


# Ours alone: what the other client does not know of.


@pytest.fixture
def ours(service: CompletionService) -> Iterator[Completions]:
    with closing(Completions(service.url, KEY)) as one:
        yield one


REQUEST = ChatRequest("acme/swift", [USER])


@search
@pytest.mark.parametrize("cleanly", [False, True], ids=["closed", "ended"])
@pytest.mark.parametrize(
    ("calls", "size", "step"), [([], 400, 1), ([("orders.find", {"order": "Ü"})], 1100, 3)], ids=["text", "calls"]
)
def test_every_cut_gives_the_whole_answer_or_a_recognised_failure(
    ours: Completions, service: CompletionService, cleanly: bool, calls: list[Any], size: int, step: int
) -> None:
    def ask(cut: int | None) -> Any:
        service.say("Grüße 🙂", chunks=8, calls=calls, cut_after=cut, cut_cleanly=cleanly)
        with ours.stream(REQUEST) as pieces:
            return "".join(pieces), [call.arguments for call in pieces.completion.calls], pieces.completion.finish

    def failed(cut: int) -> bool:
        try:
            assert ask(cut) == whole, f"cut after {cut} bytes"
        except (CutStream, NotTheService):
            return True
        return False

    whole = ask(None)
    cuts = range(0, size, step * tries(5, 1))
    failures = [cut for cut in cuts if failed(cut)]
    assert failures == [*cuts[: len(failures)]]
    assert 0.6 * size < failures[-1] < size - 50, "whole answers are shorter, and not by much"


@pytest.mark.parametrize("key_in", ["authorization", "x-api-key", "query"])
def test_the_key_goes_where_it_is_wanted(service: CompletionService, key_in: Any) -> None:
    with closing(Completions(service.url, KEY, key_in=key_in)) as client:
        client.complete(REQUEST)
        with client.stream(REQUEST) as pieces:
            list(pieces)
        client.models()
    assert [seen.key_in for seen in service.requests()[-3:]] == [key_in] * 3


@both_ways
@pytest.mark.parametrize("place", ["left", "apart"])
def test_reasoning_that_was_left_is_removed(
    ours: Completions, service: CompletionService, stream: bool, place: Any
) -> None:
    service.behaviour.reasoning = place
    service.say("Seven.", think="3 + 4 is 7", chunks=2)
    if not stream:
        assert ours.complete(REQUEST).text.strip() == "Seven."
        return
    with ours.stream(REQUEST) as pieces:
        assert "".join(pieces).strip() == "Seven."


def test_a_stream_with_its_marker_and_no_finish_reason_is_whole(ours: Completions, service: CompletionService) -> None:
    service.behaviour.finish_reason = "missing"
    service.say("Two words")
    with ours.stream(REQUEST) as pieces:
        assert "".join(pieces) == "Two words"


def test_a_connection_that_hangs_behind_the_end_of_an_answer_delays_it_by_a_moment(
    ours: Completions, service: CompletionService
) -> None:
    service.behaviour.done = False
    service.say("Two words", stall_after=100_000)  # when all of it was sent
    began = monotonic()
    with ours.stream(REQUEST) as pieces:
        assert "".join(pieces) == "Two words"
    assert (pieces.completion.finish, monotonic() - began < 5) == ("stop", True)


@pytest.mark.parametrize("place", ["error", "body"])
@pytest.mark.parametrize("form", ["seconds", "text"])
@pytest.mark.parametrize("kind", ["5h", "weekly", "monthly_exhausted"])
def test_a_quotas_kind_and_reset(
    ours: Completions, service: CompletionService, kind: str, form: Any, place: Any
) -> None:
    service.behaviour.reset_in = form
    service.behaviour.reset_in_place = place
    service.fail("quota_exceeded", kind=kind, reset_in=8100)
    with pytest.raises(QuotaExceeded) as raised:
        ours.complete(REQUEST)
    assert raised.value.reset_in is not None
    assert (raised.value.kind, raised.value.reset_in.total_seconds()) == (kind, 8100)


@pytest.mark.parametrize(
    "choice", ["auto", ["auto"], {"type": "function", "function": {"name": "orders.find"}}], ids=str
)
def test_tool_choice_in_every_form(ours: Completions, service: CompletionService, choice: Any) -> None:
    ours.complete(ChatRequest("acme/swift", [USER], tools=[FIND], tool_choice=choice, temperature=0.5))
    assert service.requests()[-1].body["tool_choice"] == choice


def test_a_proxys_page_is_not_the_service(ours: Completions, service: CompletionService) -> None:
    service.send(200, b"<h1>Sign in</h1>")
    with pytest.raises(NotTheService):
        ours.complete(REQUEST)


@pytest.mark.parametrize("text", ["drip ", ""], ids=["endless", "comments"])
def test_what_never_ends_has_a_deadline(text: str) -> None:
    with CompletionService() as service, closing(Completions(service.url, KEY, seconds=0.2)) as client:
        service.drip(text, delay=0.001)

        def read() -> None:
            with client.stream(REQUEST) as pieces:
                list(pieces)

        error = too_late(read, ServiceNotReached)
    assert isinstance(error, ServiceTimedOut) and not error.idle


def test_leaving_an_endless_stream_stops_it(ours: Completions, service: CompletionService) -> None:
    before = service.counts.get("abandoned", 0)
    service.drip(delay=0.001)
    with ours.stream(REQUEST) as pieces:
        assert next(iter(pieces)) == "drip "
    assert service.wait_until(lambda: service.counts.get("abandoned", 0) == before + 1)


@pytest.mark.parametrize("shape", ["completion", "message", "reply", "data"])
def test_the_plugins_chat_in_any_shape(ours: Completions, service: CompletionService, shape: Any) -> None:
    service.behaviour.plugin_chat = shape
    service.plugin.minute.limit = None
    service.say("Good morning.", on="plugin/chat")
    assert ours.plugin_chat([USER], "shop.example").text == "Good morning."


@pytest.mark.parametrize(("version", "status"), [(None, "active"), ("1.0", "update_required")])
def test_the_plugins_check(ours: Completions, service: CompletionService, version: str | None, status: str) -> None:
    service.plugin.minute.limit = None
    assert ours.check_plugin("shop.example", version).status == status


def test_the_plugins_domains_and_version() -> None:
    with CompletionService() as service:
        service.plugin.most_domains = 0
        with closing(Completions(service.url, KEY)) as client:
            assert client.check_plugin("shop.example").status == "domain_limit"
            assert client.plugin_update() == {"version": "2.0.0"}
