"""The client of the chat-completion API: one call is one request, and what comes back is certain."""

import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bot.core.values import Usage
from bot.services.ai.ai_client import Completions, KeyIn, ListedModel
from bot.services.ai.ai_errors import (
    CompletionError,
    CutStream,
    EmptyAnswer,
    InvalidRequest,
    NotTheService,
    PackageRequired,
    ServiceNotReached,
    ServiceRateLimited,
    ServiceTimedOut,
    ServiceUnauthorized,
)
from bot.services.ai.chat_completion import ChatRequest, Completion, ToolCall
from bot.services.http_client import HttpClient
from tests.services.ai.recorded import ANSWER, MODEL, REQUEST, SPOKEN
from tests.services.gateway.peer import Answer, Peer, answer, hang_up, http_bytes, peer, raw, reset, too_late

MAX_TOKENS = 100_000
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
KEY = "sk-0123456789"
USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}


@pytest.fixture
def service() -> Iterator[Peer]:
    with peer() as running:
        running.by_default = whole()
        yield running


@pytest.fixture
def client(service: Peer) -> Completions:
    return made(service)


def made(service: Peer, **options: Any) -> Completions:
    return Completions(f"{service.url}/api/v1", KEY, **options)


def whole(content: Any = "Yes", finish: str | None = "stop", **message: Any) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": content, **message}, "finish_reason": finish}
    return answer(200, {"id": "c1", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": USAGE})


def streaming(data: bytes, *, whole: bool = True) -> Answer:
    head = HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    return raw(head + b"%x\r\n%s\r\n" % (len(data), data) + (b"0\r\n\r\n" if whole else b""), keep=whole)


def hanging(data: bytes, stop: threading.Event) -> Answer:
    def write(connection: Any) -> bool:
        connection.sendall(data)
        stop.wait()
        return False

    return write


def read(client: Completions, request: ChatRequest = REQUEST) -> Completion:
    with client.stream(request) as stream:
        assert list(stream)
        return stream.completion


BOTH = pytest.mark.parametrize("ask", [Completions.complete, read], ids=["whole", "streamed"])


def test_a_question_goes_out_as_the_specification_has_it(service: Peer, client: Completions) -> None:
    tools = [{"type": "function", "function": {"name": "route", "parameters": {}}}]
    client.complete(ChatRequest(MODEL, REQUEST.messages, 50, 0.0, tools, "auto", True))
    (request,) = service.requests
    assert request.path == "/api/v1/chat/completions"
    assert request.headers["content-type"] == "application/json"
    assert request.body == {
        "model": MODEL,
        "messages": REQUEST.messages,
        "max_tokens": 50,
        "temperature": 0.0,
        "tools": tools,
        "tool_choice": "auto",
        "reasoning_split": True,
    }


def test_what_is_not_said_is_left_to_the_service(service: Peer, client: Completions) -> None:
    service.answers(whole(), streaming(SPOKEN))
    client.complete(REQUEST)
    read(client)
    plain = {"model": MODEL, "messages": REQUEST.messages, "max_tokens": 1024}
    assert [request.body for request in service.requests] == [plain, {**plain, "stream": True}]


def test_the_answer_has_everything_the_service_says(service: Peer, client: Completions) -> None:
    calls = [{"id": "call_a", "type": "function", "function": {"name": "route", "arguments": '{"to": 1}'}}]
    service.answers(whole("<think>Hm.</think>\nWait", tool_calls=calls))
    assert client.complete(REQUEST) == Completion(
        "c1", MODEL, "Wait", (ToolCall("call_a", "route", '{"to": 1}'),), "tool_calls", Usage(MODEL, 5, 2)
    )


def test_a_streamed_answer_is_the_same_as_a_whole_one(service: Peer, client: Completions) -> None:
    service.answers(streaming(SPOKEN))
    assert read(client) == Completion("c1", MODEL, ANSWER, (), "stop", Usage(MODEL, 12, 9))


def test_text_is_there_before_the_answer_is_whole(service: Peer, client: Completions) -> None:
    stop = threading.Event()
    service.answers(hanging(HEAD + SPOKEN[: SPOKEN.index(b"six")], stop))
    with client.stream(REQUEST) as stream:
        assert next(iter(stream)) == "Yes – until "
    stop.set()


@pytest.mark.parametrize(
    ("key_in", "header", "value"),
    [("authorization", "authorization", f"Bearer {KEY}"), ("x-api-key", "x-api-key", KEY)],
)
def test_the_key_goes_into_the_header_that_is_asked_for(
    service: Peer, key_in: KeyIn, header: str, value: str, caplog: pytest.LogCaptureFixture
) -> None:
    made(service, key_in=key_in).complete(REQUEST)
    (request,) = service.requests
    assert {name for name in ("authorization", "x-api-key") if name in request.headers} == {header}
    assert request.headers[header] == value
    assert "apiKey" not in request.path
    assert caplog.records == []


def test_the_key_goes_into_the_address_only_when_asked_for_and_with_a_warning(
    service: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    client = made(service, key_in="query")
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert KEY not in caplog.text
    service.answers(whole(), answer(200, {"data": []}), streaming(SPOKEN))
    client.complete(REQUEST)
    client.models()
    read(client)
    assert [request.path for request in service.requests] == [
        f"/api/v1/chat/completions?apiKey={KEY}",
        f"/api/v1/models?apiKey={KEY}",
        f"/api/v1/chat/completions?apiKey={KEY}",
    ]
    assert not any({"authorization", "x-api-key"} & request.headers.keys() for request in service.requests)


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": ""},
        {"messages": []},
        {"max_tokens": 0},
        {"max_tokens": MAX_TOKENS + 1},
        {"temperature": -0.1},
        {"temperature": 2.1},
    ],
    ids=str,
)
@BOTH
def test_a_question_that_breaks_a_limit_is_not_asked(
    service: Peer, client: Completions, ask: Callable[..., Completion], wrong: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest):
        ask(client, ChatRequest(**{"model": MODEL, "messages": REQUEST.messages, **wrong}))
    assert service.requests == []


def test_a_short_key_is_taken_out_of_a_refusal_only_where_it_stands_alone(service: Peer) -> None:
    service.answers(answer(400, {"error": {"message": "k is taken", "type": "invalid_request_error"}}))
    with pytest.raises(InvalidRequest) as raised:
        Completions(f"{service.url}/api/v1", "k").complete(REQUEST)
    assert raised.value.message == "[key] is taken"


@BOTH
@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (401, "invalid_request_error", ServiceUnauthorized),
        (403, "model_requires_package", PackageRequired),
        (429, "rate_limit_exceeded", ServiceRateLimited),
    ],
)
def test_a_refusal_is_an_error_of_its_own_and_asked_once(
    service: Peer,
    client: Completions,
    ask: Callable[..., Completion],
    status: int,
    kind: str,
    expected: type[CompletionError],
) -> None:
    service.answers(answer(status, {"error": {"message": f"not with {KEY}", "type": kind}}))
    with pytest.raises(expected) as raised:
        ask(client, REQUEST)
    assert raised.value.message == "not with [key]"
    assert KEY not in str(raised.value)
    assert len(service.requests) == 1


