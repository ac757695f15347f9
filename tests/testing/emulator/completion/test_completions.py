"""Answers: whole and streamed, with tools, and every way in which the specification lets them come."""

import json
from typing import Any

import pytest

from bot.core.clock import MovableClock
from bot.testing.emulator.completion import CompletionService, EmulatedModel, ModelAnswer, failure
from tests.testing.emulator.completion.conftest import HELLO, NOON, Caller, events_of

TOOLS = [{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]


def contents(chunks: list[dict[str, Any]]) -> str:
    return "".join(chunk["choices"][0]["delta"].get("content", "") for chunk in chunks)


def test_a_whole_answer_has_the_shape_of_the_specification(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.")
    response = api.chat()
    assert (response.status_code, response.headers["Content-Type"]) == (200, "application/json")
    assert response.json() == {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": int(NOON.timestamp()),
        "model": "acme/swift",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Good morning."}, "finish_reason": "stop"}
        ],
        "usage": {"prompt_tokens": 2, "completion_tokens": 4, "total_tokens": 6},
    }


def test_a_stream_has_the_shape_of_the_specification(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.")
    response = api.chat(stream=True)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/event-stream")

    def chunk(delta: dict[str, str], finish: str | None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "acme/swift", "choices": [choice]}

    expected = [chunk({"content": "Good "}, None), chunk({"content": "morning."}, None), chunk({}, "stop")]
    lines = [f"data: {json.dumps(event, separators=(',', ':'))}\n\n" for event in expected]
    assert response.text == "".join(lines) + "data: [DONE]\n\n"


def test_with_nothing_queued_it_says_what_was_asked(api: Caller) -> None:
    parts = [{"type": "text", "text": "Where is "}, {"type": "text", "text": "my order?"}]
    answer = api.chat([{"role": "system", "content": "Be kind."}, {"role": "user", "content": parts}]).json()
    assert answer["choices"][0]["message"]["content"] == "You asked: Where is my order?"


def test_what_is_strange_in_a_text_is_quoted_all_the_same(api: Caller) -> None:
    parts = [{"type": "text", "text": 7}, "Hello", {"type": "text", "text": "half \ud83d"}]
    answer = api.chat([{"role": "user", "content": parts}]).json()
    assert answer["choices"][0]["message"]["content"] == "You asked: half ?"


def test_so_many_requests_are_remembered_as_it_is_told() -> None:
    with CompletionService(keep=1) as service:
        statuses = [Caller(service).chat(messages).status_code for messages in ([], HELLO)]
        assert statuses == [400, 200]
        assert ([seen.status for seen in service.requests()], service.counts["requests"]) == ([200], 2)


def test_a_script_is_said_in_its_order(api: Caller, service: CompletionService) -> None:
    service.say("One")
    service.say("Two")
    assert service.unsaid == 2
    assert [api.chat().json()["choices"][0]["message"]["content"] for _ in range(3)] == [
        "One",
        "Two",
        "You asked: Hello",
    ]
    assert service.unsaid == 0


def test_a_function_answers_what_is_not_in_the_script(api: Caller, service: CompletionService) -> None:
    def speak(request: dict[str, Any]) -> Any:
        last = request["messages"][-1]["content"]
        return {"call": ModelAnswer(calls=[("find", {})]), "fail": failure("provider_error")}.get(last, last.upper())

    service.answer_with(speak)
    service.say("From the script")
    asked = [[{"role": "user", "content": text}] for text in ("first", "shout", "call", "fail")]
    answers = [api.chat(messages).json() for messages in asked]
    messages = [answer["choices"][0]["message"] for answer in answers[:3]]
    assert [message["content"] for message in messages] == ["From the script", "SHOUT", None]
    assert messages[2]["tool_calls"][0]["function"]["name"] == "find"
    assert answers[3]["error"]["type"] == "provider_error"


def test_tool_calls_come_whole(api: Caller, service: CompletionService) -> None:
    service.say("One moment.", calls=[("find", {"order": "Zürich"}), ("greet", "no json")])
    choice = api.chat(tools=TOOLS, tool_choice="auto").json()["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"] == {
        "role": "assistant",
        "content": "One moment.",
        "tool_calls": [
            {"id": "call_1_0", "type": "function", "function": {"name": "find", "arguments": '{"order": "Zürich"}'}},
            {"id": "call_1_1", "type": "function", "function": {"name": "greet", "arguments": "no json"}},
        ],
    }


def test_tool_calls_come_in_pieces_by_index(api: Caller, service: CompletionService) -> None:
    service.say(calls=[("find", {"order": "AB123456"}), ("greet", {})])
    chunks = api.stream(tools=TOOLS)
    pieces = [chunk["choices"][0]["delta"]["tool_calls"][0] for chunk in chunks[:-1]]
    assert pieces[0] == {
        "index": 0,
        "id": "call_1_0",
        "type": "function",
        "function": {"name": "find", "arguments": ""},
    }
    joined = ["".join(p["function"]["arguments"] for p in pieces if p["index"] == index) for index in (0, 1)]
    assert joined == ['{"order": "AB123456"}', "{}"]
    assert len(pieces) > 4
    assert chunks[-1]["choices"][0] == {"index": 0, "delta": {}, "finish_reason": "tool_calls"}


@pytest.mark.parametrize(
    ("chunks", "pieces"),
    [
        (None, ["Grüße ", "aus\n\n", "Köln"]),
        (4, ["Grüß", "e au", "s\n\nK", "öln"]),
        (["Grüße ", "", "aus\n\nKöln"],) * 2,
    ],
)
def test_a_stream_is_cut_by_words_by_length_or_as_given(
    api: Caller, service: CompletionService, chunks: Any, pieces: list[str]
) -> None:
    service.say("Grüße aus\n\nKöln", chunks=chunks)
    assert [chunk["choices"][0]["delta"].get("content") for chunk in api.stream()[:-1]] == pieces


def test_comments_and_crlf_change_nothing_for_a_reader_of_events(api: Caller, service: CompletionService) -> None:
    service.say("Good morning.")
    service.say("Good morning.", comments=True, crlf=True)
    plain, strange = (api.chat(stream=True).content for _ in range(2))
    assert [contents(list(map(json.loads, events_of(body)[:-1]))) for body in (plain, strange)] == ["Good morning."] * 2
    assert strange.startswith(b": keep-alive\r\n\r\ndata: {")
    assert b"\n" not in strange.replace(b"\r\n", b"")


def test_max_tokens_cut_an_answer(api: Caller, service: CompletionService) -> None:
    for _ in range(2):
        service.say("four and more")
    assert contents(chunks := api.stream(max_tokens=2)) == "four and"
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    answer = api.chat(max_tokens=2).json()
    assert answer["choices"][0]["message"]["content"] == "four and"
    assert answer["usage"]["completion_tokens"] == 2


def test_without_max_tokens_1024_are_the_most(api: Caller, service: CompletionService) -> None:
    service.say("x" * 5000)
    choice = api.chat().json()["choices"][0]
    assert (len(choice["message"]["content"]), choice["finish_reason"]) == (4096, "length")


def test_a_finish_reason_can_be_given(api: Caller, service: CompletionService) -> None:
    service.say("Whole", finish="content_filter")
    assert api.chat().json()["choices"][0]["finish_reason"] == "content_filter"


def test_an_answer_whose_end_is_given_is_not_cut(api: Caller, service: CompletionService) -> None:
    service.say("four and four again", finish="stop")
    assert api.chat(max_tokens=2).json()["choices"][0]["message"]["content"] == "four and four again"


def test_reasoning_is_removed_or_left(api: Caller, service: CompletionService) -> None:
    for _ in range(3):
        service.say("Seven.", think="3 + 4 is 7", chunks=3)
    removed = api.chat().json()
    assert removed["choices"][0]["message"]["content"] == "Seven."
    assert removed["usage"]["completion_tokens"] > 2  # it was paid for all the same
    service.behaviour.reasoning = "left"
    assert api.chat().json()["choices"][0]["message"]["content"] == "<think>3 + 4 is 7</think>\nSeven."
    assert contents(api.stream()) == "<think>3 + 4 is 7</think>\nSeven."


def test_usage_is_there_or_not(api: Caller, service: CompletionService) -> None:
    service.say("One", usage=False)
    assert "usage" not in api.chat().json()
    service.behaviour.usage = False
    assert "usage" not in api.chat().json()
    service.say("One", usage=True)
    assert api.chat().json()["usage"]["total_tokens"] == 3


def test_usage_in_a_stream_is_a_switch(api: Caller, service: CompletionService) -> None:
    usage = {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    for _ in range(3):
        service.say("One")
    assert not any("usage" in chunk for chunk in api.stream())
    service.behaviour.usage_in_stream = "last_chunk"
    assert [chunk.get("usage") for chunk in api.stream()] == [None, usage]
    service.behaviour.usage_in_stream = "own_chunk"
    *_, finish, own = api.stream()
    assert ("usage" in finish, own["choices"], own["usage"]) == (False, [], usage)
    service.say("One", usage=False)
    assert not any("usage" in chunk for chunk in api.stream())
    service.behaviour.usage_in_stream = "never"
    service.say("One", usage=True)
    assert api.stream()[-1]["usage"] == usage


@pytest.mark.parametrize(
    ("switch", "finishes"),
    [("empty_delta", [None, None, "stop"]), ("last_delta", [None, "stop"]), ("missing", [None, None])],
)
def test_where_the_finish_reason_stands_is_a_switch(
    api: Caller, service: CompletionService, switch: Any, finishes: list[str | None]
) -> None:
    service.behaviour.finish_reason = switch
    service.say("Two words")
    assert [chunk["choices"][0]["finish_reason"] for chunk in api.stream()] == finishes


def test_an_empty_answer_is_a_last_chunk_alone(api: Caller, service: CompletionService) -> None:
    service.say("")
    assert [chunk["choices"][0]["delta"] for chunk in api.stream()] == [{}]
    service.say("")
    assert api.chat().json()["choices"][0]["message"]["content"] == ""


def test_the_marker_at_the_end_can_be_missing(api: Caller, service: CompletionService) -> None:
    service.behaviour.done = False
    assert "[DONE]" not in events_of(api.chat(stream=True).content)


def test_models_are_listed(api: Caller) -> None:
    listed = api.get("models").json()
    assert listed["object"] == "list"
    assert listed["data"][0] == {"id": "acme/swift", "object": "model", "owned_by": "acme", "name": "Swift"}
    assert len(listed["data"]) == 4


def test_models_are_what_it_is_given() -> None:
    with CompletionService(models=["a/one", EmulatedModel("b/two", tools=False)]) as service:
        assert [model["id"] for model in Caller(service).get("models").json()["data"]] == ["a/one", "b/two"]


def test_without_models_it_knows_whatever_is_asked_for() -> None:
    with CompletionService(models=None) as service:
        caller = Caller(service)
        assert caller.chat(model="plus/any", tools=[{"type": "function"}]).status_code == 200
        assert caller.get("models").json()["data"] == []


@pytest.mark.parametrize(
    "fields", [{"temperature": 0}, {"temperature": 2.0}, {"max_tokens": 100_000}, {"stream": False}]
)
def test_what_the_limits_allow_is_taken(api: Caller, fields: dict[str, Any]) -> None:
    assert api.chat(**fields).status_code == 200


def test_every_role_is_taken(api: Caller) -> None:
    roles = ("system", "developer", "user", "tool", "tool_result", "assistant")
    calls = {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    assert api.chat([*({"role": role, "content": "x"} for role in roles), calls]).status_code == 200


def test_requests_are_remembered_and_unknown_fields_recorded(api: Caller, service: CompletionService) -> None:
    api.chat([{"role": "user", "content": "Hello", "colour": "red"}], seed=7, tools=TOOLS, reasoning_split=True)
    api.get("models", params={"page": 1})
    chat, models = service.requests()
    assert (chat.endpoint, chat.method, chat.status, chat.error) == ("chat/completions", "POST", 200, None)
    assert (chat.body["seed"], chat.headers["content-type"], chat.key_in) == (7, "application/json", "authorization")
    assert (chat.unknown, models.unknown) == (("messages[].colour", "seed"), ("?page",))
    assert service.unknown_fields == {"chat/completions: messages[].colour", "chat/completions: seed", "models: ?page"}
    assert service.requests("models") == [models]
    assert service.counts["requests"] == service.counts["answered 200"] == 2


@pytest.mark.parametrize(("switch", "refused"), [("any", []), ("string", [2]), ("array", [0, 1])])
def test_the_type_of_tool_choice_is_a_switch(
    api: Caller, service: CompletionService, switch: Any, refused: list[int]
) -> None:
    service.behaviour.tool_choice = switch
    choices: list[Any] = ["auto", {"type": "function", "function": {"name": "find"}}, ["auto"]]
    statuses = [api.chat(tools=TOOLS, tool_choice=choice).status_code for choice in choices]
    assert [number for number, status in enumerate(statuses) if status == 400] == refused


def test_two_services_at_once_know_nothing_of_each_other(service: CompletionService, clock: MovableClock) -> None:
    with CompletionService(clock, key="sk-other") as other:
        service.say("Here")
        assert Caller(other).chat(HELLO).json()["choices"][0]["message"]["content"] == "You asked: Hello"
        assert (service.unsaid, len(service.requests()), len(other.requests())) == (1, 0, 1)