@BOTH
def test_a_service_that_is_not_there_is_not_reached(ask: Callable[..., Completion]) -> None:
    with peer() as gone:
        pass
    with pytest.raises(ServiceNotReached) as raised:
        ask(made(gone), REQUEST)
    assert raised.value.retry


@BOTH
@pytest.mark.parametrize("broken", [reset, hang_up, raw(http_bytes(200, b"{}")[:-1])], ids=["reset", "hang up", "cut"])
def test_an_answer_that_breaks_off_is_cut(
    service: Peer, client: Completions, ask: Callable[..., Completion], broken: Answer
) -> None:
    service.answers(broken)
    with pytest.raises(CutStream):
        ask(client, REQUEST)


def test_a_stream_that_breaks_off_is_cut_and_says_what_it_used_up(service: Peer, client: Completions) -> None:
    service.answers(streaming(SPOKEN[: SPOKEN.index(b"cafe")], whole=False))
    with client.stream(REQUEST) as stream:
        texts = iter(stream)
        assert next(texts) == "Yes – until "
        with pytest.raises(CutStream) as raised:
            list(texts)
    assert raised.value.usage is not None and raised.value.usage.estimated


@BOTH
def test_an_answer_that_does_not_come_is_late(service: Peer, ask: Callable[..., Completion]) -> None:
    stop = threading.Event()
    service.by_default = hanging(b"", stop)
    error = too_late(lambda: ask(made(service, seconds=0.2), REQUEST), ServiceNotReached)
    assert isinstance(error, ServiceTimedOut) and not error.idle
    stop.set()


@pytest.mark.parametrize("head", [b"", HEAD + SPOKEN[:90]], ids=["no head", "half a stream"])
def test_a_stream_that_falls_silent_is_idle(service: Peer, head: bytes) -> None:
    stop = threading.Event()
    service.answers(hanging(head, stop))
    with pytest.raises(ServiceTimedOut) as raised:
        read(made(service, idle=0.2))
    assert raised.value.idle
    stop.set()


@BOTH
def test_an_answer_of_nothing_is_empty_and_still_used_something_up(
    service: Peer, client: Completions, ask: Callable[..., Completion]
) -> None:
    service.answers(whole("<think>Hm.</think>"))
    with pytest.raises(EmptyAnswer) as raised:
        ask(client, REQUEST)
    assert raised.value.usage == Usage(MODEL, 5, 2)


@BOTH
def test_an_endless_answer_is_not_the_services(service: Peer, ask: Callable[..., Completion]) -> None:
    service.answers(whole("x" * 2000))
    url = f"{service.url}/api/v1"
    with pytest.raises(NotTheService, match="more than 1000 bytes"):
        ask(Completions(url, KEY, http=HttpClient(url, body_limit=1000)), REQUEST)


def test_what_the_caller_raises_within_a_stream_stays_what_it_is(service: Peer, client: Completions) -> None:
    service.answers(streaming(SPOKEN))
    with pytest.raises(ZeroDivisionError), client.stream(REQUEST):
        raise ZeroDivisionError


def test_the_models_are_listed(service: Peer, client: Completions) -> None:
    data = [{"id": MODEL, "object": "model", "owned_by": "acme", "name": "Large"}, {"id": "acme/small"}, "?", {}]
    service.answers(answer(200, {"object": "list", "data": data}))
    assert client.models() == [ListedModel(MODEL, "acme", "Large"), ListedModel("acme/small", "", "acme/small")]
    assert (service.requests[0].path, service.requests[0].raw) == ("/api/v1/models", b"")


@pytest.mark.parametrize("status", ["active", "update_required", "domain_limit"])
def test_a_plugin_is_checked(service: Peer, client: Completions, status: str) -> None:
    service.answers(answer(200, {"status": status, "message": "see"}), answer(200, {"data": {"status": status}}))
    checked = client.check_plugin("shop.example", "1.2")
    assert (checked.status, checked.details["message"]) == (status, "see")
    assert client.check_plugin("shop.example").status == status
    assert [(request.path, request.body) for request in service.requests] == [
        ("/api/v1/plugin/check", {"domain": "shop.example", "version": "1.2"}),
        ("/api/v1/plugin/check", {"domain": "shop.example"}),
    ]


@pytest.mark.parametrize(
    "body",
    [
        {"choices": [{"message": {"content": "Yes"}}]},
        {"data": {"choices": [{"message": {"content": "Yes"}}]}},
        {"content": "Yes"},
        {"message": "Yes", "usage": USAGE},
        {"data": {"reply": "Yes"}},
    ],
)
def test_a_plugin_can_chat_whatever_the_shape_of_the_answer(service: Peer, client: Completions, body: Any) -> None:
    service.answers(answer(200, body))
    completion = client.plugin_chat(REQUEST.messages, "shop.example", MODEL)
    assert (completion.text, completion.finish, completion.model) == ("Yes", "stop", MODEL)
    assert completion.usage.estimated == ("usage" not in body)
    assert service.requests[0].path == "/api/v1/plugin/chat"
    assert service.requests[0].body == {"messages": REQUEST.messages, "domain": "shop.example", "model": MODEL}


def test_a_plugins_chat_without_a_model_is_counted_for_the_one_that_answered(
    service: Peer, client: Completions
) -> None:
    assert client.plugin_chat(REQUEST.messages, "shop.example").usage == Usage(MODEL, 5, 2)
    assert "model" not in service.requests[0].body


def test_a_plugins_latest_version_is_given_as_it_comes(service: Peer, client: Completions) -> None:
    service.answers(answer(200, {"version": "2.0"}))
    assert client.plugin_update() == {"version": "2.0"}
    assert service.requests[0].path == "/api/v1/plugin/update"


@pytest.mark.parametrize(
    "ask",
    [
        Completions.models,
        lambda client: client.check_plugin("shop.example"),
        lambda client: client.plugin_chat(REQUEST.messages, "shop.example"),
        lambda client: client.complete(REQUEST),
    ],
    ids=["models", "check", "chat", "complete"],
)
def test_an_answer_of_another_kind_is_not_the_services(
    service: Peer, client: Completions, ask: Callable[[Completions], object]
) -> None:
    service.answers(answer(200, {"hello": "world"}))
    with pytest.raises(NotTheService):
        ask(client)
